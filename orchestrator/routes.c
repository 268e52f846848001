#include "orchestrator/routes.h"

#include <stdio.h>
#include <string.h>

#define P "/api/v1/projects/{project}"

/* clang-format off */
static const struct route routes[] = {
/*  method    path                               handler              role            object */
{"GET",    "/healthz",                           health_get,          ROLE_NOBODY,    OBJECT_PUBLIC},
{"GET",    "/readyz",                            ready_get,           ROLE_NOBODY,    OBJECT_PUBLIC},
{"GET",    "/metrics",                           metrics_get,         ROLE_NOBODY,    OBJECT_PUBLIC},
{"GET",    "/api/v1/openapi.json",               openapi_get,         ROLE_NOBODY,    OBJECT_PUBLIC},
{"POST",   "/api/v1/report/{run}/{step}/{item}/{try}/{token}", report_post, ROLE_NOBODY, OBJECT_PUBLIC},
{"POST",   "/api/v1/report/{run}/{step}/{item}/{try}/{token}/logs", report_logs, ROLE_NOBODY, OBJECT_PUBLIC},

{"GET",    "/api/v1/whoami",                     whoami_get,          ROLE_VIEWER,    OBJECT_ANY},
{"GET",    "/api/v1/cron/next",                  cron_next_get,       ROLE_VIEWER,    OBJECT_ANY},
{"POST",   "/api/v1/cron/next",                  cron_next_post,      ROLE_VIEWER,    OBJECT_ANY},
{"POST",   "/api/v1/render",                     render_preview,      ROLE_VIEWER,    OBJECT_ANY},
{"GET",    "/api/v1/schedulers",                 schedulers_list,     ROLE_VIEWER,    OBJECT_ANY},
{"POST",   "/api/v1/schedulers:drain",           schedulers_drain,    ROLE_ADMIN,     OBJECT_CLUSTER},
{"POST",   "/api/v1/schedulers:online",          schedulers_online,   ROLE_ADMIN,     OBJECT_CLUSTER},
{"POST",   "/api/v1/schedulers:forget",          schedulers_forget,   ROLE_ADMIN,     OBJECT_CLUSTER},
{"GET",    "/api/v1/schedulers/{node}",          scheduler_get,       ROLE_VIEWER,    OBJECT_ANY},
{"GET",    "/api/v1/schedulers/{node}/jobs",     scheduler_jobs,      ROLE_VIEWER,    OBJECT_FILTER},
{"POST",   "/api/v1/schedulers/{node}/drain",    schedulers_drain,    ROLE_ADMIN,     OBJECT_CLUSTER},
{"POST",   "/api/v1/schedulers/{node}/online",   schedulers_online,   ROLE_ADMIN,     OBJECT_CLUSTER},
{"POST",   "/api/v1/schedulers/{node}/forget",   schedulers_forget,   ROLE_ADMIN,     OBJECT_CLUSTER},
{"POST",   "/api/v1/apply",                      apply_documents,     ROLE_DEVELOPER, OBJECT_FILTER},
{"GET",    "/api/v1/audit",                      audit_list,          ROLE_ADMIN,     OBJECT_CLUSTER},
{"GET",    "/api/v1/tokens",                     tokens_list,         ROLE_ADMIN,     OBJECT_FILTER},
{"POST",   "/api/v1/tokens",                     token_create,        ROLE_ADMIN,     OBJECT_FILTER},
{"POST",   "/api/v1/tokens:revoke",              tokens_revoke,       ROLE_ADMIN,     OBJECT_FILTER},
{"DELETE", "/api/v1/tokens/{id}",                token_delete,        ROLE_ADMIN,     OBJECT_FILTER},
{"GET",    "/api/v1/leases",                     leases_list,         ROLE_VIEWER,    OBJECT_FILTER},
{"POST",   "/api/v1/leases/{name}:acquire",      lease_acquire,       ROLE_OPERATOR,  OBJECT_FILTER},
{"POST",   "/api/v1/leases/{name}:renew",        lease_renew,         ROLE_OPERATOR,  OBJECT_FILTER},
{"POST",   "/api/v1/leases/{name}:release",      lease_release,       ROLE_OPERATOR,  OBJECT_FILTER},
{"GET",    "/api/v1/config",                     config_get,          ROLE_ADMIN,     OBJECT_CLUSTER},

{"GET",    "/api/v1/projects",                   projects_list,       ROLE_VIEWER,    OBJECT_FILTER},
{"GET",    P,                                    project_get,         ROLE_VIEWER,    OBJECT_PROJECT},
{"PUT",    P,                                    project_put,         ROLE_ADMIN,     OBJECT_PROJECT},
{"DELETE", P,                                    project_delete,      ROLE_ADMIN,     OBJECT_PROJECT},
{"GET",    P "/audit",                           audit_list,          ROLE_ADMIN,     OBJECT_PROJECT},

{"GET",    P "/apps",                            applications_list,   ROLE_VIEWER,    OBJECT_PROJECT},
{"GET",    P "/apps/{app}",                      application_get,     ROLE_VIEWER,    OBJECT_PROJECT},
{"PUT",    P "/apps/{app}",                      application_put,     ROLE_DEVELOPER, OBJECT_PROJECT},
{"DELETE", P "/apps/{app}",                      application_delete,  ROLE_DEVELOPER, OBJECT_PROJECT},
{"GET",    P "/apps/{app}/instances",            instances_list,      ROLE_VIEWER,    OBJECT_PROJECT},
{"PUT",    P "/apps/{app}/instances/{instance}", instance_register,   ROLE_NOBODY,    OBJECT_PUBLIC},
{"DELETE", P "/apps/{app}/instances/{instance}", instance_leave,      ROLE_NOBODY,    OBJECT_PUBLIC},
{"GET",    P "/apps/{app}/key",                  application_key_get, ROLE_ADMIN,     OBJECT_PROJECT},
{"GET",    P "/apps/{app}/tasks",                tasks_list,          ROLE_VIEWER,    OBJECT_PROJECT},
{"GET",    P "/tasks",                           tasks_list,          ROLE_VIEWER,    OBJECT_PROJECT},

{"GET",    P "/calendars",                       calendars_list,      ROLE_VIEWER,    OBJECT_PROJECT},
{"GET",    P "/calendars/{name}",                calendar_get,        ROLE_VIEWER,    OBJECT_PROJECT},
{"PUT",    P "/calendars/{name}",                calendar_put,        ROLE_DEVELOPER, OBJECT_PROJECT},
{"DELETE", P "/calendars/{name}",                calendar_delete,     ROLE_DEVELOPER, OBJECT_PROJECT},

{"GET",    P "/jobs",                            jobs_list,           ROLE_VIEWER,    OBJECT_PROJECT},
{"POST",   P "/jobs:schedule",                   jobs_schedule,       ROLE_DEVELOPER, OBJECT_PROJECT},
{"POST",   P "/jobs:unschedule",                 jobs_unschedule,     ROLE_DEVELOPER, OBJECT_PROJECT},
{"POST",   P "/jobs:status",                     jobs_status,         ROLE_VIEWER,    OBJECT_PROJECT},
{"POST",   P "/jobs:pause",                      jobs_pause,          ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs:resume",                     jobs_resume,         ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs:run",                        jobs_run,            ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs:trigger",                    jobs_run,            ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs:enqueue",                    jobs_enqueue,        ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs:cancel",                     jobs_cancel,         ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs:move",                       jobs_move,           ROLE_OPERATOR,  OBJECT_PROJECT},
{"GET",    P "/jobs/{name}",                     job_get,             ROLE_VIEWER,    OBJECT_PROJECT},
{"PUT",    P "/jobs/{name}",                     job_put,             ROLE_DEVELOPER, OBJECT_PROJECT},
{"DELETE", P "/jobs/{name}",                     job_delete,          ROLE_DEVELOPER, OBJECT_PROJECT},
{"GET",    P "/jobs/{name}/status",              job_status_get,      ROLE_VIEWER,    OBJECT_PROJECT},
{"GET",    P "/jobs/{name}/explain",             job_explain,         ROLE_VIEWER,    OBJECT_PROJECT},
{"POST",   P "/jobs/{name}/pause",               jobs_pause,          ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs/{name}/resume",              jobs_resume,         ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs/{name}/run",                 jobs_run,            ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs/{name}/enqueue",             jobs_enqueue,        ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs/{name}/cancel",              jobs_cancel,         ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/jobs/{name}/move",                jobs_move,           ROLE_OPERATOR,  OBJECT_PROJECT},

{"POST",   P "/triggers:pause",                  triggers_pause,      ROLE_OPERATOR,  OBJECT_PROJECT},
{"POST",   P "/triggers:resume",                 triggers_resume,     ROLE_OPERATOR,  OBJECT_PROJECT},

{"GET",    P "/runs",                            runs_list,           ROLE_VIEWER,    OBJECT_PROJECT},
{"GET",    P "/runs:count",                      runs_count,          ROLE_VIEWER,    OBJECT_PROJECT},
{"POST",   P "/runs:cancel",                     runs_cancel,         ROLE_OPERATOR,  OBJECT_PROJECT},
{"GET",    P "/runs/{id}",                       run_get,             ROLE_VIEWER,    OBJECT_PROJECT},
{"GET",    P "/runs/{id}/logs",                  run_logs_get,        ROLE_VIEWER,    OBJECT_PROJECT},
{"POST",   P "/runs/{id}/cancel",                runs_cancel,         ROLE_OPERATOR,  OBJECT_PROJECT},
{"GET",    P "/ledger",                          ledger_list,         ROLE_VIEWER,    OBJECT_PROJECT},
};
/* clang-format on */

#define ROUTES (sizeof routes / sizeof *routes)

const struct route *routes_table(size_t *ret_count)
{
    *ret_count = ROUTES;
    return routes;
}

/* Length of the segment at p (up to '/' or the end). */
static size_t segment(const char *p)
{
    return strcspn(p, "/");
}

/* What follows "{x}" in its segment, and how long it is. */
static const char *verb_of(const char *pattern, size_t length, size_t *ret_length)
{
    const char *close = memchr(pattern, '}', length);
    *ret_length = close ? length - (size_t)(close + 1 - pattern) : 0;
    return close ? close + 1 : pattern;
}

static bool takes(const char *pattern, size_t want, const char *path, size_t have)
{
    size_t verb;
    const char *text = verb_of(pattern, want, &verb);
    return have > verb && memcmp(path + have - verb, text, verb) == 0;
}

static bool path_matches(const char *pattern, const char *path)
{
    while (*pattern == '/' && *path == '/') {
        size_t want = segment(++pattern), have = segment(++path);
        bool fits = *pattern == '{' ? takes(pattern, want, path, have) : want == have && !memcmp(pattern, path, want);
        if (!fits)
            return false;
        pattern += want;
        path += have;
    }
    return !*pattern && !*path;
}

static void take_parts(struct call *call, const char *pattern, const char *path)
{
    while (*pattern == '/') {
        size_t want = segment(++pattern), have = segment(++path);
        const struct {
            const char *name, **to;
        } parts[] = {{"{project}", &call->project}, {"{app}", &call->app},    {"{name}", &call->name},
                     {"{id}", &call->id},           {"{run}", &call->id},     {"{instance}", &call->id},
                     {"{step}", &call->name},       {"{node}", &call->name},  {"{item}", &call->item},
                     {"{try}", &call->key_try},     {"{token}", &call->token}};
        size_t verb = 0;
        (void)verb_of(pattern, want, &verb);
        for (size_t i = 0; *pattern == '{' && i < sizeof parts / sizeof *parts; i++)
            if (strlen(parts[i].name) == want - verb && !strncmp(pattern, parts[i].name, want - verb))
                *parts[i].to = call_copy(call, slice_of(path, have - verb));
        pattern += want;
        path += have;
    }
}

const struct route *routes_find(struct call *call, char *ret_allow, size_t allow_size)
{
    const char *path = call->request->path, *method = call->request->method;
    bool head = !strcmp(method, "HEAD"); /* the server leaves the body out */
    size_t used = 0;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < ROUTES; i++) {
        const struct route *route = &routes[i];
        if (!path_matches(route->path, path))
            continue;
        if (!strcmp(route->method, head ? "GET" : method)) {
            take_parts(call, route->path, path);
            return route;
        }
        int n = snprintf(ret_allow + used, allow_size - used, "%s%s", used ? ", " : "", route->method);
        used += n > 0 && (size_t)n < allow_size - used ? (size_t)n : 0;
    }
    if (used)
        call_fail(call, METHOD_UNKNOWN, "path", path, "method", method, "allowed", ret_allow, NULL);
    else
        call_fail(call, ROUTE_UNKNOWN, "path", path, NULL);
    return NULL;
}
