/* The two ports that settings choose and shape: calls to executors, and coordination. */
#include <stdio.h>
#include <string.h>

#include "adapters/coordination/coordination_local.h"
#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/curl/dispatch_curl.h"

#include "cli/config.h"
#include "cli/process.h"
#include "cli/verb.h"

/* host:port of a listen address is loopback: then loopback executors may be called, too. */
static bool listens_on_loopback(const char *listen)
{
    return !strncmp(listen, "127.", 4) || !strncmp(listen, "[::1]", 5) || !strncmp(listen, "localhost:", 10);
}

/* Our own addresses, which no call may reach: store and coordination ("a:1,b:2"). */
static void own_addresses(const struct settings *settings, struct str *ret)
{
    const char *urls[] = {settings->store.url, settings->coordination.url};
    for (size_t i = 0; i < 2; i++) {
        const char *scheme = strstr(urls[i], "://");
        if (!scheme)
            continue;
        const char *host = scheme + 3, *end = host + strcspn(host, "/");
        const char *at = memchr(host, '@', (size_t)(end - host));
        host = at ? at + 1 : host;
        str_add(ret, ret->length ? "," : "");
        str_add_bytes(ret, host, (size_t)(end - host));
        if (i == 0 && !memchr(host, ':', (size_t)(end - host)))
            str_add(ret, ":3306");
    }
    str_add(ret, ret->length ? "," : "");
    str_add(ret, settings->server.listen);
}

enum exit_code process_dispatch(struct process *process)
{
    const struct settings *settings = &process->settings;
    struct str own;
    struct error err;
    str_init(&own, 4096);
    own_addresses(settings, &own);
    struct dispatch_curl_options options = {.user_agent = "carillon/" CARILLON_VERSION,
                                            .max_in_flight = (size_t)settings->dispatch.max_in_flight,
                                            .allow = settings->dispatch.allow,
                                            .deny = settings->dispatch.deny,
                                            .own = str_text(&own),
                                            .ca_file = settings->dispatch.tls_ca,
                                            .loopback_ok = listens_on_loopback(settings->server.listen),
                                            .pause_max = settings->coordination.session_timeout / 2};
    enum status status = dispatch_curl_create(process->loop, &options, &process->dispatch, &err);
    str_release(&own);
    return status ? complain(EXIT_CONFIG, "dispatch: %s", err.text) : EXIT_OK;
}

/* The store has had slots with an owner: a missing /cluster node then means a wiped service. */
static bool cluster_was_used(struct store *store)
{
    struct store_op op;
    bool used = false;
    store_op_init(&op, STORE_SLOTS_READ);
    if (!store_execute(store, &op))
        for (size_t i = 0; i < op.slots_read.count; i++)
            used = used || op.slots_read.rows[i].czxid > 0;
    store_op_release(&op);
    return used;
}

enum exit_code process_coordination(struct process *process)
{
    const struct settings *settings = &process->settings;
    char auth[SETTING_TEXT] = "";
    struct error err;
    if (!strncmp(settings->coordination.url, "local:", 6)) {
        process->hub = coordination_hub_create(process->loop, loop_clock().wall.ms);
        process->coordination = coordination_local_create(process->hub);
        return EXIT_OK;
    }
    if (*settings->coordination.auth_file &&
        config_secret_file(settings->coordination.auth_file, auth, sizeof auth, &err))
        return complain(EXIT_CONFIG, "coordination.auth_file: %s", err.text);
    struct coordination_zookeeper_options options = {.url = settings->coordination.url,
                                                     .session_timeout = settings->coordination.session_timeout,
                                                     .cluster_id = process->cluster.id,
                                                     .cluster_known = cluster_was_used(process->store),
                                                     .auth = auth,
                                                     .sink = process->log};
    enum status status = coordination_zookeeper_create(process->loop, &options, &process->coordination, &err);
    explicit_bzero(auth, sizeof auth);
    return status ? complain(EXIT_CONFIG, "coordination: %s", err.text) : EXIT_OK;
}
