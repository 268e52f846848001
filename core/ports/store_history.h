/* Operations of the store port about what has happened and where triggers stand: pages for people; and who may look:
 * tokens and the audit. */
#ifndef CARILLON_CORE_PORTS_STORE_HISTORY_H
#define CARILLON_CORE_PORTS_STORE_HISTORY_H

#include "core/base/instant.h"
#include "core/ports/store_rows.h"

struct store_runs_list {
    const char *project; /* NULL = all */
    const char *job;     /* name; NULL = any */
    unsigned states;     /* bit per run_state; 0 = any */
    instant from, to;    /* [from, to) of scheduled_at; INSTANT_NONE = open */
    const char *trigger, *node;
    int has_error;      /* −1 any, 0 without, 1 with */
    int origin;         /* −1 any */
    int64_t family;     /* 0 any */
    const char *text;   /* part of trigger, reason or error code */
    const char *cursor; /* from an earlier answer; NULL */
    int64_t skip, limit;
    bool count_only;
    struct run_row *rows; /* out: newest scheduled first, then id falling; open requests appear as queued */
    const char **jobs;    /* out: names, parallel */
    const char **projects;
    size_t count;
    int64_t total;
    const char *next_cursor; /* out: NULL = no more */
};

struct store_run_read {
    const char *project; /* NULL = any */
    int64_t id;
    struct run_row run; /* out; from the open request while no row exists */
    const char *job_name, *project_name;
    const char *params; /* out: effective request params or NULL */
    struct step_row *steps;
    size_t step_count;
    struct attempt_row *attempts; /* with bodies */
    size_t attempt_count;
    const char *job_json; /* document of the run's version; NULL when gone */
};

struct store_ledger {
    const char *project, *job, *trigger; /* trigger NULL = all */
    instant from, to;
    int64_t skip, limit;
    struct ledger_item *items; /* out: by scheduled_at, then trigger */
    size_t count;
    int64_t total;
};

/* Cursors, states, open runs and waiting steps of jobs: what lists and `explain` show. */
struct store_triggers {
    int64_t job;         /* one job, NOT_FOUND when there is none; or, with 0, */
    const int64_t *jobs; /* these, those that are missing left out */
    size_t job_count;
    struct trigger_cursor *cursors;
    size_t cursor_count;
    struct trigger_state_row *states;
    size_t state_count;
    struct step_row *waiting; /* steps of open runs that wait with a reason */
    size_t waiting_count;
    struct run_row *open_runs;
    size_t open_run_count;
    struct linger_row *lingers; /* that are not over */
    size_t linger_count;
};

/* How many of a job's newest ended runs have failed in a row, since it was resumed last; canceled ones do not count. */
struct store_failures {
    int64_t job;
    size_t limit;  /* at most; above 0 */
    size_t failed; /* out */
};

struct store_token_add {
    struct token_row row; /* id out */
    const char *author;
};

struct store_token_find {
    const char *hash;
    bool touch;           /* update last_used_at (at most once a minute) */
    struct token_row row; /* out */
};

/* A page of tokens, newest first, without their hashes. */
struct store_tokens {
    const char *project; /* NULL = all, those of every project too */
    int64_t skip, limit;
    struct token_row *rows; /* out */
    size_t count;
    int64_t total;
};

/* Takes a token back; again is no error. NOT_FOUND: none of this id (in `project`). Audited. */
struct store_token_end {
    int64_t id;
    const char *project; /* NULL = any */
    const char *author;
    bool unchanged; /* out */
};

struct store_audit {
    int64_t skip, limit;
    const char *project;
    struct audit_entry *rows; /* out, newest first */
    size_t count;
    int64_t total;
};

#endif
