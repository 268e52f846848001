/* Schedulers: what each told, what it holds, what it is asked to do; and jobs moved to one of them by hand. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/definitions.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"

#define RUNS_SHOWN 100 /* of a scheduler */
#define RUNS_NAMED 20  /* of those that a drain still waits for */

static bool is_scheduler(const struct node_row *row)
{
    return strcmp(row->role ? row->role : "", "orchestrator") != 0;
}

static bool is_down(const struct call *call, const struct node_row *row)
{
    span timeout = call->o->options.settings->coordination.node_timeout;
    return !row->boot || row->fenced || instant_is_none(row->seen_at) ||
           instant_sub(call->now.wall, row->seen_at) >= timeout;
}

/* working: claims and fires; draining: gives its slots away and ends its runs; offline: alive, holds nothing, claims
 * nothing; down: gone. */
static const char *state_of(const struct call *call, const struct node_row *row)
{
    if (is_down(call, row))
        return "down";
    if (row->wish == NODE_WORK) /* of itself only when it was told to end (SIGTERM) */
        return row->draining ? "draining" : "working";
    return row->slots || row->runs_open ? "draining" : "offline";
}

/* The share of its capacity from which a scheduler alarms is taken from our own settings. */
static bool alarms(const struct call *call, const struct node_row *row)
{
    int64_t percent = call->o->options.settings->scheduler.alarm_at;
    return row->capacity > 0 && row->jobs >= (row->capacity * percent + 99) / 100;
}

static bool may_see(const struct call *call, const struct node_run *run)
{
    return !*call->who.project || !strcmp(call->who.project, run->project ? run->project : "");
}

/* The oldest of its runs by their ids, and how many there are in all. Few nodes drain at a time, so each is asked for
 * alone; a store that does not answer costs the ids, not the rest. */
static void write_waits(struct call *call, const struct node_row *row, struct out *out)
{
    struct store_op op;
    store_op_init(&op, STORE_NODES);
    op.nodes.node = row->node;
    op.nodes.run_limit = RUNS_NAMED;
    bool known = row->runs_open && call_store(call, &op) == STATUS_OK;
    out_open(out, "waits_for", '{');
    out_int(out, "slots", row->slots);
    out_open(out, "runs", '[');
    for (size_t i = 0; known && i < op.nodes.run_count; i++)
        if (may_see(call, &op.nodes.runs[i]))
            out_id(out, NULL, op.nodes.runs[i].run);
    out_close(out, ']');
    out_int(out, "total", row->runs_open);
    out_close(out, '}');
    store_op_release(&op);
}

static void write_members(struct call *call, const struct node_row *row, struct out *out)
{
    const char *state = state_of(call, row);
    bool draining = !strcmp(state, "draining");
    out_text(out, "node", row->node);
    out_id(out, "boot", row->boot);
    out_text(out, "address", row->address);
    out_text(out, "role", row->role);
    out_text(out, "version", row->version && *row->version ? row->version : NULL);
    out_text(out, "state", state);
    out_text(out, "wish", node_wish_text(row->wish));
    out_text(out, "wish_by", row->wish_by);
    out_time(out, "wish_at", row->wish_at);
    out_bool(out, "fenced", row->fenced);
    out_time(out, "first_seen", row->first_seen);
    out_time(out, "started_at", row->started_at);
    out_time(out, "seen_at", row->seen_at);
    out_text(out, "pool", row->pool && *row->pool ? row->pool : NULL);
    out_int(out, "weight", row->weight);
    out_int(out, "capacity", row->capacity);
    out_bool(out, "alarm", alarms(call, row));
    out_int(out, "slots", row->slots);
    out_int(out, "jobs", row->jobs);
    out_int(out, "runs", row->runs_open);
    if (draining)
        write_waits(call, row, out);
    else
        out_json(out, "waits_for", "null");
}

static void write_scheduler(struct call *call, const struct node_row *row, struct out *out)
{
    out_open(out, NULL, '{');
    write_members(call, row, out);
    out_close(out, '}');
}

