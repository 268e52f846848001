/* The network to the executors, and the executors: they answer, fail, are slow, reset, are not there. They keep the log
 * that decides whether anything was doubled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

enum behaviour { ANSWER_OK, ANSWER_FAILURE, ANSWER_500, ANSWER_BUSY, LOSE_REPLY, NEVER_ANSWER, REFUSE, BEHAVIOURS };

struct transfer {
    struct dispatch_call *call; /* NULL: ended, or its process is gone */
    struct life *life;
    size_t sent; /* index into world->calls */
    enum behaviour behaviour;
};

static VEC(struct transfer *) under_way;

static struct life *life_of(struct dispatch *d)
{
    return LIFE_OF(d, dispatch);
}

static void forget(struct transfer *transfer)
{
    for (size_t i = 0; i < under_way.count; i++)
        if (under_way.items[i] == transfer) {
            vec_remove_swap(&under_way, i);
            break;
        }
}

static const char *header_of(const struct dispatch_call *call, const char *name)
{
    for (size_t i = 0; i < call->header_count; i++)
        if (!strcmp(call->headers[i].name, name))
            return call->headers[i].value;
    return "";
}

static void fill_answer(struct dispatch_call *call, enum behaviour behaviour, int64_t number)
{
    char body[120] = "";
    static const struct {
        int status;
        const char *body;
    } answers[] = {[ANSWER_OK] = {200, ""},
                   [ANSWER_FAILURE] = {200, "{\"status\":\"failure\",\"code\":\"NO\",\"message\":\"no\"}"},
                   [ANSWER_500] = {500, "oops"},
                   [ANSWER_BUSY] = {503, ""}};
    (void)snprintf(body, sizeof body, "{\"status\":\"success\",\"result\":{\"n\":%lld}}", (long long)number);
    call->end = DISPATCH_ANSWERED;
    call->http_status = answers[behaviour].status;
    call->answer = mem_copy_text(behaviour == ANSWER_OK ? body : answers[behaviour].body);
    call->answer_length = strlen(call->answer);
    (void)snprintf(call->content_type, sizeof call->content_type, "application/json");
}

static void end_call(struct transfer *transfer, enum dispatch_end end)
{
    static const char *const ends[] = {
        [DISPATCH_ANSWERED] = "answered", [DISPATCH_NOT_SENT] = "not sent", [DISPATCH_UNKNOWN] = "unknown",
        [DISPATCH_TIMEOUT] = "timeout",   [DISPATCH_TOO_BIG] = "too big",   [DISPATCH_BAD_ANSWER] = "bad answer",
        [DISPATCH_CANCELED] = "canceled"};
    struct dispatch_call *call = transfer->call;
    struct world *world = transfer->life->world;
    world_trace(world, "%s: %s ends: %s", transfer->life->node->name, world->calls.items[transfer->sent].key,
                ends[end]);
    transfer->call = NULL;
    forget(transfer);
    call->end = end;
    call->retry_after = -1;
    call->bytes_sent = end == DISPATCH_NOT_SENT ? 0 : (int64_t)call->body_length + 300;
    call->connect_ms = call->first_byte_ms = call->total_ms = 1;
    if (end == DISPATCH_ANSWERED)
        fill_answer(call, transfer->behaviour, (int64_t)transfer->sent);
    transfer->life->in_flight--;
    call->done(call);
}

/* A definite end; one that tells the outcome also settles earlier calls under the same key. */
static void settle(struct world *world, size_t sent, bool outcome)
{
    struct sent_call *calls = world->calls.items;
    calls[sent].definite = true;
    for (size_t i = 0; outcome && i < sent; i++)
        if (!strcmp(calls[i].key, calls[sent].key))
            calls[i].definite = true;
}

static void deliver_end(struct life *life, void *context)
{
    struct transfer *transfer = context;
    if (!life->dead && transfer->call) {
        static const enum dispatch_end ends[BEHAVIOURS] = {
            [LOSE_REPLY] = DISPATCH_UNKNOWN, [NEVER_ANSWER] = DISPATCH_TIMEOUT, [REFUSE] = DISPATCH_NOT_SENT};
        enum behaviour behaviour = transfer->behaviour;
        enum dispatch_end end = behaviour <= ANSWER_BUSY ? DISPATCH_ANSWERED : ends[behaviour];
        if (end == DISPATCH_ANSWERED || end == DISPATCH_NOT_SENT)
            settle(life->world, transfer->sent, end == DISPATCH_ANSWERED && behaviour != ANSWER_BUSY);
        end_call(transfer, end);
    }
    free(transfer);
}

