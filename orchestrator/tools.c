/* What people try before they write it down: next instants of an expression, rendering of a template. Nothing is
 * stored.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/civil.h"
#include "core/logic/text/template.h"
#include "core/logic/time/preview.h"
#include "orchestrator/routes.h"

#define COUNT_MAX 1000

/* ---- cron/next ---- */

struct cron_question {
    const char *cron, *timezone, *gap, *overlap, *dialect;
    instant from;
    int64_t count;
};

struct choice {
    const char *text;
    int value;
};

static bool choose(struct call *call, const char *name, const char *text, const struct choice *choices, int fallback,
                   int *ret)
{
    struct str known;
    *ret = fallback;
    if (!text || !*text)
        return true;
    str_init(&known, 200);
    for (const struct choice *c = choices; c->text; c++) {
        if (!strcmp(c->text, text)) {
            *ret = c->value;
            str_release(&known);
            return true;
        }
        str_addf(&known, "%s%s", known.length ? ", " : "one of ", c->text);
    }
    call_fail(call, PARAMETER_INVALID, "name", name, "reason", str_text(&known), NULL);
    str_release(&known);
    return false;
}

static const struct zone *find_zone(struct call *call, const char *name)
{
    struct zones *zones = call->o->options.zones;
    const struct zone *zone = zones->get(zones, name && *name ? name : "UTC");
    if (!zone)
        call_fail(call, PARAMETER_INVALID, "name", "timezone", "reason",
                  "there is no such time zone; use an IANA name such as Europe/Berlin", NULL);
    return zone;
}

static void answer_cron(struct call *call, const struct cron_question *q)
{
    static const struct choice dialects[] = {{"auto", CRON_AUTO},     {"quartz", CRON_QUARTZ}, {"unix", CRON_UNIX},
                                             {"spring", CRON_SPRING}, {"ant", CRON_ANT},       {NULL, 0}};
    static const struct choice gaps[] = {
        {"auto", DST_GAP_AUTO}, {"shift", DST_GAP_SHIFT}, {"skip", DST_GAP_SKIP}, {NULL, 0}};
    static const struct choice overlaps[] = {{"auto", DST_OVERLAP_AUTO},
                                             {"first", DST_OVERLAP_FIRST},
                                             {"last", DST_OVERLAP_LAST},
                                             {"both", DST_OVERLAP_BOTH},
                                             {NULL, 0}};
    int dialect, gap, overlap;
    const struct zone *zone = find_zone(call, q->timezone);
    if (!zone || !choose(call, "dialect", q->dialect, dialects, CRON_AUTO, &dialect) ||
        !choose(call, "dst_gap", q->gap, gaps, DST_GAP_AUTO, &gap) ||
        !choose(call, "dst_overlap", q->overlap, overlaps, DST_OVERLAP_AUTO, &overlap))
        return;
    if (!q->cron || !*q->cron) {
        call_fail(call, PARAMETER_INVALID, "name", "cron", "reason", "the expression is missing", NULL);
        return;
    }
    instant *next = mem_alloc((size_t)q->count * sizeof *next);
    size_t count = 0;
    struct faults warnings;
    struct error err = {0};
    faults_init(&warnings);
    if (cron_preview(q->cron, (enum cron_dialect)dialect, zone, (enum dst_gap)gap, (enum dst_overlap)overlap, q->from,
                     (size_t)q->count, next, &count, &warnings, &err) == STATUS_OK) {
        struct out out = out_to(call_body(call));
        out_open(&out, NULL, '{');
        out_open(&out, "next", '[');
        for (size_t i = 0; i < count; i++)
            out_time(&out, NULL, next[i]);
        out_close(&out, ']');
        out_open(&out, "warnings", '[');
        for (size_t i = 0; i < warnings.count; i++)
            out_text(&out, NULL, warnings.items[i].text);
        out_close(&out, ']');
        out_close(&out, '}');
    } else {
        const char *reason = strncmp(err.text, "cron: ", 6) ? err.text : err.text + 6; /* its path says so */
        details_add(&call->problem.details, DEFINITION_INVALID, false, "cron", "%s", reason);
        call_fail(call, EXPRESSION_INVALID, "reason", err.text, NULL);
    }
    faults_release(&warnings);
    free(next);
}

