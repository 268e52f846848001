/* Exit codes of the command line (api.md §6). */
#ifndef CARILLON_CLI_EXIT_CODES_H
#define CARILLON_CLI_EXIT_CODES_H

#include "core/base/status.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_BAD_INPUT = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_CONFLICT = 4,
    EXIT_UNREACHABLE = 5,
    EXIT_TIMED_OUT = 6,
    EXIT_CANCELED = 7,
    EXIT_IN_USE = 73,
    EXIT_CONFIG = 78,
};

/* The whole list, for help and the reference page; ended by a NULL name. */
struct exit_meaning {
    enum exit_code code;
    const char *name, *when;
};
extern const struct exit_meaning exit_meanings[];

/* The graver of two, for what has several outcomes: the first that is not EXIT_OK stays. */
enum exit_code exit_code_worse(enum exit_code have, enum exit_code next);
/* Of an HTTP answer of the API. */
enum exit_code exit_code_of_http(int status);
/* Of what a server could not start with. */
enum exit_code exit_code_of_status(enum status status);

#endif
