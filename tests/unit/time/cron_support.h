/* What tests of cron expressions share. */
#ifndef CARILLON_TESTS_UNIT_TIME_CRON_SUPPORT_H
#define CARILLON_TESTS_UNIT_TIME_CRON_SUPPORT_H

/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "core/logic/time/cron.h"
#include "tests/unit/time/zoneinfo.h"

static inline instant moment(const char *text)
{
    instant t = INSTANT_NONE;
    assert_int_equal(rfc3339_parse(text, &t, NULL), STATUS_OK);
    return t;
}

/* Parses what must be right. */
static inline struct cron *parse(const char *text, enum cron_dialect dialect, const char *key)
{
    struct cron *cron = NULL;
    struct error err = {0};
    if (cron_parse(text, dialect, key, &cron, NULL, &err) != STATUS_OK)
        fail_msg("%s: %s", text, err.text);
    return cron;
}

#endif
