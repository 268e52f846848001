/* Settings: the table, values, rules between them. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/model/settings.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static struct settings settings;

static void defaults(void **state)
{
    (void)state;
    settings_defaults(&settings);
    assert_int_equal(settings.scheduler.poll_interval, 250);
    assert_int_equal(settings.scheduler.max_concurrent_runs, 10000);
    assert_int_equal(settings.scheduler.alarm_at, 80);
    assert_string_equal(settings.coordination.url, "local:");
    assert_int_equal(settings.coordination.claim_slots, 1024);
    assert_int_equal(settings.store.max_size, (int64_t)10 << 30);
    assert_int_equal(settings.dispatch.max_response, 4 << 20);
    assert_int_equal(settings.retention.audit, 400 * SPAN_DAY);
    assert_string_equal(settings.server.listen, "127.0.0.1:8420");
    assert_string_equal(settings.log.level, "info");
    struct error err = {.text = ""};
    if (settings_check(&settings, &err))
        fail_msg("%s", err.text);
}

/* Every row: its default is legal, what is shown can be set again and is shown the same, keys are unique. */
static void show_and_set(void **state)
{
    (void)state;
    size_t count;
    const struct setting *table = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        struct error err = {.text = ""};
        struct str shown, again;
        str_init(&shown, SETTING_TEXT);
        str_init(&again, SETTING_TEXT);
        settings_defaults(&settings);
        if (settings_set(&settings, table[i].key, table[i].fallback, &err))
            fail_msg("%s: %s", table[i].key, err.text);
        settings_show(&settings, &table[i], &shown);
        if (settings_set(&settings, table[i].key, str_text(&shown), &err))
            fail_msg("%s: %s", table[i].key, err.text);
        settings_show(&settings, &table[i], &again);
        assert_string_equal(str_text(&shown), str_text(&again));
        assert_true(table[i].help && table[i].help[0]);
        assert_true(table[i].offset < sizeof settings);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(table[i].key, table[j].key);
            assert_int_not_equal(table[i].offset, table[j].offset);
        }
        str_release(&shown);
        str_release(&again);
    }
}

static void values(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *key, *value, *shown, *error; /* shown NULL: refused */
    } rows[] = {
        {__LINE__, "scheduler.poll_interval", "1s", "1s", NULL},
        {__LINE__, "scheduler.poll_interval", "1", NULL, "setting scheduler.poll_interval: \"1\" is not a duration"},
        {__LINE__, "scheduler.poll_interval", "1ms", NULL, "out of range; 10ms to 1m"},
        {__LINE__, "scheduler.capacity", "5000", "5000", NULL},
        {__LINE__, "scheduler.capacity", "-1", NULL, "is not a whole number"},
        {__LINE__, "scheduler.capacity", "10x", NULL, "is not a whole number"},
        {__LINE__, "scheduler.capacity", "99999999999999999999", NULL, "is not a whole number"},
        {__LINE__, "scheduler.alarm_at", "75", "75%", NULL},
        {__LINE__, "scheduler.alarm_at", "75%", "75%", NULL},
        {__LINE__, "scheduler.alarm_at", "175%", NULL, "1% to 100%"},
        {__LINE__, "store.max_size", "512MiB", "512MiB", NULL},
        {__LINE__, "store.max_size", "1GB", "1000000000B", NULL},
        {__LINE__, "store.max_size", "2 TiB", "2TiB", NULL},
        {__LINE__, "store.max_size", "17179869184", "16GiB", NULL},
        {__LINE__, "store.max_size", "10gigs", NULL, "a size such as"},
        {__LINE__, "store.max_size", "9999999999TiB", NULL, "a size such as"},
        {__LINE__, "log.level", "debug", "debug", NULL},
        {__LINE__, "log.level", "loud", NULL, "\"loud\" is none of error|warn|info|debug"},
        {__LINE__, "log.level", "warn|info", NULL, "is none of"},
        {__LINE__, "log.level", "", NULL, "is none of"},
        {__LINE__, "scheduler.node_id", "123456789012345678901234", "123456789012345678901234", NULL},
        {__LINE__, "scheduler.node_id", "1234567890123456789012345", NULL, "longer than 24 characters"},
        {__LINE__, "server.listen", "", NULL, "may not be empty; its default is \"127.0.0.1:8420\""},
        {__LINE__, "server.public_url", "a\nb", NULL, "control character"},
        {__LINE__, "store.tls_ca", "\xff", NULL, "not UTF-8"},
        {__LINE__, "store.password", "hunter2", "***", NULL},
        {__LINE__, "store.pasword", "x", NULL, "did you mean store.password?"},
        {__LINE__, "server.listn", "x", NULL, "setting server.listn: no such setting; did you mean server.listen?"},
        {__LINE__, "what.ever", "x", NULL, "`carillon config` lists them"},
    };
    size_t count;
    const struct setting *table = settings_table(&count);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct error err = {.text = ""};
        struct str shown;
        settings_defaults(&settings);
        str_init(&shown, SETTING_TEXT);
        enum status status = settings_set(&settings, rows[i].key, rows[i].value, &err);
        for (size_t t = 0; t < count; t++)
            if (!strcmp(table[t].key, rows[i].key))
                settings_show(&settings, &table[t], &shown);
        bool ok = rows[i].shown ? !status && !strcmp(str_text(&shown), rows[i].shown)
                                : status == STATUS_INVALID && strstr(err.text, rows[i].error);
        if (!ok)
            fail_msg("line %d: %s, %s", rows[i].line, str_text(&shown), err.text);
        str_release(&shown);
    }
}

