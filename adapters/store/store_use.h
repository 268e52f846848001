/* Look-ups of definitions by name, and who still needs one. Private to adapters/store. */
#ifndef CARILLON_ADAPTERS_STORE_STORE_USE_H
#define CARILLON_ADAPTERS_STORE_STORE_USE_H

#include "adapters/store/sql_session.h"

enum status project_find(struct session *s, const char *name, int64_t *ret) MUST_USE;
/* The live one. ret_fingerprint may be NULL. */
enum status definition_find(struct session *s, enum document_kind kind, int64_t project, const char *name,
                            struct definition_row *ret, const char **ret_fingerprint) MUST_USE;
/* CONFLICT, naming one user, when something live refers to it. */
enum status definition_unused(struct session *s, enum document_kind kind, int64_t project,
                              const struct definition_row *row) MUST_USE;
/* All jobs that ever had this name, newest first, at most LIST_MAX. */
enum status jobs_named(struct session *s, int64_t project, const char *name, int64_t ids[LIST_MAX],
                       size_t *ret_count) MUST_USE;

#endif
