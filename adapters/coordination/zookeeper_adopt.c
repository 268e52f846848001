/* The operator's decision that a service shall serve this store from now on. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/coordination/zookeeper_log.h"
#include "adapters/coordination/zookeeper_url.h"

#define WAIT_TENTHS 100 /* tenths of a second for the connection */

static void on_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        __atomic_store_n((int *)context, state, __ATOMIC_RELEASE);
}

static void on_auth(int rc, const void *data)
{
    (void)rc; /* a refusal arrives as a state */
    (void)data;
}

static bool connected_await(int *state)
{
    const struct timespec tenth = {.tv_nsec = 100000000};
    for (int i = 0; i < WAIT_TENTHS; i++) {
        int now = __atomic_load_n(state, __ATOMIC_ACQUIRE);
        if (now == ZOO_CONNECTED_STATE)
            return true;
        if (now == ZOO_AUTH_FAILED_STATE)
            return false;
        (void)nanosleep(&tenth, NULL);
    }
    return false;
}

static int cluster_write(zhandle_t *handle, const struct zookeeper_url *url, const char *id,
                         const struct ACL_vector *acl)
{
    char path[ZOOKEEPER_CHROOT + 16], step[ZOOKEEPER_CHROOT];
    int rc = ZOK;
    for (size_t i = 0; zookeeper_chroot_step(url, i, step); i++)
        (void)zoo_create(handle, step, "", 0, acl, 0, NULL, 0); /* exists, or what follows tells */
    (void)snprintf(path, sizeof path, "%s/cluster", url->chroot);
    rc = zoo_set(handle, path, id, (int)strlen(id), -1);
    return rc == ZNONODE ? zoo_create(handle, path, id, (int)strlen(id), acl, 0, NULL, 0) : rc;
}

enum status coordination_zookeeper_adopt(const struct coordination_zookeeper_options *options, struct error *err)
{
    struct zookeeper_url url;
    int state = 0;
    bool auth = options->auth && *options->auth;
    enum status status = zookeeper_url_parse(options->url, &url, err);
    if (status)
        return status;
    zookeeper_log_target(NULL, NULL);
    zhandle_t *handle =
        zookeeper_init2(url.hosts, on_event, (int)options->session_timeout, NULL, &state, 0, zookeeper_log_line);
    if (!handle)
        return error_set(err, STATUS_UNAVAILABLE, "the host names of ZooKeeper do not resolve: check coordination.url");
    if (auth)
        (void)zoo_add_auth(handle, "digest", options->auth, (int)strlen(options->auth), on_auth, NULL);
    if (!connected_await(&state)) {
        status =
            error_set(err, STATUS_UNAVAILABLE, "ZooKeeper cannot be reached at %s: check coordination.url", url.hosts);
    } else {
        int rc = cluster_write(handle, &url, options->cluster_id, auth ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE);
        if (rc != ZOK)
            status = error_set(err, rc == ZNOAUTH ? STATUS_DENIED : STATUS_UNAVAILABLE,
                               "ZooKeeper refused to write the cluster id: %s", zerror(rc));
    }
    (void)zookeeper_close(handle);
    return status;
}
