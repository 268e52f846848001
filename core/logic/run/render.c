#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/logic/run/internal.h"

#define RENDER_MAX (LIMIT_REQUEST * 8) /* so that the message can tell how big the body would be */
#define URL_MAX ((size_t)64 << 10)
#define HEADER_MAX ((size_t)16 << 10)

/* ---- what templates can read ------------------------------------------------------------------------------------ */

static const struct template_step *find_for_template(void *context, const char *name)
{
    struct render_scope *scope = context;
    size_t i = step_index(scope->run, name);
    if (i == SIZE_MAX)
        return NULL;
    enum step_state state = scope->states ? scope->states[i] : scope->run->steps[i].state;
    scope->step = (struct template_step){
        .name = scope->run->job->steps[i].name,
        .state = step_state_text(state),
        .result = state == STEP_SUCCEEDED ? scope->run->steps[i].result : NULL,
        .known = step_state_terminal(state),
    };
    return &scope->step;
}

static const char *trigger_params(const struct run *run)
{
    for (size_t i = 0; run->row.trigger && i < run->job->trigger_count; i++)
        if (!strcmp(run->job->triggers[i].name, run->row.trigger))
            return run->job->triggers[i].params;
    return NULL;
}

/* job < trigger < request. Members are merged at the top level. */
static enum status merge_params(const struct run *run, struct str *ret)
{
    struct str base;
    str_init(&base, 2 * LIMIT_REQUEST);
    str_init(ret, 4 * LIMIT_REQUEST);
    json_merge(run->job->params, trigger_params(run), &base);
    json_merge(str_text(&base), run->row.params, ret);
    enum status status = str_status(&base);
    str_release(&base);
    return status ? status : str_status(ret);
}

enum status render_scope_begin(struct render_scope *scope, const struct run *run, const enum step_state *states,
                               const struct run_step *step, const struct run_world *world, struct template_context *ret)
{
    *scope = (struct render_scope){.run = run, .states = states};
    (void)snprintf(scope->run_id, sizeof scope->run_id, "%lld", (long long)run->row.id);
    (void)snprintf(scope->version, sizeof scope->version, "%lld", (long long)run->row.version);
    enum status status = merge_params(run, &scope->params);
    const struct zone *zone = run->row.zone && world->zone ? world->zone(world->context, run->row.zone) : NULL;
    *ret = (struct template_context){
        .run_id = scope->run_id,
        .project = run->job->meta.project,
        .job = run->job->meta.name,
        .trigger = run->row.trigger,
        .origin = run_origin_text(run->row.origin),
        .version = scope->version,
        .scheduled = run->row.scheduled_at,
        .fired = run->row.fired_at,
        .zone = zone ? zone : zone_utc(),
        .params = str_text(&scope->params),
        .step = find_for_template,
        .context = scope,
        .step_name = step->spec->name,
    };
    str_init(&scope->names, 2 * LIMIT_REQUEST);
    if (step->item == 0)
        return status;
    const struct run_step *fan = &run->steps[step->index];
    ret->shard_index = step->item - 1;
    ret->shard_total = (int)fan->item_count;
    if (step->spec->kind != STEP_MAP)
        return status;
    struct slice value = item_value(fan, step->item);
    str_add(&scope->names, "{\"item\":");
    str_add_bytes(&scope->names, value.bytes, value.length);
    str_add_char(&scope->names, '}');
    ret->names = str_text(&scope->names);
    return status ? status : str_status(&scope->names);
}

void render_scope_end(struct render_scope *scope)
{
    str_release(&scope->params);
    str_release(&scope->names);
}

bool call_of(const struct run *run, const struct step_spec *spec, const struct run_world *world, struct call_spec *ret)
{
    const struct task_spec *task = NULL;
    if (spec->task) {
        task = world->task(world->context, run->job->meta.project, spec->application, spec->task);
        if (!task)
            return false;
    }
    *ret = call_spec_resolve_with(task ? &task->call : NULL, spec, world->defaults.timeout ? &world->defaults : NULL);
    return true;
}

/* ---- url -------------------------------------------------------------------------------------------------------- */

static bool unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

static void add_percent(struct str *url, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";
    str_add_char(url, '%');
    str_add_char(url, digits[c >> 4]);
    str_add_char(url, digits[c & 15]);
}

static void add_encoded(struct str *url, const char *text)
{
    for (; *text; text++) {
        if (unreserved((unsigned char)*text))
            str_add_char(url, *text);
        else
            add_percent(url, (unsigned char)*text);
    }
}

/* As it was written, but for what cannot stand in a request line. */
static void add_verbatim(struct str *url, const char *text, bool path)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c >= 0x7f || (path && c == '#'))
            add_percent(url, c);
        else
            str_add_char(url, *text);
    }
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

static enum status render_text(const char *text, const struct template_context *context, const char *what, size_t max,
                               struct str *ret, struct error *err)
{
    struct error why;
    str_init(ret, max);
    enum status status = template_render_text(text, context, ret, &why);
    if (status == STATUS_TOO_BIG)
        return error_set(err, status, "step %s: %s is longer than %zu bytes", context->step_name, what, max);
    if (status)
        return error_set(err, status, "step %s: %s: %s", context->step_name, what, why.text);
    if (has_control(str_text(ret)))
        return error_set(err, STATUS_INVALID, "step %s: %s holds a control character, such as a line break",
                         context->step_name, what);
    return STATUS_OK;
}

