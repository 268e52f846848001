#include "executor-lib/signature.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 4
#define KEY_BYTES_MAX 64
#define MAC_BYTES crypto_auth_hmacsha256_BYTES

struct signature_keys {
    struct {
        unsigned char bytes[KEY_BYTES_MAX];
        size_t length;
    } keys[KEYS_MAX];
    size_t count;
};

static bool add(struct signature_keys *keys, const char *text, size_t length)
{
    static const char prefix[] = "whsec_";
    if (length <= sizeof prefix - 1 || strncmp(text, prefix, sizeof prefix - 1) != 0 || keys->count == KEYS_MAX)
        return false;
    const char *end = NULL;
    size_t *size = &keys->keys[keys->count].length;
    if (sodium_base642bin(keys->keys[keys->count].bytes, KEY_BYTES_MAX, text + sizeof prefix - 1,
                          length - (sizeof prefix - 1), NULL, size, &end, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != text + length || *size == 0)
        return false;
    keys->count++;
    return true;
}

enum status signature_keys_create(const char *text, struct signature_keys **ret, struct error *err)
{
    if (sodium_init() < 0)
        return error_set(err, STATUS_UNAVAILABLE, "libsodium does not start");
    struct signature_keys *keys = calloc(1, sizeof *keys);
    if (!keys)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        if (!add(keys, p, length)) {
            signature_keys_free(keys);
            return error_set(err, STATUS_INVALID,
                             "application_key: \"whsec_\" and base64 are expected, at most %d keys separated by blanks",
                             KEYS_MAX);
        }
        p += length;
    }
    if (keys->count == 0) {
        signature_keys_free(keys);
        return error_set(err, STATUS_INVALID, "application_key is empty");
    }
    *ret = keys;
    return STATUS_OK;
}

void signature_keys_free(struct signature_keys *keys)
{
    if (!keys)
        return;
    sodium_memzero(keys, sizeof *keys);
    free(keys);
}

static void sign(const struct signature_keys *keys, size_t key, const char *id, const char *timestamp, const void *body,
                 size_t length, char ret[SIGNATURE_TEXT])
{
    crypto_auth_hmacsha256_state state;
    unsigned char mac[MAC_BYTES];
    (void)crypto_auth_hmacsha256_init(&state, keys->keys[key].bytes, keys->keys[key].length);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)timestamp, strlen(timestamp));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    if (length)
        (void)crypto_auth_hmacsha256_update(&state, body, length);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    memcpy(ret, "v1,", 3);
    (void)sodium_bin2base64(ret + 3, SIGNATURE_TEXT - 3, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(&state, sizeof state);
}

void signature_make(const struct signature_keys *keys, const char *id, int64_t timestamp, const void *body,
                    size_t length, char ret[SIGNATURE_TEXT])
{
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)timestamp);
    sign(keys, 0, id, text, body, length, ret);
}

/* The header may hold several signatures, one for each key that is valid now. */
static bool holds(const char *signatures, const char *right)
{
    size_t length = strlen(right);
    bool found = false;
    for (const char *p = signatures; *p; p += strspn(p, " ")) {
        size_t one = strcspn(p, " ");
        found |= one == length && sodium_memcmp(p, right, length) == 0;
        p += one;
    }
    return found;
}

const char *signature_check(const struct signature_keys *keys, const char *id, const char *timestamp,
                            const char *signatures, const void *body, size_t length, int64_t now_s, int64_t most_s)
{
    if (!id || !*id || !timestamp || !*timestamp || !signatures || !*signatures)
        return "Webhook-Id, Webhook-Timestamp or Webhook-Signature is missing";
    char *end = NULL;
    long long at = strtoll(timestamp, &end, 10);
    if (*end || strlen(timestamp) > 12)
        return "Webhook-Timestamp is no number of seconds";
    if (at < now_s - most_s || at > now_s + most_s)
        return "Webhook-Timestamp is too far from now: the call is old, or a clock is wrong";
    bool right = false;
    for (size_t i = 0; i < keys->count; i++) {
        char text[SIGNATURE_TEXT];
        sign(keys, i, id, timestamp, body, length, text);
        right |= holds(signatures, text);
    }
    return right ? NULL : "Webhook-Signature does not match: another key, or the body was changed";
}
