/* Which instance gets the call of a step: routing over the world as it will be once the present list has been carried
 * out. */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/logic/run/plan.h"

static size_t gather_tried(const struct view *v, const struct choice *c, const char **tried)
{
    const struct run_calls *item = &v->step->calls;
    size_t count = 0;
    for (size_t i = 0; i < item->attempt_count; i++) {
        const struct attempt_row *attempt = &item->attempts[i];
        bool this_round = attempt_soft(attempt) && attempt->seq > v->memory->row_seq && !v->served;
        if ((c->not_hard && attempt_hard(attempt)) || (c->not_this_round && this_round))
            tried[count++] = attempt->instance;
    }
    return count;
}

static bool same_task(const struct step_spec *a, const struct step_spec *b)
{
    return a->task && b->task && !strcmp(a->task, b->task) && !strcmp(a->application, b->application);
}

/* Calls of this task that the present list begins. */
static uint32_t picked(const struct view *v)
{
    uint32_t count = 0;
    for (size_t i = 0; i < v->picks->count; i++) {
        const struct run_effect *effect = &v->picks->effects[i];
        size_t other = effect->kind == EFFECT_ATTEMPT ? step_index(v->run, effect->attempt.step) : SIZE_MAX;
        count += other != SIZE_MAX && same_task(v->spec, &v->run->job->steps[other]);
    }
    return count;
}

/* Calls of any task that it begins at this instance. */
static int32_t picked_at(const struct view *v, const char *address)
{
    int32_t count = 0;
    for (size_t i = 0; i < v->picks->count; i++)
        count += v->picks->effects[i].kind == EFFECT_ATTEMPT && !strcmp(v->picks->effects[i].attempt.instance, address);
    return count;
}

static bool picks_any(const struct view *v)
{
    for (size_t i = 0; i < v->picks->count; i++)
        if (v->picks->effects[i].kind == EFFECT_ATTEMPT)
            return true;
    return false;
}

/* The instances as they are once the list has been carried out. `*ret_copy` is to be freed. */
static size_t list_instances(const struct view *v, const struct route_instance **ret, struct route_instance **ret_copy)
{
    size_t count = v->world->instances(v->world->context, v->run->job->meta.project, v->spec, ret);
    *ret_copy = NULL;
    if (!count || !picks_any(v))
        return count;
    struct route_instance *copy = malloc(count * sizeof *copy);
    if (!copy)
        return count;
    memcpy(copy, *ret, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        int32_t picks = picked_at(v, copy[i].address);
        copy[i].in_flight += picks;
        copy[i].full |= copy[i].room > 0          ? picks >= copy[i].room
                        : v->call.concurrency > 0 ? copy[i].in_flight >= v->call.concurrency
                                                  : false;
    }
    *ret = *ret_copy = copy;
    return count;
}

static bool is_tried(const struct route_query *query, const char *address)
{
    for (size_t i = 0; i < query->tried_count; i++)
        if (!strcmp(query->tried[i], address))
            return true;
    return false;
}

static bool at_limit(const struct route_query *query, const struct route_instance *instances, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *address = instances[i].address;
        bool eligible = query->routing != ROUTE_FIXED || (query->fixed && !strcmp(query->fixed, address));
        if (eligible && instances[i].usable && instances[i].full && !is_tried(query, address))
            return true;
    }
    return false;
}

/* false: the key cannot be rendered; the plan says so. */
static bool hash_key(struct view *v, uint64_t *ret)
{
    struct render_scope scope;
    struct template_context context;
    struct str key;
    struct error err = {STATUS_OK, "out of memory"};
    str_init(&key, LIMIT_PARAMS);
    enum status status = render_scope_begin(&scope, v->run, v->machine->assumed, v->step, v->world, &context);
    if (!status)
        status = template_render_text(v->spec->instance ? v->spec->instance : "", &context, &key, &err);
    render_scope_end(&scope);
    *ret = hash_text(str_text(&key), 0);
    str_release(&key);
    if (status)
        plan_end(v, failure_state(v->spec), note_textf(v->machine, "routing key: %s", err.text));
    return !status;
}

bool choose(struct view *v, struct choice *c)
{
    struct route_query query = {.routing = v->spec->routing,
                                .fixed = v->spec->instance,
                                .random = v->world->random + v->index + (uint64_t)v->step->item,
                                .after = c->after};
    const char *only = v->spec->routing == ROUTE_BROADCAST ? v->assigned : c->only;
    if (only) {
        query.routing = ROUTE_FIXED;
        query.fixed = only;
    }
    if (v->spec->task && v->world->cursor)
        query.cursor =
            v->world->cursor(v->world->context, v->run->job->meta.project, v->spec->application, v->spec->task) +
            picked(v);
    if (query.routing == ROUTE_HASH && !hash_key(v, &query.key))
        return false;
    const char **tried = malloc((v->step->calls.attempt_count + 1) * sizeof *tried);
    if (!tried) { /* out of memory: later */
        plan_wait(v, REASON_LIMIT, INSTANT_NONE, instant_add(v->now, POLL_MIN));
        return false;
    }
    query.tried = tried;
    query.tried_count = gather_tried(v, c, tried);
    const struct route_instance *instances = NULL;
    struct route_instance *copy;
    size_t count = list_instances(v, &instances, &copy);
    size_t found = route_pick(&query, instances, count, &c->reason);
    c->found = found == SIZE_MAX ? NULL : note_text(v->machine, instances[found].address);
    c->limit = !c->found && at_limit(&query, instances, count);
    if (c->reason) /* of a pick that must be one certain instance: whoever is free to go elsewhere does not wait for it
                    */
        c->reason = only && !strcmp(c->reason, "fixed_gone") ? "instance_gone" : note_text(v->machine, c->reason);
    free(copy);
    free(tried);
    return true;
}
