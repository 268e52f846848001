#include "core/base/ids.h"

bool id_parse(const char *text, int64_t *ret)
{
    int64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            return false;
    }
    if (value <= 0)
        return false;
    *ret = value;
    return true;
}
