/* Standard Webhooks: HMAC-SHA256 over "<id>.<timestamp>.<body>" with an application's key. */
#ifndef CARILLON_EXECUTOR_LIB_SIGNATURE_H
#define CARILLON_EXECUTOR_LIB_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct signature_keys;

/* "whsec_<base64>", several separated by blanks. STATUS_INVALID says what is wrong, without the key. */
enum status signature_keys_create(const char *text, struct signature_keys **ret, struct error *err) MUST_USE;
void signature_keys_free(struct signature_keys *keys);

/* Headers as they came (NULL = absent). NULL = right; otherwise why not, static text. */
const char *signature_check(const struct signature_keys *keys, const char *id, const char *timestamp,
                            const char *signatures, const void *body, size_t length, int64_t now_s, int64_t most_s);

#define SIGNATURE_TEXT 64
/* "v1,<base64>" with the first key. */
void signature_make(const struct signature_keys *keys, const char *id, int64_t timestamp, const void *body,
                    size_t length, char ret[SIGNATURE_TEXT]);

#endif
