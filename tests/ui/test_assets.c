/* The table of embedded files: what is found, what falls back to the page, what is not there. */
#include "ui/assets.h"
#include "ui/assets_table.h"

/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

static void paths_find_their_asset(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *path;
        const char *found; /* NULL: nothing */
    } cases[] = {
        {__LINE__, "/", "/index.html"},
        {__LINE__, "", "/index.html"},
        {__LINE__, "/index.html", "/index.html"},
        {__LINE__, "/projects/default/jobs", "/index.html"},
        {__LINE__, "/apiary", "/index.html"},
        {__LINE__, "/assetsmore", "/index.html"},
        {__LINE__, "/../etc/passwd", "/index.html"},
        {__LINE__, "/api", NULL},
        {__LINE__, "/api/v1/projects", NULL},
        {__LINE__, "/assets", NULL},
        {__LINE__, "/assets/nothing.js", NULL},
        {__LINE__, "/assets/../index.html", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ui_asset *asset = ui_asset_find(cases[i].path);
        const char *found = asset ? asset->path : NULL;
        if ((found == NULL) != (cases[i].found == NULL) || (found && strcmp(found, cases[i].found) != 0))
            fail_msg("line %d: %s gives %s", cases[i].line, cases[i].path, found ? found : "nothing");
    }
}

static void table_is_sorted_and_whole(void **state)
{
    (void)state;
    assert_true(ui_asset_table_size >= 1);
    for (size_t i = 0; i < ui_asset_table_size; i++) {
        const struct ui_asset_forms *forms = &ui_asset_table[i];
        if (i > 0)
            assert_true(strcmp(ui_asset_table[i - 1].plain.path, forms->plain.path) < 0);
        assert_ptr_equal(ui_asset_find(forms->plain.path), &forms->plain);
        assert_false(forms->plain.gzip);
        assert_true(forms->plain.length > 0);
        assert_int_equal(forms->plain.bytes[forms->plain.length], 0); /* the length ends where the file ends */
        if (!forms->packed.bytes) {
            assert_ptr_equal(ui_asset_find_encoded(forms->plain.path, true), &forms->plain);
            continue;
        }
        assert_ptr_equal(ui_asset_find_encoded(forms->plain.path, true), &forms->packed);
        assert_true(forms->packed.gzip);
        assert_true(forms->packed.length < forms->plain.length);
        assert_int_equal(forms->packed.bytes[0], 0x1f);
        assert_int_equal(forms->packed.bytes[1], 0x8b);
        assert_string_not_equal(forms->packed.etag, forms->plain.etag);
    }
}

/* The policy forbids inline scripts, so a page that carries one would be dead. */
static void page_has_no_inline_script(void **state)
{
    (void)state;
    const struct ui_asset *page = ui_asset_find("/");
    assert_non_null(page);
    assert_string_equal(page->content_type, "text/html; charset=utf-8");
    assert_string_equal(page->cache_control, "no-cache");
    const char *text = (const char *)page->bytes;
    for (const char *script = strstr(text, "<script"); script; script = strstr(script + 1, "<script")) {
        const char *end = strchr(script, '>');
        const char *source = strstr(script, " src=");
        assert_non_null(end);
        assert_true(source && source < end);
    }
    assert_null(strstr(text, "<style"));
    assert_null(strstr(text, "http://"));
    assert_null(strstr(text, "https://"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_find_their_asset),
        cmocka_unit_test(table_is_sorted_and_whole),
        cmocka_unit_test(page_has_no_inline_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
