/* What happens in the background: the decided-through mark of slots, runs that other boots finish, the housekeeping
 * lease and retention. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define LEFT_EVERY (10 * SPAN_SECOND)
#define DECIDED_EVERY (2 * SPAN_SECOND)
#define FOREIGN_EVERY 500 /* ms */
#define FOREIGN_MOST 1000
#define LEASE_EAGER (400 * SPAN_MS)       /* the holder may have let go of the housekeeping lease */
#define LEASE_EAGER_FOR (2 * SPAN_SECOND) /* after a change among the nodes */
#define CHANGES_KEPT SPAN_DAY
#define REQUESTS_KEPT (7 * SPAN_DAY)

/* ---- decided through ------------------------------------------------------------------------------------------------
 */

/* A lower bound for the whole slot, or INSTANT_NONE: nothing can be said. Paused triggers know their place by
 * themselves (paused_since). */
static instant slot_through(const struct scheduler *s, const struct slot *slot)
{
    instant through = INSTANT_NONE;
    for (const struct job *job = slot->jobs; job; job = job->slot_next) {
        if (!job->loaded)
            continue;
        if (job->busy || heap_contains(&job->switching))
            return INSTANT_NONE;
        for (size_t i = 0; i < job->trigger_count; i++) {
            const struct trigger *t = &job->triggers[i];
            if (!t->schedule || t->paused || job->paused)
                continue;
            instant here = instant_cmp(t->next, s->now.wall) > 0 ? s->now.wall : instant_add(t->next, -1);
            through = instant_is_none(through) ? here : instant_min(through, here);
        }
    }
    return through;
}

bool janitor_through(struct scheduler *s)
{
    vec_clear(&s->batch.through);
    s->batch.through_seq = s->feed_seq;
    if (!clock_may_act(s) || s->clock_bad || s->deciding)
        return false;
    for (size_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].phase != SLOT_RULED || !s->slots[i].jobs)
            continue;
        if (move_of_slot(s, (int32_t)i))
            continue; /* a job of it is known to nobody here just now, and may stay in it */
        struct slot_through row = {.slot = (int32_t)i, .through = slot_through(s, &s->slots[i])};
        if (!instant_is_none(row.through))
            vec_add(&s->batch.through, row);
    }
    return s->batch.through.count > 0;
}

static void decided_answered(struct scheduler *s, struct work *work)
{
    s->deciding = false;
    (void)work_ok(s, work); /* written behind: the next one says more anyway */
}

void janitor_decided(struct scheduler *s)
{
    size_t n = s->batch.through.count;
    struct slot_through *rows = mem_alloc(n * sizeof *rows);
    memcpy(rows, s->batch.through.items, n * sizeof *rows);
    vec_clear(&s->batch.through);
    struct work *work = work_new(s, STORE_DECIDED, decided_answered);
    work->memory = rows;
    work->op.decided.boot = s->boot;
    work->op.decided.feed_seq = s->batch.through_seq;
    work->op.decided.slots = rows;
    work->op.decided.count = n;
    s->deciding = true;
    s->next_decided = mono_add(s->now.mono, DECIDED_EVERY);
    work_submit(work);
}

static void decided_step(struct scheduler *s)
{
    if (s->deciding || s->batch.busy)
        return;
    if (mono_cmp(s->now.mono, s->next_decided) < 0) {
        wake_at(s, s->next_decided);
        return;
    }
    if (!batcher_quiet(s))
        return; /* the next batch takes it along */
    s->next_decided = mono_add(s->now.mono, DECIDED_EVERY);
    if (janitor_through(s))
        janitor_decided(s);
    wake_at(s, s->next_decided);
}

/* ---- runs of other boots
 * ---------------------------------------------------------------------------------------------- */

static void foreign_ended(struct scheduler *s, struct job *job, size_t index, instant ended, instant linger)
{
    struct foreign_run run = job->foreign.items[index];
    vec_remove_swap(&job->foreign, index);
    s->foreign_count--;
    lingers_job(job, run.id, linger);
    struct bundle *bundle = bundle_new(s);
    if (run.generation0)
        planner_trigger_ended(s, job, run.trigger, instant_is_none(ended) ? s->now.wall : ended, bundle);
    bundle_put(s, bundle, true);
    free(run.trigger);
    turns_wake(s, job);
    job_forget_if_idle(s, job);
}

static void foreign_answered(struct scheduler *s, struct work *work)
{
    s->foreign_reading = false;
    if (!work_ok(s, work))
        return;
    const struct store_runs_open *answer = &work->op.runs_open;
    const int64_t *jobs = answer->runs + answer->count; /* parallel, see read_foreign */
    for (size_t i = 0; i < answer->count; i++) {
        struct job *job = job_find(s, jobs[i]);
        if (job && answer->left[i] && slot_ruled(s, job->slot))
            recovery_left(s);
        if (answer->open[i])
            continue;
        for (size_t k = 0; job && k < job->foreign.count; k++)
            if (job->foreign.items[k].id == answer->runs[i]) {
                foreign_ended(s, job, k, answer->ended_at[i], answer->linger[i]);
                break;
            }
    }
}

