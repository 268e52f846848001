/* The store of the test world: rows in vectors, fences as data-model.md §1 wants them. */
#include <stdlib.h>
#include <string.h>

#include "tests/scheduler/world.h"

#define CURSORS_MOST 64 /* triggers of one job */

static const char *keep(struct world *w, const char *text)
{
    return arena_text(&w->memory, text);
}

static struct run_row keep_run(struct world *w, struct run_row row)
{
    row.trigger = keep(w, row.trigger);
    row.reason = keep(w, row.reason);
    row.error_code = keep(w, row.error_code);
    row.error_args = keep(w, row.error_args);
    row.node = keep(w, row.node);
    row.zone = keep(w, row.zone);
    row.params = keep(w, row.params);
    row.start = keep(w, row.start);
    return row;
}

static struct world_boot *boot_find(struct world *w, int64_t boot)
{
    for (size_t i = 0; i < w->boots.count; i++)
        if (w->boots.items[i].boot == boot)
            return &w->boots.items[i];
    return NULL;
}

static bool owns(const struct world *w, int64_t boot, int32_t slot)
{
    return slot >= 0 && slot < WORLD_SLOTS && w->slots[slot].owner == boot;
}

/* ---- batch ---------------------------------------------------------------------------------------------------------
 */

static bool run_exists(const struct world *w, const struct run_row *row)
{
    for (size_t i = 0; i < w->runs.count; i++) {
        const struct run_row *old = &w->runs.items[i];
        if (old->id == row->id ||
            (old->job == row->job && old->generation == row->generation &&
             instant_cmp(old->scheduled_at, row->scheduled_at) == 0 && strcmp(old->trigger, row->trigger) == 0))
            return true;
    }
    return false;
}

static void add_wish(struct world *w, const struct request_row *wish)
{
    struct request_row row = *wish;
    row.reason = keep(w, row.reason);
    row.scheduled_at = INSTANT_NONE;
    row.created_at = w->now.wall;
    row.outcome = NULL;
    for (size_t i = 0; i < w->requests.count; i++)
        if (w->requests.items[i].id == row.id)
            return;
    vec_add(&w->requests, row);
}

static void note_notice(struct world *w, const struct store_notice *notice)
{
    for (size_t i = 0; i < w->attempts.count; i++) {
        struct attempt_row *row = &w->attempts.items[i];
        if (row->run == notice->run && row->item == notice->item && row->n == notice->n &&
            strcmp(row->step, notice->step) == 0)
            row->notice = notice->state;
    }
    for (size_t i = 0; i < w->lingers.count && notice->state != NOTICE_DUE; i++) {
        struct linger_row *row = &w->lingers.items[i];
        if (row->run == notice->run && row->item == notice->item && row->n == notice->n &&
            strcmp(row->step, notice->step) == 0)
            row->notice_to = NULL;
    }
}

static void write_after(struct world *w, const struct store_batch *b)
{
    for (size_t i = 0; i < b->linger_count; i++) {
        struct linger_row row = b->lingers[i];
        row.step = keep(w, row.step);
        row.application = keep(w, row.application);
        row.instance = keep(w, row.instance);
        row.notice_to = keep(w, row.notice_to);
        vec_add(&w->lingers, row);
    }
    for (size_t i = 0; i < b->notice_count; i++)
        note_notice(w, &b->notices[i]);
    for (size_t i = 0; i < b->wish_count; i++)
        if (b->wishes[i].kind != REQUEST_CANCEL || owns(w, b->boot, b->wishes[i].slot))
            add_wish(w, &b->wishes[i]);
}

