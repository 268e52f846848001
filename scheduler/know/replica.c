/* The replica of the definitions: projects, calendars, applications of the whole cluster, and the jobs of our slots. It
 * follows the change feed: POLL tells what changed, DEFINITIONS brings it, and only when all of it has come feed_seq
 * moves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"

#define LOAD_LIMIT 1000
#define POLL_RETRY SPAN_SECOND

/* ---- projects and calendars ----------------------------------------------------------------------------------------
 */

const char *project_timezone(struct scheduler *s, const char *name)
{
    for (const struct project *p = s->projects; p; p = p->hh.next)
        if (strcmp(p->name, name) == 0)
            return p->timezone;
    return "UTC";
}

const struct calendar_spec *calendar_find(struct scheduler *s, const char *project, const char *name)
{
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", project, name);
    struct calendar *found = NULL;
    HASH_FIND(hh, s->calendars, key, strlen(key), found);
    return found ? &found->document->calendar : NULL;
}

static void recompile_project(struct scheduler *s, const char *project)
{
    for (struct job *job = s->jobs; job; job = job->hh.next)
        if (job->trigger_count && strcmp(job->project, project) == 0)
            job_recompile(s, job);
}

static void project_put(struct scheduler *s, const struct definition_row *row, const struct document *document)
{
    struct project *project = NULL;
    HASH_FIND(hh, s->projects, &row->id, sizeof row->id, project);
    const char *timezone = document->project.timezone ? document->project.timezone : "UTC";
    if (project && strcmp(project->timezone, timezone) == 0)
        return;
    if (!project) {
        project = mem_new(struct project);
        project->id = row->id;
        project->name = mem_copy_text(row->name);
        HASH_ADD(hh, s->projects, id, sizeof project->id, project);
    }
    free(project->timezone);
    project->timezone = mem_copy_text(timezone);
    recompile_project(s, project->name);
}

static void calendar_drop(struct scheduler *s, int64_t id)
{
    struct calendar *calendar = NULL;
    HASH_FIND(hh_id, s->calendars_by_id, &id, sizeof id, calendar);
    if (!calendar)
        return;
    HASH_DELETE(hh, s->calendars, calendar);
    HASH_DELETE(hh_id, s->calendars_by_id, calendar);
    document_free(calendar->document);
    free(calendar->key);
    free(calendar);
}

