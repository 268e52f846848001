/* run, enqueue, cancel, pause, resume: requests, durable before they are acknowledged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"

#include "cli/wait.h"

#define REQUEST_FLAGS                                                                                           \
    {"--param", NULL, "K=V", "parameter; V is JSON, or text when it is none; may be repeated"},                 \
        {"--params", NULL, "JSON", "all parameters as a JSON object"},                                          \
        {"--idempotency-key", NULL, "KEY", "asked again with it within a day, the first run is the answer"},    \
    {                                                                                                           \
        "--scheduled-at", NULL, "TIME", "the run's scheduled time (RFC 3339; default: the time of the request)" \
    }

static const struct flag enqueue_flags[] = {REQUEST_FLAGS, {0}};
static const struct flag run_flags[] = {
    REQUEST_FLAGS,
    {"--wait", NULL, NULL, "wait for the end (at most 10 minutes); the exit code tells how the run ended"},
    {0},
};

/* {"params":{…}} from --params and --param. False: complained. */
static bool add_params(const struct args *args, struct str *body)
{
    const char *all = args_get(args, "--params"), *pair;
    struct str object, merged;
    struct error err;
    bool ok = true;
    if (all && (json_check(all, strlen(all), 64, &err) || json_type_of(slice_of(all, strlen(all))) != JSON_OBJECT)) {
        (void)complain(EXIT_BAD_INPUT, "--params must be a JSON object such as '{\"day\":1}'");
        return false;
    }
    str_init(&object, 1 << 20);
    str_init(&merged, 1 << 20);
    str_add(&object, "{");
    for (size_t i = 0; ok && (pair = args_nth(args, "--param", i)); i++) {
        const char *equals = strchr(pair, '=');
        if (!equals || equals == pair) {
            ok = false;
            (void)complain(EXIT_BAD_INPUT, "--param wants NAME=VALUE, not \"%.60s\"", pair);
            break;
        }
        str_add(&object, i ? "," : "");
        str_add_json_bytes(&object, pair, (size_t)(equals - pair));
        str_add(&object, ":");
        if (json_check(equals + 1, strlen(equals + 1), 64, NULL) == STATUS_OK)
            str_add(&object, equals + 1);
        else
            str_add_json(&object, equals + 1);
    }
    str_add(&object, "}");
    json_merge(all, str_text(&object), &merged);
    str_addf(body, ",\"params\":%s", str_text(&merged));
    str_release(&object);
    str_release(&merged);
    return ok;
}

static enum exit_code exit_of_state(const char *state)
{
    static const struct {
        const char *state;
        enum exit_code code;
    } codes[] = {
        {"succeeded", EXIT_OK}, {"canceled", EXIT_CANCELED}, {"queued", EXIT_TIMED_OUT}, {"running", EXIT_TIMED_OUT}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(state, codes[i].state))
            return codes[i].code;
    return EXIT_FAILED;
}

static enum exit_code exit_of_error(const cJSON *error)
{
    int http = (int)number_of(error, "http");
    if (http)
        return exit_code_of_http(http);
    return strstr(text_of(error, "code"), "NOTFOUND") ? EXIT_NOT_FOUND : EXIT_CONFLICT;
}

/* Why a run that was waited for did not succeed, and where to look. */
static void print_reason(const struct client *client, const cJSON *run_detail)
{
    cJSON *error = cJSON_GetObjectItemCaseSensitive(run_detail, "error"),
          *args = cJSON_GetObjectItemCaseSensitive(error, "args");
    const char *message = *text_of(args, "message") ? shown_of(args, "message") : shown_of(error, "message");
    if (*message)
        (void)printf("  %s%s%s%s\n", *text_of(args, "step") ? "step " : "", text_of(args, "step"),
                     *text_of(args, "step") ? ": " : "", message);
    (void)printf("  every call: carillon attempts -p %s %s\n", client->project, text_of(run_detail, "id"));
}

/* One run of an answer. With --wait the server has waited a little; whoever is still going is followed from here. */
static enum exit_code print_run(struct client *client, bool wait, const char *key, const cJSON *result,
                                const char *done)
{
    const char *run_id = text_of(result, "run"), *state = text_of(result, "state");
    const cJSON *detail = cJSON_GetObjectItemCaseSensitive(result, "detail");
    struct answer_body last = {0};
    enum exit_code code = EXIT_OK;
    if (wait && run_is_open(state) && !client->json) {
        run_wait(client, key, run_id, &last);
        code = last.code;
        detail = last.json;
        state = text_of(detail, "state");
    }
    if (!code && *state)
        code = exit_of_state(state);
    if (!client->json) {
        const char *told = strcmp(run_id, key) ? run_id : ""; /* of `cancel` the run is the key */
        (void)printf("%s %s%s%s%s%s\n", done, key, *told ? ", run " : "", told, *state ? ": " : "", state);
        if (*state && strcmp(state, "succeeded") != 0)
            print_reason(client, detail);
    }
    if (last.code || last.status)
        answer_release(&last);
    return code;
}

