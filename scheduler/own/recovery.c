/* Boots that are gone: fence them, adopt their open runs, replay each from its rows, go on. A boot is believed dead
 * when its entry in /nodes is gone (or when this process is the only owner there can be); fencing a living one costs it
 * its life, but never a wrong row. One node adopts the runs of a boot: a lease sees to that, so that the queued runs of
 * a job do not end up in two places.
 *
 * Boot 0 is nobody: of it are the queued runs that a draining node has left (giving.c); the owner of their slots adopts
 * them, without fence and lease.
 *
 *   suspect ─▶ fence ─▶ fencing ─▶ lease ─▶ leasing ─▶ adopt ─▶ adopting ─▶ (again, until none come) ─▶ done
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define GONE_GRACE 500  /* ms without its entry */
#define RETRY_PAUSE 500 /* ms */
#define ADOPT_LEASE (30 * SPAN_SECOND)

static struct dead_boot *find(struct scheduler *s, int64_t boot)
{
    for (size_t i = 0; i < s->dead.count; i++)
        if (s->dead.items[i].boot == boot)
            return &s->dead.items[i];
    return NULL;
}

void recovery_suspect(struct scheduler *s, int64_t boot)
{
    if (boot <= 0 || boot == s->boot || find(s, boot))
        return;
    struct dead_boot *dead = vec_push(&s->dead);
    dead->boot = boot;
    dead->since = s->now.mono;
}

void recovery_left(struct scheduler *s)
{
    struct dead_boot *nobody = find(s, 0);
    if (!nobody) {
        nobody = vec_push(&s->dead);
        nobody->phase = DEAD_DONE;
    }
    if (nobody->phase == DEAD_DONE)
        nobody->phase = DEAD_ADOPT;
}

static void later(struct scheduler *s, struct dead_boot *dead, enum dead_phase phase)
{
    dead->phase = phase;
    dead->retry_at = mono_add(s->now.mono, RETRY_PAUSE);
}

/* Is every run that the store calls ours known here? Not between an adoption and the end of its replay. */
bool recovery_settled(const struct scheduler *s)
{
    for (size_t i = 0; i < s->dead.count; i++) {
        const struct dead_boot *dead = &s->dead.items[i];
        if (dead->phase == DEAD_ADOPTING || dead->rows || dead->reply_lost || dead->reading > 0)
            return false;
    }
    return true;
}

/* ---- fence and lease -----------------------------------------------------------------------------------------------
 */

static void fence_answered(struct scheduler *s, struct work *work)
{
    struct dead_boot *dead = find(s, work->number);
    if (!dead)
        return;
    if (!work_ok(s, work)) {
        later(s, dead, DEAD_FENCE);
        return;
    }
    if (!work->op.boot_fence.already) /* else it had stopped, and said so */
        sink_logf(s->ports.sink, LOG_WARN, "A boot that is gone has been fenced; its open runs are adopted.",
                  "boot=%lld", (long long)dead->boot);
    dead->phase = s->options.sole_owner ? DEAD_ADOPT : DEAD_LEASE;
}

static void lease_answered(struct scheduler *s, struct work *work)
{
    struct dead_boot *dead = find(s, work->number);
    if (!dead)
        return;
    if (!work_ok(s, work) || !work->op.lease.held)
        later(s, dead, DEAD_LEASE);
    else
        dead->phase = DEAD_ADOPT;
}

static void lease_op(struct scheduler *s, struct dead_boot *dead, bool release)
{
    struct work *work = work_new(s, STORE_LEASE, lease_answered);
    char *name = mem_alloc(40);
    (void)snprintf(name, 40, "adopt-%lld", (long long)dead->boot);
    work->memory = name;
    work->number = release ? -1 : dead->boot;
    work->op.lease.name = name;
    work->op.lease.boot = s->boot;
    work->op.lease.ttl = ADOPT_LEASE;
    work->op.lease.release = release;
    work_submit(work);
}

/* ---- adopt ---------------------------------------------------------------------------------------------------------
 */

