/* Definitions on their way into the store and out of it: read from a request and checked, kept, looked up, removed. */
#include <stdio.h>
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "orchestrator/definitions.h"

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
