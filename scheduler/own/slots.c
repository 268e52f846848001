/* A won claim on its way to being ruled: raise the epoch in the store (SLOTS_TAKE), load the slot's jobs (SLOTS_LOAD),
 * wait until the replica has reached the feed head that was read after the raise, and a poll has told what is wished.
 * Only then anything fires.
 *
 *   free ─▶ claiming ─▶ won ─▶ taking ─▶ taken ─▶ loading ─▶ loaded ─▶ ruled ─▶ free
 */
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define TAKE_REFUSED_PAUSE (5 * SPAN_SECOND)
#define LOAD_JOBS 5000 /* jobs of one SLOTS_LOAD, roughly */

/* why NULL: quietly (drain). */
void slot_lost(struct scheduler *s, int32_t index, const char *why)
{
    struct slot *slot = slot_get(s, index);
    if (!slot || slot->phase == SLOT_FREE)
        return;
    if (why && slot->phase == SLOT_RULED)
        sink_logf(s->ports.sink, LOG_INFO, "A slot has a new owner: its jobs are not fired here any more.",
                  "slot=%d why=\"%s\"", index, why);
    if (slot->phase == SLOT_RULED) {
        count(&s->metrics.slots_owned, -1);
        slot->left_at = s->now.mono;
    }
    slot->phase = SLOT_FREE;
    slot->retaking = false;
    slot->retry_at = mono_add(s->now.mono, SPAN_SECOND);
    if (slot->czxid != 0) {
        s->ports.coordination->ops->release(s->ports.coordination, index);
        slot->czxid = 0;
    }
    for (struct job *job = slot->jobs, *next; job; job = next) {
        next = job->slot_next;
        job_unrule(s, job);
    }
    s->ownership_dirty = true;
}

void slot_reload(struct scheduler *s, int32_t index)
{
    struct slot *slot = slot_get(s, index);
    if (!slot || slot->phase != SLOT_RULED)
        return;
    count(&s->metrics.slots_owned, -1);
    slot->phase = SLOT_TAKEN;
    for (struct job *job = slot->jobs, *next; job; job = next) {
        next = job->slot_next;
        job_unrule(s, job);
    }
}

/* ---- take ----------------------------------------------------------------------------------------------------------
 */

static void take_answered(struct scheduler *s, struct work *work)
{
    s->taking = false;
    bool ok = work_ok(s, work);
    for (size_t i = 0; i < work->op.slots_take.count; i++) {
        const struct slot_take *take = &work->op.slots_take.takes[i];
        struct slot *slot = slot_get(s, take->slot);
        bool again = slot->phase == SLOT_RULED;
        if (slot->czxid != take->czxid || (slot->phase != SLOT_TAKING && !again)) {
            if (slot->phase == SLOT_TAKING)
                slot->phase = slot->czxid ? SLOT_WON : SLOT_FREE; /* the claim changed meanwhile */
            continue;
        }
        if (!ok) {
            if (again)
                slot->retaking = true;
            else
                slot->phase = SLOT_WON;
            s->take_retry = mono_add(s->now.mono, 250);
        } else if (!take->taken) {
            sink_logf(s->ports.sink, LOG_ERROR,
                      "The store knows a newer epoch of this slot than the coordination service gave: it may have been "
                      "wiped or exchanged. Nothing is fired for the slot.",
                      "slot=%d czxid=%lld", take->slot, (long long)take->czxid);
            slot_lost(s, take->slot, "a newer epoch");
            slot->retry_at = mono_add(s->now.mono, TAKE_REFUSED_PAUSE);
        } else if (again && take->previous_boot == s->boot) {
            slot->feed_head = work->op.slots_take.feed_head; /* nobody ruled it in between: go on */
        } else {
            if (again) { /* somebody did */
                int64_t czxid = slot->czxid;
                slot->czxid = 0;
                slot_lost(s, take->slot, "it was ruled elsewhere meanwhile");
                slot->czxid = czxid;
            }
            slot->feed_head = work->op.slots_take.feed_head;
            slot->phase = SLOT_TAKEN;
            if (take->previous_boot != 0 && take->previous_boot != s->boot) {
                count(&s->metrics.takeovers, 1);
                recovery_suspect(s, take->previous_boot);
            }
        }
    }
}

/* Not while rows of an earlier rule are on their way: with the slot ours again the store would accept them, whatever
 * somebody else has decided in between. */
static bool may_take(const struct scheduler *s, int32_t index)
{
    const struct slot *slot = &s->slots[index];
    return (slot->phase == SLOT_WON || slot->retaking) && !batcher_holds(s, index);
}

