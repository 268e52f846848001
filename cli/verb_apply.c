/* apply, lint, diff, export, delete: definitions as files. All are validated first; any fault and nothing is written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/zones/zones.h"
#include "core/base/jsonscan.h"
#include "core/logic/run/graph.h"
#include "core/logic/time/cron.h"
#include "core/model/document.h"

#include "cli/client.h"
#include "cli/files.h"

static const struct flag apply_flags[] = {
    {"--file", "-f", "PATH", "file or folder with YAML or JSON documents, \"-\" = standard input; may be repeated"},
    {"--dry-run", NULL, NULL, "validate and show what would change; write nothing"},
    {0},
};
static const struct flag file_flags[] = {
    {"--file", "-f", "PATH", "file or folder with YAML or JSON documents, \"-\" = standard input; may be repeated"},
    {0}};

#define GIVE_FILES "give -f FILE or -f FOLDER (\"-\" = standard input)"

static enum exit_code refuse_nothing(const struct args *args)
{
    return args->word_count || args_get(args, "--file")
               ? complain(EXIT_BAD_INPUT, "no documents in what was given: every file is empty, or comments alone")
               : complain(EXIT_BAD_INPUT, "no documents: " GIVE_FILES);
}

static void read_all(const struct args *args, struct file_documents *ret)
{
    const char *path;
    for (size_t i = 0; (path = args_nth(args, "--file", i)); i++)
        files_read(path, ret);
    for (size_t i = 0; i < args->word_count; i++)
        files_read(args->words[i], ret);
}

static char *apply_body(const struct file_documents *documents, bool dry_run)
{
    struct str body;
    str_init(&body, 2 * LIMIT_DOCUMENT);
    str_addf(&body, "{\"source\":\"file\",\"dry_run\":%s,\"documents\":[", dry_run ? "true" : "false");
    for (size_t i = 0; i < documents->list.count; i++) {
        str_add(&body, i ? "," : "");
        str_add(&body, documents->list.items[i].json);
    }
    str_add(&body, "]}");
    return str_take(&body);
}

/* For struct client: where a document of the set stands. */
static const char *origin_of(const void *context, size_t index)
{
    const struct file_documents *documents = context;
    return index < documents->list.count ? documents->list.items[index].origin : NULL;
}

static const char *outcome_of(const cJSON *result)
{
    return true_of(result, "unchanged") ? "unchanged" : true_of(result, "created") ? "created" : "changed";
}

/* Zone, policy and next three instants of each trigger: nobody saves a schedule without seeing what it will do. */
static void print_trigger(const cJSON *trigger)
{
    struct str schedule;
    str_init(&schedule, 64 * 1024);
    add_schedule(&schedule, trigger);
    (void)printf("    %s: %s, zone %s, misfire %s, next", text_of(trigger, "name"), str_text(&schedule),
                 text_of(trigger, "zone"), *text_of(trigger, "misfire") ? text_of(trigger, "misfire") : "latest");
    const cJSON *next;
    cJSON_ArrayForEach(next, cJSON_GetObjectItemCaseSensitive(trigger, "next"))
        (void)printf(" %s", cJSON_IsString(next) ? next->valuestring : "?");
    (void)printf("\n");
    str_release(&schedule);
}

static void print_applied(const struct file_documents *documents, const cJSON *items, bool dry_run)
{
    const cJSON *item, *part;
    size_t index = 0;
    cJSON_ArrayForEach(item, items) {
        const cJSON *result = cJSON_GetObjectItemCaseSensitive(item, "result");
        const char *origin = index < documents->list.count ? documents->list.items[index].origin : "";
        (void)printf("%s%s %s %s (version %.0f, %s)\n", dry_run ? "would be " : "", outcome_of(result),
                     text_of(item, "kind"), text_of(item, "key"), number_of(result, "version"), origin);
        cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(result, "triggers"))
            print_trigger(part);
        cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(result, "warnings"))
            (void)fprintf(stderr, "    warning: %s%s%s\n", text_of(part, "path"), *text_of(part, "path") ? ": " : "",
                          text_of(part, "message"));
        index++;
    }
}

