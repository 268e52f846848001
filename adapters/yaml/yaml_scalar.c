/* What a scalar means: YAML 1.2's core schema. */
#include <string.h>

#include "adapters/yaml/yaml_parts.h"

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

/* RFC 8259 §6. */
static bool is_json_number(const char *text)
{
    size_t n;
    if (*text == '-')
        text++;
    n = digits_of(text);
    if (n == 0 || (n > 1 && *text == '0'))
        return false;
    text += n;
    if (*text == '.') {
        n = digits_of(++text);
        if (n == 0)
            return false;
        text += n;
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-')
            text++;
        n = digits_of(text);
        if (n == 0)
            return false;
        text += n;
    }
    return *text == '\0';
}

/* Words of YAML 1.2's core schema. */
static const struct {
    const char *yaml, *json, *tag;
} words[] = {
    {"", "null", "null"},       {"~", "null", "null"},      {"null", "null", "null"},   {"Null", "null", "null"},
    {"NULL", "null", "null"},   {"true", "true", "bool"},   {"True", "true", "bool"},   {"TRUE", "true", "bool"},
    {"false", "false", "bool"}, {"False", "false", "bool"}, {"FALSE", "false", "bool"},
};

/* What a plain scalar means; NULL = text. `ret_tag`: its core type. */
static const char *plain_meaning(const char *text, const char **ret_tag)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i].yaml) == 0) {
            *ret_tag = words[i].tag;
            return words[i].json;
        }
    }
    *ret_tag = strpbrk(text, ".eE") ? "float" : "int";
    return is_json_number(text) ? text : NULL;
}

static bool is_core_type(const char *tag)
{
    static const char *const types[] = {"null", "bool", "int", "float"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strncmp(tag, CORE_TAG, strlen(CORE_TAG)) == 0 && strcmp(tag + strlen(CORE_TAG), types[i]) == 0)
            return true;
    }
    return false;
}

enum status yaml_build_meaning(struct yaml_build *b, const yaml_event_t *event, const char **ret_plain)
{
    const char *text = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag, *type;
    const char *meaning = plain_meaning(text, &type);
    *ret_plain = NULL;
    if (!tag) {
        *ret_plain = event->data.scalar.plain_implicit ? meaning : NULL;
        return STATUS_OK;
    }
    if (strcmp(tag, "!") == 0 || strcmp(tag, CORE_TAG "str") == 0)
        return STATUS_OK;
    if (!is_core_type(tag))
        return yaml_build_fail(b, event->start_mark, "the tag \"%.100s\" is not known", tag);
    tag += strlen(CORE_TAG);
    bool fits = meaning && (strcmp(tag, type) == 0 || (strcmp(tag, "float") == 0 && strcmp(type, "int") == 0));
    if (!fits)
        return yaml_build_fail(b, event->start_mark, "\"%.100s\" is no %.50s", text, tag);
    *ret_plain = meaning;
    return STATUS_OK;
}
