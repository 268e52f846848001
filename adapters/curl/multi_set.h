/* Several curl multis on the loop. One multi with a thousand transfers is slow, so transfers are spread: at most
 * MULTI_TRANSFERS each, the least loaded of as many multis as the present load needs. */
#ifndef CARILLON_ADAPTERS_CURL_MULTI_SET_H
#define CARILLON_ADAPTERS_CURL_MULTI_SET_H

#include <stddef.h>

#include <curl/curl.h>

#include "core/base/status.h"

struct loop;
struct multi;
struct multi_set;

#define MULTI_TRANSFERS 128

/* `on_done` is called for every ended transfer, outside of curl; the easy handle has left its multi by then.
 * `on_idle` after each round of them. */
struct multi_set *multi_set_create(struct loop *loop, size_t max_transfers,
                                   void (*on_done)(void *context, CURL *easy, CURLcode code),
                                   void (*on_idle)(void *context), void *context);
void multi_set_free(struct multi_set *set); /* no transfer may be under way */

struct multi *multi_add(struct multi_set *set, CURL *easy); /* NULL: curl refused it */
void multi_remove(struct multi *multi, CURL *easy);         /* closes the connection of an unfinished transfer */

#endif
