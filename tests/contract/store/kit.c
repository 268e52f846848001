#include "tests/contract/store/kit.h"

#include <sys/stat.h>
#include <unistd.h>

#include <mysql.h>
#include <sqlite3.h>

static bool mysql_backend;
static char place[512], folder[256], database[64], server[256];

static const char *password(void)
{
    const char *text = getenv("CARILLON_TEST_MYSQL_PASSWORD");
    return text ? text : "";
}

void kit_begin(int argc, char **argv)
{
    mysql_backend = argc > 1 && strcmp(argv[1], "mysql") == 0;
    const char *url = getenv("CARILLON_TEST_MYSQL_URL");
    if (!mysql_backend)
        return;
    if (!url || strncmp(url, "mysql://", 8) != 0) {
        (void)printf("skipped: CARILLON_TEST_MYSQL_URL is not set (mysql://user@127.0.0.1:port/database)\n");
        exit(77);
    }
    (void)snprintf(server, sizeof server, "%s", url);
    char *slash = strrchr(server, '/');
    if (slash)
        *slash = '\0';
}

bool kit_mysql(void)
{
    return mysql_backend;
}

/* ---- raw access -----------------------------------------------------------------------------------------------------
 */

static MYSQL *raw_mysql(const char *name)
{
    char user[64] = "", host[64] = "";
    unsigned port = 3306;
    MYSQL *handle = mysql_init(NULL);
    if (sscanf(server, "mysql://%63[^@]@%63[^:]:%u", user, host, &port) < 2 ||
        !mysql_real_connect(handle, host, user, password(), name, port, NULL, 0)) {
        (void)fprintf(stderr, "the test's MySQL server: %s\n", mysql_error(handle));
        abort();
    }
    return handle;
}

static int64_t raw_mysql_query(const char *name, const char *sql)
{
    MYSQL *handle = raw_mysql(name);
    int64_t number = 0;
    if (mysql_query(handle, sql) != 0) {
        (void)fprintf(stderr, "%s: %s\n", sql, mysql_error(handle));
        abort();
    }
    MYSQL_RES *result = mysql_store_result(handle);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    if (row && row[0])
        number = strtoll(row[0], NULL, 10);
    if (result)
        mysql_free_result(result);
    mysql_close(handle);
    return number;
}

void kit_kill_connections(void)
{
    MYSQL *handle = raw_mysql(database);
    assert_int_equal(mysql_query(handle, "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND "
                                         "id <> CONNECTION_ID()"),
                     0);
    MYSQL_RES *result = mysql_store_result(handle);
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(result))) {
        char sql[60];
        (void)snprintf(sql, sizeof sql, "KILL %s", row[0]);
        (void)mysql_query(handle, sql); /* some end by themselves meanwhile */
    }
    mysql_free_result(result);
    mysql_close(handle);
}

static int first_number(void *context, int count, char **values, char **names)
{
    (void)names;
    if (count > 0 && values[0])
        *(int64_t *)context = strtoll(values[0], NULL, 10);
    return 0;
}

int64_t kit_number(const char *sql)
{
    int64_t number = 0;
    if (mysql_backend)
        return raw_mysql_query(database, sql);
    sqlite3 *handle;
    char *message = NULL;
    assert_int_equal(sqlite3_open(place + strlen("sqlite:"), &handle), SQLITE_OK);
    (void)sqlite3_busy_timeout(handle, 5000);
    if (sqlite3_exec(handle, sql, first_number, &number, &message) != SQLITE_OK) {
        (void)fprintf(stderr, "%s: %s\n", sql, message);
        abort();
    }
    (void)sqlite3_close(handle);
    return number;
}

void kit_sql(const char *sql)
{
    (void)kit_number(sql);
}

/* ---- places ---------------------------------------------------------------------------------------------------------
 */

/* Creating a database with its partitions takes a second; emptying one takes none. Seeding then begins anew. */
static void empty_database(void)
{
    MYSQL *handle = raw_mysql(database);
    assert_int_equal(mysql_query(handle,
                                 "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() "
                                 "AND table_name <> 'schema_version'"),
                     0);
    MYSQL_RES *result = mysql_store_result(handle);
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(result))) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "DELETE FROM `%s`", row[0]);
        assert_int_equal(mysql_query(handle, sql), 0);
    }
    mysql_free_result(result);
    mysql_close(handle);
}

