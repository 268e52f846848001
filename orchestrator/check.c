#include "orchestrator/check.h"

#include <stdio.h>
#include <string.h>

#include "core/logic/run/graph.h"
#include "core/logic/text/template.h"
#include "core/logic/time/cron.h"
#include "core/logic/time/schedule.h"

/* ---- the form that the parser wants ---- */

static void copy_member(struct out *o, const struct json_walk *walk)
{
    out_key(o, NULL);
    str_add_bytes(o->to, walk->key.bytes, walk->key.length);
    str_add_char(o->to, ':');
    str_add_bytes(o->to, walk->value.bytes, walk->value.length);
}

/* What the address says must not be contradicted by the body. */
static void write_named(struct out *o, struct slice metadata, const char *member, const char *wanted,
                        struct details *details)
{
    struct slice given = json_member(metadata, member);
    char path[40];
    if (!wanted)
        return;
    (void)snprintf(path, sizeof path, "metadata.%s", member);
    if (given.length && json_type_of(given) != JSON_NULL && !json_string_equals(given, wanted))
        details_add(details, DEFINITION_INVALID, false, path, "says %.*s, but the address says \"%s\"",
                    (int)(given.length < 140 ? given.length : 140), given.bytes, wanted);
    out_text(o, member, wanted);
}

static bool is_named(struct slice key, const char *const *names)
{
    for (; *names; names++)
        if (json_string_equals(key, *names))
            return true;
    return false;
}

static void write_metadata(struct out *o, struct slice metadata, enum document_kind kind, const char *project,
                           const char *name, struct details *details)
{
    const char *taken[3] = {0};
    size_t n = 0;
    if (metadata.length && json_type_of(metadata) != JSON_OBJECT && json_type_of(metadata) != JSON_NULL) {
        out_key(o, "metadata");
        str_add_bytes(o->to, metadata.bytes, metadata.length);
        return;
    }
    out_open(o, "metadata", '{');
    if (kind != DOCUMENT_PROJECT && project) {
        write_named(o, metadata, "project", project, details);
        taken[n++] = "project";
    }
    if (name) {
        write_named(o, metadata, "name", name, details);
        taken[n++] = "name";
    }
    for (struct json_walk walk = json_walk_begin(metadata); metadata.length && json_walk_next(&walk);)
        if (!is_named(walk.key, taken))
            copy_member(o, &walk);
    out_close(o, '}');
}

void document_normalise(struct slice body, enum document_kind kind, const char *project, const char *name,
                        struct details *details, struct str *ret)
{
    static const char *const rewritten[] = {"apiVersion", "kind", "metadata", "status", NULL};
    struct out o = out_to(ret);
    struct slice version = json_member(body, "apiVersion"), given = json_member(body, "kind");
    bool kind_known = kind != DOCUMENT_KINDS;
    out_open(&o, NULL, '{');
    out_key(&o, "apiVersion");
    if (version.length)
        str_add_bytes(ret, version.bytes, version.length);
    else
        str_add(ret, "\"carillon/v1\"");
    if (kind_known && given.length && !json_string_equals(given, document_kind_text(kind)))
        details_add(details, DEFINITION_INVALID, false, "kind", "says %.*s, but the address wants \"%s\"",
                    (int)(given.length < 140 ? given.length : 140), given.bytes, document_kind_text(kind));
    if (kind_known)
        out_text(&o, "kind", document_kind_text(kind));
    else if (given.length) {
        out_key(&o, "kind");
        str_add_bytes(ret, given.bytes, given.length);
    }
    write_metadata(&o, json_member(body, "metadata"), kind, project, name, details);
    for (struct json_walk walk = json_walk_begin(body); json_walk_next(&walk);)
        if (!is_named(walk.key, rewritten))
            copy_member(&o, &walk);
    if (!json_member(body, "spec").length)
        out_json(&o, "spec", "{}");
    out_close(&o, '}');
}

/* ---- references and expressions of a job ---- */

struct job_check {
    struct catalog *catalog;
    const struct job_spec *job;
    const char *prefix, *separator;
    struct details *details;
    /* of the template under check */
    char path[FAULT_PATH_MAX];
    /* Of a document that does not parse, one piece is looked at: where it stood, and the names of all steps. */
    size_t offset;
    const char *const *names;
    size_t name_count;
};

static void set_path(struct job_check *c, size_t step, const char *member)
{
    (void)snprintf(c->path, sizeof c->path, "%s%sspec.graph[%zu].%s", c->prefix, c->separator, step + c->offset,
                   member);
}

