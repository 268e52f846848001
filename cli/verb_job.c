/* job, triggers, explain, ledger: what one job is, why it waits, what became of each instant. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/table.h"

/* GET of /projects/P/jobs/J + suffix. False: *ret_code says why. */
static bool get_job(const struct args *args, const char *suffix, struct client *client, struct answer_body *ret,
                    enum exit_code *ret_code)
{
    struct full_name name;
    struct str path;
    if (!client_open(args, client, ret_code))
        return false;
    *ret_code = EXIT_BAD_INPUT;
    if (!full_name_split(client, args->words[0], &name))
        return false;
    str_init(&path, 2048);
    client_path(&path, "/projects/%s/jobs/%s", name.project, name.name);
    str_add(&path, suffix);
    client_call(client, "GET", str_text(&path), NULL, false, ret);
    str_release(&path);
    *ret_code = ret->code;
    return true;
}

static void add_member(struct table *table, const cJSON *object, const char *name)
{
    table_add(table, text_of(object, name));
}

static void print_triggers(const cJSON *triggers)
{
    static const char *const heading[] = {"TRIGGER", "STATE", "SCHEDULE", "ZONE", "NEXT", "REASON"};
    struct table table;
    const cJSON *trigger;
    struct str schedule;
    str_init(&schedule, 64 * 1024);
    table_init(&table, 6, heading);
    cJSON_ArrayForEach(trigger, triggers) {
        const cJSON *next = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(trigger, "next"), 0);
        add_member(&table, trigger, "name");
        add_member(&table, trigger, "state");
        str_clear(&schedule);
        add_schedule(&schedule, trigger);
        table_add(&table, str_text(&schedule));
        add_member(&table, trigger, "zone");
        table_add(&table, cJSON_IsString(next) ? next->valuestring : "");
        add_member(&table, trigger, "reason");
    }
    table_print(&table, "no triggers: this job runs by hand only");
    str_release(&schedule);
}

/* Predecessors of a step as they were written: names, or objects with `step`. */
static void add_predecessors(struct table *table, const cJSON *step)
{
    struct str names;
    const cJSON *one;
    str_init(&names, 4096);
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(step, "after")) {
        str_add(&names, names.length ? ", " : "");
        str_add(&names, cJSON_IsString(one) ? one->valuestring : text_of(one, "step"));
    }
    table_add(table, str_text(&names));
    str_release(&names);
}

static void print_steps(const cJSON *graph)
{
    static const char *const heading[] = {"STEP", "CALLS", "AFTER"};
    struct table table;
    const cJSON *step;
    table_init(&table, 3, heading);
    cJSON_ArrayForEach(step, graph) {
        const char *task = text_of(step, "task");
        add_member(&table, step, "step");
        table_add(&table, *task ? task : text_of(step, "url"));
        add_predecessors(&table, step);
    }
    table_print(&table, NULL);
}

static enum exit_code job(const struct args *args)
{
    struct client client;
    struct answer_body answer = {0};
    enum exit_code code = EXIT_OK;
    if (!get_job(args, args_get(args, "--effective") ? "?effective=true" : "", &client, &answer, &code))
        return code;
    if (!code && (client.json || args_get(args, "--effective"))) {
        print_raw(&answer);
    } else if (!code) {
        const cJSON *status = cJSON_GetObjectItemCaseSensitive(answer.json, "status");
        const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(answer.json, "metadata");
        (void)printf("%s/%s  %s, owner %s, %.0f running\n", text_of(metadata, "project"), text_of(metadata, "name"),
                     text_of(status, "state"),
                     *text_of(status, "owner_node") ? text_of(status, "owner_node") : "nobody yet",
                     number_of(status, "running"));
        if (*text_of(metadata, "description"))
            (void)printf("%s\n", text_of(metadata, "description"));
        (void)printf("\n");
        print_triggers(cJSON_GetObjectItemCaseSensitive(status, "triggers"));
        (void)printf("\n");
        print_steps(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(answer.json, "spec"), "graph"));
    }
    answer_release(&answer);
    return code;
}

static const struct flag effective_flags[] = {{"--effective", NULL, NULL, "with every default filled in, as JSON"},
                                              {0}};
const struct verb verb_job = {"job",
                              "PROJECT/JOB",
                              "show a job: owner, triggers, steps",
                              "  carillon job shop/nightly-close --effective",
                              effective_flags,
                              true,
                              1,
                              1,
                              job};

static enum exit_code triggers(const struct args *args)
{
    struct client client;
    struct answer_body answer = {0};
    enum exit_code code = EXIT_OK;
    if (!get_job(args, "/status", &client, &answer, &code))
        return code;
    if (!code && client.json)
        print_raw(&answer);
    else if (!code)
        print_triggers(cJSON_GetObjectItemCaseSensitive(answer.json, "triggers"));
    answer_release(&answer);
    return code;
}

const struct verb verb_triggers = {
    "triggers", "PROJECT/JOB", "list a job's triggers with state and next instant", NULL, no_flags, true, 1,
    1,          triggers};

