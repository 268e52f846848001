#include "adapters/store/db.h"

#include <string.h>

#include "core/base/mem.h"

#define CACHE_MAX 200 /* statements a connection; dynamic lists come in few sizes, so this is rarely reached */

struct db_value db_t(const char *text)
{
    if (!text)
        return (struct db_value){.type = DB_NULL};
    return (struct db_value){.type = DB_TEXT, .bytes = text, .length = strlen(text)};
}

struct db_value db_cut(const char *text, size_t most)
{
    struct db_value value = db_t(text);
    if (value.length <= most)
        return value;
    value.length = most;
    while (value.length && ((unsigned char)text[value.length] & 0xc0) == 0x80)
        value.length--;
    return value;
}

static struct db_value as_bytes(struct db_value value)
{
    if (value.type == DB_TEXT)
        value.type = DB_BYTES;
    return value;
}

struct db_value db_bytes(const char *text)
{
    return as_bytes(db_t(text));
}

struct db_value db_bytes_cut(const char *text, size_t most)
{
    return as_bytes(db_cut(text, most));
}

struct db_value db_blob(const void *bytes, size_t length)
{
    return (struct db_value){.type = bytes ? DB_BLOB : DB_NULL, .bytes = bytes, .length = length};
}

enum status db_fail(struct db *db, enum db_class class, enum status status, const char *text)
{
    db->class = class;
    if (class == DB_LOST)
        db->broken = true;
    return error_set(&db->error, status, "%s", text);
}

/* What the test hook wants before `sql`; the connection "dies" for real, so that the server rolls back. */
static enum db_fault hook(struct db *db, enum db_point point, const char *sql)
{
    if (!db->hooks || !db->hooks->before)
        return DB_FAULT_NONE;
    return db->hooks->before(db->hooks->context, point, sql);
}

static enum status dropped(struct db *db)
{
    return db_fail(db, DB_LOST, STATUS_UNAVAILABLE, "the connection to the store was lost");
}

enum status db_open(const struct db_driver *driver, const struct db_target *target, const struct db_hooks *hooks,
                    struct db **ret, struct error *err)
{
    enum status status = driver->open(target, ret, err);
    if (status != STATUS_OK)
        return status;
    (*ret)->driver = driver;
    (*ret)->dialect = driver->dialect;
    (*ret)->hooks = hooks;
    return STATUS_OK;
}

static void cache_clear(struct db *db)
{
    struct db_statement *statement, *next;
    HASH_ITER(hh, db->cache, statement, next)
    {
        HASH_DEL(db->cache, statement);
        free(statement->sql);
        db->driver->finalize(statement);
    }
}

void db_close(struct db *db)
{
    if (!db)
        return;
    cache_clear(db);
    for (unsigned kind = 0; kind < DB_BULK_KINDS; kind++)
        for (unsigned size = 0; size < DB_BULK_SIZES; size++)
            if (db->bulk[kind][size])
                db->driver->finalize(db->bulk[kind][size]);
    db->driver->close(db);
}

enum status db_begin(struct db *db, bool write)
{
    db->class = DB_FINE;
    if (db->broken)
        return dropped(db);
    if (hook(db, DB_POINT_BEGIN, "BEGIN") != DB_FAULT_NONE)
        return dropped(db);
    enum status status = db->driver->begin(db, write);
    db->in_transaction = status == STATUS_OK && (write || db->dialect->one_writer);
    return status;
}

enum status db_commit(struct db *db)
{
    if (!db->in_transaction)
        return STATUS_OK;
    if (db->broken)
        return dropped(db);
    enum db_fault fault = hook(db, DB_POINT_COMMIT, "COMMIT");
    if (fault == DB_FAULT_DROP)
        return dropped(db);
    enum status status = db->driver->script(db, "COMMIT");
    if (status == STATUS_OK)
        db->in_transaction = false;
    if (fault == DB_FAULT_LOSE_REPLY)
        status = dropped(db);
    if (status != STATUS_OK && db->class == DB_LOST)
        return error_set(&db->error, STATUS_UNKNOWN, "the store's answer to the commit was lost");
    return status;
}

