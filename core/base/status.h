/* Status codes: how a call ended. 0 is success, everything else is negative.
 * Functions that can fail return `enum status`; where a person will read the reason they also fill a `struct error`. */
#ifndef CARILLON_CORE_BASE_STATUS_H
#define CARILLON_CORE_BASE_STATUS_H

/* X(name, value, text) */
#define STATUS_TABLE(X)                                               \
    X(STATUS_OK, 0, "ok")                                             \
    X(STATUS_NO_MEMORY, -1, "out of memory")                          \
    X(STATUS_INVALID, -2, "invalid input")                            \
    X(STATUS_NOT_FOUND, -3, "not found")                              \
    X(STATUS_EXISTS, -4, "already exists")                            \
    X(STATUS_CONFLICT, -5, "conflict")                                \
    X(STATUS_TOO_BIG, -6, "too big")                                  \
    X(STATUS_FENCED, -7, "fenced: this boot or slot has a successor") \
    X(STATUS_UNAVAILABLE, -8, "unavailable")                          \
    X(STATUS_UNKNOWN, -9, "outcome unknown")                          \
    X(STATUS_TIMEOUT, -10, "timed out")                               \
    X(STATUS_CANCELED, -11, "canceled")                               \
    X(STATUS_DENIED, -12, "denied")                                   \
    X(STATUS_CORRUPT, -13, "corrupt data")                            \
    X(STATUS_FULL, -14, "no space left")                              \
    X(STATUS_READ_ONLY, -15, "read-only")                             \
    X(STATUS_IN_USE, -16, "in use")                                   \
    X(STATUS_END, -17, "no further value")                            \
    X(STATUS_INTERNAL, -18, "internal error")

enum status {
#define STATUS_ENUM(name, value, text) name = value,
    STATUS_TABLE(STATUS_ENUM)
#undef STATUS_ENUM
};

/* Result must be looked at. */
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Lower-case text of a status; never NULL. */
const char *status_text(enum status status);

#endif
