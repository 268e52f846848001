/* MySQL 8 and MariaDB 10.11 by what libmysqlclient and libmariadb share. READ COMMITTED, strict mode, utf8mb4 in binary
 * order. Error numbers become the classes of db.h here and nowhere else; the server's own texts never leave this file.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "adapters/store/db.h"
#include "core/base/mem.h"

#define CONNECT_SECONDS 5U

/* Server errors; numbers are the same in both families. */
#define ER_BAD_DB 1049
#define ER_ACCESS_DENIED 1045
#define ER_DB_ACCESS_DENIED 1044

typedef __typeof__(*((MYSQL_BIND *)0)->is_null) mysql_bool; /* my_bool or bool, by library */

struct mysql_db {
    struct db db;
    MYSQL *handle;
};

struct mysql_statement {
    struct db_statement statement;
    MYSQL_STMT *handle;
    MYSQL_BIND *in;
    size_t in_room;
    unsigned columns;
    MYSQL_BIND *out;
    mysql_bool *null;
    unsigned long *length;
    int64_t *number;
    bool rows; /* a result is stored */
};

static struct mysql_db *connection(struct db *db)
{
    return (struct mysql_db *)db;
}

static struct mysql_statement *own(struct db_statement *statement)
{
    return (struct mysql_statement *)statement;
}

/* X(number, class, status, text) */
#define MYSQL_ERRORS(X)                                                                                         \
    X(1062, DB_DUPLICATE, STATUS_EXISTS, "a row with this key exists")                                          \
    X(1205, DB_AGAIN, STATUS_UNAVAILABLE, "the store is busy: a row stayed locked by another process")          \
    X(1213, DB_AGAIN, STATUS_UNAVAILABLE, "the store is busy: two transactions met")                            \
    X(1020, DB_AGAIN, STATUS_UNAVAILABLE, "the store is busy: two transactions met")                            \
    X(1526, DB_NO_PARTITION, STATUS_INVALID, "the day of a row lies outside what the store has room for")       \
    X(1060, DB_DONE_BEFORE, STATUS_EXISTS, "the column exists already")                                         \
    X(1061, DB_DONE_BEFORE, STATUS_EXISTS, "the key exists already")                                            \
    X(1021, DB_REFUSED, STATUS_FULL, "no space left for the store: free space on the database server")          \
    X(1114, DB_REFUSED, STATUS_FULL, "no space left for the store: free space on the database server")          \
    X(1290, DB_REFUSED, STATUS_READ_ONLY, "the database server is read-only")                                   \
    X(1792, DB_REFUSED, STATUS_READ_ONLY, "the database server is read-only")                                   \
    X(1836, DB_REFUSED, STATUS_READ_ONLY, "the database server is read-only")                                   \
    X(ER_ACCESS_DENIED, DB_REFUSED, STATUS_DENIED,                                                              \
      "the database server refused user or password: check store.url and store.password_file")                  \
    X(1698, DB_REFUSED, STATUS_DENIED,                                                                          \
      "the database server refused user or password: check store.url and store.password_file")                  \
    X(ER_DB_ACCESS_DENIED, DB_REFUSED, STATUS_DENIED, "the database server's user may not use this database")   \
    X(1142, DB_REFUSED, STATUS_DENIED,                                                                          \
      "the database server's user lacks a right on the tables: grant it ALL on its database")                   \
    X(ER_BAD_DB, DB_REFUSED, STATUS_INVALID, "the database named in store.url does not exist: create it first") \
    X(1040, DB_LOST, STATUS_UNAVAILABLE, "the database server has no connection left")                          \
    X(1053, DB_LOST, STATUS_UNAVAILABLE, "the database server is shutting down")                                \
    X(1927, DB_LOST, STATUS_UNAVAILABLE, "the connection to the store was lost")                                \
    X(1317, DB_LOST, STATUS_UNAVAILABLE, "the connection to the store was lost")                                \
    X(4031, DB_LOST, STATUS_UNAVAILABLE, "the connection to the store was lost")                                \
    X(1153, DB_REFUSED, STATUS_TOO_BIG, "a value is too big for the database server: raise max_allowed_packet") \
    X(1264, DB_REFUSED, STATUS_INVALID, "a number does not fit the store")                                      \
    X(1366, DB_REFUSED, STATUS_INVALID, "a text is not UTF-8")                                                  \
    X(1267, DB_REFUSED, STATUS_INVALID, "a text is not UTF-8")                                                  \
    X(1406, DB_REFUSED, STATUS_INVALID, "a text is too long for the store")                                     \
    X(1034, DB_REFUSED, STATUS_CORRUPT, "a table of the store is damaged: see the database server's log")       \
    X(1712, DB_REFUSED, STATUS_CORRUPT, "a table of the store is damaged: see the database server's log")

