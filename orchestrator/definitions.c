#include "orchestrator/definitions.h"

#include <stdio.h>
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "orchestrator/view.h"

void put_result_release(struct put_result *result)
{
    free(result->before);
    result->before = NULL;
}

const char *document_project(const struct document *document)
{
    switch (document->kind) {
    case DOCUMENT_APPLICATION:
        return document->application.meta.project;
    case DOCUMENT_CALENDAR:
        return document->calendar.project;
    case DOCUMENT_JOB:
        return document->job.meta.project;
    case DOCUMENT_PROJECT:
    case DOCUMENT_KINDS:
        break;
    }
    return "";
}

const char *document_name(const struct document *document)
{
    switch (document->kind) {
    case DOCUMENT_PROJECT:
        return document->project.meta.name;
    case DOCUMENT_APPLICATION:
        return document->application.meta.name;
    case DOCUMENT_CALENDAR:
        return document->calendar.name;
    case DOCUMENT_JOB:
    case DOCUMENT_KINDS:
        break;
    }
    return document->job.meta.name;
}

void definition_missing(struct problem *problem, enum document_kind kind, const char *project, const char *name)
{
    switch (kind) {
    case DOCUMENT_PROJECT:
        problem_set(problem, PROJECT_UNKNOWN, "project", name, NULL);
        return;
    case DOCUMENT_APPLICATION:
        problem_set(problem, APPLICATION_UNKNOWN, "project", project, "name", name, NULL);
        return;
    case DOCUMENT_CALENDAR:
        problem_set(problem, CALENDAR_UNKNOWN, "project", project, "name", name, NULL);
        return;
    case DOCUMENT_JOB:
    case DOCUMENT_KINDS:
        break;
    }
    problem_set(problem, JOB_UNKNOWN, "project", project, "job", name, NULL);
}

/* ---- check ---- */

/* The code of the whole: a task that nobody offers has its own, when nothing else is wrong. */
static void set_invalid(struct problem *problem)
{
    char count[24];
    bool only_tasks = !problem->details.other_errors;
    (void)snprintf(count, sizeof count, "%zu", problem->details.errors);
    problem_set(problem, only_tasks ? TASK_UNKNOWN : DEFINITION_INVALID, "count", count, NULL);
}

struct document *definition_parse(struct catalog *catalog, struct slice body, enum document_kind kind,
                                  const char *project, const char *name, struct problem *problem)
{
    struct str text;
    struct faults faults;
    str_init(&text, 2 * LIMIT_DOCUMENT);
    faults_init(&faults);
    document_normalise(body, kind, project, name, &problem->details, &text);
    struct document *document = NULL;
    if (str_status(&text) == STATUS_OK)
        document = document_parse(str_text(&text), text.length, kind, &faults);
    else
        faults_add(&faults, "", "the document is too big");
    details_add_faults(&problem->details, "", &faults);
    if (!document && !problem->details.errors)
        details_add(&problem->details, DEFINITION_INVALID, false, "", "the document could not be read");
    faults_release(&faults);
    if (document)
        document_check(catalog, document, "", &problem->details);
    else if (kind == DOCUMENT_JOB && str_status(&text) == STATUS_OK)
        document_check_pieces(catalog, slice_of(str_text(&text), text.length), "", &problem->details);
    str_release(&text);
    if (catalog->failed) {
        problem_release(problem);
        *problem = catalog->call->problem;
        catalog->call->problem = (struct problem){0};
    } else if (problem->details.errors) {
        set_invalid(problem);
    }
    if (problem->code == PROBLEM_NONE)
        return document;
    document_free(document);
    return NULL;
}

/* ---- store ---- */

bool definition_fetch(struct call *call, enum document_kind kind, const char *project, const char *name,
                      struct store_op *op, struct problem *problem)
{
    store_op_init(op, STORE_LIST);
    op->list.kind = kind;
    op->list.project = kind == DOCUMENT_PROJECT ? NULL : project;
    op->list.names = &name;
    op->list.name_count = 1;
    op->list.limit = 1;
    enum status status = call_store(call, op);
    op->list.names = NULL; /* lived here */
    if (status == STATUS_OK && op->list.count)
        return true;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        definition_missing(problem, kind, project, name);
    else
        problem_of_store(problem, op);
    store_op_release(op);
    return false;
}

