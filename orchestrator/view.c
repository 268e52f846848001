#include "orchestrator/view.h"

#include <string.h>

#include "core/base/duration.h"
#include "core/logic/time/schedule.h"

static const struct trigger_cursor *find_cursor(const struct store_triggers *store, const char *name)
{
    for (size_t i = 0; i < store->cursor_count; i++)
        if (!strcmp(store->cursors[i].trigger, name))
            return &store->cursors[i];
    return NULL;
}

static const struct trigger_state_row *find_state(const struct store_triggers *store, const char *name)
{
    for (size_t i = 0; i < store->state_count; i++)
        if (!strcmp(store->states[i].trigger, name))
            return &store->states[i];
    return NULL;
}

/* Open run of an instant of this trigger, in this state. */
static const struct run_row *find_open(const struct store_triggers *store, const char *name, enum run_state state)
{
    for (size_t i = 0; i < store->open_run_count; i++) {
        const struct run_row *run = &store->open_runs[i];
        if (run->state == state && !run->generation && run->trigger && !strcmp(run->trigger, name))
            return run;
    }
    return NULL;
}

static void find_next(struct trigger_view *view, const struct schedule *schedule, const struct trigger_cursor *cursor,
                      const struct trigger_state_row *state, instant now)
{
    const struct trigger_spec *spec = view->spec;
    struct schedule_memory memory = {cursor && cursor->version ? cursor->from : now, INSTANT_NONE};
    size_t most = spec->kind == TRIGGER_DELAY ? 1 : VIEW_NEXT; /* what follows depends on when the next one ends */
    instant after = now;
    if (state)
        memory.last_end = state->last_end;
    if (spec->max_fires && view->fires + (int64_t)most > spec->max_fires)
        most = spec->max_fires > view->fires ? (size_t)(spec->max_fires - view->fires) : 0;
    if (spec->kind == TRIGGER_DELAY && cursor)
        after = cursor->decided; /* an instant that is due this very moment is still to come */
    while (view->next_count < most) {
        instant next = schedule_next_fire(schedule, &memory, after);
        if (next.ms == INT64_MAX)
            return;
        view->next[view->next_count++] = after = next;
    }
}

static void view_trigger(struct catalog *catalog, const struct job_view *job, struct trigger_view *view)
{
    const struct store_triggers *store = &job->known;
    const struct trigger_cursor *cursor = find_cursor(store, view->spec->name);
    const struct trigger_state_row *state = find_state(store, view->spec->name);
    const struct job_spec *spec = &job->document->job;
    struct schedule *schedule = NULL;
    struct error err = {0};

    view->last = cursor ? cursor->decided : INSTANT_NONE;
    view->from = cursor ? cursor->from : INSTANT_NONE;
    view->fires = state ? state->fires : 0;
    view->paused = state && state->paused;
    bool bad = catalog_compile(catalog, spec->meta.project, spec->meta.name, view->spec, &schedule, &view->zone, NULL,
                               &err) != STATUS_OK;
    bool held = view->paused || job->row->paused || job->row->suspended;
    if (schedule && !held)
        find_next(view, schedule, cursor, state, catalog->call->now.wall);
    schedule_free(schedule);

    view->state = "waiting";
    if (bad || (state && state->error)) {
        view->state = "error";
        view->reason = arena_text(&catalog->call->arena, bad ? err.text : state->error);
    } else if (held) {
        view->state = "paused";
        view->reason = view->paused ? "trigger paused" : job->row->suspended ? "job suspended" : "job paused";
    } else if (find_open(store, view->spec->name, RUN_QUEUED)) {
        view->state = "blocked";
        view->reason = find_open(store, view->spec->name, RUN_QUEUED)->reason;
    } else if (view->spec->kind == TRIGGER_DELAY && find_open(store, view->spec->name, RUN_RUNNING)) {
        view->state = "running";
        view->next_count = 0;
    } else if (!view->next_count) {
        view->state = "complete";
        view->reason =
            view->spec->max_fires && view->fires >= view->spec->max_fires ? "max_fires reached" : "no further instant";
    }
}

static bool ask(struct call *call, struct store_op *op)
{
    if (call_store(call, op) == STATUS_OK || op->status == STATUS_NOT_FOUND)
        return true;
    problem_of_store(&call->problem, op);
    store_op_release(op);
    return false;
}

