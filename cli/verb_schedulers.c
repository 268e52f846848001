/* schedulers: list, show, drain, bring back and forget nodes; move jobs to one. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/table.h"
#include "cli/wait.h"

static void add_number(struct table *table, const cJSON *object, const char *name)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.0f", number_of(object, name));
    table_add(table, text);
}

static void print_schedulers(const cJSON *items)
{
    static const char *const heading[] = {"NODE",     "STATE", "SLOTS",   "JOBS", "RUNS",
                                          "CAPACITY", "POOL",  "ADDRESS", "SEEN"};
    struct table table;
    const cJSON *item;
    table_init(&table, 9, heading);
    cJSON_ArrayForEach(item, items) {
        char capacity[48];
        (void)snprintf(capacity, sizeof capacity, "%.0f%s", number_of(item, "capacity"),
                       true_of(item, "alarm") ? " (alarm)" : "");
        table_add(&table, text_of(item, "node"));
        table_add(&table, text_of(item, "state"));
        add_number(&table, item, "slots");
        add_number(&table, item, "jobs");
        add_number(&table, item, "runs");
        table_add(&table, number_of(item, "capacity") > 0 ? capacity : "");
        table_add(&table, text_of(item, "pool"));
        table_add(&table, text_of(item, "address"));
        table_add(&table, text_of(item, "seen_at"));
    }
    table_print(&table, "no scheduler has ever started on this store");
}

/* GET, printed as it is with --json. */
static bool get(const struct args *args, struct client *client, const char *path, struct answer_body *ret,
                enum exit_code *ret_code)
{
    client_call(client, "GET", path, NULL, false, ret);
    *ret_code = ret->code;
    if (!ret->code && args_get(args, "--json")) {
        print_raw(ret);
        return false;
    }
    return !ret->code;
}

/* --limit and --skip. */
static void add_page(const struct args *args, struct str *path)
{
    static const char *const names[] = {"limit", "skip"};
    char flag[16];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(flag, sizeof flag, "--%s", names[i]);
        if (!args_get(args, flag))
            continue;
        str_addf(path, "%c%s=", strchr(str_text(path), '?') ? '&' : '?', names[i]);
        url_encode(args_get(args, flag), path);
    }
}

static void tell_rest(const cJSON *json)
{
    int shown = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "items"));
    if (number_of(json, "total") > shown)
        (void)printf("%d of %.0f; --skip and --limit show the rest\n", shown, number_of(json, "total"));
}

static enum exit_code list(const struct args *args, struct client *client)
{
    struct answer_body answer;
    enum exit_code code;
    if (get(args, client, "/schedulers", &answer, &code))
        print_schedulers(cJSON_GetObjectItemCaseSensitive(answer.json, "items"));
    answer_release(&answer);
    return code;
}

/* ---- one -----------------------------------------------------------------------------------------------------------
 */

static void print_scheduler(const cJSON *json)
{
    const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(json, "running");
    (void)printf("%s  %s, boot %s, version %s\n", text_of(json, "node"), text_of(json, "state"), text_of(json, "boot"),
                 *text_of(json, "version") ? text_of(json, "version") : "unknown");
    (void)printf("  address %s, started %s, seen %s\n", text_of(json, "address"), text_of(json, "started_at"),
                 text_of(json, "seen_at"));
    (void)printf("  %.0f slots with %.0f jobs, %.0f runs open, weight %.0f", number_of(json, "slots"),
                 number_of(json, "jobs"), number_of(json, "runs"), number_of(json, "weight"));
    if (number_of(json, "capacity") > 0)
        (void)printf(", capacity %.0f%s", number_of(json, "capacity"), true_of(json, "alarm") ? " (alarm)" : "");
    if (*text_of(json, "pool"))
        (void)printf(", pool %s", text_of(json, "pool"));
    (void)printf("\n");
    if (*text_of(json, "wish_by"))
        (void)printf("  asked to be %s by %s at %s\n", text_of(json, "wish"), text_of(json, "wish_by"),
                     text_of(json, "wish_at"));
    cJSON_ArrayForEach(run, runs)
        (void)printf("  run %s of %s/%s: %s since %s\n", text_of(run, "run"), text_of(run, "project"),
                     text_of(run, "job"), text_of(run, "state"), text_of(run, "fired_at"));
}

