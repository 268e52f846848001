/* Nodes: processes that start, die, are stopped and go on, and what is on its way to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

static struct moment moment_of(const struct life *life)
{
    const struct world *world = life->world;
    return (struct moment){{world->now + life->node->clock_offset}, {world->now - world->begin + 1000}};
}

void life_drop(struct life *life)
{
    if (--life->references)
        return;
    vec_release(&life->inbox);
    free(life);
}

static void run_delivery(struct delivery *delivery)
{
    struct life *life = delivery->life;
    delivery->act(life, delivery->context);
    free(delivery);
    if (!life->dead)
        life_wake(life, life->world->now);
    life_drop(life);
}

static void arrive(struct world *world, void *context)
{
    struct delivery *delivery = context;
    (void)world;
    if (!delivery->life->dead && delivery->life->node->paused)
        vec_add(&delivery->life->inbox, delivery);
    else
        run_delivery(delivery);
}

void life_deliver(struct life *life, int64_t delay, void (*act)(struct life *life, void *context), void *context)
{
    struct delivery *delivery = mem_new(struct delivery);
    *delivery = (struct delivery){life, act, context};
    life->references++;
    world_at(life->world, life->world->now + delay, arrive, delivery);
}

/* ---- the loop of a process
 * ------------------------------------------------------------------------------------------- */

static void step(struct life *life, void *context)
{
    (void)context;
    if (life->dead)
        return;
    struct moment now = moment_of(life);
    mono wake = scheduler_step(life->scheduler, now);
    enum scheduler_state state = scheduler_state(life->scheduler);
    if (state == SCHEDULER_STOPPED || state == SCHEDULER_FENCED) {
        size_t index = (size_t)(life->node - life->world->nodes);
        world_trace(life->world, "%s ends by itself: %s", life->node->name,
                    state == SCHEDULER_STOPPED ? "drained" : "fenced");
        life->references++; /* keep it over the kill */
        node_kill(life->world, index);
        if (state == SCHEDULER_FENCED)
            node_start(life->world, index);
        life_drop(life);
        return;
    }
    if (wake.ms == MONO_NEVER.ms)
        return;
    int64_t wait = wake.ms - now.mono.ms;
    life_wake(life, life->world->now + (wait < 0 ? 0 : wait));
}

static void on_wake(struct world *world, void *context)
{
    struct life *life = context;
    (void)world;
    if (!life->dead && life->wake_at.ms <= world->now) {
        life->wake_at = MONO_NEVER;
        if (life->node->paused)
            life_deliver(life, 0, step, NULL);
        else
            step(life, NULL);
    }
    life_drop(life);
}

void life_wake(struct life *life, int64_t at)
{
    if (life->wake_at.ms <= at)
        return;
    life->wake_at.ms = at;
    life->references++;
    world_at(life->world, at, on_wake, life);
}

/* ---- start and end
 * ----------------------------------------------------------------------------------------------------- */

static void on_log(struct sink *sink, enum log_level level, const char *message, const char *fields)
{
    struct life *life = LIFE_OF(sink, sink);
    if (level <= LOG_INFO)
        world_trace(life->world, "%s: %s %s", life->node->name, message, fields);
}

static void on_run(struct sink *sink, const struct run_row *run)
{
    struct life *life = LIFE_OF(sink, sink);
    world_trace(life->world, "%s: run %lld %s", life->node->name, (long long)run->id, run_state_text(run->state));
}

void node_start(struct world *world, size_t index)
{
    static const struct sink_ops sink_ops = {on_log, on_run};
    struct node *node = &world->nodes[index];
    if (node->life || world->releasing)
        return;
    struct life *life = mem_new(struct life);
    life->world = world;
    life->node = node;
    life->references = 1;
    life->wake_at = MONO_NEVER;
    life->sink = (struct sink){&sink_ops, LOG_INFO};
    node->life = life;
    node->paused = false;
    settings_defaults(&life->settings);
    life->settings.scheduler.shutdown_grace = 20 * SPAN_SECOND;
    if (node->weight)
        life->settings.scheduler.weight = node->weight;
    (void)snprintf(life->address, sizeof life->address, "10.1.0.%zu:8421", index);
    store_port_init(life);
    coordination_port_init(life);
    dispatch_port_init(life);
    struct scheduler_options options = {.settings = &life->settings,
                                        .node = node->name,
                                        .address = life->address,
                                        .role = "scheduler",
                                        .seed = (uint64_t)world_draw(world, 1, 1000000),
                                        .break_fence = world->mutation == MUTATION_FENCE,
                                        .break_skip = world->mutation == MUTATION_SKIP,
                                        .break_double = world->mutation == MUTATION_DOUBLE};
    struct scheduler_ports ports = {.store = &life->store,
                                    .coordination = &life->coordination,
                                    .dispatch = &life->dispatch,
                                    .zones = &world->zones,
                                    .sink = &life->sink};
    world_trace(world, "%s starts", node->name);
    life->scheduler = scheduler_create(&options, &ports);
    life_wake(life, world->now);
}

void node_kill(struct world *world, size_t index)
{
    struct node *node = &world->nodes[index];
    struct life *life = node->life;
    if (!life)
        return;
    world_trace(world, "%s dies", node->name);
    life->store.ops->close(&life->store);
    life->dispatch.ops->close(&life->dispatch);
    coordination_leave(life);
    scheduler_free(life->scheduler);
    life->scheduler = NULL;
    life->dead = true;
    node->life = NULL;
    node->paused = false;
    for (size_t i = 0; i < life->inbox.count; i++)
        run_delivery(life->inbox.items[i]);
    vec_clear(&life->inbox);
    life_drop(life);
}

void node_pause(struct world *world, size_t index)
{
    struct node *node = &world->nodes[index];
    if (node->life && !node->paused) {
        world_trace(world, "%s is stopped (SIGSTOP)", node->name);
        node->paused = true;
    }
}

void node_resume(struct world *world, size_t index)
{
    struct node *node = &world->nodes[index];
    struct life *life = node->life;
    if (!life || !node->paused)
        return;
    world_trace(world, "%s goes on (SIGCONT)", node->name);
    node->paused = false;
    /* What arrived meanwhile is read first, in order, before anybody tells the process that its session is over. */
    for (size_t i = 0; i < life->inbox.count; i++) {
        struct delivery *delivery = life->inbox.items[i];
        world_at(world, world->now, arrive, delivery);
    }
    vec_clear(&life->inbox);
}
