/* Port: signatures of calls (Standard Webhooks). Pure in effect: same inputs, same text. */
#ifndef CARILLON_CORE_PORTS_SIGNER_H
#define CARILLON_CORE_PORTS_SIGNER_H

#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_SIZE 128

struct signer {
    /* "v1,<base64 HMAC-SHA256 of id.timestamp.body>" with the key of this application ("project/app"; "project/" for
     * direct urls). timestamp: seconds since 1970. */
    void (*sign)(struct signer *signer, const char *application, const char *id, int64_t timestamp, const char *body,
                 size_t length, char ret[SIGNATURE_SIZE]);
};

#endif
