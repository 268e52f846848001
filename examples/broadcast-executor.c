/* The same call on every instance, or each instance its share of the work. /reload is meant for routing `broadcast`,
 * /share for `shard`: it takes every total-th of the numbers 0 … 99, beginning with its own. */
#include <unistd.h>

#include "options.h"

static void reload(struct carillon_call *call, void *context)
{
    char result[96];
    (void)context;
    (void)snprintf(result, sizeof result, "{\"pid\":%ld,\"instance\":%d,\"of\":%d}", (long)getpid(),
                   carillon_call_shard_index(call), carillon_call_shard_total(call));
    carillon_call_succeed(call, result);
}

static void share(struct carillon_call *call, void *context)
{
    char result[96];
    int index = carillon_call_shard_index(call), total = carillon_call_shard_total(call), sum = 0, n = 0;
    (void)context;
    for (int i = index; i < 100; i += total) {
        sum += i;
        n++;
    }
    (void)snprintf(result, sizeof result, "{\"shard\":%d,\"of\":%d,\"numbers\":%d,\"sum\":%d}", index, total, n, sum);
    carillon_call_succeed(call, result);
}

int main(int argc, char **argv)
{
    struct carillon_options options = {.size = sizeof options, .listen = "127.0.0.1:9400"};
    const struct carillon_task tasks[] = {
        {.size = sizeof *tasks, .path = "/reload", .description = "loads its tables anew", .handler = reload},
        {.size = sizeof *tasks, .path = "/share", .description = "adds up its share", .handler = share},
    };
    if (example_options(argc, argv, &options))
        return 2;
    struct carillon_executor *executor = carillon_executor_create(&options);
    if (!executor || carillon_executor_add(executor, &tasks[0]) || carillon_executor_add(executor, &tasks[1]))
        return 1;
    int code = carillon_executor_run(executor);
    carillon_executor_free(executor);
    return code;
}
