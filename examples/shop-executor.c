/* The executor of the sample shop (examples/shop): it closes the books of a small shop. Tasks:
 *   /orders   lists the day's orders       /rates    a slow one (1 s)        /stock    counts what is left
 *   /post     adds up what came before     /mail     flaky: fails every third time, so that retries can be seen */
#include <carillon/executor.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

static void orders(struct carillon_call *call, void *context)
{
    char result[160];
    (void)context;
    /* A number out of the key, so that the sample's figures differ from run to run without any state. */
    unsigned count = 20;
    for (const char *p = carillon_call_key(call); *p; p++)
        count = (count * 31 + (unsigned char)*p) % 80;
    (void)snprintf(result, sizeof result, "{\"count\":%u,\"total\":\"%u.%02u\",\"currency\":\"EUR\"}", count + 20,
                   (count + 20) * 17, count % 100);
    carillon_call_succeed(call, result);
}

static void rates(struct carillon_call *call, void *context)
{
    (void)context;
    for (int i = 0; i < 10 && !carillon_call_canceled(call); i++)
        (void)usleep(100000);
    carillon_call_succeed(call, "{\"EUR\":\"1\",\"CNY\":\"8.21\",\"JPY\":\"181.4\"}");
}

static void stock(struct carillon_call *call, void *context)
{
    (void)context;
    carillon_call_succeed(call, "{\"shelves\":12,\"empty\":[\"紅茶\",\"コーヒー\"]}");
}

static void post(struct carillon_call *call, void *context)
{
    (void)context;
    cJSON *params = cJSON_Parse(carillon_call_params(call));
    const cJSON *total = cJSON_GetObjectItemCaseSensitive(params, "total");
    if (!cJSON_IsString(total)) {
        carillon_call_fail(call, "NO_TOTAL", "params.total is missing");
    } else {
        cJSON *result = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(result, "posted", total->valuestring);
        char *text = cJSON_PrintUnformatted(result);
        carillon_call_succeed(call, text);
        free(text);
        cJSON_Delete(result);
    }
    cJSON_Delete(params);
}

static void mail(struct carillon_call *call, void *context)
{
    atomic_uint *calls = context;
    if (atomic_fetch_add(calls, 1) % 3 == 0)
        carillon_call_fail(call, "MAILBOX_FULL", "the mail server did not take it; try again");
    else
        carillon_call_succeed(call, "{\"sent\":true}");
}

int main(int argc, char **argv)
{
    static atomic_uint mails;
    struct carillon_options options = {.size = sizeof options, .listen = argc > 1 ? argv[1] : "127.0.0.1:9100"};
    const struct carillon_task tasks[] = {
        {.size = sizeof *tasks, .path = "/orders", .description = "lists the day's orders", .handler = orders},
        {.size = sizeof *tasks, .path = "/rates", .description = "loads exchange rates; slow", .handler = rates},
        {.size = sizeof *tasks, .path = "/stock", .description = "counts the stock", .handler = stock},
        {.size = sizeof *tasks, .path = "/post", .description = "posts the day's total", .handler = post, .serial = 1},
        {.size = sizeof *tasks,
         .path = "/mail",
         .description = "mails the report; flaky",
         .handler = mail,
         .context = &mails},
    };
    struct carillon_executor *executor = carillon_executor_create(&options);
    if (!executor)
        return 1;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (carillon_executor_add(executor, &tasks[i]))
            return 1;
    int code = carillon_executor_run(executor);
    carillon_executor_free(executor);
    return code;
}
