/* Definitions: versions, names, slots, the feed, pages. */
#include "tests/contract/store/kit.h"

static struct store_put job_put(const char *name, const char *json, const char *fingerprint)
{
    static const char *const triggers[] = {"a"};
    return (struct store_put){.kind = DOCUMENT_JOB,
                              .project = "default",
                              .name = name,
                              .json = json,
                              .fingerprint = fingerprint,
                              .trigger_names = triggers,
                              .trigger_count = 1,
                              .author = "ann",
                              .source = "file"};
}

static struct store_put put(struct store *store, struct store_put input, enum status wanted)
{
    OP(op, STORE_PUT);
    op.put = input;
    EXPECT(store, &op, wanted);
    struct store_put out = op.put;
    out.before = NULL;
    store_op_release(&op);
    return out;
}

static int64_t head(struct store *store)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = 1, .since = -1};
    DO(store, &op);
    int64_t value = op.poll.head;
    assert_int_equal(op.poll.change_count, 0);
    assert_false(op.poll.trimmed);
    store_op_release(&op);
    return value;
}

static void test_create_edit_same(void **state)
{
    struct store *store = *state;
    int64_t start = head(store);
    struct store_put first = put(store, job_put("j", DOCUMENT("j"), "f1"), STATUS_OK);
    assert_true(first.created && !first.unchanged);
    assert_int_equal(first.version, 1);
    assert_int_equal(first.slot, 0);
    struct store_put same = put(store, job_put("j", DOCUMENT("J"), "f1"), STATUS_OK);
    assert_true(same.unchanged && !same.created);
    assert_int_equal(same.version, 1);
    assert_int_equal(same.id, first.id);
    assert_int_equal(head(store), start + 1);
    OP(op, STORE_PUT);
    op.put = job_put("j", DOCUMENT("j2"), "f2");
    DO(store, &op);
    assert_false(op.put.created || op.put.unchanged);
    assert_int_equal(op.put.version, 2);
    assert_int_equal(op.put.slot, first.slot);
    assert_string_equal(op.put.before, DOCUMENT("j"));
    store_op_release(&op);
    assert_int_equal(head(store), start + 2);
    int64_t ids[] = {first.id};
    static const struct {
        int64_t version;
        const char *json;
    } versions[] = {{0, DOCUMENT("j2")}, {1, DOCUMENT("j")}, {2, DOCUMENT("j2")}};
    for (size_t i = 0; i < 3; i++) {
        OP(read, STORE_DEFINITIONS);
        read.definitions =
            (struct store_definitions){.kind = DOCUMENT_JOB, .ids = ids, .id_count = 1, .version = versions[i].version};
        DO(store, &read);
        assert_int_equal(read.definitions.count, 1);
        assert_string_equal(read.definitions.rows[0].json, versions[i].json);
        assert_string_equal(read.definitions.rows[0].project, "default");
        assert_string_equal(read.definitions.rows[0].author, "ann");
        assert_string_equal(read.definitions.rows[0].source, "file");
        assert_true(read.definitions.rows[0].created_at.ms >= read.definitions.rows[0].first_created_at.ms);
        store_op_release(&read);
    }
    OP(read, STORE_DEFINITIONS);
    read.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = ids, .id_count = 1, .version = 3};
    EXPECT(store, &read, STATUS_NOT_FOUND);
    store_op_release(&read);
}

static void test_conditions(void **state)
{
    struct store *store = *state;
    struct store_put input = job_put("j", DOCUMENT("j"), "f1");
    input.if_match = 1;
    (void)put(store, input, STATUS_CONFLICT);
    input.if_match = 0;
    (void)put(store, input, STATUS_OK);
    input.create_only = true;
    (void)put(store, input, STATUS_EXISTS);
    input.create_only = false;
    input.fingerprint = "f2";
    input.if_match = 2;
    (void)put(store, input, STATUS_CONFLICT);
    input.if_match = 1;
    assert_int_equal(put(store, input, STATUS_OK).version, 2);
    input.project = "nowhere";
    (void)put(store, input, STATUS_NOT_FOUND);
    input.project = "default";
    char name[200];
    memset(name, 'x', sizeof name);
    name[199] = '\0';
    input.name = name;
    (void)put(store, input, STATUS_INVALID);
    input.name = "";
    (void)put(store, input, STATUS_INVALID);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM job"), 1);
}

