#include "core/logic/text/number.h"

#include <stdio.h>
#include <string.h>

#define EXPONENT_MAX INT64_C(1000000000000000) /* beyond it all exponents are alike */
#define DIGITS_MAX 18                          /* decimal digits that an int64_t always holds */
#define QUOTIENT_DIGITS 12

/* A number taken apart: 0.d₁d₂d₃… × 10^magnitude, d₁ ≠ 0. Digits stay in the text; the point is jumped over. */
struct number {
    bool negative;
    const char *digits, *end; /* from the first digit that counts; empty: zero */
    int64_t magnitude;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t number_scan(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && is_digit(text[i]))
        i++;
    if (!i || (text[0] == '0' && i > 1))
        return 0;
    if (i + 1 < length && text[i] == '.' && is_digit(text[i + 1]))
        for (i++; i < length && is_digit(text[i]);)
            i++;
    size_t e = i;
    if (e < length && (text[e] == 'e' || text[e] == 'E')) {
        e++;
        if (e < length && (text[e] == '+' || text[e] == '-'))
            e++;
        if (e < length && is_digit(text[e]))
            for (i = e; i < length && is_digit(text[i]);)
                i++;
    }
    return i;
}

static int64_t read_exponent(const char *p, const char *end)
{
    int64_t sum = 0;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && is_digit(*p); p++)
        if (sum < EXPONENT_MAX)
            sum = sum * 10 + (*p - '0');
    if (sum > EXPONENT_MAX)
        sum = EXPONENT_MAX;
    return negative ? -sum : sum;
}

static struct number take_apart(struct slice text)
{
    const char *p = text.bytes, *end = p + text.length;
    struct number n = {.negative = p < end && *p == '-'};
    p += n.negative;
    const char *mantissa_end = p;
    while (mantissa_end < end && *mantissa_end != 'e' && *mantissa_end != 'E')
        mantissa_end++;
    const char *point = memchr(p, '.', (size_t)(mantissa_end - p));
    if (!point)
        point = mantissa_end;
    while (p < mantissa_end && (*p == '0' || *p == '.'))
        p++;
    n.digits = n.end = p;
    if (p == mantissa_end) {
        n.negative = false; /* −0 is 0 */
        return n;
    }
    n.end = mantissa_end;
    n.magnitude = p < point ? point - p : point + 1 - p;
    if (mantissa_end < end)
        n.magnitude += read_exponent(mantissa_end + 1, end);
    return n;
}

/* Next digit; 0 behind the last one. */
static int next_digit(const char **p, const char *end)
{
    if (*p < end && **p == '.')
        (*p)++;
    return *p < end ? *(*p)++ - '0' : 0;
}

bool number_is_zero(struct slice a)
{
    struct number n = take_apart(a);
    return n.digits == n.end;
}

