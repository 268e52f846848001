/* One reusable curl handle with all that its callbacks need: prepares a call, guards it, and says how it ended. */
#ifndef CARILLON_ADAPTERS_CURL_TRANSFER_H
#define CARILLON_ADAPTERS_CURL_TRANSFER_H

#include <curl/curl.h>

#include "core/base/instant.h"
#include "core/base/str.h"
#include "core/ports/dispatch.h"

struct address_rules;
struct multi;

/* Shared by all transfers of a dispatch. */
struct transfer_context {
    const struct address_rules *rules;
    const char *user_agent, *ca_file;
    size_t body_bytes; /* of answers in memory, all transfers together */
    size_t body_max;
    span pause_max; /* 0 = pauses do not matter */
    mono beat;      /* the loop was seen to run then */
    mono paused_at; /* end of its last long pause */
};

/* The loop runs: was it still for long before that? */
void transfer_context_beat(struct transfer_context *context);

struct transfer {
    struct transfer *next; /* while idle */
    struct transfer_context *shared;
    CURL *easy;
    CURLU *url;
    struct multi *multi;        /* while under way */
    struct dispatch_call *call; /* while under way */
    struct curl_slist *headers, *resolved;
    struct str body;
    size_t header_bytes;
    mono began;            /* handed to curl */
    bool overslept;        /* the process stood still between that and the sending: it was not sent */
    unsigned starts;       /* how often curl began to send: the second time it is stopped */
    bool reused;           /* the first start was on a kept connection */
    bool name_allowed;     /* by dispatch.allow */
    bool head_whole;       /* the empty line behind the headers has come */
    bool too_big, flooded; /* why a callback stopped the transfer */
    const char *misframed; /* the same: what is wrong with the answer's length */
    int64_t length_said;   /* Content-Length of the present block; −1 = none */
    const char *refused;   /* why an address was refused */
    instant now;           /* of the start, for Retry-After dates */
    char refused_ip[64];
    char location[512]; /* as sent */
    char error[CURL_ERROR_SIZE];
};

struct transfer *transfer_create(struct transfer_context *shared); /* NULL: curl is out of memory */
void transfer_free(struct transfer *transfer);

/* Sets everything of this call. False: the call cannot be made; its `error` says why. resolved: "+host:port:addresses"
 * for CURLOPT_RESOLVE; NULL = curl finds them. */
bool transfer_prepare(struct transfer *transfer, struct dispatch_call *call, span timeout, instant now,
                      const char *resolved);
/* Fills the outputs of the call from the ended transfer and forgets it. */
void transfer_finish(struct transfer *transfer, CURLcode code);
/* The same for a transfer that was taken out of its multi before its end. */
void transfer_cancel(struct transfer *transfer);

#endif
