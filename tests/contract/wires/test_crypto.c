/* Hashes and signatures against published vectors. */
#include <stdlib.h>
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "core/base/hash.h"
#include "tests/contract/wires/harness.h"

static int setup(void **state)
{
    uint64_t before = hash_table_seed;
    (void)state;
    crypto_start();
    return hash_table_seed == before;
}

static void test_sha256(void **state)
{
    char hex[HASH_HEX_SIZE];
    (void)state;
    crypto_sha256_hex("", 0, hex); /* FIPS 180-4 */
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    crypto_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_tokens(void **state)
{
    char one[TOKEN_TEXT_SIZE], other[TOKEN_TEXT_SIZE];
    (void)state;
    crypto_token(one);
    crypto_token(other);
    assert_int_equal(strlen(one), 46);
    assert_memory_equal(one, "cr_", 3);
    assert_int_equal(strspn(one + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 43);
    assert_string_not_equal(one, other);
    assert_true(crypto_equal(one, one, 46));
    assert_false(crypto_equal(one, other, 46));
    assert_int_not_equal(crypto_seed(), crypto_seed());
}

/* Keys and signatures were computed with openssl:
 *   printf 'application:shop/orders' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f -binary | base64
 *   printf 'msg_1.1700000000.{"a":1}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:<that key in hex> -binary |
 * base64 */
static void test_signatures(void **state)
{
    unsigned char key[32];
    char text[SIGNATURE_SIZE], other[SIGNATURE_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    crypto_application_key(key, "shop/orders", text);
    assert_string_equal(text, "whsec_pkjZs7BOCyr7lq0sy+xBkDMS/x5H9PD7iw5WDlimRI4=");
    struct signer *signer = crypto_signer(key);
    signer->sign(signer, "shop/orders", "msg_1", 1700000000, "{\"a\":1}", 7, text);
    assert_string_equal(text, "v1,34uHJYend2fSGuVZ+4ZyW3Pdp1E1MfxchAqend6Ot5U=");
    signer->sign(signer, "shop/", "msg_1", 1700000000, "{\"a\":1}", 7, other);
    assert_string_not_equal(text, other);
    signer->sign(signer, "shop/orders", "msg_1", 1700000001, "{\"a\":1}", 7, other);
    assert_string_not_equal(text, other);
    signer->sign(signer, "shop/orders", "msg_1", 1700000000, NULL, 0, other);
    assert_string_not_equal(text, other);
    free(signer);
}

/* printf 'report:<key>' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f -binary | base64, then url-safe */
static void test_report_tokens(void **state)
{
    static const char call[] = "5851020366654210048.a.0.1", right[] = "kpnpxDOjmHWPzuNYsL6QQtDx1Gvt4jRlOViMx318jGM";
    unsigned char key[32], other_key[32] = {0};
    char text[SIGNATURE_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    struct signer *signer = crypto_signer(key), *other = crypto_signer(other_key);
    signer->token(signer, call, text);
    assert_string_equal(text, right);
    assert_true(signer->token_valid(signer, call, right));
    assert_false(signer->token_valid(signer, "5851020366654210048.a.0.2", right));
    assert_false(other->token_valid(other, call, right));
    const char *wrong[] = {"", "A", right + 1, "none"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(signer->token_valid(signer, call, wrong[i]));
    text[0] ^= 1;
    assert_false(signer->token_valid(signer, call, text));
    free(signer);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sha256), cmocka_unit_test(test_tokens),
                                       cmocka_unit_test(test_signatures), cmocka_unit_test(test_report_tokens)};
    return cmocka_run_group_tests_name("crypto", tests, setup, NULL);
}
