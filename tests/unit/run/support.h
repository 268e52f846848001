/* What the tests of the run machine share: a world of instances, a store of rows as a real one would keep them, and an
 * `apply` that checks after every event that the invariants hold and that the replay of the rows is the same run. */
#ifndef CARILLON_TESTS_UNIT_RUN_SUPPORT_H
#define CARILLON_TESTS_UNIT_RUN_SUPPORT_H

/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/base/civil.h"
#include "core/logic/run/machine.h"

#define T0 INT64_C(1790000000000)
#define BOOT 7
#define WORLD_INSTANCES 8
#define WORLD_TASKS 8

struct kept_rows {
    struct run_row run;
    struct step_row *steps;
    size_t step_count;
    struct attempt_row *attempts;
    size_t attempt_count;
};

struct bench {
    struct job_spec job;
    struct task_spec tasks[WORLD_TASKS];
    char task_names[WORLD_TASKS][64]; /* "application/name" */
    size_t task_count;
    struct route_instance instances[WORLD_INSTANCES], seen[WORLD_INSTANCES]; /* seen: with the calls under way */
    char addresses[WORLD_INSTANCES][64];
    size_t instance_count;
    uint32_t cursor;
    uint64_t random;
    instant now;
    struct run *run;
    struct kept_rows rows;
    const char *where; /* for messages */
    int line;
    bool quiet; /* no replay after each event */
};

/* ---- world ---- */

static inline const struct task_spec *bench_task(void *context, const char *project, const char *application,
                                                 const char *task)
{
    struct bench *b = context;
    char name[64];
    (void)project;
    (void)snprintf(name, sizeof name, "%s/%s", application, task);
    for (size_t i = 0; i < b->task_count; i++)
        if (!strcmp(b->task_names[i], name))
            return &b->tasks[i];
    return NULL;
}

static inline int32_t bench_in_flight(const struct bench *b, const char *address)
{
    int32_t count = 0;
    for (const struct run_step *step = run_each(b->run, NULL); step; step = run_each(b->run, step))
        for (size_t k = 0; k < step->calls.attempt_count; k++)
            count +=
                step->calls.attempts[k].state != ATTEMPT_ENDED && !strcmp(step->calls.attempts[k].instance, address);
    return count;
}

static inline size_t bench_instances(void *context, const char *project, const struct step_spec *step,
                                     const struct route_instance **ret)
{
    static const struct route_instance direct = {.address = "direct:80", .usable = true};
    struct bench *b = context;
    (void)project;
    *ret = step->task ? b->seen : &direct;
    if (!step->task)
        return 1;
    const struct task_spec *task = bench_task(b, project, step->application, step->task);
    for (size_t i = 0; i < b->instance_count; i++) {
        b->seen[i] = b->instances[i];
        b->seen[i].in_flight = bench_in_flight(b, b->instances[i].address);
        b->seen[i].full |= (step->call.serial || (task && task->call.serial)) && b->seen[i].in_flight > 0;
    }
    return b->instance_count;
}

static inline uint32_t bench_cursor(void *context, const char *project, const char *application, const char *task)
{
    (void)project;
    (void)application;
    (void)task;
    return ((struct bench *)context)->cursor;
}