static enum exit_code show(const struct args *args, struct client *client, const char *node)
{
    struct answer_body answer;
    struct str path;
    enum exit_code code;
    str_init(&path, 1024);
    client_path(&path, "/schedulers/%s", node);
    if (get(args, client, str_text(&path), &answer, &code))
        print_scheduler(answer.json);
    answer_release(&answer);
    str_release(&path);
    return code;
}

static enum exit_code jobs(const struct args *args, struct client *client)
{
    static const char *const heading[] = {"JOB", "STATE", "SLOT", "SINCE", "RUNNING"};
    struct answer_body answer;
    struct table table;
    struct str path;
    enum exit_code code;
    const cJSON *item;
    str_init(&path, 1024);
    client_path(&path, "/schedulers/%s/jobs", args->words[1]);
    add_page(args, &path);
    if (get(args, client, str_text(&path), &answer, &code)) {
        table_init(&table, 5, heading);
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer.json, "items")) {
            char name[400];
            (void)snprintf(name, sizeof name, "%s/%s", text_of(item, "project"), text_of(item, "name"));
            table_add(&table, name);
            table_add(&table, text_of(item, "state"));
            add_number(&table, item, "slot");
            table_add(&table, text_of(item, "owner_since"));
            add_number(&table, item, "running");
        }
        table_print(&table, "it holds no job");
        tell_rest(answer.json);
    }
    answer_release(&answer);
    str_release(&path);
    return code;
}

/* ---- drain, online, forget -----------------------------------------------------------------------------------------
 */

static enum exit_code exit_of_item(const cJSON *item)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(item, "error");
    if (!cJSON_IsObject(error))
        return EXIT_OK;
    return exit_code_of_http((int)number_of(error, "http"));
}

/* Prints each item of a batch answer; the first that is not well decides. */
static enum exit_code print_items(const struct client *client, const cJSON *json, const char *done)
{
    enum exit_code code = EXIT_OK;
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "items")) {
        const cJSON *error = cJSON_GetObjectItemCaseSensitive(item, "error"),
                    *result = cJSON_GetObjectItemCaseSensitive(item, "result"),
                    *warning = cJSON_GetObjectItemCaseSensitive(result, "warning");
        code = exit_code_worse(code, exit_of_item(item));
        if (client->json)
            continue;
        if (cJSON_IsObject(error))
            (void)complain(code, "%s: %s (%s)", text_of(item, "key"), text_of(error, "message"),
                           text_of(error, "code"));
        else
            (void)printf("%s %s%s%s\n", done, text_of(item, "key"), *text_of(result, "state") ? ": " : "",
                         text_of(result, "state"));
        if (cJSON_IsObject(warning))
            (void)fprintf(stderr, "carillon: warning: %s\n", text_of(warning, "message"));
    }
    return code;
}

/* What a draining node still waits for, in words; "" = nothing any more. */
static void describe(const cJSON *json, struct str *ret)
{
    const cJSON *waits = cJSON_GetObjectItemCaseSensitive(json, "waits_for"), *run;
    int shown = 0;
    if (!cJSON_IsObject(waits))
        return;
    if (number_of(waits, "slots") > 0)
        str_addf(ret, "%.0f slots that nobody has taken over yet", number_of(waits, "slots"));
    if (number_of(waits, "total") > 0)
        str_addf(ret, "%s%.0f runs:", ret->length ? "; " : "", number_of(waits, "total"));
    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(json, "running"))
        if (shown++ < 5)
            str_addf(ret, " %s (%s/%s)", text_of(run, "run"), text_of(run, "project"), text_of(run, "job"));
    if (shown > 5)
        str_addf(ret, " and %d more", shown - 5);
}

