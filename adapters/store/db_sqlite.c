/* SQLite: WAL, synchronous=FULL. Error codes become the classes of db.h here and nowhere else. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "adapters/store/db.h"
#include "core/base/mem.h"

#define BUSY_MAX_MS 5000 /* another process may hold the file that long */
#define PAGE_SIZE 4096
#define CACHE_KIB 4096 /* a connection; the system caches the file anyway */

struct sqlite_db {
    struct db db;
    sqlite3 *handle;
};

struct sqlite_statement {
    struct db_statement statement;
    sqlite3_stmt *handle;
    int pending; /* result of the first step, not handed out yet */
};

static struct sqlite_db *connection(struct db *db)
{
    return (struct sqlite_db *)db;
}

static struct sqlite_statement *own(struct db_statement *statement)
{
    return (struct sqlite_statement *)statement;
}

/* X(code, class, status, text) */
#define SQLITE_ERRORS(X)                                                                                             \
    X(SQLITE_BUSY, DB_AGAIN, STATUS_UNAVAILABLE, "the store's file is held by another process")                      \
    X(SQLITE_LOCKED, DB_AGAIN, STATUS_UNAVAILABLE, "the store is busy")                                              \
    X(SQLITE_FULL, DB_REFUSED, STATUS_FULL,                                                                          \
      "no space left for the store: free space on its disk, or raise store.max_size")                                \
    X(SQLITE_READONLY, DB_REFUSED, STATUS_READ_ONLY,                                                                 \
      "the store's file or folder is read-only: check owner, permissions and mount")                                 \
    X(SQLITE_CORRUPT, DB_REFUSED, STATUS_CORRUPT, "the store's file is damaged: restore it from a backup")           \
    X(SQLITE_NOTADB, DB_REFUSED, STATUS_CORRUPT, "the store's file is no SQLite database: restore it from a backup") \
    X(SQLITE_CANTOPEN, DB_REFUSED, STATUS_UNAVAILABLE,                                                               \
      "the store's file cannot be opened: check that its folder exists and can be written")                          \
    X(SQLITE_PERM, DB_REFUSED, STATUS_READ_ONLY, "no permission for the store's file")                               \
    X(SQLITE_NOMEM, DB_REFUSED, STATUS_NO_MEMORY, "out of memory in the store")                                      \
    X(SQLITE_TOOBIG, DB_REFUSED, STATUS_TOO_BIG, "a value is too big for the store")                                 \
    X(SQLITE_IOERR, DB_REFUSED, STATUS_UNAVAILABLE, "reading or writing the store's file failed: check the disk")    \
    X(SQLITE_INTERRUPT, DB_REFUSED, STATUS_CANCELED, "stopped")

static enum status failed(struct db *db, int code)
{
    struct sqlite_db *s = connection(db);
    int extended = s->handle ? sqlite3_extended_errcode(s->handle) : code;
    if ((code & 0xff) == SQLITE_CONSTRAINT) {
        if (extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY ||
            extended == SQLITE_CONSTRAINT_ROWID)
            return db_fail(db, DB_DUPLICATE, STATUS_EXISTS, "a row with this key exists");
        return db_fail(db, DB_REFUSED, STATUS_INVALID, "a value is not allowed by the store");
    }
    if ((code & 0xff) == SQLITE_IOERR && s->handle && sqlite3_system_errno(s->handle) == ENOSPC)
        code = SQLITE_FULL;
    if (db->in_transaction && s->handle && sqlite3_get_autocommit(s->handle))
        db->in_transaction = false; /* SQLite has rolled back by itself: full disk, I/O error */
    switch (code & 0xff) {
#define SQLITE_ERROR_CASE(name, class, status, text) \
    case name:                                       \
        return db_fail(db, class, status, text);
        SQLITE_ERRORS(SQLITE_ERROR_CASE)
#undef SQLITE_ERROR_CASE
    default:
        return db_fail(db, DB_REFUSED, STATUS_INTERNAL, "the store refused a statement: this is a fault in Carillon");
    }
}

static int on_busy(void *context, int count)
{
    (void)context;
    if (count * 2 >= BUSY_MAX_MS)
        return 0;
    (void)usleep(2000);
    return 1;
}

static enum status script(struct db *db, const char *sql)
{
    int code = sqlite3_exec(connection(db)->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : failed(db, code);
}

static void close_db(struct db *db)
{
    (void)sqlite3_close(connection(db)->handle);
    free(db);
}

static enum status set_up(struct db *db, const struct db_target *target)
{
    char text[64];
    enum status status = script(db, "PRAGMA journal_mode = WAL");
    static const char *const pragmas[] = {"PRAGMA synchronous = FULL", "PRAGMA temp_store = MEMORY",
                                          "PRAGMA journal_size_limit = 67108864"};
    for (size_t i = 0; i < sizeof pragmas / sizeof *pragmas && status == STATUS_OK; i++)
        status = script(db, pragmas[i]);
    if (status == STATUS_OK) {
        (void)sqlite3_snprintf(sizeof text, text, "PRAGMA cache_size = -%d", CACHE_KIB);
        status = script(db, text);
    }
    if (status == STATUS_OK && target->max_size > 0) {
        (void)sqlite3_snprintf(sizeof text, text, "PRAGMA max_page_count = %lld",
                               (long long)(target->max_size / PAGE_SIZE));
        status = script(db, text);
    }
    return status;
}

/* Made here, because the file holds the cluster's key: SQLite itself would let everybody read it. A file that is there
 * is never opened: closing it would cancel the locks of every other connection of this process (POSIX), and the next
 * program on the database would take itself for the only one and remove the log from under us. */
static int file_make(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0)
        (void)close(file);
    if (file >= 0 || (errno == EEXIST && access(path, R_OK | W_OK) == 0))
        return SQLITE_OK;
    return errno == EACCES || errno == EROFS || errno == EPERM ? SQLITE_READONLY
           : errno == ENOSPC || errno == EDQUOT                ? SQLITE_FULL
                                                               : SQLITE_CANTOPEN;
}

