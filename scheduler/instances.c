/* Applications and their instances: who is there, who is full, who is set aside. Also the world that the run machine
 * asks. An instance that cannot be connected to is set aside at once and probed back in by one call at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/parts.h"

#define ASIDE_FIRST SPAN_SECOND
#define ASIDE_MOST (30 * SPAN_SECOND)
#define DIRECT_MAX 10000 /* authorities of direct urls that are remembered */

/* ---- table ---------------------------------------------------------------------------------------------------------
 */

static struct application *find(struct scheduler *s, const char *key)
{
    struct application *application = NULL;
    HASH_FIND(hh, s->applications, key, strlen(key), application);
    return application;
}

static struct application *add(struct scheduler *s, const char *key)
{
    struct application *application = mem_new(struct application);
    application->key = mem_copy_text(key);
    HASH_ADD_KEYPTR(hh, s->applications, application->key, strlen(application->key), application);
    return application;
}

struct instance *application_instance(struct application *application, const char *address)
{
    for (size_t i = 0; i < application->instances.count; i++)
        if (strcmp(application->instances.items[i]->address, address) == 0)
            return application->instances.items[i];
    return NULL;
}

static struct instance *instance_add(struct application *application, const char *address)
{
    struct instance *instance = mem_new(struct instance);
    instance->address = mem_copy_text(address);
    vec_add(&application->instances, instance);
    return instance;
}

static void instance_free(struct instance *instance)
{
    free(instance->address);
    free(instance);
}

/* Instances that are no longer named stay while calls of theirs are under way. */
static void sweep(struct application *application)
{
    for (size_t i = 0; i < application->instances.count;) {
        struct instance *instance = application->instances.items[i];
        if (!instance->listed && instance->in_flight == 0) {
            instance_free(instance);
            vec_remove_swap(&application->instances, i);
        } else {
            i++;
        }
    }
}

/* Order of the document: round-robin must see the same list everywhere. */
static void list(struct application *application, const struct application_spec *spec)
{
    for (size_t i = 0; i < application->instances.count; i++)
        application->instances.items[i]->listed = false;
    for (size_t i = 0; i < spec->instance_count; i++) {
        struct instance *instance = application_instance(application, spec->instances[i]);
        if (!instance)
            instance = instance_add(application, spec->instances[i]);
        instance->listed = true;
    }
    sweep(application);
    for (size_t i = 0; i < spec->instance_count; i++)
        for (size_t k = i; k < application->instances.count; k++)
            if (strcmp(application->instances.items[k]->address, spec->instances[i]) == 0) {
                struct instance *here = application->instances.items[i];
                application->instances.items[i] = application->instances.items[k];
                application->instances.items[k] = here;
                break;
            }
}

void applications_put(struct scheduler *s, const struct definition_row *row, struct document *document)
{
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", row->project, row->name);
    struct application *application = find(s, key);
    if (!application)
        application = add(s, key);
    if (application->id == 0) {
        application->id = row->id;
        HASH_ADD(hh_id, s->applications_by_id, id, sizeof application->id, application);
    }
    document_free(application->document);
    application->document = document;
    list(application, &document->application);
    s->room_freed = true;
}

void applications_drop(struct scheduler *s, int64_t id)
{
    struct application *application = NULL;
    HASH_FIND(hh_id, s->applications_by_id, &id, sizeof id, application);
    if (!application)
        return;
    HASH_DELETE(hh_id, s->applications_by_id, application);
    application->id = 0;
    document_free(application->document);
    application->document = NULL;
    for (size_t i = 0; i < application->instances.count; i++)
        application->instances.items[i]->listed = false;
    sweep(application);
}

static void application_free(struct scheduler *s, struct application *application)
{
    HASH_DELETE(hh, s->applications, application);
    if (application->id != 0)
        HASH_DELETE(hh_id, s->applications_by_id, application);
    for (size_t i = 0; i < application->instances.count; i++)
        instance_free(application->instances.items[i]);
    vec_release(&application->instances);
    vec_release(&application->routes);
    document_free(application->document);
    free(application->key);
    free(application);
}

void applications_release(struct scheduler *s)
{
    while (s->applications)
        application_free(s, s->applications);
    while (s->cursors) {
        struct cursor *cursor = s->cursors;
        HASH_DELETE(hh, s->cursors, cursor);
        free(cursor->key);
        free(cursor);
    }
}

/* ---- direct urls ---------------------------------------------------------------------------------------------------
 */

static void authority(const char *url, char ret[256])
{
    const char *at = strstr(url, "://");
    at = at ? at + 3 : url;
    size_t length = strcspn(at, "/?#");
    (void)snprintf(ret, 256, "%.*s", (int)(length > 255 ? 255 : length), at);
}

static void forget_idle_direct(struct scheduler *s)
{
    for (struct application *a = s->applications, *next; a; a = next) {
        next = a->hh.next;
        if (a->key[0] == '=' && a->in_flight == 0)
            application_free(s, a);
    }
}

static struct application *direct(struct scheduler *s, const char *url)
{
    char key[257] = "=";
    authority(url, key + 1);
    struct application *application = find(s, key);
    if (application)
        return application;
    if (HASH_COUNT(s->applications) > DIRECT_MAX)
        forget_idle_direct(s);
    application = add(s, key);
    instance_add(application, key + 1)->listed = true;
    return application;
}

/* NULL: no such application. */
struct application *application_of(struct scheduler *s, const char *project, const struct step_spec *step)
{
    if (!step->application)
        return step->call.url ? direct(s, step->call.url) : NULL;
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", project, step->application);
    return find(s, key);
}

