/* Announces this instance as an ephemeral node <chroot>/executors/<project>/<application>/<host:port>. One thread keeps
 * it: it opens the session, makes the node, waits, and begins anew when the session has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "adapters/coordination/zookeeper_url.h"
#include "executor-lib/parts.h"

#define SESSION_MS 6000
#define RESOLUTION_DELAY_MS 60000
#define LOOK_MS 1000 /* how often the node is made sure of after a failure */
#define LOOKS 10
#define PATH_BYTES 1024

struct zookeeper {
    struct carillon_executor *executor;
    struct zookeeper_url url;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int state; /* of the session, as told last; under lock */
    bool stopping;
    struct str document;
    char paths[4][PATH_BYTES]; /* parents, then the node itself */
    char said[ERROR_TEXT_MAX];
};

static void say(struct zookeeper *zookeeper, const char *text)
{
    if (strcmp(text, zookeeper->said) == 0)
        return;
    (void)snprintf(zookeeper->said, sizeof zookeeper->said, "%s", text);
    executor_log(zookeeper->executor, zookeeper->said);
}

static void on_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zookeeper *zookeeper = context;
    (void)handle;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    (void)pthread_mutex_lock(&zookeeper->lock);
    zookeeper->state = state;
    (void)pthread_cond_broadcast(&zookeeper->changed);
    (void)pthread_mutex_unlock(&zookeeper->lock);
}

static void quiet(const char *line)
{
    (void)line; /* the client tells of every reconnect at length; what matters is said here */
}

/* The node of an earlier life of this address stays until its session has ended: it is another's, so it is waited for.
 * Ours is left as it is. */
static int ensure(struct zookeeper *zookeeper, zhandle_t *handle)
{
    struct ACL_vector open = ZOO_OPEN_ACL_UNSAFE, creator = ZOO_CREATOR_ALL_ACL;
    const struct ACL_vector *acl = zookeeper->executor->options.zookeeper_auth ? &creator : &open;
    const char *data = str_text(&zookeeper->document);
    struct Stat stat;
    for (size_t i = 0; i < 3; i++) {
        int rc = zoo_create(handle, zookeeper->paths[i], "", 0, &open, 0, NULL, 0);
        if (rc != ZOK && rc != ZNODEEXISTS)
            return rc;
    }
    int rc =
        zoo_create(handle, zookeeper->paths[3], data, (int)zookeeper->document.length, acl, ZOO_EPHEMERAL, NULL, 0);
    if (rc == ZNODEEXISTS && zoo_exists(handle, zookeeper->paths[3], 0, &stat) == ZOK &&
        stat.ephemeralOwner == zoo_client_id(handle)->client_id)
        return ZOK;
    return rc;
}

static bool wait_ms(struct zookeeper *zookeeper, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    return pthread_cond_timedwait(&zookeeper->changed, &zookeeper->lock, &until) == 0;
}

/* One session, until it ends or we stop. Lock held at entry and exit. */
static void live(struct zookeeper *zookeeper, zhandle_t *handle)
{
    char text[ERROR_TEXT_MAX];
    int looks = 0; /* until the node is made sure of again: somebody may have deleted it */
    while (!zookeeper->stopping && zookeeper->state != ZOO_EXPIRED_SESSION_STATE &&
           zookeeper->state != ZOO_AUTH_FAILED_STATE) {
        if (looks <= 0 && zookeeper->state == ZOO_CONNECTED_STATE) {
            (void)pthread_mutex_unlock(&zookeeper->lock);
            int rc = ensure(zookeeper, handle);
            if (rc == ZOK)
                (void)snprintf(text, sizeof text, "registered in ZooKeeper as %.300s", zookeeper->paths[3]);
            else
                (void)snprintf(text, sizeof text, "not registered in ZooKeeper yet: %.300s: %s", zookeeper->paths[3],
                               rc == ZNODEEXISTS ? "the node of an earlier process is still there" : zerror(rc));
            say(zookeeper, text);
            (void)pthread_mutex_lock(&zookeeper->lock);
            looks = rc == ZOK ? LOOKS : 0;
        }
        (void)wait_ms(zookeeper, LOOK_MS);
        looks--;
    }
    if (zookeeper->state == ZOO_AUTH_FAILED_STATE)
        say(zookeeper, "ZooKeeper refused zookeeper_auth");
}

