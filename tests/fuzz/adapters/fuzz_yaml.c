/* YAML from outside: what is taken must be JSON within the limits, and is taken again as itself; what is refused says
 * where. */
#include <string.h>

#include "adapters/yaml/yaml.h"
#include "core/base/jsonscan.h"
#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "tests/fuzz/fuzz.h"

static void look(const struct yaml_document *document)
{
    struct yaml_documents again = {0};
    struct error err = {.text = ""};
    fuzz_check(document->line >= 1);
    fuzz_check(strlen(document->json) == document->length);
    fuzz_check(utf8_valid(document->json, document->length));
    if (json_check(document->json, document->length, LIMIT_JSON_DEPTH, &err)) {
        (void)fprintf(stderr, "%s\n%s\n", err.text, document->json);
        abort();
    }
    enum json_type type = json_type_of(slice_of(document->json, document->length));
    if (type != JSON_OBJECT && type != JSON_ARRAY)
        return;
    fuzz_check(yaml_to_json(document->json, document->length, &again, &err) == STATUS_OK);
    fuzz_check(again.count == 1 && strcmp(again.items[0].json, document->json) == 0);
    yaml_documents_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml_documents found = {0};
    struct error err = {.text = ""};
    enum status status = yaml_to_json((const char *)data, size, &found, &err);
    if (status) {
        fuzz_check(status == STATUS_INVALID || status == STATUS_TOO_BIG || status == STATUS_NO_MEMORY);
        fuzz_check(err.text[0] && !found.items);
        return 0;
    }
    for (size_t i = 0; i < found.count; i++)
        look(&found.items[i]);
    yaml_documents_release(&found);
    return 0;
}
