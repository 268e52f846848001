/* Sink that writes log lines to a file descriptor (stderr): one line a message, RFC 3339 with milliseconds. Safe from
 * several threads. A flood is cut per kind of message (its text): the first 20 in ten seconds are written, the rest
 * counted, and told with the next line of that kind. Runs are not written here (`run` hands on to `next`). */
#ifndef CARILLON_ADAPTERS_LOG_LOG_SINK_H
#define CARILLON_ADAPTERS_LOG_LOG_SINK_H

#include <stdbool.h>

#include "core/ports/sink.h"

/* next: gets every run event; NULL = nobody. Free with log_sink_free. */
struct sink *log_sink_create(int fd, enum log_level level, bool json, struct sink *next);
void log_sink_set_level(struct sink *sink, enum log_level level);
void log_sink_free(struct sink *sink); /* NULL is fine */
/* "error", "warn", "info", "debug"; false when it is none of them. */
bool log_level_parse(const char *text, enum log_level *ret);

#endif
