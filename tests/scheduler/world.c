#include "tests/scheduler/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/civil.h"
#include "core/logic/time/zone.h"

/* ---- coordination --------------------------------------------------------------------------------------------------
 */

static struct world_node *node_of_coordination(struct coordination *c)
{
    return (struct world_node *)(void *)((char *)c - offsetof(struct world_node, coordination));
}

static void tell(struct world *w, int node, enum coordination_event_kind kind, int64_t delay, int32_t slot)
{
    struct world_event *event = vec_push(&w->events);
    event->node = node;
    event->at = w->now.mono.ms + delay;
    event->event.kind = kind;
    event->event.claim.slot = slot;
}

static void tell_all(struct world *w, enum coordination_event_kind kind)
{
    for (int i = 0; i < WORLD_NODES; i++)
        if (w->nodes[i].alive && w->nodes[i].joined)
            tell(w, i, kind, 1, 0);
}

static void c_join(struct coordination *c, const struct coordination_node *self)
{
    struct world_node *node = node_of_coordination(c);
    node->self = *self;
    node->joined = true;
    tell(node->world, node->index, COORDINATION_CONNECTED, 1, 0);
    tell_all(node->world, COORDINATION_NODES);
    tell_all(node->world, COORDINATION_CLAIMS);
}

static void c_update(struct coordination *c, const struct coordination_node *self)
{
    node_of_coordination(c)->self = *self;
    tell_all(node_of_coordination(c)->world, COORDINATION_NODES);
}

static void c_claim(struct coordination *c, int32_t slot)
{
    struct world_node *node = node_of_coordination(c);
    struct world *w = node->world;
    if (slot < WORLD_SLOTS && w->claims[slot] != 0 && w->claim_boot[slot] == node->self.boot) { /* once more */
        tell(w, node->index, w->lose_claims ? COORDINATION_CLAIM_FAILED : COORDINATION_CLAIM_WON, 1, slot);
        return;
    }
    if (slot >= WORLD_SLOTS || w->claims[slot] != 0) {
        tell(w, node->index, COORDINATION_CLAIM_TAKEN, 1, slot);
        return;
    }
    w->claims[slot] = ++w->next_czxid;
    w->claim_boot[slot] = node->self.boot;
    tell(w, node->index, w->lose_claims ? COORDINATION_CLAIM_FAILED : COORDINATION_CLAIM_WON, 1, slot);
    tell_all(w, COORDINATION_CLAIMS);
}

static void c_release(struct coordination *c, int32_t slot)
{
    struct world_node *node = node_of_coordination(c);
    if (slot < WORLD_SLOTS && node->world->claim_boot[slot] == node->self.boot) {
        node->world->claims[slot] = node->world->claim_boot[slot] = 0;
        tell_all(node->world, COORDINATION_CLAIMS);
    }
}

static void c_close(struct coordination *c)
{
    (void)c;
}

static const struct coordination_ops coordination_ops =
    {.name = "world", .join = c_join, .update = c_update, .claim = c_claim, .release = c_release, .close = c_close};

static void deliver(struct world *w, struct world_event *pending)
{
    struct world_node *node = &w->nodes[pending->node];
    struct coordination_node nodes[WORLD_NODES];
    struct coordination_claim claims[WORLD_SLOTS];
    if (!node->alive || !node->scheduler)
        return;
    struct coordination_event *event = &pending->event;
    if (event->kind == COORDINATION_CONNECTED)
        node->cut = false;
    else if (node->cut && event->kind != COORDINATION_LOST)
        return;
    for (int i = 0; i < WORLD_NODES; i++)
        if (w->nodes[i].joined && !w->nodes[i].cut && w->nodes[i].self.boot != 0)
            nodes[event->node_count++] = w->nodes[i].self;
    event->nodes = nodes;
    for (int32_t i = 0; i < WORLD_SLOTS; i++)
        if (w->claims[i] != 0)
            claims[event->claim_count++] =
                (struct coordination_claim){.slot = i, .czxid = w->claims[i], .boot = w->claim_boot[i]};
    event->claims = claims;
    event->claim.boot = node->self.boot;
    if (event->kind == COORDINATION_CLAIM_WON)
        event->claim.czxid = w->claims[event->claim.slot];
    node->coordination.on_event(node->coordination.context, event);
    node->wake = 0;
}

/* ---- executors -----------------------------------------------------------------------------------------------------
 */

static void header(const struct dispatch_call *wire, const char *name, char *ret, size_t size)
{
    for (size_t i = 0; i < wire->header_count; i++)
        if (strcmp(wire->headers[i].name, name) == 0)
            (void)snprintf(ret, size, "%s", wire->headers[i].value);
}

