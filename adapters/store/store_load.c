/* What an owner reads when it begins to rule slots. A trigger stands at the newest of: its slot's decided_through, its
 * newest generation-0 run, the end of its newest skip; and it is ruled by its newest version activation. Runs and skips
 * are looked at only from decided_through on, so that the cost does not grow with history. */
#include <stdlib.h>
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

#define SAME_TIME (10 * SPAN_MINUTE) /* jobs whose bounds lie this close share one query */

static int cursor_compare(const void *a, const void *b)
{
    const struct trigger_cursor *x = a, *y = b;
    if (x->job != y->job)
        return (x->job > y->job) - (x->job < y->job);
    return strcmp(x->trigger ? x->trigger : "", y->trigger ? y->trigger : "");
}

struct cursor_range {
    struct trigger_cursor *rows; /* sorted by job, trigger */
    size_t count;
};

static struct trigger_cursor *cursor_find(struct cursor_range *range, int64_t job, const char *trigger)
{
    struct trigger_cursor key = {.job = job, .trigger = trigger};
    return range->count ? bsearch(&key, range->rows, range->count, sizeof key, cursor_compare) : NULL;
}

/* A text of the present row, for a look-up only. */
static const char *row_name(struct db_statement *q, unsigned column, char buffer[LIMIT_NAME + 64])
{
    size_t length;
    const void *bytes = db_column(q, column, &length);
    if (length > LIMIT_NAME + 63)
        length = LIMIT_NAME + 63;
    if (bytes)
        memcpy(buffer, bytes, length);
    buffer[bytes ? length : 0] = '\0';
    return buffer;
}

/* Those that the newest version has dropped, too: until it is activated they rule, and what they promised is decided.
 */
static enum status read_triggers(struct session *s, const int64_t *jobs, size_t count, struct cursors *ret)
{
    struct query q;
    query_init(&q, "SELECT job, name FROM `trigger` WHERE job");
    query_in(&q, jobs, count);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&ret->rows) = (struct trigger_cursor){.job = db_number(q.rows, 0),
                                                        .trigger = session_text(s, q.rows, 1),
                                                        .from = INSTANT_NONE,
                                                        .decided = INSTANT_NONE};
    return query_close(&q, status);
}

static void activate(struct trigger_cursor *cursor, int64_t version, instant from)
{
    int order = instant_cmp(from, cursor->from);
    if (order < 0 || (order == 0 && version < cursor->version))
        return;
    cursor->from = from;
    cursor->version = version;
}

static enum status read_activations(struct session *s, const int64_t *jobs, size_t count, struct cursor_range *range)
{
    char name[LIMIT_NAME + 64];
    struct query q;
    query_init(&q,
               "SELECT a.job, a.trigger_name, a.version, a.from_at FROM activation a JOIN (SELECT job, trigger_name, "
               "MAX(from_at) AS newest FROM activation WHERE kind = 0 AND job");
    query_in(&q, jobs, count);
    query_add(&q, " GROUP BY job, trigger_name) m ON m.job = a.job AND m.trigger_name = a.trigger_name AND "
                  "m.newest = a.from_at WHERE a.kind = 0");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        int64_t job = db_number(q.rows, 0), version = db_number(q.rows, 2);
        instant from = db_instant(q.rows, 3);
        if (*row_name(q.rows, 1, name)) {
            struct trigger_cursor *cursor = cursor_find(range, job, name);
            if (cursor)
                activate(cursor, version, from);
            continue;
        }
        for (size_t i = 0; i < range->count; i++)
            if (range->rows[i].job == job)
                activate(&range->rows[i], version, from);
    }
    return query_close(&q, status);
}

