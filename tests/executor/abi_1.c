/* A program that was built with the first header and runs on the library of today: sizes it does not know are filled
 * with nothing. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/executor/executor_abi_1.h"

static void greet(struct carillon_call *call, void *context)
{
    (void)context;
    carillon_call_succeed(call, "{\"hello\":\"world\"}");
}

static int ask(int port)
{
    static const char request[] = "POST /greet HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    char answer[2048] = "";
    size_t length = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) ||
        write(fd, request, sizeof request - 1) != sizeof request - 1)
        return 1;
    for (ssize_t n; length + 1 < sizeof answer && (n = read(fd, answer + length, sizeof answer - 1 - length)) > 0;)
        length += (size_t)n;
    (void)close(fd);
    answer[length] = '\0';
    return strstr(answer, "{\"status\":\"success\",\"result\":{\"hello\":\"world\"}}") ? 0 : 1;
}

int main(void)
{
    /* What lies behind the old structures must not be read. */
    struct {
        struct carillon_options options;
        unsigned char behind[256];
    } old;
    struct {
        struct carillon_task task;
        unsigned char behind[64];
    } old_task;
    memset(&old, 0xa5, sizeof old);
    memset(&old_task, 0xa5, sizeof old_task);
    old.options = (struct carillon_options){.size = sizeof old.options, .listen = "127.0.0.1:0"};
    old_task.task = (struct carillon_task){.size = sizeof old_task.task, .path = "/greet", .handler = greet};
    struct carillon_executor *executor = carillon_executor_create(&old.options);
    if (!executor || carillon_executor_add(executor, &old_task.task) || carillon_executor_start(executor)) {
        (void)fprintf(stderr, "it does not start: %s\n", executor ? carillon_executor_error(executor) : "no executor");
        return 1;
    }
    int failed = ask(carillon_executor_port(executor));
    carillon_executor_free(executor);
    struct carillon_options small = {.size = 8};
    if (carillon_executor_create(&small)) {
        (void)fprintf(stderr, "options of no size were taken\n");
        return 1;
    }
    return failed;
}
