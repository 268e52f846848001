/* Time zones from TZif bytes (RFC 8536, versions 1–4, footer rule included). Pure: who reads the file is an adapter.
 * A zone is read-only once parsed, so threads may share it. Offsets are seconds east of UTC.
 * Source of rules: RFC 8536; POSIX TZ strings with RFC 8536 §3.3.1's extended hours. */
#ifndef CARILLON_CORE_LOGIC_TIME_ZONE_H
#define CARILLON_CORE_LOGIC_TIME_ZONE_H

#include <stddef.h>

#include "core/base/civil.h"
#include "core/base/error.h"

struct zone;

enum status zone_parse(const char *name, const void *bytes, size_t length, struct zone **ret,
                       struct error *err) MUST_USE;
void zone_free(struct zone *zone);
const char *zone_name(const struct zone *zone);
const struct zone *zone_utc(void); /* always there */

int32_t zone_offset(const struct zone *zone, instant at);           /* seconds */
struct civil_time zone_local(const struct zone *zone, instant at);  /* wall clock there */
const char *zone_abbreviation(const struct zone *zone, instant at); /* "CET" */

/* A local time exists once, twice (overlap: first and second pass), or not at all (gap). */
enum local_kind { LOCAL_ONCE, LOCAL_TWICE, LOCAL_GAP };
struct local_instants {
    enum local_kind kind;
    instant first;  /* ONCE, TWICE: the (first) instant. GAP: first instant after the gap */
    instant second; /* TWICE: the later one; otherwise = first */
};
struct local_instants zone_instants(const struct zone *zone, struct civil_time local);
/* Next change of the offset strictly after `at`; INSTANT_MAX = none. */
instant zone_next_transition(const struct zone *zone, instant at);

#endif
