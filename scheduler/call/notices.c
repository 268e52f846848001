/* Notices: an executor that accepted a call is told when nobody waits for it any more (executor-protocol.md §3): its
 * run was canceled, or it took too long and its step is over. Best effort beside the run, which never waits for it: two
 * tries, and the attempt keeps what became of them.
 *
 *   202 with Location ──▶ notice_to of the attempt ──its step ends──▶ due ──commit──▶ sent ──▶ told | unreached
 *
 * Who is due stands in the store by the commit that ends the call, so a scheduler that dies in between leaves it to the
 * next one: with the run when that goes on, else with what lingers of it. Told twice is told once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/call/call.h"
#include "scheduler/write/write.h"

#define NOTICE_TIMEOUT (5 * SPAN_SECOND)
#define NOTICE_CONNECT (2 * SPAN_SECOND)
#define NOTICE_PAUSE (2 * SPAN_SECOND) /* before the second try */
#define NOTICE_TRIES 2
#define NOTICE_FLIGHT 64 /* under way at once: a run of ten thousand items may be canceled */
#define NOTICE_ANSWER ((size_t)64 << 10)
#define NOTICE_ARENA ((size_t)64 << 10)

enum notice_phase { NOTICE_WAITS, NOTICE_SENT, NOTICE_BACK };

struct notice {
    struct dispatch_call wire;
    struct arena arena; /* texts of the attempt, headers */
    struct attempt_row attempt;
    const char *method, *application, *url; /* parts of notice_to */
    enum notice_phase phase;
    int tries;
    mono at; /* the next try: not before */
    struct notice *prev, *next;
};

/* ---- where ---------------------------------------------------------------------------------------------------------
 */

static size_t authority_length(const char *url)
{
    const char *begin = strstr(url, "://");
    return begin ? (size_t)(begin + 3 - url) + strcspn(begin + 3, "/?#") : 0;
}

static bool printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text == 0x7f)
            return false;
    return true;
}

/* The Location as a full url. Only on the very host that gave it: no executor sends us to another. false: it cannot be
 * used. */
static bool location_resolve(const char *url, const char *location, struct str *ret)
{
    size_t authority = authority_length(url);
    bool full = strncmp(location, "http://", 7) == 0 || strncmp(location, "https://", 8) == 0;
    if (!authority || !*location || !printable(location) || strncmp(location, "//", 2) == 0)
        return false;
    if (full) {
        if (authority_length(location) != authority || strncmp(location, url, authority) != 0)
            return false;
        str_add(ret, location);
    } else {
        size_t path = strcspn(url, "?#"); /* its folder, for a location that begins without '/' */
        while (path > authority && url[path - 1] != '/')
            path--;
        str_addf(ret, "%.*s%s%s", (int)(*location == '/' ? authority : path), url,
                 *location != '/' && path == authority ? "/" : "", location);
    }
    return str_status(ret) == STATUS_OK;
}

const char *notice_target(struct call *call, enum call_class class)
{
    const struct dispatch_call *wire = &call->wire;
    char application[CALL_APPLICATION_SIZE];
    struct str target, text;
    const char *method = NULL, *kept = NULL;
    str_init(&target, LIMIT_NOTICE_TO);
    str_init(&text, LIMIT_NOTICE_TO);
    bool over = class == CALL_CANCELED || class == CALL_TIMEOUT;
    if (class == CALL_ACCEPTED && strlen(wire->location) + 1 < sizeof wire->location &&
        location_resolve(wire->url, wire->location, &target)) {
        method = "DELETE";
    } else if (call->cancelable && (over || class == CALL_ACCEPTED)) {
        method = "POST";
        str_clear(&target);
        str_addf(&target, "%.*s/cancel", (int)strcspn(wire->url, "?#"), wire->url);
    }
    if (method) {
        str_addf(&text, "%s %s %s", method, call_application(call, application), str_text(&target));
        if (str_status(&target) == STATUS_OK && str_status(&text) == STATUS_OK)
            kept = arena_text(&call->arena, str_text(&text));
    }
    str_release(&target);
    str_release(&text);
    return kept;
}

/* ---- who -----------------------------------------------------------------------------------------------------------
 */

void notice_free(struct notice *notice)
{
    dispatch_call_release(&notice->wire);
    arena_release(&notice->arena);
    free(notice);
}

/* NULL: `notice_to` is none. */
static struct notice *notice_new(const struct attempt_row *attempt)
{
    struct notice *notice = mem_new(struct notice);
    arena_init(&notice->arena, NOTICE_ARENA);
    notice->attempt =
        (struct attempt_row){.run = attempt->run, .item = attempt->item, .n = attempt->n, .key_try = attempt->key_try};
    notice->attempt.step = arena_text(&notice->arena, attempt->step);
    char *text = arena_text(&notice->arena, attempt->notice_to);
    char *application = text ? strchr(text, ' ') : NULL;
    char *url = application ? strchr(application + 1, ' ') : NULL;
    if (!url) {
        notice_free(notice);
        return NULL;
    }
    *application++ = *url++ = '\0';
    notice->method = text;
    notice->application = application;
    notice->url = url;
    return notice;
}

static bool same(const struct notice *a, const struct notice *b)
{
    return a->attempt.run == b->attempt.run && a->attempt.item == b->attempt.item && a->attempt.n == b->attempt.n &&
           strcmp(a->attempt.step, b->attempt.step) == 0;
}

