/* HTTP servers that behave as bad as servers do. The path of a request chooses the behaviour. Every request that
 * arrives is counted under its Idempotency-Key, so that a test sees a second delivery. One thread a connection. */
#ifndef CARILLON_TESTS_CONTRACT_WIRES_RUDE_SERVER_H
#define CARILLON_TESTS_CONTRACT_WIRES_RUDE_SERVER_H

#include <stddef.h>

struct rude_server;

/* close_at_once: connections are closed before a byte is read. `host` is "127.0.0.1" or "::1". */
struct rude_server *rude_server_start(const char *host, int close_at_once);
int rude_server_port(const struct rude_server *server);
/* How often a request with this key has arrived; the most that any key has; all requests. */
int rude_server_deliveries(struct rude_server *server, const char *key);
int rude_server_most(struct rude_server *server);
int rude_server_total(struct rude_server *server);
/* "/hold" answers when so many requests wait there; and how many waited there at once at most. */
void rude_server_hold(struct rude_server *server, int count);
int rude_server_held(struct rude_server *server);
/* Head and body of the last request. */
void rude_server_last(struct rude_server *server, char *ret, size_t size);
void rude_server_stop(struct rude_server *server);

#endif
