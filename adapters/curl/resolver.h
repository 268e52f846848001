/* Host names → addresses for many calls at once. libcurl would start a thread for every transfer whose name it does not
 * know; here each name is looked up once for all calls that wait for it, on a thread of its own (at most
 * RESOLVER_THREADS at a time), kept for half a minute, and refreshed behind the back of those who use it. */
#ifndef CARILLON_ADAPTERS_CURL_RESOLVER_H
#define CARILLON_ADAPTERS_CURL_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>

#define RESOLVER_THREADS 64

struct loop;
struct resolver;

/* Embedded by who waits. */
struct resolver_wait {
    struct resolver_wait *next, *previous;
    struct resolver_name *name; /* NULL = does not wait */
    /* error: NULL = go on; otherwise why not, for people (borrowed). On the loop's thread, never from inside
     * resolver_await. */
    void (*done)(struct resolver_wait *wait, const char *error);
};

struct resolver *resolver_create(struct loop *loop);
void resolver_free(struct resolver *resolver); /* nobody may wait any more */

/* Host and port of a URL when its host is a name that has to be looked up. False: an address, "localhost", or something
 * better left to curl. */
bool resolver_url_host(const char *url, char *host, size_t size, int *ret_port);

/* "a,b" of addresses (IPv6 in brackets) as curl wants them; NULL: not known, await it. */
const char *resolver_find(struct resolver *resolver, const char *host);
void resolver_await(struct resolver *resolver, const char *host, struct resolver_wait *wait);
void resolver_leave(struct resolver_wait *wait); /* no call of done */

#endif
