/* Time as values. Three types that the compiler keeps apart:
 *   instant  wall-clock time, milliseconds since 1970-01-01T00:00:00Z; for schedules and records
 *   mono     monotonic time, milliseconds since an arbitrary start (CLOCK_BOOTTIME); for timeouts and leases
 *   span     a length of time in milliseconds
 * Nothing on the ground floor reads a clock: a `struct moment` is read once per loop turn and passed down by value.
 * Sums saturate instead of wrapping. */
#ifndef CARILLON_CORE_BASE_INSTANT_H
#define CARILLON_CORE_BASE_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct instant {
    int64_t ms;
} instant;

typedef struct mono {
    int64_t ms;
} mono;

typedef int64_t span; /* milliseconds */

struct moment {
    instant wall;
    mono mono;
};

#define SPAN_MS ((span)1)
#define SPAN_SECOND ((span)1000)
#define SPAN_MINUTE (60 * SPAN_SECOND)
#define SPAN_HOUR (60 * SPAN_MINUTE)
#define SPAN_DAY (24 * SPAN_HOUR)
#define SPAN_MAX INT64_MAX

#define INSTANT_NONE ((instant){INT64_MIN}) /* "no such time"; sorts before every real instant */
#define INSTANT_MAX ((instant){INT64_MAX})
#define MONO_NEVER ((mono){INT64_MAX})

static inline int64_t ms_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN + 1 : INT64_MAX;
    return sum;
}

static inline int64_t ms_sub(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b < 0 ? INT64_MAX : INT64_MIN + 1;
    return difference;
}

static inline bool instant_is_none(instant t)
{
    return t.ms == INT64_MIN;
}
static inline instant instant_add(instant t, span d)
{
    return (instant){ms_add(t.ms, d)};
}
static inline span instant_sub(instant a, instant b)
{
    return ms_sub(a.ms, b.ms);
}
static inline int instant_cmp(instant a, instant b)
{
    return (a.ms > b.ms) - (a.ms < b.ms);
}
static inline instant instant_max(instant a, instant b)
{
    return a.ms > b.ms ? a : b;
}
static inline instant instant_min(instant a, instant b)
{
    return a.ms < b.ms ? a : b;
}

static inline mono mono_add(mono t, span d)
{
    return (mono){ms_add(t.ms, d)};
}
static inline span mono_sub(mono a, mono b)
{
    return ms_sub(a.ms, b.ms);
}
static inline int mono_cmp(mono a, mono b)
{
    return (a.ms > b.ms) - (a.ms < b.ms);
}
static inline mono mono_min(mono a, mono b)
{
    return a.ms < b.ms ? a : b;
}

#endif
