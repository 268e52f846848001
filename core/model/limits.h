/* Every maximum that a stranger could otherwise grow, with its reason. */
#ifndef CARILLON_CORE_MODEL_LIMITS_H
#define CARILLON_CORE_MODEL_LIMITS_H

#include <stddef.h>

#define LIMIT_NAME 128                   /* bytes of a name; fits an indexed column */
#define LIMIT_NODE 64                    /* bytes of a node's name */
#define LIMIT_DOCUMENT ((size_t)4 << 20) /* bytes of a document or API body: api.md §1 */
#define LIMIT_JSON_DEPTH 64              /* nesting; keeps recursion off a small stack's end */
#define LIMIT_TRIGGERS 64                /* triggers of one job */
#define LIMIT_STEPS 1000                 /* steps of one graph: what a picture can still show */
#define LIMIT_EDGES 10000                /* edges of one graph */
#define LIMIT_ITEMS 10000                /* items of one broadcast, shard or map step: each is a row at least */
#define LIMIT_LOG_LINE 4096              /* bytes of one line of an attempt's log */
#define LIMIT_LOG_LINES 10000            /* lines of one call's log */
#define LIMIT_LOG_BYTES (1 << 20)        /* bytes of one call's log */
#define LIMIT_TASKS 1000                 /* tasks of one application */
#define LIMIT_INSTANCES 1000             /* static instances of one application */
#define LIMIT_CALENDARS 16               /* calendars of one trigger */
#define LIMIT_QUIET 16                   /* quiet windows of one trigger */
#define LIMIT_HEADERS 64                 /* own headers of a task or step */
#define LIMIT_LABELS 64
#define LIMIT_PARAMS ((size_t)64 << 10)     /* bytes of params of a job, trigger or request: X42 */
#define LIMIT_RESULT ((size_t)64 << 10)     /* bytes of a result that successors can read */
#define LIMIT_REQUEST ((size_t)1 << 20)     /* bytes of a call's body: executor-protocol.md §1 */
#define LIMIT_RESPONSE ((size_t)4 << 20)    /* bytes of an answer read at most (dispatch.max_response) */
#define LIMIT_INLINE_BODY ((size_t)2 << 10) /* bytes kept in the attempt row itself: data-model.md §2 */
#define LIMIT_NOTICE_TO 1200                /* bytes of where an executor is told to stop */
#define LIMIT_EXPRESSION ((size_t)4 << 10)  /* bytes of one ${…} */
#define LIMIT_BATCH_ITEMS 1000              /* items of one API batch, rows of one page */
#define LIMIT_ERROR 500                     /* bytes of an error text in a row */
#define CLAIM_SLOTS 1024                    /* shared slots; fixed when the cluster is made */
#define CLAIM_SLOTS_EXTRA 256               /* slots for pools and moves by hand, behind the shared ones */
#define CLAIM_SLOTS_ALL (CLAIM_SLOTS + CLAIM_SLOTS_EXTRA)

#endif
