/* Definitions: create or replace, delete, read. Whoever writes one holds the head of the change feed for the length of
 * its transaction; so the feed is in order of commit, and the choice of a slot or a name cannot race. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "adapters/store/rows.h"
#include "adapters/store/store_use.h"
#include "core/model/limits.h"

/* ---- reading for schedulers ----------------------------------------------------------------------------------------
 */

static void select_definitions(struct query *q, enum document_kind kind)
{
    query_init(q, "SELECT " DEFINITION_COLUMNS);
    query_add(q, kind == DOCUMENT_JOB ? DEFINITION_JOB : "");
    query_add(q, " FROM ");
    query_add(q, definition_table(kind));
    query_add(q, " d LEFT JOIN project p ON p.id = d.project_id");
}

static enum status old_version(struct session *s, struct store_definitions *op)
{
    struct db_statement *q;
    if (!op->count)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no such definition");
    if (op->rows->version == op->version)
        return STATUS_OK;
    enum status status = STATUS_END;
    if (op->kind != DOCUMENT_JOB)
        return error_set(s->error, STATUS_NOT_FOUND, "only jobs keep their earlier versions");
    status = db_query(s->db, "SELECT json, author, source, created_at FROM job_version WHERE job = ? AND version = ?",
                      VALUES(db_i(op->ids[0]), db_i(op->version)), &q);
    if (status == STATUS_OK)
        status = db_step(q);
    if (status == STATUS_OK) {
        op->rows->version = op->version;
        op->rows->json = session_text(s, q, 0);
        op->rows->author = session_text(s, q, 1);
        op->rows->source = session_text(s, q, 2);
        op->rows->created_at = db_instant(q, 3);
    }
    db_end(q);
    if (status == STATUS_END)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no such version");
    return status;
}

enum status sql_definitions(struct session *s, struct store_definitions *op)
{
    VEC(struct definition_row) rows = {0};
    enum status status = STATUS_OK;
    size_t pieces = op->ids ? op->id_count : 1;
    for (size_t at = 0, n; at < pieces && status == STATUS_OK; at += n) {
        struct query q;
        n = op->ids ? piece_length(at, pieces) : 1;
        select_definitions(&q, op->kind);
        if (op->ids) {
            query_add(&q, " WHERE d.id");
            query_in(&q, op->ids + at, n);
            query_add(&q, " ORDER BY d.id");
        } else {
            query_with(&q, " WHERE d.live = 1 AND d.id > ? ORDER BY d.id", db_i(op->after));
            query_with(&q, " LIMIT ?", db_i((int64_t)(op->limit ? op->limit : LIMIT_BATCH_ITEMS)));
        }
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
            definition_read(s, q.rows, op->kind, vec_push(&rows));
        status = query_close(&q, status);
    }
    op->rows = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    if (status == STATUS_OK && !s->no_room && op->ids && op->version > 0)
        status = old_version(s, op);
    return status;
}

/* ---- writing -------------------------------------------------------------------------------------------------------
 */

enum status project_find(struct session *s, const char *name, int64_t *ret)
{
    enum status status = db_read_number(s->db, "SELECT id FROM project WHERE project_id = 0 AND name = ? AND live = 1",
                                        VALUES(db_t(name)), ret);
    if (status == STATUS_NOT_FOUND)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no project \"%s\"", name);
    return status;
}

enum status definition_find(struct session *s, enum document_kind kind, int64_t project, const char *name,
                            struct definition_row *ret, const char **ret_fingerprint)
{
    struct query q;
    select_definitions(&q, kind);
    query_with(&q, " WHERE d.project_id = ?", db_i(project));
    query_with(&q, " AND d.name = ? AND d.live = 1", db_t(name));
    enum status status = query_open(s, &q);
    if (status == STATUS_OK)
        status = query_step(&q);
    bool missing = status == STATUS_END;
    if (status == STATUS_OK)
        definition_read(s, q.rows, kind, ret);
    status = query_close(&q, status);
    if (missing)
        return STATUS_NOT_FOUND;
    if (status != STATUS_OK || !ret_fingerprint)
        return status;
    query_init(&q, "SELECT fingerprint FROM ");
    query_add(&q, definition_table(kind));
    query_with(&q, " WHERE id = ?", db_i(ret->id));
    status = query_open(s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *ret_fingerprint = session_text(s, q.rows, 0);
    return query_close(&q, status);
}

static const char *article(enum document_kind kind)
{
    static const char *const texts[DOCUMENT_KINDS] = {[DOCUMENT_PROJECT] = "project",
                                                      [DOCUMENT_APPLICATION] = "application",
                                                      [DOCUMENT_CALENDAR] = "calendar",
                                                      [DOCUMENT_JOB] = "job"};
    return texts[kind];
}

/* Texts that a search looks through. */
static char *description_of(const char *json)
{
    cJSON *document = cJSON_Parse(json);
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(document, "metadata");
    static const char *const members[] = {"display_name", "description"};
    struct str text;
    str_init(&text, LIMIT_DOCUMENT);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, members[i]));
        if (value) {
            str_add(&text, text.length ? "\n" : "");
            str_add(&text, value);
        }
    }
    cJSON_Delete(document);
    return text.length ? str_take(&text) : NULL;
}

