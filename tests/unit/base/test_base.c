/* The small parts of core/base. */
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

#include "core/base/arena.h"
#include "core/base/civil.h"
#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/heap.h"
#include "core/base/ids.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "core/base/vec.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static void durations(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text, *shown; /* shown NULL: refused */
        span value;
    } rows[] = {
        {__LINE__, "0", "0s", 0},
        {__LINE__, "250ms", "250ms", 250},
        {__LINE__, "90s", "1m30s", 90000},
        {__LINE__, "1h30m", "1h30m", 5400000},
        {__LINE__, "2w", "14d", 14 * SPAN_DAY},
        {__LINE__, "1d2h3m4s5ms", "1d2h3m4s5ms", SPAN_DAY + 2 * SPAN_HOUR + 3 * SPAN_MINUTE + 4005},
        {__LINE__, "", NULL, 0},
        {__LINE__, "90", NULL, 0},
        {__LINE__, "s", NULL, 0},
        {__LINE__, "1s1m", NULL, 0},
        {__LINE__, "1m1m", NULL, 0},
        {__LINE__, "-1s", NULL, 0},
        {__LINE__, "1.5s", NULL, 0},
        {__LINE__, "1 s", NULL, 0},
        {__LINE__, "1S", NULL, 0},
        {__LINE__, "99999999999999999999w", NULL, 0},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        span value = -1;
        char shown[DURATION_SIZE];
        struct error err = {.text = ""};
        enum status status = duration_parse(rows[i].text, &value, &err);
        bool ok = rows[i].shown
                      ? !status && value == rows[i].value && !strcmp(duration_format(value, shown), rows[i].shown)
                      : status == STATUS_INVALID && value == -1 && err.text[0];
        if (!ok)
            fail_msg("line %d: %s", rows[i].line, rows[i].text);
        if (rows[i].shown) {
            assert_int_equal(duration_parse(shown, &value, &err), STATUS_OK);
            assert_int_equal(value, rows[i].value);
        }
    }
}

static void dates(void **state)
{
    (void)state;
    for (int64_t day = -800000; day < 800000; day += 97) { /* there and back, and the next day is later by one */
        struct civil_date d = civil_from_days(day), next = civil_from_days(day + 1);
        assert_true(civil_date_valid(d));
        assert_int_equal(civil_days(d), day);
        assert_true(next.day == d.day + 1 || next.day == 1);
        assert_int_equal(civil_weekday(day + 1), (civil_weekday(day) + 1) % 7);
    }
    assert_int_equal(civil_days((struct civil_date){1970, 1, 1}), 0);
    assert_int_equal(civil_weekday(0), 4);
    assert_true(civil_is_leap(2000) && !civil_is_leap(1900) && civil_is_leap(2024));
    assert_false(civil_date_valid((struct civil_date){2026, 2, 29}));
}

static void rfc3339(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text, *shown, *brief;
    } rows[] = {
        {__LINE__, "2026-03-08T02:30:00Z", "2026-03-08T02:30:00.000Z", "2026-03-08T02:30:00Z"},
        {__LINE__, "2026-03-08T02:30:00.1259Z", "2026-03-08T02:30:00.125Z", "2026-03-08T02:30:00.125Z"},
        {__LINE__, "2026-03-08T02:30:00+08:00", "2026-03-07T18:30:00.000Z", "2026-03-07T18:30:00Z"},
        {__LINE__, "2026-03-08 02:30:00-00:30", "2026-03-08T03:00:00.000Z", "2026-03-08T03:00:00Z"},
        {__LINE__, "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"},
        {__LINE__, "2026-03-08", NULL, NULL},
        {__LINE__, "2026-03-08T02:30:00", NULL, NULL},
        {__LINE__, "2026-03-08T24:00:00Z", NULL, NULL},
        {__LINE__, "2026-02-30T00:00:00Z", NULL, NULL},
        {__LINE__, "2026-03-08T02:30:00.Z", NULL, NULL},
        {__LINE__, "2026-03-08T02:30:00Zx", NULL, NULL},
        {__LINE__, "2026-03-08T02:30:00+24:00", NULL, NULL},
        {__LINE__, "", NULL, NULL},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        instant t = INSTANT_NONE;
        char shown[RFC3339_SIZE];
        enum status status = rfc3339_parse(rows[i].text, &t, NULL);
        if (!rows[i].shown ? status != STATUS_INVALID
                           : status || strcmp(rfc3339_format(t, shown), rows[i].shown) != 0 ||
                                 strcmp(rfc3339_format_short(t, shown), rows[i].brief) != 0)
            fail_msg("line %d: %s", rows[i].line, rows[i].text);
    }
    char shown[RFC3339_SIZE];
    assert_string_equal(rfc3339_format(INSTANT_NONE, shown), "");
}