static void write_fences(struct world *w, const struct store_batch *b)
{
    for (size_t i = 0; i < b->activation_count; i++) {
        struct activation_row row = b->activations[i].row;
        b->activations[i].outcome = owns(w, b->boot, row.slot) ? OUTCOME_DONE : OUTCOME_SLOT_LOST;
        row.trigger = keep(w, row.trigger);
        if (b->activations[i].outcome == OUTCOME_DONE)
            vec_add(&w->activations, row);
    }
    for (size_t i = 0; i < b->skip_count; i++) {
        struct skip_row row = b->skips[i].row;
        b->skips[i].outcome = owns(w, b->boot, row.slot) ? OUTCOME_DONE : OUTCOME_SLOT_LOST;
        row.trigger = keep(w, row.trigger);
        row.reason = keep(w, row.reason);
        if (b->skips[i].outcome == OUTCOME_DONE)
            vec_add(&w->skips, row);
    }
    for (size_t i = 0; i < b->state_count; i++) {
        struct trigger_state_row row = b->states[i].row;
        b->states[i].outcome = owns(w, b->boot, row.slot) ? OUTCOME_DONE : OUTCOME_SLOT_LOST;
        if (b->states[i].outcome != OUTCOME_DONE)
            continue;
        row.trigger = keep(w, row.trigger);
        row.error = keep(w, row.error);
        size_t k = 0;
        while (k < w->states.count &&
               (w->states.items[k].job != row.job || strcmp(w->states.items[k].trigger, row.trigger) != 0))
            k++;
        if (k == w->states.count)
            (void)vec_push(&w->states);
        w->states.items[k] = row;
    }
    for (size_t i = 0; i < b->fire_count; i++) {
        const struct run_row *row = &b->fires[i].run;
        b->fires[i].outcome = !owns(w, b->boot, row->slot) ? OUTCOME_SLOT_LOST
                              : run_exists(w, row)         ? OUTCOME_EXISTS
                                                           : OUTCOME_DONE;
        if (b->fires[i].outcome == OUTCOME_DONE)
            vec_add(&w->runs, keep_run(w, *row));
        if (b->fires[i].outcome != OUTCOME_SLOT_LOST || row->origin != ORIGIN_RETRY)
            continue;
        b->fires[i].outcome = OUTCOME_DEFERRED;
        add_wish(w, &(struct request_row){.id = row->id,
                                          .kind = REQUEST_RETRY,
                                          .job = row->job,
                                          .slot = row->slot,
                                          .run = row->retry_of,
                                          .due_at = row->due_at});
    }
}

static void write_rows(struct world *w, const struct store_batch *b)
{
    for (size_t i = 0; i < b->run_count; i++)
        for (size_t k = 0; k < w->runs.count; k++)
            if (w->runs.items[k].id == b->runs[i].id)
                w->runs.items[k] = keep_run(w, b->runs[i]);
    for (size_t i = 0; i < b->step_count; i++) {
        struct step_row row = b->steps[i];
        row.step = keep(w, row.step);
        row.reason = keep(w, row.reason);
        row.result = keep(w, row.result);
        row.error = keep(w, row.error);
        row.items = keep(w, row.items);
        size_t k = 0;
        while (k < w->steps.count && (w->steps.items[k].run != row.run || w->steps.items[k].item != row.item ||
                                      strcmp(w->steps.items[k].step, row.step) != 0))
            k++;
        if (k == w->steps.count)
            (void)vec_push(&w->steps);
        w->steps.items[k] = row;
    }
    for (size_t i = 0; i < b->attempt_count; i++) {
        struct attempt_row row = b->attempts[i];
        row.step = keep(w, row.step);
        row.instance = keep(w, row.instance);
        row.node = keep(w, row.node);
        row.error = keep(w, row.error);
        row.code = keep(w, row.code);
        row.request = keep(w, row.request);
        row.response = keep(w, row.response);
        row.result = keep(w, row.result);
        row.notice_to = keep(w, row.notice_to);
        row.notice = NOTICE_NONE;
        size_t k = 0;
        while (k < w->attempts.count &&
               (w->attempts.items[k].run != row.run || w->attempts.items[k].n != row.n ||
                w->attempts.items[k].item != row.item || strcmp(w->attempts.items[k].step, row.step) != 0))
            k++;
        if (k == w->attempts.count)
            (void)vec_push(&w->attempts);
        else
            row.notice = w->attempts.items[k].notice;
        w->attempts.items[k] = row;
    }
    for (size_t i = 0; i < b->left_count; i++)
        for (size_t k = 0; k < w->runs.count; k++)
            if (w->runs.items[k].id == b->left[i] && w->runs.items[k].boot == b->boot &&
                w->runs.items[k].state == RUN_QUEUED)
                w->runs.items[k].boot = 0;
    for (size_t i = 0; i < b->request_count; i++)
        for (size_t k = 0; k < w->requests.count; k++)
            if (w->requests.items[k].id == b->requests[i].id)
                w->requests.items[k].outcome = keep(w, b->requests[i].outcome);
    for (size_t i = 0; i < b->report_count; i++)
        for (size_t k = 0; k < w->reports.count; k++)
            if (w->reports.items[k].row.id == b->reports[i].id) {
                if (!w->reports.items[k].outcome)
                    w->reports.items[k].outcome = keep(w, b->reports[i].outcome);
                w->reports.items[k].closed++;
            }
    for (size_t i = 0; i < b->move_count; i++)
        b->moves[i].outcome = owns(w, b->boot, b->moves[i].row.slot) ? OUTCOME_EXISTS : OUTCOME_SLOT_LOST; /* no room */
    for (size_t i = 0; i < b->suspended_count; i++)
        vec_add(&w->suspended, b->suspended_jobs[i]);
}

