#include "core/model/job.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const overlaps[] = {
    [OVERLAP_WAIT] = "wait",
    [OVERLAP_SKIP] = "skip",
    [OVERLAP_ALLOW] = "allow",
    [OVERLAP_REPLACE] = "replace",
};

static const char *const routings[] = {
    [ROUTE_ROUND_ROBIN] = "round_robin",
    [ROUTE_RANDOM] = "random",
    [ROUTE_FIXED] = "fixed",
    [ROUTE_FIRST] = "first",
    [ROUTE_HASH] = "hash",
    [ROUTE_LEAST_BUSY] = "least_busy",
    [ROUTE_BROADCAST] = "broadcast",
    [ROUTE_SHARD] = "shard",
};

static const char *const step_kinds[] = {
    [STEP_HTTP] = "http", [STEP_NOOP] = "noop",         [STEP_WAIT] = "wait",
    [STEP_JOB] = "job",   [STEP_APPROVAL] = "approval", [STEP_MAP] = "map",
};

static const char *const edges[] = {
    [EDGE_SUCCESS] = "success",
    [EDGE_FAILURE] = "failure",
    [EDGE_ALWAYS] = "always",
    [EDGE_EXPRESSION] = "expression",
};

static int find(const char *const *names, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], text))
            return (int)i;
    return -1;
}

const char *overlap_policy_text(enum overlap_policy policy)
{
    return (unsigned)policy < COUNT(overlaps) ? overlaps[policy] : "";
}

bool overlap_policy_parse(const char *text, enum overlap_policy *ret)
{
    int i = find(overlaps, COUNT(overlaps), text);
    if (i >= 0)
        *ret = (enum overlap_policy)i;
    return i >= 0;
}

const char *routing_text(enum routing routing)
{
    return (unsigned)routing < COUNT(routings) ? routings[routing] : "";
}

bool routing_parse(const char *text, enum routing *ret)
{
    int i = find(routings, COUNT(routings), text);
    if (i >= 0)
        *ret = (enum routing)i;
    return i >= 0;
}

const char *step_kind_text(enum step_kind kind)
{
    return (unsigned)kind < COUNT(step_kinds) ? step_kinds[kind] : "";
}

bool step_kind_parse(const char *text, enum step_kind *ret)
{
    int i = find(step_kinds, COUNT(step_kinds), text);
    if (i >= 0)
        *ret = (enum step_kind)i;
    return i >= 0;
}

const char *edge_on_text(enum edge_on on)
{
    return (unsigned)on < COUNT(edges) ? edges[on] : "";
}

static bool name_end(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool name_valid(const char *name)
{
    size_t length = strlen(name);
    if (!length || length > LIMIT_NAME || !name_end(name[0]) || !name_end(name[length - 1]))
        return false;
    for (const char *p = name; *p; p++)
        if (!name_end(*p) && *p != '.' && *p != '_' && *p != '-')
            return false;
    return true;
}

bool trigger_name_reserved(const char *name)
{
    static const char *const prefixes[] = {"manual-", "retry-", "recovery-"};
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* Texts and lists of the step replace those of the task as a whole; flags are joined; success_when "auto" of a step
 * keeps the task's rule. */
static void lay_over(struct call_spec *call, const struct call_spec *over)
{
    if (over->method)
        call->method = over->method;
    if (over->path)
        call->path = over->path;
    if (over->url)
        call->url = over->url;
    if (over->header_count) {
        call->headers = over->headers;
        call->header_count = over->header_count;
    }
    if (over->query_count) {
        call->query = over->query;
        call->query_count = over->query_count;
    }
    if (over->timeout >= 0)
        call->timeout = over->timeout;
    if (over->connect_timeout >= 0)
        call->connect_timeout = over->connect_timeout;
    if (over->wait_timeout >= 0)
        call->wait_timeout = over->wait_timeout;
    if (over->repeat != REPEAT_UNSET)
        call->repeat = over->repeat;
    if (over->success != SUCCESS_AUTO) {
        call->success = over->success;
        call->success_when = over->success_when;
    }
    if (over->concurrency > 0)
        call->concurrency = over->concurrency;
    call->envelope |= over->envelope;
    call->async |= over->async;
    call->cancel |= over->cancel;
    call->serial |= over->serial;
}

struct call_spec call_spec_resolve(const struct call_spec *task, const struct step_spec *step)
{
    return call_spec_resolve_with(task, step, NULL);
}

struct call_spec call_spec_resolve_with(const struct call_spec *task, const struct step_spec *step,
                                        const struct call_defaults *defaults)
{
    static const struct call_defaults built_in = {CALL_TIMEOUT_DEFAULT, CONNECT_TIMEOUT_DEFAULT, WAIT_TIMEOUT_DEFAULT};
    const struct call_defaults *unsaid = defaults ? defaults : &built_in;
    struct call_spec call = {
        .timeout = -1, .connect_timeout = -1, .wait_timeout = -1, .repeat = REPEAT_UNSET, .success = SUCCESS_AUTO};
    if (task)
        call = *task;
    if (!task || step->call_set)
        lay_over(&call, &step->call);
    if (!call.method)
        call.method = "POST";
    if (call.timeout < 0)
        call.timeout = unsaid->timeout;
    if (call.connect_timeout < 0)
        call.connect_timeout = unsaid->connect_timeout;
    if (call.wait_timeout < 0)
        call.wait_timeout = unsaid->wait_timeout;
    if (call.repeat == REPEAT_UNSET)
        call.repeat = REPEAT_SAME_INSTANCE;
    if (call.serial)
        call.concurrency = 1;
    return call;
}