static void reach_executor(struct world *world, void *context)
{
    size_t sent = (size_t)(intptr_t)context;
    if (!world->calls.items[sent].arrived) {
        world->calls.items[sent].arrived = true;
        world->attempts++;
        check_arrival(world, &world->calls.items[sent]);
    }
}

/* "http://10.0.0.N:80/…" */
static size_t executor_of(const char *url)
{
    const char *number = strstr(url, "10.0.0.");
    size_t index = number ? (size_t)strtoul(number + 7, NULL, 10) : 0;
    return index < EXECUTORS_MAX ? index : 0;
}

static enum behaviour choose(struct world *world, const struct executor *executor)
{
    int64_t dice = world_draw(world, 1, 100);
    if (executor->down)
        return world_chance(world, 80) ? REFUSE : NEVER_ANSWER;
    if (world->healing)
        return dice <= 97 ? ANSWER_OK : ANSWER_FAILURE;
    return dice <= 78   ? ANSWER_OK
           : dice <= 83 ? ANSWER_FAILURE
           : dice <= 87 ? ANSWER_500
           : dice <= 90 ? ANSWER_BUSY
           : dice <= 96 ? LOSE_REPLY
           : dice <= 98 ? NEVER_ANSWER
                        : REFUSE;
}

static void remember(struct life *life, const struct dispatch_call *call)
{
    struct world *world = life->world;
    struct sent_call *sent = vec_push(&world->calls);
    (void)snprintf(sent->key, sizeof sent->key, "%s", header_of(call, "Idempotency-Key"));
    (void)snprintf(sent->step, sizeof sent->step, "%s", sent->key);
    char *last = strrchr(sent->step, '.');
    if (last)
        *last = '\0';
    sent->run = strtoll(header_of(call, "X-Carillon-Run"), NULL, 10);
    sent->epoch = strtoll(header_of(call, "X-Carillon-Epoch"), NULL, 10);
    (void)snprintf(sent->job, sizeof sent->job, "%s", header_of(call, "X-Carillon-Job"));
    check_send(world, life, sent);
}

static void start(struct dispatch *d, struct dispatch_call *call)
{
    struct life *life = life_of(d);
    struct world *world = life->world;
    struct transfer *transfer = mem_new(struct transfer);
    remember(life, call);
    *transfer = (struct transfer){
        .call = call,
        .life = life,
        .sent = world->calls.count - 1,
        .behaviour = life->node->cut_executors ? REFUSE : choose(world, &world->executors[executor_of(call->url)])};
    vec_add(&under_way, transfer);
    life->in_flight++;
    int64_t arrival = world_draw(world, 0, 5),
            work = world_chance(world, 6) ? world_draw(world, 1000, 9000) : world_draw(world, 1, 200);
    if (transfer->behaviour != REFUSE)
        world_at(world, world->now + arrival, reach_executor, (void *)(intptr_t)transfer->sent);
    if (transfer->behaviour == NEVER_ANSWER || arrival + work > call->timeout) {
        transfer->behaviour = NEVER_ANSWER;
        work = call->timeout - arrival;
    }
    life_deliver(life, arrival + (transfer->behaviour == REFUSE ? 5 : work), deliver_end, transfer);
}

static void cancel_now(struct life *life, void *context)
{
    struct dispatch_call *call = context;
    for (size_t i = 0; !life->dead && i < under_way.count; i++)
        if (under_way.items[i]->call == call && under_way.items[i]->life == life) {
            end_call(under_way.items[i], DISPATCH_CANCELED);
            return;
        }
}

static void cancel(struct dispatch *d, struct dispatch_call *call)
{
    life_deliver(life_of(d), 0, cancel_now, call);
}

static size_t in_flight(const struct dispatch *d)
{
    union {
        const struct dispatch *shown;
        struct dispatch *own;
    } u = {.shown = d};
    return (size_t)life_of(u.own)->in_flight;
}

static void close_dispatch(struct dispatch *d)
{
    struct life *life = life_of(d);
    for (size_t i = under_way.count; i-- > 0;)
        if (i < under_way.count && under_way.items[i]->life == life && under_way.items[i]->call)
            end_call(under_way.items[i], DISPATCH_CANCELED);
}

void dispatch_port_init(struct life *life)
{
    static const struct dispatch_ops ops = {"simulation", start, cancel, in_flight, close_dispatch};
    life->dispatch.ops = &ops;
}
