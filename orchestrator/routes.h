/* The whole API on one screen (routes.c): method, path, handler, permission, and what the token's project must match.
 */
#ifndef CARILLON_ORCHESTRATOR_ROUTES_H
#define CARILLON_ORCHESTRATOR_ROUTES_H

#include "orchestrator/call.h"

/* What a token may touch; 0 denies everybody, so that a route without a rule is closed. */
enum object_rule {
    OBJECT_CLOSED,
    OBJECT_PUBLIC,  /* no token needed, or the handler checks what it needs */
    OBJECT_ANY,     /* nobody's in particular */
    OBJECT_FILTER,  /* the handler shows or accepts only what the token's project owns */
    OBJECT_PROJECT, /* {project} of the path must be the token's, when it has one */
    OBJECT_CLUSTER, /* tokens of one project are refused */
};

struct route {
    const char *method, *path; /* "{x}" takes one segment, "{x}:verb" one that ends so */
    void (*handle)(struct call *call);
    enum role need;
    enum object_rule rule;
};

const struct route *routes_table(size_t *ret_count);
/* The route of a request; its path parts go into the call (arena). NULL: call->problem says 404 or 405; `ret_allow`
 * lists the methods of that path ("" = none). */
const struct route *routes_find(struct call *call, char *ret_allow, size_t allow_size);

/* Handlers, by resource file. */
#define HANDLER(name) void name(struct call *call)
HANDLER(projects_list);
HANDLER(project_get);
HANDLER(project_put);
HANDLER(project_delete);
HANDLER(applications_list);
HANDLER(application_get);
HANDLER(application_put);
HANDLER(application_delete);
HANDLER(instances_list);
HANDLER(instance_register);
HANDLER(instance_leave);
HANDLER(application_key_get);
HANDLER(tasks_list);
HANDLER(calendars_list);
HANDLER(calendar_get);
HANDLER(calendar_put);
HANDLER(calendar_delete);
HANDLER(jobs_list);
HANDLER(job_get);
HANDLER(job_put);
HANDLER(job_delete);
HANDLER(job_status_get);
HANDLER(job_explain);
HANDLER(jobs_schedule);
HANDLER(jobs_unschedule);
HANDLER(jobs_status);
HANDLER(jobs_pause);
HANDLER(jobs_resume);
HANDLER(jobs_run);
HANDLER(jobs_enqueue);
HANDLER(jobs_cancel);
HANDLER(triggers_pause);
HANDLER(triggers_resume);
HANDLER(runs_list);
HANDLER(runs_count);
HANDLER(run_get);
HANDLER(runs_cancel);
HANDLER(ledger_list);
HANDLER(apply_documents);
HANDLER(cron_next_get);
HANDLER(cron_next_post);
HANDLER(render_preview);
HANDLER(audit_list);
HANDLER(schedulers_list);
HANDLER(scheduler_get);
HANDLER(scheduler_jobs);
HANDLER(schedulers_drain);
HANDLER(schedulers_online);
HANDLER(schedulers_forget);
HANDLER(jobs_move);
HANDLER(token_create);
HANDLER(tokens_list);
HANDLER(leases_list);
HANDLER(lease_acquire);
HANDLER(lease_renew);
HANDLER(lease_release);
HANDLER(tokens_revoke);
HANDLER(token_delete);
HANDLER(whoami_get);
HANDLER(config_get);
HANDLER(openapi_get);
HANDLER(report_post);
HANDLER(report_logs);
HANDLER(run_logs_get);
HANDLER(health_get);
HANDLER(ready_get);
HANDLER(metrics_get);
#undef HANDLER

#endif