static bool same_document(const struct document *document, const char *stored)
{
    struct str text;
    char one[HASH_HEX_SIZE], other[HASH_HEX_SIZE];
    str_init(&text, 2 * LIMIT_DOCUMENT);
    document_write(document, &text);
    document_fingerprint(str_text(&text), one);
    document_fingerprint(stored, other);
    str_release(&text);
    return !strcmp(one, other);
}

static bool look_before(struct call *call, const struct document *document, const struct put_options *options,
                        struct put_result *ret, struct problem *problem)
{
    struct store_op op;
    struct problem missing = {0};
    ret->created = true;
    if (definition_fetch(call, document->kind, document_project(document), document_name(document), &op, &missing)) {
        ret->created = false;
        ret->version = op.list.rows[0].version;
        ret->before = mem_copy_text(op.list.rows[0].json);
        store_op_release(&op);
    } else if (missing.code == STORE_AWAY || missing.code == INTERNAL) {
        *problem = missing;
        return false;
    }
    ret->unchanged = ret->before && same_document(document, ret->before);
    bool stale = options->if_match && options->if_match != ret->version;
    if (stale || (options->create_only && !ret->created))
        return problem_set(problem, VERSION_CHANGED, "name", document_name(document), NULL);
    return true;
}

/* Where the document comes from: what the request says, when it is one that we know. */
static const char *source_of(struct call *call)
{
    static const char *const sources[] = {"file", "ui", "api", "imported"};
    if (call->source && strcmp(call->source, "registered") == 0)
        return "registered"; /* no request may say so of itself */
    const char *text = call->source ? call->source : http_header(call->request, "X-Carillon-Source");
    for (size_t i = 0; text && i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(text, sources[i]))
            return sources[i];
    return "api";
}

static void name_triggers(struct call *call, const struct job_spec *job, struct store_put *put)
{
    const char **names = arena_array(&call->arena, const char *, job->trigger_count + 1);
    const char **paused = arena_array(&call->arena, const char *, job->trigger_count + 1);
    if (!names || !paused)
        return;
    for (size_t i = 0; i < job->trigger_count; i++) {
        names[put->trigger_count++] = job->triggers[i].name;
        if (job->triggers[i].paused)
            paused[put->paused_count++] = job->triggers[i].name;
    }
    put->pool = job->pool;
    put->trigger_names = names;
    put->paused_triggers = paused;
}

static bool refused(struct problem *problem, const struct store_op *op, const struct document *document)
{
    const char *name = document_name(document), *project = document_project(document);
    if (op->status == STATUS_CONFLICT || op->status == STATUS_EXISTS)
        return problem_set(problem, VERSION_CHANGED, "name", name, NULL);
    if (op->status == STATUS_NOT_FOUND)
        return problem_set(problem, PROJECT_UNKNOWN, "project", project, NULL);
    if (op->status == STATUS_INVALID) {
        details_add(&problem->details, DEFINITION_INVALID, false, "", "%s", op->error.text);
        set_invalid(problem);
        return false;
    }
    return problem_of_store(problem, op);
}

struct put_draft { /* what the store is asked to keep; texts live here */
    struct store_put put;
    struct str text;
    char fingerprint[HASH_HEX_SIZE];
};

static void put_draft_release(struct put_draft *draft)
{
    str_release(&draft->text);
}

static bool put_draft_begin(struct call *call, const struct document *document, const struct put_options *options,
                            struct put_draft *ret, struct problem *problem)
{
    struct store_put *put = &ret->put;
    *ret = (struct put_draft){0};
    str_init(&ret->text, 2 * LIMIT_DOCUMENT);
    document_write(document, &ret->text);
    if (str_status(&ret->text) != STATUS_OK) {
        str_release(&ret->text);
        return problem_set(problem, INTERNAL, NULL);
    }
    document_fingerprint(str_text(&ret->text), ret->fingerprint);
    put->kind = document->kind;
    put->project = document->kind == DOCUMENT_PROJECT ? NULL : document_project(document);
    put->name = document_name(document);
    put->json = str_text(&ret->text);
    put->fingerprint = ret->fingerprint;
    put->author = call->who.name;
    put->source = source_of(call);
    put->if_match = options->if_match;
    put->create_only = options->create_only;
    if (document->kind == DOCUMENT_JOB)
        name_triggers(call, &document->job, put);
    return true;
}

