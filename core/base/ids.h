/* Ids. Definitions have plain 64-bit ids from the store. A run's id carries its partition:
 *   bits 62…48  day since 1970-01-01 (UTC day of scheduled_at for generation 0, of creation for all else)
 *   bits 47…34  worker (boot number modulo 2^14)
 *   bits 33…0   sequence of that worker
 * so that no clock is involved and an id names its day. Shown as decimal strings in JSON. */
#ifndef CARILLON_CORE_BASE_IDS_H
#define CARILLON_CORE_BASE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/instant.h"

#define RUN_ID_DAY_MAX 0x7fff

static inline int32_t day_of(instant t)
{
    int64_t day = t.ms / SPAN_DAY - (t.ms % SPAN_DAY < 0);
    return (int32_t)(day < 0 ? 0 : day > RUN_ID_DAY_MAX ? RUN_ID_DAY_MAX : day);
}
static inline int64_t run_id_make(int32_t day, int64_t boot, uint64_t sequence)
{
    return (int64_t)((uint64_t)day << 48 | ((uint64_t)boot & 0x3fff) << 34 | (sequence & 0x3ffffffffU));
}
static inline int32_t run_id_day(int64_t id)
{
    return (int32_t)((uint64_t)id >> 48 & 0x7fff);
}

/* Decimal text → id > 0; false when it is anything else. */
bool id_parse(const char *text, int64_t *ret);

#endif