int number_compare(struct slice a, struct slice b)
{
    struct number na = take_apart(a), nb = take_apart(b);
    bool zero_a = na.digits == na.end, zero_b = nb.digits == nb.end;
    int up = na.negative ? -1 : 1;
    if (zero_a || zero_b)
        return zero_a ? zero_b ? 0 : nb.negative ? 1 : -1 : up;
    if (na.negative != nb.negative)
        return up;
    if (na.magnitude != nb.magnitude)
        return na.magnitude > nb.magnitude ? up : -up;
    while (na.digits < na.end || nb.digits < nb.end) {
        int da = next_digit(&na.digits, na.end), db = next_digit(&nb.digits, nb.end);
        if (da != db)
            return da > db ? up : -up;
    }
    return 0;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------
 */

struct decimal { /* units × 10^−scale */
    int64_t units;
    int scale;
};

/* false: more than 18 digits in front of or behind the point together. */
static bool to_decimal(struct slice text, struct decimal *ret)
{
    struct number n = take_apart(text);
    int64_t units = 0, digits = 0;
    for (const char *p = n.digits; p < n.end; p++) {
        if (*p == '.')
            continue;
        if (++digits > DIGITS_MAX) {
            if (*p != '0')
                return false;
            continue;
        }
        units = units * 10 + (*p - '0');
    }
    if (digits > DIGITS_MAX)
        digits = DIGITS_MAX;
    int64_t scale = digits - n.magnitude;
    for (; scale > 0 && units && units % 10 == 0; scale--)
        units /= 10;
    if (!units)
        scale = 0;
    if (scale > DIGITS_MAX || scale < -DIGITS_MAX)
        return false;
    for (; scale < 0; scale++)
        if (__builtin_mul_overflow(units, 10, &units))
            return false;
    *ret = (struct decimal){n.negative ? -units : units, (int)scale};
    return true;
}

static bool raise_scale(struct decimal *d, int scale)
{
    for (; d->scale < scale; d->scale++)
        if (__builtin_mul_overflow(d->units, 10, &d->units))
            return false;
    return true;
}

static void format(struct decimal d, char ret[NUMBER_SIZE])
{
    for (; d.scale > 0 && d.units % 10 == 0; d.scale--)
        d.units /= 10;
    uint64_t size = d.units < 0 ? 0 - (uint64_t)d.units : (uint64_t)d.units;
    char digits[24];
    int count =
        snprintf(digits, sizeof digits, "%0*llu", d.scale + 1 > 22 ? 22 : d.scale + 1, (unsigned long long)size);
    int whole = count - d.scale;
    (void)snprintf(ret, NUMBER_SIZE, "%s%.*s%s%s", d.units < 0 ? "-" : "", whole, digits, d.scale ? "." : "",
                   digits + whole);
}

/* Long division, rounded half away from zero at the last digit. */
static bool divide(struct decimal a, struct decimal b, struct decimal *ret)
{
    int scale = a.scale > b.scale ? a.scale : b.scale;
    if (!raise_scale(&a, scale) || !raise_scale(&b, scale))
        return false;
    bool negative = (a.units < 0) != (b.units < 0);
    uint64_t dividend = a.units < 0 ? 0 - (uint64_t)a.units : (uint64_t)a.units;
    uint64_t divisor = b.units < 0 ? 0 - (uint64_t)b.units : (uint64_t)b.units;
    uint64_t rest = dividend % divisor;
    int64_t quotient = (int64_t)(dividend / divisor);
    int digits = 0;
    for (; rest && digits < QUOTIENT_DIGITS; digits++) {
        uint64_t ten;
        int64_t longer;
        if (__builtin_mul_overflow(rest, 10, &ten) || __builtin_mul_overflow(quotient, 10, &longer) ||
            __builtin_add_overflow(longer, (int64_t)(ten / divisor), &longer))
            break; /* no room for another digit */
        quotient = longer;
        rest = ten % divisor;
    }
    if (rest >= divisor - rest && rest && __builtin_add_overflow(quotient, 1, &quotient))
        return false;
    *ret = (struct decimal){negative ? -quotient : quotient, digits};
    return true;
}

const char *number_calculate(char op, struct slice a, struct slice b, char ret[NUMBER_SIZE])
{
    static const char too_big[] = "has more digits than can be calculated with (18)";
    struct decimal x, y, sum = {0, 0};
    bool ok;
    if (!to_decimal(a, &x) || !to_decimal(b, &y))
        return too_big;
    if ((op == '/' || op == '%') && !y.units)
        return "divides by zero";
    if (op == '*') {
        sum.scale = x.scale + y.scale;
        ok = !__builtin_mul_overflow(x.units, y.units, &sum.units) && sum.scale <= DIGITS_MAX;
    } else if (op == '/') {
        ok = divide(x, y, &sum);
    } else {
        int scale = x.scale > y.scale ? x.scale : y.scale;
        ok = raise_scale(&x, scale) && raise_scale(&y, scale);
        sum.scale = scale;
        if (ok && op == '+')
            ok = !__builtin_add_overflow(x.units, y.units, &sum.units);
        else if (ok && op == '-')
            ok = !__builtin_sub_overflow(x.units, y.units, &sum.units);
        else if (ok) /* INT64_MIN % −1 cannot come up: units have at most 18 digits before scaling, checked after */
            sum.units = y.units == -1 ? 0 : x.units % y.units;
    }
    if (!ok)
        return too_big;
    format(sum, ret);
    return NULL;
}
