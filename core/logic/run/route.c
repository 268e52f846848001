#include "core/logic/run/route.h"

#include <string.h>

#include "core/base/hash.h"

#define NONE SIZE_MAX

/* Why an instance is no candidate; the worst of all is the reason of the whole pick: a full one is worth waiting for,
 * one that is away may come back, one that was tried already does neither. */
enum standing { STANDING_TRIED, STANDING_AWAY, STANDING_FULL, STANDING_READY };

static bool was_tried(const struct route_query *query, const char *address)
{
    for (size_t i = 0; i < query->tried_count; i++)
        if (!strcmp(query->tried[i], address))
            return true;
    return false;
}

static enum standing standing_of(const struct route_query *query, const struct route_instance *instance)
{
    if (was_tried(query, instance->address))
        return STANDING_TRIED;
    if (!instance->usable)
        return STANDING_AWAY;
    return instance->full ? STANDING_FULL : STANDING_READY;
}

static bool eligible(const struct route_query *query, const struct route_instance *instance)
{
    return query->routing != ROUTE_FIXED || (query->fixed && !strcmp(query->fixed, instance->address));
}

/* Place of `after` in the list; NONE when it is not there any more. */
static size_t place_of(const struct route_instance *instances, size_t count, const char *address)
{
    for (size_t i = 0; address && i < count; i++)
        if (!strcmp(instances[i].address, address))
            return i;
    return NONE;
}

static size_t pick_from(const struct route_query *query, const struct route_instance *instances, size_t count,
                        size_t first)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = (first + i) % count;
        if (eligible(query, &instances[at]) && standing_of(query, &instances[at]) == STANDING_READY)
            return at;
    }
    return NONE;
}

static size_t ready_count(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    size_t ready = 0;
    for (size_t i = 0; i < count; i++)
        ready += standing_of(query, &instances[i]) == STANDING_READY;
    return ready;
}

static size_t pick_random(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    size_t ready = ready_count(query, instances, count);
    if (!ready)
        return NONE;
    size_t nth = (size_t)(hash_mix(query->random) % ready);
    for (size_t i = 0; i < count; i++)
        if (standing_of(query, &instances[i]) == STANDING_READY && nth-- == 0)
            return i;
    return NONE;
}

/* Fewest calls in flight; equals in the order of the cursor. */
static size_t pick_least_busy(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    size_t best = NONE;
    for (size_t i = 0; i < count; i++) {
        size_t at = (query->cursor + i) % count;
        if (standing_of(query, &instances[at]) == STANDING_READY &&
            (best == NONE || instances[at].in_flight < instances[best].in_flight))
            best = at;
    }
    return best;
}

/* Rendezvous: a key keeps its instance while that one is there, and only its own keys move when one goes. */
static size_t pick_hash(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    size_t best = NONE;
    uint64_t best_weight = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t weight = hash_text(instances[i].address, query->key);
        if (standing_of(query, &instances[i]) == STANDING_READY && (best == NONE || weight > best_weight)) {
            best = i;
            best_weight = weight;
        }
    }
    return best;
}

static size_t pick(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    if (!count)
        return NONE;
    size_t after = place_of(instances, count, query->after);
    if (after != NONE)
        return pick_from(query, instances, count, after + 1);
    switch (query->routing) {
    case ROUTE_RANDOM:
        return pick_random(query, instances, count);
    case ROUTE_LEAST_BUSY:
        return pick_least_busy(query, instances, count);
    case ROUTE_HASH:
        return pick_hash(query, instances, count);
    case ROUTE_FIXED:
    case ROUTE_FIRST:
        return pick_from(query, instances, count, 0);
    case ROUTE_ROUND_ROBIN:
    case ROUTE_BROADCAST:
    case ROUTE_SHARD:
        break;
    }
    return pick_from(query, instances, count, query->cursor % count);
}

static const char *reason_of(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    bool fixed = query->routing == ROUTE_FIXED;
    const char *why = NULL;
    enum standing worst = STANDING_TRIED;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!eligible(query, &instances[i]))
            continue;
        enum standing standing = standing_of(query, &instances[i]);
        if (!any || standing > worst) {
            worst = standing;
            why = instances[i].why;
        }
        any = true;
    }
    if (!any)
        return fixed ? "fixed_gone" : "no_instance";
    if (worst == STANDING_TRIED)
        return "all_tried";
    if (worst == STANDING_FULL)
        return why ? why : "instance_limit";
    return why ? why : fixed ? "fixed_gone" : "no_instance";
}

size_t route_pick(const struct route_query *query, const struct route_instance *instances, size_t count,
                  const char **ret_reason)
{
    size_t found = pick(query, instances, count);
    if (ret_reason)
        *ret_reason = found == NONE ? reason_of(query, instances, count) : NULL;
    return found;
}
