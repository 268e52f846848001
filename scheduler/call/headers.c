/* Headers of a call (executor-protocol.md §1). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/hash.h"
#include "scheduler/call/call.h"
#include "scheduler/know/know.h"

#define OWN_HEADERS 22
#define CALLBACK_MAX 4096 /* bytes of X-Carillon-Callback */
#define TRACE_SEED 0x6361726c6cU

struct list {
    struct name_value *items;
    size_t count;
    struct arena *arena;
};

static void add(struct list *list, const char *name, const char *value)
{
    const char *copy = arena_text(list->arena, value);
    if (copy)
        list->items[list->count++] = (struct name_value){name, copy};
}

static void addf(struct list *list, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
static void addf(struct list *list, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add(list, name, text);
}

/* One trace a run, one span an attempt; from ids alone, so that a take-over goes on in the same trace. */
static void trace(struct list *list, const struct call *call)
{
    uint64_t run = (uint64_t)call->run->id;
    uint64_t number = (uint64_t)call->attempt.item << 32 | (uint64_t)call->attempt.n;
    uint64_t span_id = hash_text(call->attempt.step, run + number * 0x9e3779b97f4a7c15U);
    addf(list, "traceparent", "00-%016llx%016llx-%016llx-01", (unsigned long long)hash_mix(run ^ TRACE_SEED),
         (unsigned long long)run, (unsigned long long)(span_id ? span_id : 1));
}

static void sign(struct scheduler *s, struct list *list, const char *application, const char *key,
                 const struct dispatch_call *wire)
{
    add(list, "Webhook-Id", key);
    int64_t seconds = s->now.wall.ms / 1000;
    addf(list, "Webhook-Timestamp", "%lld", (long long)seconds);
    if (!s->ports.signer)
        return;
    char signature[SIGNATURE_SIZE];
    s->ports.signer->sign(s->ports.signer, application, key, seconds, wire->body ? wire->body : "", wire->body_length,
                          signature);
    add(list, "Webhook-Signature", signature);
}

/* Where to report, with the right to do so in the path. */
static void callback(struct scheduler *s, struct list *list, const struct call *call, const char *key)
{
    if (!s->ports.signer || !s->callbacks[0])
        return;
    char token[SIGNATURE_SIZE];
    struct str urls;
    str_init(&urls, CALLBACK_MAX);
    s->ports.signer->token(s->ports.signer, key, token);
    for (size_t i = 0; i < SCHEDULER_CALLBACKS && s->callbacks[i]; i++)
        str_addf(&urls, "%s%s/api/v1/report/%lld/%s/%d/%d/%s", i ? ", " : "", s->callbacks[i],
                 (long long)call->attempt.run, call->attempt.step, (int)call->attempt.item, (int)call->attempt.key_try,
                 token);
    if (str_status(&urls) == STATUS_OK)
        add(list, "X-Carillon-Callback", str_text(&urls));
    str_release(&urls);
}

const char *call_application(const struct call *call, char buffer[CALL_APPLICATION_SIZE])
{
    const struct job_spec *spec = version_spec(call->run->version);
    const struct run_step *step = run_find_step(call->run->run, call->attempt.step);
    (void)snprintf(buffer, CALL_APPLICATION_SIZE, "%s/%s", spec->meta.project,
                   step->spec->application ? step->spec->application : "");
    return buffer;
}

static bool given(const struct rendered_call *rendered, const char *name)
{
    for (size_t i = 0; i < rendered->header_count; i++)
        if (strcasecmp(rendered->headers[i].name, name) == 0)
            return true;
    return false;
}

void headers_make(struct scheduler *s, struct call *call)
{
    const struct run_row *run = &call->run->run->row;
    const struct job_spec *spec = version_spec(call->run->version);
    struct list list = {.arena = &call->arena};
    list.items = arena_array(&call->arena, struct name_value, call->rendered.header_count + OWN_HEADERS);
    char key[CALL_KEY_SIZE], time[RFC3339_SIZE], application[CALL_APPLICATION_SIZE];
    (void)call_key_format(&call->attempt, key);
    if (!given(&call->rendered, "Content-Type"))
        add(&list, "Content-Type", "application/json; charset=utf-8");
    if (!given(&call->rendered, "Accept"))
        add(&list, "Accept", "application/json");
    add(&list, "Idempotency-Key", key);
    sign(s, &list, call_application(call, application), key, &call->wire);
    trace(&list, call);
    addf(&list, "X-Carillon-Run", "%lld", (long long)run->id);
    addf(&list, "X-Carillon-Job", "%s/%s", spec->meta.project, spec->meta.name);
    add(&list, "X-Carillon-Step", call->attempt.step);
    if (call->attempt.item > 0) {
        const struct run_step *fan = run_find_step(call->run->run, call->attempt.step);
        addf(&list, "X-Carillon-Shard-Index", "%d", (int)call->attempt.item - 1);
        addf(&list, "X-Carillon-Shard-Total", "%zu", fan ? fan->item_count : 0);
    }
    addf(&list, "X-Carillon-Attempt", "%d", call->attempt.n);
    addf(&list, "X-Carillon-Epoch", "%lld", (long long)call->attempt.boot);
    add(&list, "X-Carillon-Scheduled-At", rfc3339_format(run->scheduled_at, time));
    instant deadline = instant_min(run_deadline(call->run->run), instant_add(s->now.wall, call->wire.timeout));
    add(&list, "X-Carillon-Deadline", rfc3339_format(deadline, time));
    callback(s, &list, call, key);
    for (size_t i = 0; i < call->rendered.header_count; i++)
        list.items[list.count++] = call->rendered.headers[i];
    call->wire.headers = list.items;
    call->wire.header_count = list.count;
}

void headers_notice(struct scheduler *s, struct arena *arena, const struct attempt_row *attempt,
                    const char *application, struct dispatch_call *wire)
{
    struct list list = {.arena = arena, .items = arena_array(arena, struct name_value, OWN_HEADERS)};
    char key[CALL_KEY_SIZE];
    (void)call_key_format(attempt, key);
    if (wire->body_length > 0)
        add(&list, "Content-Type", "application/json; charset=utf-8");
    add(&list, "Accept", "application/json");
    add(&list, "Idempotency-Key", key);
    sign(s, &list, application, key, wire);
    addf(&list, "X-Carillon-Run", "%lld", (long long)attempt->run);
    add(&list, "X-Carillon-Step", attempt->step);
    addf(&list, "X-Carillon-Attempt", "%d", attempt->n);
    addf(&list, "X-Carillon-Epoch", "%lld", (long long)s->boot);
    wire->headers = list.items;
    wire->header_count = list.count;
}
