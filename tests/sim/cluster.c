/* Clusters without random faults: is the load spread, how soon is it taken over, how much does one change cost. Figures
 * are printed; what is promised is checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/scenario.h"

#define SECOND 1000
#define SETTLE (60 * SECOND)
#define SESSION 6000 /* ms: the default session timeout, as coordination_port.c keeps it */
#define TICK 200

/* ---- a world with nodes and jobs -----------------------------------------------------------------------------------
 */

static void tick(struct world *world, void *context)
{
    (void)context;
    if (world->releasing)
        return;
    coordination_tick(world);
    world_at(world, world->now + TICK, tick, NULL);
}

static void make_jobs(struct world *world, int count, const char *every)
{
    for (int i = 0; i < count; i++) {
        char name[32], json[700];
        (void)snprintf(name, sizeof name, "job%d", i);
        (void)snprintf(json, sizeof json,
                       "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Job\",\"metadata\":{\"project\":\"default\","
                       "\"name\":\"%s\"},\"spec\":{\"triggers\":[{\"name\":\"t\",\"every\":\"%s\"}],\"graph\":["
                       "{\"step\":\"a\",\"url\":\"http://10.0.0.0:80/a\",\"timeout\":\"2s\"}]}}",
                       name, every);
        (void)db_put_job(&world->db, name, json);
    }
}

static struct world *cluster_create(size_t nodes, int jobs, const char *every)
{
    struct world *world = mem_new(struct world);
    memset(&sim_plan, 0, sizeof sim_plan);
    world_init(world, 7, MUTATION_NONE, getenv("SIM_TRACE") != NULL);
    world->calm = true;
    world->executor_count = 2;
    for (size_t i = 0; i < NODES_MAX; i++) {
        world->nodes[i].world = world;
        (void)snprintf(world->nodes[i].name, sizeof world->nodes[i].name, "s%zu", i + 1);
    }
    world->node_count = NODES_MAX;
    make_jobs(world, jobs, every);
    tick(world, NULL);
    for (size_t i = 0; i < nodes; i++)
        node_start(world, i);
    return world;
}

static void cluster_free(struct world *world)
{
    world_release(world);
    free(world);
}

static void pass(struct world *world, int64_t ms)
{
    world_run(world, world->now + ms);
    if (world->broken) {
        (void)printf("broken: %s\n", world->why);
        exit(1);
    }
}

static int failures;

static void expect(bool good, const char *what)
{
    if (!good) {
        (void)printf("NOT SO: %s\n", what);
        failures++;
    }
}

/* ---- questions ----------------------------------------------------------------------------------------------------
 */

static bool life_owns(const struct world *world, size_t node, int32_t slot)
{
    const struct life *life = world->nodes[node].life;
    return life && world->db.slots[slot].owner_boot == life->self.boot;
}

static int64_t jobs_of(const struct world *world, size_t node)
{
    int64_t jobs = 0;
    for (size_t i = 0; i < world->db.jobs.count; i++)
        jobs += life_owns(world, node, world->db.jobs.items[i].slot);
    return jobs;
}

