/* Port: where a roof tells what happens: log lines and run events. Called on the loop's thread; must not block and must
 * not call back. Texts are borrowed. */
#ifndef CARILLON_CORE_PORTS_SINK_H
#define CARILLON_CORE_PORTS_SINK_H

#include "core/base/instant.h"
#include "core/base/status.h"
#include "core/model/run.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct sink;

struct sink_ops {
    /* message: a whole sentence; fields: "key=value key=value", may be "". */
    void (*log)(struct sink *sink, enum log_level level, const char *message, const char *fields);
    /* A run was committed in this state (started, ended): for live views and, later, the outbox. */
    void (*run)(struct sink *sink, const struct run_row *run);
};

struct sink {
    const struct sink_ops *ops;
    enum log_level level; /* lines above it are not made */
};

/* printf-like helper: nothing is formatted when the level is off. */
void sink_logf(struct sink *sink, enum log_level level, const char *message, const char *fields_format, ...)
    PRINTF_LIKE(4, 5);

#endif