static enum status failed(struct db *db, unsigned number)
{
    if (number >= 2000 && number < 3000) /* the client's own: the connection is of no further use */
        return db_fail(db, DB_LOST, STATUS_UNAVAILABLE, "the database server cannot be reached");
    switch (number) {
#define MYSQL_ERROR_CASE(value, class, status, text) \
    case value:                                      \
        return db_fail(db, class, status, text);
        MYSQL_ERRORS(MYSQL_ERROR_CASE)
#undef MYSQL_ERROR_CASE
    default: {
        char text[100];
        (void)snprintf(text, sizeof text, "the database server refused a statement (error %u)", number);
        return db_fail(db, DB_REFUSED, STATUS_INTERNAL, text);
    }
    }
}

static enum status script(struct db *db, const char *sql)
{
    MYSQL *handle = connection(db)->handle;
    if (mysql_real_query(handle, sql, (unsigned long)strlen(sql)) != 0)
        return failed(db, mysql_errno(handle));
    MYSQL_RES *result = mysql_store_result(handle);
    if (result)
        mysql_free_result(result);
    return STATUS_OK;
}

static void close_db(struct db *db)
{
    if (connection(db)->handle)
        mysql_close(connection(db)->handle);
    free(db);
}

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_start(void)
{
    (void)mysql_library_init(0, NULL, NULL);
}

static enum status set_up(struct db *db, const struct db_target *target)
{
    char text[200];
    static const char *const settings[] = {
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION autocommit = 1",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == STATUS_OK; i++)
        status = script(db, settings[i]);
    (void)snprintf(text, sizeof text, "SET SESSION innodb_lock_wait_timeout = %u, SESSION lock_wait_timeout = 30",
                   target->lock_wait_seconds);
    if (status == STATUS_OK)
        status = script(db, text);
    (void)snprintf(text, sizeof text, "SET SESSION wait_timeout = %u, SESSION net_read_timeout = %u",
                   target->idle_seconds, target->idle_seconds);
    if (status == STATUS_OK && target->idle_seconds)
        status = script(db, text);
    return status;
}

static void set_tls(MYSQL *handle, const struct db_target *target)
{
    if (!target->tls_ca)
        return;
    (void)mysql_options(handle, MYSQL_OPT_SSL_CA, target->tls_ca);
#ifdef MARIADB_BASE_VERSION
    mysql_bool yes = 1;
    (void)mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    (void)mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &yes);
#else
    unsigned mode = SSL_MODE_VERIFY_IDENTITY;
    (void)mysql_options(handle, MYSQL_OPT_SSL_MODE, &mode);
#endif
}

