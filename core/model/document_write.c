/* Documents as JSON text: as they were written, and with every default written out. */
#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/model/document_parts.h"

/* ---- members ------------------------------------------------------------------------------------------------------
 */

/* Comma and name of the next member; nothing before the first of an object. */
static void add_name(struct str *ret, const char *name)
{
    char last = ret->length ? str_text(ret)[ret->length - 1] : '{';
    if (last != '{')
        str_add_char(ret, ',');
    str_add_json(ret, name);
    str_add_char(ret, ':');
}

/* Comma before the next element of a list. */
static void add_comma(struct str *ret)
{
    if (str_text(ret)[ret->length ? ret->length - 1 : 0] != '[')
        str_add_char(ret, ',');
}

/* Texts that are NULL are left out. */
static void add_text(struct str *ret, const char *name, const char *value)
{
    if (!value)
        return;
    add_name(ret, name);
    str_add_json(ret, value);
}

static void add_raw(struct str *ret, const char *name, const char *json)
{
    if (!json)
        return;
    add_name(ret, name);
    str_add(ret, json);
}

static void add_int(struct str *ret, const char *name, int64_t value)
{
    add_name(ret, name);
    str_add_i64(ret, value);
}

static void add_bool(struct str *ret, const char *name, bool value)
{
    add_raw(ret, name, value ? "true" : "false");
}

/* Spans below 0 are unset and left out. */
static void add_span(struct str *ret, const char *name, span value)
{
    char buffer[DURATION_SIZE];
    if (value >= 0)
        add_text(ret, name, duration_format(value, buffer));
}

static void add_instant(struct str *ret, const char *name, instant at)
{
    char buffer[RFC3339_SIZE];
    if (!instant_is_none(at))
        add_text(ret, name, rfc3339_format_short(at, buffer));
}

static void add_pairs(struct str *ret, const char *name, const struct name_value *pairs, size_t count)
{
    if (!count)
        return;
    add_name(ret, name);
    str_add_char(ret, '{');
    for (size_t i = 0; i < count; i++)
        add_text(ret, pairs[i].name, pairs[i].value);
    str_add_char(ret, '}');
}

static void add_list(struct str *ret, const char *name, const char *const *texts, size_t count)
{
    if (!count)
        return;
    add_name(ret, name);
    str_add_char(ret, '[');
    for (size_t i = 0; i < count; i++) {
        add_comma(ret);
        str_add_json(ret, texts[i]);
    }
    str_add_char(ret, ']');
}

static void add_metadata(struct str *ret, const struct metadata *meta)
{
    add_name(ret, "metadata");
    str_add_char(ret, '{');
    add_text(ret, "project", meta->project);
    add_text(ret, "name", meta->name);
    add_text(ret, "display_name", meta->display_name);
    add_text(ret, "description", meta->description);
    add_text(ret, "owner", meta->owner);
    add_pairs(ret, "labels", meta->labels, meta->label_count);
    str_add_char(ret, '}');
}

static void add_head(struct str *ret, const struct document *document)
{
    str_add_char(ret, '{');
    add_text(ret, "apiVersion", DOCUMENT_VERSION);
    add_text(ret, "kind", document_kind_text(document->kind));
    add_metadata(ret, document_metadata_of(document));
}

void document_write(const struct document *document, struct str *ret)
{
    add_head(ret, document);
    add_raw(ret, "spec", document->spec_json);
    str_add_char(ret, '}');
}

/* ---- calls --------------------------------------------------------------------------------------------------------
 */

static void add_retry(struct str *ret, const struct retry_policy *retry)
{
    add_name(ret, "retry");
    str_add_char(ret, '{');
    add_int(ret, "max", retry->max);
    add_span(ret, "delay", retry->delay);
    add_text(ret, "backoff", retry->backoff == BACKOFF_FIXED ? "fixed" : "exponential");
    add_span(ret, "max_delay", retry->max_delay);
    char jitter[32];
    (void)snprintf(jitter, sizeof jitter, "%.6f", retry->jitter);
    add_raw(ret, "jitter", jitter);
    if (retry->on) {
        add_name(ret, "on");
        str_add_char(ret, '[');
        for (int c = 0; c < CALL_CLASSES; c++)
            if (retry->on >> c & 1) {
                add_comma(ret);
                str_add_json(ret, call_class_text((enum call_class)c));
            }
        str_add_char(ret, ']');
    }
    add_span(ret, "max_elapsed", retry->max_elapsed);
    str_add_char(ret, '}');
}

