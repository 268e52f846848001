/* attempts: one run, its steps and every call that was made for it. */
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/table.h"

static void add_member(struct table *table, const cJSON *object, const char *name)
{
    table_add(table, text_of(object, name));
}

static void print_head(const cJSON *run)
{
    cJSON *error = cJSON_GetObjectItemCaseSensitive(run, "error");
    const char *reason = text_of(run, "reason"), *message = shown_of(error, "message");
    (void)printf("run %s of %s/%s: %s%s%s\n", text_of(run, "id"), text_of(run, "project"), text_of(run, "job"),
                 text_of(run, "state"), *reason ? ", " : "", reason);
    (void)printf("trigger %s (%s), scheduled %s, ended %s, version %.0f, scheduler %s\n", text_of(run, "trigger"),
                 text_of(run, "origin"), text_of(run, "scheduled_at"),
                 *text_of(run, "ended_at") ? text_of(run, "ended_at") : "not yet", number_of(run, "version"),
                 *text_of(run, "scheduler") ? text_of(run, "scheduler") : "none yet");
    if (cJSON_IsObject(error))
        (void)printf("error %s%s%s\n", shown_of(error, "code"), *message ? ": " : "", message);
    (void)printf("\n");
}

/* What the executor has last said of a step that is at work: "60%: page 4"; of several items the one that spoke last.
 */
static void add_progress(struct str *ret, const cJSON *progress, const char *step)
{
    const cJSON *item, *last = NULL;
    cJSON_ArrayForEach(item, progress) {
        if (!strcmp(text_of(item, "step"), step) && (!last || strcmp(text_of(item, "at"), text_of(last, "at")) >= 0))
            last = item;
    }
    if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(last, "progress")))
        str_addf(ret, "%.0f%%", number_of(last, "progress"));
    if (*text_of(last, "message"))
        str_addf(ret, "%s%s", ret->length ? ": " : "", text_of(last, "message"));
}

static void print_steps(const cJSON *steps, const cJSON *progress)
{
    static const char *const heading[] = {"STEP", "STATE", "ATTEMPTS", "REASON"};
    struct table table;
    const cJSON *step;
    struct str said;
    str_init(&said, 64 * 1024);
    table_init(&table, 4, heading);
    cJSON_ArrayForEach(step, steps) {
        char count[16];
        (void)snprintf(count, sizeof count, "%d",
                       cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(step, "attempts")));
        add_member(&table, step, "step");
        add_member(&table, step, "state");
        table_add(&table, count);
        str_clear(&said);
        if (!strcmp(text_of(step, "state"), "running"))
            add_progress(&said, progress, text_of(step, "step"));
        table_add(&table, *text_of(step, "error") ? text_of(step, "error")
                          : said.length           ? str_text(&said)
                                                  : text_of(step, "reason"));
    }
    table_print(&table, "no step has begun");
    str_release(&said);
}

static void add_number(struct table *table, const cJSON *object, const char *name)
{
    char text[32] = "";
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsNumber(member) && member->valuedouble >= 0)
        (void)snprintf(text, sizeof text, "%.0f", member->valuedouble);
    table_add(table, text);
}

static void print_attempts(const cJSON *steps)
{
    static const char *const heading[] = {"STEP", "N", "INSTANCE", "BEGAN", "MS", "CLASS", "HTTP", "ERROR"};
    struct table table;
    const cJSON *step, *attempt;
    table_init(&table, 8, heading);
    cJSON_ArrayForEach(step, steps) {
        cJSON_ArrayForEach(attempt, cJSON_GetObjectItemCaseSensitive(step, "attempts")) {
            add_member(&table, step, "step");
            add_number(&table, attempt, "n");
            add_member(&table, attempt, "instance");
            add_member(&table, attempt, "started_at");
            add_number(&table, attempt, "total_ms");
            table_add(&table, *text_of(attempt, "class") ? text_of(attempt, "class") : text_of(attempt, "state"));
            add_number(&table, attempt, "http_status");
            add_member(&table, attempt, "error");
        }
    }
    table_print(&table, "no call was made");
}

static enum exit_code attempts(const struct args *args)
{
    struct client client;
    struct full_name run;
    struct answer_body answer;
    struct str path;
    enum exit_code code = EXIT_OK;
    if (!client_open(args, &client, &code))
        return code;
    if (!full_name_split(&client, args->words[0], &run))
        return EXIT_BAD_INPUT;
    str_init(&path, 2048);
    client_path(&path, "/projects/%s/runs/%s", run.project, run.name);
    client_call(&client, "GET", str_text(&path), NULL, false, &answer);
    str_release(&path);
    code = answer.code;
    if (code == EXIT_NOT_FOUND)
        (void)complain(code, RUN_ELSEWHERE, run.project);
    if (!code && client.json) {
        print_raw(&answer);
    } else if (!code) {
        const cJSON *steps = cJSON_GetObjectItemCaseSensitive(answer.json, "steps");
        print_head(answer.json);
        print_steps(steps, cJSON_GetObjectItemCaseSensitive(answer.json, "progress"));
        (void)printf("\n");
        print_attempts(steps);
    }
    answer_release(&answer);
    return code;
}

const struct verb verb_attempts = {
    "attempts",
    "[PROJECT/]RUN",
    "show one run: its steps, how far they are, and every call that was made",
    "  carillon attempts shop/5850000000000000001\n\nWith --json also parameters, results, requests and answers.",
    no_flags,
    true,
    1,
    1,
    attempts};
