#include "cli/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "adapters/coordination/coordination_local.h"
#include "adapters/crypto/crypto.h"
#include "adapters/log/log_sink.h"
#include "adapters/log/notify.h"
#include "adapters/store/store_open.h"
#include "adapters/zones/zones.h"
#include "orchestrator/orchestrator.h"
#include "scheduler/scheduler.h"

#include "cli/config.h"
#include "cli/verb.h"

#define ALIVE_EVERY (10 * SPAN_SECOND)

/* ---- callbacks of the loop
 * ------------------------------------------------------------------------------------------- */

static void alive_told(struct store_op *op)
{
    struct process *process = op->owner;
    store_op_release(op);
    process->telling = false;
}

/* An orchestrator alone has no scheduler that would tell the store that this process lives; schedulers name only living
 * ones to executors. */
static mono tell_alive(struct process *process, struct moment now)
{
    if (!process->orchestrator_boot)
        return MONO_NEVER;
    if (!process->telling && mono_cmp(now.mono, process->next_alive) >= 0) {
        struct store_op *op = &process->alive;
        store_op_init(op, STORE_BOOT_READ);
        op->boot_read.boot = process->orchestrator_boot;
        op->done = alive_told;
        op->owner = process;
        process->telling = true;
        process->next_alive = mono_add(now.mono, ALIVE_EVERY);
        store_submit(process->store, op);
    }
    return process->next_alive;
}

/* Only another setting, or an operator, helps: a supervisor that starts the process again sees the exit code. */
static void refused(struct process *process)
{
    enum status status = STATUS_OK;
    const char *why = scheduler_refusal(process->scheduler, &status);
    process->code = complain(exit_code_of_status(status), "scheduler %s: %s", process->node, why);
    loop_stop(process->loop);
}

static mono on_step(void *context, struct moment now)
{
    struct process *process = context;
    if (!process->scheduler)
        return tell_alive(process, now);
    mono wake = scheduler_step(process->scheduler, now);
    switch (scheduler_state(process->scheduler)) {
    case SCHEDULER_FENCED: /* someone took this boot's work over: nothing of it counts any more, so begin again as a new
                              one */
        process->restart = !process->signals;
        loop_stop(process->loop);
        break;
    case SCHEDULER_STOPPED:
        loop_stop(process->loop);
        break;
    case SCHEDULER_REFUSED:
        refused(process);
        break;
    case SCHEDULER_STARTING:
    case SCHEDULER_WORKING:
    case SCHEDULER_DRAINING:
        break;
    }
    return wake;
}

static void on_signal(void *context, int number)
{
    struct process *process = context;
    if (number == SIGHUP) {
        sink_logf(process->log, LOG_INFO, "SIGHUP: settings are read at the start; restart to change them", "%s", "");
        return;
    }
    process->signals++;
    if (!process->scheduler || process->signals > 1) {
        loop_stop(process->loop);
        return;
    }
    notify_manager("STOPPING=1");
    sink_logf(process->log, LOG_INFO,
              "stopping: slots are handed over, runs in flight are finished; a second signal stops at once",
              "grace_ms=%lld", (long long)process->settings.scheduler.shutdown_grace);
    scheduler_drain(process->scheduler, loop_clock());
}

static void on_clock_set(void *context, struct moment now, span jump)
{
    struct process *process = context;
    sink_logf(process->log, LOG_WARN, "the real-time clock was set", "jump_ms=%lld", (long long)jump);
    (void)now;
}

static void on_store(void *context)
{
    struct process *process = context;
    if (process->store)
        store_drain(process->store);
}

static void send_store_notice(void *context)
{
    struct process *process = context;
    loop_notice_send(process->store_notice);
}

static void on_poke(void *context)
{
    struct process *process = context;
    if (process->scheduler)
        scheduler_poke(process->scheduler);
}

static void send_poke(void *context)
{
    struct process *process = context;
    loop_notice_send(process->poke_notice);
}

/* ---- building up
 * ----------------------------------------------------------------------------------------------------- */

static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void name_node(struct process *process)
{
    char host[64] = "node";
    if (*process->settings.scheduler.node_id) {
        (void)snprintf(process->node, sizeof process->node, "%.24s", process->settings.scheduler.node_id);
        return;
    }
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(process->node, sizeof process->node, "%.24s", strcmp(process->role, "standalone") ? host : "local");
}