/* `newest`: "SELECT job, trigger_name, MAX(x) FROM …", `time`: the column compared with the bound. */
static enum status read_newest(struct session *s, const char *newest, const char *time, const int64_t *jobs,
                               size_t count, instant bound, struct cursor_range *range)
{
    char name[LIMIT_NAME + 64];
    struct query q;
    query_init(&q, newest);
    query_in(&q, jobs, count);
    if (!instant_is_none(bound)) {
        query_with(&q, " AND day >= ? AND ", db_i(day_of(bound)));
        query_add(&q, time);
        query_with(&q, " >= ?", db_i(bound.ms));
    }
    query_add(&q, " GROUP BY job, trigger_name");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        struct trigger_cursor *cursor = cursor_find(range, db_number(q.rows, 0), row_name(q.rows, 1, name));
        if (cursor)
            cursor->decided = instant_max(cursor->decided, db_instant(q.rows, 2));
    }
    return query_close(&q, status);
}

static int through_compare(const void *a, const void *b)
{
    const struct job_through *x = a, *y = b;
    int order = instant_cmp(x->through, y->through);
    return order ? order : (x->job > y->job) - (x->job < y->job);
}

static int through_by_job(const void *a, const void *b)
{
    const struct job_through *x = a, *y = b;
    return (x->job > y->job) - (x->job < y->job);
}

static void lay_slots_bound(struct cursor_range *range, struct job_through *jobs, size_t count)
{
    qsort(jobs, count, sizeof *jobs, through_by_job);
    for (size_t i = 0; i < range->count; i++) {
        struct trigger_cursor *cursor = &range->rows[i];
        struct job_through key = {.job = cursor->job};
        const struct job_through *job = bsearch(&key, jobs, count, sizeof key, through_by_job);
        if (job && cursor->version && instant_cmp(job->through, cursor->from) >= 0)
            cursor->decided = instant_max(cursor->decided, job->through);
    }
}

static enum status cursors_of_piece(struct session *s, struct job_through *jobs, size_t count, struct cursors *ret)
{
    int64_t ids[LIST_MAX];
    for (size_t i = 0; i < count; i++)
        ids[i] = jobs[i].job;
    instant bound = jobs[0].through;
    size_t first = ret->rows.count;
    enum status status = read_triggers(s, ids, count, ret);
    struct cursor_range range = {.count = ret->rows.count - first};
    if (status != STATUS_OK || !range.count)
        return status;
    range.rows = ret->rows.items + first;
    qsort(range.rows, range.count, sizeof *range.rows, cursor_compare);
    status = read_activations(s, ids, count, &range);
    if (status == STATUS_OK)
        status = read_newest(s, "SELECT job, trigger_name, MAX(scheduled_at) FROM run WHERE generation = 0 AND job",
                             "scheduled_at", ids, count, bound, &range);
    if (status == STATUS_OK)
        status = read_newest(s, "SELECT job, trigger_name, MAX(to_at) FROM skip WHERE job", "to_at", ids, count, bound,
                             &range);
    lay_slots_bound(&range, jobs, count);
    return status;
}

enum status cursors_of_jobs(struct session *s, struct job_through *jobs, size_t count, struct cursors *ret)
{
    enum status status = STATUS_OK;
    if (!count)
        return status;
    qsort(jobs, count, sizeof *jobs, through_compare);
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        size_t most = piece_length(at, count);
        for (n = 1; n < most && instant_is_none(jobs[at + n].through) == instant_is_none(jobs[at].through) &&
                    instant_sub(jobs[at + n].through, jobs[at].through) <= SAME_TIME;
             n++)
            continue;
        status = cursors_of_piece(s, jobs + at, n, ret);
    }
    return status;
}

enum status states_of_jobs(struct session *s, const int64_t *jobs, size_t count, struct states *ret)
{
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_length(at, count);
        struct query q;
        query_init(&q, "SELECT " STATE_COLUMNS " FROM trigger_state WHERE job");
        query_in(&q, jobs + at, n);
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
            state_read(s, q.rows, vec_push(&ret->rows));
        status = query_close(&q, status);
    }
    return status;
}