/* 1,024 jobs have a slot each; further ones share, evenly, lowest first; a deleted job makes room. */
static void test_the_emptiest_slot(void **state)
{
    struct store *store = *state;
    char name[20];
    for (int i = 0; i < CLAIM_SLOTS + 3; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        assert_int_equal(put(store, job_put(name, DOCUMENT("j"), "f"), STATUS_OK).slot, i % CLAIM_SLOTS);
    }
    OP(op, STORE_DELETE);
    op.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "j77", .author = "bob"};
    DO(store, &op);
    store_op_release(&op);
    assert_int_equal(put(store, job_put("new", DOCUMENT("j"), "f"), STATUS_OK).slot, 77);
    assert_int_equal(put(store, job_put("next", DOCUMENT("j"), "f"), STATUS_OK).slot, 3);
    OP(slots, STORE_SLOTS_READ);
    DO(store, &slots);
    assert_int_equal(slots.slots_read.count, CLAIM_SLOTS_ALL);
    assert_int_equal(slots.slots_read.rows[0].jobs, 2);
    assert_int_equal(slots.slots_read.rows[4].jobs, 1);
    assert_int_equal(slots.slots_read.rows[CLAIM_SLOTS].jobs, 0);
    store_op_release(&slots);
}

static void test_delete_and_recreate(void **state)
{
    struct store *store = *state;
    struct store_put first = put(store, job_put("j", DOCUMENT("j"), "f1"), STATUS_OK);
    int64_t before = head(store);
    OP(op, STORE_DELETE);
    op.delete =
        (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "j", .author = "bob", .if_match = 9};
    EXPECT(store, &op, STATUS_CONFLICT);
    op.delete.if_match = 1;
    DO(store, &op);
    EXPECT(store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
    OP(poll, STORE_POLL);
    poll.poll = (struct store_poll){.boot = 1, .since = before, .limit = 10};
    DO(store, &poll);
    assert_int_equal(poll.poll.change_count, 1);
    assert_int_equal(poll.poll.changes[0].kind, DOCUMENT_JOB);
    assert_int_equal(poll.poll.changes[0].id, first.id);
    store_op_release(&poll);
    OP(read, STORE_DEFINITIONS);
    read.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = &first.id, .id_count = 1};
    DO(store, &read);
    assert_true(read.definitions.rows[0].deleted);
    store_op_release(&read);
    store_op_init(&read, STORE_DEFINITIONS);
    read.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .limit = 10};
    DO(store, &read);
    assert_int_equal(read.definitions.count, 0);
    store_op_release(&read);
    struct store_put again = put(store, job_put("j", DOCUMENT("j"), "f1"), STATUS_OK);
    assert_true(again.created);
    assert_true(again.id != first.id);
    assert_int_equal(again.version, 1);
}