static void drop_database(void)
{
    char sql[128];
    if (!*database)
        return;
    (void)snprintf(sql, sizeof sql, "DROP DATABASE %s", database);
    (void)raw_mysql_query(NULL, sql);
    *database = '\0';
}

static const char *new_database(void)
{
    static unsigned count;
    char sql[128];
    drop_database();
    (void)snprintf(database, sizeof database, "carillon_test_%d_%u", (int)getpid(), ++count);
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %s", database);
    (void)raw_mysql_query(NULL, sql);
    if (count == 1) /* after the first connection: what libraries clean up at exit is then still there */
        (void)atexit(drop_database);
    (void)snprintf(place, sizeof place, "%s/%s", server, database);
    return place;
}

const char *kit_place(void)
{
    if (mysql_backend && *database) {
        empty_database();
        return place;
    }
    return kit_new_place();
}

const char *kit_new_place(void)
{
    if (mysql_backend)
        return new_database();
    (void)snprintf(folder, sizeof folder, "/tmp/carillon_store_XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(place, sizeof place, "sqlite:%s/carillon.db", folder);
    return place;
}

void kit_forget(void)
{
    char text[600];
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !mysql_backend; i++) {
        (void)snprintf(text, sizeof text, "%s%s", place + strlen("sqlite:"), ends[i]);
        (void)unlink(text);
    }
    if (!mysql_backend)
        (void)rmdir(folder);
}

void kit_target(struct db_target *ret)
{
    char user[64] = "", host[64] = "";
    unsigned port = 3306;
    *ret = (struct db_target){.lock_wait_seconds = 5, .answer_seconds = 30};
    if (!mysql_backend) {
        ret->path = strdup(place + strlen("sqlite:"));
        return;
    }
    assert_true(sscanf(server, "mysql://%63[^@]@%63[^:]:%u", user, host, &port) >= 2);
    ret->host = strdup(host);
    ret->user = strdup(user);
    ret->password = strdup(password());
    ret->database = strdup(database);
    ret->port = port;
}

void kit_target_free(struct db_target *target)
{
    char *texts[] = {target->path, target->host, target->user, target->password, target->database};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
}

enum status kit_open_options(struct store_options options, struct store **ret, struct error *err)
{
    options.url = place;
    options.password = password();
    if (!options.session_timeout)
        options.session_timeout = 6 * SPAN_SECOND;
    return store_open(&options, ret, err);
}

enum status kit_open_status(struct store **ret, struct error *err)
{
    return kit_open_options((struct store_options){.readers = 2}, ret, err);
}

struct store *kit_open(void)
{
    struct store *store = NULL;
    struct error err = {.code = STATUS_OK};
    if (kit_open_status(&store, &err) != STATUS_OK)
        fail_msg("store_open: %s: %s", status_text(err.code), err.text);
    return store;
}

void kit_close(struct store *store)
{
    store->ops->close(store);
}

int kit_setup(void **state)
{
    (void)kit_place();
    *state = kit_open();
    return 0;
}

int kit_teardown(void **state)
{
    kit_close(*state);
    kit_forget();
    return 0;
}

/* ---- short forms ----------------------------------------------------------------------------------------------------
 */

void kit_expect(struct store *store, struct store_op *op, enum status wanted, const char *file, int line)
{
    enum status status = store_execute(store, op);
    if (status != wanted || op->status != wanted) {
        print_error("%s:%d: %s: %s (%s), expected %s\n", file, line, store_op_name(op->kind), status_text(status),
                    op->error.text, status_text(wanted));
        fail();
    }
    if (wanted != STATUS_OK) /* words for people, nothing of the machinery */
        for (const char *const *word =
                 (const char *const[]){"SELECT", "INSERT", "UPDATE", "127.0.0.1", "mysql://", NULL};
             *word; word++)
            assert_null(strstr(op->error.text, *word));
    if (wanted != STATUS_OK)
        assert_true(op->error.text[0] != '\0');
}

