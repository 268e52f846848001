#include "adapters/store/store_use.h"

#include <string.h>

#include <cjson/cJSON.h>

/* A job's document refers to an application by `task: app/name`, to a calendar by `calendar(s)`. */
struct reference {
    const char *prefix; /* of a task: "app/" or "app:" */
    const char *calendar;
};

static bool names_calendar(const cJSON *item, const char *calendar)
{
    if (cJSON_IsString(item))
        return strcmp(item->valuestring, calendar) == 0;
    const cJSON *child;
    cJSON_ArrayForEach(child, item) {
        if (cJSON_IsString(child) && strcmp(child->valuestring, calendar) == 0)
            return true;
    }
    return false;
}

static bool names_task(const char *task, const char *application)
{
    size_t length = strlen(application);
    return strncmp(task, application, length) == 0 && (task[length] == '/' || task[length] == ':');
}

static bool refers(const cJSON *item, const struct reference *to)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, item) {
        const char *key = child->string ? child->string : "";
        if (to->prefix && strcmp(key, "task") == 0 && cJSON_IsString(child) &&
            names_task(child->valuestring, to->prefix))
            return true;
        if (to->calendar && (strcmp(key, "calendar") == 0 || strcmp(key, "calendars") == 0) &&
            names_calendar(child, to->calendar))
            return true;
        if (refers(child, to))
            return true;
    }
    return false;
}

static enum status unused_by_jobs(struct session *s, int64_t project, const struct definition_row *row,
                                  const struct reference *to, const char *what)
{
    const char *user = NULL;
    struct query q;
    query_init(&q, "SELECT name, json FROM job WHERE live = 1");
    query_with(&q, " AND project_id = ?", db_i(project));
    query_with(&q, " AND INSTR(json, ?) > 0 ORDER BY name", db_t(row->name)); /* most are sorted out by this */
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && !user && (status = query_step(&q)) == STATUS_OK) {
        size_t length;
        const char *json = db_column(q.rows, 1, &length);
        cJSON *document = json ? cJSON_ParseWithLength(json, length) : NULL;
        if (refers(document, to))
            user = session_text(s, q.rows, 0);
        cJSON_Delete(document);
    }
    status = query_close(&q, status);
    if (status == STATUS_OK && user)
        return error_set(s->error, STATUS_CONFLICT, "%s \"%s\" is used by job \"%s\"", what, row->name, user);
    return status;
}

static enum status project_empty(struct session *s, const struct definition_row *row)
{
    static const enum document_kind kinds[] = {DOCUMENT_JOB, DOCUMENT_APPLICATION, DOCUMENT_CALENDAR};
    static const char *const names[] = {"job", "application", "calendar"};
    static const char *const queries[] = {
        "SELECT name FROM job WHERE project_id = ? AND live = 1 ORDER BY name LIMIT 1",
        "SELECT name FROM application WHERE project_id = ? AND live = 1 ORDER BY name LIMIT 1",
        "SELECT name FROM calendar WHERE project_id = ? AND live = 1 ORDER BY name LIMIT 1"};
    if (strcmp(row->name, "default") == 0)
        return error_set(s->error, STATUS_CONFLICT, "project \"default\" always exists");
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == STATUS_OK; i++) {
        struct db_statement *q;
        const char *user = NULL;
        status = db_query(s->db, queries[i], VALUES(db_i(row->id)), &q);
        if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
            user = session_text(s, q, 0);
        db_end(q);
        if (status == STATUS_OK)
            return error_set(s->error, STATUS_CONFLICT, "project \"%s\" still has %s \"%s\"", row->name, names[i],
                             user);
        status = status == STATUS_END ? STATUS_OK : status;
    }
    return status;
}

enum status definition_unused(struct session *s, enum document_kind kind, int64_t project,
                              const struct definition_row *row)
{
    switch (kind) {
    case DOCUMENT_PROJECT:
        return project_empty(s, row);
    case DOCUMENT_APPLICATION:
        return unused_by_jobs(s, project, row, &(struct reference){.prefix = row->name}, "application");
    case DOCUMENT_CALENDAR:
        return unused_by_jobs(s, project, row, &(struct reference){.calendar = row->name}, "calendar");
    case DOCUMENT_JOB:
    case DOCUMENT_KINDS:
        break;
    }
    return STATUS_OK;
}

enum status jobs_named(struct session *s, int64_t project, const char *name, int64_t ids[LIST_MAX], size_t *ret_count)
{
    size_t count = 0;
    struct query q;
    query_init(&q, "SELECT id FROM job WHERE");
    query_with(&q, " project_id = ?", db_i(project));
    query_with(&q, " AND name = ?", db_t(name));
    query_with(&q, " ORDER BY id DESC LIMIT ?", db_i(LIST_MAX));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        ids[count++] = db_number(q.rows, 0);
    *ret_count = count;
    return query_close(&q, status);
}
