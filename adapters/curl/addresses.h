/* Which addresses a call may go to (executor-protocol.md §7). Checked after name resolution, right before a socket is
 * opened, so that a name cannot be turned to another address between check and use. */
#ifndef CARILLON_ADAPTERS_CURL_ADDRESSES_H
#define CARILLON_ADAPTERS_CURL_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/error.h"

struct address_rules;

struct address_options {
    const char *allow, *deny, *own; /* comma-separated; NULL = none */
    bool loopback_ok;
};

/* STATUS_INVALID names setting and entry. */
enum status address_rules_create(const struct address_options *options, struct address_rules **ret,
                                 struct error *err) MUST_USE;
void address_rules_free(struct address_rules *rules);

/* Does the name of a URL (lower case, without brackets) alone decide? */
enum address_name { ADDRESS_NAME_OPEN, ADDRESS_NAME_ALLOWED, ADDRESS_NAME_DENIED };
enum address_name address_name_check(const struct address_rules *rules, const char *host, uint16_t port);

/* The one reason that dispatch.allow cannot lift. */
extern const char address_own[];
/* NULL = go ahead; otherwise why not (static text, fits behind "it is"). name_allowed: the name stands in `allow`. */
const char *address_check(const struct address_rules *rules, const struct sockaddr *address, bool name_allowed);

#endif