/* ---- SLOTS_LOAD ----------------------------------------------------------------------------------------------------
 */

struct load {
    VEC(struct definition_row) jobs;
    VEC(struct job_through) places;
    VEC(int64_t) ids;
    VEC(struct run_row) open_runs;
    struct cursors cursors;
    struct states states;
    struct lingers lingers;
    instant through[CLAIM_SLOTS_ALL];
};

static enum status load_slots(struct session *s, const int64_t *slots, size_t count, int64_t boot, struct load *load)
{
    struct query q;
    query_init(&q, "SELECT slot, decided_through FROM slot WHERE slot");
    query_in(&q, slots, count);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        if (db_number(q.rows, 0) >= 0 && db_number(q.rows, 0) < CLAIM_SLOTS_ALL)
            load->through[db_number(q.rows, 0)] = db_instant(q.rows, 1);
    status = query_close(&q, status);
    if (status != STATUS_OK)
        return status;
    query_init(&q, "SELECT " DEFINITION_COLUMNS DEFINITION_JOB
                   " FROM job d JOIN project p ON p.id = d.project_id WHERE d.slot");
    query_in(&q, slots, count);
    query_add(&q, " AND (d.live = 1 OR d.pending_delete = 1)");
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        struct definition_row *job = vec_push(&load->jobs);
        definition_read(s, q.rows, DOCUMENT_JOB, job);
        vec_add(&load->ids, job->id);
        vec_add(&load->places, ((struct job_through){job->id, load->through[job->slot]}));
    }
    status = query_close(&q, status);
    if (status != STATUS_OK)
        return status;
    query_init(&q, "SELECT " RUN_COLUMNS " FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_add(&q, " WHERE open_slot");
    query_in(&q, slots, count);
    query_with(&q, " AND boot <> ?", db_i(boot));
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        run_read(s, q.rows, vec_push(&load->open_runs));
    status = query_close(&q, status);
    return status == STATUS_OK ? lingers_read(s, LINGER_SLOT, slots, count, &load->lingers) : status;
}

static int job_compare(const void *a, const void *b)
{
    const struct definition_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

enum status sql_slots_load(struct session *s, struct store_slots_load *op)
{
    for (size_t i = 0; i < op->slot_count; i++)
        if (op->slots[i] < 0 || op->slots[i] >= CLAIM_SLOTS_ALL)
            return error_set(s->error, STATUS_INVALID, "there is no slot %d", (int)op->slots[i]);
    struct load *load = mem_new(struct load);
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < op->slot_count && status == STATUS_OK; at += n) {
        int64_t slots[LIST_MAX];
        n = piece_length(at, op->slot_count);
        for (size_t i = 0; i < n; i++)
            slots[i] = op->slots[at + i];
        status = load_slots(s, slots, n, op->boot, load);
    }
    if (status == STATUS_OK)
        status = cursors_of_jobs(s, load->places.items, load->places.count, &load->cursors);
    if (status == STATUS_OK)
        status = states_of_jobs(s, load->ids.items, load->ids.count, &load->states);
    if (load->jobs.count)
        qsort(load->jobs.items, load->jobs.count, sizeof *load->jobs.items, job_compare);
    op->jobs = KEEP(s, load->jobs);
    op->job_count = load->jobs.count;
    op->cursors = KEEP(s, load->cursors.rows);
    op->cursor_count = load->cursors.rows.count;
    op->states = KEEP(s, load->states.rows);
    op->state_count = load->states.rows.count;
    op->open_runs = KEEP(s, load->open_runs);
    op->open_run_count = load->open_runs.count;
    op->lingers = KEEP(s, load->lingers.rows);
    op->linger_count = load->lingers.rows.count;
    vec_release(&load->lingers.rows);
    vec_release(&load->jobs);
    vec_release(&load->places);
    vec_release(&load->ids);
    vec_release(&load->open_runs);
    vec_release(&load->cursors.rows);
    vec_release(&load->states.rows);
    free(load);
    return status;
}