static void put_taken(const struct store_put *put, struct put_result *ret)
{
    ret->version = put->version;
    ret->created = put->created;
    ret->unchanged = put->unchanged;
}

bool definition_store(struct call *call, const struct document *document, const struct put_options *options,
                      struct put_result *ret, struct problem *problem)
{
    struct store_op op;
    struct put_draft draft;
    *ret = (struct put_result){0};
    if (options->dry_run)
        return look_before(call, document, options, ret, problem);
    if (!put_draft_begin(call, document, options, &draft, problem))
        return false;
    store_op_init(&op, STORE_PUT);
    op.put = draft.put;
    op.put.fingerprint = draft.fingerprint;
    bool ok = call_store(call, &op) == STATUS_OK || refused(problem, &op, document);
    if (ok) {
        put_taken(&op.put, ret);
        if (!op.put.unchanged)
            call_poke(call);
    }
    store_op_release(&op);
    put_draft_release(&draft);
    return ok;
}

bool definitions_store(struct call *call, struct put_wish *wishes, size_t count, const struct put_options *options,
                       struct problem *problem)
{
    struct store_op op;
    struct put_draft *drafts = mem_alloc((count + 1) * sizeof *drafts);
    struct store_put *puts = mem_alloc((count + 1) * sizeof *puts);
    size_t begun = 0;
    bool ok = true, changed = false;
    for (; begun < count && ok; begun += ok) {
        *wishes[begun].result = (struct put_result){0};
        ok = put_draft_begin(call, wishes[begun].document, options, &drafts[begun], problem);
        if (ok)
            puts[begun] = drafts[begun].put;
    }
    for (size_t i = 0; i < begun; i++)
        puts[i].fingerprint = drafts[i].fingerprint;
    store_op_init(&op, STORE_PUTS);
    op.puts = (struct store_puts){.items = puts, .count = count};
    if (ok && call_store(call, &op) != STATUS_OK)
        ok = op.puts.failed < count ? refused(problem, &op, wishes[op.puts.failed].document)
                                    : problem_of_store(problem, &op);
    for (size_t i = 0; ok && i < count; i++) {
        put_taken(&puts[i], wishes[i].result);
        changed = changed || !puts[i].unchanged;
    }
    if (changed)
        call_poke(call);
    store_op_release(&op);
    for (size_t i = 0; i < begun; i++)
        put_draft_release(&drafts[i]);
    free(drafts);
    free(puts);
    return ok;
}

/* Is this the version that the caller named (0 = any)? Tells a lost race from a definition that is in use. */
static bool is_current(struct call *call, enum document_kind kind, const char *project, const char *name,
                       int64_t version)
{
    struct store_op op;
    struct problem ignored = {0};
    if (!version || !definition_fetch(call, kind, project, name, &op, &ignored))
        return true;
    bool current = op.list.rows[0].version == version;
    store_op_release(&op);
    return current;
}

bool definition_remove(struct call *call, enum document_kind kind, const char *project, const char *name,
                       int64_t if_match, struct problem *problem)
{
    struct store_op op;
    store_op_init(&op, STORE_DELETE);
    op.delete.kind = kind;
    op.delete.project = kind == DOCUMENT_PROJECT ? NULL : project;
    op.delete.name = name;
    op.delete.author = call->who.name;
    op.delete.if_match = if_match;
    enum status status = call_store(call, &op);
    if (status == STATUS_NOT_FOUND)
        definition_missing(problem, kind, project, name);
    else if (status == STATUS_CONFLICT && !is_current(call, kind, project, name, if_match))
        problem_set(problem, VERSION_CHANGED, "name", name, NULL);
    else if (status == STATUS_CONFLICT || status == STATUS_IN_USE)
        problem_set(problem, IN_USE, "name", name, "reason", op.error.text, NULL);
    else
        problem_of_store(problem, &op);
    store_op_release(&op);
    if (status == STATUS_OK)
        call_poke(call);
    return status == STATUS_OK;
}