bool job_views_ask(struct call *call, const struct definition_row *rows, size_t count, struct store_op *ret)
{
    int64_t *ids = arena_array(&call->arena, int64_t, count + 1);
    store_op_init(ret, STORE_TRIGGERS);
    if (!ids)
        return call_fail(call, INTERNAL, NULL);
    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i].id;
    ret->triggers.jobs = ids;
    ret->triggers.job_count = count;
    return ask(call, ret);
}

static bool open_run_of(const struct store_triggers *store, int64_t run)
{
    for (size_t i = 0; i < store->open_run_count; i++)
        if (store->open_runs[i].id == run)
            return true;
    return false;
}

/* Of what is known of many jobs, the part of one. */
static bool pick(struct arena *arena, const struct store_triggers *all, int64_t job, struct store_triggers *ret)
{
    *ret = (struct store_triggers){.job = job};
    ret->cursors = arena_array(arena, struct trigger_cursor, all->cursor_count + 1);
    ret->states = arena_array(arena, struct trigger_state_row, all->state_count + 1);
    ret->open_runs = arena_array(arena, struct run_row, all->open_run_count + 1);
    ret->waiting = arena_array(arena, struct step_row, all->waiting_count + 1);
    ret->lingers = arena_array(arena, struct linger_row, all->linger_count + 1);
    if (!ret->cursors || !ret->states || !ret->open_runs || !ret->waiting || !ret->lingers)
        return false;
    for (size_t i = 0; i < all->linger_count; i++)
        if (all->lingers[i].job == job)
            ret->lingers[ret->linger_count++] = all->lingers[i];
    for (size_t i = 0; i < all->cursor_count; i++)
        if (all->cursors[i].job == job)
            ret->cursors[ret->cursor_count++] = all->cursors[i];
    for (size_t i = 0; i < all->state_count; i++)
        if (all->states[i].job == job)
            ret->states[ret->state_count++] = all->states[i];
    for (size_t i = 0; i < all->open_run_count; i++)
        if (all->open_runs[i].job == job)
            ret->open_runs[ret->open_run_count++] = all->open_runs[i];
    for (size_t i = 0; i < all->waiting_count; i++)
        if (open_run_of(ret, all->waiting[i].run))
            ret->waiting[ret->waiting_count++] = all->waiting[i];
    return true;
}

static bool view_open(struct catalog *catalog, const struct definition_row *row, struct job_view *ret);

bool job_view_open(struct catalog *catalog, const struct definition_row *row, struct job_view *ret)
{
    *ret = (struct job_view){.row = row, .next_at = INSTANT_NONE};
    store_op_init(&ret->op, STORE_TRIGGERS);
    ret->op.triggers.job = row->id;
    if (!ask(catalog->call, &ret->op))
        return false;
    ret->known = ret->op.triggers;
    return view_open(catalog, row, ret);
}

bool job_view_open_of(struct catalog *catalog, const struct store_op *asked, const struct definition_row *row,
                      struct job_view *ret)
{
    *ret = (struct job_view){.row = row, .next_at = INSTANT_NONE};
    store_op_init(&ret->op, STORE_TRIGGERS); /* holds the part that is picked */
    if (pick(&ret->op.arena, &asked->triggers, row->id, &ret->known))
        return view_open(catalog, row, ret);
    job_view_release(ret);
    return call_fail(catalog->call, INTERNAL, NULL);
}

static bool view_open(struct catalog *catalog, const struct definition_row *row, struct job_view *ret)
{
    struct faults faults;
    faults_init(&faults);
    ret->document = document_parse(row->json, strlen(row->json), DOCUMENT_JOB, &faults);
    faults_release(&faults);
    if (!ret->document)
        return true;
    const struct job_spec *job = &ret->document->job;
    ret->triggers = mem_alloc((job->trigger_count + 1) * sizeof *ret->triggers);
    ret->trigger_count = job->trigger_count;
    for (size_t i = 0; i < job->trigger_count; i++) {
        struct trigger_view *view = &ret->triggers[i];
        view->spec = &job->triggers[i];
        view_trigger(catalog, ret, view);
        if (view->next_count && (instant_is_none(ret->next_at) || instant_cmp(view->next[0], ret->next_at) < 0))
            ret->next_at = view->next[0];
    }
    if (!catalog->failed)
        return true;
    job_view_release(ret);
    return false;
}