void cron_next_get(struct call *call)
{
    const struct http_request *request = call->request;
    struct cron_question q = {.cron = http_query(request, "cron"),
                              .timezone = http_query(request, "timezone"),
                              .gap = http_query(request, "dst_gap"),
                              .overlap = http_query(request, "dst_overlap"),
                              .dialect = http_query(request, "dialect")};
    if (!query_time(call, "from", &q.from) || !query_int(call, "count", 1, COUNT_MAX, 3, &q.count))
        return;
    if (instant_is_none(q.from))
        q.from = call->now.wall;
    answer_cron(call, &q);
}

void cron_next_post(struct call *call)
{
    struct cron_question q = {0};
    struct slice body;
    struct problem *problem = &call->problem;
    if (!input_object(call, &body) || !input_text(call, problem, body, "cron", &q.cron) ||
        !input_text(call, problem, body, "timezone", &q.timezone) ||
        !input_text(call, problem, body, "dst_gap", &q.gap) ||
        !input_text(call, problem, body, "dst_overlap", &q.overlap) ||
        !input_text(call, problem, body, "dialect", &q.dialect) || !input_time(call, problem, body, "from", &q.from) ||
        !input_int(problem, body, "count", 1, COUNT_MAX, 3, &q.count))
        return;
    if (instant_is_none(q.from))
        q.from = call->now.wall;
    answer_cron(call, &q);
}

/* ---- render ---- */

struct sample_steps {
    struct call *call;
    struct slice steps; /* {"a":{"state","result"}} */
    struct template_step one;
};

static const struct template_step *sample_step(void *context, const char *name)
{
    struct sample_steps *s = context;
    struct slice step = s->steps.length ? json_member(s->steps, name) : s->steps;
    struct problem ignored = {0};
    const char *state = NULL;
    if (json_type_of(step) != JSON_OBJECT)
        return NULL;
    struct slice result = json_member(step, "result");
    if (!input_text(s->call, &ignored, step, "state", &state) || !state)
        state = "succeeded";
    s->one = (struct template_step){
        .name = name, .state = state, .result = result.length ? call_copy(s->call, result) : NULL, .known = true};
    return &s->one;
}

static void render(struct call *call, const struct template_context *context, struct slice json, const char *text)
{
    struct str rendered;
    struct error err = {0};
    struct out out = out_to(call_body(call));
    str_init(&rendered, LIMIT_REQUEST);
    enum status status = text ? template_render_text(text, context, &rendered, &err)
                              : template_render_json(call_copy(call, json), context, &rendered, &err);
    if (status == STATUS_OK && str_status(&rendered) == STATUS_OK) {
        out_open(&out, NULL, '{');
        if (text)
            out_text(&out, "text", str_text(&rendered));
        else
            out_json(&out, "result", str_text(&rendered));
        out_close(&out, '}');
    } else {
        call_fail(call, TEMPLATE_INVALID, "reason", status == STATUS_OK ? "the result is too big" : err.text, NULL);
    }
    str_release(&rendered);
}

void render_preview(struct call *call)
{
    struct slice body, steps, json;
    struct problem *problem = &call->problem;
    struct template_context context = {.fired = call->now.wall, .run_id = "0", .origin = "manual", .version = "1"};
    const char *text, *timezone, *params;
    if (!input_object(call, &body) || !input_text(call, problem, body, "text", &text) ||
        !input_text(call, problem, body, "timezone", &timezone) || !input_params(call, problem, body, &params) ||
        !input_member(problem, body, "steps", JSON_OBJECT, &steps) ||
        !input_time(call, problem, body, "scheduled_at", &context.scheduled) ||
        !input_text(call, problem, body, "project", &context.project) ||
        !input_text(call, problem, body, "job", &context.job) ||
        !input_text(call, problem, body, "trigger", &context.trigger))
        return;
    json = json_member(body, "template");
    if (!json.length && !text) {
        call_fail(call, JSON_INVALID, "reason", "it must have \"template\" (any JSON) or \"text\"", NULL);
        return;
    }
    context.zone = find_zone(call, timezone);
    if (!context.zone)
        return;
    if (instant_is_none(context.scheduled))
        context.scheduled = call->now.wall;
    context.project = context.project ? context.project : "default";
    context.job = context.job ? context.job : "job";
    context.trigger = context.trigger ? context.trigger : "default";
    context.params = params;
    struct sample_steps sample = {.call = call, .steps = steps};
    context.step = sample_step;
    context.context = &sample;
    render(call, &context, json, text);
}
