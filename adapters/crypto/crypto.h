/* Secrets, hashes, signatures, by libsodium. */
#ifndef CARILLON_ADAPTERS_CRYPTO_CRYPTO_H
#define CARILLON_ADAPTERS_CRYPTO_CRYPTO_H

#include <stdbool.h>

#include "core/ports/signer.h"

void crypto_start(void); /* once, before anything below; also seeds hash_table_seed */
void crypto_random(void *ret, size_t length);
uint64_t crypto_seed(void);

#define TOKEN_TEXT_SIZE 64
/* New API token "cr_" + 43 characters of base64url (256 bits). */
void crypto_token(char ret[TOKEN_TEXT_SIZE]);
#define HASH_HEX_SIZE 65
/* SHA-256 in hex; for tokens (256 random bits need no slow hash) and fingerprints. */
void crypto_sha256_hex(const void *bytes, size_t length, char ret[HASH_HEX_SIZE]);
bool crypto_equal(const void *a, const void *b, size_t length); /* constant time */

/* Signer whose application keys and report tokens are derived: HMAC-SHA256(cluster key, "application:" + name). Free
 * with free(). */
struct signer *crypto_signer(const unsigned char cluster_key[32]);
/* Key of an application as "whsec_<base64>", for those who check signatures. */
void crypto_application_key(const unsigned char cluster_key[32], const char *application, char ret[SIGNATURE_SIZE]);
/* "v1,<base64>" of Standard Webhooks with such a key. false: that is no key. */
bool crypto_webhook_sign(const char *key, const char *id, int64_t timestamp, const char *body, size_t length,
                         char ret[SIGNATURE_SIZE]);

#endif