void notices_add(struct scheduler *s, struct notice *notice)
{
    struct notice *other;
    DL_FOREACH(s->notices, other)
    if (same(other, notice)) { /* its slot was loaded once more */
        notice_free(notice);
        return;
    }
    notice->at = s->now.mono;
    DL_APPEND(s->notices, notice);
}

void notices_mark(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    run->notify = false;
    for (const struct run_step *step = run_each(run->run, NULL); step; step = run_each(run->run, step))
        for (size_t i = 0; i < step->calls.attempt_count; i++) {
            const struct attempt_row *attempt = &step->calls.attempts[i];
            if (attempt->notice != NOTICE_NONE || !attempt_wants_notice(attempt))
                continue;
            struct notice *notice = run_wants_notice(step, attempt) ? notice_new(attempt) : NULL;
            if (notice) {
                vec_add(&bundle->tells, notice);
                bundle_notice(bundle, attempt, NOTICE_DUE);
                run_note_notice(run->run, attempt->step, attempt->item, attempt->n, NOTICE_DUE);
            } else if (!step_state_terminal(step->state)) {
                run->notify = true; /* the same key may be called again */
            }
        }
    (void)s;
}

void notices_take(struct scheduler *s, struct open_run *run)
{
    for (const struct run_step *step = run_each(run->run, NULL); step; step = run_each(run->run, step))
        for (size_t i = 0; i < step->calls.attempt_count; i++) {
            const struct attempt_row *attempt = &step->calls.attempts[i];
            struct notice *notice = attempt->notice == NOTICE_DUE ? notice_new(attempt) : NULL;
            if (notice)
                notices_add(s, notice);
            run->notify |= attempt->notice == NOTICE_NONE && attempt_wants_notice(attempt);
        }
}

void notices_load(struct scheduler *s, const struct linger_row *row)
{
    struct attempt_row attempt = {.run = row->run,
                                  .step = row->step,
                                  .item = row->item,
                                  .n = row->n,
                                  .key_try = row->key_try,
                                  .notice_to = row->notice_to};
    struct notice *notice = notice_new(&attempt);
    if (notice)
        notices_add(s, notice);
}

/* ---- out and back --------------------------------------------------------------------------------------------------
 */

static void wire_done(struct dispatch_call *wire)
{
    struct notice *notice = wire->owner;
    notice->phase = NOTICE_BACK;
}

static void send(struct scheduler *s, struct notice *notice)
{
    struct dispatch_call *wire = &notice->wire;
    dispatch_call_release(wire);
    *wire = (struct dispatch_call){.method = notice->method,
                                   .url = notice->url,
                                   .body = strcmp(notice->method, "POST") == 0 ? "{}" : "",
                                   .connect_timeout = NOTICE_CONNECT,
                                   .timeout = NOTICE_TIMEOUT,
                                   .response_max = NOTICE_ANSWER,
                                   .done = wire_done,
                                   .owner = notice};
    wire->body_length = strlen(wire->body);
    headers_notice(s, &notice->arena, &notice->attempt, notice->application, wire);
    notice->phase = NOTICE_SENT;
    notice->tries++;
    s->ports.dispatch->ops->start(s->ports.dispatch, wire);
}

/* "No such call" is as good as an answer: the executor does not work on it. */
static bool was_told(const struct dispatch_call *wire)
{
    int status = wire->end == DISPATCH_ANSWERED ? wire->http_status : 0;
    return (status >= 200 && status < 300) || status == 404 || status == 409 || status == 410;
}

static void back(struct scheduler *s, struct notice *notice)
{
    bool told = was_told(&notice->wire);
    if (!told && notice->tries < NOTICE_TRIES) {
        notice->phase = NOTICE_WAITS;
        notice->at = mono_add(s->now.mono, NOTICE_PAUSE);
        return;
    }
    if (!told)
        sink_logf(s->ports.sink, LOG_INFO,
                  "An executor could not be told that nobody waits for its call any more: it may still be at work.",
                  "run=%lld step=%s url=\"%s\" http_status=%d error=\"%s\"", (long long)notice->attempt.run,
                  notice->attempt.step, notice->url, notice->wire.http_status, notice->wire.error);
    struct bundle *bundle = bundle_new(s);
    bundle_notice(bundle, &notice->attempt, told ? NOTICE_TOLD : NOTICE_UNREACHED);
    bundle_put(s, bundle, true);
    DL_DELETE(s->notices, notice);
    notice_free(notice);
}

void notices_step(struct scheduler *s)
{
    struct notice *notice, *next;
    size_t flight = 0;
    DL_FOREACH_SAFE(s->notices, notice, next)
    {
        if (notice->phase == NOTICE_BACK)
            back(s, notice);
        else
            flight += notice->phase == NOTICE_SENT;
    }
    DL_FOREACH(s->notices, notice)
    {
        if (notice->phase != NOTICE_WAITS)
            continue;
        if (flight >= NOTICE_FLIGHT || !clock_may_act(s))
            return; /* an end, or the next turn, comes here again */
        if (mono_cmp(s->now.mono, notice->at) < 0) {
            wake_at(s, notice->at);
            continue;
        }
        send(s, notice);
        flight++;
    }
}

void notices_release(struct scheduler *s)
{
    struct notice *notice, *next;
    DL_FOREACH_SAFE(s->notices, notice, next)
    {
        DL_DELETE(s->notices, notice);
        notice_free(notice);
    }
}