static enum status batch(struct world *w, struct store_batch *b)
{
    if (w->fail_batches > 0 && !w->fail_commits) {
        w->fail_batches--;
        return w->fail_status;
    }
    struct world_boot *boot = boot_find(w, b->boot);
    if (!boot || boot->fenced)
        return STATUS_FENCED;
    if (b->number != boot->batch + 1)
        abort(); /* every batch is numbered one higher */
    boot->batch = b->number;
    w->batches++;
    write_fences(w, b);
    write_rows(w, b);
    write_after(w, b);
    if (w->fail_batches > 0) {
        w->fail_batches--;
        for (size_t i = 0; i < b->fire_count; i++)
            b->fires[i].outcome = OUTCOME_DONE; /* what became of it is lost, too */
        return w->fail_status;
    }
    return STATUS_OK;
}

/* ---- slots and runs ------------------------------------------------------------------------------------------------
 */

static void fill_definition(struct world *w, const struct world_job *job, struct definition_row *row)
{
    (void)w;
    *row = (struct definition_row){.kind = job->kind,
                                   .id = job->id,
                                   .project_id = 1,
                                   .project = "default",
                                   .name = job->name,
                                   .version = job->version,
                                   .created_at = job->created_at,
                                   .json = job->versions[job->version],
                                   .deleted = job->deleted,
                                   .deleted_at = job->deleted ? job->deleted_at : INSTANT_NONE,
                                   .slot = job->slot};
}

static bool open_row(const struct run_row *row)
{
    return !run_state_terminal(row->state);
}

static enum status slots_take(struct world *w, struct store_slots_take *op)
{
    const struct world_boot *boot = boot_find(w, op->boot);
    if (!boot || boot->fenced)
        return STATUS_FENCED;
    for (size_t i = 0; i < op->count; i++) {
        struct world_slot *slot = &w->slots[op->takes[i].slot];
        op->takes[i].previous_boot = slot->owner;
        op->takes[i].decided_through = slot->decided;
        op->takes[i].taken = slot->czxid < op->takes[i].czxid;
        if (op->takes[i].taken) {
            slot->czxid = op->takes[i].czxid;
            slot->owner = op->boot;
        }
    }
    op->feed_head = (int64_t)w->changes.count;
    return STATUS_OK;
}