void schedulers_list(struct call *call)
{
    struct store_op op;
    struct out out = out_to(call_body(call));
    store_op_init(&op, STORE_NODES);
    if (call_store(call, &op) == STATUS_OK) {
        int64_t total = 0;
        out_page_begin(&out);
        for (size_t i = 0; i < op.nodes.count; i++)
            if (is_scheduler(&op.nodes.rows[i])) {
                write_scheduler(call, &op.nodes.rows[i], &out);
                total++;
            }
        out_page_end(&out, total);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

/* ---- one ----------------------------------------------------------------------------------------------------------
 */

/* The row and its runs; `op` must be released when true. */
static bool fetch(struct call *call, struct store_op *op)
{
    store_op_init(op, STORE_NODES);
    op->nodes.node = call->name;
    op->nodes.run_limit = RUNS_SHOWN;
    enum status status = call_store(call, op);
    if (status == STATUS_OK && is_scheduler(&op->nodes.rows[0]))
        return true;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        call_fail(call, SCHEDULER_UNKNOWN, "node", call->name, NULL);
    else
        problem_of_store(&call->problem, op);
    store_op_release(op);
    return false;
}

static void write_slots(const char *node, const struct store_slots_read *slots, struct out *out)
{
    out_open(out, "held", '[');
    for (size_t i = 0; i < slots->count; i++) {
        const struct slot_row *slot = &slots->rows[i];
        if (!slot->owner_node || strcmp(slot->owner_node, node) != 0)
            continue;
        out_open(out, NULL, '{');
        out_int(out, "slot", slot->slot);
        out_time(out, "since", slot->since);
        out_int(out, "jobs", slot->jobs);
        out_close(out, '}');
    }
    out_close(out, ']');
}

/* A token of one project is told of its own runs alone. */
static void write_runs(const struct call *call, const struct store_nodes *nodes, struct out *out)
{
    out_open(out, "running", '[');
    for (size_t i = 0; i < nodes->run_count; i++) {
        const struct node_run *run = &nodes->runs[i];
        if (!may_see(call, run))
            continue;
        out_open(out, NULL, '{');
        out_id(out, "run", run->run);
        out_text(out, "project", run->project);
        out_text(out, "job", run->job);
        out_text(out, "state", run_state_text(run->state));
        out_time(out, "fired_at", run->fired_at);
        out_close(out, '}');
    }
    out_close(out, ']');
}

void scheduler_get(struct call *call)
{
    struct store_op op, slots;
    struct out out = out_to(call_body(call));
    if (!fetch(call, &op))
        return;
    store_op_init(&slots, STORE_SLOTS_READ);
    if (call_store(call, &slots) == STATUS_OK) {
        out_open(&out, NULL, '{');
        write_members(call, &op.nodes.rows[0], &out);
        write_slots(call->name, &slots.slots_read, &out);
        write_runs(call, &op.nodes, &out);
        out_close(&out, '}');
    } else {
        problem_of_store(&call->problem, &slots);
    }
    store_op_release(&slots);
    store_op_release(&op);
}

static const char *job_state(const struct definition_row *row)
{
    return row->suspended ? "suspended" : row->paused ? "paused" : "active";
}

void scheduler_jobs(struct call *call)
{
    struct page page;
    struct store_op node, op;
    struct out out = out_to(call_body(call));
    if (!input_page(call, &page) || !fetch(call, &node))
        return;
    store_op_release(&node);
    store_op_init(&op, STORE_LIST);
    op.list.kind = DOCUMENT_JOB;
    op.list.project = *call->who.project ? call->who.project : NULL;
    op.list.owner = call->name;
    op.list.text = http_query(call->request, "q");
    op.list.brief = true;
    op.list.skip = page.skip;
    op.list.limit = page.limit;
    if (call_store(call, &op) == STATUS_OK) {
        out_page_begin(&out);
        for (size_t i = 0; i < op.list.count; i++) {
            const struct definition_row *row = &op.list.rows[i];
            out_open(&out, NULL, '{');
            out_text(&out, "project", row->project);
            out_text(&out, "name", row->name);
            out_text(&out, "state", job_state(row));
            out_int(&out, "slot", row->slot);
            out_time(&out, "owner_since", row->owner_since);
            out_int(&out, "running", row->running);
            out_close(&out, '}');
        }
        out_page_end(&out, op.list.total);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

/* ---- drain, online, forget ----------------------------------------------------------------------------------------
 */

static void set_wish(struct call *call, struct batch_item *item, enum node_wish wish)
{
    struct store_op op;
    if (item->problem.code != PROBLEM_NONE)
        return;
    store_op_init(&op, STORE_NODE_SET);
    op.node_set = (struct store_node_set){.node = item->key, .author = call->who.name, .wish = wish};
    if (call_store(call, &op) == STATUS_NOT_FOUND)
        problem_set(&item->problem, SCHEDULER_UNKNOWN, "node", item->key, NULL);
    else
        problem_of_store(&item->problem, &op);
    store_op_release(&op);
}

struct wishing {
    struct store_op nodes;
    enum node_wish wish;
};

static void wish_answer(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct wishing *w = context;
    const struct node_row *row = NULL;
    bool others = false;
    for (size_t i = 0; i < w->nodes.nodes.count; i++) {
        const struct node_row *one = &w->nodes.nodes.rows[i];
        if (!strcmp(one->node, batch->items[index].key))
            row = one;
        others = others || (is_scheduler(one) && !strcmp(state_of(call, one), "working"));
    }
    if (!row) { /* forgotten by somebody else meanwhile */
        out_json(out, NULL, "null");
        return;
    }
    out_open(out, NULL, '{');
    write_members(call, row, out);
    if (w->wish == NODE_DRAIN && !others) {
        struct problem warning = {0};
        (void)problem_set(&warning, SCHEDULER_LAST, "node", row->node, NULL);
        out_key(out, "warning");
        problem_write(&warning, call->language, NULL, false, out->to);
        out->comma = true;
    }
    out_close(out, '}');
}

static void change_wishes(struct call *call, enum node_wish wish)
{
    struct batch batch;
    struct wishing w = {.wish = wish};
    if (!requests_input(call, "names", "name", &batch))
        return;
    for (size_t i = 0; i < batch.count; i++)
        set_wish(call, &batch.items[i], wish);
    call_poke(call);
    store_op_init(&w.nodes, STORE_NODES);
    if (call_store(call, &w.nodes) == STATUS_OK)
        requests_answer(call, &batch, wish_answer, &w);
    else
        problem_of_store(&call->problem, &w.nodes);
    store_op_release(&w.nodes);
    batch_release(&batch);
}

void schedulers_drain(struct call *call)
{
    change_wishes(call, NODE_DRAIN);
}

void schedulers_online(struct call *call)
{
    change_wishes(call, NODE_WORK);
}

static void refuse_forgetting(struct batch_item *item, const struct store_node_forget *refused)
{
    static const enum problem_code codes[] = {[FORGET_LIVES] = SCHEDULER_LIVES,
                                              [FORGET_HOLDS_SLOTS] = SCHEDULER_HOLDS_SLOTS,
                                              [FORGET_DRIVES_RUNS] = SCHEDULER_DRIVES_RUNS};
    char count[24];
    (void)snprintf(count, sizeof count, "%lld", (long long)refused->held);
    problem_set(&item->problem, codes[refused->why], "node", item->key, "count", count, NULL);
}

static void forget(struct call *call, struct batch_item *item)
{
    struct store_op op;
    if (item->problem.code != PROBLEM_NONE)
        return;
    store_op_init(&op, STORE_NODE_FORGET);
    op.node_forget = (struct store_node_forget){
        .node = item->key, .author = call->who.name, .timeout = call->o->options.settings->coordination.node_timeout};
    enum status status = call_store(call, &op);
    if (status == STATUS_NOT_FOUND)
        problem_set(&item->problem, SCHEDULER_UNKNOWN, "node", item->key, NULL);
    else if (status == STATUS_CONFLICT)
        refuse_forgetting(item, &op.node_forget);
    else
        problem_of_store(&item->problem, &op);
    store_op_release(&op);
}

void schedulers_forget(struct call *call)
{
    struct batch batch;
    if (!requests_input(call, "names", "name", &batch))
        return;
    for (size_t i = 0; i < batch.count; i++)
        forget(call, &batch.items[i]);
    requests_answer(call, &batch, empty_result, NULL);
    batch_release(&batch);
}

/* ---- move ---------------------------------------------------------------------------------------------------------
 */

/* `node` of an item, or of the whole: a name, or null for back to the shared range. It must be said. */
static bool read_target(struct call *call, const struct batch *batch, struct batch_item *item, const char **ret)
{
    struct slice own = item->args.length ? item->args : slice_of("{}", 2);
    bool here = json_member(own, "node").length > 0;
    *ret = NULL;
    if (!here && !json_member(batch->common, "node").length)
        return problem_set(&item->problem, PARAMETER_INVALID, "name", "node", "reason",
                           "the scheduler to move to, or null for back to those that share all jobs", NULL);
    return input_text(call, &item->problem, here ? own : batch->common, "node", ret);
}

static bool node_known(struct call *call, const char *node, struct problem *problem)
{
    struct store_op op;
    store_op_init(&op, STORE_NODES);
    op.nodes.node = node;
    enum status status = call_store(call, &op);
    bool known = status == STATUS_OK && is_scheduler(&op.nodes.rows[0]);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        problem_of_store(problem, &op);
    else if (!known)
        problem_set(problem, SCHEDULER_UNKNOWN, "node", node, NULL);
    store_op_release(&op);
    return known;
}

static void move_answer(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct request_add *add = &((const struct request_add *)context)[index];
    (void)call, (void)batch;
    out_open(out, NULL, '{');
    out_id(out, "request", add->row.id);
    out_text(out, "node", add->row.node);
    out_close(out, '}');
}

void jobs_move(struct call *call)
{
    struct batch batch;
    if (!requests_input(call, "names", "name", &batch))
        return;
    struct request_add *adds = mem_alloc((batch.count + 1) * sizeof *adds);
    for (size_t i = 0; i < batch.count; i++) {
        struct batch_item *item = &batch.items[i];
        const char *node = NULL;
        if (item->problem.code != PROBLEM_NONE || !read_target(call, &batch, item, &node) ||
            (node && !node_known(call, node, &item->problem)))
            continue;
        adds[i].name = item->key;
        adds[i].row = (struct request_row){
            .kind = REQUEST_MOVE, .node = node, .scheduled_at = INSTANT_NONE, .created_at = INSTANT_NONE};
    }
    if (requests_add(call, &batch, adds)) {
        if (call->name)
            call->response->status = 202;
        requests_answer(call, &batch, move_answer, adds);
    }
    free(adds);
    batch_release(&batch);
}