struct watched {
    VEC(struct job_through) places;
    VEC(int64_t) ids, slots, runs;
    struct cursors cursors;
    struct states states;
    struct lingers lingers;
    VEC(struct run_row) open_runs;
};

static enum status watch_places(struct session *s, const int64_t *jobs, size_t count, struct watched *w)
{
    struct query q;
    query_init(&q, "SELECT j.id, j.slot, s.decided_through FROM job j JOIN slot s ON s.slot = j.slot WHERE j.id");
    query_in(&q, jobs, count);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        vec_add(&w->ids, db_number(q.rows, 0));
        vec_add(&w->slots, db_number(q.rows, 1));
        vec_add(&w->places, ((struct job_through){db_number(q.rows, 0), db_instant(q.rows, 2)}));
    }
    return query_close(&q, status);
}

static enum status watch_runs(struct session *s, size_t at, size_t n, struct watched *w)
{
    struct query q;
    query_init(&q, "SELECT " RUN_COLUMNS " FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_add(&q, " WHERE open_slot");
    query_in(&q, w->slots.items + at, n);
    query_add(&q, " AND job");
    query_in(&q, w->ids.items + at, n);
    query_add(&q, " ORDER BY id");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        run_read(s, q.rows, vec_push(&w->open_runs));
        vec_add(&w->runs, w->open_runs.items[w->open_runs.count - 1].id);
    }
    return query_close(&q, status);
}

/* Steps that wait with a reason. */
static enum status watch_steps(struct session *s, struct watched *w, struct store_triggers *op)
{
    struct step_row *steps = NULL;
    size_t count = 0;
    w->runs.count = int64_unique(w->runs.items, w->runs.count);
    enum status status = steps_of_runs(s, w->runs.items, w->runs.count, &steps, &count);
    op->waiting_count = 0;
    for (size_t i = 0; steps && i < count; i++)
        if (steps[i].state == STEP_WAITING && steps[i].reason)
            steps[op->waiting_count++] = steps[i];
    op->waiting = steps;
    return status;
}

enum status sql_triggers(struct session *s, struct store_triggers *op)
{
    const int64_t *jobs = op->job ? &op->job : op->jobs;
    size_t count = op->job ? 1 : op->job_count;
    struct watched w = {0};
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_length(at, count);
        status = watch_places(s, jobs + at, n, &w);
    }
    if (status == STATUS_OK && op->job && !w.ids.count)
        status = error_set(s->error, STATUS_NOT_FOUND, "there is no such job");
    if (status == STATUS_OK)
        status = cursors_of_jobs(s, w.places.items, w.places.count, &w.cursors);
    if (status == STATUS_OK)
        status = states_of_jobs(s, w.ids.items, w.ids.count, &w.states);
    if (status == STATUS_OK)
        status = lingers_read(s, LINGER_JOB, w.ids.items, w.ids.count, &w.lingers);
    for (size_t at = 0, n; at < w.ids.count && status == STATUS_OK; at += n) {
        n = piece_length(at, w.ids.count);
        status = watch_runs(s, at, n, &w);
    }
    if (status == STATUS_OK)
        status = watch_steps(s, &w, op);
    op->cursors = KEEP(s, w.cursors.rows);
    op->cursor_count = w.cursors.rows.count;
    op->states = KEEP(s, w.states.rows);
    op->state_count = w.states.rows.count;
    op->open_runs = KEEP(s, w.open_runs);
    op->open_run_count = w.open_runs.count;
    op->lingers = KEEP(s, w.lingers.rows);
    op->linger_count = w.lingers.rows.count;
    vec_release(&w.lingers.rows);
    vec_release(&w.places);
    vec_release(&w.ids);
    vec_release(&w.slots);
    vec_release(&w.runs);
    vec_release(&w.cursors.rows);
    vec_release(&w.states.rows);
    vec_release(&w.open_runs);
    return status;
}
