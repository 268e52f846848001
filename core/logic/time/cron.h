/* Cron expressions: parsed once into bitmaps, then asked for the next, the previous, or the number of instants. Pure
 * and without allocation after parsing. Dialects (docs/internals/time.md has the table): quartz  6 or 7 fields, SUN =
 * 1, exactly one of the day fields is `?` unix    5 fields, SUN = 0 or 7, Vixie's rule for the two day fields spring  6
 * fields, SUN = 0 or 7, both day fields must match ant     1 to 7 fields, seconds first, missing ones are `*`, SUN = 0,
 * both day fields must match CRON_AUTO takes unix for 5 fields and quartz for 6 or 7. Several expressions are joined by
 * `;`.
 *
 * A calendar repeats after 400 years, and so far a search reaches: "never" is a proof, not a timeout. */
#ifndef CARILLON_CORE_LOGIC_TIME_CRON_H
#define CARILLON_CORE_LOGIC_TIME_CRON_H

#include "core/base/str.h"
#include "core/logic/time/zone.h"
#include "core/model/trigger.h"

#define CRON_TEXT_MAX 1024      /* bytes of all expressions of one trigger */
#define CRON_EXPRESSIONS_MAX 16 /* joined by ';' */

struct cron;

/* How local times that do not exist or come twice are taken. These settings rule expressions with fixed hours; a wild
 * one (hour or minute field starts with `*`) follows real time whatever they say. */
struct cron_dst {
    enum dst_gap gap;
    enum dst_overlap overlap;
};

/* `key` decides what `H` stands for (NULL = ""). Warnings (may be NULL) are added with an empty path. STATUS_INVALID
 * names position and reason; STATUS_NO_MEMORY. */
enum status cron_parse(const char *text, enum cron_dialect dialect, const char *key, struct cron **ret,
                       struct faults *warnings, struct error *err) MUST_USE;
void cron_free(struct cron *cron); /* NULL is fine */
size_t cron_memory(const struct cron *cron);

/* First instant strictly after `after`; INSTANT_MAX: never again. Whole seconds. */
instant cron_next(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant after);
/* Last instant in (after, until]; INSTANT_NONE: there is none. */
instant cron_previous(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant after,
                      instant until);
/* Instants in (after, until]; the work grows with the days between, not with the instants. */
int64_t cron_count(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant after, instant until);

/* Canonical text, `H` replaced by its values and weekdays by names; it parses to the same instants in the dialect that
 * cron_parse was given. */
void cron_print(const struct cron *cron, struct str *ret);
/* One English sentence for each expression, joined by "; ". */
void cron_describe(const struct cron *cron, struct str *ret);

#endif
