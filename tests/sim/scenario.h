/* What a seed makes of the world: jobs with the schedules they promise, people who edit, pause, run and cancel, and
 * faults. */
#ifndef CARILLON_TESTS_SIM_SCENARIO_H
#define CARILLON_TESTS_SIM_SCENARIO_H

#include "tests/sim/world.h"

#define SIM_JOBS 8
#define SIM_VERSIONS 6
#define SIM_TIMEOUT 40000  /* deadline of a run, ms */
#define SIM_SKEW 1500      /* ms by which what two nodes say of one time may differ */
#define SIM_PATIENCE 15000 /* ms for whatever should happen at once */

enum sim_kind { SIM_EVERY, SIM_CRON, SIM_DELAY, SIM_AT, SIM_KINDS };

/* What the oracle knows of a job: nothing of it comes out of the product. */
struct sim_job {
    int64_t id;
    char name[32];
    enum sim_kind kind;
    int64_t period[SIM_VERSIONS + 1]; /* by version: instants are multiples of it (EVERY, CRON) */
    int64_t more[SIM_VERSIONS + 1];   /* the same of a second trigger, `u`; 0 = this version has none */
    int64_t at;                       /* AT */
    int retries[SIM_VERSIONS + 1];    /* by version: of a failed run */
    int failures[SIM_VERSIONS + 1];   /* by version: in a row, until it is suspended; 0 = for ever */
    int64_t version;
    bool exclusive; /* overlap wait, skip or replace: never two at work */
    bool deleted;
    int64_t deleted_at;
    int64_t max_fires; /* 0 = none */
};

struct sim_plan {
    struct sim_job jobs[SIM_JOBS];
    size_t job_count;
    VEC(int64_t) enqueued; /* acknowledged requests: ids of runs */
    int64_t faults_end, end;
    bool wiped; /* the coordination service was: somebody must adopt it */
};

extern struct sim_plan sim_plan;

/* outcomes.c: when all is healed and settled */
void check_outcomes(struct world *world, const struct sim_job *job);
void check_requests(struct world *world);

#endif
