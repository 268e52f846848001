#include "core/logic/time/preview.h"

#include "core/logic/time/cron.h"

/* One question of a command line, with all its options. NOLINTNEXTLINE(readability-function-size) */
enum status cron_preview(const char *expr, enum cron_dialect dialect, const struct zone *zone, enum dst_gap gap,
                         enum dst_overlap overlap, instant from, size_t count, instant *ret, size_t *ret_count,
                         struct faults *warnings, struct error *err)
{
    struct cron *cron;
    enum status status = cron_parse(expr, dialect, NULL, &cron, warnings, err);
    if (status != STATUS_OK)
        return status;
    size_t n = 0;
    for (instant t = from; n < count; n++) {
        t = cron_next(cron, zone, (struct cron_dst){gap, overlap}, t);
        if (instant_cmp(t, INSTANT_MAX) == 0)
            break;
        ret[n] = t;
    }
    cron_free(cron);
    *ret_count = n;
    return STATUS_OK;
}
