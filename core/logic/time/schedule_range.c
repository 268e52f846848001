/* Questions about many instants at once. They walk stretches of one verdict (a day or less each) and count inside of
 * them, so the work grows with the days, never with the instants. */
#include "core/logic/time/schedule_raw.h"

/* The next stretch in (after, until] that holds promised instants: clipped to (begin, end], with the first of them. */
struct piece {
    instant begin, end, first;
    enum verdict verdict;
};

static bool piece_next(const struct schedule *s, instant after, instant until, struct piece *ret)
{
    instant first = raw_next(s, after);
    if (instant_is_never(first) || instant_cmp(first, until) > 0)
        return false;
    struct stretch stretch = exclusion_at(s->exclusion, s->zone, first);
    *ret = (struct piece){just_before(first), instant_min(just_before(stretch.until), until), first, stretch.verdict};
    return true;
}

int64_t schedule_count(const struct schedule *schedule, instant after, instant until)
{
    if (!schedule->exclusion)
        return raw_count(schedule, after, until);
    int64_t count = 0;
    struct piece piece;
    for (; piece_next(schedule, after, until, &piece); after = piece.end)
        if (piece.verdict == VERDICT_FIRE)
            count += raw_count(schedule, piece.begin, piece.end);
    return count;
}

size_t schedule_newest(const struct schedule *schedule, instant after, instant until, instant *ret, size_t cap)
{
    size_t count = 0;
    while (count < cap) {
        instant at = raw_previous(schedule, after, until);
        if (instant_is_none(at))
            break;
        struct stretch stretch = exclusion_at(schedule->exclusion, schedule->zone, at);
        if (stretch.verdict == VERDICT_FIRE) {
            ret[count++] = at;
            until = just_before(at);
        } else {
            until = just_before(stretch.from);
        }
    }
    for (size_t i = 0; i < count / 2; i++) { /* found newest first; handed out ascending */
        instant swap = ret[i];
        ret[i] = ret[count - 1 - i];
        ret[count - 1 - i] = swap;
    }
    return count;
}

size_t schedule_excluded(const struct schedule *schedule, instant after, instant until, struct excluded *ret,
                         size_t cap, instant *ret_until)
{
    size_t count = 0;
    bool open = false; /* the last range goes on: nothing fired since */
    struct piece piece;
    for (; schedule->exclusion && piece_next(schedule, after, until, &piece); after = piece.end) {
        if (piece.verdict == VERDICT_FIRE) {
            open = false;
            continue;
        }
        if (!open || ret[count - 1].verdict != piece.verdict) {
            if (count == cap) {
                *ret_until = after;
                return count;
            }
            ret[count++] = (struct excluded){piece.first, piece.first, 0, piece.verdict};
            open = true;
        }
        ret[count - 1].to = raw_previous(schedule, piece.begin, piece.end);
        ret[count - 1].count += raw_count(schedule, piece.begin, piece.end);
    }
    *ret_until = until;
    return count;
}
