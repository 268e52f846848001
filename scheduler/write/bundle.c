/* Bundles: rows that commit together. A bundle owns copies of all texts, so runs and jobs may change while it waits. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/write/write.h"

#define BUNDLE_ARENA_MAX ((size_t)64 << 20)

struct bundle *bundle_new(struct scheduler *s)
{
    struct bundle *bundle = mem_new(struct bundle);
    arena_init(&bundle->arena, BUNDLE_ARENA_MAX);
    bundle->made = s->now.mono;
    return bundle;
}

void bundle_free(struct scheduler *s, struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->fired.count; i++)
        run_unref(s, bundle->fired.items[i]);
    for (size_t i = 0; i < bundle->left.count; i++)
        run_unref(s, bundle->left.items[i]);
    if (bundle->run)
        run_unref(s, bundle->run);
    vec_release(&bundle->activations);
    vec_release(&bundle->skips);
    vec_release(&bundle->states);
    vec_release(&bundle->fires);
    vec_release(&bundle->fired);
    vec_release(&bundle->runs);
    vec_release(&bundle->steps);
    vec_release(&bundle->attempts);
    vec_release(&bundle->closing);
    vec_release(&bundle->reports);
    vec_release(&bundle->suspended);
    vec_release(&bundle->moves);
    vec_release(&bundle->lingers);
    vec_release(&bundle->notices);
    for (size_t i = 0; i < bundle->tells.count; i++)
        notice_free(bundle->tells.items[i]);
    vec_release(&bundle->tells);
    vec_release(&bundle->wishes);
    vec_release(&bundle->left);
    vec_release(&bundle->sends);
    vec_release(&bundle->requests);
    arena_release(&bundle->arena);
    free(bundle);
}

size_t bundle_rows(const struct bundle *b)
{
    return b->activations.count + b->skips.count + b->states.count + b->fires.count + b->runs.count + b->steps.count +
           b->attempts.count + b->closing.count + b->reports.count + b->suspended.count + b->lingers.count +
           b->wishes.count + b->left.count + b->moves.count + b->notices.count;
}

static const char *keep(struct arena *arena, const char *text)
{
    if (!text)
        return NULL;
    char *copy = arena_text(arena, text);
    return copy ? copy : "";
}

struct run_row run_row_copy(struct arena *arena, const struct run_row *row)
{
    struct run_row copy = *row;
    copy.trigger = keep(arena, row->trigger);
    copy.reason = keep(arena, row->reason);
    copy.error_code = keep(arena, row->error_code);
    copy.error_args = keep(arena, row->error_args);
    copy.node = keep(arena, row->node);
    copy.zone = keep(arena, row->zone);
    copy.params = keep(arena, row->params);
    copy.start = keep(arena, row->start);
    return copy;
}

struct step_row step_row_copy(struct arena *arena, const struct step_row *row)
{
    struct step_row copy = *row;
    copy.step = keep(arena, row->step);
    copy.reason = keep(arena, row->reason);
    copy.result = keep(arena, row->result);
    copy.error = keep(arena, row->error);
    copy.items = keep(arena, row->items);
    return copy;
}

struct attempt_row attempt_row_copy(struct arena *arena, const struct attempt_row *row)
{
    struct attempt_row copy = *row;
    copy.step = keep(arena, row->step);
    copy.instance = keep(arena, row->instance);
    copy.node = keep(arena, row->node);
    copy.error = keep(arena, row->error);
    copy.code = keep(arena, row->code);
    copy.request = keep(arena, row->request);
    copy.response = keep(arena, row->response);
    copy.result = keep(arena, row->result);
    copy.notice_to = keep(arena, row->notice_to);
    return copy;
}

void bundle_fire(struct bundle *bundle, struct open_run *run)
{
    struct store_fire *fire = vec_push(&bundle->fires);
    fire->run = run_row_copy(&bundle->arena, &run->run->row);
    run_ref(run);
    vec_add(&bundle->fired, run);
}

void bundle_left(struct bundle *bundle, struct open_run *run)
{
    run_ref(run);
    vec_add(&bundle->left, run);
}

void bundle_run(struct bundle *bundle, const struct run_row *row)
{
    /* The newest state of a run is the only one that counts within a bundle. */
    for (size_t i = 0; i < bundle->runs.count; i++)
        if (bundle->runs.items[i].id == row->id) {
            bundle->runs.items[i] = run_row_copy(&bundle->arena, row);
            return;
        }
    vec_add(&bundle->runs, run_row_copy(&bundle->arena, row));
}

void bundle_wish(struct scheduler *s, struct bundle *bundle, const struct request_row *wish)
{
    struct request_row *row = vec_push(&bundle->wishes);
    *row = *wish;
    row->id = run_id_make(day_of(s->now.wall), s->boot, ++s->sequence);
    row->scheduled_at = row->due_at = INSTANT_NONE;
    row->created_at = s->now.wall;
    row->reason = keep(&bundle->arena, wish->reason);
}

void bundle_linger(struct bundle *bundle, const struct linger_row *row)
{
    struct linger_row *copy = vec_push(&bundle->lingers);
    *copy = *row;
    copy->step = keep(&bundle->arena, row->step);
    copy->application = keep(&bundle->arena, row->application);
    copy->instance = keep(&bundle->arena, row->instance);
    copy->notice_to = keep(&bundle->arena, row->notice_to);
}