void kit_do(struct store *store, struct store_op *op, const char *file, int line)
{
    kit_expect(store, op, STATUS_OK, file, line);
}

int64_t kit_boot(struct store *store, const char *node)
{
    OP(op, STORE_BOOT_START);
    op.boot_start = (struct store_boot_start){.node = node, .address = "127.0.0.1:1", .role = "scheduler"};
    DO(store, &op);
    int64_t boot = op.boot_start.boot;
    store_op_release(&op);
    return boot;
}

instant kit_now(struct store *store)
{
    OP(op, STORE_CLUSTER);
    DO(store, &op);
    instant now = op.cluster.store_now;
    store_op_release(&op);
    return now;
}

int64_t kit_job_with(struct store *store, const char *name, const char *json, const char *fingerprint,
                     const char *const *triggers, size_t count, int32_t *ret_slot)
{
    OP(op, STORE_PUT);
    op.put = (struct store_put){.kind = DOCUMENT_JOB,
                                .project = "default",
                                .name = name,
                                .json = json,
                                .fingerprint = fingerprint,
                                .trigger_names = triggers,
                                .trigger_count = count,
                                .author = "tester",
                                .source = "api"};
    DO(store, &op);
    int64_t id = op.put.id;
    if (ret_slot)
        *ret_slot = op.put.slot;
    store_op_release(&op);
    return id;
}

int64_t kit_job(struct store *store, const char *name, int32_t *ret_slot)
{
    static const char *const triggers[] = {"a", "b"};
    return kit_job_with(store, name, DOCUMENT("job"), "f1", triggers, 2, ret_slot);
}

int64_t kit_take(struct store *store, int64_t boot, int32_t slot, int64_t czxid)
{
    struct slot_take take = {.slot = slot, .generation = 1, .czxid = czxid};
    OP(op, STORE_SLOTS_TAKE);
    op.slots_take = (struct store_slots_take){.boot = boot, .takes = &take, .count = 1};
    DO(store, &op);
    store_op_release(&op);
    assert_true(take.taken);
    return take.previous_boot;
}

void kit_fence(struct store *store, int64_t boot, int64_t dead)
{
    OP(op, STORE_BOOT_FENCE);
    op.boot_fence = (struct store_boot_fence){.boot = boot, .dead_boot = dead};
    DO(store, &op);
    store_op_release(&op);
}

struct run_row kit_run(int64_t job, int32_t slot, int64_t boot, const char *trigger, instant at, uint64_t sequence)
{
    return (struct run_row){.id = run_id_make(day_of(at), boot, sequence),
                            .job = job,
                            .project = 1,
                            .version = 1,
                            .trigger = trigger,
                            .scheduled_at = at,
                            .due_at = at,
                            .fired_at = at,
                            .started_at = INSTANT_NONE,
                            .ended_at = INSTANT_NONE,
                            .state = RUN_QUEUED,
                            .origin = ORIGIN_SCHEDULE,
                            .slot = slot,
                            .boot = boot,
                            .node = "n1",
                            .zone = "Asia/Shanghai",
                            .start = "[{\"step\":\"s\",\"instance\":\"h:1\"}]",
                            .priority = 5};
}

static int64_t numbers[1000];

int64_t kit_batch_number(int64_t boot)
{
    assert_in_range(boot, 1, 999);
    return ++numbers[boot];
}

enum status kit_batch(struct store *store, struct store_batch batch)
{
    OP(op, STORE_BATCH);
    if (!batch.number)
        batch.number = kit_batch_number(batch.boot);
    op.batch = batch;
    enum status status = store_execute(store, &op);
    if (status == STATUS_INTERNAL || status == STATUS_CORRUPT)
        print_message("batch: %s: %s\n", status_text(status), op.error.text);
    store_op_release(&op);
    return status;
}

enum status kit_fire(struct store *store, int64_t boot, struct store_fire *fires, size_t count)
{
    return kit_batch(store, (struct store_batch){.boot = boot, .fires = fires, .fire_count = count});
}

int64_t kit_runs(struct store *store)
{
    (void)store;
    return kit_number("SELECT COUNT(*) FROM run");
}

const char *kit_current_place(void)
{
    return place;
}
