/* Talks to an orchestrator's API for the client verbs. */
#ifndef CARILLON_CLI_CLIENT_H
#define CARILLON_CLI_CLIENT_H

#include <cjson/cJSON.h>

#include "core/base/str.h"

#include "cli/verb.h"

struct client {
    char url[512], token[256], project[160];
    bool json; /* --json */
    /* Of a set of documents: file and line of the index-th, put before its faults; NULL = none. */
    const char *(*origin)(const void *context, size_t index);
    const void *origin_context;
};

/* From flags, environment, context file, in this order. False: complained, *ret_code is set. */
bool client_open(const struct args *args, struct client *ret, enum exit_code *ret_code);

struct answer_body {
    int status;
    struct str text;
    cJSON *json; /* NULL when not JSON */
    enum exit_code code;
};

/* One request. `body` NULL = none. Path parts are already encoded (client_path). Network errors are complained about
 * (EXIT_UNREACHABLE); an error answer too, unless `quiet`. Release with answer_release. */
void client_call(struct client *client, const char *method, const char *path, const char *body, bool quiet,
                 struct answer_body *ret);
void answer_release(struct answer_body *answer);

/* printf-like, but %s arguments are percent-encoded: "/projects/%s/jobs/%s". */
void client_path(struct str *ret, const char *format, ...) PRINTF_LIKE(2, 3); /* only %s */
void url_encode(const char *text, struct str *ret);

/* "PROJECT/NAME" or "NAME" with the client's project. */
struct full_name {
    char project[160], name[160];
};
bool full_name_split(const struct client *client, const char *word, struct full_name *ret);
#define RUN_ELSEWHERE "it was looked for in project \"%s\"; -p PROJECT names another"

/* When a trigger of an answer fires: "every 10s", "delay 10s", "at 2026-…"; a cron expression as it is. */
void add_schedule(struct str *ret, const cJSON *trigger);

/* Prints the answer's text (--json) with a newline. */
void print_raw(const struct answer_body *answer);

/* Members; "" or fallback when absent. */
const char *text_of(const cJSON *object, const char *name);
/* The same for a terminal: what an executor wrote (a line of a log, an error) has its control characters replaced by
 * '?', in the object itself. */
const char *shown_of(cJSON *object, const char *name);
double number_of(const cJSON *object, const char *name);
bool true_of(const cJSON *object, const char *name);

/* Context file $XDG_CONFIG_HOME/carillon/context (0600): url and token. */
bool context_write(const char *url, const char *token, struct error *err);

#endif
