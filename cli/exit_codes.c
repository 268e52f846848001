#include "cli/exit_codes.h"

enum exit_code exit_code_of_http(int status)
{
    if (status >= 200 && status < 300)
        return EXIT_OK;
    switch (status) {
    case 400:
    case 413:
    case 422:
        return EXIT_BAD_INPUT;
    case 404:
        return EXIT_NOT_FOUND;
    case 409:
    case 412:
        return EXIT_CONFLICT;
    case 503:
        return EXIT_UNREACHABLE;
    case 504:
        return EXIT_TIMED_OUT;
    default:
        return EXIT_FAILED;
    }
}

enum exit_code exit_code_of_status(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return EXIT_OK;
    case STATUS_IN_USE:
        return EXIT_IN_USE;
    case STATUS_INVALID:
    case STATUS_DENIED:
        return EXIT_CONFIG;
    case STATUS_UNAVAILABLE:
        return EXIT_UNREACHABLE;
    case STATUS_NOT_FOUND:
        return EXIT_NOT_FOUND;
    case STATUS_CONFLICT:
    case STATUS_EXISTS:
        return EXIT_CONFLICT;
    case STATUS_NO_MEMORY:
    case STATUS_TOO_BIG:
    case STATUS_FENCED:
    case STATUS_UNKNOWN:
    case STATUS_TIMEOUT:
    case STATUS_CANCELED:
    case STATUS_CORRUPT:
    case STATUS_FULL:
    case STATUS_READ_ONLY:
    case STATUS_END:
    case STATUS_INTERNAL:
        return EXIT_FAILED;
    }
    return EXIT_FAILED;
}
