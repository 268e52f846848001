/* Jobs, their versions and triggers in memory. Texts live in the documents of versions, which are ref-counted;
 * schedules are compiled per trigger. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

/* ---- versions ------------------------------------------------------------------------------------------------------
 */

struct job_version *version_find(struct scheduler *s, int64_t job, int64_t version)
{
    struct job_version probe, *found = NULL;
    memset(&probe, 0, sizeof probe);
    probe.key.job = job;
    probe.key.version = version;
    HASH_FIND(hh, s->versions, &probe.key, sizeof probe.key, found);
    return found;
}

struct job_version *version_ref(struct job_version *version)
{
    version->refs++;
    return version;
}

void version_unref(struct scheduler *s, struct job_version *version)
{
    if (!version || --version->refs > 0)
        return;
    HASH_DELETE(hh, s->versions, version);
    document_free(version->document);
    free(version);
}

/* With one reference for the caller. NULL: the document cannot be read (said in the log). */
struct job_version *version_add(struct scheduler *s, int64_t job, int64_t version, const char *json)
{
    struct job_version *found = version_find(s, job, version);
    if (found)
        return version_ref(found);
    struct faults faults;
    faults_init(&faults);
    struct document *document = json ? document_parse(json, strlen(json), DOCUMENT_JOB, &faults) : NULL;
    if (!document || document->kind != DOCUMENT_JOB) {
        sink_logf(s->ports.sink, LOG_ERROR, "A stored job cannot be read: it is not fired.",
                  "job=%lld version=%lld path=\"%s\" fault=\"%s\"", (long long)job, (long long)version,
                  faults.count ? faults.items[0].path : "", faults.count ? faults.items[0].text : "no document");
        document_free(document);
        faults_release(&faults);
        return NULL;
    }
    faults_release(&faults);
    found = mem_new(struct job_version);
    found->key.job = job;
    found->key.version = version;
    found->document = document;
    found->refs = 1;
    HASH_ADD(hh, s->versions, key, sizeof found->key, found);
    return found;
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------
 */

struct job *job_find(struct scheduler *s, int64_t id)
{
    struct job *job = NULL;
    HASH_FIND(hh, s->jobs, &id, sizeof id, job);
    return job;
}

struct job *job_need(struct scheduler *s, int64_t id, int64_t project_id, const char *project, const char *name,
                     int32_t slot)
{
    struct job *job = job_find(s, id);
    if (job)
        return job;
    job = mem_new(struct job);
    job->wished_pause = INSTANT_NONE;
    job->id = id;
    job->project_id = project_id;
    job->project = mem_copy_text(project ? project : "");
    job->name = mem_copy_text(name ? name : "");
    job->slot = slot;
    job->deleted_at = INSTANT_NONE;
    HASH_ADD(hh, s->jobs, id, sizeof job->id, job);
    struct slot *at = slot_get(s, slot);
    if (at)
        DL_APPEND2(at->jobs, job, slot_prev, slot_next);
    return job;
}

static void memory_clear(struct job *job)
{
    for (size_t i = 0; i < job->memory.count; i++)
        free(job->memory.items[i].trigger);
    vec_clear(&job->memory);
}

static void foreign_clear(struct scheduler *s, struct job *job)
{
    s->foreign_count -= job->foreign.count;
    for (size_t i = 0; i < job->foreign.count; i++)
        free(job->foreign.items[i].trigger);
    vec_clear(&job->foreign);
}

void job_disarm(struct scheduler *s, struct job *job)
{
    for (size_t i = 0; i < job->trigger_count; i++) {
        struct trigger *trigger = &job->triggers[i];
        heap_remove(&s->timers, &trigger->timer);
        schedule_free(trigger->schedule);
        if (trigger->error)
            count(&s->metrics.triggers_in_error, -1);
        free(trigger->error);
    }
    free(job->triggers);
    job->triggers = NULL;
    job->trigger_count = 0;
    heap_remove(&s->switches, &job->switching);
}

void job_unrule(struct scheduler *s, struct job *job)
{
    if (job->ruling)
        count(&s->metrics.jobs_ruled, -1);
    job_disarm(s, job);
    memory_clear(job);
    if (job->open_runs == 0)
        foreign_clear(s, job); /* else our queued runs go on waiting for those */
    version_unref(s, job->ruling);
    version_unref(s, job->newest);
    job->ruling = job->newest = NULL;
    job->ruling_version = 0;
    job->loaded = job->busy = job->paused = job->deleted = job->gone = false;
    job_forget_if_idle(s, job);
}

void job_free(struct scheduler *s, struct job *job)
{
    job_disarm(s, job);
    memory_clear(job);
    foreign_clear(s, job);
    vec_release(&job->memory);
    vec_release(&job->foreign);
    vec_release(&job->lingering);
    if (job->in_ring)
        DL_DELETE2(s->ring[job->priority], job, ring_prev, ring_next);
    for (size_t i = 0; i < s->turns.count; i++)
        if (s->turns.items[i] == job)
            s->turns.items[i] = NULL;
    struct slot *at = slot_get(s, job->slot);
    if (at)
        DL_DELETE2(at->jobs, job, slot_prev, slot_next);
    version_unref(s, job->ruling);
    version_unref(s, job->newest);
    HASH_DELETE(hh, s->jobs, job);
    free(job->project);
    free(job->name);
    free(job);
}

void job_forget_if_idle(struct scheduler *s, struct job *job)
{
    if (job->open_runs > 0 || job->busy)
        return;
    if (job->loaded && !job->deleted)
        return;
    if (job->loaded && (!job->gone || job->foreign.count > 0))
        return; /* its DELETE activation is not written yet */
    struct slot *at = slot_get(s, job->slot);
    if (!job->loaded && at && (at->phase == SLOT_LOADING || at->phase == SLOT_LOADED) && job->newest)
        return;
    job_free(s, job);
}

struct trigger *job_trigger(struct job *job, const char *name)
{
    for (size_t i = 0; i < job->trigger_count; i++)
        if (strcmp(job->triggers[i].spec->name, name) == 0)
            return &job->triggers[i];
    return NULL;
}

/* ---- triggers ------------------------------------------------------------------------------------------------------
 */

static void compile(struct scheduler *s, struct trigger *trigger)
{
    struct job *job = trigger->job;
    const struct trigger_spec *spec = trigger->spec;
    struct error err = {0};
    char key[3 * LIMIT_NAME];
    (void)snprintf(key, sizeof key, "%s/%s/%s", job->project, job->name, spec->name);
    const char *zone_of = spec->timezone ? spec->timezone : project_timezone(s, job->project);
    const struct zone *zone = s->ports.zones->get(s->ports.zones, zone_of);
    const struct calendar_spec *calendars[LIMIT_CALENDARS] = {0};
    enum status status = STATUS_OK;
    if (!zone)
        status = error_set(&err, STATUS_NOT_FOUND, "time zone \"%s\" is not known on this machine", zone_of);
    for (size_t i = 0; i < spec->calendar_count && i < LIMIT_CALENDARS && status == STATUS_OK; i++) {
        calendars[i] = calendar_find(s, job->project, spec->calendars[i]);
        if (!calendars[i])
            status = error_set(&err, STATUS_NOT_FOUND, "no calendar named \"%s\"", spec->calendars[i]);
    }
    schedule_free(trigger->schedule);
    trigger->schedule = NULL;
    if (trigger->error)
        count(&s->metrics.triggers_in_error, -1);
    free(trigger->error);
    trigger->error = NULL;
    if (status == STATUS_OK) {
        struct schedule_context context = {.key = key, .zone = zone, .calendars = calendars};
        status = schedule_compile(spec, &context, &trigger->schedule, &err);
    }
    if (status != STATUS_OK) {
        trigger->schedule = NULL;
        trigger->error = mem_copy_text(err.text);
        count(&s->metrics.triggers_in_error, 1);
        sink_logf(s->ports.sink, LOG_ERROR, "A trigger cannot run: it is in error until this is mended.",
                  "job=%s/%s trigger=%s reason=\"%s\"", job->project, job->name, spec->name, err.text);
    }
}

/* The store shows which triggers are in error. */
static void store_errors(struct scheduler *s, struct job *job)
{
    struct bundle *bundle = bundle_new(s);
    for (size_t i = 0; i < job->trigger_count; i++) {
        struct trigger *t = &job->triggers[i];
        if ((t->error != NULL) == t->error_stored)
            continue;
        t->error_stored = t->error != NULL;
        bundle_state(bundle, t);
    }
    bundle_put(s, bundle, true);
}

void job_recompile(struct scheduler *s, struct job *job)
{
    for (size_t i = 0; i < job->trigger_count; i++) {
        compile(s, &job->triggers[i]);
        planner_arm(s, &job->triggers[i]);
    }
    store_errors(s, job);
}

static void remember(struct job *job)
{
    for (size_t i = 0; i < job->trigger_count; i++) {
        const struct trigger *t = &job->triggers[i];
        struct memory *memory = NULL;
        for (size_t k = 0; k < job->memory.count && !memory; k++)
            if (strcmp(job->memory.items[k].trigger, t->spec->name) == 0)
                memory = &job->memory.items[k];
        if (!memory) {
            memory = vec_push(&job->memory);
            memory->trigger = mem_copy_text(t->spec->name);
        }
        memory->decided = t->decided;
        memory->activated = t->activated;
        memory->last_end = t->last_end;
        memory->paused_since = t->paused_since;
        memory->fires = t->fires;
        memory->paused = t->paused;
        memory->error = t->error_stored;
        memory->limited = t->spec->max_fires > 0;
        memory->known = memory->state_known = true;
    }
}

static const struct memory *recall(const struct job *job, const char *name)
{
    for (size_t i = 0; i < job->memory.count; i++)
        if (strcmp(job->memory.items[i].trigger, name) == 0)
            return &job->memory.items[i];
    return NULL;
}

bool job_run_open(const struct job *job, const char *trigger)
{
    for (size_t i = 0; i < job->foreign.count; i++)
        if (job->foreign.items[i].generation0 && strcmp(job->foreign.items[i].trigger, trigger) == 0)
            return true;
    for (const struct open_run *run = job->all; run; run = run->job_next)
        if (!run->ended && run->run->row.generation == 0 && strcmp(run->run->row.trigger, trigger) == 0)
            return true;
    return false;
}

void job_rule(struct scheduler *s, struct job *job, struct job_version *version, instant from)
{
    remember(job);
    bool loading = instant_is_none(from);
    struct job_version *old = job->ruling;
    job_disarm(s, job);
    if (!old)
        count(&s->metrics.jobs_ruled, 1);
    job->ruling = version_ref(version);
    job->ruling_version = version->key.version;
    const struct job_spec *spec = version_spec(version);
    job->trigger_count = spec->trigger_count;
    job->triggers = mem_alloc((spec->trigger_count ? spec->trigger_count : 1) * sizeof *job->triggers);
    for (size_t i = 0; i < spec->trigger_count; i++) {
        struct trigger *t = &job->triggers[i];
        t->job = job;
        t->spec = &spec->triggers[i];
        const struct memory *memory = recall(job, t->spec->name);
        instant begin = loading ? job->newest_at : from;
        t->decided = instant_add(begin, -1);
        t->activated = begin;
        t->last_end = t->paused_since = INSTANT_NONE;
        if (memory) {
            t->decided = loading ? memory->decided : instant_max(memory->decided, t->decided);
            t->activated = loading && !instant_is_none(memory->activated) ? memory->activated : begin;
            t->last_end = memory->last_end;
            t->paused_since = memory->paused_since;
            t->fires = loading || memory->limited ? memory->fires : 0;
            t->paused = memory->paused;
            t->error_stored = memory->error;
        }
        if ((!memory || !(memory->known || memory->state_known)) && t->spec->paused && !loading)
            t->paused = true;
        if ((t->paused || job->paused) && (instant_is_none(t->paused_since) || !loading))
            t->paused_since = loading ? instant_add(t->decided, 1) : from;
        if (t->spec->kind == TRIGGER_DELAY && !instant_is_none(t->last_end) &&
            instant_cmp(instant_add(t->last_end, t->spec->period), t->activated) < 0)
            t->last_end = INSTANT_NONE; /* it would lie before the edit: counted from there anew */
        t->waiting = t->spec->kind == TRIGGER_DELAY && job_run_open(job, t->spec->name);
        t->fresh = !memory;
        compile(s, t);
    }
    memory_clear(job);
    for (size_t i = 0; i < job->trigger_count; i++) {
        planner_arm(s, &job->triggers[i]);
        if (loading)
            delay_recall(s, job, &job->triggers[i]);
    }
    store_errors(s, job);
    version_unref(s, old);
}
