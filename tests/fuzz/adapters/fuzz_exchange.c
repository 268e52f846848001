/* Paths of requests: decoded once, and what is allowed cannot leave its folder. */
#include <string.h>

#include "adapters/http/exchange.h"
#include "core/base/utf8.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[4097], path[4097];
    if (size > sizeof text - 1)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!percent_decode(text, path))
        return 0;
    fuzz_check(strlen(path) <= strlen(text) && utf8_valid(path, strlen(path)));
    if (!path_allowed(path))
        return 0;
    fuzz_check(path[0] == '/' && !strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
    size_t length = strlen(path);
    fuzz_check(length < 3 || strcmp(path + length - 3, "/..") != 0);
    for (size_t i = 0; i < length; i++)
        fuzz_check((unsigned char)path[i] >= 0x20);
    return 0;
}