void job_view_release(struct job_view *view)
{
    document_free(view->document);
    free(view->triggers);
    store_op_release(&view->op);
    view->document = NULL;
    view->triggers = NULL;
}

const char *job_state_text(const struct definition_row *row)
{
    return row->suspended ? "suspended" : row->paused ? "paused" : "active";
}

static void write_schedule(const struct trigger_spec *spec, struct out *out)
{
    switch (spec->kind) {
    case TRIGGER_CRON:
        out_text(out, "schedule", spec->cron);
        return;
    case TRIGGER_EVERY:
    case TRIGGER_DELAY:
        out_span(out, "schedule", spec->period);
        return;
    case TRIGGER_AT:
        out_time(out, "schedule", spec->at);
        return;
    }
}

static void write_trigger(const struct trigger_view *view, bool explain, struct out *out)
{
    out_open(out, NULL, '{');
    out_text(out, "name", view->spec->name);
    out_text(out, "kind", trigger_kind_text(view->spec->kind));
    write_schedule(view->spec, out);
    out_text(out, "zone", view->zone);
    out_text(out, "misfire", misfire_policy_text(view->spec->misfire));
    out_text(out, "state", view->state);
    out_text(out, "reason", view->reason);
    out_bool(out, "paused", view->paused);
    out_open(out, "next", '[');
    for (size_t i = 0; i < view->next_count; i++)
        out_time(out, NULL, view->next[i]);
    out_close(out, ']');
    if (explain) {
        out_time(out, "last", view->last);
        out_time(out, "from", view->from);
        out_int(out, "fires", view->fires);
    }
    out_close(out, '}');
}

static void write_triggers(const struct job_view *view, bool explain, struct out *out)
{
    out_open(out, "triggers", '[');
    for (size_t i = 0; i < view->trigger_count; i++)
        write_trigger(&view->triggers[i], explain, out);
    out_close(out, ']');
}

void job_view_write(struct call *call, const struct job_view *view, struct out *out)
{
    const struct definition_row *row = view->row;
    out_open(out, NULL, '{');
    out_text(out, "name", row->name);
    out_text(out, "project", row->project);
    out_int(out, "version", row->version);
    out_text(out, "state", job_state_text(row));
    out_bool(out, "paused", row->paused);
    out_text(out, "description", view->document ? view->document->job.meta.description : NULL);
    out_text(out, "owner_node", row->owner_node);
    out_time(out, "owner_since", row->owner_node ? row->owner_since : INSTANT_NONE);
    out_int(out, "slot", row->slot);
    write_triggers(view, false, out);
    out_int(out, "running", row->running);
    out_key(out, "last_run");
    if (row->last_run) {
        struct out inner = out_to(out->to);
        run_write(call, row->last_run, row->name, row->project, false, &inner);
    } else {
        str_add(out->to, "null");
    }
    out_time(out, "next_at", view->next_at);
    out_time(out, "created_at", row->first_created_at);
    out_time(out, "updated_at", row->created_at);
    out_text(out, "author", row->author);
    out_text(out, "source", row->source);
    out_close(out, '}');
}

static void write_waiting(const struct job_view *view, struct out *out)
{
    const struct store_triggers *store = &view->known;
    out_open(out, "waiting", '[');
    for (size_t i = 0; i < store->open_run_count; i++) {
        const struct run_row *run = &store->open_runs[i];
        if (run->state != RUN_QUEUED)
            continue;
        out_open(out, NULL, '{');
        out_id(out, "run", run->id);
        out_text(out, "step", NULL);
        out_text(out, "reason", run->reason ? run->reason : "queued");
        out_time(out, "since", run->fired_at);
        out_time(out, "due", run->due_at);
        out_close(out, '}');
    }
    for (size_t i = 0; i < store->waiting_count; i++) {
        const struct step_row *step = &store->waiting[i];
        out_open(out, NULL, '{');
        out_id(out, "run", step->run);
        out_text(out, "step", step->step);
        if (step->item)
            out_int(out, "item", step->item);
        out_text(out, "reason", step->reason);
        out_time(out, "since", step->since);
        out_time(out, "due", step->due);
        out_close(out, '}');
    }
    out_close(out, ']');
}

