/* Opening: migrations, places that do not serve, URLs; a full and a read-only place. */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/store/migrate.h"
#include "tests/contract/store/kit.h"

static enum status open_url(const char *url, struct error *err)
{
    struct store *store = NULL;
    struct store_options options = {.url = url};
    enum status status = store_open(&options, &store, err);
    if (status == STATUS_OK)
        kit_close(store);
    return status;
}

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *word;
    } rows[] = {{NULL, "not set"},
                {"", "unknown"},
                {"sqlite:", "path"},
                {"sqlite::memory:", "path"},
                {"postgres://x", "unknown"},
                {"mysql://", "database"},
                {"mysql://h/db", "user"},
                {"mysql://@h/db", "user"},
                {"mysql://u@h", "database"},
                {"mysql://u@h/", "database"},
                {"mysql://u@/db", "host"},
                {"mysql://u@h:x/db", "port"},
                {"mysql://u@h:70000/db", "port"},
                {"mysql://u@h:0/db", "port"},
                {"mysql://u@[::1/db", "]"},
                {"mysql://u:secret@h/db", "password_file"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {.code = STATUS_OK};
        assert_int_equal(open_url(rows[i].url, &err), STATUS_INVALID);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].url, err.text, rows[i].word);
        assert_null(strstr(err.text, "secret"));
    }
}

static void test_opened_twice_and_by_many(void **state)
{
    (void)state;
    struct store *first = kit_open(), *second = kit_open();
    assert_int_equal(kit_number("SELECT COUNT(*) FROM schema_version"),
                     kit_number("SELECT MAX(version) FROM schema_version"));
    assert_int_equal(kit_number("SELECT COUNT(*) FROM sequence WHERE name = 'report'"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM cluster"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM slot"), CLAIM_SLOTS_ALL);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM project WHERE name = 'default'"), 1);
    kit_close(first);
    kit_close(second);
}

