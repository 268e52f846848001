/* One at a time. /count adds one to a number in a file, slowly, so that two at once would lose one of them; the library
 * refuses the second with 429 and Carillon comes again. With --idempotency-dir a call that comes again, even after
 * `kill -9` of this process, gets its first answer and nothing is counted twice. */
#include <stdlib.h>
#include <unistd.h>

#include "options.h"

static long number(const char *path)
{
    char text[32] = "";
    FILE *in = fopen(path, "r");
    if (in) {
        if (!fgets(text, sizeof text, in))
            text[0] = '\0';
        (void)fclose(in);
    }
    return strtol(text, NULL, 10);
}

static void count(struct carillon_call *call, void *context)
{
    const char *path = context;
    char result[64];
    long next = number(path) + 1;
    (void)usleep(200000);
    FILE *out = fopen(path, "w");
    if (!out || fprintf(out, "%ld\n", next) < 0 || fclose(out)) {
        carillon_call_fail(call, "NO_FILE", "the file cannot be written");
        return;
    }
    (void)snprintf(result, sizeof result, "{\"count\":%ld}", next);
    carillon_call_succeed(call, result);
}

int main(int argc, char **argv)
{
    struct carillon_options options = {.size = sizeof options, .listen = "127.0.0.1:9300"};
    const char *path = getenv("COUNT_FILE");
    static char standard[] = "/tmp/carillon-count";
    struct carillon_task task = {.size = sizeof task,
                                 .path = "/count",
                                 .description = "adds one to a number in a file",
                                 .handler = count,
                                 .context = path ? (void *)getenv("COUNT_FILE") : (void *)standard,
                                 .serial = 1};
    if (example_options(argc, argv, &options))
        return 2;
    struct carillon_executor *executor = carillon_executor_create(&options);
    if (!executor || carillon_executor_add(executor, &task))
        return 1;
    int code = carillon_executor_run(executor);
    carillon_executor_free(executor);
    return code;
}
