#include "tests/sim/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_plan sim_plan;

/* ---- jobs
 * -------------------------------------------------------------------------------------------------------------- */

static void write_steps(struct world *world, struct str *json)
{
    static const char *const graphs[] = {
        "{\"step\":\"a\",\"url\":\"http://10.0.0.#:80/a\"}",
        "{\"step\":\"a\",\"url\":\"http://10.0.0.#:80/a\"},{\"step\":\"b\",\"url\":\"http://10.0.0.0:80/b\",\"timeout\":\"4s\",\"after\":[\"a\"],"
        "\"params\":{\"n\":\"${steps.a.result.n}\"}}",
        "{\"step\":\"a\",\"url\":\"http://10.0.0.#:80/a\"},{\"step\":\"b\",\"url\":\"http://10.0.0.0:80/b\",\"timeout\":\"4s\"},"
        "{\"step\":\"c\",\"url\":\"http://10.0.0.1:80/c\",\"timeout\":\"4s\",\"after\":[\"a\",\"b\"],\"join\":\"any\"},"
        "{\"step\":\"d\",\"url\":\"http://10.0.0.1:80/d\",\"timeout\":\"4s\",\"after\":[{\"step\":\"c\",\"on\":\"always\"}]}",
        "{\"step\":\"a\",\"task\":\"app/all\",\"routing\":\"broadcast\",\"tolerate\":1},"
        "{\"step\":\"b\",\"url\":\"http://10.0.0.#:80/b\",\"timeout\":\"4s\",\"after\":[{\"step\":\"a\",\"on\":\"always\"}]}",
        "{\"step\":\"a\",\"url\":\"http://10.0.0.#:80/a\",\"map\":[1,2,3,4,5],\"concurrency\":2,\"tolerate\":\"40%\"},"
        "{\"step\":\"b\",\"task\":\"app/all\",\"shards\":3,\"timeout\":\"4s\",\"wait_timeout\":\"10s\",\"after\":[\"a\"]}",
    };
    static const char *const failures[] = {"stop", "ignore", "retry", "transfer", "retry_transfer"};
    static const char *const repeats[] = {"same_instance", "anywhere", "never"};
    char step[700];
    (void)snprintf(step, sizeof step, "%s", graphs[world_draw(world, 0, 4)]);
    *strchr(step, '#') = (char)('0' + world_draw(world, 0, 1));
    char *brace = strchr(step, '}'); /* policies go to the first step; its `}` is the first one */
    str_add_bytes(json, step, (size_t)(brace - step));
    str_addf(
        json,
        ",\"on_failure\":\"%s\",\"repeat\":\"%s\",\"timeout\":\"4s\",\"wait_timeout\":\"20s\",\"retry\":{\"max\":%d,\"delay\":\"%dms\"}",
        failures[world_draw(world, 0, 4)], repeats[world_chance(world, 80) ? 0 : world_draw(world, 1, 2)],
        (int)world_draw(world, 0, 3), (int)world_draw(world, 10, 900));
    str_add(json, brace);
}

static void write_trigger(struct world *world, struct sim_job *job, struct str *json)
{
    static const int64_t periods[] = {500, 1000, 2000, 5000};
    static const char *const misfires[] = {"latest", "skip", "all"};
    int64_t period = periods[world_draw(world, job->kind == SIM_CRON ? 1 : 0, 3)];
    job->period[job->version] = period;
    str_add(json, "{\"name\":\"t\",");
    switch (job->kind) {
    case SIM_EVERY:
        str_addf(json, "\"every\":\"%lldms\",\"align\":true", (long long)period);
        break;
    case SIM_CRON:
        str_addf(json, "\"cron\":\"*/%lld * * * * ?\"", (long long)(period / 1000));
        break;
    case SIM_DELAY:
        str_addf(json, "\"delay\":\"%lldms\"", (long long)period);
        break;
    case SIM_AT:
    case SIM_KINDS: {
        char text[RFC3339_SIZE];
        if (!job->at)
            job->at = world->now + world_draw(world, 3000, 60000);
        str_addf(json, "\"at\":\"%s\"", rfc3339_format((instant){job->at}, text));
        break;
    }
    }
    if (job->kind <= SIM_CRON) {
        str_addf(json, ",\"misfire\":\"%s\",\"misfire_threshold\":\"%llds\"", misfires[world_draw(world, 0, 2)],
                 (long long)(world_chance(world, 50) ? 2 : 60));
        if (world_chance(world, 25))
            str_add(json, ",\"quiet\":\"12:00-12:01\"");
        if (job->max_fires)
            str_addf(json, ",\"max_fires\":%lld", (long long)job->max_fires);
        if (world_chance(world, 15))
            str_add(json, ",\"jitter\":\"300ms\"");
    }
    str_add(json, "}");
}