/* Several processes start at once on an empty place: one makes the schema, all serve. */
static void test_started_by_many_at_once(void **state)
{
    (void)state;
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct store *store = NULL;
            struct error err = {.code = STATUS_OK};
            _exit(kit_open_status(&store, &err) == STATUS_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < 3; i++) {
        int code = 0;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    assert_int_equal(kit_number("SELECT COUNT(*) FROM cluster"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM project"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM slot"), CLAIM_SLOTS_ALL);
}

/* A start that was cut short begins again: each statement can be run twice, what must exist is made once. */
static void test_migration_that_was_cut_short(void **state)
{
    (void)state;
    struct store *store = kit_open();
    kit_close(store);
    kit_sql("DELETE FROM cluster");
    static const char *const tables[] = {"sequence", "slot", "slot_load", "project", "audit", "`change`"};
    char sql[100];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        (void)snprintf(sql, sizeof sql, "DELETE FROM %s", tables[i]);
        kit_sql(sql);
    }
    if (kit_mysql()) { /* DDL stays when the process dies between two statements */
        kit_sql("DELETE FROM schema_version");
        kit_sql("DROP TABLE lease");
    }
    store = kit_open();
    assert_int_equal(kit_boot(store, "n1") > 0, 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM lease"), 0);
    kit_close(store);
}

/* A store as the release with schema `version` left it. */
static void make_earlier_schema(int version)
{
    struct migration earlier[64] = {0};
    const struct migration *all = kit_mysql() ? migrations_mysql : migrations_sqlite;
    struct error err = {.code = STATUS_OK};
    struct db_target target = {0};
    struct db *db = NULL;
    for (int i = 0; all[i].version && all[i].version <= version; i++)
        earlier[i] = all[i];
    kit_target(&target);
    assert_int_equal(db_open(kit_mysql() ? &db_mysql : &db_sqlite, &target, NULL, &db, &err), STATUS_OK);
    if (migrate(db, earlier, &err) != STATUS_OK)
        fail_msg("schema %d: %s", version, err.text);
    db_close(db);
    kit_target_free(&target);
}

/* A store of each earlier release comes up with the next start, and what it knew stays. A new MySQL database takes
 * seconds, so there it is the first release and the last one. */
static void test_earlier_schemas_are_brought_up(void **state)
{
    (void)state;
    const struct migration *all = kit_mysql() ? migrations_mysql : migrations_sqlite;
    for (int i = 0; all[i + 1].version; i++) {
        if (kit_mysql() && i > 0 && all[i + 2].version)
            continue;
        (void)kit_new_place();
        make_earlier_schema(all[i].version);
        kit_sql("INSERT INTO boot (boot, node, role, address, started_at, seen_at) VALUES (1, 'old', 'scheduler', 'a', "
                "1, 1)");
        kit_sql("INSERT INTO node (node, address, first_seen, seen_at) VALUES ('old', 'a', 1, 1)");
        struct store *store = kit_open();
        assert_int_equal(kit_number("SELECT COUNT(*) FROM report"), 0);
        assert_int_equal(kit_number("SELECT COUNT(*) FROM sequence WHERE name = 'report'"), 1);
        assert_int_equal(kit_number("SELECT COUNT(*) FROM project WHERE name = 'default'"), 1);
        assert_int_equal(kit_number("SELECT COUNT(*) FROM schema_version"),
                         kit_number("SELECT MAX(version) FROM schema_version"));
        OP(op, STORE_NODES);
        op.nodes.node = "old";
        DO(store, &op);
        assert_int_equal(op.nodes.rows[0].boot, all[i].version < 3 ? 1 : 0);
        store_op_release(&op);
        kit_close(store);
        kit_forget();
    }
}

static void test_newer_schema_is_refused(void **state)
{
    (void)state;
    struct store *store = kit_open();
    kit_close(store);
    kit_sql("INSERT INTO schema_version (version, name, applied_at) VALUES (9999, '9999_future', 1)");
    struct error err = {.code = STATUS_OK};
    assert_int_equal(kit_open_status(&store, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "newer"));
    kit_sql("DELETE FROM schema_version WHERE version = 9999");
}

/* ---- SQLite only ----------------------------------------------------------------------------------------------------
 */

/* As another user: root writes anywhere. */
static enum status open_as_nobody(const char *url, char text[ERROR_TEXT_MAX])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct error err = {.code = STATUS_OK};
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        (void)open_url(url, &err);
        (void)!write(ends[1], &err, sizeof err);
        _exit(0);
    }
    struct error err = {.code = STATUS_INTERNAL};
    int code;
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &err, sizeof err), sizeof err);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &code, 0), child);
    (void)snprintf(text, ERROR_TEXT_MAX, "%s", err.text);
    return err.code;
}

static void test_folders_that_do_not_serve(void **state)
{
    (void)state;
    char folder[] = "/tmp/carillon_dir_XXXXXX", url[200], text[ERROR_TEXT_MAX], file[200];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(url, sizeof url, "sqlite:%s/none/carillon.db", folder);
    struct error err = {.code = STATUS_OK};
    assert_int_equal(open_url(url, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.text, "folder"));
    (void)snprintf(url, sizeof url, "sqlite:%s/carillon.db", folder);
    assert_int_equal(chmod(folder, 0555), 0);
    assert_int_equal(open_as_nobody(url, text), STATUS_READ_ONLY);
    assert_non_null(strstr(text, "read-only"));
    /* The file is there, but neither it nor its folder can be written. */
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(open_url(url, &err), STATUS_OK);
    (void)snprintf(file, sizeof file, "%s/carillon.db", folder);
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600); /* it holds the cluster's key */
    assert_int_equal(chmod(file, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    assert_int_equal(open_as_nobody(url, text), STATUS_READ_ONLY);
    assert_int_equal(chmod(folder, 0755), 0);
    /* No database at all. */
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    for (int i = 0; i < 1000; i++)
        (void)fputs("this is not a database ", stream);
    (void)fclose(stream);
    assert_int_equal(open_url(url, &err), STATUS_CORRUPT);
    (void)unlink(file);
    (void)rmdir(folder);
}

/* Grows until the place is full: then nothing of the batch has happened, reading goes on, and it is told as FULL. */
static void fill_up(struct store *store)
{
    int64_t boot = kit_boot(store, "n1");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, boot, slot, 5);
    instant now = kit_now(store);
    static char big[200000];
    uint64_t random = 88172645463325252U;
    for (size_t i = 0; i + 1 < sizeof big; i++) { /* does not compress */
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        big[i] = (char)('!' + random % 90);
    }
    enum status status = STATUS_OK;
    for (uint64_t i = 1; i < 400 && status == STATUS_OK; i++) {
        struct store_fire fire = {.run = kit_run(job, slot, boot, "a", instant_add(now, (span)i), i)};
        struct attempt_row attempt = {
            .run = fire.run.id, .step = "s", .n = 1, .seq = 1, .started_at = now, .ended_at = now, .response = big};
        status = kit_batch(
            store, (struct store_batch){
                       .boot = boot, .fires = &fire, .fire_count = 1, .attempts = &attempt, .attempt_count = 1});
    }
    assert_int_equal(status, STATUS_FULL);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run"), kit_number("SELECT COUNT(*) FROM body"));
    OP(op, STORE_RUNS_LIST);
    op.runs_list =
        (struct store_runs_list){.has_error = -1, .origin = -1, .from = INSTANT_NONE, .to = INSTANT_NONE, .limit = 10};
    DO(store, &op);
    assert_int_equal(op.runs_list.count, 10);
    store_op_release(&op);
}

