/* render: what a template becomes, without a server. */
#include <stdio.h>
#include <string.h>

#include "adapters/loop/loop.h"
#include "adapters/zones/zones.h"
#include "core/base/jsonscan.h"
#include "core/logic/text/template.h"
#include "core/model/limits.h"

#include "cli/verb.h"

static const struct flag render_flags[] = {
    {"--scheduled", NULL, "TIME", "scheduled time (RFC 3339; default: now)"},
    {"--timezone", "-z", "ZONE", "zone that times are rendered in (default UTC)"},
    {"--params", NULL, "JSON", "effective parameters, a JSON object"},
    {"--steps", NULL, "JSON", "results of steps: {\"a\":{\"rows\":3}}"},
    {"--job", NULL, "NAME", "name of the job (default: job)"},
    {0},
};

struct steps {
    const char *json;
    struct template_step step;
    struct str name, result;
};

static const struct template_step *find_step(void *context, const char *name)
{
    struct steps *steps = context;
    if (!steps->json)
        return NULL;
    struct slice value = json_member(slice_of(steps->json, strlen(steps->json)), name);
    if (!value.bytes)
        return NULL;
    str_clear(&steps->name);
    str_clear(&steps->result);
    str_add(&steps->name, name);
    str_add_bytes(&steps->result, value.bytes, value.length);
    steps->step = (struct template_step){str_text(&steps->name), "succeeded", str_text(&steps->result), true};
    return &steps->step;
}

static enum exit_code check_object(const char *flag, const char *json)
{
    struct error err;
    if (json && json_check(json, strlen(json), LIMIT_JSON_DEPTH, &err))
        return complain(EXIT_BAD_INPUT, "%s: %s", flag, err.text);
    if (json && json_type_of(slice_of(json, strlen(json))) != JSON_OBJECT)
        return complain(EXIT_BAD_INPUT, "%s must be a JSON object", flag);
    return EXIT_OK;
}

static enum exit_code render(const struct args *args)
{
    const char *text = args->words[0], *scheduled = args_get(args, "--scheduled"), *zone = args_get(args, "--timezone");
    struct steps steps = {.json = args_get(args, "--steps")};
    struct template_context context = {.run_id = "1",
                                       .project = "default",
                                       .job = "job",
                                       .trigger = "default",
                                       .origin = "manual",
                                       .version = "1",
                                       .params = args_get(args, "--params"),
                                       .step = find_step,
                                       .context = &steps};
    struct error err;
    struct str out;
    enum exit_code code = check_object("--params", context.params);
    if (!code)
        code = check_object("--steps", steps.json);
    if (code)
        return code;
    context.job = args_get(args, "--job") ? args_get(args, "--job") : "job";
    context.scheduled = context.fired = loop_clock().wall;
    if (scheduled && rfc3339_parse(scheduled, &context.scheduled, &err))
        return complain(EXIT_BAD_INPUT, "--scheduled: %s", err.text);
    struct zones *zones = zones_create(NULL);
    context.zone = zones->get(zones, zone ? zone : "UTC");
    str_init(&out, LIMIT_REQUEST);
    str_init(&steps.name, LIMIT_NAME * 2);
    str_init(&steps.result, LIMIT_REQUEST);
    if (!context.zone) {
        code =
            complain(EXIT_BAD_INPUT, "there is no time zone \"%.60s\"; write an IANA name such as Europe/Berlin", zone);
    } else {
        bool json = json_check(text, strlen(text), LIMIT_JSON_DEPTH, NULL) == STATUS_OK;
        enum status status =
            json ? template_render_json(text, &context, &out, &err) : template_render_text(text, &context, &out, &err);
        if (status)
            code = complain(EXIT_BAD_INPUT, "%s", err.text);
        else
            (void)printf("%s\n", str_text(&out));
    }
    str_release(&out);
    str_release(&steps.name);
    str_release(&steps.result);
    zones_free(zones);
    return code;
}

const struct verb verb_render = {
    "render",
    "TEMPLATE",
    "show what a template becomes: text, or a JSON value with ${…} in its strings",
    "  carillon render '${scheduled-1d:yyyyMMdd}' --timezone Asia/Shanghai\n"
    "  carillon render '{\"rows\":\"${steps.a.result.rows}\"}' --steps '{\"a\":{\"rows\":12345678901234567890}}'",
    render_flags,
    false,
    1,
    1,
    render};