static enum status check_put(struct session *s, const struct store_put *op)
{
    if (!op->name || !*op->name || strlen(op->name) > LIMIT_NAME)
        return error_set(s->error, STATUS_INVALID, "a name must have 1 to %d bytes", LIMIT_NAME);
    if (!op->json || strlen(op->json) > 2 * LIMIT_DOCUMENT)
        return error_set(s->error, STATUS_TOO_BIG, "a document may have %zu bytes at most", LIMIT_DOCUMENT);
    if (!op->fingerprint || strlen(op->fingerprint) > 128)
        return error_set(s->error, STATUS_INVALID, "the document's fingerprint is missing");
    if (op->trigger_count > LIMIT_TRIGGERS)
        return error_set(s->error, STATUS_INVALID, "a job may have %d triggers at most", LIMIT_TRIGGERS);
    for (size_t i = 0; i < op->trigger_count; i++)
        if (!*op->trigger_names[i] || strlen(op->trigger_names[i]) > LIMIT_NAME)
            return error_set(s->error, STATUS_INVALID, "the name of a trigger must have 1 to %d bytes", LIMIT_NAME);
    return STATUS_OK;
}

struct trigger_rows {
    const struct store_put *op;
    instant now;
};

static void trigger_fill(void *context, size_t index, struct db_value *v)
{
    const struct trigger_rows *rows = context;
    *v++ = db_i(rows->op->id);
    *v++ = db_t(rows->op->trigger_names[index]);
    *v++ = db_i(1);
    *v++ = db_i(0);
    *v = db_i(rows->now.ms);
}

/* Identity of a trigger lasts: rows are added and marked, never removed. */
static enum status put_triggers(struct session *s, const struct store_put *op, instant now)
{
    struct trigger_rows rows = {op, now};
    enum status status = db_exec(s->db, "UPDATE `trigger` SET live = 0 WHERE job = ?", VALUES(db_i(op->id)), NULL);
    if (status == STATUS_OK)
        status = bulk_write(
            s, &(struct bulk){.id = BULK_TRIGGER, .count = op->trigger_count, .fill = trigger_fill, .context = &rows});
    for (size_t i = 0; i < op->paused_count && op->created && status == STATUS_OK; i++) {
        status = db_exec(s->db, "UPDATE `trigger` SET paused = 1 WHERE job = ? AND name = ?",
                         VALUES(db_i(op->id), db_t(op->paused_triggers[i])), NULL);
        if (status == STATUS_OK)
            status = db_exec(s->db,
                             "INSERT INTO trigger_state (job, trigger_name, slot, fires, paused, job_paused) "
                             "VALUES (?, ?, ?, 0, 1, 0)",
                             VALUES(db_i(op->id), db_t(op->paused_triggers[i]), db_i(op->slot)), NULL);
    }
    return status;
}

static enum status put_job(struct session *s, struct store_put *op, instant now)
{
    enum status status =
        db_exec(s->db,
                "INSERT INTO job_version (job, version, json, fingerprint, author, source, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                VALUES(db_i(op->id), db_i(op->version), db_t(op->json), db_t(op->fingerprint), db_cut(op->author, 255),
                       db_cut(op->source, 32), db_i(now.ms)),
                NULL);
    return status == STATUS_OK ? put_triggers(s, op, now) : status;
}