/* Prints the items of a batch answer, unless the answer itself was printed; the first that is not well decides the exit
 * code. */
static enum exit_code print_items(struct client *client, bool wait, const cJSON *json, const char *done)
{
    enum exit_code code = EXIT_OK;
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "items")) {
        const cJSON *result = cJSON_GetObjectItemCaseSensitive(item, "result"),
                    *error = cJSON_GetObjectItemCaseSensitive(item, "error");
        const char *key = text_of(item, "key");
        if (cJSON_IsObject(error)) {
            code = exit_code_worse(code, exit_of_error(error));
            if (!client->json)
                (void)complain(code, "%s: %s (%s)", key, text_of(error, "message"), text_of(error, "code"));
            continue;
        }
        code = exit_code_worse(code, print_run(client, wait, key, result, done));
        const cJSON *will = cJSON_GetObjectItemCaseSensitive(result, "will_run");
        if (client->json || !cJSON_IsNumber(will))
            continue;
        if (will->valuedouble > 0)
            (void)printf("  %.0f instant%s of the pause will run now\n", will->valuedouble,
                         will->valuedouble > 1 ? "s" : "");
        else
            (void)printf("  nothing of the pause will run now\n");
    }
    return code;
}

static enum exit_code call_verb(const struct args *args, const char *path_suffix, const char *extra, const char *done)
{
    struct client client;
    struct full_name name;
    struct answer_body answer;
    struct str path, body;
    enum exit_code code = EXIT_OK;
    if (!client_open(args, &client, &code))
        return code;
    if (!full_name_split(&client, args->words[0], &name))
        return EXIT_BAD_INPUT;
    (void)snprintf(client.project, sizeof client.project, "%s", name.project);
    str_init(&path, 2048);
    str_init(&body, 2 << 20);
    client_path(&path, "/projects/%s", name.project);
    str_add(&path, path_suffix);
    str_add(&body, "{\"names\":[");
    str_add_json(&body, name.name);
    str_addf(&body, "]%s", extra);
    bool starts = strstr(path_suffix, "run") || strstr(path_suffix, "enqueue"), ok = !starts || add_params(args, &body);
    if (starts && args_get(args, "--scheduled-at")) {
        str_add(&body, ",\"scheduled_at\":");
        str_add_json(&body, args_get(args, "--scheduled-at"));
    }
    if (starts && args_get(args, "--idempotency-key")) {
        str_add(&body, ",\"idempotency_key\":");
        str_add_json(&body, args_get(args, "--idempotency-key"));
    }
    str_add(&body, "}");
    if (ok) {
        client_call(&client, "POST", str_text(&path), str_text(&body), false, &answer);
        code = answer.code;
        if (client.json && answer.status)
            print_raw(&answer);
        if (!code)
            code = print_items(&client, args_get(args, "--wait") != NULL, answer.json, done);
        answer_release(&answer);
    }
    str_release(&path);
    str_release(&body);
    return ok ? code : EXIT_BAD_INPUT;
}

static enum exit_code run(const struct args *args)
{
    const char *path = "/jobs:run";
    if (args_get(args, "--wait")) /* with --json the one answer is all that is printed */
        path = args_get(args, "--json") ? "/jobs:run?wait=10m" : "/jobs:run?wait=6s";
    return call_verb(args, path, "", args_get(args, "--wait") ? "ran" : "started");
}

static enum exit_code enqueue(const struct args *args)
{
    return call_verb(args, "/jobs:enqueue", "", "enqueued");
}

