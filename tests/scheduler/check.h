/* cmocka and what it needs before it, in the order in which it needs it. */
#ifndef CARILLON_TESTS_SCHEDULER_CHECK_H
#define CARILLON_TESTS_SCHEDULER_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/scheduler/world.h"

#endif