static void step_seen(void *context, const char *name)
{
    struct job_check *c = context;
    for (size_t i = 0; i < c->name_count; i++)
        if (!strcmp(c->names[i], name))
            return;
    details_add(c->details, DEFINITION_INVALID, false, c->path, "reads step \"%s\", but the graph has no such step",
                name);
}

static void check_text(struct job_check *c, const char *text)
{
    struct error err = {0};
    if (text && template_check(text, step_seen, c, &err) != STATUS_OK)
        details_add(c->details, DEFINITION_INVALID, false, c->path, "%s", err.text);
}

static void check_json(struct job_check *c, struct slice value)
{
    if (json_type_of(value) == JSON_STRING) {
        if (!memmem(value.bytes, value.length, "$", 1))
            return;
        char *text = call_unquote(c->catalog->call, value);
        check_text(c, text);
        return;
    }
    char path[FAULT_PATH_MAX];
    size_t index = 0, length = strlen(c->path);
    memcpy(path, c->path, sizeof path);
    for (struct json_walk walk = json_walk_begin(value); json_walk_next(&walk); index++) {
        if (walk.object)
            (void)snprintf(c->path + length, sizeof c->path - length, ".%.*s",
                           (int)(walk.key.length > 2 ? walk.key.length - 2 : 0), walk.key.bytes + 1);
        else
            (void)snprintf(c->path + length, sizeof c->path - length, "[%zu]", index);
        check_json(c, walk.value); // NOLINT(misc-no-recursion): as deep as LIMIT_JSON_DEPTH
        memcpy(c->path, path, sizeof path);
    }
}

static void check_values(struct job_check *c, size_t step, const char *member, const struct name_value *values,
                         size_t count)
{
    char name[LIMIT_NAME + 16];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%s.%.100s", member, values[i].name);
        set_path(c, step, name);
        check_text(c, values[i].value);
    }
}

/* Of a piece: graph_check sees to whole graphs. */
static void check_templates(struct job_check *c, size_t index)
{
    const struct step_spec *step = &c->job->steps[index];
    set_path(c, index, "url");
    check_text(c, step->call.url);
    set_path(c, index, "path");
    check_text(c, step->call.path);
    check_values(c, index, "headers", step->call.headers, step->call.header_count);
    check_values(c, index, "query", step->call.query, step->call.query_count);
    if (step->routing == ROUTE_HASH) {
        set_path(c, index, "hash_key");
        check_text(c, step->instance);
    }
    if (step->params) {
        set_path(c, index, "params");
        check_json(c, slice_of(step->params, strlen(step->params)));
    }
    set_path(c, index, "when");
    for (size_t i = 0; i < step->after_count; i++)
        if (step->after[i].on == EDGE_EXPRESSION && (!i || step->after[i].when != step->after[i - 1].when))
            check_text(c, step->after[i].when);
}

static bool application_offers(const struct application_spec *application, const char *task)
{
    for (size_t i = 0; i < application->task_count; i++) {
        const struct task_spec *have = &application->tasks[i];
        if (!strcmp(have->name, task) || (*task == '/' && have->call.path && !strcmp(have->call.path, task)))
            return true;
    }
    return false;
}

static void check_task(struct job_check *c, size_t index)
{
    const struct step_spec *step = &c->job->steps[index];
    const char *project = c->job->meta.project;
    if (!step_has_call(step) || !step->application || !step->task)
        return;
    set_path(c, index, "task");
    const struct document *document = catalog_find(c->catalog, DOCUMENT_APPLICATION, project, step->application);
    if (!document) {
        details_add(c->details, TASK_UNKNOWN, false, c->path,
                    "there is no application \"%s\" in project \"%s\"; known: %s", step->application, project,
                    catalog_names(c->catalog, DOCUMENT_APPLICATION, project));
        return;
    }
    const struct application_spec *application = &document->application;
    if (application_offers(application, step->task))
        return;
    struct str known;
    str_init(&known, 200);
    for (size_t i = 0; i < application->task_count; i++)
        str_addf(&known, "%s%s", i ? ", " : "", application->tasks[i].name);
    details_add(c->details, TASK_UNKNOWN, false, c->path, "application \"%s\" has no task \"%s\"; known: %s",
                step->application, step->task, application->task_count ? str_text(&known) : "none");
    str_release(&known);
}

