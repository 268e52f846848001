/* Fans: broadcast, shard and map steps. One list, made when the step begins and recorded in its row; one call an item,
 * each with policies of its own; the step ends when its items have. */
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/logic/run/plan.h"

/* ---- the list --------------------------------------------------------------------------------------------------- */

static void say_list(struct view *v, struct str *list)
{
    const char *text = str_status(list) ? NULL : note_text(v->machine, str_text(list));
    if (!text)
        plan_wait(v, REASON_LIMIT, INSTANT_NONE, instant_add(v->now, POLL_MIN)); /* out of memory: later */
    else
        *v->plan = (struct plan){.kind = PLAN_FAN, .list = text};
}

/* Live ones; what is set aside for the moment is live, too. */
static size_t live_instances(const struct view *v, const struct route_instance *instances, size_t count,
                             const char **ret)
{
    size_t live = 0;
    for (size_t i = 0; i < count; i++)
        if (instances[i].usable || instances[i].full || instances[i].aside)
            ret[live++] = instances[i].address;
    return v->spec->routing == ROUTE_BROADCAST && live > LIMIT_ITEMS ? LIMIT_ITEMS : live;
}

static void list_instances(struct view *v)
{
    const struct route_instance *instances = NULL;
    size_t count = v->world->instances(v->world->context, v->run->job->meta.project, v->spec, &instances);
    const char **live = calloc(count + 1, sizeof *live);
    struct str list;
    str_init(&list, LIMIT_ITEMS * (LIMIT_NAME * 2 + 16));
    size_t live_count = live ? live_instances(v, instances, count, live) : 0;
    if (!live_count) {
        free(live);
        plan_wait_for_place(v, "no_instance");
        return;
    }
    bool shard = v->spec->routing == ROUTE_SHARD;
    size_t items = shard && v->spec->shards > 0 ? (size_t)v->spec->shards : live_count;
    size_t first = shard && v->world->cursor ? v->world->cursor(v->world->context, v->run->job->meta.project,
                                                                v->spec->application, v->spec->task)
                                             : 0;
    for (size_t i = 0; i < items; i++) {
        str_add_char(&list, i ? ',' : '[');
        str_add_json(&list, live[(first + i) % live_count]);
    }
    str_add_char(&list, ']');
    say_list(v, &list);
    str_release(&list);
    free(live);
}

static void list_values(struct view *v)
{
    struct render_scope scope;
    struct template_context context;
    struct error err = {STATUS_OK, "out of memory"};
    struct str list;
    str_init(&list, LIMIT_REQUEST);
    enum status status = render_scope_begin(&scope, v->run, v->machine->assumed, v->step, v->world, &context);
    if (!status)
        status = template_render_json(v->spec->map, &context, &list, &err);
    render_scope_end(&scope);
    struct slice value = slice_of(str_text(&list), list.length);
    if (status == STATUS_TOO_BIG)
        plan_end(v, failure_state(v->spec),
                 note_textf(v->machine, "map: the list is longer than %zu bytes", LIMIT_REQUEST));
    else if (status)
        plan_end(v, failure_state(v->spec), note_textf(v->machine, "map: %s", err.text));
    else if (json_type_of(value) != JSON_ARRAY)
        plan_end(v, failure_state(v->spec),
                 note_textf(v->machine, "map: a list is needed, but this is %.60s", str_text(&list)));
    else if (json_count(value) > LIMIT_ITEMS)
        plan_end(v, failure_state(v->spec),
                 note_textf(v->machine, "map: the list has %zu items; at most %d are allowed", json_count(value),
                            LIMIT_ITEMS));
    else
        say_list(v, &list);
    str_release(&list);
}

