/* Templates from outside, over results from outside: rendering ends, and a rendered JSON template is JSON. The input is
 * "template NUL result NUL params". */
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/base/utf8.h"
#include "core/logic/text/template.h"
#include "core/model/limits.h"
#include "tests/fuzz/fuzz.h"

static struct template_step step = {.name = "a", .state = "succeeded", .known = true};

static const struct template_step *find(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "a") == 0 ? &step : NULL;
}

static void check_status(enum status status, const struct error *err)
{
    fuzz_check(!status || ((status == STATUS_INVALID || status == STATUS_TOO_BIG) && err->text[0] &&
                           utf8_valid(err->text, strlen(err->text))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.text = ""};
    struct str ret, json;
    bool truth;
    if (size > 16384)
        return 0;
    char *text = malloc(size + 3);
    fuzz_check(text);
    memcpy(text, data, size);
    memset(text + size, 0, 3);
    const char *result = text + strlen(text) + 1, *params = result + strlen(result) + 1;
    bool has_result = result < text + size, has_params = has_result && params < text + size;
    step.result = has_result ? result : NULL;
    struct template_context context = {
        .run_id = "1",
        .project = "p",
        .job = "j",
        .trigger = "t",
        .origin = "schedule",
        .version = "1",
        .scheduled = {1773757536000},
        .fired = {1773757536125},
        .params = has_params ? params : "{\"x\":1,\"y\":[\"z\",{\"k\":null}],\"big\":123456789012345678901234567890}",
        .step = find,
        .step_name = "b",
        .shard_index = 1,
        .shard_total = 2,
    };
    str_init(&ret, LIMIT_REQUEST);
    str_init(&json, LIMIT_REQUEST);
    check_status(template_render_text(text, &context, &ret, &err), &err);
    err.text[0] = '\0';
    check_status(template_test(text, &context, &truth, &err), &err);
    err.text[0] = '\0';
    check_status(template_check(text, NULL, NULL, &err), &err);
    err.text[0] = '\0';
    str_clear(&ret);
    enum status status = template_render_json(text, &context, &ret, &err);
    check_status(status, &err);
    if (!status) /* results nest below the template, so it may be deeper than either */
        fuzz_check(!json_check(str_text(&ret), ret.length, 2 * LIMIT_JSON_DEPTH + 2, NULL));
    str_add_json(&json, text); /* the same as one string */
    str_clear(&ret);
    status = template_render_json(str_text(&json), &context, &ret, &err);
    if (!status)
        fuzz_check(!json_check(str_text(&ret), ret.length, 2 * LIMIT_JSON_DEPTH + 2, NULL));
    str_release(&ret);
    str_release(&json);
    free(text);
    return 0;
}
