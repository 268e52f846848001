/* Port: signatures of calls (Standard Webhooks), and the tokens by which an executor reports (executor-protocol.md §3).
 * Pure in effect: same inputs, same text. */
#ifndef CARILLON_CORE_PORTS_SIGNER_H
#define CARILLON_CORE_PORTS_SIGNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_SIZE 128

struct signer {
    /* "v1,<base64 HMAC-SHA256 of id.timestamp.body>" with the key of this application ("project/app"; "project/" for
     * direct urls). timestamp: seconds since 1970. */
    void (*sign)(struct signer *signer, const char *application, const char *id, int64_t timestamp, const char *body,
                 size_t length, char ret[SIGNATURE_SIZE]);
    /* Right to report under this key ("<run>.<step>.<item>.<try>"): base64url HMAC-SHA256 with the cluster's key.
     * Nothing of it is stored; every node of the cluster can make and check it. */
    void (*token)(struct signer *signer, const char *key, char ret[SIGNATURE_SIZE]);
    bool (*token_valid)(struct signer *signer, const char *key, const char *token); /* in constant time */
    /* The key itself, for those who check signatures: "whsec_<base64>". */
    void (*application_key)(struct signer *signer, const char *application, char ret[SIGNATURE_SIZE]);
};

#endif
