/* POST /apply: a set of documents in any order. All are checked first, against each other and what is stored; any fault
 * and nothing is written. Writing is one transaction, by kind, so that what is referred to is there first. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/definitions.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

struct member {
    struct document *document;
    char *pieces; /* text of a job that does not parse; owned */
    struct put_result result;
    char *status;         /* of a job, as JSON text; owned */
    char *changes, *diff; /* of a dry run; owned */
};

struct set {
    struct catalog catalog;
    struct details details;
    struct member *members;
    size_t count;
};

static void parse_member(struct set *set, size_t index, struct slice body)
{
    struct str text;
    struct faults faults;
    char prefix[40];
    (void)snprintf(prefix, sizeof prefix, "documents[%zu]", index);
    if (json_type_of(body) != JSON_OBJECT) {
        details_add(&set->details, DEFINITION_INVALID, false, prefix, "must be a document (an object)");
        return;
    }
    str_init(&text, 2 * LIMIT_DOCUMENT);
    faults_init(&faults);
    document_normalise(body, DOCUMENT_KINDS, NULL, NULL, &set->details, &text);
    set->members[index].document = document_parse(str_text(&text), text.length, DOCUMENT_KINDS, &faults);
    details_add_faults(&set->details, prefix, &faults);
    if (!set->members[index].document && !faults.errors)
        details_add(&set->details, DEFINITION_INVALID, false, prefix, "the document could not be read");
    faults_release(&faults);
    if (!set->members[index].document && json_string_equals(json_member(body, "kind"), "Job"))
        set->members[index].pieces = str_take(&text); /* looked at when the whole set is known */
    str_release(&text);
}

/* Rights go by document: projects need an admin, and a token of one project stays in it. */
static bool permitted(struct call *call, const struct document *document)
{
    bool project = document->kind == DOCUMENT_PROJECT;
    return call_may(call, project ? ROLE_ADMIN : ROLE_DEVELOPER,
                    project ? document_name(document) : document_project(document), &call->problem);
}

static void check_twice(struct set *set, size_t index)
{
    const struct document *document = set->members[index].document;
    char path[64];
    for (size_t i = 0; i < index; i++) {
        const struct document *other = set->members[i].document;
        if (!other || other->kind != document->kind || strcmp(document_name(other), document_name(document)) != 0 ||
            strcmp(document_project(other), document_project(document)) != 0)
            continue;
        (void)snprintf(path, sizeof path, "documents[%zu].metadata.name", index);
        details_add(&set->details, DEFINITION_INVALID, false, path, "documents[%zu] is the same %s \"%s\"", i,
                    document_kind_text(document->kind), document_name(document));
        return;
    }
}

static bool check_set(struct call *call, struct set *set, struct slice documents)
{
    char prefix[40];
    size_t index = 0;
    for (struct json_walk walk = json_walk_begin(documents); json_walk_next(&walk); index++)
        parse_member(set, index, walk.value);
    for (size_t i = 0; i < set->count; i++)
        if (set->members[i].document) {
            if (!permitted(call, set->members[i].document))
                return false;
            catalog_offer(&set->catalog, set->members[i].document);
        }
    for (size_t i = 0; i < set->count && !set->catalog.failed; i++) {
        const struct member *member = &set->members[i];
        (void)snprintf(prefix, sizeof prefix, "documents[%zu]", i);
        if (member->document) {
            check_twice(set, i);
            document_check(&set->catalog, member->document, prefix, &set->details);
        } else if (member->pieces) {
            document_check_pieces(&set->catalog, slice_of(member->pieces, strlen(member->pieces)), prefix,
                                  &set->details);
        }
    }
    if (set->catalog.failed)
        return false;
    if (set->details.errors) {
        char count[24];
        (void)snprintf(count, sizeof count, "%zu", set->details.errors);
        char all[24];
        (void)snprintf(all, sizeof all, "%zu", set->count);
        call_fail(call, set->count > 1 ? DOCUMENTS_INVALID : DEFINITION_INVALID, "count", count, "documents", all,
                  NULL);
        call->problem.details = set->details;
        set->details = (struct details){0};
        return false;
    }
    return true;
}

static char *full_form(const struct document *document)
{
    struct str text;
    str_init(&text, 2 * LIMIT_DOCUMENT);
    document_write(document, &text);
    return str_take(&text);
}

/* Status of a job: as stored, or (dry run) as it would be. */
static void describe_job(struct call *call, struct set *set, struct member *member, bool dry_run, const char *json)
{
    const struct document *document = member->document;
    struct definition_row row = {.kind = DOCUMENT_JOB,
                                 .project = document_project(document),
                                 .name = document_name(document),
                                 .slot = -1,
                                 .created_at = INSTANT_NONE,
                                 .first_created_at = INSTANT_NONE};
    struct store_op op;
    struct problem ignored = {0};
    struct job_view view;
    struct str text;
    struct out out = out_to(&text);
    bool stored = definition_fetch(call, DOCUMENT_JOB, row.project, row.name, &op, &ignored);
    if (stored)
        row = op.list.rows[0];
    if (dry_run || !stored)
        row.json = json;
    str_init(&text, 4 * LIMIT_DOCUMENT);
    if (job_view_open(&set->catalog, &row, &view)) {
        job_view_write(call, &view, &out);
        job_view_release(&view);
        member->status = str_take(&text);
    }
    str_release(&text);
    if (stored)
        store_op_release(&op);
}

