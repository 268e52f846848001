#include "adapters/store/migrate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "adapters/store/sql_session.h"
#include "adapters/store/store_retention.h"
#include "core/model/limits.h"

/* One at a time among all processes. SQLite: the transaction itself excludes; the whole migration is one. MySQL: a
 * named lock; DDL is not transactional there, so each statement can be run again. */
static enum status lock(struct db *db)
{
    int64_t got = 0;
    if (db->dialect->one_writer)
        return db_script(db, "BEGIN EXCLUSIVE");
    enum status status = db_read_number(
        db, "SELECT GET_LOCK(CONCAT('carillon.migrate.', LEFT(SHA2(DATABASE(), 256), 40)), 60)", NULL, 0, &got);
    if (status == STATUS_OK && got != 1)
        return db_fail(db, DB_REFUSED, STATUS_UNAVAILABLE, "another process is migrating the store's schema");
    return status;
}

static enum status unlock(struct db *db, enum status status)
{
    int64_t done;
    struct error kept = db->error;
    enum status ended;
    if (db->dialect->one_writer)
        ended = db_script(db, status == STATUS_OK ? "COMMIT" : "ROLLBACK");
    else
        ended = db_read_number(db, "SELECT RELEASE_LOCK(CONCAT('carillon.migrate.', LEFT(SHA2(DATABASE(), 256), 40)))",
                               NULL, 0, &done);
    if (status == STATUS_OK)
        return ended;
    db->error = kept;
    return status;
}

static bool has_text(const char *from, const char *to)
{
    for (; from < to; from++) {
        if (from[0] == '-' && from[1] == '-') {
            while (from < to && *from != '\n')
                from++;
            continue;
        }
        if (*from != ' ' && *from != '\n' && *from != '\t')
            return true;
    }
    return false;
}

static enum status run_statements(struct db *db, const char *sql)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && *sql) {
        const char *end = strstr(sql, ";\n");
        if (!end)
            end = sql + strlen(sql);
        if (has_text(sql, end)) {
            char *statement = mem_copy(sql, (size_t)(end - sql));
            status = db_script(db, statement);
            if (status != STATUS_OK && db->class == DB_DONE_BEFORE)
                status = STATUS_OK; /* by a start that was cut short: DDL stays, its number was not written */
            free(statement);
        }
        sql = *end ? end + 2 : end;
    }
    return status;
}

static enum status apply(struct db *db, const struct migration *migration)
{
    instant now = INSTANT_NONE;
    enum status status = run_statements(db, migration->sql);
    if (status == STATUS_OK)
        status = db_now(db, &now);
    if (status != STATUS_OK)
        return status;
    return db_exec(db, "INSERT INTO schema_version (version, name, applied_at) VALUES (?, ?, ?)",
                   VALUES(db_i(migration->version), db_t(migration->name), db_i(now.ms)), NULL);
}

/* ---- what must exist -----------------------------------------------------------------------------------------------
 */

static void slot_fill(void *context, size_t index, struct db_value *v)
{
    (void)context;
    *v++ = db_i((int64_t)index);
    *v++ = db_i(0);
    *v++ = db_i(0);
    *v++ = db_i(0);
    *v++ = db_i(0);
    *v++ = db_m(INSTANT_NONE);
    *v = db_i(INSTANT_NONE.ms);
}

static void load_fill(void *context, size_t index, struct db_value *v)
{
    (void)context;
    *v++ = db_i((int64_t)index);
    *v = db_i(0);
}

static enum status random_bytes(struct session *s, unsigned char *bytes, size_t length)
{
    size_t got = 0;
    while (got < length) {
        ssize_t n = getrandom(bytes + got, length - got, 0);
        if (n < 0 && errno != EINTR)
            return error_set(s->error, STATUS_INTERNAL, "the system gives no random numbers");
        got += n > 0 ? (size_t)n : 0;
    }
    return STATUS_OK;
}

static enum status seed_cluster(struct session *s, instant now)
{
    unsigned char bytes[48];
    char id[40];
    enum status status = random_bytes(s, bytes, sizeof bytes);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(id + 2 * i, sizeof id - 2 * i, "%02x", bytes[i]);
    return db_exec(s->db,
                   "INSERT INTO cluster (one, cluster_id, generation, cluster_key, created_at) VALUES (1, ?, 1, ?, ?)",
                   VALUES(db_t(id), db_blob(bytes + 16, 32), db_i(now.ms)), NULL);
}