static void cursor_fill(struct world *w, const struct world_job *job, const char *trigger, struct trigger_cursor *ret)
{
    *ret = (struct trigger_cursor){.job = job->id, .trigger = trigger, .from = INSTANT_NONE, .decided = INSTANT_NONE};
    for (size_t i = 0; i < w->activations.count; i++) {
        const struct activation_row *row = &w->activations.items[i];
        if (row->job == job->id && row->kind == ACTIVATION_VERSION) {
            ret->from = row->from;
            ret->version = row->version;
        }
    }
    for (size_t i = 0; i < w->runs.count; i++)
        if (w->runs.items[i].job == job->id && w->runs.items[i].generation == 0 &&
            strcmp(w->runs.items[i].trigger, trigger) == 0)
            ret->decided = instant_max(ret->decided, w->runs.items[i].scheduled_at);
    for (size_t i = 0; i < w->skips.count; i++)
        if (w->skips.items[i].job == job->id && strcmp(w->skips.items[i].trigger, trigger) == 0)
            ret->decided = instant_max(ret->decided, w->skips.items[i].to);
    if (ret->version && instant_cmp(w->slots[job->slot].decided, ret->from) >= 0)
        ret->decided = instant_max(ret->decided, w->slots[job->slot].decided);
}

/* One for each trigger that the job ever had. */
static void cursors_fill(struct world *w, const struct world_job *job, const char *json, struct store_slots_load *load)
{
    struct faults faults;
    faults_init(&faults);
    struct document *document = document_parse(json, strlen(json), DOCUMENT_JOB, &faults);
    for (size_t k = 0; document && k < document->job.trigger_count; k++) {
        const char *name = document->job.triggers[k].name;
        bool known = false;
        for (size_t i = 0; i < load->cursor_count; i++)
            known |= load->cursors[i].job == job->id && strcmp(load->cursors[i].trigger, name) == 0;
        if (!known)
            cursor_fill(w, job, keep(w, name), &load->cursors[load->cursor_count++]);
    }
    document_free(document);
    faults_release(&faults);
}

static enum status slots_load(struct world *w, struct store_op *op)
{
    struct store_slots_load *load = &op->slots_load;
    load->jobs = arena_array(&op->arena, struct definition_row, w->jobs.count + 1);
    load->cursors = arena_array(&op->arena, struct trigger_cursor, w->jobs.count * CURSORS_MOST + 1);
    load->states = w->states.items;
    load->state_count = w->states.count;
    load->open_runs = arena_array(&op->arena, struct run_row, w->runs.count + 1);
    bool wanted[WORLD_SLOTS] = {false};
    for (size_t i = 0; i < load->slot_count; i++)
        if (load->slots[i] < WORLD_SLOTS)
            wanted[load->slots[i]] = true;
    for (size_t i = 0; i < w->jobs.count; i++) {
        struct world_job *job = &w->jobs.items[i];
        if (job->kind != DOCUMENT_JOB || !wanted[job->slot] || (job->deleted && !job->pending_delete))
            continue;
        fill_definition(w, job, &load->jobs[load->job_count++]);
        for (int64_t version = 1; version <= job->version; version++)
            cursors_fill(w, job, job->versions[version], load);
    }
    for (size_t i = 0; i < w->runs.count; i++)
        if (open_row(&w->runs.items[i]) && wanted[w->runs.items[i].slot] && w->runs.items[i].boot != load->boot)
            load->open_runs[load->open_run_count++] = w->runs.items[i];
    load->lingers = arena_array(&op->arena, struct linger_row, w->lingers.count + 1);
    for (size_t i = 0; i < w->lingers.count; i++)
        if (wanted[w->lingers.items[i].slot] && instant_cmp(w->lingers.items[i].until, w->now.wall) > 0)
            load->lingers[load->linger_count++] = w->lingers.items[i];
    return STATUS_OK;
}

