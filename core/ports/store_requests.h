/* Operations of the store port about what comes in from outside: requests of people, reports and signs of life of
 * executors, the instances that announce themselves. */
#ifndef CARILLON_CORE_PORTS_STORE_REQUESTS_H
#define CARILLON_CORE_PORTS_STORE_REQUESTS_H

#include "core/base/instant.h"
#include "core/base/status.h"
#include "core/ports/store_rows.h"

struct request_add {
    struct request_row row; /* in: id given by the caller for RUN and ENQUEUE (run_id_make), 0 otherwise; job and slot
                               are found by name */
    const char *name;       /* job; CANCEL: NULL, row.run says */
    enum status status;     /* out per item: OK, NOT_FOUND, EXISTS (same idempotency key: `row` is the earlier one) */
    const char *idempotency_key; /* NULL = none; kept 24 h per project */
};

/* Requests with their audit rows, one transaction. PAUSE and RESUME also set what is asked for on the definition. */
struct store_request_add {
    const char *project, *author;
    struct request_add *items;
    size_t count;
};

/* May this call still be reported about? NOT_FOUND: no such run. */
struct store_report_read {
    int64_t run;
    const char *step;
    int32_t item, key_try;
    bool over;     /* out: its step has ended, or another key is under way: a report would be stale */
    bool canceled; /* out: the run is, or is being, canceled */
};

/* What becomes of a stored one; in request_done.outcome. */
#define REPORT_OUTCOME_TAKEN "taken"
#define REPORT_OUTCOME_STALE "stale"

enum report_fate {
    REPORT_STORED,   /* for the driver of the run */
    REPORT_REPEATED, /* it is known already */
    REPORT_STALE     /* the step has ended otherwise; kept, and of no effect */
};

/* A report, durable before it is acknowledged. NOT_FOUND: no such run. */
struct store_report_add {
    struct report_row row;
    enum report_fate fate; /* out */
    bool canceled;         /* out, as above */
};

/* What was heard of an accepted call while it ran. */
struct alive_row {
    int64_t run;
    const char *step;
    int32_t item, key_try;
    instant at;          /* out: of the newest sign of life */
    int32_t progress;    /* 0–100; −1 = not told */
    const char *message; /* NULL = not told */
    span within;         /* the next sign comes within this; 0 = nothing is promised */
    int64_t lines;       /* out: of its log */
};

/* A sign of life; what it does not tell stays. NOT_FOUND: no such run. */
struct store_alive {
    struct alive_row row;
    const char *lines;   /* for its log, parted by newlines; NULL = none */
    bool over, canceled; /* out: as of report_read. Over: only lines are taken */
    bool full;           /* out: its log takes no more (LIMIT_LOG_LINES, LIMIT_LOG_BYTES) */
};

/* Of one run, or (run 0) those newer than `since` that promise another, of open runs that this boot drives, oldest
 * first, a bounded number. */
struct store_alive_read {
    int64_t run, boot;
    int64_t since;          /* ms by the store's clock */
    struct alive_row *rows; /* out */
    size_t count;
};

struct log_line {
    const char *step;
    int32_t item, key_try;
    int64_t line;
    instant at;
    const char *text;
};

struct store_log_read {
    int64_t run;
    const char *step; /* NULL = all */
    int64_t skip, limit;
    struct log_line *lines; /* out: by step, item, try, line */
    size_t count;
};

enum instance_source { INSTANCE_HTTP, INSTANCE_ZOOKEEPER };

/* An instance that announces itself. It is there while expires_at lies ahead, by the store's clock. */
struct instance_row {
    const char *project, *application, *address; /* names; "host:port" */
    enum instance_source source;
    const char *version;                     /* of its program; NULL = not told */
    const char *document;                    /* what it told, JSON; out: only when asked for one project */
    instant first_seen, seen_at, expires_at; /* out */
};

/* Announces it for so long, or takes it off. */
struct store_instance_set {
    struct instance_row row;
    span ttl;
    bool remove;
    bool fresh; /* out: it was not there, told something else, or has left: poll.instances has risen */
};

/* Those that are there now, by project, application, address; NULL = all. */
struct store_instances {
    const char *project, *application;
    struct instance_row *rows; /* out */
    size_t count;
    instant store_now; /* out */
};

#endif