static void d_start(struct dispatch *d, struct dispatch_call *wire)
{
    struct world_node *node = (struct world_node *)(void *)((char *)d - offsetof(struct world_node, dispatch));
    struct world *w = node->world;
    struct world_call *call = mem_new(struct world_call);
    vec_add(&w->calls, call);
    call->wire = wire;
    call->node = node->index;
    call->at = w->now.wall;
    (void)snprintf(call->url, sizeof call->url, "%s", wire->url);
    (void)snprintf(call->method, sizeof call->method, "%s", wire->method);
    (void)snprintf(call->body, sizeof call->body, "%.*s", (int)wire->body_length, wire->body ? wire->body : "");
    header(wire, "Idempotency-Key", call->key, sizeof call->key);
    header(wire, "X-Carillon-Step", call->step, sizeof call->step);
    header(wire, "X-Carillon-Run", call->run, sizeof call->run);
    header(wire, "X-Carillon-Epoch", call->epoch, sizeof call->epoch);
    header(wire, "Webhook-Signature", call->signature, sizeof call->signature);
    call->ends_at = w->now.mono.ms + w->call_ms;
    call->http_status = 200;
    call->end = DISPATCH_ANSWERED;
    (void)snprintf(call->answer, sizeof call->answer, "{\"status\":\"success\"}");
    if (w->script)
        call->ends_at = w->now.mono.ms + w->script(w, call);
}

static void d_cancel(struct dispatch *d, struct dispatch_call *wire)
{
    struct world_node *node = (struct world_node *)(void *)((char *)d - offsetof(struct world_node, dispatch));
    for (size_t i = 0; i < node->world->calls.count; i++)
        if (node->world->calls.items[i]->wire == wire) {
            node->world->calls.items[i]->end = DISPATCH_CANCELED;
            node->world->calls.items[i]->ends_at = node->world->now.mono.ms;
        }
}

static size_t d_in_flight(const struct dispatch *d)
{
    (void)d;
    return 0;
}

static void d_close(struct dispatch *d)
{
    (void)d;
}

static const struct dispatch_ops dispatch_ops = {.name = "world",
                                                 .start = d_start,
                                                 .cancel = d_cancel,
                                                 .in_flight = d_in_flight,
                                                 .close = d_close};