static enum status render_direct_url(const struct call_spec *call, const struct template_context *context,
                                     struct str *url, struct error *err)
{
    struct str text;
    enum status status = render_text(call->url, context, "url", URL_MAX, &text, err);
    if (!status) {
        const char *rest = str_text(&text);
        if (strncmp(rest, "http://", 7) != 0 && strncmp(rest, "https://", 8) != 0)
            status = error_set(err, STATUS_INVALID, "step %s: the url must begin with http:// or https://: %.200s",
                               context->step_name, rest);
        if (text.data && strchr(text.data, '#')) /* a fragment never leaves the client */
            *strchr(text.data, '#') = '\0';
        add_verbatim(url, str_text(&text), false);
    }
    str_release(&text);
    return status;
}

static void add_task_url(const struct run *run, const struct step_spec *spec, const struct call_spec *call,
                         const struct attempt_row *attempt, const struct run_world *world, struct str *url)
{
    bool tls = world->tls && spec->application && world->tls(world->context, run->job->meta.project, spec->application);
    str_add(url, tls ? "https://" : "http://");
    str_add(url, attempt->instance ? attempt->instance : "");
    add_verbatim(url, call->path ? call->path : "/", true);
}

static enum status add_query(const struct call_spec *call, const struct template_context *context, struct str *url,
                             struct error *err)
{
    for (size_t i = 0; i < call->query_count; i++) {
        struct str value;
        struct error why;
        str_init(&value, URL_MAX);
        enum status status = template_render_text(call->query[i].value, context, &value, &why);
        if (status) {
            str_release(&value);
            return error_set(err, status, "step %s: query parameter %s: %s", context->step_name, call->query[i].name,
                             why.text);
        }
        str_add_char(url, strchr(str_text(url), '?') ? '&' : '?');
        add_encoded(url, call->query[i].name);
        str_add_char(url, '=');
        add_encoded(url, str_text(&value));
        str_release(&value);
    }
    return STATUS_OK;
}

static enum status render_url(const struct run *run, const struct step_spec *spec, const struct call_spec *call,
                              const struct attempt_row *attempt, const struct run_world *world,
                              const struct template_context *context, struct str *url, struct error *err)
{
    enum status status = STATUS_OK;
    if (call->url && !spec->task)
        status = render_direct_url(call, context, url, err);
    else
        add_task_url(run, spec, call, attempt, world, url);
    if (!status)
        status = add_query(call, context, url, err);
    if (!status && str_status(url))
        status = error_set(err, str_status(url), "step %s: the url is longer than %zu bytes", spec->name, URL_MAX);
    return status;
}

/* ---- headers ---------------------------------------------------------------------------------------------------- */

static bool header_name_valid(const char *name)
{
    if (!*name)
        return false;
    for (; *name; name++)
        if (!unreserved((unsigned char)*name) && !strchr("!#$%&'*+^`|", *name))
            return false;
    return true;
}