static int by_seq_step(const void *a, const void *b)
{
    const struct step_row *x = a, *y = b;
    return x->run != y->run ? (x->run > y->run) - (x->run < y->run) : (x->seq > y->seq) - (x->seq < y->seq);
}
static int by_seq_attempt(const void *a, const void *b)
{
    const struct attempt_row *x = a, *y = b;
    return x->run != y->run ? (x->run > y->run) - (x->run < y->run) : (x->seq > y->seq) - (x->seq < y->seq);
}

static enum status runs_adopt(struct world *w, struct store_op *op)
{
    struct store_runs_adopt *adopt = &op->runs_adopt;
    const struct world_boot *dead = boot_find(w, adopt->from_boot);
    if (adopt->from_boot != 0 && (!dead || !dead->fenced))
        return STATUS_CONFLICT;
    adopt->runs = arena_array(&op->arena, struct run_row, w->runs.count + 1);
    adopt->steps = arena_array(&op->arena, struct step_row, w->steps.count + 1);
    adopt->attempts = arena_array(&op->arena, struct attempt_row, w->attempts.count + 1);
    for (size_t i = 0; i < w->runs.count && adopt->run_count < adopt->limit; i++) {
        struct run_row *row = &w->runs.items[i];
        if (row->boot != adopt->from_boot || !open_row(row) ||
            (adopt->from_boot == 0 && !owns(w, adopt->boot, row->slot)))
            continue;
        row->boot = adopt->boot;
        row->node = keep(w, adopt->node);
        adopt->runs[adopt->run_count++] = *row;
        for (size_t k = 0; k < w->steps.count; k++)
            if (w->steps.items[k].run == row->id)
                adopt->steps[adopt->step_count++] = w->steps.items[k];
        for (size_t k = 0; k < w->attempts.count; k++)
            if (w->attempts.items[k].run == row->id)
                adopt->attempts[adopt->attempt_count++] = w->attempts.items[k];
    }
    if (w->lose_adopt) {
        w->lose_adopt = false;
        return STATUS_UNKNOWN;
    }
    qsort(adopt->steps, adopt->step_count, sizeof *adopt->steps, by_seq_step);
    qsort(adopt->attempts, adopt->attempt_count, sizeof *adopt->attempts, by_seq_attempt);
    return STATUS_OK;
}

static int newest_first(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    int order = instant_cmp(y->scheduled_at, x->scheduled_at);
    return order ? order : (y->id > x->id) - (y->id < x->id);
}

static enum status runs_list(struct world *w, struct store_op *op)
{
    struct store_runs_list *list = &op->runs_list;
    list->rows = arena_array(&op->arena, struct run_row, w->runs.count + 1);
    for (size_t i = 0; i < w->runs.count; i++) {
        const struct run_row *row = &w->runs.items[i];
        if ((!list->states || list->states >> row->state & 1) && (!list->node || strcmp(row->node, list->node) == 0) &&
            (!list->trigger || strcmp(row->trigger, list->trigger) == 0))
            list->rows[list->count++] = *row;
    }
    qsort(list->rows, list->count, sizeof *list->rows, newest_first);
    return STATUS_OK;
}

static enum status run_read(struct world *w, struct store_op *op)
{
    struct store_run_read *read = &op->run_read;
    read->steps = arena_array(&op->arena, struct step_row, w->steps.count + 1);
    read->attempts = arena_array(&op->arena, struct attempt_row, w->attempts.count + 1);
    for (size_t i = 0; i < w->runs.count; i++)
        if (w->runs.items[i].id == read->id)
            read->run = w->runs.items[i];
    for (size_t i = 0; i < w->steps.count; i++)
        if (w->steps.items[i].run == read->id)
            read->steps[read->step_count++] = w->steps.items[i];
    for (size_t i = 0; i < w->attempts.count; i++)
        if (w->attempts.items[i].run == read->id)
            read->attempts[read->attempt_count++] = w->attempts.items[i];
    for (size_t i = 0; i < w->jobs.count; i++)
        if (w->jobs.items[i].id == read->run.job)
            read->job_json = w->jobs.items[i].versions[read->run.version];
    return read->run.id ? STATUS_OK : STATUS_NOT_FOUND;
}

