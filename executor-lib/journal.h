/* The memory of keys on disk: one file to which facts are appended, each durable before the function returns (several
 * threads share one fsync). A torn tail, as a kill leaves it, is cut off at the next start. The file is written anew
 * when most of it is of no use any more. One process at a time. */
#ifndef CARILLON_EXECUTOR_LIB_JOURNAL_H
#define CARILLON_EXECUTOR_LIB_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct journal;

enum journal_kind {
    JOURNAL_BEGUN = 'B',    /* a handler works on the key */
    JOURNAL_ENDED = 'E',    /* status and answer; callbacks: where it has to be reported, "" = nowhere */
    JOURNAL_REPORTED = 'R', /* the report was acknowledged */
    JOURNAL_FORGOT = 'F',
};

struct journal_fact {
    enum journal_kind kind;
    const char *key, *callbacks, *answer; /* NULL = "" */
    uint64_t body;                        /* hash of the request's body */
    int status;
    int64_t at; /* wall ms */
};

/* Makes the folder. Tells every fact that is there, oldest first. STATUS_IN_USE: another process has it. */
enum status journal_open(const char *folder, void (*told)(void *context, const struct journal_fact *fact),
                         void *context, struct journal **ret, struct error *err) MUST_USE;
void journal_close(struct journal *journal); /* NULL is fine */

/* false: it could not be written (the disk is full, …): the fact is not durable. */
bool journal_add(struct journal *journal, const struct journal_fact *fact);

/* Is it time to write it anew? `live`: bytes that still matter. Then: begin, add what matters, end. Nothing else may
 * call in between. */
bool journal_stale(struct journal *journal, size_t live);
bool journal_rewrite_begin(struct journal *journal);
void journal_rewrite_add(struct journal *journal, const struct journal_fact *fact);
bool journal_rewrite_end(struct journal *journal); /* false: the old one stays */

#endif