static enum status open_db(const struct db_target *target, struct db **ret, struct error *err)
{
    struct sqlite_db *s = mem_new(struct sqlite_db);
    int code = file_make(target->path);
    if (code == SQLITE_OK)
        code = sqlite3_open_v2(target->path, &s->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        (void)sqlite3_busy_handler(s->handle, on_busy, NULL);
    enum status status = code == SQLITE_OK ? set_up(&s->db, target) : failed(&s->db, code);
    if (status != STATUS_OK) {
        (void)error_set(err, status, "%s", s->db.error.text);
        close_db(&s->db);
        return status;
    }
    *ret = &s->db;
    return STATUS_OK;
}

static enum status prepare(struct db *db, const char *sql, struct db_statement **ret)
{
    sqlite3_stmt *handle = NULL;
    int code = sqlite3_prepare_v3(connection(db)->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, NULL);
    if (code != SQLITE_OK)
        return failed(db, code);
    struct sqlite_statement *s = mem_new(struct sqlite_statement);
    s->handle = handle;
    *ret = &s->statement;
    return STATUS_OK;
}

static void finalize(struct db_statement *statement)
{
    (void)sqlite3_finalize(own(statement)->handle);
    free(statement);
}

static int bind(sqlite3_stmt *handle, int index, const struct db_value *value)
{
    static const char none[1] = "";
    const void *bytes = value->bytes ? value->bytes : none;
    switch (value->type) {
    case DB_NULL:
        return sqlite3_bind_null(handle, index);
    case DB_INT:
        return sqlite3_bind_int64(handle, index, value->number);
    case DB_TEXT:
    case DB_BYTES:
        return sqlite3_bind_text64(handle, index, bytes, value->length, SQLITE_STATIC, SQLITE_UTF8);
    case DB_BLOB:
        return sqlite3_bind_blob64(handle, index, bytes, value->length, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

static enum status run(struct db_statement *statement, const struct db_value *values, size_t count, int64_t *changed)
{
    struct sqlite_statement *s = own(statement);
    int code = SQLITE_OK;
    (void)sqlite3_reset(s->handle);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = bind(s->handle, (int)i + 1, &values[i]);
    if (code == SQLITE_OK)
        code = sqlite3_step(s->handle);
    s->pending = code;
    if (code == SQLITE_ROW)
        return STATUS_OK;
    if (code == SQLITE_DONE) {
        *changed = sqlite3_changes64(connection(statement->db)->handle);
        return STATUS_OK;
    }
    enum status status = failed(statement->db, code);
    (void)sqlite3_reset(s->handle);
    return status;
}

static enum status step(struct db_statement *statement)
{
    struct sqlite_statement *s = own(statement);
    int code = s->pending ? s->pending : sqlite3_step(s->handle);
    s->pending = code == SQLITE_DONE ? SQLITE_DONE : 0;
    if (code == SQLITE_ROW)
        return STATUS_OK;
    return code == SQLITE_DONE ? STATUS_END : failed(statement->db, code);
}

static void reset(struct db_statement *statement)
{
    struct sqlite_statement *s = own(statement);
    (void)sqlite3_reset(s->handle);
    (void)sqlite3_clear_bindings(s->handle);
    s->pending = 0;
}

static bool is_null(struct db_statement *statement, unsigned column)
{
    return sqlite3_column_type(own(statement)->handle, (int)column) == SQLITE_NULL;
}

static int64_t number(struct db_statement *statement, unsigned column)
{
    return sqlite3_column_int64(own(statement)->handle, (int)column);
}

static const void *bytes(struct db_statement *statement, unsigned column, size_t *length)
{
    const void *data = sqlite3_column_blob(own(statement)->handle, (int)column);
    *length = (size_t)sqlite3_column_bytes(own(statement)->handle, (int)column);
    return data ? data : ""; /* an empty value is not NULL */
}

/* What is written to a file without a name is gone with the process: better not to acknowledge it. */
static bool file_is_gone(struct db *db)
{
    int moved = 0;
    return sqlite3_file_control(connection(db)->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

static enum status begin(struct db *db, bool write)
{
    if (write && file_is_gone(db))
        return db_fail(db, DB_REFUSED, STATUS_UNAVAILABLE,
                       "the store's file was deleted or moved while in use: put it back");
    return script(db, write ? "BEGIN IMMEDIATE" : "BEGIN");
}

static enum status now(struct db *db, instant *ret)
{
    (void)db;
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    *ret = (instant){(int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000};
    return STATUS_OK;
}

static enum status ping(struct db *db)
{
    (void)db;
    return STATUS_OK;
}

static const struct db_dialect dialect = {
    .for_update = "",
    .in_share = "",
    .upsert = " ON CONFLICT DO UPDATE SET ",
    .upsert_value = "%s = excluded.%s",
    .upsert_keep = "%s = COALESCE(excluded.%s, %s)",
    .upsert_clear = "%s = CASE WHEN excluded.%s IS NULL THEN NULL ELSE %s END",
    .greatest = "MAX",
    .use_open_index = " INDEXED BY run_open",
    .size = "SELECT (p.page_count - f.freelist_count) * z.page_size FROM pragma_page_count p, "
            "pragma_freelist_count f, pragma_page_size z",
    .audit_order = "id DESC",
    .partitions = false,
    .one_writer = true,
};

const struct db_driver db_sqlite = {
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
