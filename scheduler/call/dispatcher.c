/* Calls: from a committed intent to an event. A call is made with its intent (so that limits count it at once), waits
 * for the commit, is rendered and sent, and comes back through the inbox of answers.
 *
 *   intent ──commit──▶ ready ──▶ sent ──▶ done
 */
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/know/know.h"
#include "scheduler/write/write.h"

#define CALL_ARENA_MAX ((size_t)16 << 20)
#define ERROR_RENDER "SCHEDULING_VALIDATION_002"

struct call *dispatcher_call_new(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt,
                                 const struct step_spec *step)
{
    struct call *call = mem_new(struct call);
    arena_init(&call->arena, CALL_ARENA_MAX);
    call->scheduler = s;
    call->run = run;
    call->attempt = *attempt;
    call->attempt.step = step->name; /* lives with the version */
    call->attempt.instance = arena_text(&call->arena, attempt->instance);
    call->attempt.node = s->node;
    call->attempt.error = call->attempt.code = call->attempt.request = call->attempt.response = NULL;
    call->attempt.result = NULL;
    run_ref(run);
    call->next = run->calls;
    run->calls = call;
    call->application = application_of(s, run->job->project, step);
    if (call->application)
        call->instance = application_instance(call->application, call->attempt.instance);
    instance_begin(s, call);
    return call;
}

/* Its place is free for what follows; the call itself may live on for a moment. */
static void leave(struct scheduler *s, struct call *call)
{
    if (call->left)
        return;
    call->left = true;
    struct call **at = &call->run->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    instance_end(s, call);
}

void dispatcher_drop(struct scheduler *s, struct call *call)
{
    struct open_run *run = call->run;
    leave(s, call);
    if (call->rendered_set)
        rendered_call_release(&call->rendered);
    dispatch_call_release(&call->wire);
    arena_release(&call->arena);
    free(call);
    run_unref(s, run);
}

/* ---- out -----------------------------------------------------------------------------------------------------------
 */

static void ready_add(struct scheduler *s, struct call *call)
{
    call->state = CALL_STATE_READY;
    call->inbox_next = NULL;
    *s->ready_tail = call;
    s->ready_tail = &call->inbox_next;
}

void dispatcher_release(struct scheduler *s, struct call *call)
{
    ready_add(s, call);
}

void dispatcher_cancel(struct scheduler *s, struct call *call, enum call_class as)
{
    if (call->cancel)
        return;
    call->cancel = true;
    call->cancel_as = as;
    if (call->state == CALL_STATE_SENT)
        s->ports.dispatch->ops->cancel(s->ports.dispatch, &call->wire);
}

static void wire_done(struct dispatch_call *wire)
{
    struct call *call = wire->owner;
    struct scheduler *s = call->scheduler;
    call->state = CALL_STATE_DONE;
    call->inbox_next = NULL;
    *s->answers_tail = call;
    s->answers_tail = &call->inbox_next;
}

/* An attempt that ends before anything was sent. */
static void end_unsent(struct scheduler *s, struct call *call, enum call_class class, const char *error,
                       const char *code)
{
    struct attempt_row row = call->attempt;
    row.state = ATTEMPT_ENDED;
    row.class = class;
    row.ended_at = s->now.wall;
    row.error = error;
    row.code = code;
    row.connect_ms = row.first_byte_ms = row.total_ms = -1;
    row.retry_after = -1;
    leave(s, call);
    driver_attempt(s, call->run, &row);
    dispatcher_drop(s, call);
}

static void send(struct scheduler *s, struct call *call)
{
    struct run_world world = world_of(s, call->run);
    struct error err = {0};
    if (run_render(call->run->run, &call->attempt, &world, &call->rendered, &err) != STATUS_OK) {
        end_unsent(s, call, CALL_FAILURE, err.text, ERROR_RENDER);
        return;
    }
    call->rendered_set = true;
    const struct call_spec *spec = &call->rendered.call;
    struct dispatch_call *wire = &call->wire;
    call->rule = spec->success;
    call->success_when = arena_text(&call->arena, spec->success_when); /* the document may change meanwhile */
    call->async = spec->async;
    call->cancelable = spec->cancel;
    wire->method = arena_text(&call->arena, spec->method);
    wire->url = str_text(&call->rendered.url);
    wire->body = str_text(&call->rendered.body);
    wire->body_length = call->rendered.body.length;
    wire->connect_timeout = spec->connect_timeout;
    wire->timeout = spec->timeout;
    wire->response_max = (size_t)s->settings->dispatch.max_response;
    wire->done = wire_done;
    wire->owner = call;
    headers_make(s, call);
    call->state = CALL_STATE_SENT;
    s->ports.dispatch->ops->start(s->ports.dispatch, wire);
}

