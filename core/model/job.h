/* Definitions as parsed documents: project, application, task, job (triggers + graph + policies). Read-only once
 * parsed; every text and array lies in the arena of the document (core/model/document.h), JSON values are kept as JSON
 * text. */
#ifndef CARILLON_CORE_MODEL_JOB_H
#define CARILLON_CORE_MODEL_JOB_H

#include "core/model/limits.h"
#include "core/model/retry.h"
#include "core/model/trigger.h"

struct name_value {
    const char *name, *value;
};

struct metadata {
    const char *project; /* "default" when not given; NULL for a Project itself */
    const char *name;
    const char *display_name, *description, *owner; /* any UTF-8; NULL = none */
    struct name_value *labels;
    size_t label_count;
};

struct project_spec {
    struct metadata meta;
    const char *timezone; /* IANA; "UTC" by default */
};

enum success_rule { SUCCESS_AUTO, SUCCESS_SIA, SUCCESS_HTTP, SUCCESS_EXPRESSION };

/* An HTTP endpoint, and how to call it; shared by an application's task and a step with a direct url. */
struct call_spec {
    const char *method; /* "POST" by default */
    const char *path;   /* task: begins with '/'; verbatim */
    const char *url;    /* step with a direct url; NULL otherwise */
    struct name_value *headers;
    size_t header_count;
    struct name_value *query; /* added to the path, percent-encoded; values may be templates */
    size_t query_count;
    span timeout, connect_timeout, wait_timeout; /* ms; −1 = default */
    enum repeat_rule repeat;                     /* REPEAT_UNSET = same_instance */
    enum success_rule success;
    const char *success_when; /* SUCCESS_EXPRESSION */
    bool envelope;
    bool async;      /* every 2xx means accepted */
    bool cancel;     /* "<path>/cancel" tells the executor that nobody waits for a call any more */
    bool serial;     /* one run at a time on an instance */
    int concurrency; /* per instance; 0 = default */
};

struct task_spec {
    const char *name; /* unique in the application */
    const char *description;
    struct call_spec call;
};

struct application_spec {
    struct metadata meta;
    const char **instances; /* "host:port" */
    size_t instance_count;
    const char *dns; /* "host:port", NULL = none */
    bool tls;        /* call by https */
    struct task_spec *tasks;
    size_t task_count;
};

enum routing {
    ROUTE_ROUND_ROBIN,
    ROUTE_RANDOM,
    ROUTE_FIXED,
    ROUTE_FIRST,
    ROUTE_HASH,
    ROUTE_LEAST_BUSY,
    ROUTE_BROADCAST,
    ROUTE_SHARD
};
enum step_kind { STEP_HTTP, STEP_NOOP, STEP_WAIT, STEP_JOB, STEP_APPROVAL, STEP_MAP };
enum join_rule { JOIN_ALL, JOIN_ANY, JOIN_N };
enum edge_on { EDGE_SUCCESS, EDGE_FAILURE, EDGE_ALWAYS, EDGE_EXPRESSION };

struct edge_spec {
    size_t from; /* index of the predecessor in job_spec.steps */
    enum edge_on on;
    const char *when; /* EDGE_EXPRESSION: the text of one ${…} */
};

struct step_spec {
    const char *name; /* unique in the job */
    enum step_kind kind;
    const char *application, *task; /* task: "application/name"; both NULL with a direct url */
    struct call_spec call;          /* with a task: only what the step overrides (unset elsewhere) */
    bool call_set;                  /* the step overrides something of the task's call */
    struct edge_spec *after;
    size_t after_count;
    enum join_rule join;
    size_t join_n;
    bool cancel_rest;
    const char *params; /* JSON template; NULL = {} */
    enum failure_preset on_failure;
    struct retry_policy retry;
    enum on_exhausted on_exhausted;
    size_t compensate; /* EXHAUSTED_COMPENSATE: index of the step */
    enum routing routing;
    const char *instance; /* ROUTE_FIXED: host:port; ROUTE_HASH: key template */
    span wait;            /* STEP_WAIT: ms */
    const char *map;      /* STEP_MAP: the list, as JSON template */
    int shards;           /* ROUTE_SHARD: how many; 0 = as many as there are instances */
    int concurrency;      /* fans: items at once; 0 = as many as the job's limit lets */
    int tolerate;         /* fans: so many items may fail */
    bool tolerate_share;  /* `tolerate` is in percent of the items */
    const char *job;      /* STEP_JOB */
};

enum overlap_policy { OVERLAP_WAIT, OVERLAP_SKIP, OVERLAP_ALLOW, OVERLAP_REPLACE };
enum capture { CAPTURE_HEAD, CAPTURE_NONE, CAPTURE_FULL };

struct job_spec {
    struct metadata meta;
    struct trigger_spec *triggers;
    size_t trigger_count;
    struct step_spec *steps; /* in topological order is not promised; see core/logic/run/graph.h */
    size_t step_count;
    enum overlap_policy overlap;
    int max_parallel;             /* OVERLAP_ALLOW; default 16 */
    span timeout;                 /* ms; default 24 h */
    const char *params;           /* JSON object text; NULL = none */
    struct retry_policy retry;    /* of whole runs; max 0 = none */
    int max_consecutive_failures; /* 0 = off */
    int max_in_flight;            /* calls of this job at once; default 64 */
    const char *pool;             /* NULL = any scheduler */
    enum capture capture;
    const char *alerts; /* JSON text, kept for later; NULL = none */
};

#define JOB_TIMEOUT_DEFAULT (24 * SPAN_HOUR)
#define JOB_PARALLEL_DEFAULT 16
#define JOB_IN_FLIGHT_DEFAULT 64
#define CALL_TIMEOUT_DEFAULT SPAN_HOUR
#define CONNECT_TIMEOUT_DEFAULT (5 * SPAN_SECOND)
#define WAIT_TIMEOUT_DEFAULT (10 * SPAN_MINUTE)

/* Broadcast, shard, map: one call an item, all of them one step. */
static inline bool step_fans(const struct step_spec *step)
{
    return step->kind == STEP_MAP ||
           (step->kind == STEP_HTTP && (step->routing == ROUTE_BROADCAST || step->routing == ROUTE_SHARD));
}
static inline bool step_has_call(const struct step_spec *step)
{
    return step->kind == STEP_HTTP || step->kind == STEP_MAP;
}

const char *overlap_policy_text(enum overlap_policy policy);
bool overlap_policy_parse(const char *text, enum overlap_policy *ret);
const char *routing_text(enum routing routing);
bool routing_parse(const char *text, enum routing *ret);
const char *step_kind_text(enum step_kind kind);
bool step_kind_parse(const char *text, enum step_kind *ret);
const char *edge_on_text(enum edge_on on);

/* [a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])? */
bool name_valid(const char *name);
/* manual-, retry-, recovery- are ours. */
bool trigger_name_reserved(const char *name);

/* The call of a step: the task's, with what the step overrides laid over it. `task` may be NULL (direct url).
 * Defaults are filled in: nothing in the result is "unset". */
struct call_spec call_spec_resolve(const struct call_spec *task, const struct step_spec *step);
struct call_defaults {
    span timeout, connect_timeout, wait_timeout; /* ms */
};
/* The same with other defaults of time; NULL: the built-in ones. */
struct call_spec call_spec_resolve_with(const struct call_spec *task, const struct step_spec *step,
                                        const struct call_defaults *defaults);

#endif