static enum status open_db(const struct db_target *target, struct db **ret, struct error *err)
{
    (void)pthread_once(&library_once, library_start);
    struct mysql_db *m = mem_new(struct mysql_db);
    m->handle = mysql_init(NULL);
    if (!m->handle) {
        free(m);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    unsigned connect = CONNECT_SECONDS, answer = target->answer_seconds, no = 0;
    (void)mysql_options(m->handle, MYSQL_OPT_CONNECT_TIMEOUT, &connect);
    (void)mysql_options(m->handle, MYSQL_OPT_READ_TIMEOUT, &answer);
    (void)mysql_options(m->handle, MYSQL_OPT_WRITE_TIMEOUT, &answer);
    (void)mysql_options(m->handle, MYSQL_OPT_LOCAL_INFILE, &no); /* a server must not ask for our files */
    (void)mysql_options(m->handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    set_tls(m->handle, target);
    enum status status = STATUS_OK;
    /* No CLIENT_FOUND_ROWS: "changed" means changed, as the fences need it. */
    if (!mysql_real_connect(m->handle, target->host, target->user, target->password ? target->password : "",
                            target->database, target->port, NULL, 0))
        status = failed(&m->db, mysql_errno(m->handle));
    if (status == STATUS_OK)
        status = set_up(&m->db, target);
    if (status != STATUS_OK) {
        (void)error_set(err, status, "%s", m->db.error.text);
        close_db(&m->db);
        return status;
    }
    *ret = &m->db;
    return STATUS_OK;
}

/* ---- statements ----------------------------------------------------------------------------------------------------
 */

static void finalize(struct db_statement *statement)
{
    struct mysql_statement *m = own(statement);
    (void)mysql_stmt_close(m->handle);
    for (unsigned i = 0; m->out && i < m->columns; i++)
        if (m->out[i].buffer != &m->number[i])
            free(m->out[i].buffer);
    free(m->in);
    free(m->out);
    free(m->null);
    free(m->length);
    free(m->number);
    free(m);
}

static void describe(struct mysql_statement *m)
{
    MYSQL_RES *meta = mysql_stmt_result_metadata(m->handle);
    if (!meta)
        return;
    m->columns = mysql_num_fields(meta);
    m->out = mem_alloc(m->columns * sizeof *m->out);
    m->null = mem_alloc(m->columns * sizeof *m->null);
    m->length = mem_alloc(m->columns * sizeof *m->length);
    m->number = mem_alloc(m->columns * sizeof *m->number);
    const MYSQL_FIELD *fields = mysql_fetch_fields(meta);
    for (unsigned i = 0; i < m->columns; i++) {
        enum enum_field_types type = fields[i].type;
        bool text = type == MYSQL_TYPE_STRING || type == MYSQL_TYPE_VAR_STRING || type == MYSQL_TYPE_VARCHAR ||
                    type == MYSQL_TYPE_BLOB || type == MYSQL_TYPE_TINY_BLOB || type == MYSQL_TYPE_MEDIUM_BLOB ||
                    type == MYSQL_TYPE_LONG_BLOB;
        m->out[i].buffer_type = text ? MYSQL_TYPE_BLOB : MYSQL_TYPE_LONGLONG;
        m->out[i].buffer = text ? NULL : &m->number[i];
        m->out[i].buffer_length = text ? 0 : sizeof *m->number;
        m->out[i].is_null = &m->null[i];
        m->out[i].length = &m->length[i];
    }
    mysql_free_result(meta);
}

static enum status prepare(struct db *db, const char *sql, struct db_statement **ret)
{
    MYSQL_STMT *handle = mysql_stmt_init(connection(db)->handle);
    if (!handle)
        return db_fail(db, DB_REFUSED, STATUS_NO_MEMORY, "out of memory in the store");
    if (mysql_stmt_prepare(handle, sql, (unsigned long)strlen(sql)) != 0) {
        enum status status = failed(db, mysql_stmt_errno(handle));
        (void)mysql_stmt_close(handle);
        return status;
    }
    struct mysql_statement *m = mem_new(struct mysql_statement);
    m->handle = handle;
    describe(m);
    *ret = &m->statement;
    return STATUS_OK;
}

static void bind_value(MYSQL_BIND *bind, const struct db_value *value)
{
    static const char none[1] = "";
    memset(bind, 0, sizeof *bind);
    const void *bytes = value->type == DB_INT ? (const void *)&value->number : value->bytes ? value->bytes : none;
    memcpy(&bind->buffer, &bytes, sizeof bytes); /* the library only reads it */
    switch (value->type) {
    case DB_NULL:
        bind->buffer_type = MYSQL_TYPE_NULL;
        break;
    case DB_INT:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer_length = sizeof value->number;
        break;
    case DB_TEXT:
        bind->buffer_type = MYSQL_TYPE_STRING;
        bind->buffer_length = (unsigned long)value->length;
        break;
    case DB_BYTES:
    case DB_BLOB:
        bind->buffer_type = MYSQL_TYPE_BLOB;
        bind->buffer_length = (unsigned long)value->length;
        break;
    }
}

static enum status run(struct db_statement *statement, const struct db_value *values, size_t count, int64_t *changed)
{
    struct mysql_statement *m = own(statement);
    if (m->in_room < count) {
        m->in = mem_resize(m->in, count * sizeof *m->in);
        m->in_room = count;
    }
    for (size_t i = 0; i < count; i++)
        bind_value(&m->in[i], &values[i]);
    if (mysql_stmt_param_count(m->handle) != count)
        return db_fail(statement->db, DB_REFUSED, STATUS_INTERNAL, "a statement has the wrong number of values");
    if ((count && mysql_stmt_bind_param(m->handle, m->in)) || mysql_stmt_execute(m->handle))
        return failed(statement->db, mysql_stmt_errno(m->handle));
    if (!m->columns) {
        *changed = (int64_t)mysql_stmt_affected_rows(m->handle);
        return STATUS_OK;
    }
    if (mysql_stmt_bind_result(m->handle, m->out) || mysql_stmt_store_result(m->handle))
        return failed(statement->db, mysql_stmt_errno(m->handle));
    m->rows = true;
    return STATUS_OK;
}

/* Texts: their length is known after the fetch, so they are fetched again into a buffer of that size. */
static enum status fetch_texts(struct mysql_statement *m)
{
    for (unsigned i = 0; i < m->columns; i++) {
        MYSQL_BIND *bind = &m->out[i];
        if (bind->buffer_type != MYSQL_TYPE_BLOB || m->null[i] || !m->length[i])
            continue;
        unsigned long length = m->length[i];
        MYSQL_BIND again = *bind;
        again.buffer = mem_alloc(length);
        again.buffer_length = length;
        free(bind->buffer);
        bind->buffer = again.buffer;
        bind->buffer_length = 0; /* for the next row: ask for lengths only */
        if (mysql_stmt_fetch_column(m->handle, &again, i, 0))
            return failed(m->statement.db, mysql_stmt_errno(m->handle));
        m->length[i] = length;
    }
    return STATUS_OK;
}

static enum status step(struct db_statement *statement)
{
    struct mysql_statement *m = own(statement);
    if (!m->rows)
        return STATUS_END;
    int code = mysql_stmt_fetch(m->handle);
    if (code == MYSQL_NO_DATA)
        return STATUS_END;
    if (code != 0 && code != MYSQL_DATA_TRUNCATED)
        return failed(statement->db, mysql_stmt_errno(m->handle));
    return fetch_texts(m);
}

static void reset(struct db_statement *statement)
{
    struct mysql_statement *m = own(statement);
    if (m->rows)
        (void)mysql_stmt_free_result(m->handle);
    m->rows = false;
}

static bool is_null(struct db_statement *statement, unsigned column)
{
    return own(statement)->null[column];
}

static int64_t number(struct db_statement *statement, unsigned column)
{
    return own(statement)->number[column];
}

static const void *bytes(struct db_statement *statement, unsigned column, size_t *length)
{
    struct mysql_statement *m = own(statement);
    *length = m->length[column];
    return *length ? m->out[column].buffer : "";
}

static enum status begin(struct db *db, bool write)
{
    /* Reads need no transaction: READ COMMITTED gives each statement its own view anyway. */
    return write ? script(db, "START TRANSACTION") : STATUS_OK;
}

static enum status now(struct db *db, instant *ret)
{
    return db_read_number(db, "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000",
                          NULL, 0, &ret->ms);
}

static enum status ping(struct db *db)
{
    return mysql_ping(connection(db)->handle) == 0 ? STATUS_OK : failed(db, mysql_errno(connection(db)->handle));
}

static const struct db_dialect dialect = {
    .for_update = " FOR UPDATE",
    .in_share = " LOCK IN SHARE MODE",
    .upsert = " ON DUPLICATE KEY UPDATE ",
    .upsert_value = "%s = VALUES(%s)",
    .upsert_keep = "%s = COALESCE(VALUES(%s), %s)",
    .upsert_clear = "%s = IF(VALUES(%s) IS NULL, NULL, %s)",
    .greatest = "GREATEST",
    .use_open_index = " FORCE INDEX (run_open)",
    .size = "SELECT CAST(SUM(data_length + index_length) AS SIGNED) FROM information_schema.tables "
            "WHERE table_schema = DATABASE()",
    .audit_order = "day DESC, id DESC",
    .partitions = true,
    .one_writer = false,
};

const struct db_driver db_mysql = {
    .dialect = &dialect,
    .open = open_db,
    .close = close_db,
    .prepare = prepare,
    .finalize = finalize,
    .run = run,
    .step = step,
    .reset = reset,
    .is_null = is_null,
    .number = number,
    .bytes = bytes,
    .script = script,
    .begin = begin,
    .now = now,
    .ping = ping,
};