/* What is unset is left out; so are flags that are false, which say nothing. */
static void add_call(struct str *ret, const struct call_spec *call, bool auto_rule)
{
    static const char *const rules[] = {[SUCCESS_AUTO] = "auto", [SUCCESS_SIA] = "sia", [SUCCESS_HTTP] = "http"};
    add_text(ret, "method", call->method);
    add_pairs(ret, "headers", call->headers, call->header_count);
    add_pairs(ret, "query", call->query, call->query_count);
    add_span(ret, "timeout", call->timeout);
    add_span(ret, "connect_timeout", call->connect_timeout);
    add_span(ret, "wait_timeout", call->wait_timeout);
    if (call->repeat != REPEAT_UNSET)
        add_text(ret, "repeat", repeat_rule_text(call->repeat));
    if (call->success == SUCCESS_EXPRESSION)
        add_text(ret, "success_when", call->success_when);
    else if (call->success != SUCCESS_AUTO || auto_rule)
        add_text(ret, "success_when", rules[call->success]);
    if (call->envelope)
        add_bool(ret, "envelope", true);
    if (call->async)
        add_bool(ret, "async", true);
    if (call->cancel)
        add_bool(ret, "cancel", true);
}

/* ---- jobs ---------------------------------------------------------------------------------------------------------
 */

static void add_edges(struct str *ret, const struct job_spec *job, const struct step_spec *step)
{
    if (!step->after_count)
        return;
    add_name(ret, "after");
    str_add_char(ret, '[');
    for (size_t i = 0; i < step->after_count; i++) {
        const struct edge_spec *edge = &step->after[i];
        add_comma(ret);
        str_add_char(ret, '{');
        add_text(ret, "step", job->steps[edge->from].name);
        if (edge->on == EDGE_EXPRESSION)
            add_text(ret, "when", edge->when);
        else
            add_text(ret, "on", edge_on_text(edge->on));
        str_add_char(ret, '}');
    }
    str_add_char(ret, ']');
    if (step->join == JOIN_N)
        add_int(ret, "join", (int64_t)step->join_n);
    else
        add_text(ret, "join", step->join == JOIN_ANY ? "any" : "all");
    add_bool(ret, "cancel_rest", step->cancel_rest);
}

static void add_failure(struct str *ret, const struct job_spec *job, const struct step_spec *step)
{
    add_text(ret, "on_failure", failure_preset_text(step->on_failure));
    if (step->on_failure >= FAILURE_RETRY || step->retry.max)
        add_retry(ret, &step->retry);
    if (step->on_exhausted == EXHAUSTED_COMPENSATE) {
        add_name(ret, "on_exhausted");
        str_addf(ret, "\"compensate:%s\"", job->steps[step->compensate].name);
    } else {
        add_text(ret, "on_exhausted", step->on_exhausted == EXHAUSTED_IGNORE ? "ignore" : "stop");
    }
}

static void add_target(struct str *ret, const struct step_spec *step)
{
    if (step->call.url) {
        add_text(ret, "url", step->call.url);
        return;
    }
    add_name(ret, "task");
    struct str task;
    str_init(&task, READ_TEXT_MAX);
    str_addf(&task, "%s%s%s", step->application, step->task[0] == '/' ? ":" : "/", step->task);
    if (task.failed)
        ret->failed = true;
    else
        str_add_json(ret, str_text(&task));
    str_release(&task);
    add_text(ret, "routing", routing_text(step->routing));
    add_text(ret, step->routing == ROUTE_HASH ? "hash_key" : "instance", step->instance);
}

static void add_fan(struct str *ret, const struct step_spec *step)
{
    char share[16];
    if (!step_fans(step))
        return;
    add_raw(ret, "map", step->map);
    if (step->shards)
        add_int(ret, "shards", step->shards);
    if (step->concurrency)
        add_int(ret, "concurrency", step->concurrency);
    (void)snprintf(share, sizeof share, "%d%%", step->tolerate);
    if (step->tolerate_share)
        add_text(ret, "tolerate", share);
    else
        add_int(ret, "tolerate", step->tolerate);
}