static enum status seed_default(struct session *s)
{
    struct store_put put = {
        .kind = DOCUMENT_PROJECT,
        .name = "default",
        .json = "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Project\",\"metadata\":{\"name\":\"default\"},\"spec\":{}}",
        .fingerprint = "default",
        .author = "carillon",
        .source = "api",
    };
    return sql_put(s, &put);
}

/* At every start: a newer program may count what an older one did not. */
static enum status seed_sequences(struct session *s)
{
    static const char *const names[] = {SEQUENCE_CHANGE, SEQUENCE_TRIMMED, "boot",  "definition",      "request",
                                        "report",        "audit",          "token", SEQUENCE_INSTANCE, SEQUENCE_SWEPT};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == STATUS_OK; i++) {
        int64_t value;
        status = db_read_number(s->db, "SELECT value FROM sequence WHERE name = ?", VALUES(db_t(names[i])), &value);
        if (status == STATUS_NOT_FOUND)
            status = db_exec(s->db, "INSERT INTO sequence (name, value) VALUES (?, 0)", VALUES(db_t(names[i])), NULL);
    }
    return status;
}

static enum status seed(struct session *s)
{
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = bulk_write(s, &(struct bulk){.id = BULK_SLOT, .count = CLAIM_SLOTS_ALL, .fill = slot_fill});
    if (status == STATUS_OK)
        status = bulk_write(s, &(struct bulk){.id = BULK_SLOT_LOAD, .count = CLAIM_SLOTS_ALL, .fill = load_fill});
    if (status == STATUS_OK)
        status = seed_cluster(s, now);
    return status == STATUS_OK ? seed_default(s) : status;
}

static enum status seed_once(struct db *db, struct error *err)
{
    int64_t one;
    struct arena arena;
    arena_init(&arena, STORE_ARENA_MAX);
    struct session s = {.db = db, .arena = &arena, .error = err};
    instant now = INSTANT_NONE;
    enum status status = db_now(db, &now);
    if (status == STATUS_OK && db->dialect->partitions)
        status = partitions_make(&s, now);
    if (status != STATUS_OK && db->class == DB_AGAIN)
        status = STATUS_OK; /* a table in use: housekeeping makes the days that are missing */
    if (status == STATUS_OK)
        status = seed_sequences(&s);
    if (status == STATUS_OK)
        status = db_read_number(db, "SELECT one FROM cluster", NULL, 0, &one);
    if (status == STATUS_NOT_FOUND) {
        bool own = !db->dialect->one_writer; /* there the migration is one transaction already */
        status = own ? db_begin(db, true) : STATUS_OK;
        if (status == STATUS_OK)
            status = seed(&s);
        if (own && status == STATUS_OK)
            status = db_commit(db);
        else if (own)
            db_rollback(db);
    }
    arena_release(&arena);
    return status;
}

static enum status migrate_locked(struct db *db, const struct migration *migrations, struct error *err)
{
    int64_t present = 0;
    int newest = 0;
    enum status status =
        db_script(db, "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY, "
                      "name VARCHAR(100) NOT NULL, applied_at BIGINT NOT NULL)");
    if (status == STATUS_OK)
        status = db_read_number(db, "SELECT MAX(version) FROM schema_version", NULL, 0, &present);
    for (const struct migration *m = migrations; m->version; m++)
        newest = m->version;
    if (status == STATUS_OK && present > newest)
        return error_set(err, STATUS_INVALID,
                         "the store's schema (version %lld) is newer than this program (version %d): use the newer "
                         "carillon, or restore a backup",
                         (long long)present, newest);
    for (const struct migration *m = migrations; m->version && status == STATUS_OK; m++)
        if (m->version > present)
            status = apply(db, m);
    return status == STATUS_OK ? seed_once(db, err) : status;
}

enum status migrate(struct db *db, const struct migration *migrations, struct error *err)
{
    struct error own = {0};
    enum status status = lock(db);
    if (status == STATUS_OK)
        status = unlock(db, migrate_locked(db, migrations, &own));
    if (status != STATUS_OK)
        (void)error_set(err, status, "%s", own.code == status && own.text[0] ? own.text : db->error.text);
    return status;
}