static enum status render_headers(const struct call_spec *call, const struct template_context *context,
                                  struct rendered_call *ret, struct error *err)
{
    if (!call->header_count)
        return STATUS_OK;
    ret->headers = calloc(call->header_count, sizeof *ret->headers);
    if (!ret->headers)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < call->header_count; i++) {
        const char *name = call->headers[i].name;
        char what[LIMIT_NAME + 16];
        struct str value;
        (void)snprintf(what, sizeof what, "header %.*s", LIMIT_NAME, name);
        if (!header_name_valid(name))
            return error_set(err, STATUS_INVALID, "step %s: \"%.100s\" is no name of a header", context->step_name,
                             name);
        enum status status = render_text(call->headers[i].value, context, what, HEADER_MAX, &value, err);
        if (!status) {
            str_add(&value, ""); /* so that an empty value is a text, too */
            ret->headers[i].name = name;
            ret->headers[i].value = str_take(&value);
            ret->header_count = i + 1;
            if (!ret->headers[i].value)
                status = error_set(err, STATUS_NO_MEMORY, "out of memory");
        }
        str_release(&value);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- body ------------------------------------------------------------------------------------------------------- */

/* Names and sizes of the results that a template reads, for the message of a body that is too big. */
struct reads {
    const struct run *run;
    struct str text;
};

static void add_read(void *context, const char *name)
{
    struct reads *reads = context;
    const struct run_step *step = run_find_step(reads->run, name);
    if (step && step->result)
        str_addf(&reads->text, ", steps.%s.result %zu", name, strlen(step->result));
}

static enum status too_big(const struct run *run, const struct step_spec *spec, size_t size, struct error *err)
{
    struct reads reads = {.run = run};
    struct error unused;
    str_init(&reads.text, ERROR_TEXT_MAX / 2);
    if (template_check(spec->params, add_read, &reads, &unused) != STATUS_OK)
        str_clear(&reads.text);
    if (size)
        (void)error_set(err, STATUS_TOO_BIG,
                        "step %s: the request body is %zu bytes, allowed are %zu (template %zu%s bytes)", spec->name,
                        size, LIMIT_REQUEST, strlen(spec->params), str_text(&reads.text));
    else
        (void)error_set(err, STATUS_TOO_BIG,
                        "step %s: the request body is larger than %zu bytes, allowed are %zu (template %zu%s bytes)",
                        spec->name, RENDER_MAX, LIMIT_REQUEST, strlen(spec->params), str_text(&reads.text));
    str_release(&reads.text);
    return STATUS_TOO_BIG;
}

/* The same bytes in every attempt under one key: nothing here tells the attempt. */
static void wrap(const struct run *run, const struct step_spec *spec, const struct template_context *context,
                 const struct str *params, struct str *ret)
{
    char scheduled[RFC3339_SIZE];
    str_add(ret, "{\"run\":{\"id\":");
    str_add_json(ret, context->run_id);
    str_add(ret, ",\"project\":");
    str_add_json(ret, context->project ? context->project : "default");
    str_add(ret, ",\"job\":");
    str_add_json(ret, context->job);
    str_add(ret, ",\"trigger\":");
    str_add_json(ret, context->trigger ? context->trigger : "");
    str_addf(ret, ",\"version\":%lld,\"scheduled_at\":", (long long)run->row.version);
    str_add_json(ret, rfc3339_format(run->row.scheduled_at, scheduled));
    str_add(ret, "},\"step\":");
    str_add_json(ret, spec->name);
    str_add(ret, ",\"params\":");
    str_add_bytes(ret, str_text(params), params->length);
    if (context->shard_total > 0)
        str_addf(ret, ",\"shard\":{\"index\":%d,\"total\":%d}", context->shard_index, context->shard_total);
    else
        str_add(ret, ",\"shard\":null");
    str_add(ret, ",\"slice\":null}");
}

static bool bodiless(const struct call_spec *call, const struct step_spec *spec)
{
    static const char *const methods[] = {"GET", "HEAD", "DELETE"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(call->method, methods[i]))
            return !spec->params && !call->envelope;
    return false;
}

static enum status render_body(const struct run *run, const struct step_spec *spec, const struct call_spec *call,
                               const struct template_context *context, struct str *ret, struct error *err)
{
    if (bodiless(call, spec))
        return STATUS_OK;
    struct str params;
    struct error why;
    str_init(&params, RENDER_MAX);
    enum status status = template_render_json(spec->params, context, &params, &why);
    if (!status && params.length <= LIMIT_REQUEST) {
        if (call->envelope)
            wrap(run, spec, context, &params, ret);
        else
            str_add_bytes(ret, str_text(&params), params.length);
        status = str_status(ret);
    } else if (!status) {
        status = STATUS_TOO_BIG;
    }
    if (status == STATUS_TOO_BIG && spec->params)
        status = too_big(run, spec, params.failed ? 0 : params.length, err);
    else if (status)
        (void)error_set(err, status, "step %s: params: %s", spec->name,
                        status == STATUS_INVALID ? why.text : status_text(status));
    str_release(&params);
    return status;
}

enum status render_call(const struct run *run, const enum step_state *states, const struct attempt_row *attempt,
                        const struct run_world *world, struct rendered_call *ret, struct error *err)
{
    *ret = (struct rendered_call){0};
    str_init(&ret->url, URL_MAX);
    str_init(&ret->body, LIMIT_REQUEST);
    const struct run_step *step = run_find_item(run, attempt->step, attempt->item);
    if (!step)
        return error_set(err, STATUS_INVALID, "the job has no step \"%s\" with item %d",
                         attempt->step ? attempt->step : "", (int)attempt->item);
    const struct step_spec *spec = step->spec;
    if (!call_of(run, spec, world, &ret->call))
        return error_set(err, STATUS_INVALID, "step %s: no task %s/%s is known", spec->name, spec->application,
                         spec->task);
    struct render_scope scope;
    struct template_context context;
    enum status status = render_scope_begin(&scope, run, states, step, world, &context);
    if (status)
        (void)error_set(err, status, "step %s: params of the run: %s", spec->name, status_text(status));
    if (!status)
        status = render_url(run, spec, &ret->call, attempt, world, &context, &ret->url, err);
    if (!status)
        status = render_headers(&ret->call, &context, ret, err);
    if (!status)
        status = render_body(run, spec, &ret->call, &context, &ret->body, err);
    render_scope_end(&scope);
    if (status)
        rendered_call_release(ret);
    return status;
}

enum status run_render(const struct run *run, const struct attempt_row *attempt, const struct run_world *world,
                       struct rendered_call *ret, struct error *err)
{
    return render_call(run, NULL, attempt, world, ret, err);
}

void rendered_call_release(struct rendered_call *call)
{
    for (size_t i = 0; i < call->header_count; i++)
        text_free(call->headers[i].value);
    free(call->headers);
    call->headers = NULL;
    call->header_count = 0;
    str_release(&call->url);
    str_release(&call->body);
}