static void add_step(struct str *ret, const struct job_spec *job, const struct step_spec *step)
{
    add_comma(ret);
    str_add_char(ret, '{');
    add_text(ret, "step", step->name);
    add_text(ret, "kind", step_kind_text(step->kind));
    add_edges(ret, job, step);
    if (step->kind == STEP_WAIT)
        add_span(ret, "wait", step->wait);
    if (step_has_call(step)) {
        struct call_spec call = step->call.url ? call_spec_resolve(NULL, step) : step->call;
        add_target(ret, step);
        add_call(ret, &call, step->call.url);
        add_raw(ret, "params", step->params);
        add_fan(ret, step);
        add_failure(ret, job, step);
    }
    str_add_char(ret, '}');
}

static void add_quiet(struct str *ret, const struct quiet_window *quiet, size_t count)
{
    if (!count)
        return;
    add_name(ret, "quiet");
    str_add_char(ret, '[');
    for (size_t i = 0; i < count; i++) {
        int from = (int)(quiet[i].start / SPAN_SECOND), to = (int)(quiet[i].end / SPAN_SECOND);
        add_comma(ret);
        str_addf(ret, "\"%02d:%02d:%02d-%02d:%02d:%02d\"", from / 3600, from / 60 % 60, from % 60, to / 3600,
                 to / 60 % 60, to % 60);
    }
    str_add_char(ret, ']');
}

static void add_kind(struct str *ret, const struct trigger_spec *t)
{
    static const char *const dialects[] = {[CRON_AUTO] = "auto",
                                           [CRON_QUARTZ] = "quartz",
                                           [CRON_UNIX] = "unix",
                                           [CRON_SPRING] = "spring",
                                           [CRON_ANT] = "ant"};
    switch (t->kind) {
    case TRIGGER_CRON:
        add_text(ret, "cron", t->cron);
        add_text(ret, "dialect", dialects[t->dialect]);
        return;
    case TRIGGER_EVERY:
        add_span(ret, "every", t->period);
        add_bool(ret, "align", t->align);
        return;
    case TRIGGER_DELAY:
        add_span(ret, "delay", t->period);
        return;
    case TRIGGER_AT:
        add_instant(ret, "at", t->at);
        return;
    }
}

static void add_trigger(struct str *ret, const struct trigger_spec *t)
{
    static const char *const gaps[] = {[DST_GAP_AUTO] = "auto", [DST_GAP_SHIFT] = "shift", [DST_GAP_SKIP] = "skip"};
    static const char *const overlaps[] = {[DST_OVERLAP_AUTO] = "auto",
                                           [DST_OVERLAP_FIRST] = "first",
                                           [DST_OVERLAP_LAST] = "last",
                                           [DST_OVERLAP_BOTH] = "both"};
    add_comma(ret);
    str_add_char(ret, '{');
    add_text(ret, "name", t->name);
    add_kind(ret, t);
    add_text(ret, "timezone", t->timezone);
    add_name(ret, "dst");
    str_addf(ret, "{\"gap\":\"%s\",\"overlap\":\"%s\"}", gaps[t->dst_gap], overlaps[t->dst_overlap]);
    add_instant(ret, "start", t->start);
    add_instant(ret, "end", t->end);
    add_int(ret, "max_fires", t->max_fires);
    add_list(ret, "calendars", t->calendars, t->calendar_count);
    add_quiet(ret, t->quiet, t->quiet_count);
    add_span(ret, "jitter", t->jitter);
    add_int(ret, "priority", t->priority);
    add_text(ret, "misfire", misfire_policy_text(t->misfire));
    add_int(ret, "misfire_max", t->misfire_max);
    add_span(ret, "misfire_threshold", t->misfire_threshold);
    add_span(ret, "max_age", t->max_age);
    add_raw(ret, "params", t->params);
    add_bool(ret, "paused", t->paused);
    str_add_char(ret, '}');
}