static void strings(void **state)
{
    (void)state;
    struct str s;
    str_init(&s, 10);
    assert_string_equal(str_text(&s), "");
    str_add(&s, "hello");
    str_addf(&s, "-%d", 42);
    assert_string_equal(str_text(&s), "hello-42");
    str_add(&s, "xyz"); /* would be 11 */
    assert_int_equal(str_status(&s), STATUS_TOO_BIG);
    str_add(&s, "a"); /* ignored from then on */
    assert_string_equal(str_text(&s), "hello-42");
    assert_null(str_take(&s));
    str_init(&s, 100);
    str_add_json(&s, "a\"\\\n\x01é");
    assert_string_equal(str_text(&s), "\"a\\\"\\\\\\n\\u0001é\"");
    char *taken = str_take(&s);
    assert_string_equal(taken, "\"a\\\"\\\\\\n\\u0001é\"");
    free(taken);
    str_add_i64(&s, INT64_MIN);
    assert_string_equal(str_text(&s), "-9223372036854775808");
    str_release(&s);
}

static void utf8(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text;
        bool valid;
    } rows[] = {{__LINE__, "", true},
                {__LINE__, "aé日😀", true},
                {__LINE__, "\x80", false},
                {__LINE__, "\xc0\xaf", false},
                {__LINE__, "\xe0\x80\xaf", false},
                {__LINE__, "\xed\xa0\x80", false},
                {__LINE__, "\xf0\x9f", false},
                {__LINE__, "\xf5\x80\x80\x80", false}};
    for (size_t i = 0; i < ROWS(rows); i++)
        if (utf8_valid(rows[i].text, strlen(rows[i].text)) != rows[i].valid)
            fail_msg("line %d", rows[i].line);
    assert_int_equal(utf8_count("aé日😀"), 4);
}