/* What the answer tells of a document after the write, or of a dry run. */
static void describe(struct call *call, struct set *set, struct member *member, const struct put_options *options)
{
    struct str text;
    char *json = full_form(member->document);
    if (!json)
        return;
    if (member->document->kind == DOCUMENT_JOB)
        describe_job(call, set, member, options->dry_run, json);
    if (options->dry_run) {
        str_init(&text, 4 * LIMIT_DOCUMENT);
        document_changes(member->result.before, json, &text);
        member->changes = str_take(&text);
        document_diff(member->result.before, json, &text);
        member->diff = str_take(&text);
        str_release(&text);
    }
    free(json);
}

static bool write_set(struct call *call, struct set *set, const struct put_options *options)
{
    static const enum document_kind order[] = {DOCUMENT_PROJECT, DOCUMENT_CALENDAR, DOCUMENT_APPLICATION, DOCUMENT_JOB};
    struct put_wish *wishes = mem_alloc((set->count + 1) * sizeof *wishes);
    size_t n = 0;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < set->count; i++) {
            struct member *member = &set->members[i];
            if (member->document->kind == order[k])
                wishes[n++] = (struct put_wish){member->document, &member->result};
        }
    bool ok = true;
    if (options->dry_run)
        for (size_t i = 0; i < n && ok; i++)
            ok = definition_store(call, wishes[i].document, options, wishes[i].result, &call->problem);
    else
        ok = definitions_store(call, wishes, n, options, &call->problem);
    free(wishes);
    for (size_t i = 0; i < set->count && ok; i++)
        describe(call, set, &set->members[i], options);
    return ok;
}

/* Warnings of one document, their paths within it. */
static void write_warnings(const struct call *call, const struct set *set, size_t index, struct out *out)
{
    char prefix[40];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "documents[%zu].", index);
    out_open(out, "warnings", '[');
    for (size_t i = 0; i < set->details.count; i++) {
        const struct detail *detail = &set->details.items[i];
        if (!detail->warning || strncmp(detail->path, prefix, length) != 0)
            continue;
        out_open(out, NULL, '{');
        out_text(out, "path", detail->path + length);
        out_text(out, "code", "WARNING");
        detail_text(detail, call->language, out);
        out_close(out, '}');
    }
    out_close(out, ']');
}

static void write_member(struct call *call, const struct set *set, size_t index, bool dry_run, struct out *out)
{
    const struct member *member = &set->members[index];
    const char *project = document_project(member->document), *name = document_name(member->document);
    out_open(out, NULL, '{');
    out_text(out, "key", *project ? call_printf(call, "%s/%s", project, name) : name);
    out_text(out, "kind", document_kind_text(member->document->kind));
    out_bool(out, "ok", true);
    out_open(out, "result", '{');
    out_bool(out, "created", member->result.created);
    out_bool(out, "unchanged", member->result.unchanged);
    out_int(out, "version", member->result.version);
    if (dry_run) {
        out_json(out, "changes", member->changes);
        out_json(out, "diff", member->diff);
    }
    if (member->status) {
        struct slice triggers = json_member(slice_of(member->status, strlen(member->status)), "triggers");
        out_key(out, "triggers");
        str_add_bytes(out->to, triggers.bytes, triggers.length);
        out_json(out, "status", member->status);
    }
    write_warnings(call, set, index, out);
    out_close(out, '}');
    out_close(out, '}');
}

static void write_answer(struct call *call, const struct set *set, const struct put_options *options)
{
    struct out out = out_to(call_body(call));
    out_open(&out, NULL, '{');
    out_open(&out, "items", '[');
    for (size_t i = 0; i < set->count; i++)
        write_member(call, set, i, options->dry_run, &out);
    out_close(&out, ']');
    out_bool(&out, "dry_run", options->dry_run);
    out_key(&out, "warnings");
    details_write(&set->details, true, call->language, out.to);
    out_close(&out, '}');
}

void apply_documents(struct call *call)
{
    struct slice body, documents;
    struct put_options options = {0};
    char count[24], maximum[24];
    bool dry = false;
    if (!query_bool(call, "dry_run", &options.dry_run) || !input_object(call, &body) ||
        !input_member(&call->problem, body, "documents", JSON_ARRAY, &documents) ||
        !input_bool(&call->problem, body, "dry_run", &dry) ||
        !input_text(call, &call->problem, body, "source", &call->source))
        return;
    options.dry_run = options.dry_run || dry;
    if (!documents.length) {
        call_fail(call, JSON_INVALID, "reason", "it must have \"documents\" (a list)", NULL);
        return;
    }
    struct set set = {.count = json_count(documents)};
    if (set.count > LIMIT_BATCH_ITEMS) {
        (void)snprintf(count, sizeof count, "%zu", set.count);
        (void)snprintf(maximum, sizeof maximum, "%d", LIMIT_BATCH_ITEMS);
        call_fail(call, BATCH_TOO_BIG, "count", count, "maximum", maximum, NULL);
        return;
    }
    set.members = mem_alloc((set.count + 1) * sizeof *set.members);
    catalog_init(&set.catalog, call);
    if (check_set(call, &set, documents) && write_set(call, &set, &options))
        write_answer(call, &set, &options);
    catalog_release(&set.catalog);
    details_release(&set.details);
    for (size_t i = 0; i < set.count; i++) {
        document_free(set.members[i].document);
        put_result_release(&set.members[i].result);
        free(set.members[i].status);
        free(set.members[i].pieces);
        free(set.members[i].changes);
        free(set.members[i].diff);
    }
    free(set.members);
}