void dispatcher_step(struct scheduler *s)
{
    if (!clock_may_act(s))
        return; /* this process slept: its calls wait until its boot row was read again */
    while (s->ready_head) {
        struct call *call = s->ready_head;
        s->ready_head = call->inbox_next;
        if (!s->ready_head)
            s->ready_tail = &s->ready_head;
        if (call->run->forgotten || call->reported)
            dispatcher_drop(s, call);
        else if (call->cancel)
            end_unsent(s, call, call->cancel_as, "canceled before it was sent", NULL);
        else
            send(s, call);
    }
}

/* ---- back ----------------------------------------------------------------------------------------------------------
 */

static enum call_class class_of(const struct dispatch_call *wire)
{
    switch (wire->end) {
    case DISPATCH_NOT_SENT:
        return CALL_NOT_SENT;
    case DISPATCH_UNKNOWN:
        return CALL_UNKNOWN;
    case DISPATCH_TIMEOUT:
        return CALL_TIMEOUT;
    case DISPATCH_TOO_BIG:
    case DISPATCH_BAD_ANSWER:
        return CALL_BAD_ANSWER;
    case DISPATCH_CANCELED:
        return CALL_CANCELED;
    case DISPATCH_ANSWERED:
    default:
        return CALL_NONE;
    }
}

/* Cut at a whole character. */
static const char *capture(struct call *call, enum capture how, const char *text, size_t length)
{
    if (how == CAPTURE_NONE || !text || length == 0)
        return NULL;
    size_t most = how == CAPTURE_HEAD && length > LIMIT_INLINE_BODY ? LIMIT_INLINE_BODY : length;
    while (most > 0 && most < length && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return arena_copy(&call->arena, text, most);
}

static void read_answer(struct scheduler *s, struct call *call, struct attempt_row *row)
{
    const struct dispatch_call *wire = &call->wire;
    struct answer_input input = {.http_status = wire->http_status,
                                 .body = wire->answer,
                                 .length = wire->answer_length,
                                 .content_type = wire->content_type,
                                 .location = wire->location,
                                 .retry_after = wire->retry_after,
                                 .now = s->now.wall,
                                 .rule = call->rule,
                                 .success_when = call->success_when,
                                 .async = call->async};
    struct answer answer = {.delay = -1};
    if (answer_classify(&input, &call->arena, &answer) != STATUS_OK) {
        row->class = CALL_BAD_ANSWER;
        row->error = "the answer is too big to be read";
        return;
    }
    row->class = answer.class;
    row->result = answer.result;
    row->code = answer.code;
    row->error = answer.message ? answer.message : answer.note;
    row->retry_after = answer.delay;
    if (answer.result && strlen(answer.result) > LIMIT_RESULT) {
        row->result = NULL;
        row->error = "the result is longer than 64 KiB: successors read null";
    }
}

static void collect(struct scheduler *s, struct call *call)
{
    const struct dispatch_call *wire = &call->wire;
    struct attempt_row row = call->attempt;
    enum capture how = version_spec(call->run->version)->capture;
    row.state = ATTEMPT_ENDED;
    row.ended_at = s->now.wall;
    row.http_status = wire->http_status;
    row.bytes_sent = wire->bytes_sent;
    row.reused_connection = wire->reused_connection;
    row.connect_ms = wire->connect_ms;
    row.first_byte_ms = wire->first_byte_ms;
    row.total_ms = wire->total_ms;
    row.retry_after = wire->retry_after;
    row.error = wire->error[0] ? wire->error : NULL;
    row.class = class_of(wire);
    if (row.class == CALL_NONE)
        read_answer(s, call, &row);
    if (row.class == CALL_CANCELED)
        row.class = call->cancel ? call->cancel_as : wire->bytes_sent > 0 ? CALL_UNKNOWN : CALL_NOT_SENT;
    if (row.class == CALL_ACCEPTED) {
        row.state = ATTEMPT_ACCEPTED;
        alive_watch(s);
        row.ended_at = INSTANT_NONE;
    }
    row.notice_to = notice_target(call, row.class);
    row.request = capture(call, how, wire->body, wire->body_length);
    row.response = capture(call, how, wire->answer, wire->answer_length);
    row.request_size = (int64_t)wire->body_length;
    row.response_size = (int64_t)wire->answer_length;
    instance_outcome(s, call, row.class);
    leave(s, call);
    if (!call->reported)
        driver_attempt(s, call->run, &row);
    dispatcher_drop(s, call);
}

void dispatcher_collect(struct scheduler *s)
{
    while (s->answers_head && !batcher_full(s)) {
        struct call *call = s->answers_head;
        s->answers_head = call->inbox_next;
        if (!s->answers_head)
            s->answers_tail = &s->answers_head;
        collect(s, call);
    }
}