/* A job's holder that gives its slots away, or is gone, fires nothing: its instants wait for the next holder. */
static void print_holder(struct client *client, const char *node)
{
    struct answer_body answer;
    struct str path;
    str_init(&path, 1024);
    client_path(&path, "/schedulers/%s", node);
    client_call(client, "GET", str_text(&path), NULL, true, &answer);
    const char *state = text_of(answer.json, "state");
    if (!answer.code && *state && strcmp(state, "working") != 0)
        (void)printf("  %s is %s: what is due now fires once another scheduler has taken the job over, or %s works "
                     "again\n",
                     node, state, node);
    answer_release(&answer);
    str_release(&path);
}

static void print_explanation(struct client *client, const cJSON *json)
{
    const cJSON *owner = cJSON_GetObjectItemCaseSensitive(json, "owner"), *item, *next;
    if (cJSON_IsObject(owner) && *text_of(owner, "node")) {
        (void)printf("%s: %s; held by scheduler %s since %s (slot %.0f)\n", text_of(json, "job"),
                     text_of(json, "state"), text_of(owner, "node"), text_of(owner, "since"), number_of(owner, "slot"));
        print_holder(client, text_of(owner, "node"));
    } else {
        (void)printf("%s: %s; no scheduler holds it\n", text_of(json, "job"), text_of(json, "state"));
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "triggers")) {
        (void)printf("\ntrigger %s: %s%s%s, zone %s\n", text_of(item, "name"), text_of(item, "state"),
                     *text_of(item, "reason") ? ": " : "", text_of(item, "reason"), text_of(item, "zone"));
        if (*text_of(item, "last"))
            (void)printf("  decided until %s\n", text_of(item, "last"));
        cJSON_ArrayForEach(next, cJSON_GetObjectItemCaseSensitive(item, "next"))
            (void)printf("  will fire at %s\n", cJSON_IsString(next) ? next->valuestring : "?");
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "waiting"))
        (void)printf("\nrun %s waits%s%s: %s, since %s\n", text_of(item, "run"),
                     *text_of(item, "step") ? " at step " : "", text_of(item, "step"), text_of(item, "reason"),
                     text_of(item, "since"));
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "lingering"))
        (void)printf("\nrun %s has ended, but its call of step %s may still be at work at %s until %s\n",
                     text_of(item, "run"), text_of(item, "step"), text_of(item, "instance"), text_of(item, "until"));
}

static enum exit_code explain(const struct args *args)
{
    struct client client;
    struct answer_body answer = {0};
    enum exit_code code = EXIT_OK;
    if (!get_job(args, "/explain", &client, &answer, &code))
        return code;
    if (!code && client.json)
        print_raw(&answer);
    else if (!code)
        print_explanation(&client, answer.json);
    answer_release(&answer);
    return code;
}

const struct verb verb_explain = {"explain",
                                  "PROJECT/JOB",
                                  "why a job is where it is: owner, next instants, trigger states, waiting reasons",
                                  "  carillon explain shop/nightly-close",
                                  no_flags,
                                  true,
                                  1,
                                  1,
                                  explain};

static enum exit_code ledger(const struct args *args)
{
    static const char *const heading[] = {"SCHEDULED", "TRIGGER", "OUTCOME", "RUN", "COUNT", "UNTIL", "REASON"};
    struct client client;
    struct full_name name;
    struct answer_body answer;
    struct str path;
    struct table table;
    enum exit_code code = EXIT_OK;
    if (!client_open(args, &client, &code))
        return code;
    if (!full_name_split(&client, args->words[0], &name))
        return EXIT_BAD_INPUT;
    str_init(&path, 2048);
    client_path(&path, "/projects/%s/ledger?job=%s", name.project, name.name);
    static const char *const filters[] = {"--from", "--to", "--limit", "--skip"};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (args_get(args, filters[i])) {
            str_addf(&path, "&%s=", filters[i] + 2);
            url_encode(args_get(args, filters[i]), &path);
        }
    client_call(&client, "GET", str_text(&path), NULL, false, &answer);
    str_release(&path);
    code = answer.code;
    if (!code && client.json) {
        print_raw(&answer);
    } else if (!code) {
        const cJSON *item;
        table_init(&table, 7, heading);
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer.json, "items")) {
            char count[32];
            (void)snprintf(count, sizeof count, "%.0f", number_of(item, "count"));
            add_member(&table, item, "scheduled_at");
            add_member(&table, item, "trigger");
            add_member(&table, item, "outcome");
            add_member(&table, item, "run");
            table_add(&table, count);
            add_member(&table, item, "to");
            add_member(&table, item, "reason");
        }
        table_print(&table, "no instant was due in this range");
    }
    answer_release(&answer);
    return code;
}

static const struct flag ledger_flags[] = {
    {"--from", NULL, "TIME", "first instant (RFC 3339)"},
    {"--to", NULL, "TIME", "before this"},
    {"--limit", NULL, "N", "rows at most (default 100, at most 1000)"},
    {"--skip", NULL, "N", "rows to leave out first"},
    {0},
};
const struct verb verb_ledger = {"ledger",
                                 "PROJECT/JOB",
                                 "every instant that was promised, and what became of it: a run or a skip",
                                 "  carillon ledger shop/nightly-close --from 2026-11-01T00:00:00Z",
                                 ledger_flags,
                                 true,
                                 1,
                                 1,
                                 ledger};
