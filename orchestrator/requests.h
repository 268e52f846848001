/* Requests as batches: what run now, enqueue, cancel, pause and resume have in common. */
#ifndef CARILLON_ORCHESTRATOR_REQUESTS_H
#define CARILLON_ORCHESTRATOR_REQUESTS_H

#include "orchestrator/call.h"

/* A batch from the body, or (routes with {name} or {id}) the one of the path. */
bool requests_input(struct call *call, const char *list, const char *key_member, struct batch *ret);
/* The answer of either form. */
void requests_answer(struct call *call, struct batch *batch, batch_result *result, void *context);
/* {}; for what has nothing more to say than that it was done. context: NULL. */
batch_result empty_result;
/* Adds what has no problem yet, in one transaction; statuses of items become their problems. adds[i] belongs to
 * items[i]. false with call->problem: nothing was added. */
bool requests_add(struct call *call, struct batch *batch, struct request_add *adds);

/* Run and enqueue: reads params, scheduled_at and idempotency_key of one item (what it does not say, the common ones
 * do) and gives the run its id. */
bool wish_read(struct call *call, const struct batch *batch, struct batch_item *item, enum request_kind kind,
               struct request_add *add);
/* {"run","trigger"}; context: struct request_add *, parallel to the items. */
batch_result wish_result;

#endif
