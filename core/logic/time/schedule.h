/* A trigger made ready to compute with: cron, every, delay, at, with zone, calendars, quiet hours, start, end
 * (semantics.md §2). Immutable after compilation; costs are bounded (the search for the next instant reaches 40 years
 * and more, counting goes by days, never by instants of a year).
 *
 * Invariants: schedule_next(s, t) > t; it is the same answer from every moment between two instants; the sequence is
 * monotone. */
#ifndef CARILLON_CORE_LOGIC_TIME_SCHEDULE_H
#define CARILLON_CORE_LOGIC_TIME_SCHEDULE_H

#include "core/base/error.h"
#include "core/logic/time/zone.h"
#include "core/model/trigger.h"

struct schedule;

struct schedule_context {
    const char *key;                              /* "project/job/trigger": decides `H` and the anchor of `every` */
    const struct zone *zone;                      /* the trigger's, already resolved (project's when it names none) */
    const struct calendar_spec *const *calendars; /* parallel to spec->calendars; copied */
};

/* Compiles; `spec` may go away afterwards. STATUS_INVALID with position and reason: bad cron, can never fire, period <=
 * 0, … */
enum status schedule_compile(const struct trigger_spec *spec, const struct schedule_context *context,
                             struct schedule **ret, struct error *err) MUST_USE;
void schedule_free(struct schedule *schedule);
size_t schedule_memory(const struct schedule *schedule); /* bytes */

/* What becomes of an instant that the trigger promises. */
enum verdict { VERDICT_FIRE, VERDICT_CALENDAR, VERDICT_QUIET };

struct promised {
    instant at; /* INSTANT_MAX: none any more */
    enum verdict verdict;
};

/* Memory that a `delay` trigger needs; ignored by the others. */
struct schedule_memory {
    instant activated; /* from of its activation */
    instant last_end;  /* committed end of the last generation-0 run; INSTANT_NONE */
};

/* Next promised instant strictly after `after`, excluded ones too. DELAY: last_end (or activated) + period, if > after.
 */
struct promised schedule_next(const struct schedule *schedule, const struct schedule_memory *memory, instant after);
/* Next one that fires; skips the excluded ones (bounded: gives INSTANT_MAX after 40 years). */
instant schedule_next_fire(const struct schedule *schedule, const struct schedule_memory *memory, instant after);

/* The excluded instants in (after, until], as ranges of one reason in order. Returns how many were written (<= cap).
 * When more ranges exist than cap, *ret_until is the last instant that is covered; call again from there. */
struct excluded {
    instant from, to;
    int64_t count;
    enum verdict verdict;
};
size_t schedule_excluded(const struct schedule *schedule, instant after, instant until, struct excluded *ret,
                         size_t cap, instant *ret_until);

/* Promised firing instants in (after, until]. Bounded by days, not by instants. */
int64_t schedule_count(const struct schedule *schedule, instant after, instant until);
/* The newest `cap` firing instants in (after, until], ascending in ret. Returns how many. Bounded. */
size_t schedule_newest(const struct schedule *schedule, instant after, instant until, instant *ret, size_t cap);

/* ---- misfire: what to do with instants that nobody decided in time --------------------------------------------------
 */

struct missed_range {
    instant from, to;
    int64_t count;
    const char *reason; /* "misfire", "expired" (older than max_age), "paused" */
};

/* A decision over all firing instants in (after, now]. Those not older than the threshold run late by themselves
 * (origin schedule), older ones go through the policy. runs: ascending, each with origin; skips: ranges, disjoint from
 * runs. */
struct misfire_plan {
    struct missed_run {
        instant at;
        bool misfire; /* origin misfire */
    } * runs;
    size_t run_count;
    struct missed_range *skips;
    size_t skip_count;
    bool more;       /* the caller must ask again with after = last instant covered (limits reached) */
    instant covered; /* every firing instant <= covered is in runs or skips */
};

struct misfire_options {
    enum misfire_policy policy;
    int max;        /* misfire_max */
    span threshold; /* ms */
    span max_age;   /* ms */
    bool resume;    /* instants of a pause: always through the policy, whatever the threshold; leftovers are "paused" */
    bool skip_all;  /* resume --skip-missed */
};

enum status misfire_decide(const struct schedule *schedule, instant after, instant now,
                           const struct misfire_options *options,
                           struct misfire_plan *ret) MUST_USE; /* release with misfire_plan_release; STATUS_NO_MEMORY */
void misfire_plan_release(struct misfire_plan *plan);

/* Stable jitter of one instant: 0 … jitter, capped at the distance to the next instant; from key and instant alone. */
span schedule_jitter(const struct schedule *schedule, instant at);

#endif