static inline const struct zone *bench_zone(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

static inline struct run_world bench_world(struct bench *b)
{
    return (struct run_world){.task = bench_task,
                              .instances = bench_instances,
                              .cursor = bench_cursor,
                              .zone = bench_zone,
                              .random = b->random,
                              .context = b};
}

static inline void bench_instance(struct bench *b, const char *address, bool usable, bool full)
{
    assert_true(b->instance_count < WORLD_INSTANCES);
    size_t i = b->instance_count++;
    (void)snprintf(b->addresses[i], sizeof b->addresses[i], "%s", address);
    b->instances[i] = (struct route_instance){.address = b->addresses[i], .usable = usable, .full = full};
}

static inline struct task_spec *bench_add_task(struct bench *b, const char *name)
{
    assert_true(b->task_count < WORLD_TASKS);
    size_t i = b->task_count++;
    (void)snprintf(b->task_names[i], sizeof b->task_names[i], "%s", name);
    b->tasks[i] = (struct task_spec){
        .name = strchr(b->task_names[i], '/') + 1,
        .call = {.path = "/t", .timeout = -1, .connect_timeout = -1, .wait_timeout = -1, .repeat = REPEAT_UNSET}};
    return &b->tasks[i];
}

/* A step that calls app/t, as the document's parser would give it. */
static inline struct step_spec step_defaults(const char *name)
{
    return (struct step_spec){
        .name = name,
        .kind = STEP_HTTP,
        .application = "app",
        .task = "t",
        .call = {.timeout = -1, .connect_timeout = -1, .wait_timeout = -1, .repeat = REPEAT_UNSET},
        .retry = {.max = 3, .delay = 5 * SPAN_SECOND, .max_delay = 10 * SPAN_MINUTE},
    };
}

/* ---- rows as a store keeps them: the newest of each key ---- */

static inline char *own(const char *text)
{
    return text ? strdup(text) : NULL;
}

static inline void disown(const char *text)
{
    free((void *)(uintptr_t)text);
}

static inline void run_row_release(struct run_row *row)
{
    disown(row->trigger);
    disown(row->node);
    disown(row->reason);
    disown(row->error_code);
    disown(row->error_args);
    disown(row->zone);
    disown(row->params);
    disown(row->start);
    *row = (struct run_row){0};
}

static inline void keep_run(struct kept_rows *rows, const struct run_row *row)
{
    struct run_row copy = *row;
    copy.trigger = own(row->trigger);
    copy.node = own(row->node);
    copy.reason = own(row->reason);
    copy.error_code = own(row->error_code);
    copy.error_args = own(row->error_args);
    copy.zone = own(row->zone);
    copy.params = own(row->params);
    copy.start = own(row->start);
    run_row_release(&rows->run);
    rows->run = copy;
}

static inline void step_row_release(struct step_row *row)
{
    disown(row->reason);
    disown(row->result);
    disown(row->error);
    disown(row->items);
}

static inline void keep_step(struct kept_rows *rows, const struct step_row *row)
{
    struct step_row copy = *row;
    copy.reason = own(row->reason);
    copy.result = own(row->result);
    copy.error = own(row->error);
    copy.items = own(row->items);
    for (size_t i = 0; i < rows->step_count; i++)
        if (rows->steps[i].item == row->item && !strcmp(rows->steps[i].step, row->step)) {
            step_row_release(&rows->steps[i]);
            rows->steps[i] = copy;
            return;
        }
    rows->steps = realloc(rows->steps, (rows->step_count + 1) * sizeof *rows->steps);
    rows->steps[rows->step_count++] = copy;
}

static inline void attempt_row_release(struct attempt_row *row)
{
    disown(row->instance);
    disown(row->node);
    disown(row->error);
    disown(row->code);
    disown(row->result);
}

static inline void keep_attempt(struct kept_rows *rows, const struct attempt_row *row)
{
    struct attempt_row copy = *row;
    copy.instance = own(row->instance);
    copy.node = own(row->node);
    copy.error = own(row->error);
    copy.code = own(row->code);
    copy.result = own(row->result);
    for (size_t i = 0; i < rows->attempt_count; i++)
        if (rows->attempts[i].n == row->n && rows->attempts[i].item == row->item &&
            !strcmp(rows->attempts[i].step, row->step)) {
            attempt_row_release(&rows->attempts[i]);
            rows->attempts[i] = copy;
            return;
        }
    rows->attempts = realloc(rows->attempts, (rows->attempt_count + 1) * sizeof *rows->attempts);
    rows->attempts[rows->attempt_count++] = copy;
}

static inline void keep_changes(struct bench *b, int32_t before, const char *start_before)
{
    const struct run *run = b->run;
    keep_run(&b->rows, &run->row);
    if (run->seq == before)
        return;
    for (const struct run_step *step = run_each(run, NULL); step; step = run_each(run, step)) {
        struct step_row row;
        run_step_row(run, step, &row);
        if (row.seq == run->seq)
            keep_step(&b->rows, &row);
        for (size_t k = 0; k < step->calls.attempt_count; k++)
            if (step->calls.attempts[k].seq == run->seq && run->row.start == start_before)
                keep_attempt(&b->rows, &step->calls.attempts[k]);
    }
}

/* ---- life ---- */

static inline struct run_row queued_row(void)
{
    return (struct run_row){.id = 4711,
                            .job = 1,
                            .project = 1,
                            .version = 2,
                            .trigger = "nightly",
                            .scheduled_at = {T0},
                            .due_at = {T0},
                            .fired_at = {T0},
                            .started_at = INSTANT_NONE,
                            .ended_at = INSTANT_NONE,
                            .state = RUN_QUEUED,
                            .boot = BOOT,
                            .node = "s1",
                            .zone = "UTC"};
}

static inline void bench_create(struct bench *b)
{
    struct run_row row = queued_row();
    if (b->job.timeout == 0)
        b->job.timeout = JOB_TIMEOUT_DEFAULT;
    if (!b->job.meta.name)
        b->job.meta = (struct metadata){.project = "default", .name = "job"};
    b->now = (instant){T0};
    assert_int_equal(run_create(&row, &b->job, &b->run), STATUS_OK);
    keep_run(&b->rows, &row);
}

static inline void bench_release(struct bench *b)
{
    run_free(b->run);
    for (size_t i = 0; i < b->rows.step_count; i++)
        step_row_release(&b->rows.steps[i]);
    for (size_t i = 0; i < b->rows.attempt_count; i++)
        attempt_row_release(&b->rows.attempts[i]);
    free(b->rows.steps);
    free(b->rows.attempts);
    run_row_release(&b->rows.run);
    b->run = NULL;
    b->rows = (struct kept_rows){0};
}

#define BENCH_FAIL(b, ...)                                                              \
    do {                                                                                \
        char bench_text[2000];                                                          \
        (void)snprintf(bench_text, sizeof bench_text, __VA_ARGS__);                     \
        fail_msg("%s:%d: %s", (b)->where ? (b)->where : "test", (b)->line, bench_text); \
    } while (0)

static inline void bench_check_replay(struct bench *b)
{
    struct run *again = NULL;
    struct error err;
    if (run_replay(&b->rows.run, &b->job, b->rows.steps, b->rows.step_count, b->rows.attempts, b->rows.attempt_count,
                   &again, &err) != STATUS_OK)
        BENCH_FAIL(b, "replay: %s", err.text);
    if (!run_equal(b->run, again, &err))
        BENCH_FAIL(b, "the replay is another run: %s", err.text);
    run_free(again);
}

/* Applies, keeps the rows, checks. */
static inline enum status bench_apply(struct bench *b, struct run_event event, struct error *err)
{
    int32_t before = b->run->seq;
    const char *start = b->run->row.start;
    event.at = b->now;
    enum status status = run_apply(b->run, &event, err);
    if (status)
        return status;
    struct error why;
    if (run_check(b->run, &why) != STATUS_OK)
        BENCH_FAIL(b, "invariant: %s", why.text);
    keep_changes(b, before, start);
    if (!b->quiet)
        bench_check_replay(b);
    return STATUS_OK;
}

static inline void bench_must(struct bench *b, struct run_event event)
{
    struct error err;
    if (bench_apply(b, event, &err) != STATUS_OK)
        BENCH_FAIL(b, "refused: %s", err.text);
}

static inline void bench_start(struct bench *b)
{
    bench_must(b, (struct run_event){.kind = RUN_EVENT_START});
}

/* End of the last attempt of a step's item (0: of the step itself). */
static inline struct run_event item_end_event(const struct run *run, const char *step, int32_t item,
                                              enum call_class class)
{
    const struct run_step *found = run_find_item(run, step, item);
    assert_non_null(found);
    return (struct run_event){
        .kind = RUN_EVENT_ATTEMPT,
        .attempt = {.step = step,
                    .item = item,
                    .n = (int32_t)found->calls.attempt_count,
                    .state = class == CALL_ACCEPTED ? ATTEMPT_ACCEPTED : ATTEMPT_ENDED,
                    .class = class,
                    .retry_after = -1,
                    .ended_at = INSTANT_NONE},
    };
}

static inline struct run_event end_event(const struct run *run, const char *step, enum call_class class)
{
    return item_end_event(run, step, 0, class);
}

static inline size_t bench_effects(struct bench *b, struct run_effect *ret, size_t cap)
{
    struct run_world world = bench_world(b);
    return run_effects(b->run, (struct moment){.wall = b->now}, &world, ret, cap);
}

/* One line for each effect; times as milliseconds since T0. */
static inline void effect_text(const struct run_effect *e, char *ret, size_t size)
{
    char due[32] = "", item[16] = "";
    int32_t number = e->kind == EFFECT_STEP ? e->step.item : e->attempt.item;
    if (number)
        (void)snprintf(item, sizeof item, "#%d", (int)number);
    switch (e->kind) {
    case EFFECT_ATTEMPT:
        (void)snprintf(ret, size, "attempt %s%s n=%d try=%d %s", e->attempt.step, item, (int)e->attempt.n,
                       (int)e->attempt.key_try, e->attempt.instance);
        return;
    case EFFECT_STEP:
        if (!instant_is_none(e->step.due))
            (void)snprintf(due, sizeof due, " due=%lld", (long long)(e->step.due.ms - T0));
        (void)snprintf(ret, size, "step %s%s %s%s%s%s%s%s%s%s%s%s", e->step.step, item, step_state_text(e->step.state),
                       e->step.reason ? " " : "", e->step.reason ? e->step.reason : "", due, e->step.items ? " " : "",
                       e->step.items ? e->step.items : "", e->step.result ? " = " : "",
                       e->step.result ? e->step.result : "", e->step.error ? " | " : "",
                       e->step.error ? e->step.error : "");
        return;
    case EFFECT_CANCEL_CALL:
        (void)snprintf(ret, size, "cancel %s%s n=%d %s", e->attempt.step, item, (int)e->attempt.n,
                       call_class_text(e->attempt.class));
        return;
    case EFFECT_END:
        (void)snprintf(ret, size, "end %s%s%s%s%s%s%s", run_state_text(e->state), e->reason ? " " : "",
                       e->reason ? e->reason : "", e->error_code ? " " : "", e->error_code ? e->error_code : "",
                       e->error_args ? " " : "", e->error_args ? e->error_args : "");
        return;
    case EFFECT_AGAIN:
        (void)snprintf(ret, size, "again");
        return;
    case EFFECT_WAKE:
        (void)snprintf(ret, size, "wake %lld", (long long)(e->due.ms - T0));
        return;
    }
}

static inline void bench_carry_out(struct bench *b, const struct run_effect *e)
{
    if (e->kind == EFFECT_ATTEMPT) {
        bench_must(b, (struct run_event){.kind = RUN_EVENT_ATTEMPT, .attempt = e->attempt});
        b->cursor++;
    } else if (e->kind == EFFECT_STEP) {
        bench_must(b, (struct run_event){.kind = RUN_EVENT_STEP, .step = e->step});
    } else if (e->kind == EFFECT_END) {
        bench_must(b, (struct run_event){.kind = RUN_EVENT_END,
                                         .state = e->state,
                                         .reason = e->reason,
                                         .error_code = e->error_code,
                                         .error_args = e->error_args});
    }
}

#endif
