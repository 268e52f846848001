#include "core/base/duration.h"

#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *name;
    span length;
} units[] = {
    {"w", 7 * SPAN_DAY}, {"d", SPAN_DAY}, {"h", SPAN_HOUR}, {"m", SPAN_MINUTE}, {"s", SPAN_SECOND}, {"ms", SPAN_MS},
};
#define UNITS (sizeof units / sizeof *units)

static size_t find_unit(const char *text, size_t length)
{
    for (size_t i = 0; i < UNITS; i++)
        if (strlen(units[i].name) == length && !memcmp(units[i].name, text, length))
            return i;
    return UNITS;
}

static enum status refuse(struct error *err, const char *text)
{
    return error_set(err, STATUS_INVALID,
                     "\"%.40s\" is no duration; write a number with a unit: 250ms, 90s, 10m, 1h30m, 7d", text);
}

enum status duration_parse(const char *text, span *ret, struct error *err)
{
    const char *p = text;
    span sum = 0;
    size_t next_unit = 0;
    if (!strcmp(text, "0")) {
        *ret = 0;
        return STATUS_OK;
    }
    if (!*p)
        return refuse(err, text);
    while (*p) {
        int64_t number = 0;
        const char *digits = p;
        for (; *p >= '0' && *p <= '9'; p++)
            number = number > INT64_MAX / 20 ? INT64_MAX / 20 : number * 10 + (*p - '0');
        const char *name = p;
        while (*p >= 'a' && *p <= 'z')
            p++;
        size_t unit = find_unit(name, (size_t)(p - name));
        span part;
        if (digits == name || unit == UNITS || unit < next_unit)
            return refuse(err, text);
        if (__builtin_mul_overflow(number, units[unit].length, &part) || __builtin_add_overflow(sum, part, &sum))
            return error_set(err, STATUS_INVALID, "duration \"%.40s\" is too long", text);
        next_unit = unit + 1;
    }
    *ret = sum;
    return STATUS_OK;
}

const char *duration_format(span d, char buffer[DURATION_SIZE])
{
    size_t used = 0;
    buffer[0] = '\0';
    if (d <= 0)
        return strcpy(buffer, "0s");
    for (size_t i = 1; i < UNITS; i++) { /* weeks are read, not written: "14d" is plainer than "2w" */
        int64_t number = d / units[i].length;
        if (!number)
            continue;
        d -= number * units[i].length;
        used += (size_t)snprintf(buffer + used, DURATION_SIZE - used, "%lld%s", (long long)number, units[i].name);
        if (used >= DURATION_SIZE)
            break;
    }
    return buffer;
}
