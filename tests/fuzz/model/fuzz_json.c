/* JSON from outside: json_check decides; what it accepts is walked, unescaped, compacted and merged, and must stay JSON
 * of the same members. */
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/base/utf8.h"
#include "tests/fuzz/fuzz.h"

#define DEPTH 64

static void look(struct slice value, int depth)
{
    struct str text;
    int64_t number;
    fuzz_check(depth <= DEPTH && json_type_of(value) != JSON_NONE);
    str_init(&text, value.length + 1);
    json_unquote(value, &text);
    fuzz_check(!text.failed && utf8_valid(str_text(&text), text.length) && strlen(str_text(&text)) == text.length);
    if (json_type_of(value) == JSON_STRING)
        fuzz_check(json_string_equals(value, str_text(&text)));
    str_release(&text);
    (void)json_int64(value, &number);
    struct json_walk walk = json_walk_begin(value);
    size_t count = 0;
    while (json_walk_next(&walk)) {
        look(walk.value, depth + 1);
        if (walk.object) {
            struct str name;
            str_init(&name, walk.key.length);
            json_unquote(walk.key, &name);
            fuzz_check(json_member(value, str_text(&name)).bytes == walk.value.bytes);
            str_release(&name);
        } else {
            fuzz_check(json_element(value, count).bytes == walk.value.bytes);
        }
        count++;
    }
    fuzz_check(count == json_count(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.text = ""};
    struct str compact, again, merged;
    if (size > 4096) /* looking up each element by its number is quadratic */
        return 0;
    char *text = malloc(size + 1);
    fuzz_check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (json_check(text, size, DEPTH, &err)) {
        fuzz_check(err.text[0]);
        free(text);
        return 0;
    }
    look(slice_of(text, size), 0);
    str_init(&compact, size);
    str_init(&again, size);
    json_compact(slice_of(text, size), &compact);
    fuzz_check(!compact.failed && !json_check(str_text(&compact), compact.length, DEPTH, NULL));
    json_compact(slice_of(str_text(&compact), compact.length), &again);
    fuzz_check(!strcmp(str_text(&compact), str_text(&again)));
    str_init(&merged, 2 * size + 64);
    json_merge(str_text(&compact), "{\"a\":1,\"z\":[]}", &merged);
    fuzz_check(!merged.failed && !json_check(str_text(&merged), merged.length, DEPTH + 1, NULL));
    str_clear(&merged);
    json_merge("{\"a\":1,\"z\":[]}", str_text(&compact), &merged);
    fuzz_check(!merged.failed && !json_check(str_text(&merged), merged.length, DEPTH + 1, NULL));
    str_release(&merged);
    str_release(&compact);
    str_release(&again);
    free(text);
    return 0;
}
