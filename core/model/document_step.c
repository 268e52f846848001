/* What one step says. */
#include <string.h>

#include "core/model/document_graph.h"

/* clang-format off */
const struct choice edge_choices[] = {{"success", EDGE_SUCCESS}, {"failure", EDGE_FAILURE}, {"always", EDGE_ALWAYS}, {NULL, 0}};
static const struct choice kinds[] = {{"http", STEP_HTTP}, {"noop", STEP_NOOP}, {"wait", STEP_WAIT}, {"job", STEP_JOB}, {"approval", STEP_APPROVAL}, {"map", STEP_MAP}, {NULL, 0}};
static const struct choice routings[] = {
    {"round_robin", ROUTE_ROUND_ROBIN}, {"random", ROUTE_RANDOM}, {"fixed", ROUTE_FIXED}, {"first", ROUTE_FIRST}, {"hash", ROUTE_HASH},
    {"least_busy", ROUTE_LEAST_BUSY}, {"broadcast", ROUTE_BROADCAST}, {"shard", ROUTE_SHARD}, {NULL, 0}};
static const struct choice presets[] = {
    {"stop", FAILURE_STOP}, {"ignore", FAILURE_IGNORE}, {"retry", FAILURE_RETRY}, {"transfer", FAILURE_TRANSFER}, {"retry_transfer", FAILURE_RETRY_TRANSFER},
    {"STOP", FAILURE_STOP}, {"IGNORE", FAILURE_IGNORE}, {"MULTI_CALLS", FAILURE_RETRY}, {"TRANSFER", FAILURE_TRANSFER}, {"MULTI_CALLS_TRANSFER", FAILURE_RETRY_TRANSFER},
    {NULL, 0}};

enum step_member {
    /* where the call goes */
    MEMBER_TASK, MEMBER_URL, MEMBER_NOOP, MEMBER_WAIT, MEMBER_KIND,
    /* of every step */
    MEMBER_STEP, MEMBER_AFTER, MEMBER_ON, MEMBER_WHEN, MEMBER_JOIN, MEMBER_CANCEL_REST,
    /* of calls only */
    MEMBER_ON_FAILURE, MEMBER_RETRY, MEMBER_ON_EXHAUSTED, MEMBER_PARAMS, MEMBER_ROUTING, MEMBER_INSTANCE, MEMBER_HASH_KEY,
    /* of fans only */
    MEMBER_MAP, MEMBER_SHARDS, MEMBER_CONCURRENCY, MEMBER_TOLERATE,
    MEMBER_CALL, /* the first of CALL_FIELDS */
};