/* A text that begins with the name of the member that its path ends in. */
static const char *without_name(const char *text, const char *member)
{
    size_t length = strlen(member);
    return length && !strncmp(text, member, length) && !strncmp(text + length, ": ", 2) ? text + length + 2 : text;
}

/* A trigger whose instants all lie behind us is no fault, but hardly what somebody meant to write today. */
static void warn_of_the_past(struct job_check *c, size_t index, const struct trigger_spec *trigger,
                             const struct schedule *schedule)
{
    const instant now = c->catalog->call->now.wall;
    const struct schedule_memory fresh = {now, INSTANT_NONE};
    char path[FAULT_PATH_MAX];
    if (!schedule || trigger->kind == TRIGGER_DELAY || schedule_next_fire(schedule, &fresh, now).ms != INT64_MAX)
        return;
    (void)snprintf(path, sizeof path, "%s%sspec.triggers[%zu]", c->prefix, c->separator, index + c->offset);
    details_add(c->details, DEFINITION_INVALID, true, path,
                "it will not fire: every instant that it names lies in the past");
}

static void check_triggers(struct job_check *c)
{
    const struct job_spec *job = c->job;
    for (size_t i = 0; i < job->trigger_count && !c->catalog->failed; i++) {
        const struct trigger_spec *trigger = &job->triggers[i];
        struct schedule *schedule = NULL;
        struct error err = {0};
        const char *zone, *member;
        char path[FAULT_PATH_MAX];
        if (trigger->kind == TRIGGER_CRON) { /* warnings: numeric weekdays and the like */
            struct cron *cron = NULL;
            struct faults warnings;
            faults_init(&warnings);
            (void)snprintf(path, sizeof path, "%s%sspec.triggers[%zu].cron", c->prefix, c->separator, i + c->offset);
            if (cron_parse(trigger->cron, trigger->dialect, "", &cron, &warnings, NULL) == STATUS_OK)
                for (size_t w = 0; w < warnings.count; w++)
                    details_add(c->details, DEFINITION_INVALID, true, path, "%s",
                                without_name(warnings.items[w].text, "cron"));
            cron_free(cron);
            faults_release(&warnings);
        }
        if (catalog_compile(c->catalog, job->meta.project, job->meta.name, trigger, &schedule, &zone, &member, &err) !=
                STATUS_OK &&
            !c->catalog->failed) {
            (void)snprintf(path, sizeof path, "%s%sspec.triggers[%zu]%s%s", c->prefix, c->separator, i + c->offset,
                           *member ? "." : "", member);
            details_add(c->details, DEFINITION_INVALID, false, path, "%s", without_name(err.text, member));
        }
        warn_of_the_past(c, i, trigger, schedule);
        schedule_free(schedule);
    }
}

static void check_project(struct catalog *catalog, const char *project, const char *prefix, const char *separator,
                          struct details *details)
{
    char path[FAULT_PATH_MAX];
    if (catalog_find(catalog, DOCUMENT_PROJECT, "", project) || catalog->failed)
        return;
    (void)snprintf(path, sizeof path, "%s%smetadata.project", prefix, separator);
    details_add(details, PROJECT_UNKNOWN, false, path,
                "there is no project \"%s\"; create it first (PUT /api/v1/projects/%s), or add a Project document",
                project, project);
}

void document_check(struct catalog *catalog, const struct document *document, const char *prefix,
                    struct details *details)
{
    const char *separator = *prefix ? "." : "";
    struct zones *zones = catalog->call->o->options.zones;
    char path[FAULT_PATH_MAX];
    switch (document->kind) {
    case DOCUMENT_PROJECT:
        if (!document->project.timezone || zones->get(zones, document->project.timezone))
            return;
        (void)snprintf(path, sizeof path, "%s%sspec.timezone", prefix, separator);
        details_add(details, DEFINITION_INVALID, false, path,
                    "there is no time zone \"%s\"; use an IANA name such as Europe/Berlin", document->project.timezone);
        return;
    case DOCUMENT_APPLICATION:
        check_project(catalog, document->application.meta.project, prefix, separator, details);
        return;
    case DOCUMENT_CALENDAR:
        check_project(catalog, document->calendar.project, prefix, separator, details);
        return;
    case DOCUMENT_JOB:
    case DOCUMENT_KINDS:
        break;
    }
    struct job_check c = {
        .catalog = catalog, .job = &document->job, .prefix = prefix, .separator = separator, .details = details};
    struct faults faults;
    faults_init(&faults);
    graph_check(&document->job, &faults);
    details_add_faults(details, prefix, &faults);
    faults_release(&faults);
    check_project(catalog, document->job.meta.project, prefix, separator, details);
    check_triggers(&c);
    for (size_t i = 0; i < document->job.step_count && !catalog->failed; i++)
        check_task(&c, i);
}

