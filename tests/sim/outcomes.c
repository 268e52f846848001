/* What must have become of single things when all is healed: instants of `delay` and `at` triggers, retries, edits,
 * requests. Like the ledger in invariants.c it asks the rows alone. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/scenario.h"

/* The whole job, which is all that people pause here. */
static bool paused(const struct db *db, int64_t job)
{
    for (size_t i = 0; i < db->states.count; i++)
        if (db->states.items[i].row.job == job && !*db->states.items[i].trigger)
            return db->states.items[i].row.job_paused;
    return false;
}

static bool scheduled(const struct run_row *run, int64_t job)
{
    return run->job == job && run->generation == 0 && !strcmp(run->trigger, "t");
}

static bool long_ago(const struct world *world, int64_t at)
{
    return at < world->now - SIM_PATIENCE;
}

/* ---- delay ---------------------------------------------------------------------------------------------------------
 */

static const struct run_row *next_run(const struct db *db, int64_t job, int64_t after)
{
    const struct run_row *found = NULL;
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *run = &db->order.items[i]->row;
        if (scheduled(run, job) && run->scheduled_at.ms > after &&
            (!found || run->scheduled_at.ms < found->scheduled_at.ms))
            found = run;
    }
    return found;
}

/* Newest skip or activation in (after, until]; INT64_MIN: none. */
static int64_t newest_other(const struct db *db, int64_t job, int64_t after, int64_t until)
{
    int64_t newest = INT64_MIN;
    for (size_t i = 0; i < db->skips.count; i++) {
        int64_t at = db->skips.items[i].row.to.ms;
        if (db->skips.items[i].row.job == job && at > after && at <= until && at > newest)
            newest = at;
    }
    for (size_t i = 0; i < db->activations.count; i++) {
        int64_t at = db->activations.items[i].row.from.ms;
        if (db->activations.items[i].row.job == job && at > after && at <= until && at > newest)
            newest = at;
    }
    return newest;
}

static void check_spacing(struct world *world, const struct sim_job *job, const struct run_row *a,
                          const struct run_row *b)
{
    int64_t due = a->ended_at.ms + job->period[b->version];
    if (!run_state_terminal(a->state))
        world_break(world, "%s: run %lld was fired before %lld has ended", job->name, (long long)b->id,
                    (long long)a->id);
    else if (a->version == b->version && b->scheduled_at.ms < due) /* an edit counts anew; a take-over may come later */
        world_break(world, "%s: run %lld stands %lld ms after the end of %lld, its delay is %lld ms", job->name,
                    (long long)b->id, (long long)(b->scheduled_at.ms - a->ended_at.ms), (long long)a->id,
                    (long long)job->period[b->version]);
}

static void check_delay(struct world *world, const struct sim_job *job)
{
    const struct db *db = &world->db;
    const struct run_row *last = NULL;
    for (const struct run_row *run; (run = next_run(db, job->id, last ? last->scheduled_at.ms : INT64_MIN)); last = run)
        if (last)
            check_spacing(world, job, last, run);
    if (job->deleted || paused(db, job->id) || (last && !run_state_terminal(last->state)))
        return;
    int64_t since = newest_other(db, job->id, INT64_MIN, INT64_MAX);
    since = last && last->ended_at.ms > since ? last->ended_at.ms : since;
    if (long_ago(world, since + job->period[job->version]))
        world_break(world, "invariant 2: %s stands still since %.3f", job->name, (double)(since - world->begin) / 1000);
}

/* ---- at ------------------------------------------------------------------------------------------------------------
 */

static void check_at(struct world *world, const struct sim_job *job)
{
    const struct db *db = &world->db;
    int outcomes = 0;
    bool promised = false;
    for (size_t i = 0; i < db->order.count; i++)
        outcomes += scheduled(&db->order.items[i]->row, job->id);
    for (size_t i = 0; i < db->skips.count; i++)
        outcomes += db->skips.items[i].row.job == job->id;
    for (size_t i = 0; i < db->activations.count; i++) {
        const struct activation_row *row = &db->activations.items[i].row;
        if (row->job != job->id || row->from.ms > job->at)
            continue;
        promised = row->kind != ACTIVATION_DELETE;
    }
    promised = promised && !paused(db, job->id) && long_ago(world, job->at);
    if (outcomes > 1 || (promised && !outcomes))
        world_break(world, "invariant 2: the one instant of %s has %d outcomes", job->name, outcomes);
}

/* ---- edits and requests --------------------------------------------------------------------------------------------
 */

