/* Numbers by value: order of any size, arithmetic of 18 digits. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/logic/text/number.h"

static struct slice of(const char *text)
{
    return slice_of(text, strlen(text));
}

static void order(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *a, *b;
        int order;
    } rows[] = {
        {__LINE__, "1", "1", 0},
        {__LINE__, "1", "1.0", 0},
        {__LINE__, "10", "1e1", 0},
        {__LINE__, "0.1", "1e-1", 0},
        {__LINE__, "0.10", "0.1", 0},
        {__LINE__, "-0", "0", 0},
        {__LINE__, "0.000", "0e9", 0},
        {__LINE__, "100", "99", 1},
        {__LINE__, "-100", "99", -1},
        {__LINE__, "-100", "-99", -1},
        {__LINE__, "0", "-1", 1},
        {__LINE__, "0", "0.001", -1},
        {__LINE__, "-0.001", "0", -1},
        {__LINE__, "0.01", "0.002", 1},
        {__LINE__, "123456789012345678901234567890", "123456789012345678901234567891", -1},
        {__LINE__, "9007199254740993", "9007199254740992", 1},
        {__LINE__, "9007199254740993.0", "9007199254740993", 0},
        {__LINE__, "1e400", "1e399", 1},
        {__LINE__, "1e-400", "0", 1},
        {__LINE__, "1.5e3", "1500", 0},
        {__LINE__, "1e99999999999999999999999", "5", 1},
        {__LINE__, "1e-99999999999999999999999", "5", -1},
        {__LINE__, "12.34", "12.345", -1},
        {__LINE__, "1.0E+2", "100", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int got = number_compare(of(rows[i].a), of(rows[i].b)), back = number_compare(of(rows[i].b), of(rows[i].a));
        if (got != rows[i].order || back != -got)
            fail_msg("line %d: %s ? %s = %d, back %d", rows[i].line, rows[i].a, rows[i].b, got, back);
    }
}

static void arithmetic(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *a;
        char op;
        const char *b, *result; /* NULL: refused */
    } rows[] = {
        {__LINE__, "1", '+', "2", "3"},
        {__LINE__, "0.1", '+', "0.2", "0.3"},
        {__LINE__, "1.50", '+', "1.5", "3"},
        {__LINE__, "1", '-', "2", "-1"},
        {__LINE__, "-0.05", '+', "0.01", "-0.04"},
        {__LINE__, "9007199254740993", '+', "1", "9007199254740994"},
        {__LINE__, "999999999999999999", '+', "1", "1000000000000000000"},
        {__LINE__, "9999999999999999999", '+', "1", NULL},
        {__LINE__, "12", '*', "12", "144"},
        {__LINE__, "1.5", '*', "-2", "-3"},
        {__LINE__, "3000000000", '*', "3000000000", "9000000000000000000"},
        {__LINE__, "4000000000", '*', "4000000000", NULL},
        {__LINE__, "6", '/', "2", "3"},
        {__LINE__, "7", '/', "2", "3.5"},
        {__LINE__, "1", '/', "3", "0.333333333333"},
        {__LINE__, "2", '/', "3", "0.666666666667"},
        {__LINE__, "-2", '/', "3", "-0.666666666667"},
        {__LINE__, "0.5", '/', "0.25", "2"},
        {__LINE__, "100000000000000001", '/', "3", "33333333333333333.67"},
        {__LINE__, "1", '/', "0", NULL},
        {__LINE__, "1", '%', "0.0", NULL},
        {__LINE__, "7", '%', "3", "1"},
        {__LINE__, "-7", '%', "3", "-1"},
        {__LINE__, "7.5", '%', "2", "1.5"},
        {__LINE__, "5", '%', "-1", "0"},
        {__LINE__, "1e3", '+', "1", "1001"},
        {__LINE__, "1e-3", '+', "1", "1.001"},
        {__LINE__, "1e30", '+', "1", NULL},
        {__LINE__, "0e30", '+', "1", "1"},
        {__LINE__, "1e-30", '+', "1", NULL},
        {__LINE__, "1000000000000000000000", '+', "1", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[NUMBER_SIZE] = "";
        const char *reason = number_calculate(rows[i].op, of(rows[i].a), of(rows[i].b), got);
        if (rows[i].result ? reason || strcmp(got, rows[i].result) != 0 : !reason)
            fail_msg("line %d: %s %c %s = %s (%s)", rows[i].line, rows[i].a, rows[i].op, rows[i].b, got,
                     reason ? reason : "-");
    }
}

static void scan(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text;
        size_t length;
    } rows[] = {{__LINE__, "12ab", 2}, {__LINE__, "1.5.6", 3}, {__LINE__, "1.", 1},  {__LINE__, "1e5x", 3},
                {__LINE__, "1e+", 1},  {__LINE__, "01", 0},    {__LINE__, "x", 0},   {__LINE__, "", 0},
                {__LINE__, "0", 1},    {__LINE__, "0.0", 3},   {__LINE__, "2E-7", 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (number_scan(rows[i].text, strlen(rows[i].text)) != rows[i].length)
            fail_msg("line %d", rows[i].line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order), cmocka_unit_test(arithmetic), cmocka_unit_test(scan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
