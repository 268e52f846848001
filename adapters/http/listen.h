/* Opens a listening socket by its text form. */
#ifndef CARILLON_ADAPTERS_HTTP_LISTEN_H
#define CARILLON_ADAPTERS_HTTP_LISTEN_H

#include "core/base/error.h"

/* "127.0.0.1:8420", "[::1]:0", "name:80". The text of an error names the address and --listen. */
enum status listen_open(const char *text, int *ret_fd, int *ret_port, struct error *err) MUST_USE;

#endif