static void adopt_answered(struct scheduler *s, struct work *work)
{
    struct dead_boot *dead = find(s, work->number);
    if (!dead)
        return;
    if (work->op.status == STATUS_UNKNOWN)
        dead->reply_lost = true;
    if (!work_ok(s, work)) {
        later(s, dead, DEAD_ADOPT);
        return;
    }
    if (work->op.runs_adopt.run_count == 0) {
        bool left_some = dead->boot != 0; /* before it ended, perhaps: of jobs that are deleted nobody looks for them */
        dead->phase = DEAD_DONE;
        if (!s->options.sole_owner && dead->boot != 0)
            lease_op(s, dead, true);
        if (left_some)
            recovery_left(s);
        return;
    }
    sink_logf(s->ports.sink, LOG_INFO,
              dead->boot ? "Open runs of an ended boot are adopted." : "Queued runs of a draining node are taken over.",
              "boot=%lld runs=%zu", (long long)dead->boot, work->op.runs_adopt.run_count);
    work->keep = true; /* its rows are replayed one by one */
    dead->rows = work;
    dead->next_row = 0;
}

static void adopt(struct scheduler *s, struct dead_boot *dead)
{
    struct work *work = work_new(s, STORE_RUNS_ADOPT, adopt_answered);
    work->number = dead->boot;
    work->op.runs_adopt.boot = s->boot;
    work->op.runs_adopt.from_boot = dead->boot;
    work->op.runs_adopt.node = s->node;
    work->op.runs_adopt.limit = ADOPT_RUNS;
    dead->phase = DEAD_ADOPTING;
    work_submit(work);
}

/* ---- the reply of an adoption was lost: which runs are ours, and unknown here?
 * ----------------------------------------
 */

static void take(struct scheduler *s, const struct run_row *row, const struct step_row *steps, size_t step_count,
                 const struct attempt_row *attempts, size_t attempt_count, struct job_version *version);
static void give_up(struct scheduler *s, const struct run_row *row, const char *why);

static void run_read(struct scheduler *s, struct work *work)
{
    struct dead_boot *dead = find(s, work->number);
    if (!dead)
        return;
    dead->reading--;
    const struct store_run_read *r = &work->op.run_read;
    if (!work_ok(s, work)) {
        dead->reply_lost |= work->op.status != STATUS_NOT_FOUND; /* all of it once more */
        return;
    }
    if (r->run.boot != s->boot || run_state_terminal(r->run.state) || driver_find(s, r->run.id))
        return;
    struct job_version *version = version_add(s, r->run.job, r->run.version, r->job_json);
    if (version)
        take(s, &r->run, r->steps, r->step_count, r->attempts, r->attempt_count, version);
    else
        give_up(s, &r->run, "the version of its job is gone");
    version_unref(s, version);
}

static void own_listed(struct scheduler *s, struct work *work)
{
    struct dead_boot *dead = find(s, work->number);
    if (!dead)
        return;
    if (!work_ok(s, work)) {
        later(s, dead, DEAD_ADOPT);
        return;
    }
    const struct store_runs_list *list = &work->op.runs_list;
    dead->reply_lost = list->next_cursor != NULL; /* more than a page: again, those of this one are known then */
    dead->skip = dead->reply_lost ? dead->skip + (int64_t)list->count : 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->rows[i].boot != s->boot || driver_find(s, list->rows[i].id))
            continue;
        struct work *read = work_new(s, STORE_RUN_READ, run_read);
        read->number = dead->boot;
        read->op.run_read.id = list->rows[i].id;
        dead->reading++;
        work_submit(read);
    }
    dead->phase = DEAD_ADOPT;
}

static void list_own(struct scheduler *s, struct dead_boot *dead)
{
    struct work *work = work_new(s, STORE_RUNS_LIST, own_listed);
    work->number = dead->boot;
    work->op.runs_list.states = 1u << RUN_QUEUED | 1u << RUN_RUNNING;
    work->op.runs_list.from = work->op.runs_list.to = INSTANT_NONE;
    work->op.runs_list.node = s->node;
    work->op.runs_list.has_error = work->op.runs_list.origin = -1;
    work->op.runs_list.skip = dead->skip;
    work->op.runs_list.limit = LIMIT_BATCH_ITEMS;
    dead->phase = DEAD_ADOPTING;
    work_submit(work);
}

/* ---- replay --------------------------------------------------------------------------------------------------------
 */

static void give_up(struct scheduler *s, const struct run_row *row, const char *why)
{
    sink_logf(s->ports.sink, LOG_ERROR, "An open run cannot be taken over: it is lost.", "run=%lld reason=\"%s\"",
              (long long)row->id, why);
    struct bundle *bundle = bundle_new(s);
    struct run_row lost = *row;
    lost.state = row->state == RUN_QUEUED ? RUN_CANCELED : RUN_LOST;
    lost.reason = "not_replayable";
    lost.error_code = "SCHEDULING_UNEXPECTED_001";
    lost.ended_at = s->now.wall;
    lost.boot = s->boot;
    lost.node = s->node;
    bundle_run(bundle, &lost);
    count(&s->metrics.runs_ended[lost.state], 1);
    bundle_put(s, bundle, true);
}