/* Until it is offline, or down; tells on stderr what it waits for, each time that it is something else. */
static enum exit_code wait_drained(struct client *client, const char *node)
{
    struct str path, told, now;
    enum exit_code code = EXIT_TIMED_OUT;
    str_init(&path, 1024);
    str_init(&told, 4096);
    str_init(&now, 4096);
    client_path(&path, "/schedulers/%s", node);
    for (int second = 0; second < WAIT_SECONDS; second++) {
        struct answer_body answer;
        client_call(client, "GET", str_text(&path), NULL, false, &answer);
        const char *state = text_of(answer.json, "state");
        bool over = answer.code || strcmp(state, "draining") != 0;
        if (over) {
            code = answer.code                 ? answer.code
                   : !strcmp(state, "working") ? complain(EXIT_CONFLICT, "%s was told to work again", node)
                                               : EXIT_OK;
            if (!answer.code && !client->json)
                (void)printf("%s is %s\n", node, state);
        } else {
            str_clear(&now);
            describe(answer.json, &now);
            if (now.length && strcmp(str_text(&now), str_text(&told)) != 0) {
                (void)fprintf(stderr, "%s waits for %s\n", node, str_text(&now));
                str_clear(&told);
                str_add(&told, str_text(&now));
            }
        }
        answer_release(&answer);
        if (over)
            break;
        (void)sleep(1);
    }
    if (code == EXIT_TIMED_OUT)
        (void)complain(code, "%s is still draining; it goes on by itself", node);
    str_release(&path);
    str_release(&told);
    str_release(&now);
    return code;
}

/* `alone`: set when the server warned that nobody is there to take over; NULL = of no interest. */
static enum exit_code change(const struct args *args, struct client *client, const char *done, bool *alone)
{
    struct answer_body answer;
    struct str path, body;
    str_init(&path, 128);
    str_init(&body, 64 * 1024);
    str_addf(&path, "/schedulers:%s", args->words[0]);
    str_add(&body, "{\"names\":[");
    for (size_t i = 1; i < args->word_count; i++) {
        str_add(&body, i > 1 ? "," : "");
        str_add_json(&body, args->words[i]);
    }
    str_add(&body, "]}");
    client_call(client, "POST", str_text(&path), str_text(&body), false, &answer);
    enum exit_code code = answer.code;
    if (client->json && answer.status)
        print_raw(&answer);
    if (!code)
        code = print_items(client, answer.json, done);
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer.json, "items")) {
        const cJSON *result = cJSON_GetObjectItemCaseSensitive(item, "result");
        if (alone && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(result, "warning")))
            *alone = true;
    }
    answer_release(&answer);
    str_release(&path);
    str_release(&body);
    return code;
}

static enum exit_code drain(const struct args *args, struct client *client)
{
    bool alone = false, wait = args_get(args, "--wait") != NULL;
    enum exit_code code = change(args, client, "asked to drain", &alone);
    if (!code && wait && alone) /* it would be draining for ever */
        return complain(EXIT_TIMED_OUT, "not waited for: start another scheduler, or stop this one by SIGTERM");
    for (size_t i = 1; !code && wait && i < args->word_count; i++)
        code = wait_drained(client, args->words[i]);
    return code;
}

static enum exit_code online(const struct args *args, struct client *client)
{
    return change(args, client, "asked to work", NULL);
}

static enum exit_code forget(const struct args *args, struct client *client)
{
    return change(args, client, "forgot", NULL);
}

/* ---- move ----------------------------------------------------------------------------------------------------------
 */

