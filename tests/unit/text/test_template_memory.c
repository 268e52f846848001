/* Out of memory at every place: templates. */
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
#include "core/logic/text/template.h"
#include "core/model/limits.h"
#include "tests/unit/memory.h"

static const struct template_step *find_step(void *context, const char *name)
{
    static const struct template_step step = {"a", "succeeded", "{\"rows\":[1,\"b\\u0041\",{\"c\":null}],\"k\":1.5}",
                                              true};
    (void)context;
    return strcmp(name, "a") == 0 ? &step : NULL;
}

/* Whichever allocation fails: out of memory is told, or the result is the right one; no crash, no leak. */
static void each_allocation_of_a_rendering(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"a\":\"${steps.a.result.rows[1] + params.x}\",\"b\":[\"x${job.name}-${run}\",\"${scheduled-1d:yyyyMMdd}\"]}",
        "[\"${join(steps.a.result.rows, '; ')}\",\"${replace(upper('abc'), 'B', 'bb')}\",\"${-params.n}\",\"${1 + 2 / 3}\"]",
        "\"${steps.a.result == steps.a.result and params.nope ?? 'd' == 'd' and contains(params, 'x')}\"",
        "\"${json(format(time('2026-03-08'), 'yyyy')) + urlencode(substring('日本', 1)) + trim(' x ') + length(params)}\"",
        "\"${nope.x ?? params.nope ?? shard.index ?? number('1.5')}\"",
    };
    struct template_context context = {.run_id = "1",
                                       .project = "p",
                                       .job = "j",
                                       .trigger = "t",
                                       .origin = "manual",
                                       .version = "1",
                                       .scheduled = {1773757536000},
                                       .params = "{\"x\":\"\\n\",\"n\":12345678901234567890}",
                                       .step = find_step};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str right, ret;
        struct error err = {.text = ""};
        str_init(&right, LIMIT_REQUEST);
        if (template_render_json(rows[i], &context, &right, &err))
            fail_msg("row %zu: %s", i, err.text);
        for (long n = 0;; n++) {
            str_init(&ret, LIMIT_REQUEST);
            memory_fail_at(n);
            enum status status = template_render_json(rows[i], &context, &ret, &err);
            bool reached = memory_requests > n;
            memory_fail_at(-1);
            if (status ? status != STATUS_NO_MEMORY || !reached : strcmp(str_text(&ret), str_text(&right)) != 0)
                fail_msg("row %zu, allocation %ld: %s, %s", i, n, err.text, str_text(&ret));
            str_release(&ret);
            if (!reached) {
                assert_true(n > 3);
                break;
            }
        }
        str_release(&right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_of_a_rendering)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
