/* Documents (api.md §7): JSON text → validated model, all faults at once, each with its path.
 * A document owns its arena; the specs inside borrow from it. JSON values that are carried (params, alerts) are the
 * very bytes of the input: numbers of any size, key order and characters as they were written.
 *
 * document_parse checks everything that one document can tell (form, names, limits, graph, durations). What needs other
 * documents or files (zones, cron, known tasks and calendars, "can never fire") is checked by the roof with core/logic.
 */
#ifndef CARILLON_CORE_MODEL_DOCUMENT_H
#define CARILLON_CORE_MODEL_DOCUMENT_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/model/job.h"

enum document_kind { DOCUMENT_PROJECT, DOCUMENT_APPLICATION, DOCUMENT_CALENDAR, DOCUMENT_JOB, DOCUMENT_KINDS };

struct document {
    enum document_kind kind;
    union {
        struct project_spec project;
        struct application_spec application;
        struct calendar_spec calendar;
        struct job_spec job;
    };
    const char *spec_json; /* the `spec` member, byte for byte (compacted: no white space outside strings) */
    struct arena arena;
};

/* Parse one document of JSON text. `fallback_kind`: used when the text has no `kind` (PUT by URL); DOCUMENT_KINDS = it
 * must have one. Returns NULL when faults->errors > 0 (or out of memory). Free with document_free. */
struct document *document_parse(const char *json, size_t length, enum document_kind fallback_kind,
                                struct faults *faults);
void document_free(struct document *document); /* NULL is fine */

struct metadata *document_metadata(struct document *document);
const char *document_kind_text(enum document_kind kind); /* "Job" */
bool document_kind_parse(const char *text, enum document_kind *ret);

/* Full form with apiVersion, kind, metadata, spec. */
void document_write(const struct document *document, struct str *ret);
/* The same with every default written out, blocks of the graph as plain steps, names and units in one spelling:
 * `carillon job --effective`. Parsed again it gives the same model. */
void document_write_effective(const struct document *document, struct str *ret);

#endif
