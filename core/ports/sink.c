#include "core/ports/sink.h"

#include <stdarg.h>
#include <stdio.h>

void sink_logf(struct sink *sink, enum log_level level, const char *message, const char *fields_format, ...)
{
    char fields[1024];
    va_list args;
    if (!sink || level > __atomic_load_n(&sink->level, __ATOMIC_RELAXED)) /* a reload may change it meanwhile */
        return;
    va_start(args, fields_format);
    (void)vsnprintf(fields, sizeof fields, fields_format, args);
    va_end(args);
    sink->ops->log(sink, level, message, fields);
}