/* Nothing of a secret is in a message or stays behind when a shorter one is set. */
static void secrets(void **state)
{
    (void)state;
    struct error err = {.text = ""};
    settings_defaults(&settings);
    assert_int_equal(settings_set(&settings, "store.password", "long-secret-word", &err), STATUS_OK);
    assert_int_equal(settings_set(&settings, "store.password", "ab", &err), STATUS_OK);
    for (size_t i = 2; i < SETTING_TEXT; i++)
        assert_int_equal(settings.store.password[i], 0);
    assert_int_equal(settings_set(&settings, "store.password", "secret\nword", &err), STATUS_INVALID);
    assert_null(strstr(err.text, "secret"));
    assert_int_equal(settings_set(&settings, "store.url", "mysql://u:pass-word@h/d", &err), STATUS_OK);
    assert_int_equal(settings_check(&settings, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "store.password_file"));
    assert_null(strstr(err.text, "pass-word"));
}

static void rules(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *key, *value, *error; /* error NULL: allowed */
    } rows[] = {
        {__LINE__, "coordination.url", "zk://a:2181,b:2181/carillon", NULL},
        {__LINE__, "coordination.url", "etcd://a", "neither local: nor zk://"},
        {__LINE__, "store.url", "sqlite:/var/lib/x.db", NULL},
        {__LINE__, "store.url", "mysql://u@h:3306/d", NULL},
        {__LINE__, "store.url", "postgres://h", "setting store.url"},
        {__LINE__, "server.listen", "[::1]:8420", NULL},
        {__LINE__, "server.listen", "0.0.0.0:0", NULL},
        {__LINE__, "server.listen", ":8420", "not host:port"},
        {__LINE__, "server.listen", "localhost", "not host:port"},
        {__LINE__, "server.listen", "::1:80", "not host:port"},
        {__LINE__, "server.listen", "h:70000", "not host:port"},
        {__LINE__, "server.public_url", "https://c.example", NULL},
        {__LINE__, "server.public_url", "c.example", "http:// or https://"},
        {__LINE__, "server.tls_cert", "/x.pem", "setting server.tls_key: is missing"},
        {__LINE__, "server.tls_key", "/x.pem", "setting server.tls_cert: is missing"},
        {__LINE__, "scheduler.node_id", "a/b", "may hold neither"},
        {__LINE__, "scheduler.pool", "Far Away", "is no name"},
        {__LINE__, "coordination.node_timeout", "5s", "at least coordination.lease_ttl"},
        {__LINE__, "dispatch.timeout", "1s", "connect_timeout"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct error err = {.text = ""};
        settings_defaults(&settings);
        assert_int_equal(settings_set(&settings, rows[i].key, rows[i].value, &err), STATUS_OK);
        enum status status = settings_check(&settings, &err);
        if (rows[i].error ? status != STATUS_INVALID || !strstr(err.text, rows[i].error) : status)
            fail_msg("line %d: %s", rows[i].line, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults), cmocka_unit_test(show_and_set),
                                       cmocka_unit_test(values), cmocka_unit_test(secrets), cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
