/* Who asks: bearer tokens (SHA-256 in the store), with a cache of at most 5 s, rate per token, and a brake on addresses
 * that send unknown tokens. Thread-safe. */
#ifndef CARILLON_ORCHESTRATOR_AUTH_H
#define CARILLON_ORCHESTRATOR_AUTH_H

#include "orchestrator/call.h"

/* A token was taken back: it stops working here at once. */
void auth_forget(struct auth *auth, int64_t token);
struct auth *auth_create(void);
void auth_free(struct auth *auth);

/* Fills call->who from the Authorization header; false with call->problem (401, 429, 503). */
bool auth_check(struct call *call);
/* One more refusal of something secret that is no API token. false: this address is braked (429 in call->problem). */
bool auth_brake(struct call *call);

#endif
