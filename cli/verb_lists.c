/* Lists for people: one table of resources with their columns. `carillon jobs`, `carillon runs --state failed`, … */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/table.h"

struct column {
    const char *heading, *member; /* "last_run.state" reaches into objects; "triggers[].next[0]" is next_of */
};

struct list {
    const char *path; /* "%s" = project */
    const char *empty;
    struct column columns[TABLE_COLUMNS];
    size_t column_count;
};

static const struct flag page_flags[] = {{"--limit", NULL, "N", "rows at most (default 100, at most 1000)"},
                                         {"--skip", NULL, "N", "rows to leave out first"},
                                         {0}};
static const struct flag job_flags[] = {
    {"--state", NULL, "STATE", "active, paused or suspended"},
    {"--owner", NULL, "NODE", "held by this scheduler"},
    {"--text", "-t", "TEXT", "part of name or description"},
    {"--limit", NULL, "N", "rows at most (default 100, at most 1000)"},
    {"--skip", NULL, "N", "rows to leave out first"},
    {0},
};
static const struct flag run_flags[] = {
    {"--job", "-j", "NAME", "of this job"},
    {"--state", NULL, "STATES", "queued, running, succeeded, failed, canceled, lost; several with commas"},
    {"--from", NULL, "TIME", "scheduled at or after (RFC 3339)"},
    {"--to", NULL, "TIME", "scheduled before"},
    {"--trigger", NULL, "NAME", "of this trigger"},
    {"--scheduler", NULL, "NODE", "driven by this node"},
    {"--limit", NULL, "N", "rows at most (default 100, at most 1000)"},
    {"--skip", NULL, "N", "rows to leave out first"},
    {0},
};

/* Member by a dotted path, as text for a cell. */
static void cell_text(const cJSON *object, const char *path, struct str *ret)
{
    const char *dot = strchr(path, '.');
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)(dot ? (size_t)(dot - path) : strlen(path)), path);
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (dot && cJSON_IsObject(member)) {
        cell_text(member, dot + 1, ret);
    } else if (cJSON_IsString(member)) {
        str_add(ret, member->valuestring);
    } else if (cJSON_IsBool(member)) {
        str_add(ret, cJSON_IsTrue(member) ? "yes" : "no");
    } else if (cJSON_IsNumber(member)) {
        str_addf(ret, "%.0f", member->valuedouble);
    } else if (cJSON_IsArray(member)) {
        str_addf(ret, "%d", cJSON_GetArraySize(member));
    }
}

static void print_list(const struct list *list, const cJSON *items, bool filtered)
{
    const char *headings[TABLE_COLUMNS];
    struct table table;
    struct str cell;
    const cJSON *item;
    for (size_t i = 0; i < list->column_count; i++)
        headings[i] = list->columns[i].heading;
    table_init(&table, list->column_count, headings);
    str_init(&cell, 64 * 1024);
    cJSON_ArrayForEach(item, items) {
        for (size_t i = 0; i < list->column_count; i++) {
            str_clear(&cell);
            cell_text(item, list->columns[i].member, &cell);
            table_add(&table, str_text(&cell));
        }
    }
    str_release(&cell);
    table_print(&table, filtered ? "nothing matches these options" : list->empty);
}

/* True when an option chooses among the rows. */
static bool add_query(const struct args *args, struct str *path)
{
    char separator = '?';
    for (size_t i = 0; i < args->flag_count; i++) {
        const char *name = args->flags[i].flag->name + 2;
        bool ours = !strcmp(name, "url") || !strcmp(name, "token") || !strcmp(name, "project") || !strcmp(name, "json");
        if (ours)
            continue;
        str_add_char(path, separator);
        str_addf(path, "%s=", !strcmp(name, "text") ? "q" : name);
        url_encode(args->flags[i].value, path);
        separator = '&';
    }
    return separator == '&';
}

