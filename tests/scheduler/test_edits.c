/* Edits, pauses and requests in the middle of random kills and faults, by seed. The promised instants are computed anew
 * from the activations alone: each has exactly one outcome. Every acknowledged wish was carried out. */
#include <stdlib.h>

#include "core/base/rng.h"
#include "tests/scheduler/check.h"

#define JOBS 4
#define VERSIONS 16

struct plan {
    int64_t id;
    span period[VERSIONS];
    int64_t version;
};

static struct rng dice;

static int executor(struct world *w, struct world_call *call)
{
    (void)w;
    if (rng_below(&dice, 10) == 0)
        call->http_status = 500;
    return (int)rng_between(&dice, 1, 400);
}

static void edit(struct world *w, struct plan *plan, int index)
{
    char name[16], spec[512];
    if (plan->version + 1 >= VERSIONS)
        return;
    span period = rng_between(&dice, 1, 4);
    plan->period[++plan->version] = period * 1000;
    (void)snprintf(name, sizeof name, "t%d", index);
    (void)snprintf(spec, sizeof spec,
                   "{\"overlap\":\"%s\",\"triggers\":[{\"every\":\"%llds\",\"align\":true,\"misfire\":\"%s\"}],"
                   "\"graph\":[{\"step\":\"s\",\"url\":\"http://127.0.0.1:9000/s\"}]}",
                   index % 2 ? "wait" : "allow", (long long)period, index % 3 ? "all" : "latest");
    plan->id = world_put(w, DOCUMENT_JOB, name, spec);
}

static void act(struct world *w, struct plan *plans)
{
    int index = (int)rng_below(&dice, JOBS);
    struct plan *plan = &plans[index];
    struct request_row row = {.job = plan->id, .scheduled_at = INSTANT_NONE};
    switch (rng_below(&dice, 6)) {
    case 0:
        edit(w, plan, index);
        break;
    case 1:
        row.kind = REQUEST_PAUSE;
        (void)world_request(w, &row);
        break;
    case 2:
        row.kind = REQUEST_RESUME;
        row.skip_missed = rng_below(&dice, 2);
        (void)world_request(w, &row);
        break;
    default:
        row.kind = REQUEST_ENQUEUE;
        row.id = run_id_make(day_of(w->now.wall), 999, w->requests.count + 1);
        (void)world_request(w, &row);
        break;
    }
}

static void disturb(struct world *w)
{
    int node = (int)rng_below(&dice, 2);
    switch (rng_below(&dice, 5)) {
    case 0:
        if (w->nodes[node].scheduler)
            world_kill(w, node, rng_between(&dice, 0, 6000));
        break;
    case 1:
        if (w->nodes[node].scheduler)
            world_lose_session(w, node, rng_between(&dice, 1, 3000));
        break;
    case 2:
        w->fail_batches = (int)rng_between(&dice, 1, 3);
        w->fail_commits = rng_below(&dice, 2);
        w->fail_status = w->fail_commits ? STATUS_UNKNOWN : STATUS_UNAVAILABLE;
        break;
    default:
        break;
    }
}

static void revive(struct world *w)
{
    for (int i = 0; i < 2; i++)
        if (!w->nodes[i].scheduler || scheduler_state(w->nodes[i].scheduler) == SCHEDULER_FENCED) {
            if (w->nodes[i].scheduler)
                world_kill(w, i, 0);
            (void)world_start(w, i, false);
        }
}

static int by_from(const void *a, const void *b)
{
    const struct activation_row *x = a, *y = b;
    return instant_cmp(x->from, y->from);
}

static int outcomes(const struct world *w, int64_t job, int64_t at)
{
    int n = 0;
    for (size_t i = 0; i < w->runs.count; i++)
        n += w->runs.items[i].job == job && w->runs.items[i].origin != ORIGIN_MANUAL &&
             w->runs.items[i].generation == 0 && w->runs.items[i].scheduled_at.ms == at;
    for (size_t i = 0; i < w->skips.count; i++)
        n += w->skips.items[i].job == job && at >= w->skips.items[i].from.ms && at <= w->skips.items[i].to.ms;
    return n;
}

static void check_ledger(struct world *w, uint64_t seed, const struct plan *plan, int64_t until)
{
    qsort(w->activations.items, w->activations.count, sizeof *w->activations.items, by_from);
    int64_t from = 0, period = 0;
    for (size_t i = 0; i <= w->activations.count; i++) {
        const struct activation_row *row = i < w->activations.count ? &w->activations.items[i] : NULL;
        if (row && (row->job != plan->id || row->kind != ACTIVATION_VERSION))
            continue;
        int64_t to = row ? row->from.ms : until;
        for (int64_t at = period ? (from + period - 1) / period * period : to; at < to; at += period)
            if (outcomes(w, plan->id, at) != 1)
                fail_msg("seed %llu: job %lld, instant %lld has %d outcomes", (unsigned long long)seed,
                         (long long)plan->id, (long long)at, outcomes(w, plan->id, at));
        if (row) {
            from = row->from.ms;
            period = plan->period[row->version];
        }
    }
}

static void one_seed(uint64_t seed)
{
    struct plan plans[JOBS] = {0};
    rng_seed(&dice, seed);
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    w->script = executor;
    for (int i = 0; i < JOBS; i++)
        edit(w, &plans[i], i);
    revive(w);
    int64_t end = w->now.mono.ms + 60000;
    while (w->now.mono.ms < end) {
        world_run(w, rng_between(&dice, 50, 3000));
        act(w, plans);
        if (rng_below(&dice, 2))
            disturb(w);
        if (rng_below(&dice, 2))
            revive(w);
    }
    w->fail_batches = 0;
    revive(w);
    world_run(w, 10000);
    for (int i = 0; i < JOBS; i++)
        (void)world_request(w, &(struct request_row){.job = plans[i].id, .kind = REQUEST_RESUME});
    world_run(w, 60000);
    for (int i = 0; i < JOBS; i++)
        check_ledger(w, seed, &plans[i], w->now.wall.ms - 2000);
    for (size_t i = 0; i < w->requests.count; i++) {
        const struct request_row *row = &w->requests.items[i];
        if (!row->outcome)
            fail_msg("seed %llu: request %zu is still open", (unsigned long long)seed, i);
        bool found = row->kind != REQUEST_ENQUEUE;
        for (size_t k = 0; k < w->runs.count && !found; k++)
            found = w->runs.items[k].id == row->id && run_state_terminal(w->runs.items[k].state);
        if (!found)
            fail_msg("seed %llu: an acknowledged run is missing or open", (unsigned long long)seed);
    }
    world_free(w);
}

static void seeds(void **state)
{
    (void)state;
    world_seeds(20, one_seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