static void take(struct scheduler *s, const struct run_row *row, const struct step_row *steps, size_t step_count,
                 const struct attempt_row *attempts, size_t attempt_count, struct job_version *version)
{
    struct run *machine = NULL;
    struct error err = {0};
    if (run_replay(row, version_spec(version), steps, step_count, attempts, attempt_count, &machine, &err) !=
        STATUS_OK) {
        give_up(s, row, err.text);
        return;
    }
    const struct metadata *meta = &version_spec(version)->meta;
    struct job *job = job_need(s, row->job, row->project, meta->project, meta->name, row->slot);
    driver_run_take(s, machine, job, version);
}

/* Rows of one run lie together, in the order of the runs' ids. */
static void take_adopted(struct scheduler *s, const struct store_runs_adopt *rows, const struct run_row *row,
                         struct job_version *version)
{
    size_t step = 0, steps = 0, attempt = 0, attempts = 0;
    while (step < rows->step_count && rows->steps[step].run != row->id)
        step++;
    while (step + steps < rows->step_count && rows->steps[step + steps].run == row->id)
        steps++;
    while (attempt < rows->attempt_count && rows->attempts[attempt].run != row->id)
        attempt++;
    while (attempt + attempts < rows->attempt_count && rows->attempts[attempt + attempts].run == row->id)
        attempts++;
    take(s, row, rows->step_count ? rows->steps + step : NULL, steps,
         rows->attempt_count ? rows->attempts + attempt : NULL, attempts, version);
}

static void version_answered(struct scheduler *s, struct work *work)
{
    struct dead_boot *dead = find(s, work->number);
    if (!dead || !dead->rows)
        return;
    dead->fetching = false;
    const struct store_definitions *d = &work->op.definitions;
    const struct run_row *row = &dead->rows->op.runs_adopt.runs[dead->next_row];
    if (!work_ok(s, work) && work->op.status != STATUS_NOT_FOUND) {
        dead->retry_at = mono_add(s->now.mono, RETRY_PAUSE);
        return;
    }
    struct job_version *version =
        work->op.status == STATUS_OK && d->count ? version_add(s, row->job, row->version, d->rows[0].json) : NULL;
    if (version)
        take_adopted(s, &dead->rows->op.runs_adopt, row, version);
    else
        give_up(s, row, "the version of its job is gone");
    version_unref(s, version);
    dead->next_row++;
}

static void fetch(struct scheduler *s, struct dead_boot *dead, const struct run_row *row)
{
    int64_t *id = mem_new(int64_t);
    *id = row->job;
    struct work *work = work_new(s, STORE_DEFINITIONS, version_answered);
    work->memory = id;
    work->number = dead->boot;
    work->op.definitions.kind = DOCUMENT_JOB;
    work->op.definitions.ids = id;
    work->op.definitions.id_count = 1;
    work->op.definitions.version = row->version;
    dead->fetching = true;
    work_submit(work);
}

static void rows_free(struct dead_boot *dead)
{
    if (!dead->rows)
        return;
    store_op_release(&dead->rows->op);
    free(dead->rows->memory);
    free(dead->rows);
    dead->rows = NULL;
}

static void replay(struct scheduler *s, struct dead_boot *dead)
{
    const struct store_runs_adopt *rows = &dead->rows->op.runs_adopt;
    while (dead->next_row < rows->run_count && !dead->fetching && !batcher_full(s)) {
        const struct run_row *row = &rows->runs[dead->next_row];
        if (driver_find(s, row->id)) {
            dead->next_row++;
            continue;
        }
        struct job_version *version = version_find(s, row->job, row->version);
        if (!version) {
            fetch(s, dead, row);
            return;
        }
        take_adopted(s, rows, row, version);
        dead->next_row++;
    }
    if (dead->next_row < rows->run_count)
        return;
    rows_free(dead);
    dead->phase = DEAD_ADOPT;
    s->busy = true;
}

/* ---- jobs of other owners -------------------------------------------------------------------------------------------
 */

void recovery_others(struct scheduler *s, struct job *job)
{
    for (size_t i = 0; i < s->others.count; i++)
        if (s->others.items[i] == job->id)
            return;
    vec_add(&s->others, job->id);
}