static enum exit_code show_list(const struct args *args, const struct list *list)
{
    struct client client;
    struct answer_body answer;
    struct str path;
    enum exit_code code = EXIT_OK;
    if (!client_open(args, &client, &code))
        return code;
    str_init(&path, 4096);
    str_add(&path, list->path);
    if (strstr(list->path, "{project}")) {
        str_clear(&path);
        client_path(&path, "/projects/%s", client.project);
        str_add(&path, strstr(list->path, "{project}") + strlen("{project}"));
    }
    bool filtered = add_query(args, &path);
    client_call(&client, "GET", str_text(&path), NULL, false, &answer);
    code = answer.code;
    if (!code && client.json) {
        print_raw(&answer);
    } else if (!code) {
        const cJSON *items = cJSON_GetObjectItemCaseSensitive(answer.json, "items");
        double total = number_of(answer.json, "total");
        print_list(list, items, filtered);
        if (total > cJSON_GetArraySize(items))
            (void)printf("%d of %.0f; --skip and --limit show the rest\n", cJSON_GetArraySize(items), total);
    }
    answer_release(&answer);
    str_release(&path);
    return code;
}

#define LIST(verb_name, list_flags, text, list_path, list_empty, ...)                                           \
    static enum exit_code run_##verb_name(const struct args *args)                                              \
    {                                                                                                           \
        static const struct list list = {list_path,                                                             \
                                         list_empty,                                                            \
                                         {__VA_ARGS__},                                                         \
                                         sizeof((const struct column[]){__VA_ARGS__}) / sizeof(struct column)}; \
        return show_list(args, &list);                                                                          \
    }                                                                                                           \
    const struct verb verb_##verb_name = {#verb_name, "", text, NULL, list_flags, true, 0, 0, run_##verb_name};

LIST(projects, page_flags, "list projects", "/projects", "no projects", {"PROJECT", "name"}, {"ZONE", "spec.timezone"},
     {"DESCRIPTION", "metadata.description"})
LIST(apps, page_flags, "list a project's applications", "/projects/{project}/apps",
     "no applications in this project; an Application document declares one (docs/reference/documents.md)",
     {"APPLICATION", "name"}, {"VERSION", "version"}, {"INSTANCES", "spec.instances"}, {"TASKS", "spec.tasks"})
LIST(tasks, page_flags, "list a project's tasks", "/projects/{project}/tasks", "no tasks in this project",
     {"APPLICATION", "application"}, {"TASK", "name"}, {"METHOD", "method"}, {"PATH", "path"},
     {"DESCRIPTION", "description"})
LIST(calendars, page_flags, "list a project's calendars", "/projects/{project}/calendars",
     "no calendars in this project", {"CALENDAR", "name"}, {"VERSION", "version"},
     {"DESCRIPTION", "metadata.description"})
LIST(jobs, job_flags, "list a project's jobs: state, owner, next instant, last run", "/projects/{project}/jobs",
     "no jobs in this project; `carillon apply -f FILE` writes some", {"JOB", "name"}, {"STATE", "state"},
     {"OWNER", "owner_node"}, {"SINCE", "owner_since"}, {"RUNNING", "running"}, {"NEXT", "next_at"},
     {"LAST RUN", "last_run.scheduled_at"}, {"ENDED", "last_run.state"})
LIST(leases, page_flags, "list leases that applications hold", "/leases", "no lease is held", {"LEASE", "name"},
     {"PROJECT", "project"}, {"HOLDER", "holder"}, {"FENCE", "fence"}, {"SINCE", "since"}, {"EXPIRES", "expires_at"})
LIST(runs, run_flags, "list runs, newest first; `carillon attempts RUN` shows one", "/projects/{project}/runs",
     "no runs that match", {"RUN", "id"}, {"JOB", "job"}, {"TRIGGER", "trigger"}, {"SCHEDULED", "scheduled_at"},
     {"STATE", "state"}, {"ORIGIN", "origin"}, {"ENDED", "ended_at"}, {"SCHEDULER", "scheduler"}, {"REASON", "reason"})