#define AT(member) offsetof(struct step_members, member)
static const struct field step_fields[] = {
    [MEMBER_TASK] = {"task", read_line, AT(task), 0, 2048, NULL, NULL},
    [MEMBER_URL] = {"url", read_line, AT(url), 0, 8192, NULL, NULL},
    [MEMBER_NOOP] = {"noop", read_bool, AT(noop), 0, 0, NULL, NULL},
    [MEMBER_WAIT] = {"wait", read_span, AT(spec.wait), 0, CALL_MAX, NULL, NULL},
    [MEMBER_KIND] = {"kind", read_choice, AT(spec.kind), 0, 0, kinds, "http, map, noop, wait"},
    [MEMBER_STEP] = {"step", read_name, AT(spec.name), 0, 0, NULL, NULL},
    [MEMBER_AFTER] = {"after", read_raw, AT(after), 0, 0, NULL, NULL},
    [MEMBER_ON] = {"on", read_choice, AT(on), 0, 0, edge_choices, NULL},
    [MEMBER_WHEN] = {"when", read_line, AT(when), 0, LIMIT_EXPRESSION, NULL, NULL},
    [MEMBER_JOIN] = {"join", read_raw, AT(join), 0, 0, NULL, NULL},
    [MEMBER_CANCEL_REST] = {"cancel_rest", read_bool, AT(spec.cancel_rest), 0, 0, NULL, NULL},
    [MEMBER_ON_FAILURE] = {"on_failure", read_choice, AT(spec.on_failure), 0, 0, presets, "stop, ignore, retry, transfer, retry_transfer"},
    [MEMBER_RETRY] = {"retry", read_retry, AT(spec.retry), 0, 0, NULL, NULL},
    [MEMBER_ON_EXHAUSTED] = {"on_exhausted", read_line, AT(on_exhausted), 0, 200, NULL, NULL},
    [MEMBER_PARAMS] = {"params", read_json, AT(spec.params), 0, LIMIT_PARAMS, NULL, NULL},
    [MEMBER_ROUTING] = {"routing", read_choice, AT(spec.routing), 0, 0, routings, "round_robin, random, fixed, first, hash, least_busy, broadcast, shard"},
    [MEMBER_INSTANCE] = {"instance", read_address, AT(spec.instance), 0, 0, NULL, NULL},
    [MEMBER_HASH_KEY] = {"hash_key", read_line, AT(hash_key), 0, LIMIT_EXPRESSION, NULL, NULL},
    [MEMBER_MAP] = {"map", read_json, AT(spec.map), 0, LIMIT_PARAMS, NULL, NULL},
    [MEMBER_SHARDS] = {"shards", read_int, AT(spec.shards), 1, LIMIT_ITEMS, NULL, NULL},
    [MEMBER_CONCURRENCY] = {"concurrency", read_int, AT(spec.concurrency), 1, LIMIT_ITEMS, NULL, NULL},
    [MEMBER_TOLERATE] = {"tolerate", read_raw, AT(tolerate), 0, 0, NULL, NULL},
    CALL_FIELDS(struct step_members),
};
/* clang-format on */
#define STEP_FIELDS (sizeof step_fields / sizeof *step_fields)
_Static_assert(STEP_FIELDS == MEMBER_CALL + CALL_FIELD_COUNT, "the members of a call come last");

static bool has(uint64_t seen, size_t member)
{
    return seen & FIELD_BIT(member);
}

/* "app/name" or "app:/path". */
static void task_read(struct reader *reader, const struct place *place, struct step_members *m)
{
    size_t length = strcspn(m->task, "/:");
    const char *rest = m->task + length;
    char *app = arena_copy(reader->arena, m->task, length);
    bool path = *rest == ':';
    bool ok = *rest && (path ? path_valid(rest + 1) : name_valid(rest + 1));
    if (!app) {
        reader->no_memory = true;
        return;
    }
    if (!ok || !name_valid(app)) {
        read_fault(reader, place, "\"%.100s\" names no task; write application/task or application:/path", m->task);
        return;
    }
    m->spec.application = app;
    m->spec.task = rest + 1;
}

/* What the step is: exactly one of a call by task, a call by url, a wait, nothing. */
static void kind_read(struct reader *reader, const struct place *place, uint64_t seen, struct step_members *m)
{
    bool task = has(seen, MEMBER_TASK), url = has(seen, MEMBER_URL), wait = has(seen, MEMBER_WAIT);
    enum step_kind said = m->spec.kind;
    bool noop = m->noop || (has(seen, MEMBER_KIND) && said == STEP_NOOP);
    if (has(seen, MEMBER_KIND) && (said == STEP_JOB || said == STEP_APPROVAL)) {
        read_fault(reader, PLACE_MEMBER(place, "kind"),
                   "steps of kind %s are not available yet; http, map, noop and wait are", step_kind_text(said));
        return;
    }
    int things = task + url + wait + noop;
    if (things != 1) {
        read_fault(reader, place, "%s; a step has exactly one of task, url, wait, kind: noop",
                   things ? "more than one thing to do" : "nothing to do");
        return;
    }
    m->spec.kind = wait ? STEP_WAIT : noop ? STEP_NOOP : has(seen, MEMBER_MAP) ? STEP_MAP : STEP_HTTP;
    if (has(seen, MEMBER_KIND) && said != m->spec.kind)
        read_fault(reader, PLACE_MEMBER(place, "kind"), "is %s, but the step says what a step of kind %s does",
                   step_kind_text(said), step_kind_text(m->spec.kind));
    for (size_t i = MEMBER_ON_FAILURE; !step_has_call(&m->spec) && i < STEP_FIELDS; i++)
        if (has(seen, i))
            read_fault(reader, PLACE_MEMBER(place, step_fields[i].name), "goes with a call only, not with kind: %s",
                       step_kind_text(m->spec.kind));
}