void job_view_explain(struct call *call, const struct job_view *view, struct out *out)
{
    const struct definition_row *row = view->row;
    const struct store_triggers *store = &view->known;
    out_open(out, NULL, '{');
    out_text(out, "job", row->name);
    out_text(out, "project", row->project);
    out_int(out, "version", row->version);
    out_text(out, "state", job_state_text(row));
    out_open(out, "owner", '{');
    out_text(out, "node", row->owner_node);
    out_id(out, "boot", row->owner_boot);
    out_int(out, "slot", row->slot);
    out_time(out, "since", row->owner_node ? row->owner_since : INSTANT_NONE);
    out_close(out, '}');
    write_triggers(view, true, out);
    write_waiting(view, out);
    out_open(out, "running", '[');
    for (size_t i = 0; i < store->open_run_count; i++)
        if (store->open_runs[i].state == RUN_RUNNING)
            run_write(call, &store->open_runs[i], row->name, row->project, false, out);
    out_close(out, ']');
    out_open(out, "lingering", '[');
    for (size_t i = 0; i < store->linger_count; i++) {
        const struct linger_row *linger = &store->lingers[i];
        out_open(out, NULL, '{');
        out_id(out, "run", linger->run);
        out_text(out, "step", linger->step);
        out_text(out, "instance", linger->instance);
        out_time(out, "until", linger->until);
        out_close(out, '}');
    }
    out_close(out, ']');
    out_close(out, '}');
}

/* ---- what a resume would fire ---- */

static void write_missed(const struct trigger_view *view, const struct misfire_plan *plan, struct out *out)
{
    if (!plan->run_count)
        return;
    out_open(out, NULL, '{');
    out_text(out, "trigger", view->spec->name);
    out_int(out, "count", (int64_t)plan->run_count);
    out_time(out, "first", plan->runs[0].at);
    out_time(out, "last", plan->runs[plan->run_count - 1].at);
    out_close(out, '}');
}

static int64_t decide_missed(struct catalog *catalog, const struct job_view *view, const struct trigger_view *trigger,
                             struct out *out)
{
    const struct store_triggers *store = &view->known;
    const struct trigger_spec *spec = trigger->spec;
    const struct trigger_state_row *state = find_state(store, spec->name);
    const struct settings *settings = catalog->call->o->options.settings;
    struct misfire_options options = {.policy = spec->misfire,
                                      .max = spec->misfire_max,
                                      .threshold = spec->misfire_threshold,
                                      .max_age = spec->max_age,
                                      .resume = true};
    struct schedule *schedule = NULL;
    struct misfire_plan plan = {0};
    const char *zone;
    int64_t count = 0;
    instant after = trigger->last;
    if (options.threshold < 0)
        options.threshold = settings->scheduler.misfire_threshold;
    if (state && !instant_is_none(state->paused_since))
        after = instant_add(state->paused_since, -1);
    if (spec->kind == TRIGGER_DELAY || instant_is_none(after))
        return 0; /* a delay is counted from its last end: it holds nothing back */
    if (catalog_compile(catalog, view->row->project, view->row->name, spec, &schedule, &zone, NULL, NULL) ==
            STATUS_OK &&
        misfire_decide(schedule, after, catalog->call->now.wall, &options, &plan) == STATUS_OK) {
        write_missed(trigger, &plan, out);
        count = (int64_t)plan.run_count;
        misfire_plan_release(&plan);
    }
    schedule_free(schedule);
    return count;
}

int64_t job_view_missed(struct catalog *catalog, const struct job_view *view, const char *trigger, struct out *out)
{
    int64_t count = 0;
    for (size_t i = 0; i < view->trigger_count; i++) {
        const struct trigger_view *one = &view->triggers[i];
        bool concerned = trigger ? !strcmp(one->spec->name, trigger) && one->paused && !view->row->paused
                                 : view->row->paused && !one->paused;
        if (concerned)
            count += decide_missed(catalog, view, one, out);
    }
    return count;
}