static enum status insert_definition(struct session *s, struct store_put *op, int64_t project, const char *description,
                                     instant now)
{
    enum status status = sequence_take(s, "definition", 1, &op->id);
    if (status == STATUS_OK && op->kind == DOCUMENT_JOB)
        status = slot_place(s, op->pool, NULL, &op->slot);
    if (status != STATUS_OK)
        return status;
    op->version = 1;
    op->created = true;
    struct query q;
    query_init(&q, "INSERT INTO ");
    query_add(&q, definition_table(op->kind));
    query_add(&q, " (id, project_id, name, live, version, fingerprint, json, description, author, source, created_at, "
                  "first_created_at");
    query_add(&q, op->kind == DOCUMENT_JOB ? ", slot) VALUES (?" : ") VALUES (?");
    query_value(&q, db_i(op->id));
    query_with(&q, ", ?", db_i(project));
    query_with(&q, ", ?", db_t(op->name));
    query_with(&q, ", 1, 1, ?", db_t(op->fingerprint));
    query_with(&q, ", ?", db_t(op->json));
    query_with(&q, ", ?", db_t(description));
    query_with(&q, ", ?", db_cut(op->author, 255));
    query_with(&q, ", ?", db_cut(op->source, 32));
    query_with(&q, ", ?", db_i(now.ms));
    query_with(&q, ", ?", db_i(now.ms));
    if (op->kind == DOCUMENT_JOB)
        query_with(&q, ", ?", db_i(op->slot));
    query_add(&q, ")");
    return query_exec(s, &q, NULL);
}

static enum status update_definition(struct session *s, struct store_put *op, const char *description, instant now)
{
    struct query q;
    op->version++;
    query_init(&q, "UPDATE ");
    query_add(&q, definition_table(op->kind));
    query_with(&q, " SET version = ?", db_i(op->version));
    query_with(&q, ", fingerprint = ?", db_t(op->fingerprint));
    query_with(&q, ", json = ?", db_t(op->json));
    query_with(&q, ", description = ?", db_t(description));
    query_with(&q, ", author = ?", db_cut(op->author, 255));
    query_with(&q, ", source = ?", db_cut(op->source, 32));
    query_with(&q, ", created_at = ?", db_i(now.ms));
    query_with(&q, " WHERE id = ?", db_i(op->id));
    return query_exec(s, &q, NULL);
}

/* Is the definition that is there acceptable to the caller? Fills id, version, slot, before. */
static enum status judge_present(struct session *s, struct store_put *op, const struct definition_row *present,
                                 const char *fingerprint)
{
    op->id = present->id;
    op->version = present->version;
    op->slot = present->slot;
    op->before = present->json;
    if (op->create_only)
        return error_set(s->error, STATUS_EXISTS, "there is a %s \"%s\" already", article(op->kind), op->name);
    if (op->if_match && op->if_match != present->version)
        return error_set(s->error, STATUS_CONFLICT, "%s \"%s\" is at version %lld, not %lld: read it again",
                         article(op->kind), op->name, (long long)present->version, (long long)op->if_match);
    op->unchanged = strcmp(fingerprint, op->fingerprint) == 0;
    return STATUS_OK;
}

/* A job that changes its pool goes elsewhere, and only the owner of its slot can bring it there: a wish for him. */
static enum status replace_pool(struct session *s, const struct store_put *op, int64_t project, instant now)
{
    const char *pool = op->pool ? op->pool : "";
    struct db_statement *q;
    enum status status = db_query(s->db, "SELECT pool, node FROM slot_load WHERE slot = ?", VALUES(db_i(op->slot)), &q);
    bool same = true;
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        const char *bound = op->slot < CLAIM_SLOTS ? "" : session_text(s, q, 0);
        const char *node = op->slot < CLAIM_SLOTS ? "" : session_text(s, q, 1);
        same = (node && *node) || strcmp(bound ? bound : "", pool) == 0; /* moved by hand: it stays there */
    }
    db_end(q);
    if (status != STATUS_OK || same)
        return status == STATUS_END ? STATUS_OK : status;
    return request_move_add(s, op->id, op->slot, project, op->author, now);
}

static enum status store_definition(struct session *s, struct store_put *op, int64_t project)
{
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    char *description = description_of(op->json);
    if (status == STATUS_OK)
        status =
            op->id ? update_definition(s, op, description, now) : insert_definition(s, op, project, description, now);
    free(description);
    if (status == STATUS_OK && op->kind == DOCUMENT_JOB)
        status = put_job(s, op, now);
    if (status == STATUS_OK && op->kind == DOCUMENT_JOB && !op->created)
        status = replace_pool(s, op, project, now);
    if (status == STATUS_OK)
        status = feed_add(s, &(struct change_row){.kind = op->kind, .id = op->id}, 1, now);
    if (status != STATUS_OK)
        return status;
    return audit_add(s, op->author, now,
                     &(struct audit_write){.action = op->created ? "create" : "update",
                                           .kind = article(op->kind),
                                           .project = op->kind == DOCUMENT_PROJECT ? op->name : op->project,
                                           .name = op->name,
                                           .before = op->before,
                                           .after = op->json},
                     1);
}