static void call_read(struct reader *reader, const struct place *place, uint64_t seen, struct step_members *m)
{
    for (size_t i = MEMBER_CALL; i < STEP_FIELDS; i++)
        m->spec.call_set |= has(seen, i);
    m->spec.call = call_take(reader, place, &m->members);
    if (m->task)
        task_read(reader, PLACE_MEMBER(place, "task"), m);
    if (m->url) {
        const char *fault = url_fault(m->url);
        if (fault)
            read_fault(reader, PLACE_MEMBER(place, "url"), "\"%.100s\": %s", m->url, fault);
        m->spec.call.url = m->url;
        m->spec.call_set = true;
    }
    for (size_t i = MEMBER_CALL; m->task && i < STEP_FIELDS; i++)
        if (has(seen, i) && step_fields[i].read == read_bool &&
            !*(const bool *)((const char *)m + step_fields[i].offset))
            read_fault(reader, PLACE_MEMBER(place, step_fields[i].name),
                       "false does not undo what the task says; leave it out, or change the task");
}

static void routing_read(struct reader *reader, const struct place *place, uint64_t seen, struct step_members *m)
{
    struct step_spec *spec = &m->spec;
    for (size_t i = MEMBER_ROUTING; m->url && i <= MEMBER_HASH_KEY; i++)
        if (has(seen, i))
            read_fault(reader, PLACE_MEMBER(place, step_fields[i].name), "goes with task only; a url has one target");
    if (!has(seen, MEMBER_ROUTING))
        spec->routing = spec->instance             ? ROUTE_FIXED
                        : m->hash_key              ? ROUTE_HASH
                        : has(seen, MEMBER_SHARDS) ? ROUTE_SHARD
                                                   : ROUTE_ROUND_ROBIN;
    if (spec->routing == ROUTE_FIXED && !has(seen, MEMBER_INSTANCE))
        read_fault(reader, PLACE_MEMBER(place, "instance"), "is missing; routing: fixed needs the host:port to call");
    if (spec->routing != ROUTE_FIXED && has(seen, MEMBER_INSTANCE))
        read_fault(reader, PLACE_MEMBER(place, "instance"), "goes with routing: fixed only");
    if (spec->routing == ROUTE_HASH && !has(seen, MEMBER_HASH_KEY))
        read_fault(reader, PLACE_MEMBER(place, "hash_key"),
                   "is missing; routing: hash needs what is hashed, such as ${params.customer}");
    if (spec->routing != ROUTE_HASH && has(seen, MEMBER_HASH_KEY))
        read_fault(reader, PLACE_MEMBER(place, "hash_key"), "goes with routing: hash only");
    if (spec->routing == ROUTE_HASH)
        spec->instance = m->hash_key;
}

/* "tolerate": 3, or "10%". */
static void tolerate_read(struct reader *reader, const struct place *place, struct step_members *m)
{
    struct str text;
    int64_t n;
    str_init(&text, 16);
    json_unquote(m->tolerate, &text);
    bool share = json_type_of(m->tolerate) == JSON_STRING && text.length && str_text(&text)[text.length - 1] == '%';
    struct slice number = share ? slice_of(str_text(&text), text.length - 1) : m->tolerate;
    if (json_type_of(number) == JSON_NUMBER && json_int64(number, &n) && n >= 0 && n <= (share ? 100 : LIMIT_ITEMS)) {
        m->spec.tolerate = (int)n;
        m->spec.tolerate_share = share;
    } else {
        read_fault(reader, place, "must be how many items may fail, such as 3, or a share of them, such as \"10%%\"");
    }
    str_release(&text);
}

