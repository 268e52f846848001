/* Waiting for the end of a run, without leaving who waits in the dark. */
#ifndef CARILLON_CLI_WAIT_H
#define CARILLON_CLI_WAIT_H

#include "cli/client.h"

/* Asks once a second until the run has ended or WAIT_SECONDS have passed; says on stderr what the run waits for, each
 * time that it is something else. ret->json is the run as it was last seen; ret->code tells whether it could be asked.
 * Release with answer_release. */
#define WAIT_SECONDS 600
void run_wait(struct client *client, const char *job, const char *run, struct answer_body *ret);

/* "queued" or "running". */
bool run_is_open(const char *state);

#endif