const struct task_spec *application_task(const struct application *application, const char *task)
{
    if (!application || !application->document || !task)
        return NULL;
    const struct application_spec *spec = &application->document->application;
    for (size_t i = 0; i < spec->task_count; i++)
        if (strcmp(spec->tasks[i].name, task) == 0 ||
            (task[0] == '/' && spec->tasks[i].call.path && strcmp(spec->tasks[i].call.path, task) == 0))
            return &spec->tasks[i];
    return NULL;
}

/* ---- limits --------------------------------------------------------------------------------------------------------
 */

/* What executors can bear is shared out among the schedulers that are alive. */
static int64_t share(const struct scheduler *s, int64_t limit)
{
    int64_t live = 0;
    for (size_t i = 0; i < s->nodes.count; i++)
        live += !s->nodes.items[i].draining;
    return live > 1 ? (limit / live > 0 ? limit / live : 1) : limit;
}

static int32_t per_instance(const struct scheduler *s, const struct application *application,
                            const struct step_spec *step)
{
    const struct task_spec *task = application_task(application, step->task);
    struct call_spec call = call_spec_resolve(task ? &task->call : NULL, step);
    if (call.serial)
        return 1;
    return (int32_t)share(s, call.concurrency > 0 ? call.concurrency : s->settings->dispatch.max_per_instance);
}

/* A limit above the instance; NULL: none is reached. */
static const char *limit_above(const struct scheduler *s, const struct job *job, const struct job_spec *spec,
                               const struct application *application)
{
    if (s->in_flight >= s->settings->dispatch.max_in_flight)
        return "scheduler_limit";
    if (job->in_flight >= (spec->max_in_flight > 0 ? spec->max_in_flight : JOB_IN_FLIGHT_DEFAULT))
        return "job_limit";
    if (application && application->in_flight >= share(s, s->settings->dispatch.max_per_application))
        return "application_limit";
    return NULL;
}

static bool aside(const struct scheduler *s, const struct instance *instance)
{
    return instance->set_aside && (instance->probing || mono_cmp(s->now.mono, instance->until) < 0);
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
        if (step->after_count > 0 || step->kind != STEP_HTTP)
            continue;
        struct application *application = application_of(s, spec->meta.project, step);
        if (!application)
            return NULL; /* the machine waits with its own reason */
        if (application->in_flight >= share(s, s->settings->dispatch.max_per_application))
            return "application_limit";
        int32_t most = per_instance(s, application, step);
        bool any_full = false;
        for (size_t k = 0; k < application->instances.count; k++) {
            const struct instance *instance = application->instances.items[k];
            if (!instance->listed || aside(s, instance))
                continue;
            if (instance->in_flight < most)
                return NULL;
            any_full = true;
        }
        return any_full ? "instance_limit" : NULL;
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
    return application_task(find(s, key), task);
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
    int32_t most = per_instance(s, application, step);
    vec_clear(&application->routes);
    for (size_t i = 0; i < application->instances.count; i++) {
        const struct instance *instance = application->instances.items[i];
        if (!instance->listed)
            continue;
        struct route_instance *route = vec_push(&application->routes);
        route->address = instance->address;
        route->in_flight = instance->in_flight;
        route->usable = !aside(s, instance);
        route->full = above || instance->in_flight >= most;
        route->why = !route->usable ? "set_aside" : above ? above : route->full ? "instance_limit" : NULL;
        s->world_full |= route->full;
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
    const struct application *found = find(s, key);
    return found && found->document && found->document->application.tls;
}

struct run_world world_of(struct scheduler *s, struct open_run *run)
{
    s->world_run = run;
    return (struct run_world){.task = world_task,
                              .instances = world_instances,
                              .cursor = world_cursor,
                              .zone = world_zone,
                              .random = rng_next(&s->rng),
                              .context = s,
                              .tls = world_tls};
}

/* ---- what calls do to it -------------------------------------------------------------------------------------------
 */

void instance_begin(struct scheduler *s, struct call *call)
{
    s->in_flight++;
    call->run->job->in_flight++;
    if (!call->application)
        return;
    call->application->in_flight++;
    if (call->instance) {
        call->instance->in_flight++;
        if (call->instance->set_aside)
            call->instance->probing = true;
    }
}

void instance_end(struct scheduler *s, struct call *call)
{
    s->in_flight--;
    s->room_freed = true;
    call->run->job->in_flight--;
    if (!call->application)
        return;
    call->application->in_flight--;
    if (call->instance) {
        call->instance->in_flight--;
        call->instance->probing = false;
        if (!call->instance->listed)
            sweep(call->application);
    }
    call->instance = NULL;
    call->application = NULL;
}

void instance_outcome(struct scheduler *s, struct call *call, enum call_class class)
{
    struct instance *instance = call->instance;
    if (!instance)
        return;
    if (class == CALL_NOT_SENT) {
        instance->pause = instance->pause == 0               ? ASIDE_FIRST
                          : instance->pause * 2 > ASIDE_MOST ? ASIDE_MOST
                                                             : instance->pause * 2;
        instance->until = mono_add(s->now.mono, instance->pause);
        if (!instance->set_aside)
            sink_logf(s->ports.sink, LOG_WARN, "An instance cannot be reached: it is set aside and probed back in.",
                      "application=%s instance=%s error=\"%s\"", call->application->key, instance->address,
                      call->wire.error);
        instance->set_aside = true;
    } else if (class != CALL_CANCELED && class != CALL_TIMEOUT && class != CALL_UNKNOWN) {
        if (instance->set_aside)
            sink_logf(s->ports.sink, LOG_INFO, "An instance answers again.", "application=%s instance=%s",
                      call->application->key, instance->address);
        instance->set_aside = false;
        instance->pause = 0;
    }
}