static void take_won(struct scheduler *s)
{
    if (s->taking || mono_cmp(s->now.mono, s->take_retry) < 0) {
        wake_at(s, s->taking ? MONO_NEVER : s->take_retry);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < s->slot_count; i++)
        n += may_take(s, (int32_t)i);
    if (n == 0)
        return;
    struct slot_take *takes = mem_alloc(n * sizeof *takes);
    size_t k = 0;
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[i];
        if (!may_take(s, (int32_t)i))
            continue;
        takes[k++] = (struct slot_take){.slot = (int32_t)i, .generation = s->generation, .czxid = slot->czxid};
        if (slot->phase == SLOT_WON)
            slot->phase = SLOT_TAKING;
        slot->retaking = false;
    }
    struct work *work = work_new(s, STORE_SLOTS_TAKE, take_answered);
    work->memory = takes;
    work->op.slots_take.boot = s->boot;
    work->op.slots_take.takes = takes;
    work->op.slots_take.count = n;
    s->taking = true;
    work_submit(work);
}

/* ---- load ----------------------------------------------------------------------------------------------------------
 */

void job_foreign(struct scheduler *s, struct job *job, const struct run_row *row)
{
    if (driver_find(s, row->id) || row->boot == s->boot)
        return;
    for (size_t i = 0; i < job->foreign.count; i++)
        if (job->foreign.items[i].id == row->id)
            return;
    struct foreign_run *foreign = vec_push(&job->foreign);
    s->foreign_count++;
    foreign->id = row->id;
    foreign->trigger = mem_copy_text(row->trigger);
    foreign->fired_at = row->fired_at;
    foreign->generation0 = row->generation == 0;
    foreign->began = row->state == RUN_RUNNING;
    if (row->boot == 0)
        recovery_left(s);
    recovery_suspect(s, row->boot);
}

/* Rows of the answer by their job. */
struct by_job {
    int64_t job;
    size_t index;
};

static int by_job_compare(const void *a, const void *b)
{
    const struct by_job *x = a, *y = b;
    return x->job != y->job ? (x->job > y->job) - (x->job < y->job) : (x->index > y->index) - (x->index < y->index);
}

static size_t first_of(const struct by_job *rows, size_t n, int64_t job)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct memory *memory_need(struct job *job, const char *trigger)
{
    for (size_t i = 0; i < job->memory.count; i++)
        if (strcmp(job->memory.items[i].trigger, trigger) == 0)
            return &job->memory.items[i];
    struct memory *memory = vec_push(&job->memory);
    *memory = (struct memory){.trigger = mem_copy_text(trigger),
                              .decided = INSTANT_NONE,
                              .activated = INSTANT_NONE,
                              .last_end = INSTANT_NONE,
                              .paused_since = INSTANT_NONE};
    return memory;
}

static void take_cursor(struct job *job, const struct trigger_cursor *cursor)
{
    struct memory *memory = memory_need(job, cursor->trigger);
    if (cursor->version > job->ruling_version)
        job->ruling_version = cursor->version;
    memory->decided = cursor->decided;
    memory->activated = cursor->from;
    memory->known = cursor->version != 0;
    if (!instant_is_none(cursor->from)) /* nothing before its activation is anybody's business */
        memory->decided = instant_max(memory->decided, instant_add(cursor->from, -1));
}

static void take_state(struct job *job, const struct trigger_state_row *state)
{
    if (!*state->trigger) {
        job->paused = state->job_paused;
        return;
    }
    struct memory *memory = memory_need(job, state->trigger);
    memory->fires = state->fires;
    memory->last_end = state->last_end;
    memory->paused = state->paused;
    memory->paused_since = state->paused_since;
    memory->state_known = true;
    memory->error = state->error != NULL;
    if ((state->paused || state->job_paused) && !instant_is_none(state->paused_since))
        memory->decided = instant_add(state->paused_since, -1);
}

struct load_index {
    struct by_job *cursors, *states;
};

static struct load_index index_make(const struct store_slots_load *load)
{
    struct load_index index = {mem_alloc((load->cursor_count + 1) * sizeof *index.cursors),
                               mem_alloc((load->state_count + 1) * sizeof *index.states)};
    for (size_t i = 0; i < load->cursor_count; i++)
        index.cursors[i] = (struct by_job){load->cursors[i].job, i};
    for (size_t i = 0; i < load->state_count; i++)
        index.states[i] = (struct by_job){load->states[i].job, i};
    qsort(index.cursors, load->cursor_count, sizeof *index.cursors, by_job_compare);
    qsort(index.states, load->state_count, sizeof *index.states, by_job_compare);
    return index;
}

/* Counts, pauses and cursors that the store remembers, before the triggers are made. */
static void take_memory(const struct store_slots_load *load, const struct load_index *index, struct job *job)
{
    for (size_t i = first_of(index->cursors, load->cursor_count, job->id);
         i < load->cursor_count && index->cursors[i].job == job->id; i++)
        take_cursor(job, &load->cursors[index->cursors[i].index]);
    for (size_t i = first_of(index->states, load->state_count, job->id);
         i < load->state_count && index->states[i].job == job->id; i++)
        take_state(job, &load->states[index->states[i].index]);
}