static enum exit_code apply(const struct args *args)
{
    struct client client;
    enum exit_code code = EXIT_OK;
    struct file_documents documents = {0};
    bool dry_run = args_get(args, "--dry-run") != NULL;
    if (!client_open(args, &client, &code))
        return code;
    read_all(args, &documents);
    client.origin = origin_of;
    client.origin_context = &documents;
    if (documents.faults || !documents.list.count) {
        code = documents.faults ? complain(EXIT_BAD_INPUT, "nothing was written") : refuse_nothing(args);
    } else {
        struct answer_body answer;
        char *body = apply_body(&documents, dry_run);
        if (body) {
            client_call(&client, "POST", "/apply", body, false, &answer);
            code = answer.code;
            if (client.json && answer.status)
                print_raw(&answer);
            else if (!code)
                print_applied(&documents, cJSON_GetObjectItemCaseSensitive(answer.json, "items"), dry_run);
            answer_release(&answer);
        } else {
            code = complain(EXIT_BAD_INPUT, "the documents are too big for one apply; split them");
        }
        free(body);
    }
    files_release(&documents);
    return code;
}

const struct verb verb_apply = {
    "apply",
    "[PATH…]",
    "write definitions from files or folders (all or nothing)",
    "  carillon apply -f examples/shop          every document of the folder, in any order\n"
    "  carillon apply -f job.yaml --dry-run     what would change, and the next instants of each trigger\n"
    "  cat job.yaml | carillon apply -f -",
    apply_flags,
    true,
    0,
    16,
    apply};

/* ---- lint: what can be told without a server
 * ------------------------------------------------------------------------- */

static size_t print_faults(const char *origin, const struct faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        (void)printf("%s: %s%s%s%s\n", origin, faults->items[i].warning ? "warning: " : "", faults->items[i].path,
                     *faults->items[i].path ? ": " : "", faults->items[i].text);
    return faults->errors;
}

/* What apply takes may lack apiVersion, and carry the status of an earlier answer. */
static char *as_apply_reads(const char *json)
{
    struct slice document = slice_of(json, strlen(json));
    struct str text;
    if (json_type_of(document) != JSON_OBJECT)
        return mem_copy_text(json);
    str_init(&text, 2 * LIMIT_DOCUMENT);
    str_add(&text, json_member(document, "apiVersion").length ? "{" : "{\"apiVersion\":\"carillon/v1\",");
    struct json_walk walk = json_walk_begin(document);
    bool first = true;
    while (json_walk_next(&walk)) {
        if (json_string_equals(walk.key, "status"))
            continue;
        str_addf(&text, "%s%.*s:", first ? "" : ",", (int)walk.key.length, walk.key.bytes);
        str_add_bytes(&text, walk.value.bytes, walk.value.length);
        first = false;
    }
    str_add(&text, "}");
    return str_take(&text);
}

static void check_zone(struct zones *zones, const char *zone, const char *path, struct faults *faults)
{
    if (zone && !zones->get(zones, zone))
        faults_add(faults, path, "there is no time zone \"%.60s\"; use an IANA name such as Europe/Berlin", zone);
}

static void check_trigger(struct zones *zones, const struct trigger_spec *trigger, size_t index, struct faults *faults)
{
    char path[64];
    (void)snprintf(path, sizeof path, "spec.triggers[%zu].timezone", index);
    check_zone(zones, trigger->timezone, path, faults);
    if (trigger->kind != TRIGGER_CRON)
        return;
    struct cron *cron = NULL;
    struct faults warnings;
    struct error err;
    faults_init(&warnings);
    (void)snprintf(path, sizeof path, "spec.triggers[%zu].cron", index);
    if (cron_parse(trigger->cron, trigger->dialect, NULL, &cron, &warnings, &err))
        faults_add(faults, path, "%s", err.text);
    for (size_t i = 0; i < warnings.count; i++)
        faults_warn(faults, path, "%s", warnings.items[i].text);
    cron_free(cron);
    faults_release(&warnings);
}

