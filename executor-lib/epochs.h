/* The highest epoch seen for each run (executor-protocol.md §1): a caller that was overtaken is refused. The oldest
 * runs are forgotten first. Safe from several threads. */
#ifndef CARILLON_EXECUTOR_LIB_EPOCHS_H
#define CARILLON_EXECUTOR_LIB_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct epochs;

struct epochs *epochs_create(size_t maximum); /* NULL: out of memory */
void epochs_free(struct epochs *epochs);
/* false: a higher epoch was seen for this run; *ret_seen is it. Out of memory: true, and nothing is remembered. */
bool epochs_admit(struct epochs *epochs, const char *run, int64_t epoch, int64_t *ret_seen);

#endif
