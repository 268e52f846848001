/* Out of memory at every place: documents and JSON. */
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

#include "core/base/jsonscan.h"
#include "core/model/document.h"
#include "tests/unit/memory.h"

static const char *const documents[] = {
    "{\"metadata\":{\"name\":\"j\",\"labels\":{\"a\":\"1\"}},\"spec\":{\"params\":{\"x\":[1,2,{}]},\"triggers\":[{\"cron\":\"0 2 * * *\","
    "\"quiet\":[\"22:00-06:00\"],\"calendars\":[\"a\",\"b\"]},{\"name\":\"n\",\"every\":\"1s\"}],\"retry\":{\"max\":1,\"on\":[\"busy\"]},"
    "\"graph\":[{\"step\":\"x\",\"wait\":\"1s\"},{\"after\":[\"x\"],\"serial\":[{\"step\":\"a\",\"task\":\"app/t\",\"headers\":{\"A\":\"b\"},"
    "\"query\":{\"n\":1},\"params\":{\"k\":\"${params.x}\"}},{\"parallel\":[{\"step\":\"b\",\"url\":\"http://h/\"},{\"step\":\"c\",\"kind\":"
    "\"noop\",\"join\":\"any\"}]},{\"step\":\"d\",\"task\":\"app:/p\",\"on_exhausted\":\"compensate:a\",\"after\":[{\"step\":\"x\",\"on\":"
    "\"always\"}]}]}]}}",
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"instances\":[\"h:1\",\"h:2\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\"}]}}",
    "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"exclude\":{\"weekly\":[\"SUN\"],\"dates\":[\"2026-10-01\"],\"annual\":[\"10-01\"]}}}",
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"timezone\":\"Europe/Paris\"}}",
    "{\"metadata\":{\"name\":\"A\",\"ower\":1},\"spec\":{\"overlap\":\"no\",\"graph\":[{\"step\":\"a\",\"after\":[\"q\"]},{\"serial\":[]}]}}",
};
static const enum document_kind kinds[] = {DOCUMENT_JOB, DOCUMENT_APPLICATION, DOCUMENT_CALENDAR, DOCUMENT_PROJECT,
                                           DOCUMENT_JOB};
#define DOCUMENTS (sizeof documents / sizeof *documents)

/* Whichever allocation fails: no crash, no leak (the sanitizer watches), and never half a document. */
static void each_allocation_of_a_document(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        bool right = i + 1 < DOCUMENTS; /* the last one is full of faults */
        long n = 0, failed = 0;
        for (;; n++) {
            struct faults faults;
            faults_init(&faults);
            memory_fail_at(n);
            struct document *d = document_parse(documents[i], strlen(documents[i]), kinds[i], &faults);
            bool reached = memory_requests > n;
            memory_fail_at(-1);
            if (d) {
                struct str text;
                str_init(&text, LIMIT_DOCUMENT);
                document_write_effective(d, &text);
                assert_int_equal(json_check(str_text(&text), text.length, LIMIT_JSON_DEPTH, NULL), STATUS_OK);
                assert_int_equal(faults.errors, 0);
                str_release(&text);
            }
            assert_true(right ? d || reached : !d);
            failed += !d;
            document_free(d);
            faults_release(&faults);
            if (!reached)
                break;
        }
        assert_true(n > 3 && failed > 3);
    }
}

static void each_allocation_of_a_check(void **state)
{
    (void)state;
    struct str text;
    str_init(&text, 100000);
    str_add_char(&text, '{');
    for (int i = 0; i < 200; i++)
        str_addf(&text, "%s\"k%d\":{\"a\":[%d]}", i ? "," : "", i, i);
    str_add_char(&text, '}');
    for (long n = 0;; n++) {
        struct error err = {.code = STATUS_OK};
        memory_fail_at(n);
        enum status status = json_check(str_text(&text), text.length, 8, &err);
        bool reached = memory_requests > n;
        memory_fail_at(-1);
        assert_true(status == STATUS_OK || (reached && status == STATUS_NO_MEMORY && err.code == status));
        struct str merged;
        str_init(&merged, 200000);
        memory_fail_at(n);
        json_merge(str_text(&text), "{\"k7\":1,\"z\":2}", &merged);
        reached |= memory_requests > n;
        memory_fail_at(-1);
        assert_true(merged.failed || !json_check(str_text(&merged), merged.length, 8, NULL));
        str_release(&merged);
        if (!reached)
            break;
    }
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_of_a_document),
                                       cmocka_unit_test(each_allocation_of_a_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
