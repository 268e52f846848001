/* Checks a document as a whole: what document_parse can tell, and what needs other documents or files: project, graph,
 * zones, calendars, cron, tasks, templates. All faults at once. */
#ifndef CARILLON_ORCHESTRATOR_CHECK_H
#define CARILLON_ORCHESTRATOR_CHECK_H

#include "orchestrator/catalog.h"

/* The document form that the parser wants from what a request carries: kind and metadata of the address filled in or
 * compared, `status` (of an earlier GET) left out. Faults go to `details`. name NULL: the body must name itself. */
void document_normalise(struct slice body, enum document_kind kind, const char *project, const char *name,
                        struct details *details, struct str *ret);

/* Everything beyond document_parse. `prefix` stands before each path ("" or "documents[3]"). */
void document_check(struct catalog *catalog, const struct document *document, const char *prefix,
                    struct details *details);

/* A job that document_parse has refused: checks those triggers and steps that can be read by themselves, so that their
 * faults are told in the same answer. `body`: the normalised document, checked JSON. */
void document_check_pieces(struct catalog *catalog, struct slice body, const char *prefix, struct details *details);

/* SHA-256 of the document in canonical form (sorted keys, without `paused`): equal documents are no new version. */
void document_fingerprint(const char *json, char ret[65]);

/* The same for programs and for people:
 * [{"path","op":"add"|"remove"|"replace","before","after"}] and ["~ path: before → after", …]. before NULL = nothing
 * was there. */
void document_changes(const char *before, const char *after, struct str *ret);
void document_diff(const char *before, const char *after, struct str *ret);

#endif
