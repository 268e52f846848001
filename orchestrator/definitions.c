#include "orchestrator/definitions.h"

#include <string.h>

#include "orchestrator/view.h"

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
        out_page_begin(&out);
        for (size_t i = 0; i < op.list.count; i++)
            write_item(&op.list.rows[i], &out);
        out_page_end(&out, op.list.total);
    } else if (op.status == STATUS_NOT_FOUND) {
        definition_missing(&call->problem, DOCUMENT_PROJECT, NULL, call->project);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}