static void read_foreign(struct scheduler *s)
{
    if (s->foreign_count == 0 || s->foreign_reading)
        return;
    if (mono_cmp(s->now.mono, s->next_foreign) < 0) {
        wake_at(s, s->next_foreign);
        return;
    }
    s->next_foreign = mono_add(s->now.mono, FOREIGN_EVERY);
    size_t most = s->foreign_count < FOREIGN_MOST ? s->foreign_count : FOREIGN_MOST, n = 0;
    int64_t *ids = mem_alloc(2 * most * sizeof *ids);
    size_t passed = 0;
    for (struct job *job = s->jobs; job && n < most; job = job->hh.next)
        for (size_t i = 0; i < job->foreign.count && n < most; i++, passed++)
            if (passed >= s->foreign_skip) {
                ids[n] = job->foreign.items[i].id;
                ids[most + n++] = job->id;
            }
    s->foreign_skip = passed < s->foreign_count ? passed : 0; /* the next question goes on from there */
    if (n < most)
        memmove(ids + n, ids + most, n * sizeof *ids);
    struct work *work = work_new(s, STORE_RUNS_OPEN, foreign_answered);
    work->memory = ids;
    work->op.runs_open.runs = ids;
    work->op.runs_open.count = n;
    s->foreign_reading = true;
    work_submit(work);
}

/* ---- housekeeping
 * ------------------------------------------------------------------------------------------------------ */

static void lease_answered(struct scheduler *s, struct work *work)
{
    s->leasing = false;
    s->leader = work_ok(s, work) && work->op.lease.held;
    bool eager = !s->leader && mono_cmp(s->now.mono, s->lease_eager) < 0;
    s->next_lease = mono_add(s->now.mono, eager ? LEASE_EAGER : s->settings->coordination.lease_ttl / 3);
}

static void lease_released(struct scheduler *s, struct work *work)
{
    s->leasing = false;
    (void)work_ok(s, work); /* else it runs out by itself */
}

static void lease_submit(struct scheduler *s, bool release)
{
    struct work *work = work_new(s, STORE_LEASE, release ? lease_released : lease_answered);
    work->op.lease.name = "housekeeping";
    work->op.lease.boot = s->boot;
    work->op.lease.ttl = s->settings->coordination.lease_ttl;
    work->op.lease.release = release;
    s->leasing = true;
    work_submit(work);
}

/* A leader that stops to serve lets go of the lease; the others see that it drains, and ask for it soon. */
static void stop_leading(struct scheduler *s)
{
    if (!s->leader || s->leasing)
        return;
    s->leader = false;
    lease_submit(s, true);
}

void janitor_nodes_changed(struct scheduler *s)
{
    s->lease_eager = mono_add(s->now.mono, LEASE_EAGER_FOR);
    if (!s->leader)
        s->next_lease = mono_min(s->next_lease, mono_add(s->now.mono, LEASE_EAGER));
}

/* From this share of store.max_size on somebody should look: history is cut, or room is made, before nothing fits. */
#define SIZE_WARNING 80 /* percent */

static void watch_size(struct scheduler *s, int64_t size)
{
    int64_t most = s->settings->store.max_size;
    bool near = most > 0 && size >= most / 100 * SIZE_WARNING;
    __atomic_store_n(&s->metrics.store_bytes, size, __ATOMIC_RELAXED);
    __atomic_store_n(&s->metrics.store_bytes_max, most, __ATOMIC_RELAXED);
    if (near && !s->store_nearly_full)
        sink_logf(s->ports.sink, LOG_WARN,
                  "The store is nearly full: shorten retention.runs or retention.bodies, or raise store.max_size and "
                  "give it room.",
                  "bytes=%lld max=%lld", (long long)size, (long long)most);
    s->store_nearly_full = near;
}

static void retention_answered(struct scheduler *s, struct work *work)
{
    s->retaining = false;
    bool ok = work_ok(s, work), more = ok && work->op.retention.more;
    if (ok)
        watch_size(s, work->op.retention.size);
    s->next_retention = mono_add(s->now.mono, more ? 50 : s->settings->retention.interval);
}

static void housekeep(struct scheduler *s)
{
    if (!s->leasing && mono_cmp(s->now.mono, s->next_lease) >= 0) {
        lease_submit(s, false);
    }
    if (s->leader && !s->retaining && mono_cmp(s->now.mono, s->next_retention) >= 0 && !s->clock_bad) {
        struct work *work = work_new(s, STORE_RETENTION, retention_answered);
        struct store_retention *r = &work->op.retention;
        instant now = s->now.wall;
        r->boot = s->boot;
        r->runs = instant_add(now, -s->settings->retention.runs);
        r->bodies = instant_add(now, -s->settings->retention.bodies);
        r->skips = instant_add(now, -s->settings->retention.skips);
        r->audit = instant_add(now, -s->settings->retention.audit);
        r->changes = instant_add(now, -CHANGES_KEPT);
        r->requests = instant_add(now, -REQUESTS_KEPT);
        s->retaining = true;
        work_submit(work);
    }
    if (!s->leasing)
        wake_at(s, s->next_lease);
    if (s->leader && !s->retaining && !s->clock_bad) /* a clock that comes right again is an event of its own */
        wake_at(s, s->next_retention);
}

/* Runs of jobs that are deleted stand in no list of ours: what a node leaves of them, while it drains or for as long as
 * it is wished offline, is looked for now and then. */
static void look_for_left(struct scheduler *s)
{
    bool leaving = false;
    for (size_t i = 0; i < s->nodes.count; i++)
        leaving |= s->nodes.items[i].draining && s->nodes.items[i].boot != s->boot;
    if (!leaving || !node_serves(s))
        return;
    if (mono_cmp(s->now.mono, s->next_left) >= 0) {
        s->next_left = mono_add(s->now.mono, LEFT_EVERY);
        recovery_left(s);
    }
    wake_at(s, s->next_left);
}

void janitor_step(struct scheduler *s)
{
    if (!s->joined)
        return;
    look_for_left(s);
    decided_step(s);
    read_foreign(s);
    reports_addresses(s);
    if (!node_serves(s))
        stop_leading(s);
    else if (clock_may_act(s))
        housekeep(s);
}