static int64_t slots_of(const struct world *world, size_t node)
{
    int64_t slots = 0;
    for (int32_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        slots += life_owns(world, node, i);
    return slots;
}

static int64_t weight_of(const struct world *world, size_t node)
{
    return world->nodes[node].life ? world->nodes[node].life->self.weight : 0;
}

/* 1.1 × fair share + 1, by weight. */
static bool is_balanced(const struct world *world)
{
    int64_t sum = 0;
    bool good = true;
    for (size_t i = 0; i < NODES_MAX; i++)
        sum += weight_of(world, i);
    for (size_t i = 0; i < NODES_MAX; i++) {
        int64_t weight = weight_of(world, i);
        if (weight)
            good = good && jobs_of(world, i) <= 11 * (int64_t)world->db.jobs.count * weight / (10 * sum) + 1 &&
                   slots_of(world, i) <= 11 * (int64_t)CLAIM_SLOTS_ALL * weight / (10 * sum) + 1;
    }
    return good;
}

static bool all_owned(const struct world *world)
{
    for (size_t i = 0; i < world->db.jobs.count; i++) {
        bool owned = false;
        for (size_t n = 0; n < NODES_MAX; n++)
            owned = owned || life_owns(world, n, world->db.jobs.items[i].slot);
        if (!owned)
            return false;
    }
    return true;
}

/* Time until it is so, −1 when it is not within `most`. */
static int64_t time_until(struct world *world, bool (*so)(const struct world *world), int64_t most)
{
    int64_t begin = world->now;
    while (!so(world)) {
        if (world->now - begin > most)
            return -1;
        pass(world, 20);
    }
    return world->now - begin;
}

static void print_shares(const struct world *world, const char *when)
{
    (void)printf("  %s:", when);
    for (size_t i = 0; i < NODES_MAX; i++)
        if (world->nodes[i].life)
            (void)printf(" %lld/%lld", (long long)jobs_of(world, i), (long long)slots_of(world, i));
    (void)printf(" jobs/slots\n");
}

/* ---- balance -------------------------------------------------------------------------------------------------------
 */

static int64_t moves_of(const struct world *world)
{
    int64_t moves = 0;
    for (size_t i = 0; i < NODES_MAX; i++)
        if (world->nodes[i].life)
            moves += scheduler_metrics(world->nodes[i].life->scheduler)->slot_moves;
    return moves;
}

/* Never more moves in a second than allowed, with the portion of one look at each end. */
static int64_t settle_counting_moves(struct world *world, int64_t ms)
{
    int64_t most = 0, end = world->now + ms;
    while (world->now < end) {
        int64_t before = moves_of(world);
        pass(world, SECOND);
        int64_t moved = moves_of(world) - before;
        most = moved > most ? moved : most;
    }
    return most;
}

static void test_balance(void)
{
    struct world *world = cluster_create(3, 1000, "60s");
    int64_t most = settle_counting_moves(world, SETTLE);
    print_shares(world, "3 nodes");
    expect(is_balanced(world), "three nodes hold 1.1 of their share and one more at most");
    node_start(world, 3);
    int64_t joined = settle_counting_moves(world, SETTLE);
    print_shares(world, "4 nodes");
    expect(is_balanced(world), "a fourth one gets its share");
    most = joined > most ? joined : most;
    (void)printf("  at most %lld moves in a second\n", (long long)most);
    expect(most <= 60, "50 moves a second, and one portion");
    node_kill(world, 0);
    node_kill(world, 2);
    pass(world, SETTLE);
    print_shares(world, "2 nodes");
    expect(is_balanced(world) && all_owned(world), "two that are left share all");
    world->nodes[4].weight = 3;
    node_start(world, 4);
    pass(world, SETTLE);
    print_shares(world, "and one of weight 3");
    expect(is_balanced(world), "shares are by weight");
    cluster_free(world);
}

/* ---- take-over -----------------------------------------------------------------------------------------------------
 */

static void test_takeover(void)
{
    struct world *world = cluster_create(3, 200, "5s");
    int64_t longest = 0;
    pass(world, SETTLE);
    for (size_t round = 0; round < 30; round++) {
        node_kill(world, round % 3);
        int64_t took = time_until(world, all_owned, 3 * SESSION);
        expect(took >= 0, "somebody takes over");
        longest = took > longest ? took : longest;
        node_start(world, round % 3);
        pass(world, 20 * SECOND + world_draw(world, 0, 3000));
    }
    (void)printf("  30 kills: all slots with jobs are owned again after %lld ms at most\n", (long long)longest);
    expect(longest <= SESSION + TICK + SECOND, "within session timeout + one tick + 1 s");
    cluster_free(world);
}

/* ---- herd ----------------------------------------------------------------------------------------------------------
 */

static void print_tally(const struct tally *t, const char *what, size_t nodes)
{
    (void)printf("  %s, %zu nodes: nodes read %lld, claims read %lld (%lld times all), creates %lld (%lld taken), "
                 "store: slots_read %lld, take %lld, load %lld, lease %lld\n",
                 what, nodes, (long long)t->node_reads, (long long)t->claim_reads, (long long)t->whole_reads,
                 (long long)t->creates, (long long)t->taken, (long long)t->store[STORE_SLOTS_READ],
                 (long long)t->store[STORE_SLOTS_TAKE], (long long)t->store[STORE_SLOTS_LOAD],
                 (long long)t->store[STORE_LEASE]);
}

static void herd_of(size_t nodes)
{
    struct world *world = cluster_create(nodes, 1000, "60s");
    pass(world, 2 * SETTLE);
    expect(is_balanced(world), "balanced before");
    int64_t held = slots_of(world, 1);
    memset(&world->tally, 0, sizeof world->tally);
    node_kill(world, 1);
    pass(world, 20 * SECOND);
    struct tally leave = world->tally;
    print_tally(&leave, "one is killed", nodes);
    int64_t others = (int64_t)nodes - 1;
    expect(all_owned(world), "all owned");
    expect(leave.node_reads <= 2 * others * (others + 2), "each reads the list of nodes twice at most");
    expect(leave.claim_reads <= others * (2 * held + 10), "each reads every new claim once");
    expect(leave.creates - leave.taken <= held + 5, "no slot is claimed twice");
    expect(leave.taken <= held, "hardly anybody is in vain");
    expect(leave.store[STORE_SLOTS_READ] <= 3 * others, "the store is asked every 10 s");
    memset(&world->tally, 0, sizeof world->tally);
    node_start(world, 1);
    pass(world, SETTLE);
    print_tally(&world->tally, "one joins   ", nodes);
    expect(is_balanced(world), "balanced after");
    cluster_free(world);
}

static void test_herd(void)
{
    herd_of(10);
}

static void test_herds(void)
{
    herd_of(10);
    herd_of(50);
}

/* ---- drain and clocks ----------------------------------------------------------------------------------------------
 */

static int64_t latest_fire(const struct world *world, int64_t since)
{
    int64_t latest = 0;
    for (size_t i = 0; i < world->db.order.count; i++) {
        const struct run_row *run = &world->db.order.items[i]->row;
        if (run->scheduled_at.ms >= since && run->fired_at.ms - run->scheduled_at.ms > latest)
            latest = run->fired_at.ms - run->scheduled_at.ms;
    }
    return latest;
}

static int64_t leader_of(struct world *world)
{
    for (size_t i = 0; i < world->db.leases.count; i++)
        if (!strcmp(world->db.leases.items[i].name, "housekeeping") && world->db.leases.items[i].until > world->now)
            return world->db.leases.items[i].boot;
    return 0;
}

static size_t node_of(const struct world *world, int64_t boot)
{
    for (size_t i = 0; i < NODES_MAX; i++)
        if (world->nodes[i].life && world->nodes[i].life->self.boot == boot)
            return i;
    return NODES_MAX;
}

static bool somebody_is_offline(const struct world *world)
{
    bool offline = false;
    for (size_t i = 0; i < NODES_MAX; i++)
        offline = offline || (world->nodes[i].life && world->nodes[i].life->self.offline);
    return offline;
}

static void test_drain(void)
{
    struct world *world = cluster_create(3, 300, "2s");
    pass(world, SETTLE);
    size_t leader = node_of(world, leader_of(world));
    int64_t begin = world->now, boot = leader_of(world);
    expect(leader < 3, "somebody leads");
    db_wish(&world->db, world->nodes[leader].name, NODE_DRAIN);
    pass(world, 2 * SECOND);
    expect(leader_of(world) != boot && leader_of(world) != 0, "another leads within 2 s");
    pass(world, 8 * SECOND);
    int64_t late = latest_fire(world, begin);
    (void)printf("  wished offline: %lld slots left, latest fire %lld ms\n", (long long)slots_of(world, leader),
                 (long long)late);
    expect(slots_of(world, leader) == 0 && world->nodes[leader].life, "it holds nothing, and lives");
    expect(late < SECOND, "no instant waits for the hand-over");
    expect(time_until(world, somebody_is_offline, 60 * SECOND) >= 0, "it says so when its last run has ended");
    db_wish(&world->db, world->nodes[leader].name, NODE_WORK);
    pass(world, SETTLE);
    print_shares(world, "works again");
    expect(is_balanced(world), "it gets its share back");
    begin = world->now;
    scheduler_drain(world->nodes[0].life->scheduler, (struct moment){{world->now}, {world->now - world->begin + 1000}});
    life_wake(world->nodes[0].life, world->now);
    pass(world, 10 * SECOND);
    late = latest_fire(world, begin);
    (void)printf("  SIGTERM: latest fire %lld ms\n", (long long)late);
    expect(!world->nodes[0].life, "it has ended");
    expect(late < SECOND && all_owned(world), "no instant waits for the hand-over");
    cluster_free(world);
}

static void test_clock(void)
{
    struct world *world = cluster_create(3, 300, "2s");
    pass(world, SETTLE);
    world->nodes[1].clock_offset = 5000;
    int64_t begin = world->now;
    pass(world, 25 * SECOND);
    expect(slots_of(world, 1) == 0 && all_owned(world), "a node whose clock is off hands over");
    expect(world->nodes[1].life->self.draining, "and tells the others");
    (void)printf("  clock 5 s ahead: %lld slots left, latest fire %lld ms\n", (long long)slots_of(world, 1),
                 (long long)latest_fire(world, begin));
    world->nodes[1].clock_offset = 0;
    pass(world, SETTLE);
    expect(is_balanced(world), "it takes its share when the clock is right again");
    cluster_free(world);
}

int cluster_main(const char *what)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {{"balance", test_balance}, {"takeover", test_takeover}, {"herd", test_herd},
                 {"herds", test_herds},     {"drain", test_drain},       {"clock", test_clock}};
    bool found = false;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (!strcmp(what, "all") || !strcmp(what, tests[i].name)) {
            found = true;
            (void)printf("%s\n", tests[i].name);
            tests[i].test();
        }
    return !found ? 2 : failures ? 1 : 0;
}