static void test_in_use(void **state)
{
    struct store *store = *state;
    struct store_put app = {.kind = DOCUMENT_APPLICATION,
                            .project = "default",
                            .name = "ledger",
                            .fingerprint = "f",
                            .json = "{\"metadata\":{\"name\":\"ledger\"}}",
                            .author = "a",
                            .source = "ui"};
    struct store_put calendar = app, project = app;
    calendar.kind = DOCUMENT_CALENDAR;
    calendar.name = "workdays";
    project.kind = DOCUMENT_PROJECT;
    project.name = "shop";
    (void)put(store, app, STATUS_OK);
    (void)put(store, calendar, STATUS_OK);
    (void)put(store, project, STATUS_OK);
    (void)put(store,
              job_put("user",
                      "{\"metadata\":{\"name\":\"user\"},\"spec\":{\"triggers\":[{\"calendar\":\"workdays\"}],"
                      "\"graph\":[{\"step\":\"s\",\"task\":\"ledger/post\"}]}}",
                      "f"),
              STATUS_OK);
    (void)put(store, job_put("innocent", "{\"metadata\":{\"name\":\"ledger\",\"description\":\"workdays\"}}", "f"),
              STATUS_OK);
    const struct {
        enum document_kind kind;
        const char *name, *text;
    } rows[] = {{DOCUMENT_APPLICATION, "ledger", "\"user\""}, {DOCUMENT_CALENDAR, "workdays", "\"user\""}};
    for (size_t i = 0; i < 2; i++) {
        OP(op, STORE_DELETE);
        op.delete =
            (struct store_delete){.kind = rows[i].kind, .project = "default", .name = rows[i].name, .author = "a"};
        EXPECT(store, &op, STATUS_CONFLICT);
        assert_non_null(strstr(op.error.text, rows[i].text));
        store_op_release(&op);
    }
    static const struct {
        enum document_kind kind;
        const char *project, *name;
        enum status status;
    } deletes[] = {{DOCUMENT_PROJECT, NULL, "default", STATUS_CONFLICT},
                   {DOCUMENT_JOB, "default", "user", STATUS_OK},
                   {DOCUMENT_APPLICATION, "default", "ledger", STATUS_OK},
                   {DOCUMENT_CALENDAR, "default", "workdays", STATUS_OK},
                   {DOCUMENT_PROJECT, NULL, "shop", STATUS_OK},
                   {DOCUMENT_PROJECT, NULL, "shop", STATUS_NOT_FOUND}};
    for (size_t i = 0; i < sizeof deletes / sizeof *deletes; i++) {
        OP(op, STORE_DELETE);
        op.delete = (struct store_delete){
            .kind = deletes[i].kind, .project = deletes[i].project, .name = deletes[i].name, .author = "a"};
        EXPECT(store, &op, deletes[i].status);
        store_op_release(&op);
    }
}

static void test_utf8_in_documents(void **state)
{
    struct store *store = *state;
    static const char json[] =
        "{\"metadata\":{\"name\":\"j\",\"description\":\"日结 \xf0\x9f\x94\x94 \xf4\x8f\xbf\xbd 'x' "
        "%s\"},\"spec\":{\"params\":{\"big\":123456789012345678901234567890,\"k\":\"\\u0001\"}}}";
    struct store_put job = put(store, job_put("j", json, "f"), STATUS_OK);
    OP(read, STORE_DEFINITIONS);
    read.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = &job.id, .id_count = 1};
    DO(store, &read);
    assert_string_equal(read.definitions.rows[0].json, json);
    store_op_release(&read);
    OP(list, STORE_LIST);
    list.list = (struct store_list){.kind = DOCUMENT_JOB, .text = "日结 \xf0\x9f\x94\x94", .limit = 10};
    DO(store, &list);
    assert_int_equal(list.list.count, 1);
    store_op_release(&list);
}

static size_t list_count(struct store *store, struct store_list input, int64_t total, const char *first)
{
    OP(op, STORE_LIST);
    op.list = input;
    DO(store, &op);
    size_t count = op.list.count;
    assert_int_equal(op.list.total, total);
    if (first)
        assert_string_equal(op.list.rows[0].name, first);
    store_op_release(&op);
    return count;
}

