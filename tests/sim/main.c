/* carillon's simulation.
 *     sim --seeds FIRST COUNT      runs COUNT seeds; prints the first that breaks, with the command that repeats it;
 * exit 1 sim --seed N [--trace]       one seed sim --mutation fence|skip|double --seeds FIRST COUNT     exit 0 only if
 * some seed finds the fault that was built in sim --twice N                the same seed twice must take the same
 * course sim --cluster balance|takeover|herd|herds|drain|clock   clusters without random faults (cluster.c)
 * CARILLON_SIM_SEEDS overrides COUNT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/scenario.h"

struct totals {
    int64_t fires, skips, attempts, faults, steps, seeds;
};

static bool run_seed(uint64_t seed, enum mutation mutation, bool trace, struct totals *totals, uint64_t *ret_digest)
{
    struct world *world = mem_new(struct world);
    world_init(world, seed, mutation, trace);
    scenario_prepare(world);
    world_run(world, sim_plan.end);
    if (!world->broken)
        check_end(world);
    bool good = !world->broken;
    if (!good && (mutation == MUTATION_NONE || trace))
        (void)printf("seed %llu breaks at step %lld (%.3f s): %s\nrepeat with: sim --seed %llu --trace\n",
                     (unsigned long long)seed, (long long)world->steps, (double)(world->now - world->begin) / 1000,
                     world->why, (unsigned long long)seed);
    totals->fires += world->fires;
    totals->skips += world->skips;
    totals->attempts += world->attempts;
    totals->faults += world->faults;
    totals->steps += world->steps;
    totals->seeds++;
    *ret_digest = world->digest;
    world->healing = false;
    world_release(world);
    free(world);
    return good;
}

static enum mutation mutation_of(const char *name)
{
    static const char *const names[] = {"none", "fence", "skip", "double"};
    for (size_t i = 0; i < 4; i++)
        if (!strcmp(names[i], name))
            return (enum mutation)i;
    (void)fprintf(stderr, "sim: unknown mutation %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 1, digest, again;
    enum mutation mutation = MUTATION_NONE;
    bool trace = false, twice = false, found = false;
    struct totals totals = {0};
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && !strcmp(argv[i], "--cluster"))
            return cluster_main(argv[i + 1]);
        if (!strcmp(argv[i], "--trace"))
            trace = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--mutation"))
            mutation = mutation_of(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
            first = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && !strcmp(argv[i], "--twice")) {
            first = strtoull(argv[++i], NULL, 10);
            twice = true;
        } else if (i + 2 < argc && !strcmp(argv[i], "--seeds")) {
            const char *wanted = getenv("CARILLON_SIM_SEEDS");
            first = strtoull(argv[i + 1], NULL, 10);
            count = strtoull(wanted && mutation == MUTATION_NONE ? wanted : argv[i + 2], NULL, 10);
            i += 2;
        } else {
            (void)fprintf(stderr, "sim: see the head of tests/sim/main.c\n");
            return 2;
        }
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        bool good = run_seed(seed, mutation, trace, &totals, &digest);
        if (twice && (!run_seed(seed, mutation, trace, &totals, &again) || again != digest)) {
            (void)printf("seed %llu took two courses\n", (unsigned long long)seed);
            return 1;
        }
        if (!good && mutation == MUTATION_NONE)
            return 1;
        if (!good) {
            found = true;
            (void)printf("the built-in fault is found by seed %llu\n", (unsigned long long)seed);
            break;
        }
    }
    (void)printf("%lld seeds, %lld events, %lld faults, %lld fires, %lld skip rows, %lld calls\n",
                 (long long)totals.seeds, (long long)totals.steps, (long long)totals.faults, (long long)totals.fires,
                 (long long)totals.skips, (long long)totals.attempts);
    if (mutation != MUTATION_NONE && !found) {
        (void)printf("no seed found the built-in fault\n");
        return 1;
    }
    return 0;
}