static enum exit_code pause_or_resume(const struct args *args, const char *verb, const char *extra, const char *done)
{
    const char *trigger = args_get(args, "--trigger");
    struct client client;
    struct full_name name;
    struct answer_body answer;
    struct str path, body;
    enum exit_code code = EXIT_OK;
    char suffix[64];
    if (!trigger) {
        (void)snprintf(suffix, sizeof suffix, "/jobs:%s", verb);
        return call_verb(args, suffix, extra, done);
    }
    if (!client_open(args, &client, &code))
        return code;
    if (!full_name_split(&client, args->words[0], &name))
        return EXIT_BAD_INPUT;
    str_init(&path, 2048);
    str_init(&body, 4096);
    client_path(&path, "/projects/%s/triggers:", name.project);
    str_add(&path, verb);
    str_add(&body, "{\"keys\":[{\"job\":");
    str_add_json(&body, name.name);
    str_add(&body, ",\"trigger\":");
    str_add_json(&body, trigger);
    str_addf(&body, "}]%s}", extra);
    client_call(&client, "POST", str_text(&path), str_text(&body), false, &answer);
    code = answer.code;
    if (client.json && answer.status)
        print_raw(&answer);
    if (!code)
        code = print_items(&client, false, answer.json, done);
    answer_release(&answer);
    str_release(&path);
    str_release(&body);
    return code;
}

static enum exit_code pause_job(const struct args *args)
{
    return pause_or_resume(args, "pause", "", "paused");
}

static enum exit_code resume_job(const struct args *args)
{
    return pause_or_resume(args, "resume", args_get(args, "--skip-missed") ? ",\"skip_missed\":true" : "", "resumed");
}

static enum exit_code cancel(const struct args *args)
{
    struct client client;
    struct answer_body answer;
    struct str path, body;
    enum exit_code code = EXIT_OK;
    struct full_name runs[ARGS_MAX];
    if (!client_open(args, &client, &code))
        return code;
    for (size_t i = 0; i < args->word_count; i++) {
        if (!full_name_split(&client, args->words[i], &runs[i]))
            return EXIT_BAD_INPUT;
        if (strcmp(runs[i].project, runs[0].project) != 0)
            return complain(EXIT_BAD_INPUT, "runs of one project at a time, not of \"%s\" and \"%s\"", runs[0].project,
                            runs[i].project);
    }
    str_init(&path, 2048);
    str_init(&body, 64 * 1024);
    client_path(&path, "/projects/%s/runs:cancel", runs[0].project);
    str_add(&body, "{\"ids\":[");
    for (size_t i = 0; i < args->word_count; i++) {
        str_add(&body, i ? "," : "");
        str_add_json(&body, runs[i].name);
    }
    str_add(&body, "]}");
    client_call(&client, "POST", str_text(&path), str_text(&body), false, &answer);
    code = answer.code;
    if (client.json && answer.status)
        print_raw(&answer);
    if (!code)
        code = print_items(&client, false, answer.json, "cancel asked for");
    if (code == EXIT_NOT_FOUND && !client.json)
        (void)complain(code, RUN_ELSEWHERE, runs[0].project);
    answer_release(&answer);
    str_release(&path);
    str_release(&body);
    return code;
}

static const struct flag pause_flags[] = {{"--trigger", NULL, "NAME", "only this trigger"}, {0}};
static const struct flag resume_flags[] = {{"--trigger", NULL, "NAME", "only this trigger"},
                                           {"--skip-missed", NULL, NULL, "fire nothing of what was missed meanwhile"},
                                           {0}};

const struct verb verb_run = {
    "run",
    "PROJECT/JOB",
    "run a job now",
    "  carillon run shop/nightly-close --param day=\"20261130\" --wait\n\n"
    "Works while the job is paused. With --wait the exit code is 0 succeeded, 1 failed or lost, 6 still running, 7 canceled.",
    run_flags,
    true,
    1,
    1,
    run};
const struct verb verb_enqueue = {"enqueue",
                                  "PROJECT/JOB",
                                  "queue a run; accepted even while every scheduler is down",
                                  "  carillon enqueue shop/nightly-close --params '{\"day\":\"20261130\"}'",
                                  enqueue_flags,
                                  true,
                                  1,
                                  1,
                                  enqueue};
const struct verb verb_cancel = {"cancel",
                                 "[PROJECT/]RUN…",
                                 "cancel runs by id",
                                 "  carillon cancel shop/5850000000000000001",
                                 no_flags,
                                 true,
                                 1,
                                 ARGS_MAX,
                                 cancel};
const struct verb verb_pause = {
    "pause", "PROJECT/JOB", "hold a job's triggers (or one); running work goes on", NULL, pause_flags, true, 1,
    1,       pause_job};
const struct verb verb_resume = {"resume",
                                 "PROJECT/JOB",
                                 "let them fire again; what was missed follows the misfire policy",
                                 NULL,
                                 resume_flags,
                                 true,
                                 1,
                                 1,
                                 resume_job};
