/* Pages of runs, newest scheduled first. Open wishes (run, enqueue) stand among them as queued runs: there are few, so
 * they are read whole and merged in here. No index on the state: pages are walked along (project, scheduled_at) or
 * (job, scheduled_at). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/store/rows.h"
#include "adapters/store/store_use.h"
#include "core/model/limits.h"

#define WISHES_MAX 10000 /* open requests shown as runs; more wait unseen until these are done */
#define STATES_ALL ((1U << RUN_STATES) - 1)
#define STATES_OPEN (1U << RUN_QUEUED | 1U << RUN_RUNNING)

struct listing {
    struct session *s;
    struct store_runs_list *op;
    int64_t project; /* 0 = all */
    int64_t jobs[LIST_MAX];
    size_t job_count;
    int64_t after_at, after_id; /* cursor */
    bool after;
    struct run_row *wishes;
    size_t wish_count;
    int64_t run_count;
};

static bool cursor_parse(const char *text, int64_t *at, int64_t *id)
{
    char *end;
    long long first = strtoll(text, &end, 10);
    if (end == text || *end != '_')
        return false;
    const char *rest = end + 1;
    long long second = strtoll(rest, &end, 10);
    *at = first;
    *id = second;
    return end != rest && *end == '\0';
}

/* Few runs are open: an index holds them alone. */
static bool open_only(const struct store_runs_list *op)
{
    unsigned states = op->states & STATES_ALL;
    return states && !(states & ~STATES_OPEN);
}

static void add_from(struct query *q, const struct listing *l)
{
    query_add(q, " FROM run");
    query_add(q, open_only(l->op) ? l->s->db->dialect->use_open_index : "");
}

static void add_states(struct query *q, const struct store_runs_list *op)
{
    unsigned states = op->states & STATES_ALL;
    if (!states || states == STATES_ALL)
        return;
    if (open_only(op))
        query_add(q, " AND open_slot >= 0");
    int64_t list[RUN_STATES];
    size_t count = 0;
    for (unsigned i = 0; i < RUN_STATES; i++)
        if (states & 1U << i)
            list[count++] = (int64_t)i;
    query_add(q, " AND state");
    query_in(q, list, count);
}

static void add_filters(struct query *q, const struct listing *l)
{
    const struct store_runs_list *op = l->op;
    query_add(q, " WHERE 1 = 1");
    if (l->job_count) {
        query_add(q, " AND job");
        query_in(q, l->jobs, l->job_count);
    } else if (l->project) {
        query_with(q, " AND project = ?", db_i(l->project));
    }
    add_states(q, op);
    if (!instant_is_none(op->from))
        query_with(q, " AND scheduled_at >= ?", db_i(op->from.ms));
    if (!instant_is_none(op->to))
        query_with(q, " AND scheduled_at < ?", db_i(op->to.ms));
    if (op->trigger)
        query_with(q, " AND trigger_name = ?", db_t(op->trigger));
    if (op->node)
        query_with(q, " AND node = ?", db_t(op->node));
    if (op->has_error >= 0)
        query_add(q, op->has_error ? " AND error_code IS NOT NULL" : " AND error_code IS NULL");
    if (op->origin >= 0)
        query_with(q, " AND origin = ?", db_i(op->origin));
    if (op->family) {
        query_with(q, " AND (family = ?", db_i(op->family));
        query_with(q, " OR id = ?)", db_i(op->family));
    }
    if (op->text && *op->text) {
        query_with(q, " AND (INSTR(trigger_name, ?) > 0", db_t(op->text));
        query_with(q, " OR INSTR(reason, ?) > 0", db_bytes(op->text));
        query_with(q, " OR INSTR(error_code, ?) > 0)", db_bytes(op->text));
    }
}

static void add_cursor(struct query *q, const struct listing *l)
{
    if (!l->after)
        return;
    query_with(q, " AND scheduled_at <= ?", db_i(l->after_at));
    query_with(q, " AND (scheduled_at < ?", db_i(l->after_at));
    query_with(q, " OR id < ?)", db_i(l->after_id));
}

