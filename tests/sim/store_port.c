/* The store as one process sees it: a network and a queue away, sometimes not there, sometimes with the reply lost. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/scenario.h"

struct pending {
    struct store_op *op; /* NULL: its process is gone */
    struct life *life;
    bool executed, gone;
};

static struct life *life_of(struct store *store)
{
    return LIFE_OF(store, store);
}

static bool writes(enum store_op_kind kind)
{
    return kind == STORE_BATCH || kind == STORE_DECIDED;
}

/* Under way, in order; kept beside the life so that a kill can end them. */
static VEC(struct pending *) under_way;

static void forget(struct pending *pending)
{
    for (size_t i = 0; i < under_way.count; i++)
        if (under_way.items[i] == pending) {
            memmove(under_way.items + i, under_way.items + i + 1, (under_way.count - i - 1) * sizeof *under_way.items);
            under_way.count--;
            break;
        }
    free(pending);
}

static void finish(struct life *life, void *context)
{
    struct pending *pending = context;
    struct store_op *op = pending->op;
    bool gone = pending->gone || life->dead;
    forget(pending);
    if (!gone)
        op->done(op);
}

static void answer(struct pending *pending, enum status status, int64_t delay)
{
    if (!pending->gone && status) {
        pending->op->status = status;
        (void)error_set(&pending->op->error, status, "%s", status_text(status));
    }
    life_deliver(pending->life, delay, finish, pending);
}

static bool reachable(const struct life *life)
{
    return !life->world->store_down && !life->node->cut_store;
}

static void execute(struct world *world, struct pending *pending)
{
    struct store_op *op = pending->op;
    pending->executed = true;
    (void)db_execute(&world->db, op);
    if (op->kind == STORE_RUNS_ADOPT && !op->status)
        world_trace(world, "  boot %lld adopts %zu runs of boot %lld", (long long)op->runs_adopt.boot,
                    op->runs_adopt.run_count, (long long)op->runs_adopt.from_boot);
    for (size_t i = 0; op->kind == STORE_SLOTS_TAKE && !op->status && i < op->slots_take.count; i++)
        if (op->slots_take.takes[i].slot < SIM_JOBS)
            world_trace(world, "  boot %lld takes slot %d from boot %lld: %s", (long long)op->slots_take.boot,
                        op->slots_take.takes[i].slot, (long long)op->slots_take.takes[i].previous_boot,
                        op->slots_take.takes[i].taken ? "done" : "refused");
    if (op->kind == STORE_BATCH && !op->status)
        check_batch(world, &op->batch);
    if (op->kind == STORE_BATCH && !op->status && op->batch.fire_count && pending->life->node->stop_at_commit) {
        pending->life->node->stop_at_commit = false;
        node_pause(world, (size_t)(pending->life->node - world->nodes));
    }
}

static void reach_store(struct world *world, void *context)
{
    struct pending *pending = context;
    struct life *life = pending->life;
    if (pending->gone) {
        forget(pending);
        life_drop(life);
        return;
    }
    if (!reachable(life)) {
        answer(pending, STATUS_UNAVAILABLE, world_draw(world, 5, 1500));
    } else {
        execute(world, pending);
        bool lost = (world->lose_commits && world_chance(world, 10)) || !reachable(life);
        bool write = pending->op->kind != STORE_POLL && pending->op->kind != STORE_SLOTS_READ;
        if (lost)
            answer(pending, write ? STATUS_UNKNOWN : STATUS_UNAVAILABLE, world_draw(world, 5, 2000));
        else
            answer(pending, STATUS_OK, world_draw(world, 0, 2));
    }
    life_drop(life);
}

static void submit(struct store *store, struct store_op *op)
{
    struct life *life = life_of(store);
    struct world *world = life->world;
    struct pending *pending = mem_new(struct pending);
    *pending = (struct pending){.op = op, .life = life};
    vec_add(&under_way, pending);
    world->tally.store[op->kind]++;
    if (!reachable(life)) {
        answer(pending, STATUS_UNAVAILABLE, world_draw(world, 1, 800));
        return;
    }
    /* One connection for writes: in order, one after another. Others may overtake. */
    int64_t *free_at = writes(op->kind) ? &life->write_free_at : &life->read_free_at;
    int64_t at = world->now + (world->store_slow ? world_draw(world, 50, 1500) : world_draw(world, 0, 2));
    if (writes(op->kind)) {
        at = at > *free_at ? at : *free_at;
        *free_at = at + world_draw(world, 1, world_chance(world, 3) ? 80 : 4);
        at = *free_at;
    }
    life->references++;
    world_at(world, at, reach_store, pending);
}

/* The process is gone. Of what it had sent, a part still reaches the store: the oldest ones, as a connection keeps
 * order. */
static void close_store(struct store *store)
{
    struct life *life = life_of(store);
    bool reaches = true;
    for (size_t i = 0; i < under_way.count; i++) {
        struct pending *pending = under_way.items[i];
        if (pending->life != life || pending->gone)
            continue;
        if (!pending->executed && writes(pending->op->kind)) {
            reaches = reaches && reachable(life) && world_chance(life->world, 50);
            if (reaches)
                execute(life->world, pending);
        }
        pending->gone = true;
        pending->op->status = STATUS_CANCELED;
        pending->op->done(pending->op);
        pending->op = NULL;
    }
}

void store_port_init(struct life *life)
{
    static const struct store_ops ops = {"simulation", submit, NULL, close_store};
    life->store.ops = &ops;
    life->write_free_at = life->read_free_at = 0;
}
