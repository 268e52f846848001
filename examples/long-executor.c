/* Long work. /report takes params.seconds (10): it is answered 202 at once, tells how far it is, writes lines into the
 * attempt's log, comes to an end when it is canceled, and reports its end until Carillon has it. */
#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "options.h"

static int seconds_of(struct carillon_call *call)
{
    cJSON *params = cJSON_Parse(carillon_call_params(call));
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(params, "seconds");
    int n = cJSON_IsNumber(seconds) ? seconds->valueint : 10;
    cJSON_Delete(params);
    return n;
}

static void report(struct carillon_call *call, void *context)
{
    char text[80];
    int seconds = seconds_of(call);
    (void)context;
    if (carillon_call_interrupted(call))
        carillon_call_log(call, "an earlier process was stopped in the middle of this; the pages begin anew");
    for (int tenth = 0; tenth < seconds * 10; tenth++) {
        if (carillon_call_canceled(call)) {
            carillon_call_log(call, "canceled: the pages written so far are thrown away");
            carillon_call_fail(call, "CANCELED", "stopped in the middle, as asked");
            return;
        }
        if (tenth % 5 == 0) {
            (void)snprintf(text, sizeof text, "page %d of %d", tenth / 5 + 1, seconds * 2);
            carillon_call_progress(call, tenth * 10 / seconds, text);
            carillon_call_log(call, text);
        }
        (void)usleep(100000);
    }
    (void)snprintf(text, sizeof text, "{\"pages\":%d}", seconds * 2);
    carillon_call_succeed(call, text);
}

int main(int argc, char **argv)
{
    struct carillon_options options = {
        .size = sizeof options, .listen = "127.0.0.1:9200", .heartbeat_seconds = 1, .stop_seconds = 3};
    struct carillon_task task = {.size = sizeof task,
                                 .path = "/report",
                                 .description = "writes a long report",
                                 .handler = report,
                                 .asynchronous = 1};
    if (example_options(argc, argv, &options))
        return 2;
    struct carillon_executor *executor = carillon_executor_create(&options);
    if (!executor || carillon_executor_add(executor, &task))
        return 1;
    int code = carillon_executor_run(executor);
    carillon_executor_free(executor);
    return code;
}