enum exit_code process_base(struct process *process, const char *role)
{
    struct loop_options options = {.step = on_step, .signal = on_signal, .clock_set = on_clock_set, .context = process};
    enum log_level level = LOG_INFO;
    struct error err;
    process->role = role;
    raise_descriptors();
    crypto_start();
    name_node(process);
    (void)log_level_parse(process->settings.log.level, &level);
    process->log = log_sink_create(STDERR_FILENO, level, !strcmp(process->settings.log.format, "json"), NULL);
    process->zones = zones_create(NULL);
    if (loop_create(&options, &process->loop, &err))
        return complain(EXIT_FAILED, "%s", err.text);
    process->store_notice = loop_notice_create(process->loop, on_store, process);
    process->poke_notice = loop_notice_create(process->loop, on_poke, process);
    return EXIT_OK;
}

enum exit_code process_store(struct process *process)
{
    const struct settings *settings = &process->settings;
    char url[SETTING_TEXT * 2];
    config_store_url(settings, url, sizeof url);
    struct store_options options = {.url = url,
                                    .password = settings->store.password,
                                    .tls_ca = settings->store.tls_ca,
                                    .readers = (unsigned)settings->store.readers,
                                    .session_timeout = settings->coordination.session_timeout,
                                    .max_size = settings->store.max_size,
                                    .post = process->store_notice ? send_store_notice : NULL,
                                    .context = process};
    struct error err;
    enum status status = store_open(&options, &process->store, &err);
    if (status)
        return complain(exit_code_of_status(status), "store %s: %s", url, err.text);
    struct store_op op;
    store_op_init(&op, STORE_CLUSTER);
    status = store_execute(process->store, &op);
    process->cluster = op.cluster;
    if (status)
        (void)complain(EXIT_UNREACHABLE, "store %s: %s", url, op.error.text);
    store_op_release(&op);
    return status ? exit_code_of_status(status) : EXIT_OK;
}

/* Where others reach this process: "https://host:port". A wildcard address is told by the machine's name. */
static void advertised(const struct process *process, int port, char *ret, size_t size)
{
    const struct settings *settings = &process->settings;
    const char *listen = settings->server.listen, *colon = strrchr(listen, ':');
    char host[256];
    if (*settings->server.public_url) {
        size_t length = strlen(settings->server.public_url);
        while (length && settings->server.public_url[length - 1] == '/')
            length--;
        (void)snprintf(ret, size, "%.*s", (int)length, settings->server.public_url);
        return;
    }
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon ? colon - listen : 0), listen);
    if (!*host || !strcmp(host, "0.0.0.0") || !strcmp(host, "[::]"))
        if (gethostname(host, sizeof host - 1))
            (void)snprintf(host, sizeof host, "127.0.0.1");
    (void)snprintf(ret, size, "%s://%s:%d", *settings->server.tls_cert ? "https" : "http", host,
                   port ? port : atoi(colon ? colon + 1 : "0"));
}

static void make_signer(struct process *process)
{
    if (!process->signer)
        process->signer = crypto_signer(process->cluster.key);
}

enum exit_code process_scheduler(struct process *process, bool sole_owner)
{
    enum exit_code code = process_dispatch(process);
    if (!code)
        code = process_coordination(process);
    if (code)
        return code;
    make_signer(process);
    struct scheduler_ports ports = {.store = process->store,
                                    .coordination = process->coordination,
                                    .dispatch = process->dispatch,
                                    .zones = process->zones,
                                    .signer = process->signer,
                                    .sink = process->log};
    struct scheduler_options options = {.settings = &process->settings,
                                        .node = process->node,
                                        .address = *process->settings.server.public_url
                                                       ? process->settings.server.public_url
                                                       : process->settings.server.listen,
                                        .role = process->role,
                                        .version = CARILLON_VERSION,
                                        .seed = crypto_seed(),
                                        .sole_owner = sole_owner};
    process->scheduler = scheduler_create(&options, &ports);
    if (*process->settings.server.public_url) {
        char url[SETTING_TEXT];
        advertised(process, 0, url, sizeof url);
        scheduler_callback(process->scheduler, url);
    }
    return EXIT_OK;
}

static void write_metrics(void *context, struct str *ret)
{
    struct process *process = context;
    if (process->scheduler)
        metrics_write(process->scheduler, ret);
}

static bool is_ready(void *context, const char **ret_reason)
{
    struct process *process = context;
    if (!process->scheduler)
        return true;
    if (!scheduler_ready(process->scheduler, ret_reason))
        return false;
    *ret_reason = metrics_warning(process->scheduler);
    return true;
}