/* ---- a job that does not parse: what its pieces tell all the same ---- */

static void copy_bytes(struct str *ret, struct slice value)
{
    str_add_bytes(ret, value.bytes, value.length);
}

/* A job around one piece, so that the piece can be parsed alone. NULL: it has faults of its own (told already). */
static struct document *parse_piece(const char *project, struct slice trigger, struct slice step)
{
    static const char *const elsewhere[] = {"after", "join", "on_exhausted", NULL}; /* need the rest of the graph */
    struct str text;
    struct out out = out_to(&text);
    struct faults ignored;
    str_init(&text, 2 * LIMIT_DOCUMENT);
    faults_init(&ignored);
    str_add(&text, "{\"kind\":\"Job\",\"metadata\":{\"name\":\"piece\",\"project\":");
    str_add_json(&text, project);
    str_add(&text, "},\"spec\":{\"triggers\":[");
    copy_bytes(&text, trigger);
    str_add(&text, "],\"graph\":[");
    if (step.length) {
        out_open(&out, NULL, '{');
        for (struct json_walk walk = json_walk_begin(step); json_walk_next(&walk);)
            if (!is_named(walk.key, elsewhere))
                copy_member(&out, &walk);
        out_close(&out, '}');
    } else {
        str_add(&text, "{\"step\":\"piece\",\"url\":\"http://localhost/\"}");
    }
    str_add(&text, "]}}");
    struct document *document = document_parse(str_text(&text), text.length, DOCUMENT_JOB, &ignored);
    faults_release(&ignored);
    str_release(&text);
    return document;
}

/* Names of steps as they stand in the text, blocks within blocks included. */
static void gather_names(struct call *call, struct slice value, const char **names, size_t *count)
{
    for (struct json_walk walk = json_walk_begin(value); json_walk_next(&walk) && *count < LIMIT_STEPS;) {
        enum json_type type = json_type_of(walk.value);
        if (walk.object && type == JSON_STRING && json_string_equals(walk.key, "step")) {
            const char *name = call_unquote(call, walk.value);
            if (name)
                names[(*count)++] = name;
        } else if (type == JSON_OBJECT || type == JSON_ARRAY) {
            gather_names(call, walk.value, names, count); // NOLINT(misc-no-recursion): as deep as LIMIT_JSON_DEPTH
        }
    }
}

void document_check_pieces(struct catalog *catalog, struct slice body, const char *prefix, struct details *details)
{
    struct slice spec = json_member(body, "spec"), metadata = json_member(body, "metadata");
    struct slice triggers = json_member(spec, "triggers"), graph = json_member(spec, "graph"), none = slice_of("", 0);
    struct problem ignored = {0};
    const char *project = NULL;
    if (json_type_of(spec) != JSON_OBJECT)
        return;
    if (json_type_of(metadata) != JSON_OBJECT || !input_text(catalog->call, &ignored, metadata, "project", &project) ||
        !project || !name_valid(project))
        project = "default";
    const char **names = mem_alloc(LIMIT_STEPS * sizeof *names);
    struct job_check c = {
        .catalog = catalog, .prefix = prefix, .separator = *prefix ? "." : "", .details = details, .names = names};
    gather_names(catalog->call, graph, names, &c.name_count);
    for (struct json_walk walk = json_walk_begin(triggers);
         json_type_of(triggers) == JSON_ARRAY && json_walk_next(&walk) && c.offset < LIMIT_TRIGGERS; c.offset++) {
        struct document *document = parse_piece(project, walk.value, none);
        if (document) {
            c.job = &document->job;
            check_triggers(&c);
        }
        document_free(document);
    }
    c.offset = 0;
    for (struct json_walk walk = json_walk_begin(graph);
         json_type_of(graph) == JSON_ARRAY && json_walk_next(&walk) && c.offset < LIMIT_STEPS; c.offset++) {
        struct document *document =
            json_type_of(walk.value) == JSON_OBJECT ? parse_piece(project, none, walk.value) : NULL;
        if (document && document->job.step_count == 1) {
            c.job = &document->job;
            check_templates(&c, 0);
            check_task(&c, 0);
        }
        document_free(document);
    }
    free(names);
}