static void test_store_at_its_size(void **state)
{
    (void)state;
    struct store *store = NULL;
    struct error err = {.code = STATUS_OK};
    assert_int_equal(kit_open_options((struct store_options){.max_size = 8 << 20}, &store, &err), STATUS_OK);
    fill_up(store);
    kit_close(store);
    /* More room, and it goes on. */
    assert_int_equal(kit_open_options((struct store_options){.max_size = 64 << 20}, &store, &err), STATUS_OK);
    (void)kit_job(store, "after", NULL);
    kit_close(store);
}

static void test_full_disk(void **state)
{
    (void)state;
    const char *place = kit_current_place();
    char folder[200];
    (void)snprintf(folder, sizeof folder, "%s", place + strlen("sqlite:"));
    *strrchr(folder, '/') = '\0';
    if (mount("tmpfs", folder, "tmpfs", 0, "size=12m") != 0) {
        print_message("no right to mount a small disk here: only store.max_size is tested\n");
        return;
    }
    struct store *store = kit_open();
    fill_up(store);
    kit_close(store);
    assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

/* ---- MySQL only -----------------------------------------------------------------------------------------------------
 */

static void test_servers_that_do_not_serve(void **state)
{
    (void)state;
    struct error err = {.code = STATUS_OK};
    assert_int_equal(open_url("mysql://u@127.0.0.1:1/db", &err), STATUS_UNAVAILABLE);
    assert_null(strstr(err.text, "127.0.0.1"));
    char url[600];
    (void)snprintf(url, sizeof url, "%s_missing", kit_current_place());
    struct store *store = NULL;
    struct store_options options = {.url = url, .password = getenv("CARILLON_TEST_MYSQL_PASSWORD")};
    enum status status = store_open(&options, &store, &err);
    assert_true(status == STATUS_INVALID || status == STATUS_DENIED);
    options.url = kit_current_place();
    options.password = "surely wrong";
    assert_int_equal(store_open(&options, &store, &err), STATUS_DENIED);
    assert_non_null(strstr(err.text, "password"));
}

static int setup_new(void **state)
{
    (void)state;
    (void)kit_new_place();
    return 0;
}

static int teardown_new(void **state)
{
    (void)state;
    kit_forget();
    return 0;
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define N(f) cmocka_unit_test_setup_teardown(f, setup_new, teardown_new)
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_urls),
                                       N(test_opened_twice_and_by_many),
                                       N(test_started_by_many_at_once),
                                       N(test_migration_that_was_cut_short),
                                       cmocka_unit_test(test_earlier_schemas_are_brought_up),
                                       N(test_newer_schema_is_refused)};
    const struct CMUnitTest files[] = {cmocka_unit_test(test_folders_that_do_not_serve), N(test_store_at_its_size),
                                       N(test_full_disk)};
    const struct CMUnitTest servers[] = {N(test_servers_that_do_not_serve)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        return failed;
    return kit_mysql() ? cmocka_run_group_tests(servers, NULL, NULL) : cmocka_run_group_tests(files, NULL, NULL);
}
