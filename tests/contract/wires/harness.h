/* cmocka wants these in this order. */
#ifndef CARILLON_TESTS_CONTRACT_WIRES_HARNESS_H
#define CARILLON_TESTS_CONTRACT_WIRES_HARNESS_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#endif
