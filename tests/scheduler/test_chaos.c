/* Random kills, lost sessions, failing batches and executors, by seed; then peace. Every promised instant has exactly
 * one outcome, every run has ended, no call of an unknown outcome was repeated under another key. (The whole cluster
 * under the real fences is tests/sim.) */
#include <stdlib.h>

#include "core/base/rng.h"
#include "tests/scheduler/check.h"

#define JOBS 6

static struct rng dice;

static int executor(struct world *w, struct world_call *call)
{
    (void)w;
    uint64_t roll = rng_below(&dice, 20);
    if (roll == 0)
        call->end = DISPATCH_NOT_SENT;
    else if (roll == 1)
        call->end = DISPATCH_UNKNOWN;
    else if (roll == 2)
        call->http_status = 503;
    else if (roll == 3)
        call->http_status = 500;
    return (int)rng_between(&dice, 1, roll == 4 ? 3000 : 200);
}

static void disturb(struct world *w)
{
    int node = (int)rng_below(&dice, WORLD_NODES);
    switch (rng_below(&dice, 6)) {
    case 0:
        if (w->nodes[node].scheduler)
            world_kill(w, node, rng_between(&dice, 0, 6000));
        break;
    case 1:
        if (w->nodes[node].scheduler)
            world_lose_session(w, node, rng_between(&dice, 1, 4000));
        break;
    case 2:
        w->fail_batches = (int)rng_between(&dice, 1, 4);
        w->fail_commits = rng_below(&dice, 2);
        w->fail_status = w->fail_commits || rng_below(&dice, 2) ? STATUS_UNKNOWN : STATUS_UNAVAILABLE;
        break;
    case 3:
        w->store_down = !w->store_down;
        break;
    case 4:
        w->lose_adopt = true;
        break;
    default:
        break;
    }
    for (int i = 0; i < WORLD_NODES; i++)
        if (!w->nodes[i].scheduler || scheduler_state(w->nodes[i].scheduler) == SCHEDULER_FENCED)
            if (rng_below(&dice, 2)) {
                if (w->nodes[i].scheduler)
                    world_kill(w, i, 0);
                (void)world_start(w, i, false);
            }
}

static void check_outcomes(const struct world *w, uint64_t seed, int64_t job, span period, int64_t from, int64_t to)
{
    for (int64_t at = from; at <= to; at += period) {
        int runs = 0, skips = 0;
        for (size_t i = 0; i < w->runs.count; i++)
            runs += w->runs.items[i].job == job && w->runs.items[i].generation == 0 &&
                    w->runs.items[i].scheduled_at.ms == at;
        for (size_t i = 0; i < w->skips.count; i++)
            skips += w->skips.items[i].job == job && at >= w->skips.items[i].from.ms && at <= w->skips.items[i].to.ms;
        if (runs + skips != 1)
            fail_msg("seed %llu: job %lld, instant %lld: %d runs, %d skips", (unsigned long long)seed, (long long)job,
                     (long long)at, runs, skips);
    }
}

static void check_keys(const struct world *w, uint64_t seed)
{
    for (size_t i = 0; i < w->calls.count; i++) {
        const struct world_call *a = w->calls.items[i];
        for (size_t k = i + 1; k < w->calls.count; k++) {
            const struct world_call *b = w->calls.items[k];
            bool same_run = strcmp(a->run, b->run) == 0;
            if (same_run && a->end == DISPATCH_UNKNOWN && strcmp(a->key, b->key) != 0) {
                bool settled = false; /* another call under a's key had a definite end meanwhile */
                for (size_t m = i + 1; m < k; m++)
                    settled |=
                        strcmp(w->calls.items[m]->key, a->key) == 0 && w->calls.items[m]->end == DISPATCH_ANSWERED;
                if (!settled)
                    fail_msg("seed %llu: %s, then %s", (unsigned long long)seed, a->key, b->key);
            }
        }
    }
}