static void put_job(struct world *world, struct sim_job *job)
{
    static const char *const overlaps[] = {"wait", "skip", "allow", "replace"};
    struct str json;
    if (job->version == SIM_VERSIONS || job->deleted)
        return;
    job->version++;
    const char *overlap = overlaps[world_draw(world, 0, 3)];
    job->exclusive = strcmp(overlap, "allow") != 0 && (job->version == 1 || job->exclusive);
    str_init(&json, 8192);
    str_addf(
        &json,
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Job\",\"metadata\":{\"project\":\"default\",\"name\":\"%s\"},\"spec\":{\"triggers\":[",
        job->name);
    write_trigger(world, job, &json);
    job->more[job->version] = job->kind <= SIM_CRON && world_chance(world, 25) ? world_draw(world, 1, 4) * 700 : 0;
    if (job->more[job->version])
        str_addf(&json, ",{\"name\":\"u\",\"every\":\"%lldms\",\"align\":true,\"misfire\":\"%s\"}",
                 (long long)job->more[job->version], world_chance(world, 50) ? "latest" : "all");
    job->retries[job->version] = world_chance(world, 25) ? (int)world_draw(world, 1, 2) : 0;
    str_addf(&json, "],\"retry\":{\"max\":%d,\"delay\":\"700ms\"}", job->retries[job->version]);
    job->failures[job->version] = world_chance(world, 15) ? (int)world_draw(world, 1, 3) : 0;
    if (job->failures[job->version])
        str_addf(&json, ",\"max_consecutive_failures\":%d", job->failures[job->version]);
    str_addf(&json, ",\"overlap\":\"%s\",\"max_parallel\":20,\"timeout\":\"40s\",\"graph\":[", overlap);
    write_steps(world, &json);
    str_add(&json, "]}}");
    struct faults faults;
    faults_init(&faults);
    struct document *document = document_parse(str_text(&json), json.length, DOCUMENT_KINDS, &faults);
    if (!document)
        world_break(world, "the scenario's own document is bad: %s: %s in %s", faults.count ? faults.items[0].path : "",
                    faults.count ? faults.items[0].text : "", str_text(&json));
    document_free(document);
    faults_release(&faults);
    job->id = db_put_job(&world->db, job->name, str_text(&json));
    world_trace(world, "people: job %s (%lld) version %lld, overlap %s: %s", job->name, (long long)job->id,
                (long long)job->version, overlap, strstr(str_text(&json), "triggers"));
    str_release(&json);
}

static void make_job(struct world *world, void *context)
{
    struct sim_job *job = context;
    if (!job->version) {
        int64_t dice = world_draw(world, 1, 100);
        job->kind = dice <= 45 ? SIM_EVERY : dice <= 75 ? SIM_CRON : dice <= 92 ? SIM_DELAY : SIM_AT;
        job->max_fires = job->kind <= SIM_CRON && world_chance(world, 10) ? world_draw(world, 1, 12) : 0;
        (void)snprintf(job->name, sizeof job->name, "job%d", (int)(job - sim_plan.jobs));
    }
    put_job(world, job);
}

/* ---- people
 * ---------------------------------------------------------------------------------------------------------------- */

static struct sim_job *any_job(struct world *world)
{
    struct sim_job *job = &sim_plan.jobs[world_draw(world, 0, (int64_t)sim_plan.job_count - 1)];
    return job->version && !job->deleted ? job : NULL;
}

static void people_act(struct world *world, void *context)
{
    struct sim_job *job = any_job(world);
    (void)context;
    if (world->releasing)
        return;
    world_at(world, world->now + world_draw(world, 1500, 9000), people_act, NULL);
    if (!job || world->now > sim_plan.end - 20000)
        return;
    int64_t dice = world_draw(world, 1, 100);
    if (world_chance(world, 15)) {
        const char *node = world->nodes[world_draw(world, 0, (int64_t)world->node_count - 1)].name;
        node = world_chance(world, 30) ? NULL : node;
        world_trace(world, "people: move %s to %s", job->name, node ? node : "the shared slots");
        (void)db_move(&world->db, job->id, node);
        return;
    }
    if (world->healing && dice <= 60)
        dice = 30; /* edits, pauses and deletions end with the faults, so that the ledger settles */
    if (dice <= 15) {
        world_trace(world, "people: pause %s", job->name);
        (void)db_request(&world->db, REQUEST_PAUSE, job->id, 0, false);
    } else if (dice <= 38) {
        world_trace(world, "people: resume %s", job->name);
        (void)db_request(&world->db, REQUEST_RESUME, job->id, 0, world_chance(world, 30));
    } else if (dice <= 60) {
        if (!world->healing)
            put_job(world, job);
    } else if (dice <= 63) {
        if (!world->healing) {
            job->deleted = true;
            job->deleted_at = world->now;
            world_trace(world, "people: delete %s", job->name);
            db_delete_job(&world->db, job->id);
        }
    } else if (dice <= 82) {
        int64_t run = db_request(&world->db, REQUEST_ENQUEUE, job->id, 0, false);
        vec_add(&sim_plan.enqueued, run);
        world_trace(world, "people: enqueue %s as %lld", job->name, (long long)run);
    } else if (world->db.open.count) {
        struct db_run *run = world->db.open.items[world_draw(world, 0, (int64_t)world->db.open.count - 1)];
        world_trace(world, "people: cancel %lld", (long long)run->id);
        (void)db_request(&world->db, REQUEST_CANCEL, run->row.job, run->id, false);
    }
}