/* ---- answers ---- */

static void write_plain_status(const struct definition_row *row, struct out *out)
{
    out_open(out, NULL, '{');
    out_int(out, "version", row->version);
    out_time(out, "created_at", row->first_created_at);
    out_time(out, "updated_at", row->created_at);
    out_text(out, "author", row->author);
    out_text(out, "source", row->source);
    out_close(out, '}');
}

static void write_answer(const struct call *call, const struct put_answer *answer, struct out *out)
{
    out_bool(out, "created", answer->result->created);
    out_bool(out, "unchanged", answer->result->unchanged);
    if (answer->options->dry_run) {
        out_bool(out, "dry_run", true);
        out_key(out, "changes");
        document_changes(answer->result->before, answer->after, out->to);
        out_key(out, "diff");
        document_diff(answer->result->before, answer->after, out->to);
    }
    out_key(out, "warnings");
    details_write(answer->details, true, call->language, out->to);
}

bool definition_write(struct catalog *catalog, const struct definition_row *row, const struct put_answer *answer,
                      struct out *out)
{
    size_t length = strlen(row->json);
    struct job_view view;
    bool job = row->kind == DOCUMENT_JOB;
    if (job && !job_view_open(catalog, row, &view))
        return false;
    out_key(out, NULL);
    str_add_bytes(out->to, row->json, length ? length - 1 : 0); /* without its closing brace */
    out_key(out, "status");
    struct out inner = out_to(out->to);
    if (job) {
        job_view_write(catalog->call, &view, &inner);
        job_view_release(&view);
    } else {
        write_plain_status(row, &inner);
    }
    if (answer)
        write_answer(catalog->call, answer, out);
    out_close(out, '}');
    return true;
}

/* Of a dry run: nothing is stored, so the row is made of what was checked. */
static bool write_dry(struct catalog *catalog, const struct document *document, struct put_answer *answer)
{
    struct call *call = catalog->call;
    struct str text;
    str_init(&text, 2 * LIMIT_DOCUMENT);
    document_write(document, &text);
    struct definition_row row = {.kind = document->kind,
                                 .project = document_project(document),
                                 .name = document_name(document),
                                 .version = answer->result->version,
                                 .json = str_text(&text),
                                 .created_at = INSTANT_NONE,
                                 .first_created_at = INSTANT_NONE,
                                 .slot = -1};
    struct out out = out_to(call_body(call));
    answer->after = str_text(&text);
    bool ok = definition_write(catalog, &row, answer, &out);
    str_release(&text);
    return ok;
}

static void answer_put(struct catalog *catalog, const struct document *document, struct put_answer *answer)
{
    struct call *call = catalog->call;
    struct store_op op;
    if (answer->options->dry_run) {
        (void)write_dry(catalog, document, answer);
        return;
    }
    catalog_release(catalog); /* what it knew may be older than what was written */
    catalog_init(catalog, call);
    if (!definition_fetch(call, document->kind, document_project(document), document_name(document), &op,
                          &call->problem))
        return;
    struct out out = out_to(call_body(call));
    if (definition_write(catalog, &op.list.rows[0], answer, &out)) {
        call->response->status = answer->result->created ? 201 : 200;
        http_response_header(call->response, "ETag", "\"%lld\"", (long long)op.list.rows[0].version);
        if (answer->result->created)
            http_response_header(call->response, "Location", "%s", call->request->path);
    }
    store_op_release(&op);
}

