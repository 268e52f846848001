#include "orchestrator/orchestrator.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orchestrator/auth.h"
#include "orchestrator/interface.h"
#include "orchestrator/routes.h"

#define BODY_MAX ((size_t)64 << 20)  /* of an answer: a page of 1000 documents */
#define ARENA_MAX ((size_t)64 << 20) /* of a request: copies of its inputs */
#define THREADS_DEFAULT 4

static bool read_cluster(struct orchestrator *o, struct error *err)
{
    struct store_op op;
    store_op_init(&op, STORE_CLUSTER);
    enum status status = store_execute(o->options.store, &op);
    if (status == STATUS_OK)
        (void)snprintf(o->cluster_id, sizeof o->cluster_id, "%s", op.cluster.id);
    else
        (void)error_set(err, status, "the store does not tell the cluster's identity: %s", op.error.text);
    store_op_release(&op);
    return status == STATUS_OK;
}

struct orchestrator *orchestrator_create(const struct orchestrator_options *options, struct error *err)
{
    if (!options->store->ops->execute || options->boot <= 0) {
        (void)error_set(err, STATUS_INVALID, "the orchestrator needs a store that can execute, and a boot number");
        return NULL;
    }
    struct orchestrator *o = mem_new(struct orchestrator);
    o->options = *options;
    o->auth = auth_create();
    o->waiting_max = (int)((options->threads ? options->threads : THREADS_DEFAULT) / 2);
    /* A scheduler under the same boot counts its runs from 0: the upper half is ours. */
    atomic_init(&o->sequence, (uint64_t)1 << 33);
    if (options->cluster_id)
        (void)snprintf(o->cluster_id, sizeof o->cluster_id, "%s", options->cluster_id);
    else if (!read_cluster(o, err)) {
        orchestrator_free(o);
        return NULL;
    }
    return o;
}

void orchestrator_stop_waiting(struct orchestrator *o)
{
    atomic_store(&o->stopping, true);
}

void orchestrator_free(struct orchestrator *o)
{
    if (!o)
        return;
    auth_free(o->auth);
    free(o);
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct moment now(const struct orchestrator *o)
{
    if (o->options.now)
        return o->options.now(o->options.context);
    return (struct moment){{clock_ms(CLOCK_REALTIME)}, {clock_ms(CLOCK_BOOTTIME)}};
}

/* The first language of Accept-Language that we have: zh* or en*; English otherwise. */
static enum language language_of(const struct http_request *request)
{
    const char *header = http_header(request, "Accept-Language");
    for (const char *p = header; p && *p; p += *p == ',') {
        p += strspn(p, " \t");
        if (!strncasecmp(p, "zh", 2))
            return LANGUAGE_ZH;
        if (!strncasecmp(p, "en", 2))
            return LANGUAGE_EN;
        p += strcspn(p, ",");
    }
    return LANGUAGE_EN;
}

static bool permitted(struct call *call)
{
    const struct route *route = call->route;
    if (route->rule == OBJECT_PUBLIC)
        return true;
    if (!auth_check(call))
        return false;
    switch (route->rule) {
    case OBJECT_PROJECT:
        return call_may(call, route->need, call->project, &call->problem);
    case OBJECT_CLUSTER:
        return call_may(call, route->need, NULL, &call->problem);
    case OBJECT_ANY:
    case OBJECT_FILTER:
        return call_may(call, route->need, *call->who.project ? call->who.project : NULL, &call->problem);
    case OBJECT_PUBLIC:
    case OBJECT_CLOSED:
        break;
    }
    return call_fail(call, ROLE_MISSING, "need", "nobody", "role", role_text(call->who.role), NULL);
}

static void answer_problem(struct call *call)
{
    struct http_response *response = call->response;
    enum problem_code code = call->problem.code;
    response->status = problem_status(code);
    response->content_type = "application/json; charset=utf-8";
    response->static_body = NULL;
    str_clear(&response->body);
    str_add(&response->body, "{\"error\":");
    problem_write(&call->problem, call->language, call->request->id, false, &response->body);
    str_add_char(&response->body, '}');
    if (response->status == 401)
        http_response_header(response, "WWW-Authenticate", "Bearer realm=\"carillon\"%s",
                             code == TOKEN_REFUSED ? ", error=\"invalid_token\"" : "");
    if (code == AUTH_TOO_OFTEN)
        http_response_header(response, "Retry-After", "60");
    else if (code == TOO_OFTEN || response->status == 503)
        http_response_header(response, "Retry-After", "1");
}

static void handle(struct call *call)
{
    char allow[64];
    if (interface_serve(call->request, call->response))
        return;
    call->route = routes_find(call, allow, sizeof allow);
    if (!call->route && *allow)
        http_response_header(call->response, "Allow", "%s", allow);
    if (call->route && permitted(call))
        call->route->handle(call);
    if (call->problem.code == PROBLEM_NONE && call->response->body.failed)
        call_fail(call, INTERNAL, NULL);
    http_response_header(call->response, "Cache-Control", "no-store");
    if (call->problem.code != PROBLEM_NONE)
        answer_problem(call);
}

void orchestrator_handle(void *orchestrator, const struct http_request *request, struct http_response *response)
{
    struct orchestrator *o = orchestrator;
    struct call call = {.o = o, .request = request, .response = response, .now = now(o)};
    call.language = language_of(request);
    if (!response->body.maximum)
        str_init(&response->body, BODY_MAX);
    if (!response->status)
        response->status = 200;
    if (!response->content_type)
        response->content_type = "application/json; charset=utf-8";
    arena_init(&call.arena, ARENA_MAX);
    handle(&call);
    problem_release(&call.problem);
    arena_release(&call.arena);
    atomic_fetch_add(&o->answers[response->status / 100 % 6], 1);
}