enum status sql_put(struct session *s, struct store_put *op)
{
    struct definition_row present = {0};
    const char *fingerprint = "";
    int64_t project = 0;
    op->id = op->version = 0;
    op->created = op->unchanged = false;
    op->slot = -1;
    op->before = NULL;
    if (!op->author)
        op->author = "";
    if (!op->source)
        op->source = "";
    enum status status = check_put(s, op);
    if (status == STATUS_OK)
        status = feed_lock(s);
    if (status == STATUS_OK && op->kind != DOCUMENT_PROJECT)
        status = project_find(s, op->project ? op->project : "default", &project);
    if (status != STATUS_OK)
        return status;
    status = definition_find(s, op->kind, project, op->name, &present, &fingerprint);
    if (status == STATUS_OK) {
        status = judge_present(s, op, &present, fingerprint);
        return status != STATUS_OK || op->unchanged ? status : store_definition(s, op, project);
    }
    if (status != STATUS_NOT_FOUND)
        return status;
    if (op->if_match)
        return error_set(s->error, STATUS_CONFLICT, "%s \"%s\" does not exist, so it has no version %lld",
                         article(op->kind), op->name, (long long)op->if_match);
    return store_definition(s, op, project);
}

enum status sql_puts(struct session *s, struct store_puts *op)
{
    enum status status = feed_lock(s);
    op->failed = op->count;
    for (size_t i = 0; i < op->count && status == STATUS_OK; i++) {
        status = sql_put(s, &op->items[i]);
        if (status != STATUS_OK)
            op->failed = i;
    }
    return status;
}

/* ---- deleting ------------------------------------------------------------------------------------------------------
 */

static enum status bury(struct session *s, const struct definition_row *row, const struct store_delete *op)
{
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    struct query q;
    query_init(&q, "UPDATE ");
    query_add(&q, definition_table(op->kind));
    query_add(&q, " SET live = NULL");
    query_add(&q, op->kind == DOCUMENT_JOB ? ", pending_delete = 1" : "");
    query_with(&q, " WHERE id = ?", db_i(row->id));
    if (status == STATUS_OK)
        status = query_exec(s, &q, NULL);
    else
        status = query_close(&q, status);
    if (status == STATUS_OK && op->kind == DOCUMENT_JOB)
        status = db_exec(s->db, "INSERT INTO tombstone (job, deleted_at) VALUES (?, ?)",
                         VALUES(db_i(row->id), db_i(now.ms)), NULL);
    if (status == STATUS_OK && op->kind == DOCUMENT_JOB)
        status = db_exec(s->db, "UPDATE slot_load SET jobs = jobs - 1 WHERE slot = ? AND jobs > 0",
                         VALUES(db_i(row->slot)), NULL);
    if (status == STATUS_OK)
        status = feed_add(s, &(struct change_row){.kind = op->kind, .id = row->id}, 1, now);
    if (status != STATUS_OK)
        return status;
    return audit_add(s, op->author, now,
                     &(struct audit_write){.action = "delete",
                                           .kind = article(op->kind),
                                           .project = op->kind == DOCUMENT_PROJECT ? op->name : op->project,
                                           .name = op->name,
                                           .before = row->json},
                     1);
}

enum status sql_delete(struct session *s, struct store_delete *op)
{
    struct definition_row row = {0};
    int64_t project = 0;
    enum status status = feed_lock(s);
    if (status == STATUS_OK && op->kind != DOCUMENT_PROJECT)
        status = project_find(s, op->project ? op->project : "default", &project);
    if (status == STATUS_OK) {
        status = definition_find(s, op->kind, project, op->name, &row, NULL);
        if (status == STATUS_NOT_FOUND)
            return error_set(s->error, status, "there is no %s \"%s\"", article(op->kind), op->name);
    }
    if (status != STATUS_OK)
        return status;
    if (op->if_match && op->if_match != row.version)
        return error_set(s->error, STATUS_CONFLICT, "%s \"%s\" is at version %lld, not %lld: read it again",
                         article(op->kind), op->name, (long long)row.version, (long long)op->if_match);
    status = definition_unused(s, op->kind, project, &row);
    return status == STATUS_OK ? bury(s, &row, op) : status;
}