static enum status runs_open(struct world *w, struct store_op *op)
{
    struct store_runs_open *ask = &op->runs_open;
    ask->open = arena_array(&op->arena, bool, ask->count);
    ask->ended_at = arena_array(&op->arena, instant, ask->count);
    ask->linger = arena_array(&op->arena, instant, ask->count);
    ask->left = arena_array(&op->arena, bool, ask->count);
    for (size_t i = 0; i < ask->count; i++) {
        ask->linger[i] = INSTANT_NONE;
        for (size_t k = 0; k < w->lingers.count; k++)
            if (w->lingers.items[k].run == ask->runs[i])
                ask->linger[i] = instant_max(ask->linger[i], w->lingers.items[k].until);
    }
    for (size_t i = 0; i < ask->count; i++)
        for (size_t k = 0; k < w->runs.count; k++)
            if (w->runs.items[k].id == ask->runs[i]) {
                ask->open[i] = open_row(&w->runs.items[k]);
                ask->ended_at[i] = w->runs.items[k].ended_at;
                ask->left[i] = ask->open[i] && w->runs.items[k].boot == 0;
            }
    return STATUS_OK;
}

static enum node_wish wish_of(const struct world *w, const char *node)
{
    size_t index = (size_t)(node[1] - '0'); /* "n0", "n1", … */
    return index < WORLD_NODES ? w->nodes[index].wish : NODE_WORK;
}

/* Of runs that the boot drives. */
static enum status alive(const struct world *w, struct store_op *op)
{
    struct store_alive_read *read = &op->alive_read;
    read->rows = arena_array(&op->arena, struct alive_row, w->beats.count + 1);
    for (size_t i = 0; i < w->beats.count; i++)
        for (size_t k = 0; k < w->runs.count; k++)
            if (w->runs.items[k].id == w->beats.items[i].run && w->runs.items[k].boot == read->boot &&
                w->beats.items[i].at.ms > read->since)
                read->rows[read->count++] = w->beats.items[i];
    return STATUS_OK;
}

static enum status poll(struct world *w, struct store_op *op)
{
    struct store_poll *p = &op->poll;
    p->head = (int64_t)w->changes.count;
    p->store_now = w->now.wall;
    p->wish = boot_find(w, p->boot) ? wish_of(w, boot_find(w, p->boot)->node) : NODE_WORK;
    p->trimmed = p->since >= 0 && p->since < w->trimmed;
    p->changes = arena_array(&op->arena, struct change_row, w->changes.count + 1);
    for (size_t i = 0; p->since >= 0 && i < w->changes.count && p->change_count < p->limit; i++)
        if (w->changes.items[i].seq > p->since)
            p->changes[p->change_count++] = w->changes.items[i];
    p->requests = arena_array(&op->arena, struct request_row, w->requests.count + 1);
    for (size_t i = 0; i < w->requests.count; i++) {
        int64_t driver = w->slots[w->requests.items[i].slot].owner;
        for (size_t k = 0; k < w->runs.count; k++)
            if (w->runs.items[k].id == w->requests.items[i].run && open_row(&w->runs.items[k]))
                driver = w->runs.items[k].boot;
        if (!w->requests.items[i].outcome && driver == p->boot)
            p->requests[p->request_count++] = w->requests.items[i];
    }
    p->reports = arena_array(&op->arena, struct report_row, w->reports.count + 1);
    for (size_t i = 0; i < w->reports.count; i++)
        for (size_t k = 0; k < w->runs.count && !w->reports.items[i].outcome; k++)
            if (w->runs.items[k].id == w->reports.items[i].row.run && w->runs.items[k].boot == p->boot) {
                p->reports[p->report_count] = w->reports.items[i].row;
                p->reports[p->report_count++].run_open = open_row(&w->runs.items[k]);
            }
    return STATUS_OK;
}