/* Their elders count, and whatever runs; a younger queued one waits for ours. */
static bool counts(const struct job *job, const struct run_row *row)
{
    if (row->state == RUN_RUNNING)
        return true;
    for (const struct open_run *run = job->queue; run; run = run->next)
        if (run->held && run_elder(row, &run->run->row))
            return true;
    return false;
}

static void others_answered(struct scheduler *s, struct work *work)
{
    s->others_asked = false;
    if ((!work_ok(s, work) && work->op.status != STATUS_NOT_FOUND) || !recovery_settled(s)) {
        s->others_retry = mono_add(s->now.mono, RETRY_PAUSE);
        return;
    }
    for (size_t i = 0; i < s->others.count; i++)
        if (s->others.items[i] == work->number)
            vec_remove_swap(&s->others, i);
    struct job *job = job_find(s, work->number);
    if (!job)
        return;
    for (size_t i = 0; i < work->op.triggers.open_run_count; i++)
        if (counts(job, &work->op.triggers.open_runs[i]))
            job_foreign(s, job, &work->op.triggers.open_runs[i]);
    lingers_load(s, work->op.triggers.lingers, work->op.triggers.linger_count);
    for (struct open_run *run = job->queue; run; run = run->next)
        run->held = false;
    turns_wake(s, job);
}

static void ask_others(struct scheduler *s)
{
    if (s->others.count == 0 || s->others_asked)
        return;
    if (mono_cmp(s->now.mono, s->others_retry) < 0) {
        wake_at(s, s->others_retry);
        return;
    }
    struct work *work = work_new(s, STORE_TRIGGERS, others_answered);
    work->number = s->others.items[0];
    work->op.triggers.job = work->number;
    s->others_asked = true;
    work_submit(work);
}

/* ---- step ----------------------------------------------------------------------------------------------------------
 */

static void consider(struct scheduler *s, struct dead_boot *dead)
{
    if (!s->options.sole_owner) {
        if (!s->connected || !s->nodes_known || !ownership_settled(s) || node_alive(s, dead->boot)) {
            dead->since = s->now.mono;
            return;
        }
        mono due = mono_add(dead->since, GONE_GRACE);
        if (mono_cmp(s->now.mono, due) < 0) {
            wake_at(s, due);
            return;
        }
    }
    dead->phase = DEAD_FENCE;
}

static void fence(struct scheduler *s, struct dead_boot *dead)
{
    struct work *work = work_new(s, STORE_BOOT_FENCE, fence_answered);
    work->number = dead->boot;
    work->op.boot_fence.boot = s->boot;
    work->op.boot_fence.dead_boot = dead->boot;
    dead->phase = DEAD_FENCING;
    work_submit(work);
}

bool recovery_unread(const struct scheduler *s)
{
    for (size_t i = 0; i < s->dead.count; i++)
        if (s->dead.items[i].phase == DEAD_ADOPT)
            return true;
    return !recovery_settled(s);
}

void recovery_step(struct scheduler *s)
{
    if (!s->joined || !clock_may_act(s))
        return;
    ask_others(s);
    for (size_t i = 0; i < s->dead.count; i++) {
        struct dead_boot *dead = &s->dead.items[i];
        if (dead->phase == DEAD_DONE)
            continue;
        if (mono_cmp(s->now.mono, dead->retry_at) < 0) {
            wake_at(s, dead->retry_at);
            continue;
        }
        if (dead->phase == DEAD_FENCE && !s->options.sole_owner && node_alive(s, dead->boot)) {
            dead->phase = DEAD_SUSPECT; /* it came back while the store could not be told */
            dead->since = s->now.mono;
        }
        if (dead->phase == DEAD_SUSPECT && node_serves(s))
            consider(s, dead);
        if (dead->phase == DEAD_FENCE)
            fence(s, dead);
        else if (dead->phase == DEAD_LEASE && node_serves(s)) {
            dead->phase = DEAD_LEASING;
            lease_op(s, dead, false);
        } else if (dead->phase == DEAD_ADOPT && dead->reading == 0 && s->feed_seq >= 0 && s->state == SCHEDULER_WORKING)
            dead->reply_lost ? list_own(s, dead) : adopt(s, dead);
        else if (dead->rows)
            replay(s, dead);
    }
}

void recovery_release(struct scheduler *s)
{
    for (size_t i = 0; i < s->dead.count; i++)
        rows_free(&s->dead.items[i]);
    vec_release(&s->others);
}