static void answer(struct world *w, struct world_call *call)
{
    struct dispatch_call *wire = call->wire;
    call->wire = NULL;
    if (!w->nodes[call->node].alive)
        return;
    wire->end = call->end;
    wire->http_status = call->end == DISPATCH_ANSWERED ? call->http_status : 0;
    wire->retry_after = -1;
    wire->bytes_sent = call->end == DISPATCH_NOT_SENT ? 0 : 100;
    wire->connect_ms = wire->first_byte_ms = wire->total_ms = 1;
    (void)snprintf(wire->content_type, sizeof wire->content_type, "application/json");
    (void)snprintf(wire->location, sizeof wire->location, "%s", call->location);
    if (call->end == DISPATCH_ANSWERED) {
        wire->answer = mem_copy_text(call->answer);
        wire->answer_length = strlen(call->answer);
    }
    w->nodes[call->node].wake = 0;
    wire->done(wire);
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

static const struct zone *zone_get(struct zones *zones, const char *name)
{
    (void)zones;
    return strcmp(name, "UTC") == 0 ? zone_utc() : NULL;
}

static void log_line(struct sink *sink, enum log_level level, const char *message, const char *fields)
{
    struct world_node *node = (struct world_node *)(void *)((char *)sink - offsetof(struct world_node, sink));
    char time[RFC3339_SIZE];
    node->world->warnings += level <= LOG_WARN;
    if (getenv("WORLD_LOG"))
        (void)fprintf(stderr, "%s node=%d level=%d %s %s\n", rfc3339_format(node->world->now.wall, time), node->index,
                      (int)level, message, fields);
}

static void log_run(struct sink *sink, const struct run_row *run)
{
    struct world_node *node = (struct world_node *)(void *)((char *)sink - offsetof(struct world_node, sink));
    if (run->id <= 0)
        abort();
    node->told++;
}

static const struct sink_ops sink_ops = {.log = log_line, .run = log_run};

instant world_instant(const char *text)
{
    instant at;
    struct error err;
    if (rfc3339_parse(text, &at, &err) != STATUS_OK)
        abort();
    return at;
}

struct world *world_create(const char *start)
{
    struct world *w = mem_new(struct world);
    w->now.wall = world_instant(start);
    w->now.mono.ms = 1000;
    settings_defaults(&w->settings);
    w->settings.coordination.claim_slots = WORLD_SLOTS;
    w->zones.get = zone_get;
    w->call_ms = 5;
    w->next_id = 10;
    arena_init(&w->memory, (size_t)1 << 30);
    for (int i = 0; i < WORLD_SLOTS; i++)
        w->slots[i].decided = INSTANT_NONE;
    for (int i = 0; i < WORLD_NODES; i++) {
        struct world_node *node = &w->nodes[i];
        node->world = w;
        node->index = i;
        node->coordination.ops = &coordination_ops;
        node->dispatch.ops = &dispatch_ops;
        node->sink.ops = &sink_ops;
        node->sink.level = LOG_DEBUG;
        world_store_init(node);
    }
    (void)world_put(w, DOCUMENT_PROJECT, "default", "{}");
    return w;
}

static void drop_under_way(struct world *w, int node)
{
    for (size_t i = 0; i < w->calls.count; i++)
        if (w->calls.items[i]->node == node && w->calls.items[i]->wire) {
            w->calls.items[i]->wire->end = DISPATCH_CANCELED;
            w->calls.items[i]->wire = NULL;
        }
    for (size_t i = 0; i < w->pending.count;) {
        struct pending *pending = &w->pending.items[i];
        if (pending->node == node) {
            pending->op->status = STATUS_CANCELED;
            struct store_op *op = pending->op;
            vec_remove_swap(&w->pending, i);
            op->done(op);
        } else {
            i++;
        }
    }
}

struct scheduler *world_start(struct world *w, int index, bool sole_owner)
{
    static const char *const names[WORLD_NODES] = {"n0", "n1", "n2"};
    struct world_node *node = &w->nodes[index];
    node->alive = true;
    node->joined = node->cut = false;
    node->wake = 0;
    struct scheduler_options options = {.settings = &w->settings,
                                        .node = names[index],
                                        .address = "127.0.0.1:1",
                                        .role = "scheduler",
                                        .seed = 7 + (uint64_t)w->boots.count,
                                        .sole_owner = sole_owner};
    const char *mutation = getenv("WORLD_BREAK"); /* by hand: do the tests see it? */
    options.break_fence = mutation && strcmp(mutation, "fence") == 0;
    options.break_skip = mutation && strcmp(mutation, "skip") == 0;
    options.break_double = mutation && strcmp(mutation, "double") == 0;
    struct scheduler_ports ports = {.store = &node->store,
                                    .coordination = &node->coordination,
                                    .dispatch = &node->dispatch,
                                    .zones = &w->zones,
                                    .sink = &node->sink};
    node->scheduler = scheduler_create(&options, &ports);
    return node->scheduler;
}

void world_kill(struct world *w, int index, int64_t session_ms)
{
    struct world_node *node = &w->nodes[index];
    node->alive = false;
    drop_under_way(w, index);
    scheduler_free(node->scheduler);
    node->scheduler = NULL;
    world_run(w, session_ms);
    node->joined = false;
    for (int32_t i = 0; i < WORLD_SLOTS; i++)
        if (w->claim_boot[i] == node->self.boot)
            w->claims[i] = w->claim_boot[i] = 0;
    tell_all(w, COORDINATION_NODES);
    tell_all(w, COORDINATION_CLAIMS);
}

void world_lose_session(struct world *w, int index, int64_t back_ms)
{
    struct world_node *node = &w->nodes[index];
    for (int32_t i = 0; i < WORLD_SLOTS; i++)
        if (w->claim_boot[i] == node->self.boot)
            w->claims[i] = w->claim_boot[i] = 0;
    node->cut = true;
    tell(w, index, COORDINATION_LOST, 1, 0);
    for (int i = 0; i < WORLD_NODES; i++)
        if (i != index && w->nodes[i].alive && w->nodes[i].joined && !w->nodes[i].cut) {
            tell(w, i, COORDINATION_NODES, 2, 0);
            tell(w, i, COORDINATION_CLAIMS, 2, 0);
        }
    tell(w, index, COORDINATION_CONNECTED, back_ms, 0);
    for (int i = 0; i < WORLD_NODES; i++)
        if (w->nodes[i].alive && w->nodes[i].joined) {
            tell(w, i, COORDINATION_NODES, back_ms + 1, 0);
            tell(w, i, COORDINATION_CLAIMS, back_ms + 1, 0);
        }
}

void world_stop(struct world *w, int index)
{
    world_kill(w, index, 0);
}

void world_free(struct world *w)
{
    for (int i = 0; i < WORLD_NODES; i++)
        if (w->nodes[i].scheduler)
            world_stop(w, i);
    for (size_t i = 0; i < w->calls.count; i++)
        free(w->calls.items[i]);
    for (size_t i = 0; i < w->jobs.count; i++)
        for (size_t k = 0; k < 16; k++)
            free(w->jobs.items[i].versions[k]);
    vec_release(&w->jobs);
    vec_release(&w->boots);
    vec_release(&w->changes);
    vec_release(&w->runs);
    vec_release(&w->steps);
    vec_release(&w->attempts);
    vec_release(&w->skips);
    vec_release(&w->activations);
    vec_release(&w->states);
    vec_release(&w->requests);
    vec_release(&w->reports);
    vec_release(&w->beats);
    vec_release(&w->suspended);
    vec_release(&w->lingers);
    vec_release(&w->pending);
    vec_release(&w->events);
    vec_release(&w->calls);
    arena_release(&w->memory);
    free(w);
}

void world_seeds(uint64_t count, void (*one_seed)(uint64_t seed))
{
    const char *only = getenv("SEED"), *many = getenv("SEEDS");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1;
    count = many ? strtoull(many, NULL, 10) : only ? 1 : count;
    for (uint64_t seed = first; seed < first + count; seed++)
        one_seed(seed);
}

/* ---- time ----------------------------------------------------------------------------------------------------------
 */

static void complete(struct world *w)
{
    for (size_t i = 0; i < w->pending.count;) {
        if (w->pending.items[i].at > w->now.mono.ms) {
            i++;
            continue;
        }
        struct store_op *op = w->pending.items[i].op;
        memmove(&w->pending.items[i], &w->pending.items[i + 1], (w->pending.count - i - 1) * sizeof *w->pending.items);
        w->pending.count--;
        op->done(op);
        for (int n = 0; n < WORLD_NODES; n++)
            w->nodes[n].wake = 0;
    }
    for (size_t i = 0; i < w->events.count;) {
        if (w->events.items[i].at > w->now.mono.ms) {
            i++;
            continue;
        }
        struct world_event event = w->events.items[i];
        memmove(&w->events.items[i], &w->events.items[i + 1], (w->events.count - i - 1) * sizeof *w->events.items);
        w->events.count--;
        deliver(w, &event);
    }
    for (size_t i = 0; i < w->calls.count; i++)
        if (w->calls.items[i]->wire && w->calls.items[i]->ends_at <= w->now.mono.ms)
            answer(w, w->calls.items[i]);
}

void world_run(struct world *w, span ms)
{
    int64_t end = w->now.mono.ms + ms;
    while (w->now.mono.ms < end) {
        complete(w);
        for (int i = 0; i < WORLD_NODES; i++) {
            struct world_node *node = &w->nodes[i];
            for (int turns = 0; node->scheduler && node->wake <= w->now.mono.ms; turns++) {
                if (turns > 10000)
                    abort(); /* it spins */
                struct moment now = w->now;
                now.wall.ms += node->skew;
                node->wake = scheduler_step(node->scheduler, now).ms;
            }
        }
        int64_t next = end;
        for (int i = 0; i < WORLD_NODES; i++)
            if (w->nodes[i].scheduler && w->nodes[i].wake < next)
                next = w->nodes[i].wake;
        for (size_t i = 0; i < w->pending.count; i++)
            next = w->pending.items[i].at < next ? w->pending.items[i].at : next;
        for (size_t i = 0; i < w->events.count; i++)
            next = w->events.items[i].at < next ? w->events.items[i].at : next;
        for (size_t i = 0; i < w->calls.count; i++)
            if (w->calls.items[i]->wire && w->calls.items[i]->ends_at < next)
                next = w->calls.items[i]->ends_at;
        if (next <= w->now.mono.ms)
            next = w->now.mono.ms + 1;
        w->now.wall.ms += next - w->now.mono.ms;
        w->now.mono.ms = next;
    }
}

/* ---- definitions and requests --------------------------------------------------------------------------------------
 */

static void changed(struct world *w, enum document_kind kind, int64_t id)
{
    struct change_row row = {.seq = (int64_t)w->changes.count + 1, .kind = kind, .id = id};
    vec_add(&w->changes, row);
}

int64_t world_put(struct world *w, enum document_kind kind, const char *name, const char *spec)
{
    struct world_job *job = NULL;
    for (size_t i = 0; i < w->jobs.count; i++)
        if (w->jobs.items[i].kind == kind && !w->jobs.items[i].deleted && strcmp(w->jobs.items[i].name, name) == 0)
            job = &w->jobs.items[i];
    if (!job) {
        job = vec_push(&w->jobs);
        job->id = w->next_id++;
        job->kind = kind;
        job->slot = (int32_t)(job->id % WORLD_SLOTS);
        (void)snprintf(job->name, sizeof job->name, "%s", name);
    }
    char text[4096];
    (void)snprintf(text, sizeof text,
                   "{\"apiVersion\":\"carillon/v1\",\"kind\":\"%s\",\"metadata\":{%s\"name\":\"%s\"},\"spec\":%s}",
                   document_kind_text(kind), kind == DOCUMENT_PROJECT ? "" : "\"project\":\"default\",", name, spec);
    struct faults faults;
    faults_init(&faults);
    struct document *document = document_parse(text, strlen(text), kind, &faults);
    if (!document) {
        for (size_t i = 0; i < faults.count; i++)
            (void)fprintf(stderr, "%s: %s\n", faults.items[i].path, faults.items[i].text);
        abort();
    }
    document_free(document);
    faults_release(&faults);
    job->version++;
    job->created_at = w->now.wall;
    job->versions[job->version] = mem_copy_text(text);
    job->version_at[job->version] = w->now.wall;
    changed(w, kind, job->id);
    return job->id;
}

void world_delete(struct world *w, int64_t id)
{
    for (size_t i = 0; i < w->jobs.count; i++)
        if (w->jobs.items[i].id == id) {
            w->jobs.items[i].deleted = true;
            w->jobs.items[i].deleted_at = w->now.wall;
            w->jobs.items[i].pending_delete = 1;
            changed(w, w->jobs.items[i].kind, id);
        }
}

int64_t world_request(struct world *w, const struct request_row *row)
{
    struct request_row copy = *row;
    if (copy.id == 0)
        copy.id = (int64_t)w->requests.count + 1;
    copy.created_at = w->now.wall;
    for (size_t i = 0; i < w->jobs.count; i++)
        if (w->jobs.items[i].id == row->job)
            copy.slot = w->jobs.items[i].slot;
    vec_add(&w->requests, copy);
    return copy.id;
}

static int32_t try_of(const struct world_call *call)
{
    const char *last = strrchr(call->key, '.');
    return (int32_t)strtol(last ? last + 1 : "0", NULL, 10);
}

void world_beat(struct world *w, const struct world_call *call, span within)
{
    int64_t run = strtoll(call->run, NULL, 10);
    for (size_t i = 0; i < w->beats.count; i++)
        if (w->beats.items[i].run == run && strcmp(w->beats.items[i].step, call->step) == 0) {
            w->beats.items[i].at = w->now.wall;
            return;
        }
    *vec_push(&w->beats) = (struct alive_row){
        .run = run, .step = call->step, .key_try = try_of(call), .at = w->now.wall, .progress = -1, .within = within};
}

size_t world_report(struct world *w, const struct world_call *call, enum report_state state, const char *result)
{
    struct world_report *report = vec_push(&w->reports);
    report->row = (struct report_row){.id = (int64_t)w->reports.count,
                                      .run = strtoll(call->run, NULL, 10),
                                      .step = call->step,
                                      .key_try = try_of(call),
                                      .state = state,
                                      .result = result,
                                      .until = INSTANT_NONE,
                                      .created_at = w->now.wall};
    return w->reports.count - 1;
}

/* ---- questions
 * ------------------------------------------------------------------------------------------------------- */

size_t world_runs(const struct world *w, int64_t job, const char *trigger, int state)
{
    size_t n = 0;
    for (size_t i = 0; i < w->runs.count; i++) {
        const struct run_row *row = &w->runs.items[i];
        n += row->job == job && (!trigger || strcmp(row->trigger, trigger) == 0) &&
             (state < 0 || (int)row->state == state);
    }
    return n;
}

const struct run_row *world_run_at(const struct world *w, int64_t job, instant scheduled)
{
    for (size_t i = 0; i < w->runs.count; i++)
        if (w->runs.items[i].job == job && instant_cmp(w->runs.items[i].scheduled_at, scheduled) == 0)
            return &w->runs.items[i];
    return NULL;
}

int64_t world_skipped(const struct world *w, int64_t job, const char *reason)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->skips.count; i++)
        if (w->skips.items[i].job == job && strcmp(w->skips.items[i].reason, reason) == 0)
            n += w->skips.items[i].count;
    return n;
}

size_t world_sent(const struct world *w, const char *step)
{
    size_t n = 0;
    for (size_t i = 0; i < w->calls.count; i++)
        n += strcmp(w->calls.items[i]->step, step) == 0;
    return n;
}
