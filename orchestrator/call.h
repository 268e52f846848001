/* One request on its way through the orchestrator, and what every handler needs: inputs read with their limits, store
 * operations with their failures told in the error form, permissions.
 *
 * A handler answers by writing JSON into call_body(), or fails by filling call->problem (call_fail, the input_* helpers
 * and store helpers do) and returning. Memory of a request lies in call->arena. */
#ifndef CARILLON_ORCHESTRATOR_CALL_H
#define CARILLON_ORCHESTRATOR_CALL_H

#include <stdatomic.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/jsonscan.h"
#include "core/base/vec.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/out.h"
#include "orchestrator/problem.h"

enum role { ROLE_NOBODY, ROLE_VIEWER, ROLE_OPERATOR, ROLE_DEVELOPER, ROLE_ADMIN };

#define PRINCIPAL_NAME 192
struct principal { /* who asks: the token */
    int64_t id;
    char name[PRINCIPAL_NAME];
    enum role role;
    char project[LIMIT_NAME + 1]; /* "" = all */
};

struct auth;
struct route;

struct orchestrator {
    struct orchestrator_options options;
    char cluster_id[40];
    struct auth *auth;
    _Atomic uint64_t sequence; /* of run ids */
    _Atomic int waiting;       /* requests that wait for a run */
    int waiting_max;
    _Atomic bool stopping;
    _Atomic int64_t answers[6]; /* by hundreds of the status */
    _Atomic int64_t refused_tokens;
};

struct call {
    struct orchestrator *o;
    const struct http_request *request;
    struct http_response *response;
    const struct route *route;
    struct principal who;
    const char *project, *app, *name, *id; /* parts of the path; NULL when the route has none */
    const char *item, *key_try, *token;    /* of a report's path; its run and step are id and name */
    const char *source;                    /* of what is written: "api" unless the request says file, ui or imported */
    enum language language;
    struct moment now;
    struct arena arena;
    struct problem problem;
};

/* ---- answers ---- */
struct str *call_body(struct call *call);
bool call_fail(struct call *call, enum problem_code code, ...) __attribute__((sentinel)); /* false */
void call_poke(struct call *call);
char *call_printf(struct call *call, const char *format, ...) PRINTF_LIKE(2, 3); /* in the arena */
char *call_copy(struct call *call, struct slice text);                           /* in the arena, NUL-terminated */
char *call_unquote(struct call *call, struct slice string);                      /* value of a JSON string */

/* ---- permissions ---- */
const char *role_text(enum role role);
bool role_parse(const char *text, enum role *ret);
bool call_may(const struct call *call, enum role need, const char *project, struct problem *problem);

/* ---- store ---- */
/* Carries the operation out (again when the reply of a COMMIT was lost: all that is used here is repeatable). */
enum status call_store(struct call *call, struct store_op *op);
/* Tells a failure of the store (op->status is not OK) in the error form; statuses that the caller has not handled. */
bool problem_of_store(struct problem *problem, const struct store_op *op);

/* ---- inputs ---- */
struct page {
    int64_t skip, limit;
};
/* skip ≥ 0, limit 1…1000 (default 100); PAGE_INVALID otherwise. */
bool input_page(struct call *call, struct page *ret);
bool query_int(struct call *call, const char *name, int64_t low, int64_t high, int64_t fallback, int64_t *ret);
bool query_time(struct call *call, const char *name, instant *ret);            /* absent: INSTANT_NONE */
bool query_bool(struct call *call, const char *name, bool *ret);               /* absent: false */
bool query_span(struct call *call, const char *name, span maximum, span *ret); /* absent: −1 */
bool input_if_match(struct call *call, int64_t *ret);                          /* absent or *: 0 */
/* The body as a checked JSON object. `ret` borrows from the request. */
bool input_object(struct call *call, struct slice *ret);
/* Member of a checked object with its type; absent and null give an empty slice and true. */
bool input_member(struct problem *problem, struct slice object, const char *name, enum json_type type,
                  struct slice *ret);
/* Text member in the arena; absent: NULL. */
bool input_text(struct call *call, struct problem *problem, struct slice object, const char *name, const char **ret);
bool input_time(struct call *call, struct problem *problem, struct slice object, const char *name, instant *ret);
bool input_int(struct problem *problem, struct slice object, const char *name, int64_t low, int64_t high,
               int64_t fallback, int64_t *ret);
bool input_bool(struct problem *problem, struct slice object, const char *name, bool *ret);
/* Params: a JSON object, at most LIMIT_PARAMS bytes, as text in the arena (bytes as written). Absent: NULL. */
bool input_params(struct call *call, struct problem *problem, struct slice object, const char **ret);

/* ---- batches: {"names":[…], common} or {"items":[{"name",…}], common} or {"keys"|"ids":[…]} ---- */
struct batch_item {
    const char *key;   /* name, id, or job/trigger */
    struct slice args; /* object of this item; empty: only common ones */
    struct problem problem;
};
struct batch {
    struct slice common; /* the whole body */
    struct batch_item *items;
    size_t count;
};
/* `list` is "names", "ids" or "keys"; "items" is always accepted, with the key member `key_member`. */
bool input_batch(struct call *call, const char *list, const char *key_member, struct batch *ret);
/* Writes the value of item `index`, which has no problem (key NULL). */
typedef void batch_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context);
/* One item, from the path: the body (may be empty) holds the arguments. */
bool input_single(struct call *call, const char *key, struct batch *ret);
void batch_release(struct batch *batch);
/* {"items":[{"key","ok","result"|"error"}]}: `result` writes the value of an item that has no problem. */
void batch_write(struct call *call, struct batch *batch, batch_result *result, void *context);
/* Item 0 alone, with its own status (sugar routes). */
void batch_write_single(struct call *call, struct batch *batch, batch_result *result, void *context);

#endif
