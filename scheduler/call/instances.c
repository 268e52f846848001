/* Applications and their instances: who is there, and which calls are under way at whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"

#define DIRECT_MAX 10000 /* authorities of direct urls that are remembered */

/* ---- table ---------------------------------------------------------------------------------------------------------
 */

struct application *application_find(struct scheduler *s, const char *key)
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

static const char *address_at(const struct application *application, size_t i)
{
    const struct application_spec *spec = application->document ? &application->document->application : NULL;
    size_t fixed = spec ? spec->instance_count : 0;
    return i < fixed ? spec->instances[i] : application->registered.items[i - fixed];
}

/* Order of the document, then those that announce themselves: round-robin must see the same list everywhere. */
static void list(struct application *application)
{
    size_t count =
        application->registered.count + (application->document ? application->document->application.instance_count : 0);
    size_t at = 0;
    for (size_t i = 0; i < application->instances.count; i++)
        application->instances.items[i]->listed = false;
    for (size_t i = 0; i < count; i++) {
        struct instance *instance = application_instance(application, address_at(application, i));
        if (!instance)
            instance = instance_add(application, address_at(application, i));
        instance->listed = true;
    }
    sweep(application);
    for (size_t i = 0; i < count; i++)
        for (size_t k = at; k < application->instances.count; k++)
            if (strcmp(application->instances.items[k]->address, address_at(application, i)) == 0) {
                struct instance *here = application->instances.items[at];
                application->instances.items[at++] = application->instances.items[k];
                application->instances.items[k] = here;
                break;
            }
}

void application_list(struct scheduler *s, struct application *application)
{
    list(application);
    s->room_freed = true;
}

struct application *application_need(struct scheduler *s, const char *key)
{
    struct application *application = application_find(s, key);
    return application ? application : add(s, key);
}

void applications_put(struct scheduler *s, const struct definition_row *row, struct document *document)
{
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", row->project, row->name);
    struct application *application = application_need(s, key);
    if (application->id == 0) {
        application->id = row->id;
        HASH_ADD(hh_id, s->applications_by_id, id, sizeof application->id, application);
    }
    document_free(application->document);
    application->document = document;
    application_list(s, application);
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
    list(application);
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
    for (size_t i = 0; i < application->registered.count; i++)
        free(application->registered.items[i]);
    vec_release(&application->registered);
    document_free(application->document);
    free(application->key);
    free(application);
}

void applications_release(struct scheduler *s)
{
    while (s->applications)
        application_free(s, s->applications);
    paces_release(s);
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
    struct application *application = application_find(s, key);
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
    return application_find(s, key);
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

/* ---- what calls do to it -------------------------------------------------------------------------------------------
 */

void instance_begin(struct scheduler *s, struct call *call)
{
    s->in_flight++;
    call->run->job->in_flight++;
    if (!call->application)
        return;
    call->application->in_flight++;
    pace_take(s, call->attempt.instance);
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
