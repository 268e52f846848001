/* Requests: durable in the store before they are acknowledged; the owner of the job's slot carries them out. Here: what
 * they have in common, and enqueue. */
#include "orchestrator/requests.h"

#include <stdio.h>
#include <string.h>

#include "core/base/ids.h"
#include "orchestrator/routes.h"

#define AHEAD_MAX (7 * SPAN_DAY) /* of scheduled_at: partitions are made 14 days ahead */
#define KEY_MAX 255              /* bytes of an idempotency key */

bool requests_input(struct call *call, const char *list, const char *key_member, struct batch *ret)
{
    const char *one = call->name ? call->name : call->id;
    return one ? input_single(call, one, ret) : input_batch(call, list, key_member, ret);
}

void requests_answer(struct call *call, struct batch *batch, batch_result *result, void *context)
{
    if (call->name || call->id)
        batch_write_single(call, batch, result, context);
    else
        batch_write(call, batch, result, context);
}

void empty_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    (void)call, (void)batch, (void)index, (void)context;
    out_json(out, NULL, "{}");
}

/* Adds what has no problem yet; statuses of items become their problems. adds[i] belongs to items[i]. */
bool requests_add(struct call *call, struct batch *batch, struct request_add *adds)
{
    struct store_op op;
    size_t *index = mem_alloc((batch->count + 1) * sizeof *index);
    struct request_add *list = mem_alloc((batch->count + 1) * sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].problem.code == PROBLEM_NONE) {
            index[n] = i;
            list[n++] = adds[i];
        }
    store_op_init(&op, STORE_REQUEST_ADD);
    op.request_add.project = call->project;
    op.request_add.author = call->who.name;
    op.request_add.items = list;
    op.request_add.count = n;
    bool ok = !n || call_store(call, &op) == STATUS_OK || op.status == STATUS_NOT_FOUND;
    for (size_t k = 0; ok && k < n; k++) {
        struct batch_item *item = &batch->items[index[k]];
        enum status status = op.status == STATUS_NOT_FOUND ? STATUS_NOT_FOUND : list[k].status;
        adds[index[k]] = list[k];
        if (status == STATUS_EXISTS && list[k].idempotency_key)
            continue; /* asked before under this key: `row` is the earlier one */
        bool gone = status == STATUS_NOT_FOUND || status == STATUS_CONFLICT; /* CONFLICT: the run has ended */
        if (gone && list[k].row.kind == REQUEST_CANCEL)
            problem_set(&item->problem, RUN_UNKNOWN, "run", item->key, NULL);
        else if (status == STATUS_NOT_FOUND)
            problem_set(&item->problem, JOB_UNKNOWN, "project", call->project, "job", item->key, NULL);
        else if (status != STATUS_OK && status != STATUS_EXISTS)
            problem_set(&item->problem, INTERNAL, NULL);
    }
    if (!ok)
        problem_of_store(&call->problem, &op);
    store_op_release(&op);
    free(index);
    free(list);
    if (ok && n)
        call_poke(call);
    return ok;
}

/* ---- run and enqueue ---- */

static struct slice args_of(const struct batch_item *item)
{
    return item->args.length ? item->args : slice_of("{}", 2);
}

static int64_t next_run_id(struct orchestrator *o, instant scheduled_at)
{
    return run_id_make(day_of(scheduled_at), o->options.boot, atomic_fetch_add(&o->sequence, 1));
}

/* Arguments of one item; what it does not say, the common ones do. */
bool wish_read(struct call *call, const struct batch *batch, struct batch_item *item, enum request_kind kind,
               struct request_add *add)
{
    struct problem *problem = &item->problem;
    struct slice own = args_of(item);
    const char *params, *key;
    instant at;
    if (!input_params(call, problem, own, &params) || !input_time(call, problem, own, "scheduled_at", &at) ||
        !input_text(call, problem, own, "idempotency_key", &key))
        return false;
    if (!params && !input_params(call, problem, batch->common, &params))
        return false;
    if (instant_is_none(at) && !input_time(call, problem, batch->common, "scheduled_at", &at))
        return false;
    if (!key && (call->name || batch->count == 1) && !input_text(call, problem, batch->common, "idempotency_key", &key))
        return false;
    if (!key && (call->name || batch->count == 1))
        key = http_header(call->request, "Idempotency-Key");
    if (key && (!*key || strlen(key) > KEY_MAX))
        return problem_set(problem, PARAMETER_INVALID, "name", "idempotency_key", "reason", "1 to 255 bytes", NULL);
    if (instant_is_none(at))
        at = call->now.wall;
    if (at.ms < 0 || instant_sub(at, call->now.wall) > AHEAD_MAX)
        return problem_set(problem, PARAMETER_INVALID, "name", "scheduled_at", "reason",
                           "from 1970 to at most 7 days ahead", NULL);
    *add = (struct request_add){.name = item->key, .idempotency_key = key};
    add->row.kind = kind;
    add->row.params = params;
    add->row.scheduled_at = at;
    add->row.id = next_run_id(call->o, at);
    return true;
}

void wish_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct request_add *add = &((const struct request_add *)context)[index];
    (void)call, (void)batch;
    out_open(out, NULL, '{');
    out_id(out, "run", add->row.id);
    out_text(out, "trigger", call_printf(call, "manual-%lld", (long long)add->row.id));
    if (add->status == STATUS_EXISTS)
        out_bool(out, "repeated", true);
    out_close(out, '}');
}

void jobs_enqueue(struct call *call)
{
    struct batch batch;
    if (!requests_input(call, "names", "name", &batch))
        return;
    struct request_add *adds = mem_alloc((batch.count + 1) * sizeof *adds);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.items[i].problem.code == PROBLEM_NONE)
            (void)wish_read(call, &batch, &batch.items[i], REQUEST_ENQUEUE, &adds[i]);
    if (requests_add(call, &batch, adds)) {
        if (call->name)
            call->response->status = 202;
        requests_answer(call, &batch, wish_result, adds);
    }
    free(adds);
    batch_release(&batch);
}
