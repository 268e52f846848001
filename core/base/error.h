/* Errors for people: a status and one sentence that names the place and the remedy, filled by the callee.
 * `struct faults` gathers many of them with a path each ("spec.tasks[2].after[0]"), so that a bad document lists every
 * fault at once. Both are plain values without heap memory except the list of faults. */
#ifndef CARILLON_CORE_BASE_ERROR_H
#define CARILLON_CORE_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status.h"

#define ERROR_TEXT_MAX 512
#define FAULT_PATH_MAX 160
#define FAULT_TEXT_MAX 360
#define FAULTS_MAX 100 /* further ones are counted, not kept */

struct error {
    enum status code;
    char text[ERROR_TEXT_MAX];
};

struct fault {
    char path[FAULT_PATH_MAX]; /* "" = the whole document */
    char text[FAULT_TEXT_MAX];
    bool warning; /* told, but does not refuse */
};

struct faults {
    struct fault *items; /* owned */
    size_t count;        /* kept */
    size_t errors;       /* all that are no warnings, kept or not */
};

/* Fill `err` (may be NULL) and return `code`, so that `return error_set(err, STATUS_INVALID, "…")` reads well. */
enum status error_set(struct error *err, enum status code, const char *format, ...) PRINTF_LIKE(3, 4);

void faults_init(struct faults *faults);
void faults_release(struct faults *faults);
/* Add one fault. Out of memory only loses the text: `errors` still counts. */
void faults_add(struct faults *faults, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
void faults_warn(struct faults *faults, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