static void check_edits(struct world *world, const struct sim_job *job)
{
    const struct db *db = &world->db;
    const struct db_job *row = db_find_job(&world->db, job->id);
    int64_t version = 0, wish = REQUEST_RESUME;
    bool gone = false, settled = true;
    for (size_t i = 0; i < db->activations.count; i++)
        if (db->activations.items[i].row.job == job->id) {
            gone = gone || db->activations.items[i].row.kind == ACTIVATION_DELETE;
            if (db->activations.items[i].row.kind == ACTIVATION_VERSION)
                version = db->activations.items[i].row.version;
        }
    if (!row || !long_ago(world, row->versions[row->version_count - 1].created_at))
        return;
    if (job->deleted ? version && !gone : version != job->version)
        world_break(world, "invariant 9: version %lld of %s rules, version %lld%s was acknowledged", (long long)version,
                    job->name, (long long)job->version, job->deleted ? " and then its end" : "");
    for (size_t i = 0; i < db->requests.count; i++) {
        const struct request_row *request = &db->requests.items[i].row;
        if (request->job != job->id || (request->kind != REQUEST_PAUSE && request->kind != REQUEST_RESUME))
            continue;
        wish = request->kind;
        settled = long_ago(world, request->created_at.ms);
    }
    if (row->suspended && !job->deleted && settled && !paused(db, job->id))
        world_break(world, "%s is called suspended, and is not", job->name);
    if (!job->deleted && settled && !row->suspended && paused(db, job->id) != (wish == REQUEST_PAUSE))
        world_break(world, "invariant 9: %s is %s, but the last wish was another", job->name,
                    paused(db, job->id) ? "paused" : "active");
}

void check_requests(struct world *world)
{
    const struct db *db = &world->db;
    for (size_t i = 0; i < db->requests.count; i++) {
        const struct db_request *request = &db->requests.items[i];
        const struct db_run *run = request->row.run ? db_find_run(&world->db, request->row.run) : NULL;
        if (!long_ago(world, request->row.created_at.ms))
            continue;
        if (!request->outcome)
            world_break(world, "invariant 9: request %lld (kind %d) of job %lld is still open",
                        (long long)request->row.id, (int)request->row.kind, (long long)request->row.job);
        else if (run && !strcmp(request->outcome, "canceled") && !run_state_terminal(run->row.state))
            world_break(world, "invariant 9: run %lld was canceled long ago and is still %s", (long long)run->id,
                        run_state_text(run->row.state));
    }
}

/* ---- suspension ----------------------------------------------------------------------------------------------------
 */

/* The newest ended runs since the last resume, as many as the job allows to fail in a row: have they all failed, long
 * ago? */
static bool failed_enough(struct world *world, const struct sim_job *job)
{
    const struct db *db = &world->db;
    int64_t since = INT64_MIN, before = INT64_MAX;
    for (size_t i = 0; i < db->activations.count; i++)
        if (db->activations.items[i].row.job == job->id && db->activations.items[i].row.kind == ACTIVATION_RESUME)
            since = db->activations.items[i].row.from.ms;
    for (int n = 0; n < job->failures[job->version]; n++) {
        const struct run_row *newest = NULL;
        for (size_t i = 0; i < db->order.count; i++) {
            const struct run_row *run = &db->order.items[i]->row;
            bool counts = run->job == job->id && run_state_terminal(run->state) && run->state != RUN_CANCELED;
            if (counts && run->ended_at.ms < before && (!newest || run->ended_at.ms > newest->ended_at.ms))
                newest = run;
        }
        if (!newest || newest->ended_at.ms <= since || newest->state == RUN_SUCCEEDED ||
            (n == 0 && !long_ago(world, newest->ended_at.ms)))
            return false;
        if (newest->version != job->version) /* its version may have said otherwise */
            return false;
        before = newest->ended_at.ms;
    }
    return job->failures[job->version] > 0;
}

static void check_suspension(struct world *world, const struct sim_job *job)
{
    if (!job->deleted && failed_enough(world, job) && !paused(&world->db, job->id))
        world_break(world, "%s goes on though its last %d runs have failed", job->name, job->failures[job->version]);
}

/* ---- retries -------------------------------------------------------------------------------------------------------
 */

/* Whoever drives the run to its end, and whatever became of the slot meanwhile. */
static void check_retry(struct world *world, const struct sim_job *job, const struct db_run *row)
{
    const struct run_row *run = &row->row;
    int children = 0;
    bool due = run->state == RUN_FAILED && run->retry_no < job->retries[run->version] &&
               long_ago(world, run->ended_at.ms) && !job->deleted;
    for (size_t i = 0; i < world->db.order.count; i++)
        children += world->db.order.items[i]->row.retry_of == run->id;
    if (children > 1 || (due && !children))
        world_break(world, "run %lld of %s has failed (retry %d of %d) and has %d retries", (long long)run->id,
                    job->name, run->retry_no, job->retries[run->version], children);
}

void check_outcomes(struct world *world, const struct sim_job *job)
{
    if (job->kind == SIM_DELAY)
        check_delay(world, job);
    else if (job->kind == SIM_AT)
        check_at(world, job);
    check_edits(world, job);
    check_suspension(world, job);
    for (size_t i = 0; i < world->db.order.count; i++)
        if (world->db.order.items[i]->row.job == job->id)
            check_retry(world, job, world->db.order.items[i]);
}