void db_rollback(struct db *db)
{
    if (!db->in_transaction)
        return;
    db->in_transaction = false;
    if (db->broken)
        return; /* closing the connection rolls back */
    struct error kept = db->error;
    enum db_class class = db->class;
    if (db->driver->script(db, "ROLLBACK") != STATUS_OK)
        db->broken = true;
    db->error = kept;
    db->class = class;
}

enum status db_prepare(struct db *db, const char *sql, struct db_statement **ret)
{
    if (db->broken)
        return dropped(db);
    enum status status = db->driver->prepare(db, sql, ret);
    if (status == STATUS_OK)
        (*ret)->db = db;
    return status;
}

static enum status lookup(struct db *db, const char *sql, struct db_statement **ret)
{
    struct db_statement *statement;
    HASH_FIND_STR(db->cache, sql, statement);
    if (!statement) {
        if (HASH_COUNT(db->cache) >= CACHE_MAX)
            cache_clear(db);
        enum status status = db_prepare(db, sql, &statement);
        if (status != STATUS_OK)
            return status;
        statement->sql = mem_copy_text(sql);
        HASH_ADD_KEYPTR(hh, db->cache, statement->sql, strlen(statement->sql), statement);
    }
    *ret = statement;
    return STATUS_OK;
}

enum status db_run(struct db_statement *statement, const struct db_value *values, size_t count, int64_t *ret_changed)
{
    struct db *db = statement->db;
    db->class = DB_FINE;
    if (db->broken)
        return dropped(db);
    enum db_fault fault = hook(db, DB_POINT_STATEMENT, statement->sql ? statement->sql : "");
    if (fault == DB_FAULT_DROP)
        return dropped(db);
    int64_t changed = 0;
    enum status status = db->driver->run(statement, values, count, &changed);
    if (fault == DB_FAULT_LOSE_REPLY)
        return dropped(db);
    if (ret_changed)
        *ret_changed = changed;
    return status;
}

enum status db_exec(struct db *db, const char *sql, const struct db_value *values, size_t count, int64_t *ret_changed)
{
    struct db_statement *statement;
    enum status status = lookup(db, sql, &statement);
    if (status == STATUS_OK) {
        status = db_run(statement, values, count, ret_changed);
        db->driver->reset(statement);
    }
    return status;
}

enum status db_query(struct db *db, const char *sql, const struct db_value *values, size_t count,
                     struct db_statement **ret)
{
    *ret = NULL;
    struct db_statement *statement;
    enum status status = lookup(db, sql, &statement);
    if (status != STATUS_OK)
        return status;
    status = db_run(statement, values, count, NULL);
    if (status == STATUS_OK)
        *ret = statement;
    else
        db->driver->reset(statement);
    return status;
}

enum status db_step(struct db_statement *statement)
{
    return statement->db->driver->step(statement);
}

void db_end(struct db_statement *statement)
{
    if (statement)
        statement->db->driver->reset(statement);
}

bool db_is_null(struct db_statement *statement, unsigned column)
{
    return statement->db->driver->is_null(statement, column);
}

int64_t db_number(struct db_statement *statement, unsigned column)
{
    return statement->db->driver->number(statement, column);
}

instant db_instant(struct db_statement *statement, unsigned column)
{
    return db_is_null(statement, column) ? INSTANT_NONE : (instant){db_number(statement, column)};
}

const void *db_column(struct db_statement *statement, unsigned column, size_t *length)
{
    *length = 0;
    return db_is_null(statement, column) ? NULL : statement->db->driver->bytes(statement, column, length);
}

enum status db_script(struct db *db, const char *sql)
{
    db->class = DB_FINE;
    if (db->broken)
        return dropped(db);
    if (hook(db, DB_POINT_STATEMENT, sql) == DB_FAULT_DROP)
        return dropped(db);
    return db->driver->script(db, sql);
}

enum status db_now(struct db *db, instant *ret)
{
    if (db->broken)
        return dropped(db);
    return db->driver->now(db, ret);
}

enum status db_read_number(struct db *db, const char *sql, const struct db_value *values, size_t count, int64_t *ret)
{
    struct db_statement *q;
    enum status status = db_query(db, sql, values, count, &q);
    if (status == STATUS_OK)
        status = db_step(q);
    if (status == STATUS_OK)
        *ret = db_is_null(q, 0) ? 0 : db_number(q, 0);
    db_end(q);
    return status == STATUS_END ? STATUS_NOT_FOUND : status;
}
