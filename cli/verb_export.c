/* export and delete: one definition by kind and name. */
#include <stdio.h>
#include <string.h>

#include "core/base/jsonscan.h"

#include "cli/client.h"

static const struct flag kind_flags[] = {{"--kind", "-k", "KIND", "job (default), app, calendar or project"}, {0}};
static const struct flag export_flags[] = {
    {"--kind", "-k", "KIND", "job (default), app, calendar or project"},
    {"--all", NULL, NULL, "NAME is a project: it and everything in it, in one file of several documents"},
    {0}};

/* Path of the API for --kind and a name. */
static bool definition_path(const struct args *args, const struct client *client, struct str *ret,
                            enum exit_code *ret_code)
{
    static const char *const kinds[] = {"job", "app", "calendar"};
    const char *kind = args_get(args, "--kind"); /* as in documents, too: Application */
    if (kind && !strcasecmp(kind, "application"))
        kind = "app";
    if (kind && !strcasecmp(kind, "project")) {
        client_path(ret, "/projects/%s", args->words[0]);
        return true;
    }
    struct full_name name;
    *ret_code = EXIT_BAD_INPUT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kind && strcasecmp(kind, kinds[i]) != 0)
            continue;
        if (!full_name_split(client, args->words[0], &name))
            return false;
        client_path(ret, "/projects/%s/", name.project);
        str_addf(ret, "%ss/", kinds[i]);
        url_encode(name.name, ret);
        return true;
    }
    (void)complain(EXIT_BAD_INPUT, "--kind is job, app, calendar or project, not \"%.40s\"", kind);
    return false;
}

/* The answer without its `status`, as text: numbers of any size stay as they are. */
static void print_definition(const struct answer_body *answer)
{
    struct json_walk walk = json_walk_begin(slice_of(str_text(&answer->text), answer->text.length));
    bool first = true;
    (void)printf("{");
    while (json_walk_next(&walk)) {
        if (json_string_equals(walk.key, "status"))
            continue;
        (void)printf("%s\n  %.*s: %.*s", first ? "" : ",", (int)walk.key.length, walk.key.bytes, (int)walk.value.length,
                     walk.value.bytes);
        first = false;
    }
    (void)printf("\n}\n");
}

static enum exit_code call_definition(const struct args *args, const char *method)
{
    struct client client;
    struct str path;
    enum exit_code code = EXIT_OK;
    if (!client_open(args, &client, &code))
        return code;
    str_init(&path, 2048);
    if (definition_path(args, &client, &path, &code)) {
        struct answer_body answer;
        client_call(&client, method, str_text(&path), NULL, false, &answer);
        code = answer.code;
        if (!code && !strcmp(method, "GET"))
            print_definition(&answer);
        else if (!code && !client.json) /* the answer to a DELETE is empty */
            (void)printf("deleted %s\n", args->words[0]);
        answer_release(&answer);
    }
    str_release(&path);
    return code;
}

/* ---- a whole project -----------------------------------------------------------------------------------------------
 */

#define PAGE 500

/* One document behind the others; JSON is YAML, too. */
static enum exit_code print_one(struct client *client, const char *path)
{
    struct answer_body answer;
    client_call(client, "GET", path, NULL, false, &answer);
    enum exit_code code = answer.code;
    if (!code) {
        (void)printf("---\n");
        print_definition(&answer);
    }
    answer_release(&answer);
    return code;
}

/* All of one kind, page by page: the list has the names, each is read as it is stored. */
static enum exit_code print_kind(struct client *client, const char *project, const char *kind)
{
    enum exit_code code = EXIT_OK;
    double total = 1;
    for (int skip = 0; !code && skip < total; skip += PAGE) {
        struct answer_body page;
        struct str path;
        const cJSON *item;
        str_init(&path, 2048);
        client_path(&path, "/projects/%s/", project);
        str_addf(&path, "%s?limit=%d&skip=%d", kind, PAGE, skip);
        client_call(client, "GET", str_text(&path), NULL, false, &page);
        code = page.code;
        total = code ? 0 : number_of(page.json, "total");
        const cJSON *items = code ? NULL : cJSON_GetObjectItemCaseSensitive(page.json, "items");
        cJSON_ArrayForEach(item, items) {
            str_clear(&path);
            client_path(&path, "/projects/%s/", project);
            str_addf(&path, "%s/", kind);
            url_encode(text_of(item, "name"), &path);
            code = exit_code_worse(code, print_one(client, str_text(&path)));
        }
        answer_release(&page);
        str_release(&path);
    }
    return code;
}

static enum exit_code export_project(const struct args *args)
{
    static const char *const kinds[] = {"calendars", "apps", "jobs"};
    struct client client;
    struct str path;
    enum exit_code code = EXIT_OK;
    if (!client_open(args, &client, &code))
        return code;
    str_init(&path, 2048);
    client_path(&path, "/projects/%s", args->words[0]);
    code = print_one(&client, str_text(&path));
    for (size_t i = 0; !code && i < sizeof kinds / sizeof *kinds; i++)
        code = print_kind(&client, args->words[0], kinds[i]);
    str_release(&path);
    return code;
}

static enum exit_code export(const struct args *args) {
    return args_get(args, "--all") ? export_project(args) : call_definition(args, "GET");
}

static enum exit_code delete (const struct args *args) { return call_definition(args, "DELETE"); }

const struct verb verb_export = {
    "export",
    "NAME",
    "print a definition as a file that `apply` takes",
    "  carillon export shop/nightly-close > nightly-close.json\n  carillon export -k app shop/ledger\n"
    "  carillon export --all shop > shop.yaml       the project with its calendars, applications and jobs",
    export_flags,
    true,
    1,
    1,
    export};
const struct verb verb_delete = {"delete",
                                 "NAME",
                                 "remove a definition; open runs end, history stays",
                                 "  carillon delete shop/nightly-close\n  carillon delete -k app shop/ledger",
                                 kind_flags,
                                 true,
                                 1,
                                 1,
                                 delete};
