/* Room: limits of calls in flight, and the world that the run machine asks: tasks, instances, cursors, zones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/know/know.h"

/* ---- limits --------------------------------------------------------------------------------------------------------
 */

int64_t room_share(const struct scheduler *s, int64_t limit)
{
    int64_t live = 0;
    for (size_t i = 0; i < s->nodes.count; i++)
        live += !s->nodes.items[i].draining;
    return live > 1 ? (limit / live > 0 ? limit / live : 1) : limit;
}

struct place {
    int32_t most;
    bool serial;
};

static struct place per_instance(const struct scheduler *s, const struct application *application,
                                 const struct step_spec *step)
{
    const struct task_spec *task = application_task(application, step->task);
    struct call_spec call = call_spec_resolve(task ? &task->call : NULL, step);
    int64_t most = call.concurrency > 0 ? call.concurrency : s->settings->dispatch.max_per_instance;
    return (struct place){.most = call.serial ? 1 : (int32_t)room_share(s, most), .serial = call.serial};
}

/* Why the instance takes no call of this step now; NULL: it does, *ret_room more. run NULL: of a run that is not made
 * yet. */
static const char *full(struct scheduler *s, const struct application *application, const struct instance *instance,
                        const struct place *place, const struct open_run *run, const struct step_spec *step,
                        int32_t *ret_room)
{
    *ret_room = circuit_room(s, instance, place->most) - instance->in_flight;
    if (*ret_room <= 0)
        return "instance_limit";
    if (pace_holds(s, instance->address))
        return "rate_limit";
    return place->serial && lingers_at(s, application, instance, run, step->name) ? "linger" : NULL;
}

/* A limit above the instance; NULL: none is reached. */
static const char *limit_above(const struct scheduler *s, const struct job *job, const struct job_spec *spec,
                               const struct application *application)
{
    if (s->in_flight >= s->settings->dispatch.max_in_flight)
        return "scheduler_limit";
    if (job->in_flight >= (spec->max_in_flight > 0 ? spec->max_in_flight : JOB_IN_FLIGHT_DEFAULT))
        return "job_limit";
    if (application && application->in_flight >= room_share(s, s->settings->dispatch.max_per_application))
        return "application_limit";
    return NULL;
}

const char *room_for(struct scheduler *s, const struct job *job, const struct job_spec *spec)
{
    const char *limit = limit_above(s, job, spec, NULL);
    if (limit)
        return limit;
    if (s->begun >= s->settings->scheduler.max_concurrent_runs)
        return "scheduler_limit";
    for (size_t i = 0; i < spec->step_count; i++) {
        const struct step_spec *step = &spec->steps[i];
        if (step->after_count > 0 || !step_has_call(step))
            continue;
        struct application *application = application_of(s, spec->meta.project, step);
        if (!application)
            return NULL; /* the machine waits with its own reason */
        if (application->in_flight >= room_share(s, s->settings->dispatch.max_per_application))
            return "application_limit";
        struct place place = per_instance(s, application, step);
        const char *any_full = NULL;
        for (size_t k = 0; k < application->instances.count; k++) {
            const struct instance *instance = application->instances.items[k];
            if (!instance->listed || circuit_open(s, instance))
                continue;
            int32_t left;
            any_full = full(s, application, instance, &place, NULL, step, &left);
            if (!any_full)
                return NULL;
        }
        return any_full;
    }
    return NULL;
}

/* ---- the world of the run machine ----------------------------------------------------------------------------------
 */

static const struct task_spec *world_task(void *context, const char *project, const char *application, const char *task)
{
    struct scheduler *s = context;
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", project, application);
    return application_task(application_find(s, key), task);
}

static size_t world_instances(void *context, const char *project, const struct step_spec *step,
                              const struct route_instance **ret)
{
    struct scheduler *s = context;
    struct application *application = application_of(s, project, step);
    *ret = NULL;
    if (!application)
        return 0;
    const struct open_run *run = s->world_run;
    const char *above = limit_above(s, run->job, version_spec(run->version), application);
    struct place place = per_instance(s, application, step);
    vec_clear(&application->routes);
    for (size_t i = 0; i < application->instances.count; i++) {
        const struct instance *instance = application->instances.items[i];
        if (!instance->listed)
            continue;
        struct route_instance *route = vec_push(&application->routes);
        route->address = instance->address;
        route->in_flight = instance->in_flight;
        route->aside = circuit_open(s, instance);
        route->usable = !route->aside;
        const char *here = full(s, application, instance, &place, run, step, &route->room);
        route->why = route->aside ? "target_down" : above ? above : here;
        route->full = above || here;
        s->world_full |= route->full || route->aside;
    }
    *ret = application->routes.items;
    return application->routes.count;
}

static struct cursor *cursor_find(struct scheduler *s, const char *project, const char *application, const char *task,
                                  char key[3 * LIMIT_NAME + 4])
{
    (void)snprintf(key, 3 * LIMIT_NAME + 4, "%s/%s/%s", project, application ? application : "", task ? task : "");
    struct cursor *cursor = NULL;
    HASH_FIND(hh, s->cursors, key, strlen(key), cursor);
    return cursor;
}

static uint32_t world_cursor(void *context, const char *project, const char *application, const char *task)
{
    char key[3 * LIMIT_NAME + 4];
    const struct cursor *cursor = cursor_find(context, project, application, task, key);
    return cursor ? cursor->at : 0;
}

void cursor_move(struct scheduler *s, const char *project, const struct step_spec *step)
{
    if (!step->application)
        return;
    char key[3 * LIMIT_NAME + 4];
    struct cursor *cursor = cursor_find(s, project, step->application, step->task, key);
    if (!cursor) {
        cursor = mem_new(struct cursor);
        cursor->key = mem_copy_text(key);
        HASH_ADD_KEYPTR(hh, s->cursors, cursor->key, strlen(cursor->key), cursor);
    }
    cursor->at++;
}

static const struct zone *world_zone(void *context, const char *name)
{
    struct scheduler *s = context;
    return s->ports.zones->get(s->ports.zones, name);
}

static bool world_tls(void *context, const char *project, const char *application)
{
    struct scheduler *s = context;
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", project, application);
    const struct application *found = application_find(s, key);
    return found && found->document && found->document->application.tls;
}

struct run_world world_of(struct scheduler *s, struct open_run *run)
{
    s->world_run = run;
    return (struct run_world){.defaults = {.timeout = s->settings->dispatch.timeout,
                                           .connect_timeout = s->settings->dispatch.connect_timeout,
                                           .wait_timeout = s->settings->dispatch.wait_timeout},
                              .task = world_task,
                              .instances = world_instances,
                              .cursor = world_cursor,
                              .zone = world_zone,
                              .random = rng_next(&s->rng),
                              .context = s,
                              .tls = world_tls};
}
