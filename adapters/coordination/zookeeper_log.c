#include "adapters/coordination/zookeeper_log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "adapters/loop/loop.h"
#include "core/base/mem.h"
#include "core/ports/sink.h"

#define LINES 10
#define WINDOW (10 * SPAN_SECOND)
#define LINE_SIZE 400

struct line {
    struct sink *sink;
    enum log_level level;
    char text[LINE_SIZE];
};

static struct {
    pthread_mutex_t lock;
    struct loop *loop;
    struct sink *sink;
    int64_t window_start;
    int lines;
} target = {.lock = PTHREAD_MUTEX_INITIALIZER};

void zookeeper_log_target(struct loop *loop, struct sink *sink)
{
    pthread_mutex_lock(&target.lock);
    target.loop = loop;
    target.sink = sink;
    pthread_mutex_unlock(&target.lock);
    zoo_set_debug_level(ZOO_LOG_LEVEL_INFO); /* at DEBUG the client reads freed handles (ZOOKEEPER-4809) */
}

void zookeeper_log_forget(struct loop *loop)
{
    pthread_mutex_lock(&target.lock);
    if (target.loop == loop) {
        target.loop = NULL;
        target.sink = NULL;
    }
    pthread_mutex_unlock(&target.lock);
}

static void on_line(void *context)
{
    struct line *line = context;
    sink_logf(line->sink, line->level, "The ZooKeeper client reports.", "text=\"%s\"", line->text);
    free(line);
}

/* "2026-…:123(0x7f…):ZOO_ERROR@function@line: text" → what follows "ZOO_". */
static enum log_level line_split(const char *message, const char **ret_text)
{
    const char *mark = strstr(message, ":ZOO_");
    *ret_text = mark ? mark + 5 : message;
    return mark && (strncmp(*ret_text, "ERROR", 5) == 0 || strncmp(*ret_text, "WARN", 4) == 0) ? LOG_WARN : LOG_DEBUG;
}

/* Posting under the lock: zookeeper_log_forget returns only when no line is on its way to the loop's queue. */
void zookeeper_log_line(const char *message)
{
    int64_t now = loop_clock().mono.ms;
    pthread_mutex_lock(&target.lock);
    if (now - target.window_start >= WINDOW) {
        target.window_start = now;
        target.lines = 0;
    }
    if (target.sink && target.lines < LINES) {
        const char *text;
        struct line *line = mem_new(struct line);
        target.lines++;
        line->sink = target.sink;
        line->level = line_split(message, &text);
        (void)snprintf(line->text, sizeof line->text, "%s", text);
        loop_post(target.loop, on_line, line);
    }
    pthread_mutex_unlock(&target.lock);
}