static void *run(void *context)
{
    struct zookeeper *zookeeper = context;
    const char *auth = zookeeper->executor->options.zookeeper_auth;
    (void)pthread_mutex_lock(&zookeeper->lock);
    while (!zookeeper->stopping) {
        zookeeper->state = 0;
        (void)pthread_mutex_unlock(&zookeeper->lock);
        zhandle_t *handle = zookeeper_init2(zookeeper->url.hosts, on_event, SESSION_MS, NULL, zookeeper, 0, quiet);
        if (handle) {
            (void)zoo_set_servers_resolution_delay(handle, RESOLUTION_DELAY_MS);
            if (auth)
                (void)zoo_add_auth(handle, "digest", auth, (int)strlen(auth), NULL, NULL);
        } else {
            say(zookeeper, "ZooKeeper cannot be reached: its hosts do not resolve");
        }
        (void)pthread_mutex_lock(&zookeeper->lock);
        if (handle)
            live(zookeeper, handle);
        (void)pthread_mutex_unlock(&zookeeper->lock);
        if (handle)
            (void)zookeeper_close(handle); /* takes the node with it */
        (void)pthread_mutex_lock(&zookeeper->lock);
        if (!zookeeper->stopping)
            (void)wait_ms(zookeeper, LOOK_MS);
    }
    (void)pthread_mutex_unlock(&zookeeper->lock);
    return NULL;
}

static bool make_paths(struct zookeeper *zookeeper)
{
    const struct carillon_options *options = &zookeeper->executor->options;
    struct str address;
    bool fits = true;
    const char *parts[] = {"executors", options->project, options->application, NULL};
    str_init(&address, 256);
    executor_address(zookeeper->executor, &address);
    parts[3] = str_text(&address);
    for (size_t i = 0; i < 4; i++) {
        int n = snprintf(zookeeper->paths[i], PATH_BYTES, "%.900s/%s",
                         i ? zookeeper->paths[i - 1] : zookeeper->url.chroot, parts[i]);
        fits = fits && n > 0 && n < 900 && !strchr(parts[i], '/');
    }
    str_release(&address);
    return fits;
}

static void zookeeper_free(struct zookeeper *zookeeper)
{
    str_release(&zookeeper->document);
    (void)pthread_cond_destroy(&zookeeper->changed);
    (void)pthread_mutex_destroy(&zookeeper->lock);
    free(zookeeper);
}

struct zookeeper *zookeeper_start(struct carillon_executor *executor)
{
    struct zookeeper *zookeeper = calloc(1, sizeof *zookeeper);
    struct error err = {0};
    pthread_condattr_t attributes;
    if (!zookeeper) {
        (void)executor_fail(executor, "out of memory");
        return NULL;
    }
    zookeeper->executor = executor;
    (void)pthread_mutex_init(&zookeeper->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&zookeeper->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    str_init(&zookeeper->document, (size_t)512 << 10);
    executor_document(executor, &zookeeper->document);
    const char *problem = NULL;
    if (zookeeper_url_parse(executor->options.zookeeper, &zookeeper->url, &err) != STATUS_OK)
        problem = err.text;
    else if (!make_paths(zookeeper))
        problem = "zookeeper: project, application or address is too long, or holds a '/'";
    else if (str_status(&zookeeper->document) != STATUS_OK)
        problem = "zookeeper: the list of tasks is larger than a node may be";
    else if (pthread_create(&zookeeper->thread, NULL, run, zookeeper))
        problem = "zookeeper: no thread";
    if (problem) {
        (void)executor_fail(executor, "%s", problem);
        zookeeper_free(zookeeper);
        return NULL;
    }
    return zookeeper;
}

void zookeeper_stop(struct zookeeper *zookeeper)
{
    if (!zookeeper)
        return;
    (void)pthread_mutex_lock(&zookeeper->lock);
    zookeeper->stopping = true;
    (void)pthread_cond_broadcast(&zookeeper->changed);
    (void)pthread_mutex_unlock(&zookeeper->lock);
    (void)pthread_join(zookeeper->thread, NULL);
    zookeeper_free(zookeeper);
}
