/* Durations as people write them: "250ms", "90s", "10m", "1h30m", "7d", "2w". Always milliseconds inside. */
#ifndef CARILLON_CORE_BASE_DURATION_H
#define CARILLON_CORE_BASE_DURATION_H

#include "core/base/error.h"
#include "core/base/instant.h"

#define DURATION_SIZE 48

/* A bare number is refused (which unit?), except "0". Not negative. Units in falling order, each once. */
enum status duration_parse(const char *text, span *ret, struct error *err) MUST_USE;
/* Shortest text that parses back to the same value; returns `buffer`. */
const char *duration_format(span d, char buffer[DURATION_SIZE]);

#endif