static void add_job(struct str *ret, const struct job_spec *job)
{
    static const char *const captures[] = {[CAPTURE_HEAD] = "head", [CAPTURE_NONE] = "none", [CAPTURE_FULL] = "full"};
    add_name(ret, "triggers");
    str_add_char(ret, '[');
    for (size_t i = 0; i < job->trigger_count; i++)
        add_trigger(ret, &job->triggers[i]);
    str_add_char(ret, ']');
    add_text(ret, "overlap", overlap_policy_text(job->overlap));
    add_int(ret, "max_parallel", job->max_parallel);
    add_span(ret, "timeout", job->timeout);
    add_raw(ret, "params", job->params);
    if (job->retry.max)
        add_retry(ret, &job->retry);
    add_int(ret, "max_consecutive_failures", job->max_consecutive_failures);
    add_int(ret, "max_in_flight", job->max_in_flight);
    add_text(ret, "pool", job->pool);
    add_text(ret, "capture", captures[job->capture]);
    add_raw(ret, "alerts", job->alerts);
    add_name(ret, "graph");
    str_add_char(ret, '[');
    for (size_t i = 0; i < job->step_count; i++)
        add_step(ret, job, &job->steps[i]);
    str_add_char(ret, ']');
}

/* ---- the other kinds ----------------------------------------------------------------------------------------------
 */

static void add_application(struct str *ret, const struct application_spec *app)
{
    add_list(ret, "instances", app->instances, app->instance_count);
    add_text(ret, "dns", app->dns);
    add_bool(ret, "tls", app->tls);
    add_name(ret, "tasks");
    str_add_char(ret, '[');
    for (size_t i = 0; i < app->task_count; i++) {
        const struct task_spec *task = &app->tasks[i];
        const struct step_spec plain = {.call_set = false};
        struct call_spec call = call_spec_resolve(&task->call, &plain);
        add_comma(ret);
        str_add_char(ret, '{');
        add_text(ret, "name", task->name);
        add_text(ret, "description", task->description);
        add_text(ret, "path", call.path);
        add_call(ret, &call, true);
        add_bool(ret, "serial", call.serial);
        if (call.concurrency)
            add_int(ret, "concurrency", call.concurrency);
        str_add_char(ret, '}');
    }
    str_add_char(ret, ']');
}

static void add_ranges(struct str *ret, const char *name, const struct date_range *ranges, size_t count, bool annual)
{
    if (!count)
        return;
    add_name(ret, name);
    str_add_char(ret, '[');
    for (size_t i = 0; i < count; i++) {
        const struct civil_date *ends[] = {&ranges[i].first, &ranges[i].last};
        add_comma(ret);
        for (size_t e = 0; e < 2; e++) {
            str_add(ret, e ? ".." : "\"");
            if (!annual)
                str_addf(ret, "%04d-", ends[e]->year);
            str_addf(ret, "%02d-%02d", ends[e]->month, ends[e]->day);
        }
        str_add_char(ret, '"');
    }
    str_add_char(ret, ']');
}

static void add_calendar(struct str *ret, const struct calendar_spec *c)
{
    static const char *const days[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
    const char *weekly[7];
    size_t count = 0;
    for (size_t d = 0; d < 7; d++)
        if (c->weekly >> d & 1)
            weekly[count++] = days[d];
    add_name(ret, "exclude");
    str_add_char(ret, '{');
    add_list(ret, "weekly", weekly, count);
    add_ranges(ret, "dates", c->excluded, c->excluded_count, false);
    add_ranges(ret, "annual", c->annual, c->annual_count, true);
    str_add_char(ret, '}');
    add_name(ret, "include");
    str_add_char(ret, '{');
    add_ranges(ret, "dates", c->included, c->included_count, false);
    str_add_char(ret, '}');
}

void document_write_effective(const struct document *document, struct str *ret)
{
    add_head(ret, document);
    add_name(ret, "spec");
    str_add_char(ret, '{');
    switch (document->kind) {
    case DOCUMENT_PROJECT:
        add_text(ret, "timezone", document->project.timezone);
        break;
    case DOCUMENT_APPLICATION:
        add_application(ret, &document->application);
        break;
    case DOCUMENT_CALENDAR:
        add_calendar(ret, &document->calendar);
        break;
    case DOCUMENT_JOB:
        add_job(ret, &document->job);
        break;
    case DOCUMENT_KINDS:
        break;
    }
    str_add(ret, "}}");
}