void plan_fan(const struct run *run, const struct run_step *step, struct moment now, const struct run_world *world,
              struct plan *ret)
{
    struct view v = view_of(run, step, now, world, ret);
    bool known = call_of(run, v.spec, world, &v.call);
    if (!known)
        v.call = call_spec_resolve(NULL, v.spec);
    if (v.spec->kind == STEP_MAP)
        list_values(&v);
    else if (!known)
        plan_wait_for_place(&v, REASON_TASK_GONE);
    else
        list_instances(&v);
}

const char *item_instance(const struct run *run, const struct run_step *step)
{
    struct str address;
    if (!step->item || step->spec->kind == STEP_MAP)
        return NULL;
    str_init(&address, LIMIT_NAME * 4);
    json_unquote(item_value(&run->steps[step->index], step->item), &address);
    const char *text = note_text(machine_of(run), str_text(&address));
    str_release(&address);
    return text;
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static bool item_failed(const struct run_step *item)
{
    return item->state == STEP_FAILED || item->state == STEP_UNKNOWN || item->state == STEP_CANCELED;
}

static size_t tolerated(const struct run_step *fan)
{
    size_t tolerate = fan->spec->tolerate > 0 ? (size_t)fan->spec->tolerate : 0;
    return fan->spec->tolerate_share ? fan->item_count * tolerate / 100 : tolerate;
}

struct fan_count fan_count(const struct run_step *fan)
{
    struct fan_count count = {0};
    for (size_t i = 0; i < fan->item_count; i++) {
        const struct run_step *item = &fan->items[i];
        bool ended = step_state_terminal(item->state);
        count.ended += ended;
        count.failed += ended && item_failed(item);
        count.open += !ended && (item->reason || item->calls.attempt_count);
    }
    count.hopeless = fan->spec->kind == STEP_MAP && count.failed > tolerated(fan);
    return count;
}

const struct run_step *deciding_item(const struct run_step *step)
{
    const struct run_step *found = NULL;
    for (size_t i = 0; i < step->item_count; i++) {
        const struct run_step *item = &step->items[i];
        if (item_failed(item) && (!found || (found->state != STEP_UNKNOWN && item->state == STEP_UNKNOWN)))
            found = item;
    }
    return found ? found : step;
}

static void add_results(struct machine *machine, const struct run_step *fan, struct plan *plan)
{
    struct str list;
    str_init(&list, LIMIT_RESULT);
    str_add_char(&list, '[');
    for (size_t i = 0; i < fan->item_count; i++) {
        const struct run_step *item = &fan->items[i];
        if (i)
            str_add_char(&list, ',');
        str_add(&list, item->state == STEP_SUCCEEDED && item->result ? item->result : "null");
    }
    str_add_char(&list, ']');
    if (str_status(&list) == STATUS_OK)
        plan->result = note_text(machine, str_text(&list));
    else
        plan->error = note_text(machine, "the results are longer than 64 KiB together: successors read null");
    str_release(&list);
}

void fan_conclude(const struct run *run, const struct run_step *fan, struct plan *ret)
{
    struct machine *machine = machine_of(run);
    struct fan_count count = fan_count(fan);
    size_t allowed = tolerated(fan);
    *ret = (struct plan){.kind = PLAN_END, .state = STEP_SUCCEEDED};
    if (count.failed <= allowed) {
        if (count.failed)
            ret->error =
                note_textf(machine, "%zu of %zu items failed; %zu may", count.failed, fan->item_count, allowed);
        add_results(machine, fan, ret);
        return;
    }
    const struct run_step *item = deciding_item(fan);
    const struct attempt_row *last = last_attempt(item);
    const char *why = item->error ? item->error : last && last->error ? last->error : step_state_text(item->state);
    ret->state = failure_state(fan->spec);
    if (ret->state == STEP_FAILED && item->state == STEP_UNKNOWN)
        ret->state = STEP_UNKNOWN;
    ret->error = note_textf(machine, "%zu of %zu items failed, %zu may; item %d%s%.200s: %.200s", count.failed,
                            fan->item_count, allowed, (int)item->item, last && last->instance ? " at " : "",
                            last && last->instance ? last->instance : "", why);
}
