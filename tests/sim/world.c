#include "tests/sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/logic/time/zone.h"

#define STILL_MAX 50000 /* events in one millisecond */

static const struct zone *only_utc(struct zones *zones, const char *name)
{
    (void)zones;
    return !strcmp(name, "UTC") ? zone_utc() : NULL;
}

void world_init(struct world *world, uint64_t seed, enum mutation mutation, bool trace)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->mutation = mutation;
    world->trace = trace;
    world->begin = world->now =
        1798718370000; /* 2026-12-31T11:59:30Z: half a minute before a quiet hour of the scenarios */
    world->next_czxid = 100;
    world->zones.get = only_utc;
    rng_seed(&world->rng, seed);
    heap_init(&world->events);
    db_init(&world->db);
    world->db.now = world->now;
}

void world_release(struct world *world)
{
    world->releasing = true;
    for (size_t i = 0; i < world->node_count; i++)
        node_kill(world, i);
    for (struct heap_entry *entry; (entry = heap_first(&world->events));) {
        struct event *event = (struct event *)entry; /* `entry` is its first member */
        heap_remove(&world->events, entry);
        event->act(world, event->context); /* those of lives only free what they hold: every life is dead now */
        free(event);
    }
    heap_release(&world->events);
    db_release(&world->db);
    vec_release(&world->sessions);
    vec_release(&world->claims);
    vec_release(&world->calls);
}

void world_at(struct world *world, int64_t at, void (*act)(struct world *world, void *context), void *context)
{
    struct event *event = mem_new(struct event);
    event->act = act;
    event->context = context;
    if (heap_add(&world->events, &event->entry, at > world->now ? at : world->now))
        abort();
}

void world_run(struct world *world, int64_t until)
{
    for (struct heap_entry *entry; !world->broken && (entry = heap_first(&world->events)) && entry->due <= until;) {
        struct event *event = (struct event *)entry;
        heap_remove(&world->events, entry);
        world->still = event->entry.due == world->now ? world->still + 1 : 0;
        world->now = world->db.now = event->entry.due;
        world->steps++;
        event->act(world, event->context);
        free(event);
        if (world->still > STILL_MAX)
            world_break(world, "somebody turns in a circle: %lld events, and time stands still", (long long)STILL_MAX);
    }
    if (!world->broken)
        world->now = world->db.now = until;
}

void world_break(struct world *world, const char *format, ...)
{
    va_list args;
    if (world->broken)
        return;
    va_start(args, format);
    (void)vsnprintf(world->why, sizeof world->why, format, args);
    va_end(args);
    world->broken = true;
}

void world_trace(struct world *world, const char *format, ...)
{
    char line[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    world->digest = hash_text(line, world->digest + (uint64_t)world->now);
    if (world->trace && !world->releasing)
        (void)fprintf(stderr, "%9.3f %s\n", (double)(world->now - world->begin) / 1000, line);
}

int64_t world_draw(struct world *world, int64_t low, int64_t high)
{
    return rng_between(&world->rng, low, high);
}

bool world_chance(struct world *world, int percent)
{
    return world_draw(world, 1, 100) <= percent;
}
