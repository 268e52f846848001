/* A database connection, seen the same way over SQLite and MySQL/MariaDB: prepared statements with `?`, rows, one
 * transaction at a time. Everything that differs between the two is in db_sqlite.c and db_mysql.c, or is one of the
 * fragments of `struct db_dialect`.
 *
 * A connection is used by one thread at a time. Calls return STATUS_OK or a failure whose class says what to do; the
 * text in db->error is fit for people (no host, no DSN, no SQL). After DB_LOST the connection is of no further use. */
#ifndef CARILLON_ADAPTERS_STORE_DB_H
#define CARILLON_ADAPTERS_STORE_DB_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/instant.h"
#include "core/base/map.h"

enum db_class {
    DB_FINE,
    DB_DUPLICATE,    /* a unique key is taken; the statement did nothing, the transaction goes on */
    DB_AGAIN,        /* deadlock, lock wait over, file busy: send the whole transaction again */
    DB_LOST,         /* connection gone; what was not committed did not happen */
    DB_NO_PARTITION, /* the row's day has no partition yet */
    DB_DONE_BEFORE,  /* DDL: the column or key exists already */
    DB_REFUSED       /* everything else: the status says what */
};

enum db_type { DB_NULL, DB_INT, DB_TEXT, DB_BYTES /* text that need not be UTF-8 */, DB_BLOB };

struct db_value {
    enum db_type type;
    int64_t number;
    const void *bytes; /* borrowed until the statement has run */
    size_t length;
};

static inline struct db_value db_i(int64_t number)
{
    return (struct db_value){.type = DB_INT, .number = number};
}
/* INSTANT_NONE is NULL. */
static inline struct db_value db_m(instant t)
{
    return instant_is_none(t) ? (struct db_value){.type = DB_NULL} : db_i(t.ms);
}
struct db_value db_t(const char *text);                /* NULL is NULL */
struct db_value db_cut(const char *text, size_t most); /* the same, cut at a character's end */
struct db_value db_bytes(const char *text);            /* text of strangers: kept as bytes */
struct db_value db_bytes_cut(const char *text, size_t most);
struct db_value db_blob(const void *bytes, size_t length);

#define VALUES(...) \
    (const struct db_value[]){__VA_ARGS__}, sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)

struct db_dialect {
    const char *for_update;   /* locks rows that a SELECT returns */
    const char *in_share;     /* the fence's lock; "" where a write transaction locks everything anyway */
    const char *upsert;       /* begins the list of what an INSERT overwrites */
    const char *upsert_value; /* one item of it; %s twice = column */
    const char *upsert_keep;  /* the same, but NULL leaves what is there */
    const char *upsert_clear; /* the same, but only NULL changes what is there */
    const char *greatest;
    const char *use_open_index; /* hint behind `run`: few rows are open, and the optimizer cannot know */
    const char *audit_order;    /* newest first along the primary key */
    const char *size;           /* query of the bytes that the data takes */
    bool partitions;
    bool one_writer; /* writers of this process take turns before BEGIN rather than by polling the file's lock */
};

struct db_target { /* where to connect; owned by the store */
    char *path;    /* SQLite */
    char *host, *user, *password, *database, *tls_ca;
    unsigned port;
    int64_t max_size;
    unsigned idle_seconds;      /* MySQL wait_timeout and net_read_timeout; 0 = server's */
    unsigned lock_wait_seconds; /* innodb_lock_wait_timeout */
    unsigned answer_seconds;    /* MySQL: how long one statement may take before the server counts as gone */
};

/* Test hooks: called before each statement of a transaction. */
enum db_point { DB_POINT_BEGIN, DB_POINT_STATEMENT, DB_POINT_COMMIT };
enum db_fault {
    DB_FAULT_NONE,
    DB_FAULT_DROP,      /* the connection dies before the statement arrives */
    DB_FAULT_LOSE_REPLY /* the statement is carried out, its answer is lost */
};
struct db_hooks {
    enum db_fault (*before)(void *context, enum db_point point, const char *sql);
    void *context;
    bool fence_by_snapshot; /* mutation: the fence reads without locking; the contract suite must notice */
};