static enum status count_runs(struct listing *l)
{
    struct query q;
    query_init(&q, "SELECT COUNT(*)");
    add_from(&q, l);
    add_filters(&q, l);
    enum status status = query_open(l->s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        l->run_count = db_number(q.rows, 0);
    l->op->total = l->run_count + (int64_t)l->wish_count;
    return query_close(&q, status);
}

/* ---- wishes --------------------------------------------------------------------------------------------------------
 */

static int newest_first(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    int order = instant_cmp(y->scheduled_at, x->scheduled_at);
    return order ? order : (y->id > x->id) - (y->id < x->id);
}

static bool wish_wanted(const struct listing *l, const struct run_row *run)
{
    const struct store_runs_list *op = l->op;
    if (!instant_is_none(op->from) && instant_cmp(run->scheduled_at, op->from) < 0)
        return false;
    if (!instant_is_none(op->to) && instant_cmp(run->scheduled_at, op->to) >= 0)
        return false;
    if (op->trigger && strcmp(op->trigger, run->trigger) != 0)
        return false;
    return !op->text || strstr(run->trigger, op->text);
}

static enum status read_wishes(struct listing *l)
{
    const struct store_runs_list *op = l->op;
    unsigned states = op->states & STATES_ALL;
    if ((states && !(states & 1U << RUN_QUEUED)) || op->node || op->has_error == 1 || op->family ||
        (op->origin >= 0 && op->origin != ORIGIN_MANUAL))
        return STATUS_OK;
    VEC(struct run_row) rows = {0};
    struct query q;
    query_init(&q, "SELECT " REQUEST_COLUMNS ", q.project FROM request q WHERE q.open_slot >= 0");
    query_with(&q, " AND q.kind <= ?", db_i(REQUEST_ENQUEUE));
    if (l->job_count) {
        query_add(&q, " AND q.job");
        query_in(&q, l->jobs, l->job_count);
    } else if (l->project) {
        query_with(&q, " AND q.project = ?", db_i(l->project));
    }
    query_with(&q, " LIMIT ?", db_i(WISHES_MAX));
    enum status status = query_open(l->s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        struct request_row request;
        struct run_row run;
        request_read(l->s, q.rows, &request);
        request_as_run(l->s, &request, db_number(q.rows, REQUEST_COLUMN_COUNT), &run);
        if (run.trigger && wish_wanted(l, &run))
            vec_add(&rows, run);
    }
    status = query_close(&q, status);
    if (rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, newest_first);
    l->wishes = KEEP(l->s, rows);
    l->wish_count = l->wishes ? rows.count : 0;
    vec_release(&rows);
    return status;
}

/* ---- one page ------------------------------------------------------------------------------------------------------
 */

/* A job's runs are indexed by (job, scheduled_at, trigger, …): to page them without sorting all of them, the time at
 * which the page ends is found first. */
static enum status page_floor(struct listing *l, int64_t rows, int64_t *ret)
{
    struct query q;
    query_init(&q, "SELECT scheduled_at");
    add_from(&q, l);
    add_filters(&q, l);
    add_cursor(&q, l);
    query_with(&q, " ORDER BY scheduled_at DESC LIMIT 1 OFFSET ?", db_i(rows));
    enum status status = query_open(l->s, &q);
    *ret = INT64_MIN;
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *ret = db_number(q.rows, 0);
    return query_close(&q, status);
}

struct run_rows {
    VEC(struct run_row) v;
};

static enum status read_runs(struct listing *l, int64_t offset, int64_t limit, struct run_rows *rows)
{
    int64_t floor = INT64_MIN;
    if (offset >= l->run_count)
        return STATUS_OK;
    enum status status = l->job_count == 1 ? page_floor(l, offset + limit, &floor) : STATUS_OK;
    struct query q;
    query_init(&q, "SELECT " RUN_COLUMNS);
    add_from(&q, l);
    add_filters(&q, l);
    add_cursor(&q, l);
    if (floor != INT64_MIN)
        query_with(&q, " AND scheduled_at >= ?", db_i(floor));
    query_with(&q, " ORDER BY scheduled_at DESC, id DESC LIMIT ?", db_i(limit));
    query_with(&q, " OFFSET ?", db_i(offset));
    if (status == STATUS_OK)
        status = query_open(l->s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        run_read(l->s, q.rows, vec_push(&rows->v));
    return query_close(&q, status);
}

static bool past_cursor(const struct listing *l, const struct run_row *run)
{
    return !l->after || run->scheduled_at.ms < l->after_at ||
           (run->scheduled_at.ms == l->after_at && run->id < l->after_id);
}

/* Merge runs (fetched from `offset` on) and wishes; keep what lies in [skip, skip + limit), and one more if there is.
 */
static struct run_rows merge(const struct listing *l, const struct run_rows *runs, int64_t offset, int64_t skip,
                             int64_t limit)
{
    struct run_rows page = {0};
    size_t wish = 0, run = 0;
    /* Wishes before the first fetched run lie on earlier pages, unless nothing was left out before it. */
    while (offset > 0 && wish < l->wish_count && runs->v.count && newest_first(&l->wishes[wish], &runs->v.items[0]) < 0)
        wish++;
    int64_t position = offset + (int64_t)wish;
    while (page.v.count < (size_t)limit + 1 && (run < runs->v.count || wish < l->wish_count)) {
        bool take_wish =
            wish < l->wish_count && (run >= runs->v.count || newest_first(&l->wishes[wish], &runs->v.items[run]) < 0);
        const struct run_row *row = take_wish ? &l->wishes[wish++] : &runs->v.items[run++];
        if (!past_cursor(l, row))
            continue;
        if (position++ >= skip)
            vec_add(&page.v, *row);
    }
    return page;
}

static enum status add_names(struct listing *l)
{
    struct store_runs_list *op = l->op;
    op->jobs = arena_array(l->s->arena, const char *, op->count);
    op->projects = arena_array(l->s->arena, const char *, op->count);
    int64_t *ids = mem_alloc(op->count * sizeof *ids);
    if (!op->jobs || !op->projects)
        l->s->no_room = true;
    for (size_t i = 0; i < op->count; i++)
        ids[i] = op->rows[i].job;
    size_t count = int64_unique(ids, op->count);
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK && !l->s->no_room; at += n) {
        n = piece_length(at, count);
        struct query q;
        query_init(&q, "SELECT d.id, d.name, p.name FROM job d JOIN project p ON p.id = d.project_id WHERE d.id");
        query_in(&q, ids + at, n);
        status = query_open(l->s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
            const char *job = session_text(l->s, q.rows, 1), *project = session_text(l->s, q.rows, 2);
            for (size_t i = 0; i < op->count; i++)
                if (op->rows[i].job == db_number(q.rows, 0)) {
                    op->jobs[i] = job;
                    op->projects[i] = project;
                }
        }
        status = query_close(&q, status);
    }
    for (size_t i = 0; i < op->count && !l->s->no_room; i++) {
        op->jobs[i] = op->jobs[i] ? op->jobs[i] : "";
        op->projects[i] = op->projects[i] ? op->projects[i] : "";
    }
    free(ids);
    return status;
}

static enum status read_page(struct listing *l)
{
    struct store_runs_list *op = l->op;
    int64_t limit = op->limit > 0 && op->limit <= LIMIT_BATCH_ITEMS ? op->limit : 100;
    int64_t skip = op->skip > 0 && !l->after ? op->skip : 0;
    int64_t wishes = (int64_t)l->wish_count;
    int64_t offset = skip > wishes ? skip - wishes : 0;
    struct run_rows runs = {0};
    enum status status = read_runs(l, offset, limit + 1 + (skip - offset), &runs);
    struct run_rows page = merge(l, &runs, offset, skip, limit);
    bool more = page.v.count > (size_t)limit;
    if (more)
        page.v.count = (size_t)limit;
    op->rows = KEEP(l->s, page.v);
    op->count = op->rows ? page.v.count : 0;
    if (more && op->count) {
        char cursor[64];
        (void)snprintf(cursor, sizeof cursor, "%lld_%lld", (long long)op->rows[op->count - 1].scheduled_at.ms,
                       (long long)op->rows[op->count - 1].id);
        op->next_cursor = session_copy(l->s, cursor);
    }
    vec_release(&runs.v);
    vec_release(&page.v);
    return status;
}

enum status sql_runs_list(struct session *s, struct store_runs_list *op)
{
    struct listing *l = mem_new(struct listing);
    enum status status = STATUS_OK;
    l->s = s;
    l->op = op;
    op->rows = NULL;
    op->count = 0;
    op->total = 0;
    op->next_cursor = NULL;
    if (op->cursor && *op->cursor) {
        l->after = cursor_parse(op->cursor, &l->after_at, &l->after_id);
        if (!l->after)
            status = error_set(s->error, STATUS_INVALID, "the cursor is not one that was given out");
    }
    if (status == STATUS_OK && op->project)
        status = project_find(s, op->project, &l->project);
    bool none = false;
    if (status == STATUS_OK && op->job) {
        status = jobs_named(s, l->project, op->job, l->jobs, &l->job_count);
        none = l->job_count == 0;
    }
    if (status == STATUS_OK && !none)
        status = read_wishes(l);
    if (status == STATUS_OK && !none)
        status = count_runs(l);
    if (status == STATUS_OK && !none && !op->count_only)
        status = read_page(l);
    if (status == STATUS_OK && op->count)
        status = add_names(l);
    free(l);
    return status;
}
