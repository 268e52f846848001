/* The reports of calls that bench_sink has accepted with 202: sent when they are due to the addresses of
 * X-Carillon-Callback, one after another, again each second until somebody acknowledges (200, 409, 410). */
#ifndef CARILLON_BENCH_REPORTS_H
#define CARILLON_BENCH_REPORTS_H

void reports_start(void);
/* Both texts are copied. `due`: ms since 1970. */
void reports_add(const char *key, const char *urls, long long due);

/* of sink.c */
long long sink_now(void);
void sink_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