void bundle_notice(struct bundle *bundle, const struct attempt_row *attempt, enum notice_state state)
{
    struct store_notice *row = vec_push(&bundle->notices);
    *row = (struct store_notice){.run = attempt->run,
                                 .step = keep(&bundle->arena, attempt->step),
                                 .item = attempt->item,
                                 .n = attempt->n,
                                 .state = state};
}

void bundle_step(struct bundle *bundle, const struct step_row *row)
{
    for (size_t i = 0; i < bundle->steps.count; i++) {
        struct step_row *old = &bundle->steps.items[i];
        if (old->run == row->run && old->item == row->item && strcmp(old->step, row->step) == 0) {
            *old = step_row_copy(&bundle->arena, row);
            return;
        }
    }
    vec_add(&bundle->steps, step_row_copy(&bundle->arena, row));
}

void bundle_attempt(struct bundle *bundle, const struct attempt_row *row)
{
    for (size_t i = 0; i < bundle->attempts.count; i++) {
        struct attempt_row *old = &bundle->attempts.items[i];
        if (old->run == row->run && old->n == row->n && old->item == row->item && strcmp(old->step, row->step) == 0) {
            *old = attempt_row_copy(&bundle->arena, row);
            return;
        }
    }
    vec_add(&bundle->attempts, attempt_row_copy(&bundle->arena, row));
}

void bundle_skip(struct scheduler *s, struct bundle *bundle, const struct trigger *trigger, instant from, instant to,
                 int64_t count_of, const char *reason)
{
    if (s->options.break_skip && strcmp(reason, "overlap") == 0)
        return; /* mutation: the simulation must notice that an instant has no outcome */
    struct store_skip *skip = vec_push(&bundle->skips);
    skip->row = (struct skip_row){
        .job = trigger->job->id,
        .trigger = keep(&bundle->arena, trigger->spec->name),
        .from = from,
        .to = to,
        .count = count_of,
        .reason = keep(&bundle->arena, reason),
        .slot = trigger->job->slot,
    };
    count(&s->metrics.skips, count_of);
}

static void put_state(struct bundle *bundle, const struct trigger_state_row *row)
{
    for (size_t i = 0; i < bundle->states.count; i++)
        if (strcmp(bundle->states.items[i].row.trigger, row->trigger) == 0 &&
            bundle->states.items[i].row.job == row->job) {
            bundle->states.items[i].row = *row;
            return;
        }
    struct store_trigger_state *state = vec_push(&bundle->states);
    state->row = *row;
}

void bundle_state(struct bundle *bundle, const struct trigger *trigger)
{
    struct trigger_state_row row = {
        .job = trigger->job->id,
        .trigger = keep(&bundle->arena, trigger->spec->name),
        .slot = trigger->job->slot,
        .fires = trigger->fires,
        .last_end = trigger->last_end,
        .paused = trigger->paused,
        .job_paused = trigger->job->paused,
        .paused_since = trigger->paused || trigger->job->paused ? trigger->paused_since : INSTANT_NONE,
        .error = keep(&bundle->arena, trigger->error),
    };
    put_state(bundle, &row);
}

void bundle_job_state(struct bundle *bundle, const struct job *job, instant since)
{
    put_state(bundle, &(struct trigger_state_row){.job = job->id,
                                                  .trigger = "",
                                                  .slot = job->slot,
                                                  .last_end = INSTANT_NONE,
                                                  .job_paused = job->paused,
                                                  .paused_since = since});
}

void bundle_activation(struct bundle *bundle, const struct job *job, const char *trigger, int64_t version,
                       enum activation_kind kind, instant from)
{
    struct store_activation *activation = vec_push(&bundle->activations);
    activation->row = (struct activation_row){
        .job = job->id,
        .version = version,
        .trigger = keep(&bundle->arena, trigger ? trigger : ""),
        .kind = kind,
        .from = from,
        .slot = job->slot,
    };
}

void bundle_move(struct bundle *bundle, const struct job *job, const char *pool, const char *node)
{
    struct store_move move = {.row = {.job = job->id,
                                      .slot = job->slot,
                                      .pool = arena_text(&bundle->arena, pool),
                                      .node = arena_text(&bundle->arena, node)}};
    vec_add(&bundle->moves, move);
}

void bundle_request(struct bundle *bundle, int64_t id, const char *outcome)
{
    struct request_done done = {.id = id, .outcome = keep(&bundle->arena, outcome)};
    vec_add(&bundle->requests, done);
}

void bundle_report(struct bundle *bundle, int64_t id, const char *outcome)
{
    struct request_done done = {.id = id, .outcome = outcome};
    vec_add(&bundle->reports, done);
}

void bundle_put(struct scheduler *s, struct bundle *bundle, bool lazy)
{
    size_t rows = bundle_rows(bundle);
    if (rows == 0 && bundle->requests.count > 0) { /* nothing to wait for: close them at once */
        for (size_t i = 0; i < bundle->requests.count; i++)
            vec_add(&bundle->closing, bundle->requests.items[i]);
        vec_clear(&bundle->requests);
        rows = bundle_rows(bundle);
    }
    if (rows == 0) {
        assert(bundle->sends.count == 0);
        bundle_free(s, bundle);
        return;
    }
    bundle->next = NULL;
    bundle->lazy = lazy;
    bundle->made = s->now.mono;
    *s->queue_tail = bundle;
    s->queue_tail = &bundle->next;
    s->queue_rows += rows;
    s->queue_bytes += bundle->arena.used;
    s->queue_fires += bundle->fires.count;
    if (!lazy)
        s->urgent = true;
}