/* ---- faults
 * ------------------------------------------------------------------------------------------------------------------ */

struct repair {
    int kind;
    size_t node;
};

/* What an operator does when the coordination service was wiped: the next generation begins, and all start again. */
static void adopt_coordination(struct world *world)
{
    world->db.generation++;
    for (size_t i = 0; i < world->node_count; i++) {
        node_kill(world, i);
        node_start(world, i);
    }
}

static void repair(struct world *world, void *context)
{
    struct repair *r = context;
    if (world->releasing) {
        free(r);
        return;
    }
    struct node *node = &world->nodes[r->node];
    switch (r->kind) {
    case 0:
        node_start(world, r->node);
        break;
    case 1:
        node_resume(world, r->node);
        break;
    case 2:
        node->cut_store = false;
        break;
    case 3:
        node->cut_coordination = false;
        break;
    case 4:
        node->cut_executors = false;
        break;
    case 5:
        world->store_down = false;
        break;
    case 6:
        world->coordination_down = false;
        break;
    case 7:
        world->lose_commits = false;
        break;
    case 8:
        world->executors[r->node % EXECUTORS_MAX].down = false;
        break;
    case 12:
        world->store_slow = false;
        break;
    case 13:
        node->stop_at_commit = false;
        node_resume(world, r->node);
        break;
    case 15:
        adopt_coordination(world);
        break;
    case 16:
        db_wish(&world->db, node->name, NODE_WORK);
        break;
    default:
        node->clock_offset = 0;
        break;
    }
    world_trace(world, "repaired: %d %s", r->kind, node->name);
    free(r);
}

static void restart(struct world *world, void *context)
{
    struct node *node = context;
    if (world->releasing)
        return;
    node_kill(world, (size_t)(node - world->nodes));
    node_start(world, (size_t)(node - world->nodes));
}

static void fault(struct world *world, void *context)
{
    static const char *const names[] = {"kill -9",
                                        "SIGSTOP",
                                        "cut from the store",
                                        "cut from coordination",
                                        "cut from executors",
                                        "store down",
                                        "coordination down",
                                        "commits lost",
                                        "executor down",
                                        "clock jump",
                                        "graceful stop",
                                        "everything is killed",
                                        "store slow",
                                        "SIGSTOP between commit and send",
                                        "restart storm",
                                        "coordination wiped",
                                        "wished offline"};
    int64_t dice = world_draw(world, 1, 100), last = world_draw(world, 100, 12000);
    int kind = dice <= 12   ? 0
               : dice <= 14 ? 14
               : dice <= 17 ? 12
               : dice <= 20 ? 16
               : dice <= 23 ? 13
               : dice <= 32 ? 1
               : dice <= 42 ? 2
               : dice <= 52 ? 3
               : dice <= 57 ? 4
               : dice <= 66 ? 5
               : dice <= 74 ? 6
               : dice <= 83 ? 7
               : dice <= 89 ? 8
               : dice <= 92 ? 9
               : dice <= 96 ? 10
               : dice <= 97 ? 15
                            : 11;
    size_t index = (size_t)world_draw(world, 0, (int64_t)world->node_count - 1);
    struct node *node = &world->nodes[index];
    (void)context;
    if (world->now > sim_plan.faults_end || world->releasing)
        return;
    world_at(world, world->now + world_draw(world, 500, 9000), fault, NULL);
    world->faults++;
    world_trace(world, "fault: %s, %s", names[kind], node->name);
    switch (kind) {
    case 0:
        node_kill(world, index);
        break;
    case 1:
        node_pause(world, index);
        break;
    case 2:
        node->cut_store = true;
        break;
    case 3:
        node->cut_coordination = true;
        break;
    case 4:
        node->cut_executors = true;
        break;
    case 5:
        world->store_down = true;
        break;
    case 6:
        world->coordination_down = true;
        break;
    case 7:
        world->lose_commits = true;
        break;
    case 8:
        world->executors[index % EXECUTORS_MAX].down = true;
        break;
    case 9:
        node->clock_offset = world_draw(world, -1, 1) * world_draw(world, 100, 90000);
        break;
    case 10:
        if (node->life && !node->paused)
            scheduler_drain(node->life->scheduler,
                            (struct moment){{world->now + node->clock_offset}, {world->now - world->begin + 1000}});
        if (node->life)
            life_wake(node->life, world->now);
        kind = 0; /* started again later */
        last += 15000;
        break;
    case 12:
        world->store_slow = true;
        break;
    case 13:
        node->stop_at_commit = true;
        break;
    case 14:
        for (int64_t at = 0, n = world_draw(world, 2, 6); n > 0; n--) {
            at += world_draw(world, 20, 2500);
            world_at(world, world->now + at, restart, node);
        }
        return;
    case 15:
        coordination_wipe(world);
        sim_plan.wiped = true;
        break;
    case 16:
        db_wish(&world->db, node->name, NODE_DRAIN);
        last += 5000;
        break;
    default:
        for (size_t i = 0; i < world->node_count; i++)
            node_kill(world, i);
        kind = 0;
        for (size_t i = 0; i < world->node_count; i++) {
            struct repair *r = mem_new(struct repair);
            *r = (struct repair){0, i};
            world_at(world, world->now + last + world_draw(world, 0, 3000), repair, r);
        }
        return;
    }
    struct repair *r = mem_new(struct repair);
    *r = (struct repair){kind, index};
    world_at(world, world->now + last, repair, r);
}

