/* Lists of dispatch.allow and dispatch.deny: parsed or refused with the setting's name; what is our own is never
 * allowed by them. First byte: which list. */
#include <netinet/in.h>
#include <string.h>

#include "adapters/curl/addresses.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct address_rules *rules = NULL;
    struct error err = {.text = ""};
    char text[513];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(3306)};
    if (size < 1 || size > sizeof text - 1)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    own.sin_addr.s_addr = htonl(0x0a000001);
    const struct address_options options = {.allow = text, .own = "10.0.0.1:3306", .loopback_ok = data[0] & 1};
    if (address_rules_create(&options, &rules, &err)) {
        fuzz_check(strstr(err.text, "dispatch.allow"));
        return 0;
    }
    fuzz_check(address_check(rules, (const struct sockaddr *)&own, false) == address_own);
    fuzz_check(address_check(rules, (const struct sockaddr *)&own, true) == address_own);
    (void)address_name_check(rules, "localhost", 80);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
    memcpy(&six.sin6_addr, data, size < 16 ? size : 16);
    (void)address_check(rules, (const struct sockaddr *)&six, false);
    address_rules_free(rules);
    return 0;
}