static void ids(void **state)
{
    (void)state;
    int64_t id = 0;
    assert_true(id_parse("9223372036854775807", &id) && id == INT64_MAX);
    static const char *const bad[] = {"", "0", "-1", "1x", " 1", "9223372036854775808"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_false(id_parse(bad[i], &id));
    int64_t run = run_id_make(20530, 16385, 7);
    assert_true(run > 0);
    assert_int_equal(run_id_day(run), 20530);
    assert_int_equal(run & 0x3ffffffff, 7);
    assert_int_equal(day_of((instant){-1}), 0);
    assert_int_equal(day_of((instant){SPAN_DAY}), 1);
    assert_int_equal(ms_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(ms_sub(0, INT64_MIN), INT64_MAX);
}

struct item {
    struct heap_entry entry;
    int number;
};

static void heaps(void **state)
{
    (void)state;
    enum { N = 500 };
    static struct item items[N];
    struct heap heap;
    struct rng rng;
    rng_seed(&rng, 1);
    heap_init(&heap);
    for (int i = 0; i < N; i++) {
        items[i].number = i;
        assert_int_equal(heap_add(&heap, &items[i].entry, (int64_t)rng_below(&rng, 50)), STATUS_OK);
    }
    for (int i = 0; i < N; i += 3)
        heap_remove(&heap, &items[i].entry);
    heap_remove(&heap, &items[0].entry); /* twice does nothing */
    int64_t due = -1;
    uint64_t order = 0;
    size_t count = 0;
    for (struct heap_entry *first; (first = heap_first(&heap)); count++) {
        assert_true(first->due > due || (first->due == due && first->order > order));
        due = first->due;
        order = first->order;
        heap_remove(&heap, first);
        assert_false(heap_contains(first));
    }
    assert_int_equal(count, N - (N + 2) / 3);
    heap_release(&heap);
}

static void arenas(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 100000);
    for (size_t size = 0; size < 300; size++) {
        unsigned char *bytes = arena_alloc(&arena, size);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % sizeof(void *), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    assert_string_equal(arena_text(&arena, "abc"), "abc");
    assert_null(arena_text(&arena, NULL));
    assert_null(arena_alloc(&arena, 100000));
    assert_null(arena_alloc(&arena, SIZE_MAX));
    arena_release(&arena);
    assert_non_null(arena_alloc(&arena, 1));
    arena_release(&arena);
}

static void faults(void **state)
{
    (void)state;
    struct faults list;
    struct error err;
    faults_init(&list);
    for (int i = 0; i < FAULTS_MAX + 5; i++)
        faults_add(&list, "spec", "fault %d", i);
    faults_warn(&list, NULL, "only told");
    assert_int_equal(list.count, FAULTS_MAX);
    assert_int_equal(list.errors, FAULTS_MAX + 5);
    assert_string_equal(list.items[7].text, "fault 7");
    faults_release(&list);
    assert_int_equal(error_set(&err, STATUS_CONFLICT, "%s", "why"), STATUS_CONFLICT);
    assert_string_equal(err.text, "why");
    assert_int_equal(error_set(NULL, STATUS_INVALID, "x"), STATUS_INVALID);
    error_set(&err, STATUS_INVALID, "<%.4s> <%.5s>", "日本", "a😀"); /* whole characters only */
    assert_string_equal(err.text, "<日> <a😀>");
    char longest[ERROR_TEXT_MAX * 2] = "";
    for (size_t i = 1; i + 3 < sizeof longest; i += 3)
        memcpy(longest + i, "日", 3);
    longest[0] = 'x';
    error_set(&err, STATUS_INVALID, "%s", longest);
    assert_true(utf8_valid(err.text, strlen(err.text)) && strlen(err.text) > ERROR_TEXT_MAX - 4);
    for (int code = 0; code >= STATUS_INTERNAL; code--)
        assert_true(status_text((enum status)code)[0]);
}

static void random_numbers(void **state)
{
    (void)state;
    struct rng a, b;
    rng_seed(&a, 42);
    rng_seed(&b, 42);
    bool low = false, high = false;
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(rng_next(&a), rng_next(&b));
        int64_t n = rng_between(&a, -2, 2);
        assert_int_equal(n, rng_between(&b, -2, 2));
        assert_true(n >= -2 && n <= 2);
        low |= n == -2;
        high |= n == 2;
    }
    assert_true(low && high);
    assert_int_equal(hash_text("abc", 1), hash_bytes("abc", 3, 1));
    assert_true(hash_text("abc", 1) != hash_text("abc", 2));
    assert_true(hash_text("abc", 1) != hash_text("abd", 1));
}

struct entry {
    int key;
    UT_hash_handle hh;
};

static void containers(void **state)
{
    (void)state;
    VEC(int) numbers = {0};
    for (int i = 0; i < 100; i++)
        vec_add(&numbers, i);
    vec_remove_swap(&numbers, 0);
    assert_int_equal(numbers.count, 99);
    assert_int_equal(numbers.items[0], 99);
    vec_release(&numbers);
    assert_null(numbers.items);

    struct entry entries[50] = {{.key = 0}}, *table = NULL, *found;
    for (int i = 0; i < 50; i++) {
        entries[i].key = i;
        HASH_ADD_INT(table, key, &entries[i]);
    }
    int key = 33;
    HASH_FIND_INT(table, &key, found);
    assert_ptr_equal(found, &entries[33]);
    HASH_CLEAR(hh, table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),      cmocka_unit_test(dates),      cmocka_unit_test(rfc3339),
        cmocka_unit_test(strings),        cmocka_unit_test(utf8),       cmocka_unit_test(ids),
        cmocka_unit_test(heaps),          cmocka_unit_test(arenas),     cmocka_unit_test(faults),
        cmocka_unit_test(random_numbers), cmocka_unit_test(containers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
