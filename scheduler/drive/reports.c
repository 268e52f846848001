/* Reports (executor-protocol.md §3): ends of calls that were accepted with 202, told later. Every poll shows the open
 * ones for runs that we drive, until they are closed by the batch that acts on them; so each is remembered meanwhile.
 * And the way to us: the addresses that calls name in X-Carillon-Callback. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/drive/drive.h"
#include "scheduler/write/write.h"

#define ADDRESSES_EVERY (10 * SPAN_SECOND)

/* ---- report → end of an attempt ------------------------------------------------------------------------------------
 */

/* The newest attempt under the report's key: whichever of them it speaks of, the work is the same. */
const struct attempt_row *reports_attempt(const struct run *run, const char *name, int32_t number, int32_t key_try)
{
    const struct run_step *step = run_find_item(run, name, number);
    if (!step)
        return NULL;
    const struct run_calls *item = &step->calls;
    for (size_t i = item->attempt_count; i-- > 0;)
        if (item->attempts[i].key_try == key_try)
            return &item->attempts[i];
    return NULL;
}

static struct attempt_row end_of(struct scheduler *s, const struct report_row *report, const struct attempt_row *kept)
{
    static const enum call_class classes[] = {
        [REPORT_SUCCEEDED] = CALL_SUCCESS, [REPORT_FAILED] = CALL_FAILURE, [REPORT_DELAY] = CALL_BUSY};
    struct attempt_row row = *kept;
    row.state = ATTEMPT_ENDED;
    row.class = classes[report->state];
    row.ended_at = s->now.wall;
    row.result = report->state == REPORT_SUCCEEDED ? report->result : NULL;
    row.code = report->code;
    row.error = report->message;
    row.retry_after = -1;
    if (report->state == REPORT_DELAY && !instant_is_none(report->until))
        row.retry_after = instant_sub(report->until, s->now.wall) > 0 ? instant_sub(report->until, s->now.wall) : 0;
    if (report->state == REPORT_FAILED && !row.error)
        row.error = "the executor reported that the task failed";
    return row;
}

/* false: not now, it stays open. */
static bool carry_out(struct scheduler *s, const struct report_row *report)
{
    struct open_run *run = driver_find(s, report->run);
    if ((!run && report->run_open) || (run && run->forgotten))
        return false; /* adopted in the store, on its way to us */
    const struct attempt_row *kept =
        run && !run->ended ? reports_attempt(run->run, report->step, report->item, report->key_try) : NULL;
    if (kept && !(kept->state == ATTEMPT_ENDED && call_class_definite(kept->class))) {
        struct attempt_row row = end_of(s, report, kept);
        driver_report(s, run, &row, report->id);
        return true;
    }
    struct bundle *bundle = bundle_new(s); /* it came too late */
    bundle_report(bundle, report->id, REPORT_OUTCOME_STALE);
    bundle_put(s, bundle, true);
    return true;
}

void reports_take(struct scheduler *s, const struct report_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!seen_has(s->reports, rows[i].id) && batcher_open(s) && clock_may_act(s) && carry_out(s, &rows[i]))
            seen_add(&s->reports, rows[i].id);
}

/* ---- where to report -----------------------------------------------------------------------------------------------
 */

static bool serves(const struct scheduler *s, const struct boot_row *row)
{
    return row->role && strcmp(row->role, "orchestrator") == 0 && !row->fenced && row->address && *row->address &&
           instant_sub(s->now.wall, row->seen_at) < s->settings->coordination.node_timeout;
}

/* Newest first: what was started last is least likely to be on its way out. */
static void addresses_answered(struct scheduler *s, struct work *work)
{
    const struct store_boots *boots = &work->op.boots;
    s->reading_addresses = false;
    if (!work_ok(s, work))
        return;
    int64_t below = INT64_MAX;
    for (size_t k = 0; k < SCHEDULER_CALLBACKS; k++) {
        const struct boot_row *best = NULL;
        for (size_t i = 0; i < boots->count; i++) {
            const struct boot_row *row = &boots->rows[i];
            if (serves(s, row) && row->boot < below && (!best || row->boot > best->boot))
                best = row;
        }
        free(s->callbacks[k]);
        s->callbacks[k] = best ? mem_copy_text(best->address) : NULL;
        below = best ? best->boot : 0;
    }
}

void reports_addresses(struct scheduler *s)
{
    if (!s->ports.signer || s->callback_fixed || s->reading_addresses)
        return;
    if (mono_cmp(s->now.mono, s->next_addresses) >= 0) {
        s->next_addresses = mono_add(s->now.mono, ADDRESSES_EVERY);
        s->reading_addresses = true;
        work_submit(work_new(s, STORE_BOOTS, addresses_answered));
    }
    wake_at(s, s->next_addresses);
}

void scheduler_callback(struct scheduler *s, const char *url)
{
    for (size_t k = 0; k < SCHEDULER_CALLBACKS; k++) {
        free(s->callbacks[k]);
        s->callbacks[k] = NULL;
    }
    s->callbacks[0] = mem_copy_text(url);
    s->callback_fixed = url != NULL;
}
