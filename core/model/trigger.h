/* One schedule of a job (semantics.md §2). A plain value; texts are borrowed from the document's arena. */
#ifndef CARILLON_CORE_MODEL_TRIGGER_H
#define CARILLON_CORE_MODEL_TRIGGER_H

#include <stddef.h>

#include "core/base/civil.h"
#include "core/base/instant.h"

enum trigger_kind { TRIGGER_CRON, TRIGGER_EVERY, TRIGGER_DELAY, TRIGGER_AT };
enum cron_dialect { CRON_AUTO, CRON_QUARTZ, CRON_UNIX, CRON_SPRING, CRON_ANT }; /* AUTO: by field count */
enum misfire_policy { MISFIRE_LATEST, MISFIRE_SKIP, MISFIRE_ALL };
enum dst_gap { DST_GAP_AUTO, DST_GAP_SHIFT, DST_GAP_SKIP }; /* AUTO: wild follows real time */
enum dst_overlap { DST_OVERLAP_AUTO, DST_OVERLAP_FIRST, DST_OVERLAP_LAST, DST_OVERLAP_BOTH };

/* [start, end) of local time as ms after midnight; end <= start crosses midnight. */
struct quiet_window {
    int32_t start, end;
};

struct trigger_spec {
    const char *name; /* unique in the job; "default" when unnamed */
    enum trigger_kind kind;
    const char *cron; /* TRIGGER_CRON: one or several expressions joined by ';' */
    enum cron_dialect dialect;
    span period;          /* TRIGGER_EVERY: ms between instants; TRIGGER_DELAY: ms after the end of the last run */
    bool align;           /* TRIGGER_EVERY: anchor at the epoch's whole units */
    instant at;           /* TRIGGER_AT */
    const char *timezone; /* IANA name; NULL = the project's */
    enum dst_gap dst_gap;
    enum dst_overlap dst_overlap;
    instant start, end; /* [start, end); INSTANT_NONE = open */
    int64_t max_fires;  /* runs, not skips; 0 = no limit */
    const char **calendars;
    size_t calendar_count;
    struct quiet_window *quiet;
    size_t quiet_count;
    span jitter;  /* ms; the run is sent within [scheduled, scheduled + jitter] */
    int priority; /* 0…9, higher first; default 5 */
    enum misfire_policy misfire;
    int misfire_max;        /* default 100 */
    span misfire_threshold; /* ms; −1 = scheduler.misfire_threshold */
    span max_age;           /* ms; older missed instants are only recorded; default 12 h */
    const char *params;     /* JSON object text; NULL = none */
    bool paused;            /* read at creation only */
};

/* Exclusions and inclusions of days; include wins over exclude. */
struct date_range {
    struct civil_date first, last; /* both ends belong to it */
};

struct calendar_spec {
    const char *project, *name, *description;
    unsigned weekly; /* excluded weekdays: bit 0 = Sunday … bit 6 = Saturday */
    struct date_range *excluded;
    size_t excluded_count;
    struct date_range *annual; /* excluded each year; years are ignored */
    size_t annual_count;
    struct date_range *included;
    size_t included_count;
};

#define MISFIRE_MAX_DEFAULT 100
#define MISFIRE_AGE_DEFAULT (12 * SPAN_HOUR)
#define PRIORITY_DEFAULT 5

const char *trigger_kind_text(enum trigger_kind kind);
const char *misfire_policy_text(enum misfire_policy policy);
bool misfire_policy_parse(const char *text, enum misfire_policy *ret);

#endif
