/* Definitions of every kind, the same way: PUT, GET, DELETE, list. Each resource file adds what is its own. */
#ifndef CARILLON_ORCHESTRATOR_DEFINITIONS_H
#define CARILLON_ORCHESTRATOR_DEFINITIONS_H

#include "orchestrator/check.h"

struct put_options {
    bool dry_run, create_only;
    int64_t if_match;
};

struct put_result {
    int64_t version;
    bool created, unchanged;
    char *before; /* owned; NULL = none */
};
void put_result_release(struct put_result *result);

/* Normalises, parses and checks `body` against the catalog; NULL with `problem` (details: all faults). Warnings are
 * kept in problem->details in either case. */
struct document *definition_parse(struct catalog *catalog, struct slice body, enum document_kind kind,
                                  const char *project, const char *name, struct problem *problem);
/* Writes a checked document to the store (or, dry_run, looks what is there). */
bool definition_store(struct call *call, const struct document *document, const struct put_options *options,
                      struct put_result *ret, struct problem *problem);
/* Several checked documents, in this order, all or nothing. Not for dry runs. */
struct put_wish {
    const struct document *document;
    struct put_result *result;
};
bool definitions_store(struct call *call, struct put_wish *wishes, size_t count, const struct put_options *options,
                       struct problem *problem);
bool definition_remove(struct call *call, enum document_kind kind, const char *project, const char *name,
                       int64_t if_match, struct problem *problem);
/* One definition; `op` holds the row (op->list.rows[0]) until store_op_release. false with `problem`; op is released.
 */
bool definition_fetch(struct call *call, enum document_kind kind, const char *project, const char *name,
                      struct store_op *op, struct problem *problem);
/* Which code says that there is none of this kind. */
void definition_missing(struct problem *problem, enum document_kind kind, const char *project, const char *name);

/* The document as stored, byte for byte, with `status` behind; members of `answer` (may be NULL) follow. */
struct put_answer {
    const struct put_result *result;
    const struct details *details; /* warnings */
    const struct put_options *options;
    const char *after; /* full form, for the difference of a dry run */
};
bool definition_write(struct catalog *catalog, const struct definition_row *row, const struct put_answer *answer,
                      struct out *out);

/* Whole handlers. */
void definition_handle_put(struct call *call, enum document_kind kind, const char *name);
void definition_handle_get(struct call *call, enum document_kind kind, const char *name);
void definition_handle_delete(struct call *call, enum document_kind kind, const char *name);
void definition_handle_list(struct call *call, enum document_kind kind);

const char *document_project(const struct document *document); /* "" for projects */
const char *document_name(const struct document *document);

#endif
