#include "adapters/crypto/crypto.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"

#define KEY_BYTES crypto_auth_hmacsha256_KEYBYTES
#define MAC_BYTES crypto_auth_hmacsha256_BYTES

struct derived_signer {
    struct signer signer; /* first: the face */
    unsigned char cluster_key[32];
};

void crypto_start(void)
{
    if (sodium_init() < 0) {
        (void)fputs("carillon: the random generator of this system does not work\n", stderr);
        abort();
    }
    hash_table_seed = crypto_seed();
}

void crypto_random(void *ret, size_t length)
{
    randombytes_buf(ret, length);
}

uint64_t crypto_seed(void)
{
    uint64_t seed;
    randombytes_buf(&seed, sizeof seed);
    return seed;
}

void crypto_token(char ret[TOKEN_TEXT_SIZE])
{
    unsigned char bytes[32];
    randombytes_buf(bytes, sizeof bytes);
    memcpy(ret, "cr_", 3);
    (void)sodium_bin2base64(ret + 3, TOKEN_TEXT_SIZE - 3, bytes, sizeof bytes,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

void crypto_sha256_hex(const void *bytes, size_t length, char ret[HASH_HEX_SIZE])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, bytes, length);
    (void)sodium_bin2hex(ret, HASH_HEX_SIZE, hash, sizeof hash);
}

bool crypto_equal(const void *a, const void *b, size_t length)
{
    return sodium_memcmp(a, b, length) == 0;
}

static void application_key(const unsigned char cluster_key[32], const char *application, unsigned char ret[MAC_BYTES])
{
    static const char prefix[] = "application:";
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, cluster_key, KEY_BYTES);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)prefix, sizeof prefix - 1);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)application, strlen(application));
    (void)crypto_auth_hmacsha256_final(&state, ret);
    sodium_memzero(&state, sizeof state);
}

void crypto_application_key(const unsigned char cluster_key[32], const char *application, char ret[SIGNATURE_SIZE])
{
    static const char prefix[] = "whsec_";
    unsigned char key[MAC_BYTES];
    application_key(cluster_key, application, key);
    memcpy(ret, prefix, sizeof prefix - 1);
    (void)sodium_bin2base64(ret + sizeof prefix - 1, SIGNATURE_SIZE - (sizeof prefix - 1), key, sizeof key,
                            sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(key, sizeof key);
}

/* Standard Webhooks: the MAC covers "<id>.<timestamp>.<body>". */
static void webhook_sign(const unsigned char *key, size_t key_length, const char *id, int64_t timestamp,
                         const char *body, size_t length, char ret[SIGNATURE_SIZE])
{
    unsigned char mac[MAC_BYTES];
    crypto_auth_hmacsha256_state state;
    char time[32];
    int time_length = snprintf(time, sizeof time, ".%lld.", (long long)timestamp);
    (void)crypto_auth_hmacsha256_init(&state, key, key_length);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)time, (unsigned long long)time_length);
    if (length > 0)
        (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, length);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    memcpy(ret, "v1,", 3);
    (void)sodium_bin2base64(ret + 3, SIGNATURE_SIZE - 3, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(&state, sizeof state);
}

static void derived_sign(struct signer *signer, const char *application, const char *id, int64_t timestamp,
                         const char *body, size_t length, char ret[SIGNATURE_SIZE])
{
    const struct derived_signer *derived = (const struct derived_signer *)signer;
    unsigned char key[MAC_BYTES];
    application_key(derived->cluster_key, application, key);
    webhook_sign(key, sizeof key, id, timestamp, body, length, ret);
    sodium_memzero(key, sizeof key);
}

bool crypto_webhook_sign(const char *key, const char *id, int64_t timestamp, const char *body, size_t length,
                         char ret[SIGNATURE_SIZE])
{
    static const char prefix[] = "whsec_";
    unsigned char bytes[64];
    size_t count = 0;
    if (strncmp(key, prefix, sizeof prefix - 1) != 0 ||
        sodium_base642bin(bytes, sizeof bytes, key + sizeof prefix - 1, strlen(key + sizeof prefix - 1), NULL, &count,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        count == 0)
        return false;
    webhook_sign(bytes, count, id, timestamp, body, length, ret);
    sodium_memzero(bytes, sizeof bytes);
    return true;
}

/* Its own prefix: no token is ever the key of an application. */
static void derived_token(struct signer *signer, const char *key, char ret[SIGNATURE_SIZE])
{
    static const char prefix[] = "report:";
    const struct derived_signer *derived = (const struct derived_signer *)signer;
    unsigned char mac[MAC_BYTES];
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, derived->cluster_key, KEY_BYTES);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)prefix, sizeof prefix - 1);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)key, strlen(key));
    (void)crypto_auth_hmacsha256_final(&state, mac);
    (void)sodium_bin2base64(ret, SIGNATURE_SIZE, mac, sizeof mac, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(&state, sizeof state);
}

static bool derived_token_valid(struct signer *signer, const char *key, const char *token)
{
    char right[SIGNATURE_SIZE];
    derived_token(signer, key, right);
    size_t length = strlen(right);
    bool valid = strlen(token) == length && crypto_equal(right, token, length);
    sodium_memzero(right, sizeof right);
    return valid;
}

static void derived_application_key(struct signer *signer, const char *application, char ret[SIGNATURE_SIZE])
{
    crypto_application_key(((const struct derived_signer *)signer)->cluster_key, application, ret);
}

struct signer *crypto_signer(const unsigned char cluster_key[32])
{
    struct derived_signer *derived = mem_new(struct derived_signer);
    derived->signer = (struct signer){derived_sign, derived_token, derived_token_valid, derived_application_key};
    memcpy(derived->cluster_key, cluster_key, sizeof derived->cluster_key);
    return &derived->signer;
}
