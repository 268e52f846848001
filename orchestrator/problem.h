/* What went wrong with a request or with one item of a batch: a code of one table (code → HTTP status → texts in
 * English and Chinese with named arguments), arguments, and details with a path each (faults of a document).
 * Texts name neither host nor SQL. */
#ifndef CARILLON_ORCHESTRATOR_PROBLEM_H
#define CARILLON_ORCHESTRATOR_PROBLEM_H

#include "core/base/error.h"
#include "core/base/str.h"

enum language { LANGUAGE_EN, LANGUAGE_ZH };

enum problem_code {
    PROBLEM_NONE,
    JOB_UNKNOWN,
    TASK_UNKNOWN,
    TRIGGER_UNKNOWN,
    RUN_UNKNOWN,
    RUN_NONE,
    DEFINITION_INVALID,
    DOCUMENTS_INVALID,
    EXPRESSION_INVALID,
    PAGE_INVALID,
    RUN_BUSY,
    RUN_CANCELED_CODE,
    REPORT_LATE,
    REPORT_UNKNOWN,
    LEASE_HELD,
    LEASE_LOST,
    IN_USE,
    SCHEDULER_AWAY,
    COORDINATION_AWAY,
    STORE_AWAY,
    STORE_FULL,
    RUN_TIMEOUT,
    RUN_FAILED_CODE,
    SCHEDULER_UNKNOWN,
    SCHEDULER_LIVES,
    SCHEDULER_HOLDS_SLOTS,
    SCHEDULER_DRIVES_RUNS,
    SCHEDULER_LAST,
    PROJECT_UNKNOWN,
    APPLICATION_UNKNOWN,
    CALENDAR_UNKNOWN,
    TOKEN_MISSING,
    TOKEN_REFUSED,
    SIGNATURE_REFUSED,
    TOKEN_UNKNOWN,
    ROLE_MISSING,
    SCOPE_MISSING,
    AUTH_TOO_OFTEN,
    JSON_INVALID,
    PARAMETER_INVALID,
    BATCH_TOO_BIG,
    BODY_TOO_BIG,
    TOO_OFTEN,
    ROUTE_UNKNOWN,
    METHOD_UNKNOWN,
    VERSION_CHANGED,
    TEMPLATE_INVALID,
    INTERNAL,
    PROBLEM_CODES
};

struct detail {
    char path[FAULT_PATH_MAX];
    char text[FAULT_TEXT_MAX];
    enum problem_code code;
    bool warning;
};

struct details {
    struct detail *items; /* owned */
    size_t count, room;
    size_t errors, other_errors; /* that are no warnings; of these, those that are not TASK_UNKNOWN */
};

#define PROBLEM_ARGS 5
struct problem {
    enum problem_code code;
    struct problem_arg {
        const char *key; /* static */
        char value[256];
    } args[PROBLEM_ARGS];
    size_t arg_count;
    struct details details; /* owned */
};

/* Arguments: key, value, key, value, …, NULL. Texts are copied (cut at a whole character). Returns false, so that
 * `return problem_set(…)` reads well in functions that tell success. */
bool problem_set(struct problem *problem, enum problem_code code, ...) __attribute__((sentinel));
void problem_release(struct problem *problem);

const char *problem_code_text(enum problem_code code); /* "SCHEDULING_NOTFOUND_001" */
int problem_status(enum problem_code code);            /* HTTP */
/* Text of a code that a run carries (error.code) with args as JSON object text; nothing is appended for codes that are
 * not ours. */
bool problem_text_of_run(const char *code, const char *args, enum language language, struct str *ret);
/* The sentence. */
void problem_message(const struct problem *problem, enum language language, struct str *ret);
/* {"code","message","args","details"?,"trace_id"?,"http"?} */
void problem_write(const struct problem *problem, enum language language, const char *trace_id, bool with_status,
                   struct str *ret);

void details_add(struct details *details, enum problem_code code, bool warning, const char *path, const char *format,
                 ...) PRINTF_LIKE(5, 6);
/* Takes over faults of the ground floor, each path behind `prefix`. */
void details_add_faults(struct details *details, const char *prefix, const struct faults *faults);
void details_release(struct details *details);
/* [{"path","code","message"}] of errors or of warnings. What the catalogue (wording.h) does not know stays English. */
void details_write(const struct details *details, bool warnings, enum language language, struct str *ret);
/* The member "message" of one. */
struct out;
void detail_text(const struct detail *detail, enum language language, struct out *out);

#endif