void definition_handle_put(struct call *call, enum document_kind kind, const char *name)
{
    struct slice body;
    struct put_options options = {0};
    struct put_result result = {0};
    struct catalog catalog;
    const char *none_match = http_header(call->request, "If-None-Match");
    options.create_only = none_match && !strcmp(none_match, "*");
    if (!input_object(call, &body) || !query_bool(call, "dry_run", &options.dry_run) ||
        !input_if_match(call, &options.if_match))
        return;
    catalog_init(&catalog, call);
    struct problem problem = {0};
    struct document *document = NULL;
    if (kind != DOCUMENT_PROJECT && !catalog_find(&catalog, DOCUMENT_PROJECT, "", call->project))
        (void)(catalog.failed || problem_set(&problem, PROJECT_UNKNOWN, "project", call->project, NULL));
    if (!catalog.failed && problem.code == PROBLEM_NONE)
        document = definition_parse(&catalog, body, kind, call->project, name, &problem);
    if (document && definition_store(call, document, &options, &result, &problem)) {
        struct put_answer answer = {&result, &problem.details, &options, NULL};
        answer_put(&catalog, document, &answer);
    }
    if (problem.code != PROBLEM_NONE) {
        call->problem = problem; /* takes the details over */
        problem = (struct problem){0};
    }
    problem_release(&problem);
    put_result_release(&result);
    document_free(document);
    catalog_release(&catalog);
}

/* ?effective=true: every default written out, beside the same status. */
static void write_effective(struct catalog *catalog, const struct definition_row *row, struct out *out)
{
    struct faults faults;
    struct str text;
    faults_init(&faults);
    str_init(&text, 4 * LIMIT_DOCUMENT);
    struct document *document = document_parse(row->json, strlen(row->json), row->kind, &faults);
    if (document) {
        struct definition_row effective = *row;
        document_write_effective(document, &text);
        effective.json = str_text(&text);
        (void)definition_write(catalog, &effective, NULL, out);
    } else {
        (void)definition_write(catalog, row, NULL, out); /* of a later release: as it is */
    }
    document_free(document);
    str_release(&text);
    faults_release(&faults);
}

void definition_handle_get(struct call *call, enum document_kind kind, const char *name)
{
    struct store_op op;
    struct catalog catalog;
    struct out out = out_to(call_body(call));
    bool effective;
    if (!query_bool(call, "effective", &effective) ||
        !definition_fetch(call, kind, call->project, name, &op, &call->problem))
        return;
    catalog_init(&catalog, call);
    if (effective)
        write_effective(&catalog, &op.list.rows[0], &out);
    else if (definition_write(&catalog, &op.list.rows[0], NULL, &out))
        http_response_header(call->response, "ETag", "\"%lld\"", (long long)op.list.rows[0].version);
    catalog_release(&catalog);
    store_op_release(&op);
}

void definition_handle_delete(struct call *call, enum document_kind kind, const char *name)
{
    int64_t if_match;
    if (input_if_match(call, &if_match) && definition_remove(call, kind, call->project, name, if_match, &call->problem))
        call->response->status = 204;
}

/* An item of a list: the document, its name in front, its status behind. */
static void write_item(const struct definition_row *row, struct out *out)
{
    const char *rest = strchr(row->json, '{');
    out_open(out, NULL, '{');
    out_text(out, "name", row->name);
    out_int(out, "version", row->version);
    if (rest && rest[1] != '}') {
        str_add_char(out->to, ',');
        str_add_bytes(out->to, rest + 1, strlen(rest + 1) - 1);
    }
    out_key(out, "status");
    struct out inner = out_to(out->to);
    write_plain_status(row, &inner);
    out_close(out, '}');
}

void definition_handle_list(struct call *call, enum document_kind kind)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    const char *only = call->who.project;
    if (!input_page(call, &page))
        return;
    store_op_init(&op, STORE_LIST);
    op.list.kind = kind;
    op.list.project = kind == DOCUMENT_PROJECT ? NULL : call->project;
    op.list.text = http_query(call->request, "q");
    op.list.skip = page.skip;
    op.list.limit = page.limit;
    if (kind == DOCUMENT_PROJECT && *only) { /* a token of one project sees that one */
        op.list.names = &only;
        op.list.name_count = 1;
    }
    if (call_store(call, &op) == STATUS_OK) {
        out_open(&out, NULL, '{');
        out_open(&out, "items", '[');
        for (size_t i = 0; i < op.list.count; i++)
            write_item(&op.list.rows[i], &out);
        out_close(&out, ']');
        out_int(&out, "total", op.list.total);
        out_close(&out, '}');
    } else if (op.status == STATUS_NOT_FOUND) {
        definition_missing(&call->problem, DOCUMENT_PROJECT, NULL, call->project);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}