static enum status definitions(struct world *w, struct store_op *op)
{
    struct store_definitions *d = &op->definitions;
    d->rows = arena_array(&op->arena, struct definition_row, w->jobs.count + 1);
    for (size_t i = 0; i < w->jobs.count; i++) {
        const struct world_job *job = &w->jobs.items[i];
        bool take = job->kind == d->kind && (d->ids || job->id > d->after);
        for (size_t k = 0; d->ids && k < d->id_count; k++)
            if (d->ids[k] == job->id)
                break;
            else if (k + 1 == d->id_count)
                take = false;
        if (!take || (!d->ids && d->count >= d->limit))
            continue;
        struct definition_row *row = &d->rows[d->count++];
        fill_definition(w, job, row);
        if (d->version > 0) {
            row->version = d->version;
            row->json = job->versions[d->version];
        }
    }
    return STATUS_OK;
}

static enum status boot_start(struct world *w, struct store_boot_start *op)
{
    op->boot = (int64_t)w->boots.count + 1;
    op->store_now = w->now.wall;
    op->wish = wish_of(w, op->node);
    for (size_t i = 0; i < w->boots.count; i++)
        if (!w->boots.items[i].fenced && strcmp(w->boots.items[i].node, op->node) == 0)
            op->previous_boot = w->boots.items[i].boot;
    struct world_boot *boot = vec_push(&w->boots);
    boot->boot = op->boot;
    strncpy(boot->node, op->node, sizeof boot->node - 1);
    return STATUS_OK;
}

static enum status lease(struct world *w, struct store_lease *op)
{
    int64_t *holder = &w->leases[strncmp(op->name, "adopt-", 6) == 0 ? strtoll(op->name + 6, NULL, 10) % 256 : 0];
    if (op->release) {
        if (*holder == op->boot)
            *holder = 0;
        return STATUS_OK;
    }
    if (*holder == 0 || boot_find(w, *holder)->fenced)
        *holder = op->boot;
    op->held = *holder == op->boot;
    return STATUS_OK;
}

static enum status triggers(struct world *w, struct store_op *op)
{
    struct store_triggers *t = &op->triggers;
    t->open_runs = arena_array(&op->arena, struct run_row, w->runs.count + 1);
    for (size_t i = 0; i < w->runs.count; i++)
        if (w->runs.items[i].job == t->job && open_row(&w->runs.items[i]))
            t->open_runs[t->open_run_count++] = w->runs.items[i];
    t->lingers = arena_array(&op->arena, struct linger_row, w->lingers.count + 1);
    for (size_t i = 0; i < w->lingers.count; i++)
        if (w->lingers.items[i].job == t->job && instant_cmp(w->lingers.items[i].until, w->now.wall) > 0)
            t->lingers[t->linger_count++] = w->lingers.items[i];
    return STATUS_OK;
}

static int newest_end(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    return instant_cmp(y->ended_at, x->ended_at);
}

static enum status failures(struct world *w, struct store_op *op)
{
    struct run_row *ended = arena_array(&op->arena, struct run_row, w->runs.count + 1);
    instant resumed = INSTANT_NONE;
    size_t n = 0;
    for (size_t i = 0; i < w->activations.count; i++)
        if (w->activations.items[i].job == op->failures.job && w->activations.items[i].kind == ACTIVATION_RESUME)
            resumed = w->activations.items[i].from;
    for (size_t i = 0; i < w->runs.count; i++)
        if (w->runs.items[i].job == op->failures.job && run_state_terminal(w->runs.items[i].state) &&
            w->runs.items[i].state != RUN_CANCELED)
            ended[n++] = w->runs.items[i];
    qsort(ended, n, sizeof *ended, newest_end);
    op->failures.failed = 0;
    while (op->failures.failed < n && op->failures.failed < op->failures.limit &&
           ended[op->failures.failed].state != RUN_SUCCEEDED &&
           instant_cmp(ended[op->failures.failed].ended_at, resumed) > 0)
        op->failures.failed++;
    return STATUS_OK;
}