struct db;
struct db_statement {
    struct db *db;
    char *sql;
    UT_hash_handle hh;
    bool cached;
};

struct db_driver {
    const struct db_dialect *dialect;
    enum status (*open)(const struct db_target *target, struct db **ret, struct error *err);
    void (*close)(struct db *db);
    enum status (*prepare)(struct db *db, const char *sql, struct db_statement **ret);
    void (*finalize)(struct db_statement *statement);
    enum status (*run)(struct db_statement *statement, const struct db_value *values, size_t count, int64_t *changed);
    enum status (*step)(struct db_statement *statement); /* OK = a row, END */
    void (*reset)(struct db_statement *statement);
    bool (*is_null)(struct db_statement *statement, unsigned column);
    int64_t (*number)(struct db_statement *statement, unsigned column);
    const void *(*bytes)(struct db_statement *statement, unsigned column, size_t *length);
    enum status (*script)(struct db *db, const char *sql); /* one statement without values */
    enum status (*begin)(struct db *db, bool write);
    enum status (*now)(struct db *db, instant *ret);
    enum status (*ping)(struct db *db);
};
extern const struct db_driver db_sqlite, db_mysql;

#define DB_BULK_KINDS 16
#define DB_BULK_SIZES 5

struct db {
    const struct db_driver *driver;
    const struct db_dialect *dialect;
    struct db_statement *cache;
    struct db_statement *bulk[DB_BULK_KINDS][DB_BULK_SIZES];
    enum db_class class;
    struct error error;
    bool broken, in_transaction, used;
    const struct db_hooks *hooks;
    struct db *next; /* in a pool */
};

enum status db_open(const struct db_driver *driver, const struct db_target *target, const struct db_hooks *hooks,
                    struct db **ret, struct error *err) MUST_USE;
void db_close(struct db *db); /* NULL is fine; rolls back */

enum status db_begin(struct db *db, bool write) MUST_USE;
/* STATUS_UNKNOWN: sent, but no answer came. */
enum status db_commit(struct db *db) MUST_USE;
void db_rollback(struct db *db);

enum status db_exec(struct db *db, const char *sql, const struct db_value *values, size_t count,
                    int64_t *ret_changed) MUST_USE;
/* A statement that is kept by the caller (bulk). */
enum status db_prepare(struct db *db, const char *sql, struct db_statement **ret) MUST_USE;
enum status db_run(struct db_statement *statement, const struct db_value *values, size_t count,
                   int64_t *ret_changed) MUST_USE;
enum status db_script(struct db *db, const char *sql) MUST_USE;
enum status db_now(struct db *db, instant *ret) MUST_USE;

/* for (status = db_query(…, &q); status == OK && (status = db_step(q)) == OK;) …; db_end(q): END is the good end. */
enum status db_query(struct db *db, const char *sql, const struct db_value *values, size_t count,
                     struct db_statement **ret) MUST_USE;
enum status db_step(struct db_statement *statement) MUST_USE;
void db_end(struct db_statement *statement); /* NULL is fine */
bool db_is_null(struct db_statement *statement, unsigned column);
int64_t db_number(struct db_statement *statement, unsigned column);
instant db_instant(struct db_statement *statement, unsigned column);
const void *db_column(struct db_statement *statement, unsigned column, size_t *length); /* NULL for NULL */
/* One number of one row. NOT_FOUND when there is no row; NULL counts as 0. */
enum status db_read_number(struct db *db, const char *sql, const struct db_value *values, size_t count,
                           int64_t *ret) MUST_USE;

/* For drivers. */
enum status db_fail(struct db *db, enum db_class class, enum status status, const char *text);

#endif
