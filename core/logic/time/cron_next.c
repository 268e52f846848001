/* Cron in a zone. The instants of an expression are a set, defined segment by segment of constant offset:
 *   every matching local time that lies in the segment, less those of an overlap that the policy leaves out,
 *   and the segment's first instant, if the gap before it swallowed a matching time and the policy shifts.
 * next, previous and count read this one set, so they agree whatever the moment they are asked from. */
#include "core/logic/time/cron_wall.h"
#include "core/logic/time/segment.h"

#define SECOND_MIN INT64_C(-62135596800) /* year 1 */
#define SECOND_MAX INT64_C(221845392000) /* year 9000; a search of 400 years stays within four digits */

#define OVERLAP_MAX (3 * INT64_C(86400)) /* longer than the clocks can ever go back: two offsets of 26 hours */

struct policy {
    bool shift;       /* a time in a gap fires at the gap's end */
    bool first, last; /* of an overlap only that pass fires */
};

static struct policy policy_of(bool wild, struct cron_dst dst)
{
    if (wild)
        return (struct policy){0}; /* real time: both passes, nothing moved */
    return (struct policy){dst.gap != DST_GAP_SKIP, dst.overlap == DST_OVERLAP_AUTO || dst.overlap == DST_OVERLAP_FIRST,
                           dst.overlap == DST_OVERLAP_LAST};
}

/* A segment as local time that may fire: [low, high), and the gap [gap, low) before it. */
struct window {
    struct zone_segment segment;
    int64_t low, high;
    int64_t gap; /* = segment's local start when there is none */
};

static int64_t local_of(int64_t second, int32_t offset)
{
    return second == SEGMENT_FIRST || second == SEGMENT_LAST ? second : second + offset;
}

static struct window window_at(const struct zone *zone, struct policy policy, int64_t second)
{
    struct window w = {.segment = zone_segment_at(zone, second)};
    const struct zone_segment *s = &w.segment;
    w.low = w.gap = local_of(s->from, s->offset);
    w.high = local_of(s->until, s->offset);
    if (s->from != SEGMENT_FIRST && (policy.shift || policy.first)) {
        int64_t before = s->from + zone_segment_at(zone, s->from - 1).offset; /* local end of the segment before */
        if (policy.first && before > w.low)
            w.low = before;
        else if (policy.shift && before < w.low)
            w.gap = before;
    }
    if (s->until != SEGMENT_LAST && policy.last) {
        int64_t after = s->until + zone_segment_at(zone, s->until).offset;
        if (after < w.high)
            w.high = after;
    }
    return w;
}