/* overlap: wait. One after another, whoever drives them. */
static void check_overlap(const struct world *w, uint64_t seed, int64_t job)
{
    for (size_t i = 0; i < w->runs.count; i++)
        for (size_t k = i + 1; k < w->runs.count; k++) {
            const struct run_row *a = &w->runs.items[i], *b = &w->runs.items[k];
            if (a->job != job || b->job != job || instant_is_none(a->started_at) || instant_is_none(b->started_at))
                continue;
            instant a_end = instant_is_none(a->ended_at) ? INSTANT_MAX : a->ended_at;
            instant b_end = instant_is_none(b->ended_at) ? INSTANT_MAX : b->ended_at;
            if (instant_cmp(a->started_at, b_end) < 0 && instant_cmp(b->started_at, a_end) < 0)
                fail_msg("seed %llu: runs %lld and %lld of job %lld overlap", (unsigned long long)seed,
                         (long long)a->id, (long long)b->id, (long long)job);
        }
}

static void one_seed(uint64_t seed)
{
    static const char *const specs[] = {
        "{\"overlap\":\"allow\",\"max_parallel\":1000,\"triggers\":[{\"every\":\"1s\",\"align\":true,\"misfire\":\"all\"}],"
        "\"graph\":[{\"step\":\"s\",\"task\":\"shop/t\",\"on_failure\":\"retry\",\"retry\":{\"max\":2,\"delay\":\"1s\"}}]}",
        "{\"triggers\":[{\"every\":\"2s\",\"align\":true}],\"graph\":[{\"step\":\"a\",\"task\":\"shop/t\"},"
        "{\"step\":\"b\",\"task\":\"shop/t\",\"after\":[\"a\"]}]}",
    };
    rng_seed(&dice, seed);
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    w->script = executor;
    (void)world_put(
        w, DOCUMENT_APPLICATION, "shop",
        "{\"instances\":[\"h1:1\",\"h2:1\",\"h3:1\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\",\"timeout\":\"5s\"}]}");
    int64_t jobs[JOBS];
    for (int i = 0; i < JOBS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%d", i);
        jobs[i] = world_put(w, DOCUMENT_JOB, name, specs[i % 2]);
    }
    for (int i = 0; i < WORLD_NODES; i++)
        (void)world_start(w, i, false);
    int64_t end = w->now.mono.ms + 60000;
    while (w->now.mono.ms < end) {
        world_run(w, rng_between(&dice, 100, 4000));
        disturb(w);
    }
    w->store_down = w->lose_adopt = false;
    w->fail_batches = 0;
    w->script = NULL;
    for (int i = 0; i < WORLD_NODES; i++)
        if (!w->nodes[i].scheduler || scheduler_state(w->nodes[i].scheduler) == SCHEDULER_FENCED) {
            if (w->nodes[i].scheduler)
                world_kill(w, i, 0);
            (void)world_start(w, i, false);
        }
    world_run(w, 40000);
    int64_t now = w->now.wall.ms / 2000 * 2000 - 4000;
    for (int i = 0; i < JOBS; i++)
        check_outcomes(w, seed, jobs[i], i % 2 ? 2000 : 1000, world_instant("2026-03-01T00:00:02Z").ms, now);
    for (size_t i = 0; i < w->runs.count; i++)
        if (!run_state_terminal(w->runs.items[i].state) && w->runs.items[i].scheduled_at.ms < now - 20000)
            fail_msg("seed %llu: run %lld of %lld is still %s (%s)", (unsigned long long)seed,
                     (long long)w->runs.items[i].id, (long long)w->runs.items[i].scheduled_at.ms,
                     run_state_text(w->runs.items[i].state), w->runs.items[i].reason ? w->runs.items[i].reason : "");
    for (int i = 1; i < JOBS; i += 2)
        check_overlap(w, seed, jobs[i]);
    check_keys(w, seed);
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
