/* Log lines, their flood limit, and the word to the service manager. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "adapters/log/log_sink.h"
#include "adapters/log/notify.h"
#include "core/base/jsonscan.h"
#include "tests/contract/wires/harness.h"

static int pipes[2];

static struct sink *sink_open(enum log_level level, bool json)
{
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    return log_sink_create(pipes[1], level, json, NULL);
}

/* All that was written; the sink is freed. */
static const char *sink_close(struct sink *sink)
{
    static char text[65536 * 2];
    size_t length = 0;
    ssize_t n;
    log_sink_free(sink);
    (void)close(pipes[1]);
    while ((n = read(pipes[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    (void)close(pipes[0]);
    return text;
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void test_text(void **state)
{
    struct sink *sink = sink_open(LOG_INFO, false);
    (void)state;
    sink_logf(sink, LOG_WARN, "Something is odd.", "run=%d name=%s", 5, "a\nb\x1b[31m");
    sink_logf(sink, LOG_DEBUG, "Not told.", "%s", "");
    sink_logf(sink, LOG_INFO, "No fields.", "%s", "");
    const char *text = sink_close(sink);
    assert_int_equal(lines(text), 2);
    assert_non_null(strstr(text, "Z warn  Something is odd.  run=5 name=a\\x0ab\\x1b[31m\n"));
    assert_non_null(strstr(text, "Z info  No fields.\n"));
    assert_int_equal(strspn(text, "0123456789-T:.") + strlen("Z"), 24);
}

static void test_json(void **state)
{
    struct sink *sink = sink_open(LOG_DEBUG, true);
    struct error err;
    (void)state;
    sink_logf(sink, LOG_ERROR, "A \"quoted\" thing\n", "path=%s", "C:\\x");
    const char *text = sink_close(sink);
    assert_int_equal(lines(text), 1);
    assert_int_equal(json_check(text, strlen(text), 4, &err), STATUS_OK);
    assert_true(json_string_equals(json_member(slice_of(text, strlen(text)), "fields"), "path=C:\\x"));
    assert_true(json_string_equals(json_member(slice_of(text, strlen(text)), "level"), "error"));
}

static void test_flood(void **state)
{
    struct sink *sink = sink_open(LOG_INFO, false);
    char *large = malloc(60000);
    (void)state;
    for (int i = 0; i < 10000; i++)
        sink_logf(sink, LOG_WARN, "The store cannot be reached.", "n=%d", i);
    sink_logf(sink, LOG_WARN, "Another kind.", "%s", "");
    memset(large, 'x', 59999);
    large[59999] = '\0';
    sink->ops->log(sink, LOG_WARN, "Long fields.", large);
    const char *text = sink_close(sink);
    assert_in_range(lines(text), 3, 30);
    assert_non_null(strstr(text, "n=0\n"));
    assert_non_null(strstr(text, "Another kind."));
    assert_non_null(strstr(text, "Long fields.  fields=too-long\n"));
    free(large);
}

static void *writer(void *context)
{
    for (int i = 0; i < 50; i++) {
        char message[40];
        (void)snprintf(message, sizeof message, "Message number %d.", i);
        sink_logf(context, LOG_INFO, message, "i=%d", i);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct sink *sink = sink_open(LOG_INFO, false);
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, writer, sink);
    log_sink_set_level(sink, LOG_DEBUG);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    const char *text = sink_close(sink);
    assert_int_equal(lines(text), 200);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        assert_memory_equal(line + 23, "Z info  Message number ", 23); /* whole lines only */
}

static void test_levels(void **state)
{
    enum log_level level;
    (void)state;
    assert_true(log_level_parse("debug", &level) && level == LOG_DEBUG);
    assert_true(log_level_parse("error", &level) && level == LOG_ERROR);
    assert_false(log_level_parse("Error", &level));
    assert_false(log_level_parse("", &level));
}

static void test_notify(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[64] = "";
    (void)state;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/tmp/carillon-notify-%d", (int)getpid());
    (void)unsetenv("NOTIFY_SOCKET");
    notify_manager("READY=1"); /* nobody there */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    (void)setenv("NOTIFY_SOCKET", address.sun_path, 1);
    notify_manager("READY=1");
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), 7);
    assert_string_equal(text, "READY=1");
    (void)close(fd);
    (void)unlink(address.sun_path);
    notify_manager("STOPPING=1"); /* gone: no harm */
    (void)setenv("NOTIFY_SOCKET", "", 1);
    notify_manager("STOPPING=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),   cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_flood),  cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_levels), cmocka_unit_test(test_notify)};
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