/* All faults end; from here on everything must come right. */
static void heal(struct world *world, void *context)
{
    (void)context;
    world_trace(world, "all is healed");
    world->healing = true;
    if (sim_plan.wiped)
        adopt_coordination(world);
    world->store_slow = false;
    world->store_down = world->coordination_down = world->lose_commits = false;
    for (size_t i = 0; i < EXECUTORS_MAX; i++)
        world->executors[i].down = false;
    for (size_t i = 0; i < world->node_count; i++) {
        struct node *node = &world->nodes[i];
        node->cut_store = node->cut_coordination = node->cut_executors = false;
        node->clock_offset = 0;
        node->stop_at_commit = false;
        db_wish(&world->db, node->name, NODE_WORK);
        node_resume(world, i);
        node_start(world, i);
    }
}

static void restart_ended(struct world *world, void *context)
{
    (void)context;
    if (world->releasing)
        return;
    world_at(world, world->now + 1000, restart_ended, NULL);
    for (size_t i = 0; world->healing && i < world->node_count; i++)
        node_start(world, i);
}

static void tick(struct world *world, void *context)
{
    (void)context;
    if (world->releasing)
        return;
    coordination_tick(world);
    world_at(world, world->now + 200, tick, NULL);
}

static void first_start(struct world *world, void *context)
{
    node_start(world, (size_t)(intptr_t)context);
}

void scenario_prepare(struct world *world)
{
    vec_release(&sim_plan.enqueued);
    sim_plan = (struct sim_plan){.job_count = (size_t)world_draw(world, 2, SIM_JOBS)};
    sim_plan.faults_end = world->begin + world_draw(world, 20, 70) * 1000;
    sim_plan.end = sim_plan.faults_end + 110000; /* deadlines of runs are 40 s, waits 20 s */
    world->node_count = (size_t)world_draw(world, 1, 4);
    world->executor_count = 2;
    for (size_t i = 0; i < world->node_count; i++) {
        world->nodes[i].world = world;
        (void)snprintf(world->nodes[i].name, sizeof world->nodes[i].name, "s%zu", i + 1);
        world_at(world, world->now + world_draw(world, 0, 500), first_start, (void *)(intptr_t)i);
    }
    if (world->node_count > 1 && world_chance(world, 5)) /* two processes of one name: one of them waits */
        memcpy(world->nodes[1].name, world->nodes[0].name, sizeof world->nodes[0].name);
    for (size_t i = 0; i < sim_plan.job_count; i++)
        world_at(world, world->now + world_draw(world, 0, 8000), make_job, &sim_plan.jobs[i]);
    tick(world, NULL);
    restart_ended(world, NULL);
    world_at(world, world->now + 5000, people_act, NULL);
    world_at(world, world->now + world_draw(world, 4000, 12000), fault, NULL);
    world_at(world, sim_plan.faults_end + 1, heal, NULL);
}