static void test_list(void **state)
{
    struct store *store = *state;
    char name[20];
    for (int i = 0; i < 25; i++) {
        (void)snprintf(name, sizeof name, "job-%02d", i);
        (void)put(store,
                  job_put(name,
                          i == 7 ? "{\"metadata\":{\"name\":\"x\",\"display_name\":\"Nightly Close\"}}" : DOCUMENT("j"),
                          "f"),
                  STATUS_OK);
    }
    struct store_put project = {
        .kind = DOCUMENT_PROJECT, .name = "shop", .fingerprint = "f", .json = "{}", .author = "a"};
    (void)put(store, project, STATUS_OK);
    struct store_put other = job_put("other", DOCUMENT("j"), "f");
    other.project = "shop";
    (void)put(store, other, STATUS_OK);
    struct store_list all = {.kind = DOCUMENT_JOB, .limit = 10};
    assert_int_equal(list_count(store, all, 26, "job-00"), 10);
    all.skip = 20;
    assert_int_equal(list_count(store, all, 26, "job-20"), 6);
    all.skip = 0;
    all.project = "shop";
    assert_int_equal(list_count(store, all, 1, "other"), 1);
    all.project = "default";
    all.text = "nightly c";
    assert_int_equal(list_count(store, all, 1, "job-07"), 1);
    all.text = "B-1";
    assert_int_equal(list_count(store, all, 10, "job-10"), 10);
    all.text = "%";
    assert_int_equal(list_count(store, all, 0, NULL), 0);
    static const char *const names[] = {"job-03", "missing", "job-01", "job-03", "' OR 1=1"};
    struct store_list named = {.kind = DOCUMENT_JOB, .project = "default", .names = names, .name_count = 5, .limit = 1};
    assert_int_equal(list_count(store, named, 2, "job-03"), 2);
    assert_int_equal(list_count(store, (struct store_list){.kind = DOCUMENT_PROJECT, .limit = 10}, 2, "default"), 2);
    OP(op, STORE_LIST);
    op.list = (struct store_list){.kind = DOCUMENT_JOB, .project = "none"};
    EXPECT(store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

static void test_list_shows_what_goes_on(void **state)
{
    struct store *store = *state;
    int64_t boot = kit_boot(store, "n1");
    int32_t slot, slot2;
    int64_t job = kit_job(store, "job", &slot), quiet = kit_job(store, "quiet", &slot2);
    (void)kit_take(store, boot, slot, 5);
    instant now = kit_now(store);
    struct store_fire fires[3];
    for (uint64_t i = 0; i < 3; i++)
        fires[i].run = kit_run(job, slot, boot, "a", instant_add(now, (span)i), i + 1);
    assert_int_equal(kit_fire(store, boot, fires, 3), STATUS_OK);
    struct run_row end = fires[1].run;
    end.state = RUN_SUCCEEDED;
    end.ended_at = instant_add(now, 50);
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = boot, .runs = &end, .run_count = 1}), STATUS_OK);
    OP(op, STORE_LIST);
    op.list = (struct store_list){.kind = DOCUMENT_JOB, .limit = 10};
    DO(store, &op);
    assert_int_equal(op.list.count, 2);
    const struct definition_row *row = &op.list.rows[0];
    assert_int_equal(row->id, job);
    assert_string_equal(row->owner_node, "n1");
    assert_int_equal(row->owner_boot, boot);
    assert_true(row->owner_since.ms >= now.ms - SPAN_MINUTE);
    assert_int_equal(row->running, 2);
    assert_non_null(row->last_run);
    assert_int_equal(row->last_run->id, end.id);
    assert_int_equal(row->last_run->state, RUN_SUCCEEDED);
    row = &op.list.rows[1];
    assert_int_equal(row->id, quiet);
    assert_null(row->owner_node);
    assert_int_equal(row->running, 0);
    assert_null(row->last_run);
    store_op_release(&op);
    struct store_list mine = {.kind = DOCUMENT_JOB, .owner = "n1", .limit = 10};
    assert_int_equal(list_count(store, mine, 1, "job"), 1);
    mine.owner = "n2";
    assert_int_equal(list_count(store, mine, 0, NULL), 0);
}

static void test_pages_for_replicas(void **state)
{
    struct store *store = *state;
    char name[20];
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        (void)put(store, job_put(name, DOCUMENT("j"), "f"), STATUS_OK);
    }
    int64_t after = 0;
    size_t seen = 0;
    for (size_t page = 0; page < 4; page++) {
        OP(op, STORE_DEFINITIONS);
        op.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .after = after, .limit = 4};
        DO(store, &op);
        for (size_t i = 0; i < op.definitions.count; i++) {
            assert_true(op.definitions.rows[i].id > after);
            after = op.definitions.rows[i].id;
            seen++;
        }
        store_op_release(&op);
    }
    assert_int_equal(seen, 10);
}

