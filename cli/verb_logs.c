/* logs: what the executors of a run have written while they worked. */
#include <stdio.h>
#include <time.h>

#include "cli/client.h"

#define PAGE 1000

static const struct flag log_flags[] = {{"--step", NULL, "NAME", "lines of this step alone"},
                                        {"--follow", "-f", NULL, "print what comes, until the run has ended"},
                                        {0}};

/* Prints a page; the number of lines, −1 after a failure. */
static int print_page(struct client *client, const char *run, const char *step, int64_t skip, enum exit_code *ret_code)
{
    struct answer_body answer;
    struct str path;
    cJSON *line;
    str_init(&path, 1024);
    client_path(&path, "/projects/%s/runs/%s/logs", client->project, run);
    str_addf(&path, "?limit=%d&skip=%lld", PAGE, (long long)skip);
    if (step) {
        str_add(&path, "&step=");
        url_encode(step, &path);
    }
    client_call(client, "GET", str_text(&path), NULL, false, &answer);
    *ret_code = answer.code;
    cJSON *items = cJSON_GetObjectItemCaseSensitive(answer.json, "items");
    int count = answer.code == EXIT_OK ? cJSON_GetArraySize(items) : -1;
    if (client->json && count >= 0)
        print_raw(&answer);
    else
        cJSON_ArrayForEach(line, items)
            (void)printf("%s  %s  %s\n", text_of(line, "at"), text_of(line, "step"), shown_of(line, "text"));
    (void)fflush(stdout);
    answer_release(&answer);
    str_release(&path);
    return count;
}

static bool ended(struct client *client, const char *run)
{
    struct answer_body answer;
    struct str path;
    str_init(&path, 1024);
    client_path(&path, "/projects/%s/runs/%s", client->project, run);
    client_call(client, "GET", str_text(&path), NULL, false, &answer);
    bool over = answer.code != EXIT_OK || *text_of(answer.json, "ended_at");
    answer_release(&answer);
    str_release(&path);
    return over;
}

static enum exit_code run(const struct args *args)
{
    struct client client;
    struct full_name name;
    enum exit_code code;
    const char *step = args_get(args, "--step");
    bool follow = args_get(args, "--follow") != NULL;
    int64_t skip = 0;
    if (!client_open(args, &client, &code))
        return code;
    if (!full_name_split(&client, args->words[0], &name))
        return EXIT_BAD_INPUT;
    (void)snprintf(client.project, sizeof client.project, "%s", name.project);
    for (bool last = !follow;;) {
        int count = print_page(&client, name.name, step, skip, &code);
        if (code == EXIT_NOT_FOUND)
            (void)complain(code, RUN_ELSEWHERE, client.project);
        skip += count > 0 ? count : 0;
        if (count < 0 || (client.json && !follow) || (count < PAGE && last))
            return code;
        if (count < PAGE) {
            last = ended(&client, name.name);
            if (!last)
                (void)nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        }
    }
}

const struct verb verb_logs = {
    .name = "logs",
    .words = "[PROJECT/]RUN",
    .summary = "print the lines that executors have written while they worked on a run",
    .teach =
        "Executors write them with log() of their library, or by POST to the callback's /logs. In order of steps;\n"
        "at most 10,000 lines and 1 MiB of a call are kept, as long as bodies are.\n\n"
        "  carillon logs shop/4785074604081153 --step report --follow",
    .flags = log_flags,
    .client = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