static enum exit_code move(const struct args *args, struct client *client)
{
    const char *to = args_get(args, "--to");
    bool shared = args_get(args, "--shared") != NULL;
    enum exit_code code = EXIT_OK;
    if (!to == !shared)
        return complain(EXIT_BAD_INPUT, "say where to: --to NODE, or --shared for back to those that share all jobs");
    for (size_t i = 1; i < args->word_count; i++) {
        struct full_name name;
        struct answer_body answer;
        struct str path, body;
        if (!full_name_split(client, args->words[i], &name))
            return EXIT_BAD_INPUT;
        str_init(&path, 1024);
        str_init(&body, 4096);
        client_path(&path, "/projects/%s/jobs:move", name.project);
        str_add(&body, "{\"names\":[");
        str_add_json(&body, name.name);
        str_add(&body, "],\"node\":");
        if (to)
            str_add_json(&body, to);
        else
            str_add(&body, "null");
        str_add(&body, "}");
        client_call(client, "POST", str_text(&path), str_text(&body), false, &answer);
        if (client->json && answer.status)
            print_raw(&answer);
        code = exit_code_worse(code, answer.code ? answer.code : print_items(client, answer.json, "move asked for:"));
        answer_release(&answer);
        str_release(&path);
        str_release(&body);
    }
    return code;
}

/* ---- the verb ------------------------------------------------------------------------------------------------------
 */

static enum exit_code schedulers(const struct args *args)
{
    static const struct action {
        const char *name, *needs; /* NULL = no word behind it */
        bool many;
        enum exit_code (*run)(const struct args *args, struct client *client);
    } actions[] = {{"list", NULL, false, list},       {"jobs", "NODE", false, jobs},
                   {"drain", "NODE…", true, drain},   {"online", "NODE…", true, online},
                   {"forget", "NODE…", true, forget}, {"move", "PROJECT/JOB…", true, move}};
    struct client client;
    enum exit_code code = EXIT_OK;
    const char *word = args->word_count ? args->words[0] : "list";
    const struct action *action = NULL;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, word))
            action = &actions[i];
    if (!action && args->word_count > 1)
        return complain(EXIT_BAD_INPUT, "schedulers knows list, jobs, drain, online, forget and move, not \"%.40s\"",
                        word);
    size_t behind = args->word_count ? args->word_count - 1 : 0;
    if (action && (action->needs ? !behind || (behind > 1 && !action->many) : behind > 0))
        return complain(EXIT_BAD_INPUT, "usage: carillon schedulers %s%s%s", word, action->needs ? " " : "",
                        action->needs ? action->needs : "");
    if (!client_open(args, &client, &code))
        return code;
    return action ? action->run(args, &client) : show(args, &client, word);
}

static const struct flag scheduler_flags[] = {
    {"--wait", NULL, NULL,
     "drain: wait until it holds nothing any more (at most 10 minutes, and not when no other scheduler works), and tell what it waits for"},
    {"--to", NULL, "NODE", "move: the scheduler that shall hold the jobs"},
    {"--shared", NULL, NULL, "move: back to those that share all jobs"},
    {"--limit", NULL, "N", "jobs: rows at most (default 100, at most 1000)"},
    {"--skip", NULL, "N", "jobs: rows to leave out first"},
    {0},
};

const struct verb verb_schedulers = {
    "schedulers",
    "list|jobs|drain|online|forget|move …",
    "list scheduler nodes, show one, drain it, bring it back, forget it, move jobs to it",
    "  carillon schedulers                       every node, with its state\n"
    "  carillon schedulers s1                    one, with the runs that it drives\n"
    "  carillon schedulers jobs s1               the jobs that it holds\n"
    "  carillon schedulers drain s1 --wait       its slots go to others, its runs end; then it is offline\n"
    "  carillon schedulers online s1             it claims slots again\n"
    "  carillon schedulers forget s1             a node that is down and holds nothing\n"
    "  carillon schedulers move shop/close --to s2      or --shared\n\n"
    "States: working; draining (gives its slots away and ends its runs); offline (alive, claims nothing); down.",
    scheduler_flags,
    true,
    0,
    ARGS_MAX,
    schedulers};
