/* Answers of strange executors: whatever comes, there is a class, results are JSON, nothing crashes. The first bytes
 * choose status and rule, the rest is the body. */
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/base/utf8.h"
#include "core/logic/run/answer.h"
#include "tests/fuzz/fuzz.h"

#define HEAD 4

static void check(const struct answer *answer, const struct answer_input *input)
{
    fuzz_check(answer->class > CALL_NONE && answer->class < CALL_CLASSES);
    fuzz_check(answer->delay >= -1);
    if (answer->result) {
        size_t length = strlen(answer->result);
        fuzz_check(answer->class == CALL_SUCCESS);
        fuzz_check(length <= LIMIT_RESULT);
        fuzz_check(json_check(answer->result, length, LIMIT_JSON_DEPTH, NULL) == STATUS_OK);
    }
    if (answer->code)
        fuzz_check(utf8_valid(answer->code, strlen(answer->code)) && strlen(answer->code) <= LIMIT_ERROR);
    if (answer->class == CALL_SUCCESS && input->rule != SUCCESS_EXPRESSION)
        fuzz_check(input->http_status / 100 == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 200, 200, 201, 202, 204, 302, 404, 425, 429, 500, 503, 0, 999};
    static const char *const types[] = {NULL, "application/json", "text/plain"};
    static const char *const conditions[] = {"${body.ok}", "${status < 300 && body.items ?? true}",
                                             "${headers.location}", "${"};
    struct arena arena;
    struct answer answer;
    if (size < HEAD)
        return 0;
    struct answer_input input = {.http_status = statuses[data[0] % (sizeof statuses / sizeof *statuses)],
                                 .rule = (enum success_rule)(data[1] % 4),
                                 .success_when = conditions[data[2] % 4],
                                 .content_type = types[data[2] / 4 % 3],
                                 .location = data[3] & 1 ? "/status/1" : NULL,
                                 .async = data[3] & 2,
                                 .retry_after = data[3] & 4 ? 5000 : -1,
                                 .now = {INT64_C(1790000000000)},
                                 .body = (const char *)data + HEAD,
                                 .length = size - HEAD};
    arena_init(&arena, (size_t)4 << 20);
    if (answer_classify(&input, &arena, &answer) == STATUS_OK)
        check(&answer, &input);
    arena_release(&arena);
    return 0;
}