static enum status perform(struct world *w, struct store_op *op)
{
    switch ((int)op->kind) {
    case STORE_CLUSTER:
        op->cluster.generation = 1;
        return STATUS_OK;
    case STORE_BOOT_START:
        return boot_start(w, &op->boot_start);
    case STORE_BOOT_READ:
        op->boot_read.fenced = boot_find(w, op->boot_read.boot)->fenced;
        op->boot_read.store_now = w->now.wall;
        boot_find(w, op->boot_read.boot)->draining = op->boot_read.draining;
        return STATUS_OK;
    case STORE_BOOT_FENCE:
        if (boot_find(w, op->boot_fence.boot)->fenced)
            return STATUS_FENCED;
        op->boot_fence.already = boot_find(w, op->boot_fence.dead_boot)->fenced;
        boot_find(w, op->boot_fence.dead_boot)->fenced = true;
        return STATUS_OK;
    case STORE_LEASE:
        return lease(w, &op->lease);
    case STORE_RETENTION:
        return STATUS_OK;
    case STORE_SLOTS_READ:
        op->slots_read.rows = arena_array(&op->arena, struct slot_row, WORLD_SLOTS);
        op->slots_read.count = WORLD_SLOTS;
        for (int32_t i = 0; i < WORLD_SLOTS; i++)
            op->slots_read.rows[i] =
                (struct slot_row){.slot = i, .czxid = w->slots[i].czxid, .owner_boot = w->slots[i].owner};
        return STATUS_OK;
    case STORE_SLOTS_TAKE:
        return slots_take(w, &op->slots_take);
    case STORE_SLOTS_LOAD:
        return slots_load(w, op);
    case STORE_DECIDED:
        for (size_t i = 0; i < op->decided.count; i++)
            if (owns(w, op->decided.boot, op->decided.slots[i].slot))
                w->slots[op->decided.slots[i].slot].decided =
                    instant_max(w->slots[op->decided.slots[i].slot].decided, op->decided.slots[i].through);
        return STATUS_OK;
    case STORE_RUNS_ADOPT:
        return runs_adopt(w, op);
    case STORE_TRIGGERS:
        return triggers(w, op);
    case STORE_FAILURES:
        return failures(w, op);
    case STORE_RUNS_LIST:
        return runs_list(w, op);
    case STORE_RUN_READ:
        return run_read(w, op);
    case STORE_RUNS_OPEN:
        return runs_open(w, op);
    case STORE_ALIVE_READ:
        return alive(w, op);
    case STORE_POLL:
        return poll(w, op);
    case STORE_BATCH:
        return batch(w, &op->batch);
    case STORE_BATCH_CHECK:
        op->batch_check.committed = boot_find(w, op->batch_check.boot)->batch == op->batch_check.number;
        return STATUS_OK;
    case STORE_DEFINITIONS:
        return definitions(w, op);
    default:
        return STATUS_INVALID;
    }
}

static void submit(struct store *store, struct store_op *op)
{
    struct world_node *node = (struct world_node *)(void *)((char *)store - offsetof(struct world_node, store));
    struct world *w = node->world;
    op->status = w->store_down ? STATUS_UNAVAILABLE : perform(w, op);
    struct pending pending = {.op = op, .at = w->now.mono.ms + 1, .node = node->index};
    vec_add(&w->pending, pending);
}

static const struct store_ops store_ops = {.name = "world", .submit = submit};

void world_store_init(struct world_node *node)
{
    node->store.ops = &store_ops;
}