static void fan_read(struct reader *reader, const struct place *place, uint64_t seen, struct step_members *m)
{
    struct step_spec *spec = &m->spec;
    bool own_list = spec->routing == ROUTE_BROADCAST || spec->routing == ROUTE_SHARD;
    if (spec->kind == STEP_MAP && own_list)
        read_fault(reader, PLACE_MEMBER(place, "routing"), "%s makes a list of its own; leave it or `map` out",
                   routing_text(spec->routing));
    if (has(seen, MEMBER_SHARDS) && spec->routing != ROUTE_SHARD)
        read_fault(reader, PLACE_MEMBER(place, "shards"), "goes with routing: shard only");
    for (size_t i = MEMBER_CONCURRENCY; !step_fans(spec) && i <= MEMBER_TOLERATE; i++)
        if (has(seen, i))
            read_fault(reader, PLACE_MEMBER(place, step_fields[i].name),
                       "goes with map, or with routing: broadcast or shard; any other step makes one call");
    if (has(seen, MEMBER_TOLERATE))
        tolerate_read(reader, PLACE_MEMBER(place, "tolerate"), m);
}

/* `retry` alone means on_failure: retry; a preset that retries without `retry` gets the default policy. */
static void failure_read(struct reader *reader, const struct place *place, uint64_t seen, struct step_members *m)
{
    struct step_spec *spec = &m->spec;
    if (has(seen, MEMBER_RETRY) && !has(seen, MEMBER_ON_FAILURE))
        spec->on_failure = FAILURE_RETRY;
    bool retries = spec->on_failure >= FAILURE_RETRY;
    if (retries && !has(seen, MEMBER_RETRY))
        spec->retry = retry_policy_default();
    if (!m->on_exhausted || !strcmp(m->on_exhausted, "stop"))
        return;
    if (!strcmp(m->on_exhausted, "ignore"))
        spec->on_exhausted = EXHAUSTED_IGNORE;
    else if (!strncmp(m->on_exhausted, "compensate:", 11))
        spec->on_exhausted = EXHAUSTED_COMPENSATE;
    else
        read_fault(reader, PLACE_MEMBER(place, "on_exhausted"), "\"%.60s\" is none of stop, ignore, compensate:<step>",
                   m->on_exhausted);
}

static void join_read(struct reader *reader, const struct place *place, struct step_members *m)
{
    int64_t n;
    if (!m->join.length)
        return;
    if (json_string_equals(m->join, "any")) {
        m->spec.join = JOIN_ANY;
    } else if (json_int64(m->join, &n) && n >= 1 && n <= LIMIT_STEPS) {
        m->spec.join = JOIN_N;
        m->spec.join_n = (size_t)n;
    } else if (!json_string_equals(m->join, "all")) {
        read_fault(reader, PLACE_MEMBER(place, "join"), "must be all, any, or how many predecessors must hold");
    }
}

bool when_valid(struct reader *reader, const struct place *place, const char *when, bool on_given)
{
    size_t length = strlen(when);
    if (strncmp(when, "${", 2) != 0 || when[length - 1] != '}')
        read_fault(reader, place, "must be one ${…}, such as ${steps.a.result.count > 0}");
    else if (on_given)
        read_fault(reader, place, "when and on are both given; leave one out");
    else
        return true;
    return false;
}

void step_parse(struct reader *reader, const struct place *place, struct slice value, struct step_members *ret)
{
    struct step_members m = {.members = call_unset(), .inherited = ret->inherited};
    uint64_t seen = read_object(reader, place, value, step_fields, STEP_FIELDS, &m);
    m.place = place_keep(reader, place);
    m.spec.call = call_unset().call;
    if (json_type_of(value) == JSON_OBJECT && m.place) {
        if (!has(seen, MEMBER_STEP))
            read_fault(reader, PLACE_MEMBER(place, "step"), "is missing; every step has a name");
        kind_read(reader, place, seen, &m);
        if (step_has_call(&m.spec)) {
            call_read(reader, place, seen, &m);
            routing_read(reader, place, seen, &m);
            fan_read(reader, place, seen, &m);
            failure_read(reader, place, seen, &m);
        }
        join_read(reader, place, &m);
        if (m.when && when_valid(reader, PLACE_MEMBER(place, "when"), m.when, has(seen, MEMBER_ON)))
            m.on = EDGE_EXPRESSION;
    }
    *ret = m;
}
