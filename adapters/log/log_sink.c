#include "adapters/log/log_sink.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/civil.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define FLOOD_KINDS 64                  /* kinds of messages watched at once; a power of two */
#define FLOOD_LINES 20                  /* lines of one kind in a window */
#define FLOOD_WINDOW (10 * SPAN_SECOND) /* of the monotonic clock */
#define LINE_MAX_BYTES 8192

/* One kind of message: all lines with the same text. Two kinds that share a place share the budget. */
struct flood {
    uint64_t kind;
    int64_t window_start; /* mono ms */
    int lines;
    int64_t dropped;
};

struct log_sink {
    struct sink sink; /* first: the face */
    int fd;
    bool json;
    struct sink *next;
    pthread_mutex_t lock;
    struct flood floods[FLOOD_KINDS]; /* under lock */
};

static const char *const level_texts[] = {"error", "warn", "info", "debug"};

bool log_level_parse(const char *text, enum log_level *ret)
{
    for (size_t i = 0; i < sizeof level_texts / sizeof *level_texts; i++) {
        if (strcmp(text, level_texts[i]) == 0) {
            *ret = (enum log_level)i;
            return true;
        }
    }
    return false;
}

static int64_t clock_ms(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* May this line be written? `ret_dropped`: how many of its kind were not, to be told now. Under lock. */
static bool flood_allows(struct log_sink *log, const char *message, int64_t *ret_dropped)
{
    uint64_t kind = hash_text(message, 0);
    struct flood *flood = &log->floods[kind & (FLOOD_KINDS - 1)];
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    *ret_dropped = 0;
    if (flood->window_start == 0 || now - flood->window_start >= FLOOD_WINDOW) {
        if (flood->kind == kind)
            *ret_dropped = flood->dropped;
        *flood = (struct flood){.kind = kind, .window_start = now};
    }
    if (flood->lines >= FLOOD_LINES) {
        flood->dropped++;
        return false;
    }
    flood->lines++;
    return true;
}

/* A line of text must stay one line, whatever a stranger put into a field. */
static void add_plain(struct str *line, const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20 || c == 0x7f)
            str_addf(line, "\\x%02x", c);
        else
            str_add_char(line, *at);
    }
}

static void line_text(struct str *line, const char *time, enum log_level level, const char *message, const char *fields)
{
    str_addf(line, "%s %-5s ", time, level_texts[level]);
    add_plain(line, message);
    if (*fields) {
        str_add(line, "  ");
        add_plain(line, fields);
    }
}

static void line_json(struct str *line, const char *time, enum log_level level, const char *message, const char *fields)
{
    str_addf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", time, level_texts[level]);
    str_add_json(line, message);
    if (*fields) {
        str_add(line, ",\"fields\":");
        str_add_json(line, fields);
    }
    str_add_char(line, '}');
}

/* One write a line, so that lines of several processes on one pipe do not mix. A line that cannot be written is lost:
 * there is nowhere to say so. */
static void line_write(struct log_sink *log, const struct str *line)
{
    size_t done = 0;
    while (done < line->length) {
        ssize_t n = write(log->fd, line->data + done, line->length - done);
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

static void line_emit(struct log_sink *log, enum log_level level, const char *message, const char *fields)
{
    char time[RFC3339_SIZE];
    struct str line;
    str_init(&line, LINE_MAX_BYTES);
    (void)rfc3339_format((instant){clock_ms(CLOCK_REALTIME)}, time);
    (log->json ? line_json : line_text)(&line, time, level, message, fields);
    if (line.failed) { /* too long: the message without its fields, cut */
        str_release(&line);
        str_init(&line, LINE_MAX_BYTES);
        char cut[512];
        (void)snprintf(cut, sizeof cut, "%s", message);
        (log->json ? line_json : line_text)(&line, time, level, cut, "fields=too-long");
    }
    str_add_char(&line, '\n');
    line_write(log, &line);
    str_release(&line);
}

static void log_line(struct sink *sink, enum log_level level, const char *message, const char *fields)
{
    struct log_sink *log = (struct log_sink *)sink;
    int64_t dropped;
    if (level > __atomic_load_n(&sink->level, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&log->lock);
    if (flood_allows(log, message, &dropped)) {
        if (dropped > 0) {
            char more[64];
            (void)snprintf(more, sizeof more, "dropped=%lld", (long long)dropped);
            line_emit(log, level, "Lines of the next kind were too many and left out.", more);
        }
        line_emit(log, level, message, fields ? fields : "");
    }
    pthread_mutex_unlock(&log->lock);
}

static void log_run(struct sink *sink, const struct run_row *run)
{
    const struct log_sink *log = (const struct log_sink *)sink;
    if (log->next)
        log->next->ops->run(log->next, run);
}

static const struct sink_ops log_ops = {.log = log_line, .run = log_run};

struct sink *log_sink_create(int fd, enum log_level level, bool json, struct sink *next)
{
    struct log_sink *log = mem_new(struct log_sink);
    log->sink.ops = &log_ops;
    log->sink.level = level;
    log->fd = fd;
    log->json = json;
    log->next = next;
    pthread_mutex_init(&log->lock, NULL);
    return &log->sink;
}

void log_sink_set_level(struct sink *sink, enum log_level level)
{
    __atomic_store_n(&sink->level, level, __ATOMIC_RELAXED);
}

void log_sink_free(struct sink *sink)
{
    struct log_sink *log = (struct log_sink *)sink;
    if (!log)
        return;
    pthread_mutex_destroy(&log->lock);
    free(log);
}
