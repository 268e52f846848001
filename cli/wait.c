#include "cli/wait.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TELL_EVERY 3 /* seconds */

bool run_is_open(const char *state)
{
    return !strcmp(state, "queued") || !strcmp(state, "running");
}

/* What the job's explanation says of this run: "waits at step ping: unreachable". */
static void describe(const cJSON *explanation, const char *run, struct str *ret)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(explanation, "waiting")) {
        if (strcmp(text_of(item, "run"), run) != 0)
            continue;
        str_addf(ret, "%swaits%s%s: %s", ret->length ? "; " : "", *text_of(item, "step") ? " at step " : "",
                 text_of(item, "step"), text_of(item, "reason"));
    }
    if (!ret->length)
        str_add(ret, "is at work");
}

static void tell(struct client *client, const char *job, const char *run, struct str *told)
{
    struct answer_body answer;
    struct str path, now;
    str_init(&path, 2048);
    str_init(&now, 4096);
    client_path(&path, "/projects/%s/jobs/%s/explain", client->project, job);
    client_call(client, "GET", str_text(&path), NULL, true, &answer);
    if (!answer.code) {
        describe(answer.json, run, &now);
        if (strcmp(str_text(&now), str_text(told)) != 0) {
            (void)fprintf(stderr, "run %s %s\n", run, str_text(&now));
            str_clear(told);
            str_add(told, str_text(&now));
        }
    }
    answer_release(&answer);
    str_release(&path);
    str_release(&now);
}

void run_wait(struct client *client, const char *job, const char *run, struct answer_body *ret)
{
    struct str path, told;
    str_init(&path, 2048);
    str_init(&told, 4096);
    client_path(&path, "/projects/%s/runs/%s", client->project, run);
    for (int second = 0;; second++) {
        client_call(client, "GET", str_text(&path), NULL, false, ret);
        if (ret->code || second >= WAIT_SECONDS || !run_is_open(text_of(ret->json, "state")))
            break;
        if (second % TELL_EVERY == 0)
            tell(client, job, run, &told);
        answer_release(ret);
        (void)sleep(1);
    }
    str_release(&path);
    str_release(&told);
}