static void test_paused_triggers_at_creation(void **state)
{
    struct store *store = *state;
    static const char *const triggers[] = {"a", "b"}, *const paused[] = {"b"};
    struct store_put input = job_put("j", DOCUMENT("j"), "f1");
    input.trigger_names = triggers;
    input.trigger_count = 2;
    input.paused_triggers = paused;
    input.paused_count = 1;
    int64_t id = put(store, input, STATUS_OK).id;
    OP(op, STORE_TRIGGERS);
    op.triggers.job = id;
    DO(store, &op);
    assert_int_equal(op.triggers.cursor_count, 2);
    assert_int_equal(op.triggers.state_count, 1);
    assert_string_equal(op.triggers.states[0].trigger, "b");
    assert_true(op.triggers.states[0].paused);
    assert_true(instant_is_none(op.triggers.states[0].paused_since));
    store_op_release(&op);
    /* Later it is not read any more; a trigger that left keeps its cursor, for it rules until the new version is
     * activated. */
    input.fingerprint = "f2";
    input.paused_triggers = triggers;
    input.trigger_count = 1;
    (void)put(store, input, STATUS_OK);
    store_op_init(&op, STORE_TRIGGERS);
    op.triggers.job = id;
    DO(store, &op);
    assert_int_equal(op.triggers.cursor_count, 2);
    assert_string_equal(op.triggers.cursors[0].trigger, "a");
    assert_int_equal(op.triggers.state_count, 1);
    store_op_release(&op);
}

static void test_every_write_is_audited(void **state)
{
    struct store *store = *state;
    (void)put(store, job_put("j", DOCUMENT("j"), "f1"), STATUS_OK);
    (void)put(store, job_put("j", DOCUMENT("j"), "f1"), STATUS_OK);
    (void)put(store, job_put("j", DOCUMENT("k"), "f2"), STATUS_OK);
    OP(op, STORE_DELETE);
    op.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "j", .author = "bob"};
    DO(store, &op);
    store_op_release(&op);
    OP(audit, STORE_AUDIT);
    audit.audit = (struct store_audit){.limit = 10};
    DO(store, &audit);
    static const struct {
        const char *who, *action, *before, *after;
    } rows[] = {{"bob", "delete", DOCUMENT("k"), NULL},
                {"ann", "update", DOCUMENT("j"), DOCUMENT("k")},
                {"ann", "create", NULL, DOCUMENT("j")}};
    assert_int_equal(audit.audit.count, 4);
    for (size_t i = 0; i < 3; i++) {
        const struct audit_entry *e = &audit.audit.rows[i];
        assert_string_equal(e->who, rows[i].who);
        assert_string_equal(e->action, rows[i].action);
        assert_string_equal(e->kind, "job");
        assert_string_equal(e->project, "default");
        assert_string_equal(e->name, "j");
        assert_true(rows[i].before ? strcmp(e->before, rows[i].before) == 0 : !e->before);
        assert_true(rows[i].after ? strcmp(e->after, rows[i].after) == 0 : !e->after);
    }
    store_op_release(&audit);
}