static void calendar_put(struct scheduler *s, const struct definition_row *row, struct document *document)
{
    calendar_drop(s, row->id);
    char key[2 * LIMIT_NAME + 2];
    (void)snprintf(key, sizeof key, "%s/%s", row->project, row->name);
    struct calendar *calendar = mem_new(struct calendar);
    calendar->id = row->id;
    calendar->key = mem_copy_text(key);
    calendar->document = document;
    HASH_ADD_KEYPTR(hh, s->calendars, calendar->key, strlen(calendar->key), calendar);
    HASH_ADD(hh_id, s->calendars_by_id, id, sizeof calendar->id, calendar);
    recompile_project(s, row->project);
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------
 */

static void job_put(struct scheduler *s, const struct definition_row *row, bool loaded)
{
    if (move_stale(s, row))
        return;
    const struct slot *slot = slot_get(s, row->slot);
    bool ours = slot && (slot->phase == SLOT_LOADING || slot->phase == SLOT_LOADED || slot->phase == SLOT_RULED);
    if (!ours)
        return; /* whoever takes the slot later reads the job then */
    if (row->deleted && slot->phase == SLOT_RULED && !job_find(s, row->id))
        return; /* gone already */
    if (!loaded && move_arrived(s, row))
        return;
    struct job *job = job_need(s, row->id, row->project_id, row->project, row->name, row->slot);
    job->moves = row->moves;
    job->changing = false;
    if (!job->newest || row->version > job->newest->key.version) {
        struct job_version *version = version_add(s, row->id, row->version, row->json);
        if (!version && !job->newest) {
            job_forget_if_idle(s, job);
            return;
        }
        if (version) {
            version_unref(s, job->newest);
            job->newest = version;
            job->newest_at = row->created_at;
        }
    }
    job->deleted |= row->deleted;
    if (row->deleted)
        job->deleted_at = row->deleted_at;
    if (slot->phase == SLOT_RULED) {
        bool fresh = !job->loaded;
        job->loaded = true;
        if (fresh)
            activation_loaded(s, job);
        else
            activation_consider(s, job);
    }
}

static void job_gone(struct scheduler *s, int64_t id)
{
    struct job *job = job_find(s, id);
    if (!job || !job->loaded)
        return;
    job->deleted = true;
    activation_consider(s, job);
}

void replica_load(struct scheduler *s, const struct definition_row *row)
{
    job_put(s, row, true);
}

void replica_put(struct scheduler *s, const struct definition_row *row)
{
    if (row->kind == DOCUMENT_JOB) {
        job_put(s, row, false);
        return;
    }
    if (row->deleted) {
        if (row->kind == DOCUMENT_APPLICATION)
            applications_drop(s, row->id);
        else if (row->kind == DOCUMENT_CALENDAR)
            calendar_drop(s, row->id);
        return;
    }
    struct faults faults;
    faults_init(&faults);
    struct document *document = document_parse(row->json, strlen(row->json), row->kind, &faults);
    if (!document)
        sink_logf(s->ports.sink, LOG_ERROR, "A stored definition cannot be read: the earlier one stays.",
                  "kind=%s name=%s path=\"%s\" fault=\"%s\"", document_kind_text(row->kind), row->name,
                  faults.count ? faults.items[0].path : "", faults.count ? faults.items[0].text : "");
    faults_release(&faults);
    if (!document)
        return;
    if (row->kind == DOCUMENT_PROJECT) {
        project_put(s, row, document);
        document_free(document);
    } else if (row->kind == DOCUMENT_CALENDAR) {
        calendar_put(s, row, document);
    } else {
        applications_put(s, row, document);
    }
}

/* ---- whole load ----------------------------------------------------------------------------------------------------
 */

static void load_kind(struct scheduler *s, int64_t after);

static void kind_answered(struct scheduler *s, struct work *work)
{
    struct store_definitions *d = &work->op.definitions;
    if (!work_ok(s, work)) {
        s->reload_after = d->after;
        s->reload_retry = mono_add(s->now.mono, 250);
        return;
    }
    for (size_t i = 0; i < d->count; i++)
        replica_put(s, &d->rows[i]);
    if (d->count >= d->limit) {
        load_kind(s, d->rows[d->count - 1].id);
        return;
    }
    static const int next[DOCUMENT_KINDS + 1] = {[DOCUMENT_PROJECT] = DOCUMENT_CALENDAR,
                                                 [DOCUMENT_CALENDAR] = DOCUMENT_APPLICATION,
                                                 [DOCUMENT_APPLICATION] = DOCUMENT_KINDS};
    s->reload_kind = next[s->reload_kind]; /* jobs come with their slots */
    if (s->reload_kind != DOCUMENT_KINDS) {
        load_kind(s, 0);
        return;
    }
    s->feed_seq = s->feed_seen;
}

static void load_kind(struct scheduler *s, int64_t after)
{
    struct work *work = work_new(s, STORE_DEFINITIONS, kind_answered);
    work->op.definitions.kind = (enum document_kind)s->reload_kind;
    work->op.definitions.after = after;
    work->op.definitions.limit = LOAD_LIMIT;
    s->reload_retry = MONO_NEVER;
    work_submit(work);
}

/* ---- feed ----------------------------------------------------------------------------------------------------------
 */

/* What is asked for after an edit is meant for the edited job: until the edit has been read, its requests wait (drive/
 * requests.c). */
static void mark_changing(struct scheduler *s, const struct store_poll *poll)
{
    for (size_t i = 0; i < poll->change_count; i++) {
        struct job *job = poll->changes[i].kind == DOCUMENT_JOB ? job_find(s, poll->changes[i].id) : NULL;
        if (job)
            job->changing = true;
    }
}

static void change_read(struct scheduler *s, int64_t id)
{
    struct job *job = job_find(s, id);
    if (job) {
        s->poking |= job->awaited;
        job->changing = job->awaited = false;
    }
}

static void changes_answered(struct scheduler *s, struct work *work)
{
    struct store_definitions *d = &work->op.definitions;
    s->feed_reads--;
    if (!work_ok(s, work)) {
        s->feed_failed = true; /* the same changes are asked for again */
    } else {
        for (size_t i = 0; i < d->id_count; i++) {
            const struct definition_row *row = NULL;
            if (d->kind == DOCUMENT_JOB)
                change_read(s, d->ids[i]);
            for (size_t k = 0; k < d->count && !row; k++)
                if (d->rows[k].id == d->ids[i])
                    row = &d->rows[k];
            if (row)
                replica_put(s, row);
            else if (d->kind == DOCUMENT_JOB)
                job_gone(s, d->ids[i]);
            else if (d->kind == DOCUMENT_APPLICATION)
                applications_drop(s, d->ids[i]);
            else if (d->kind == DOCUMENT_CALENDAR)
                calendar_drop(s, d->ids[i]);
        }
    }
    if (s->feed_reads > 0)
        return;
    if (s->feed_failed)
        s->feed_seen = s->feed_seq;
    else
        s->feed_seq = s->feed_seen;
    s->feed_failed = false;
}

static void read_changes(struct scheduler *s, const struct store_poll *poll)
{
    for (int kind = 0; kind < DOCUMENT_KINDS; kind++) {
        int64_t *ids = NULL;
        size_t n = 0;
        for (size_t i = 0; i < poll->change_count; i++) {
            if ((int)poll->changes[i].kind != kind)
                continue;
            if (!ids)
                ids = mem_alloc(poll->change_count * sizeof *ids);
            size_t k = 0;
            while (k < n && ids[k] != poll->changes[i].id)
                k++;
            if (k == n)
                ids[n++] = poll->changes[i].id;
        }
        if (n == 0)
            continue;
        struct work *work = work_new(s, STORE_DEFINITIONS, changes_answered);
        work->memory = ids;
        work->op.definitions.kind = (enum document_kind)kind;
        work->op.definitions.ids = ids;
        work->op.definitions.id_count = n;
        s->feed_reads++;
        work_submit(work);
    }
    s->feed_seen = poll->change_count >= poll->limit ? poll->changes[poll->change_count - 1].seq : poll->head;
    if (s->feed_reads == 0)
        s->feed_seq = s->feed_seen;
}

static void poll_answered(struct scheduler *s, struct work *work)
{
    struct store_poll *poll = &work->op.poll;
    s->polling = false;
    if (!work_ok(s, work)) {
        replica_stale(s);
        s->next_poll = mono_add(s->now.mono, POLL_RETRY);
        return;
    }
    ownership_wished(s, poll->wish);
    s->feed_asked |= work->number > s->feed_stale_poll;
    mark_changing(s, poll);
    if (poll->since < 0 || poll->trimmed) {
        if (s->reload_kind == DOCUMENT_KINDS) {
            s->feed_seq = -1; /* gates stay shut until all is loaded */
            s->feed_seen = poll->head;
            for (size_t i = 0; i < s->slot_count; i++)
                slot_reload(s, (int32_t)i); /* what was deleted meanwhile stands in no list of what there is */
            s->reload_kind = DOCUMENT_PROJECT;
            load_kind(s, 0);
        }
    } else if (poll->since == s->feed_seen && s->feed_reads == 0) {
        read_changes(s, poll);
        if (poll->change_count >= poll->limit)
            s->poking = true;
        __atomic_store_n(&s->metrics.feed_lag_ms, poll->change_count ? mono_sub(s->now.mono, work->submitted) : 0,
                         __ATOMIC_RELAXED);
    }
    registered_polled(s, poll->instances);
    requests_foresee(s, poll->requests, poll->request_count);
    slots_rule(s, work->number);
    requests_take(s, poll->requests, poll->request_count);
    seen_polled(&s->requests, work->number);
    reports_take(s, poll->reports, poll->report_count);
    seen_polled(&s->reports, work->number);
    seen_polled(&s->left, work->number);
}

/* The store was away, or this process was: what is late now may have been edited meanwhile, and must not go out under
 * the version that ruled before. */
void replica_stale(struct scheduler *s)
{
    s->feed_stale = true;
    s->feed_asked = false;
    s->feed_stale_poll = s->poll_number;
}

bool replica_fresh(struct scheduler *s)
{
    if (!s->feed_stale)
        return true;
    if (!s->feed_asked || s->feed_seq < 0 || s->feed_seq != s->feed_seen || s->feed_reads > 0)
        return false;
    s->feed_stale = false;
    s->able_since = s->now.wall;
    return true;
}

void replica_step(struct scheduler *s)
{
    if (!s->joined)
        return;
    if (s->reload_kind != DOCUMENT_KINDS && mono_cmp(s->reload_retry, MONO_NEVER) < 0) {
        if (mono_cmp(s->now.mono, s->reload_retry) >= 0)
            load_kind(s, s->reload_after);
        else
            wake_at(s, s->reload_retry);
    }
    if (s->polling)
        return;
    if (!s->poking && mono_cmp(s->now.mono, s->next_poll) < 0) {
        wake_at(s, s->next_poll);
        return;
    }
    s->poking = false;
    s->polling = true;
    s->next_poll = mono_add(s->now.mono, s->settings->scheduler.poll_interval);
    struct work *work = work_new(s, STORE_POLL, poll_answered);
    work->number = ++s->poll_number;
    work->op.poll.boot = s->boot;
    work->op.poll.since = s->feed_seq < 0 ? -1 : s->feed_seen;
    work->op.poll.limit = POLL_LIMIT;
    work_submit(work);
    wake_at(s, s->next_poll);
}

void replica_release(struct scheduler *s)
{
    for (struct project *p = s->projects, *next; p; p = next) {
        next = p->hh.next;
        HASH_DELETE(hh, s->projects, p);
        free(p->name);
        free(p->timezone);
        free(p);
    }
    while (s->calendars_by_id)
        calendar_drop(s, s->calendars_by_id->id);
}