static void check_document(struct zones *zones, const struct document *document, struct faults *faults)
{
    if (document->kind == DOCUMENT_PROJECT)
        check_zone(zones, document->project.timezone, "spec.timezone", faults);
    if (document->kind != DOCUMENT_JOB)
        return;
    graph_check(&document->job, faults);
    for (size_t i = 0; i < document->job.trigger_count; i++)
        check_trigger(zones, &document->job.triggers[i], i, faults);
}

static enum exit_code lint(const struct args *args)
{
    struct file_documents documents = {0};
    read_all(args, &documents);
    size_t errors = documents.faults, count = documents.list.count;
    struct zones *zones = zones_create(NULL);
    for (size_t i = 0; i < count; i++) {
        const struct file_document *file = &documents.list.items[i];
        struct faults faults;
        faults_init(&faults);
        char *json = as_apply_reads(file->json);
        struct document *document = json ? document_parse(json, strlen(json), DOCUMENT_KINDS, &faults) : NULL;
        if (!json)
            faults_add(&faults, "", "is larger than %zu bytes; split it", LIMIT_DOCUMENT);
        if (document)
            check_document(zones, document, &faults);
        errors += print_faults(file->origin, &faults);
        document_free(document);
        faults_release(&faults);
        free(json);
    }
    zones_free(zones);
    files_release(&documents);
    if (errors)
        return EXIT_BAD_INPUT;
    if (!count)
        return refuse_nothing(args);
    (void)printf("%zu document%s, no fault\n", count, count == 1 ? "" : "s");
    return EXIT_OK;
}

const struct verb verb_lint = {
    "lint",
    "[PATH…]",
    "check definition files without a server",
    "  carillon lint -f examples/shop\n\nWhether projects, tasks and calendars are known is checked by `apply --dry-run`.",
    file_flags,
    false,
    0,
    16,
    lint};

/* ---- diff: what apply would change
 * ----------------------------------------------------------------------------------- */

static enum exit_code diff(const struct args *args)
{
    struct client client;
    enum exit_code code = EXIT_OK;
    struct file_documents documents = {0};
    if (!client_open(args, &client, &code))
        return code;
    read_all(args, &documents);
    client.origin = origin_of;
    client.origin_context = &documents;
    char *body = documents.faults || !documents.list.count ? NULL : apply_body(&documents, true);
    if (!body) {
        files_release(&documents);
        return documents.faults ? EXIT_BAD_INPUT : complain(EXIT_BAD_INPUT, "nothing to compare: " GIVE_FILES);
    }
    struct answer_body answer;
    client_call(&client, "POST", "/apply", body, false, &answer);
    code = answer.code;
    if (client.json && answer.status)
        print_raw(&answer);
    else if (!code) {
        const cJSON *item;
        size_t changes = 0;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer.json, "items")) {
            const cJSON *result = cJSON_GetObjectItemCaseSensitive(item, "result"), *line;
            changes += !true_of(result, "unchanged");
            (void)printf("%-10s %s\n", outcome_of(result), text_of(item, "key"));
            cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(result, "diff"))
                (void)printf("    %s\n", cJSON_IsString(line) ? line->valuestring : "");
        }
        code = changes ? EXIT_FAILED : EXIT_OK;
    }
    answer_release(&answer);
    free(body);
    files_release(&documents);
    return code;
}

const struct verb verb_diff = {"diff",
                               "[PATH…]",
                               "show what apply would change (exit 1 when anything would)",
                               "  carillon diff -f examples/shop",
                               file_flags,
                               true,
                               0,
                               16,
                               diff};
