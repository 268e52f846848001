/* The smallest executor: one task that greets. `cc hello-executor.c $(pkg-config --cflags --libs carillon-executor)` */
#include <carillon/executor.h>

static void greet(struct carillon_call *call, void *context)
{
    (void)context;
    carillon_call_succeed(call, "{\"hello\":\"world\"}");
}

int main(int argc, char **argv)
{
    struct carillon_options options = {.size = sizeof options, .listen = argc > 1 ? argv[1] : "127.0.0.1:9000"};
    struct carillon_executor *executor = carillon_executor_create(&options);
    struct carillon_task task = {.size = sizeof task, .path = "/greet", .description = "says hello", .handler = greet};
    if (!executor || carillon_executor_add(executor, &task))
        return 1;
    int code = carillon_executor_run(executor);
    carillon_executor_free(executor);
    return code;
}