static bool gap_fires(const struct cron_expression *e, const struct window *w)
{
    return w->gap < w->low && wall_next(e, w->gap, w->segment.from + w->segment.offset) != WALL_NONE;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- next ---------------------------------------------------------------------------------------------------------
 */

/* Remembers that no match lies in [from, found), so that a rare expression is searched once, not once a segment. */
struct search {
    int64_t from, found;
};

static int64_t search_next(const struct cron_expression *e, struct search *search, int64_t from)
{
    if (from < search->from) {
        int64_t found = wall_next(e, from, search->from);
        if (found != WALL_NONE)
            search->found = found;
        search->from = from;
    } else if (from > search->found) {
        search->from = from;
        search->found = wall_next(e, from, WALL_NONE);
    }
    return search->found;
}

static int64_t expression_next(const struct cron_expression *e, const struct zone *zone, struct policy policy,
                               int64_t after)
{
    struct search search = {WALL_NONE, WALL_NONE}; /* nothing known yet */
    int64_t t = after + 1;
    for (struct window w = window_at(zone, policy, t);; w = window_at(zone, policy, t)) {
        if (t == w.segment.from && gap_fires(e, &w))
            return t;
        int64_t from = greater(local_of(t, w.segment.offset), w.low);
        int64_t found = search_next(e, &search, from);
        if (found < w.high)
            return found - w.segment.offset;
        if (w.segment.until == SEGMENT_LAST || (found == WALL_NONE && from > search.from + OVERLAP_MAX))
            return WALL_NONE;
        t = w.segment.until;
    }
}

static int64_t clamp_second(int64_t second)
{
    return second < SECOND_MIN ? SECOND_MIN : second > SECOND_MAX ? SECOND_MAX : second;
}

instant cron_next(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant after)
{
    int64_t second = floor_div(after.ms, 1000), best = WALL_NONE;
    if (second >= SECOND_MAX)
        return INSTANT_MAX;
    for (size_t i = 0; i < cron->count; i++) {
        const struct cron_expression *e = &cron->expressions[i];
        best = smaller(best, expression_next(e, zone, policy_of(e->wild, dst), greater(second, SECOND_MIN)));
    }
    return best == WALL_NONE ? INSTANT_MAX : (instant){best * 1000};
}

/* ---- previous -----------------------------------------------------------------------------------------------------
 */

static int64_t expression_previous(const struct cron_expression *e, const struct zone *zone, struct policy policy,
                                   int64_t after, int64_t until)
{
    int64_t t = until;
    while (t > after) {
        struct window w = window_at(zone, policy, t);
        int64_t from = smaller(t + w.segment.offset, w.high == SEGMENT_LAST ? w.high : w.high - 1);
        int64_t limit = greater(w.low, after + 1 + w.segment.offset);
        int64_t found = from < limit ? WALL_BEFORE : wall_previous(e, from, limit);
        if (found != WALL_BEFORE)
            return found - w.segment.offset;
        if (w.segment.from == SEGMENT_FIRST || w.segment.from <= after)
            return WALL_BEFORE;
        if (gap_fires(e, &w))
            return w.segment.from;
        t = w.segment.from - 1;
    }
    return WALL_BEFORE;
}

instant cron_previous(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant after,
                      instant until)
{
    int64_t first = clamp_second(floor_div(after.ms, 1000)), last = clamp_second(floor_div(until.ms, 1000));
    int64_t best = WALL_BEFORE;
    for (size_t i = 0; i < cron->count; i++) {
        const struct cron_expression *e = &cron->expressions[i];
        best = greater(best, expression_previous(e, zone, policy_of(e->wild, dst), greater(first, best), last));
    }
    return best == WALL_BEFORE ? INSTANT_NONE : (instant){best * 1000};
}

/* ---- count --------------------------------------------------------------------------------------------------------
 */

/* All expressions take part in the middle of a segment, only the wild ones where an overlap is left out. */
static int64_t window_count(const struct cron *cron, uint32_t wild, uint32_t fixed, const struct window *w,
                            int64_t from, int64_t until)
{
    int64_t low = smaller(greater(w->low, from), until), high = greater(smaller(w->high, until), low);
    return wall_count(cron, wild, from, low) + wall_count(cron, wild | fixed, low, high) +
           wall_count(cron, wild, high, until);
}

static bool window_shifts(const struct cron *cron, uint32_t wild, uint32_t fixed, const struct window *w)
{
    int64_t start = w->segment.from + w->segment.offset;
    if (w->gap >= start)
        return false;
    for (uint32_t rest = fixed; rest; rest &= rest - 1)
        if (gap_fires(&cron->expressions[__builtin_ctz(rest)], w)) /* once, and not twice with a time of its own */
            return wall_count(cron, wild | (w->high > start ? fixed : 0), start, start + 1) == 0;
    return false;
}

int64_t cron_count(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant after, instant until)
{
    int64_t t = clamp_second(floor_div(after.ms, 1000)) + 1, end = clamp_second(floor_div(until.ms, 1000)) + 1;
    uint32_t wild = 0, fixed = 0;
    for (size_t i = 0; i < cron->count; i++)
        *(cron->expressions[i].wild ? &wild : &fixed) |= UINT32_C(1) << i;
    int64_t count = 0;
    while (t < end) {
        struct window w = window_at(zone, policy_of(false, dst), t);
        int64_t stop = smaller(w.segment.until, end);
        count += window_count(cron, wild, fixed, &w, t + w.segment.offset, stop + w.segment.offset);
        if (t == w.segment.from)
            count += window_shifts(cron, wild, fixed, &w);
        t = stop;
    }
    return count;
}