static void load_answered(struct scheduler *s, struct work *work)
{
    s->loading = false;
    struct store_slots_load *load = &work->op.slots_load;
    bool ok = work_ok(s, work);
    for (size_t i = 0; i < load->slot_count; i++) {
        struct slot *slot = slot_get(s, load->slots[i]);
        if (slot->phase == SLOT_LOADING)
            slot->phase = ok ? SLOT_LOADED : SLOT_TAKEN;
        slot->loaded_poll = s->poll_number;
    }
    if (!ok) {
        s->load_retry = mono_add(s->now.mono, 250);
        return;
    }
    struct load_index index = index_make(load);
    struct job *job;
    for (size_t i = 0; i < load->job_count; i++) {
        const struct definition_row *row = &load->jobs[i];
        struct slot *slot = slot_get(s, row->slot);
        if (!slot || slot->phase != SLOT_LOADED)
            continue;
        move_loaded(s, row);
        replica_load(s, row);
        job = job_find(s, row->id);
        if (job && !job->loaded)
            take_memory(load, &index, job);
    }
    free(index.cursors);
    free(index.states);
    for (size_t i = 0; i < load->open_run_count; i++)
        if ((job = job_find(s, load->open_runs[i].job)))
            job_foreign(s, job, &load->open_runs[i]);
        else if (load->open_runs[i].boot == 0)
            recovery_left(s);
        else /* of a job that is gone; its driver may be, too */
            recovery_suspect(s, load->open_runs[i].boot);
    lingers_load(s, load->lingers, load->linger_count);
    for (size_t i = 0; i < load->slot_count; i++) {
        struct slot *slot = slot_get(s, load->slots[i]);
        for (job = slot->phase == SLOT_LOADED ? slot->jobs : NULL; job; job = job->slot_next)
            if (job->newest)
                job->loaded = true;
    }
}

static void load_taken(struct scheduler *s)
{
    if (s->loading || s->feed_seen < 0)
        return; /* the feed is followed from before the load on, or a job that is made in between would be missed */
    if (mono_cmp(s->now.mono, s->load_retry) < 0) {
        wake_at(s, s->load_retry);
        return;
    }
    int32_t *slots = NULL;
    size_t n = 0;
    int64_t jobs = 0;
    for (size_t i = 0; i < s->slot_count && n < s->slot_count && (n == 0 || jobs < LOAD_JOBS); i++) {
        if (s->slots[i].phase != SLOT_TAKEN || batcher_holds(s, (int32_t)i))
            continue;
        if (!slots)
            slots = mem_alloc(s->slot_count * sizeof *slots);
        slots[n++] = (int32_t)i;
        jobs += s->slots[i].jobs_known;
        s->slots[i].phase = SLOT_LOADING;
        moves_load(s, (int32_t)i);
        s->slots[i].stale = false;
    }
    if (n == 0)
        return;
    struct work *work = work_new(s, STORE_SLOTS_LOAD, load_answered);
    work->memory = slots;
    work->op.slots_load.boot = s->boot;
    work->op.slots_load.slots = slots;
    work->op.slots_load.slot_count = n;
    s->loading = true;
    work_submit(work);
}

/* ---- gate ----------------------------------------------------------------------------------------------------------
 */

static void load_again(struct scheduler *s, struct slot *slot)
{
    slot->stale = false;
    slot->phase = SLOT_TAKEN;
    for (struct job *job = slot->jobs, *next; job; job = next) {
        next = job->slot_next;
        job_unrule(s, job);
    }
    s->busy = true;
}

/* SLOTS_LOAD leaves out our own runs: they must be known first, or overlap would miss them. */
static bool gate_open(const struct scheduler *s, const struct slot *slot)
{
    return slot->phase == SLOT_LOADED && s->feed_seq >= 0 && s->feed_seq >= slot->feed_head && recovery_settled(s);
}

/* What people wished while nobody ruled the slot is known before anything fires, or a pause would come after the
 * instants that it holds back: so the slot is ruled by the answer of a poll, and by one that was asked after the load.
 */
void slots_rule(struct scheduler *s, int64_t poll)
{
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[i];
        if (!gate_open(s, slot) || poll <= slot->loaded_poll)
            continue;
        if (slot->stale) {
            load_again(s, slot);
            continue;
        }
        slot->phase = SLOT_RULED;
        slot->ruled_since = s->now.wall;
        balance_slot_ruled(s, slot);
        count(&s->metrics.slots_owned, 1);
        for (struct job *job = slot->jobs, *next; job; job = next) {
            next = job->slot_next;
            if (job->newest) /* also one that was made after the load, and came through the feed */
                job->loaded = true;
            if (job->loaded)
                activation_loaded(s, job);
        }
    }
}

static void ask_before_rule(struct scheduler *s)
{
    if (mono_cmp(s->store_down_since, MONO_NEVER) != 0)
        return;
    for (size_t i = 0; i < s->slot_count && !s->poking; i++)
        s->poking = gate_open(s, &s->slots[i]);
}

void slots_step(struct scheduler *s)
{
    if (!s->joined)
        return;
    take_won(s);
    load_taken(s);
    ask_before_rule(s);
    s->slots_coming = 0;
    for (size_t i = 0; i < s->slot_count; i++)
        s->slots_coming += s->slots[i].phase >= SLOT_WON && s->slots[i].phase < SLOT_RULED;
}