static void test_a_set_is_written_whole_or_not_at_all(void **state)
{
    struct store *store = *state;
    struct store_put items[3] = {
        {.kind = DOCUMENT_PROJECT, .name = "new", .json = DOCUMENT("j"), .fingerprint = "f"},
        {.kind = DOCUMENT_JOB, .project = "new", .name = "first", .json = DOCUMENT("j"), .fingerprint = "f"},
        {.kind = DOCUMENT_JOB, .project = "none", .name = "second", .json = DOCUMENT("j"), .fingerprint = "f"}};
    OP(op, STORE_PUTS);
    op.puts = (struct store_puts){.items = items, .count = 3};
    EXPECT(store, &op, STATUS_NOT_FOUND);
    assert_int_equal(op.puts.failed, 2);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM project WHERE name = 'new'"), 0);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM job"), 0);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM slot_load WHERE jobs > 0"), 0);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE name = 'new'"), 0);
    items[2].project = "new";
    store_op_init(&op, STORE_PUTS);
    op.puts = (struct store_puts){.items = items, .count = 3};
    DO(store, &op);
    for (int i = 0; i < 3; i++)
        assert_true(items[i].created && items[i].version == 1);
    assert_int_not_equal(items[1].slot, items[2].slot);
    store_op_release(&op);
    items[1].fingerprint = "g";
    store_op_init(&op, STORE_PUTS);
    op.puts = (struct store_puts){.items = items, .count = 3};
    DO(store, &op);
    assert_true(items[0].unchanged && !items[1].unchanged && items[2].unchanged);
    assert_int_equal(items[1].version, 2);
    store_op_release(&op);
}

/* What lists show of many jobs is what is told of each. */
static void test_many_jobs_are_told_as_each(void **state)
{
    enum { JOBS = 260 };
    struct store *store = *state;
    static int64_t ids[JOBS];
    int64_t boot = kit_boot(store, "n1");
    instant now = kit_now(store), old = instant_add(now, -3 * SPAN_DAY);
    for (int i = 0; i < JOBS; i++) {
        char name[20];
        int32_t slot;
        (void)snprintf(name, sizeof name, "job-%03d", i);
        ids[i] = kit_job(store, name, &slot);
        if (i % 12)
            continue;
        (void)kit_take(store, boot, slot, 100 + i);
        struct store_fire fires[3] = {{.run = kit_run(ids[i], slot, boot, "a", old, (uint64_t)i * 3 + 1)},
                                      {.run = kit_run(ids[i], slot, boot, "a", now, (uint64_t)i * 3 + 2)},
                                      {.run = kit_run(ids[i], slot, boot, "b", now, (uint64_t)i * 3 + 3)}};
        fires[0].run.state = fires[1].run.state = RUN_SUCCEEDED;
        fires[0].run.ended_at = fires[1].run.ended_at = now;
        assert_int_equal(kit_fire(store, boot, fires, i % 24 ? 1 : 3), STATUS_OK); /* odd: the old one alone */
    }
    OP(all, STORE_TRIGGERS);
    all.triggers.jobs = ids;
    all.triggers.job_count = JOBS;
    DO(store, &all);
    assert_int_equal(all.triggers.open_run_count, 11);
    size_t cursors = 0;
    for (int i = 0; i < JOBS; i++) {
        OP(one, STORE_TRIGGERS);
        one.triggers.job = ids[i];
        DO(store, &one);
        cursors += one.triggers.cursor_count;
        store_op_release(&one);
    }
    assert_int_equal(all.triggers.cursor_count, cursors);
    store_op_release(&all);
    OP(list, STORE_LIST);
    list.list = (struct store_list){.kind = DOCUMENT_JOB, .project = "default", .limit = 1000};
    DO(store, &list);
    assert_int_equal(list.list.count, JOBS);
    for (int i = 0; i < JOBS; i++) {
        const struct run_row *last = list.list.rows[i].last_run;
        assert_int_equal(last != NULL, i % 12 == 0);
        if (last)
            assert_int_equal(last->scheduled_at.ms, i % 24 ? old.ms : now.ms);
        assert_int_equal(list.list.rows[i].running, i % 24 == 0);
    }
    store_op_release(&list);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_create_edit_same),
                                       T(test_conditions),
                                       T(test_the_emptiest_slot),
                                       T(test_delete_and_recreate),
                                       T(test_in_use),
                                       T(test_utf8_in_documents),
                                       T(test_list),
                                       T(test_list_shows_what_goes_on),
                                       T(test_pages_for_replicas),
                                       T(test_paused_triggers_at_creation),
                                       T(test_every_write_is_audited),
                                       T(test_a_set_is_written_whole_or_not_at_all),
                                       T(test_many_jobs_are_told_as_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
