/* What every fuzzer offers, and how it says that a property does not hold: it stops the program, which libFuzzer and
 * the replay both take for a finding. */
#ifndef CARILLON_TESTS_FUZZ_FUZZ_H
#define CARILLON_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(condition)                                                     \
    do {                                                                          \
        if (!(condition)) {                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                              \
        }                                                                         \
    } while (0)

#endif
