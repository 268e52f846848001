#include "adapters/store/store_open.h"

#include <stdlib.h>
#include <string.h>

#include "adapters/store/migrate.h"
#include "adapters/store/store_sql.h"
#include "core/base/mem.h"

static const struct store_ops sql_ops = {
    .name = "sql",
    .submit = store_sql_submit,
    .execute = store_sql_execute,
    .close = store_sql_close,
};

#define MYSQL_PORT 3306

static enum status bad_url(struct error *err, const char *why)
{
    return error_set(err, STATUS_INVALID,
                     "store.url: %s; expected sqlite:/path/carillon.db or mysql://user@host:port/database", why);
}

static bool parse_port(const char *text, size_t length, unsigned *ret)
{
    unsigned port = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || port > 65535)
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    *ret = port;
    return length > 0 && port > 0 && port <= 65535;
}

/* "host", "host:port", "[v6]:port" */
static enum status parse_host(const char *text, size_t length, struct db_target *t, struct error *err)
{
    const char *end = text + length, *colon;
    if (length && *text == '[') {
        const char *close = memchr(text, ']', length);
        if (!close)
            return bad_url(err, "the address lacks its ]");
        t->host = mem_copy(text + 1, (size_t)(close - text - 1));
        colon = close + 1 < end && close[1] == ':' ? close + 1 : NULL;
    } else {
        colon = memchr(text, ':', length);
        t->host = mem_copy(text, (size_t)((colon ? colon : end) - text));
    }
    t->port = MYSQL_PORT;
    if (colon && !parse_port(colon + 1, (size_t)(end - colon - 1), &t->port))
        return bad_url(err, "the port is not a number from 1 to 65535");
    return *t->host ? STATUS_OK : bad_url(err, "the host is missing");
}

static enum status parse_mysql(const char *rest, struct db_target *t, struct error *err)
{
    const char *slash = strchr(rest, '/');
    if (!slash || !slash[1])
        return bad_url(err, "the database is missing");
    const char *at = memchr(rest, '@', (size_t)(slash - rest));
    if (!at || at == rest)
        return bad_url(err, "the user is missing");
    if (memchr(rest, ':', (size_t)(at - rest)))
        return error_set(err, STATUS_INVALID,
                         "store.url must not hold a password: use store.password_file or CARILLON_STORE_PASSWORD");
    t->user = mem_copy(rest, (size_t)(at - rest));
    t->database = mem_copy_text(slash + 1);
    return parse_host(at + 1, (size_t)(slash - at - 1), t, err);
}

static enum status parse_url(const struct store_options *o, struct sql_store *store, struct error *err)
{
    struct db_target *t = &store->targets[0];
    if (!o->url)
        return bad_url(err, "it is not set");
    if (strncmp(o->url, "sqlite:", 7) == 0) {
        if (!o->url[7] || o->url[7] == ':')
            return bad_url(err, "the path is missing");
        store->driver = &db_sqlite;
        t->path = mem_copy_text(o->url + 7);
        t->max_size = o->max_size;
        return STATUS_OK;
    }
    if (strncmp(o->url, "mysql://", 8) != 0)
        return bad_url(err, "unknown kind of store");
    store->driver = &db_mysql;
    t->password = mem_copy_text(o->password && *o->password ? o->password : NULL);
    t->tls_ca = mem_copy_text(o->tls_ca && *o->tls_ca ? o->tls_ca : NULL);
    /* A process that was stopped inside a transaction must not hold its locks for long. */
    if (o->session_timeout > 0)
        t->idle_seconds = (unsigned)(o->session_timeout / 2 < 2 * SPAN_SECOND ? 2 : o->session_timeout / 2000);
    return parse_mysql(o->url + 8, t, err);
}

static enum status prepare_schema(struct sql_store *store, struct error *err)
{
    struct db *db = NULL;
    enum status status = db_open(store->driver, &store->targets[LANE_READER], NULL, &db, err);
    if (status != STATUS_OK)
        return status;
    status = migrate(db, store->driver == &db_sqlite ? migrations_sqlite : migrations_mysql, err);
    db_close(db);
    return status;
}

/* Seconds. A batch holds others up, so it gives up soon; a take-over asks often (store_run.c); a reader may count a
 * million rows. */
static void set_patience(struct sql_store *store)
{
    static const struct {
        unsigned lock, answer;
    } patience[LANES] = {[LANE_WRITER] = {3, 10}, [LANE_TAKEOVER] = {1, 10}, [LANE_READER] = {3, 60}};
    struct db_target first = store->targets[0];
    for (size_t i = 0; i < LANES; i++) {
        store->targets[i] = first;
        store->targets[i].lock_wait_seconds = patience[i].lock;
        store->targets[i].answer_seconds = patience[i].answer;
    }
}

enum status store_open(const struct store_options *options, struct store **ret, struct error *err)
{
    struct sql_store *store = mem_new(struct sql_store);
    store->store.ops = &sql_ops;
    store->session_timeout = options->session_timeout;
    store->post = options->post;
    store->context = options->context;
    enum status status = parse_url(options, store, err);
    set_patience(store);
    if (status == STATUS_OK)
        status = prepare_schema(store, err);
    bool started = status == STATUS_OK;
    if (started) {
        status = store_threads_start(store, options->readers);
        if (status != STATUS_OK)
            (void)error_set(err, status, "the store's threads cannot be started");
    }
    if (status == STATUS_OK) {
        *ret = &store->store;
        return STATUS_OK;
    }
    if (started) {
        store_sql_close(&store->store);
        return status;
    }
    struct db_target *t = &store->targets[0];
    char *texts[] = {t->path, t->host, t->user, t->password, t->database, t->tls_ca};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    free(store);
    return status;
}

void store_drain(struct store *store)
{
    struct store *inner;
    while ((inner = store_trace_inner(store)) || (inner = store_faulty_drain(store)))
        store = inner;
    if (store->ops == &sql_ops)
        store_sql_drain((struct sql_store *)store);
}

void store_post(struct store *store)
{
    struct store *inner;
    while ((inner = store_trace_inner(store)))
        store = inner;
    struct sql_store *sql = (struct sql_store *)store;
    if (store->ops == &sql_ops && sql->post)
        sql->post(sql->context);
}

void store_test_hooks(struct store *store, const struct db_hooks *hooks)
{
    ((struct sql_store *)store)->hooks = hooks ? *hooks : (struct db_hooks){.before = NULL};
}