enum exit_code process_orchestrator(struct process *process)
{
    struct store_op op;
    struct error err;
    char address[SETTING_TEXT];
    advertised(process, 0, address, sizeof address);
    store_op_init(&op, STORE_BOOT_START);
    op.boot_start.node = process->node;
    op.boot_start.address = address;
    op.boot_start.role = "orchestrator";
    op.boot_start.version = CARILLON_VERSION;
    enum status status = store_execute(process->store, &op);
    if (status) {
        enum exit_code code = complain(exit_code_of_status(status), "store: %s", op.error.text);
        store_op_release(&op);
        return code;
    }
    process->orchestrator_boot = op.boot_start.boot;
    make_signer(process);
    struct orchestrator_options options = {.settings = &process->settings,
                                           .store = process->store,
                                           .zones = process->zones,
                                           .version = CARILLON_VERSION,
                                           .role = process->role,
                                           .node = process->node,
                                           .cluster_id = process->cluster.id,
                                           .boot = op.boot_start.boot,
                                           .signer = process->signer,
                                           .threads = (unsigned)process->settings.server.threads,
                                           .context = process,
                                           .poke = send_poke,
                                           .metrics = write_metrics,
                                           .ready = is_ready};
    process->orchestrator = orchestrator_create(&options, &err);
    store_op_release(&op);
    return process->orchestrator ? EXIT_OK : complain(EXIT_FAILED, "orchestrator: %s", err.text);
}

/* ---- a scheduler's own small status page
 * ------------------------------------------------------------------------------- */

static void status_handler(void *context, const struct http_request *request, struct http_response *response)
{
    struct process *process = context;
    const char *reason = "";
    response->content_type = "text/plain; charset=utf-8";
    if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD")) {
        response->status = 405;
        str_add(&response->body, "only GET here\n");
    } else if (!strcmp(request->path, "/healthz")) {
        str_add(&response->body, "ok\n");
    } else if (!strcmp(request->path, "/readyz")) {
        bool ready = is_ready(process, &reason);
        response->status = ready ? 200 : 503;
        str_addf(&response->body, "%s\n", ready ? "ready" : reason);
    } else if (!strcmp(request->path, "/metrics")) {
        response->content_type = "text/plain; version=0.0.4; charset=utf-8";
        write_metrics(process, &response->body);
    } else {
        response->status = 404;
        str_add(&response->body, "a scheduler serves /healthz, /readyz and /metrics; the API is the orchestrator's\n");
    }
}

enum exit_code process_listen(struct process *process)
{
    const struct settings *settings = &process->settings;
    struct http_server_options options = {.listen = settings->server.listen,
                                          .tls_cert_file = settings->server.tls_cert,
                                          .tls_key_file = settings->server.tls_key,
                                          .threads = (unsigned)settings->server.threads,
                                          .quick_path = "/healthz", /* alive, whatever the store does */
                                          .handler = process->orchestrator ? orchestrator_handle : status_handler,
                                          .context = process->orchestrator ? (void *)process->orchestrator : process};
    struct error err;
    enum status status = http_server_start(&options, &process->http, &err);
    if (status)
        return complain(exit_code_of_status(status), "%s%s", err.text, status == STATUS_IN_USE ? " with --listen" : "");
    if (process->scheduler && process->orchestrator) { /* executors report to this very process */
        char url[SETTING_TEXT];
        advertised(process, http_server_port(process->http), url, sizeof url);
        scheduler_callback(process->scheduler, url);
    }
    return EXIT_OK;
}

enum exit_code process_run(struct process *process)
{
    notify_manager("READY=1");
    loop_run(process->loop);
    if (process->restart)
        sink_logf(process->log, LOG_WARN,
                  "this boot was fenced: another node took its work over; beginning again as a new boot", "node=%s",
                  process->node);
    return process->code;
}

/* ---- taking down, in the opposite order
 * -------------------------------------------------------------------------------- */

void process_end(struct process *process)
{
    if (process->orchestrator)
        orchestrator_stop_waiting(process->orchestrator);
    if (process->http)
        http_server_stop(process->http);
    orchestrator_free(process->orchestrator);
    if (process->dispatch)
        process->dispatch->ops->close(process->dispatch);
    if (process->coordination)
        process->coordination->ops->close(process->coordination);
    if (process->store)
        process->store->ops->close(process->store);
    if (process->scheduler)
        scheduler_free(process->scheduler);
    if (process->hub)
        coordination_hub_free(process->hub);
    process->store = NULL;
    free(process->signer);
    loop_notice_free(process->store_notice);
    loop_notice_free(process->poke_notice);
    if (process->loop)
        loop_free(process->loop);
    zones_free(process->zones);
    log_sink_free(process->log);
    if (process->folder_lock > 0)
        (void)close(process->folder_lock);
    explicit_bzero(&process->cluster, sizeof process->cluster);
}
