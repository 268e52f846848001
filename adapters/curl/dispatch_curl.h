/* The dispatch port on libcurl: many transfers on one loop thread, kept-alive connections, and never a request sent
 * twice. docs/internals/wires.md explains the guard. */
#ifndef CARILLON_ADAPTERS_CURL_DISPATCH_CURL_H
#define CARILLON_ADAPTERS_CURL_DISPATCH_CURL_H

#include "core/base/error.h"
#include "core/ports/dispatch.h"

struct loop;

struct dispatch_curl_options {
    const char *user_agent; /* "carillon/0.1.0" */
    size_t max_in_flight;   /* transfers at once; 0 = 4096. Further calls wait in a queue */
    size_t max_queue;       /* calls that wait; 0 = 65536. Beyond: DISPATCH_NOT_SENT */
    /* Address rules, comma-separated: "10.0.0.0/8", "127.0.0.1:9000", "[::1]:9000", "::1", "host:port", "host".
     * NULL or "" = none. Order: own (always refused), allow, deny, then the defaults: link-local, cloud metadata,
     * multicast, reserved and unspecified addresses refused, loopback only with loopback_ok, all else allowed. */
    const char *allow;   /* setting dispatch.allow */
    const char *deny;    /* setting dispatch.deny */
    const char *own;     /* "host:port" of our store, coordination and management listeners */
    bool loopback_ok;    /* this process listens on loopback only */
    span pause_max;      /* a call that was begun before the loop stood still for longer is not sent any more: meanwhile
                          * somebody else may have made it (a stopped process, continued). 0 = never mind */
    const char *ca_file; /* certificates to verify against; NULL or "" = the system's */
};

/* STATUS_INVALID: a list does not parse; the text names setting and entry. A host name in a list is resolved here. */
enum status dispatch_curl_create(struct loop *loop, const struct dispatch_curl_options *options, struct dispatch **ret,
                                 struct error *err) MUST_USE;

#endif
