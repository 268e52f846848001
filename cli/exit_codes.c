#include "cli/exit_codes.h"

#include <stddef.h>

const struct exit_meaning exit_meanings[] = {
    {EXIT_OK, "ok", "as asked; with `run --wait`: the run succeeded"},
    {EXIT_FAILED, "failed",
     "the message says what: a token that is refused, a server's fault; `run --wait`: the run failed or was lost; "
     "`diff`: something would change"},
    {EXIT_BAD_INPUT, "bad input", "arguments, files or documents that are wrong; nothing was written"},
    {EXIT_NOT_FOUND, "not found", "no such project, job, trigger, run, application or calendar"},
    {EXIT_CONFLICT, "conflict", "it runs already, is in use, or was changed by somebody else"},
    {EXIT_UNREACHABLE, "unreachable",
     "no answer from the server, or its store or schedulers are away; try again later"},
    {EXIT_TIMED_OUT, "timed out", "`run --wait`: still going after ten minutes"},
    {EXIT_CANCELED, "canceled", "`run --wait`: somebody canceled the run"},
    {EXIT_IN_USE, "in use", "the data folder or the address is taken by another process"},
    {EXIT_CONFIG, "configuration", "a setting is wrong, or there is no token"},
    {EXIT_OK, NULL, NULL},
};

enum exit_code exit_code_worse(enum exit_code have, enum exit_code next)
{
    return have ? have : next;
}

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
