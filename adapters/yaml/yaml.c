#include "adapters/yaml/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/jsonscan.h"
#include "core/base/map.h"
#include "core/base/str.h"
#include "core/model/limits.h"

#define DOCUMENTS_MAX 10000
#define ANCHORS_MAX 1000
#define ALIASES_MAX 10000
#define CORE_TAG "tag:yaml.org,2002:"

/* A finished node with an anchor: a piece of the output, so that aliases cost no memory of their own. */
struct anchor {
    char *name;
    size_t start, length;
    int height; /* levels within */
};

/* A key seen in a mapping: "<number of the mapping>:<key>". */
struct key {
    UT_hash_handle hh;
    char text[];
};

/* A container that is open. */
struct level {
    bool map, wants_key;
    size_t count;
    unsigned long number;
    size_t start;
    char *anchor; /* owned; NULL = none */
    int height;
};

struct build {
    yaml_parser_t parser;
    struct str out; /* of this document */
    struct level levels[LIMIT_JSON_DEPTH];
    int depth;
    struct anchor anchors[ANCHORS_MAX];
    size_t anchor_count, alias_count;
    struct key *keys;
    unsigned long numbers; /* of mappings */
    int line;              /* of the document */
    bool empty;            /* the document holds nothing */
    size_t written;        /* bytes of earlier documents */
    struct yaml_documents found;
    size_t found_room;
    struct error *err;
};

static enum status fail_at(struct build *b, yaml_mark_t mark, const char *format, ...) PRINTF_LIKE(3, 4);

static enum status fail_at(struct build *b, yaml_mark_t mark, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(b->err, STATUS_INVALID, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1, text);
}

static enum status no_memory(struct build *b)
{
    return error_set(b->err, STATUS_NO_MEMORY, "out of memory");
}

static enum status out_status(struct build *b)
{
    enum status status = str_status(&b->out);
    if (status == STATUS_TOO_BIG)
        return error_set(b->err, status, "the document is larger than %zu bytes once its aliases are written out",
                         LIMIT_DOCUMENT);
    return status ? no_memory(b) : STATUS_OK;
}

/* ---- anchors ------------------------------------------------------------------------------------------------------
 */

static struct anchor *anchor_find(struct build *b, const char *name)
{
    for (size_t i = b->anchor_count; i-- > 0;) { /* the newest of a name counts */
        if (strcmp(b->anchors[i].name, name) == 0)
            return &b->anchors[i];
    }
    return NULL;
}

static char *anchor_copy(const yaml_char_t *name)
{
    return name ? strdup((const char *)name) : NULL;
}

/* Takes `name`. */
static enum status anchor_add(struct build *b, yaml_mark_t mark, char *name, size_t start, int height)
{
    if (b->anchor_count == ANCHORS_MAX) {
        free(name);
        return fail_at(b, mark, "more than %d anchors", ANCHORS_MAX);
    }
    b->anchors[b->anchor_count++] =
        (struct anchor){.name = name, .start = start, .length = b->out.length - start, .height = height};
    return STATUS_OK;
}

/* ---- places for nodes ---------------------------------------------------------------------------------------------
 */

static struct level *top(struct build *b)
{
    return b->depth ? &b->levels[b->depth - 1] : NULL;
}

static bool wants_key(struct build *b)
{
    const struct level *level = top(b);
    return level && level->map && level->wants_key;
}

/* The mark before a value. */
static void value_begin(struct build *b)
{
    struct level *level = top(b);
    if (!level)
        return;
    if (!level->map && level->count > 0)
        str_add_char(&b->out, ',');
    if (!level->map)
        level->count++;
}

/* After a value with so many levels in it. */
static void value_end(struct build *b, int height)
{
    struct level *level = top(b);
    if (!level)
        return;
    level->wants_key = true;
    if (level->height < height)
        level->height = height;
}

static enum status key_new(struct build *b, yaml_mark_t mark, const char *text, size_t length)
{
    struct level *level = top(b);
    struct key *found = NULL;
    char number[32];
    int digits = snprintf(number, sizeof number, "%lu:", level->number);
    size_t size = (size_t)digits + length;
    struct key *key = malloc(sizeof *key + size);
    if (!key)
        return no_memory(b);
    memcpy(key->text, number, (size_t)digits);
    memcpy(key->text + digits, text, length);
    HASH_FIND(hh, b->keys, key->text, size, found);
    if (found) {
        free(key);
        return fail_at(b, mark, "the key \"%.*s\" is there twice", (int)(length < 100 ? length : 100), text);
    }
    HASH_ADD(hh, b->keys, text, size, key);
    if (!key->hh.tbl) {
        free(key);
        return no_memory(b);
    }
    return STATUS_OK;
}

/* ---- scalars ------------------------------------------------------------------------------------------------------
 */

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

/* The JSON of a scalar value; ret_plain NULL = a string. */
static enum status scalar_meaning(struct build *b, const yaml_event_t *event, const char **ret_plain)
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
        return fail_at(b, event->start_mark, "the tag \"%.100s\" is not known", tag);
    tag += strlen(CORE_TAG);
    bool fits = meaning && (strcmp(tag, type) == 0 || (strcmp(tag, "float") == 0 && strcmp(type, "int") == 0));
    if (!fits)
        return fail_at(b, event->start_mark, "\"%.100s\" is no %.50s", text, tag);
    *ret_plain = meaning;
    return STATUS_OK;
}

static enum status key_scalar(struct build *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct level *level = top(b);
    if (event->data.scalar.anchor)
        return fail_at(b, event->start_mark, "a key cannot have an anchor");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
        return fail_at(b, event->start_mark, "merge keys (\"<<\") are not supported: write the members out");
    enum status status = key_new(b, event->start_mark, text, length);
    if (status)
        return status;
    if (level->count++ > 0)
        str_add_char(&b->out, ',');
    str_add_json_bytes(&b->out, text, length);
    str_add_char(&b->out, ':');
    level->wants_key = false;
    return STATUS_OK;
}

static enum status scalar(struct build *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value, *plain;
    size_t length = event->data.scalar.length;
    if (strlen(text) != length)
        return fail_at(b, event->start_mark, "a text holds the character U+0000, which is not allowed");
    if (wants_key(b))
        return key_scalar(b, event);
    enum status status = scalar_meaning(b, event, &plain);
    if (status)
        return status;
    value_begin(b);
    if (b->depth == 0)
        b->empty = length == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag;
    size_t start = b->out.length;
    if (plain)
        str_add(&b->out, plain);
    else
        str_add_json_bytes(&b->out, text, length);
    value_end(b, 0);
    if (!event->data.scalar.anchor)
        return STATUS_OK;
    char *name = anchor_copy(event->data.scalar.anchor);
    return name ? anchor_add(b, event->start_mark, name, start, 0) : no_memory(b);
}

/* ---- containers and aliases ---------------------------------------------------------------------------------------
 */

static enum status container_begin(struct build *b, const yaml_event_t *event)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const char *tag = (const char *)(map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    if (tag && strcmp(tag, "!") != 0 && strcmp(tag, map ? CORE_TAG "map" : CORE_TAG "seq") != 0)
        return fail_at(b, event->start_mark, "the tag \"%.100s\" is not known here", tag);
    if (wants_key(b))
        return fail_at(b, event->start_mark, "a key must be a text, not a list or an object");
    if (b->depth == LIMIT_JSON_DEPTH)
        return fail_at(b, event->start_mark, "nested deeper than %d levels", LIMIT_JSON_DEPTH);
    value_begin(b);
    struct level *level = &b->levels[b->depth];
    *level = (struct level){.map = map, .wants_key = map, .number = b->numbers++, .start = b->out.length};
    if (anchor && !(level->anchor = anchor_copy(anchor)))
        return no_memory(b);
    b->depth++;
    str_add_char(&b->out, map ? '{' : '[');
    return STATUS_OK;
}

static enum status container_end(struct build *b, const yaml_event_t *event)
{
    struct level level = *top(b);
    str_add_char(&b->out, level.map ? '}' : ']');
    b->depth--;
    value_end(b, level.height + 1);
    return level.anchor ? anchor_add(b, event->start_mark, level.anchor, level.start, level.height + 1) : STATUS_OK;
}

static enum status alias(struct build *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct anchor *anchor = anchor_find(b, name);
    if (!anchor)
        return fail_at(b, event->start_mark, "no anchor named \"%.100s\" has been completed before", name);
    if (wants_key(b))
        return fail_at(b, event->start_mark, "a key cannot be an alias");
    if (++b->alias_count > ALIASES_MAX)
        return fail_at(b, event->start_mark, "more than %d aliases", ALIASES_MAX);
    if (b->depth + anchor->height > LIMIT_JSON_DEPTH)
        return fail_at(b, event->start_mark, "nested deeper than %d levels", LIMIT_JSON_DEPTH);
    enum status status = out_status(b); /* after a failure the piece might not be there */
    if (status)
        return status;
    char *copy = malloc(anchor->length + 1); /* the output may move while it grows */
    if (!copy)
        return no_memory(b);
    memcpy(copy, b->out.data + anchor->start, anchor->length);
    int height = anchor->height;
    value_begin(b);
    str_add_bytes(&b->out, copy, anchor->length);
    free(copy);
    value_end(b, height);
    return STATUS_OK;
}

/* ---- documents ----------------------------------------------------------------------------------------------------
 */

static void document_clear(struct build *b)
{
    struct key *key, *next;
    HASH_ITER(hh, b->keys, key, next)
    {
        HASH_DEL(b->keys, key);
        free(key);
    }
    for (size_t i = 0; i < b->anchor_count; i++)
        free(b->anchors[i].name);
    for (int i = 0; i < b->depth; i++)
        free(b->levels[i].anchor);
    b->anchor_count = b->alias_count = 0;
    b->depth = 0;
    str_release(&b->out);
}

static void document_begin(struct build *b, const yaml_event_t *event)
{
    document_clear(b);
    str_init(&b->out, LIMIT_DOCUMENT - b->written);
    b->line = (int)event->start_mark.line + 1;
    b->empty = false;
}

static enum status documents_add(struct yaml_documents *documents, size_t *room, struct yaml_document document)
{
    if (documents->count == *room) {
        size_t more = *room * 2 + 4;
        struct yaml_document *items = realloc(documents->items, more * sizeof *items);
        if (!items)
            return STATUS_NO_MEMORY;
        documents->items = items;
        *room = more;
    }
    documents->items[documents->count++] = document;
    return STATUS_OK;
}

static enum status document_end(struct build *b)
{
    enum status status = out_status(b);
    if (status || b->empty)
        return status;
    if (b->found.count == DOCUMENTS_MAX)
        return error_set(b->err, STATUS_TOO_BIG, "more than %d documents", DOCUMENTS_MAX);
    struct yaml_document document = {.length = b->out.length, .line = b->line};
    b->written += document.length;
    document.json = str_take(&b->out);
    if (!document.json || documents_add(&b->found, &b->found_room, document)) {
        free(document.json);
        return no_memory(b);
    }
    return STATUS_OK;
}

static enum status event_handle(struct build *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        document_begin(b, event);
        return STATUS_OK;
    case YAML_DOCUMENT_END_EVENT:
        return document_end(b);
    case YAML_ALIAS_EVENT:
        return alias(b, event);
    case YAML_SCALAR_EVENT:
        return scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return container_begin(b, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return container_end(b, event);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* The two faults that everybody makes once: what the parser says of them names neither cause nor remedy. */
static const char *remedy_of(const yaml_parser_t *parser)
{
    if (parser->problem && strstr(parser->problem, "cannot start any token"))
        return "; a tab cannot indent, and a text that begins with a sign such as @ ` or % needs quotes";
    if (parser->context && (strstr(parser->context, "an alias") || strstr(parser->context, "an anchor")))
        return "; a text that begins with * or & needs quotes, as cron expressions do: \"* * * * *\"";
    return "";
}

static enum status parser_error(struct build *b)
{
    const yaml_parser_t *parser = &b->parser;
    const char *problem = parser->problem ? parser->problem : "this is no YAML";
    if (parser->error == YAML_MEMORY_ERROR)
        return no_memory(b);
    if (parser->error == YAML_READER_ERROR)
        return error_set(b->err, STATUS_INVALID, "byte %zu: %s", parser->problem_offset, problem);
    if (parser->context)
        return fail_at(b, parser->problem_mark, "%s (%s that begins in line %zu)%s", problem, parser->context,
                       parser->context_mark.line + 1, remedy_of(parser));
    return fail_at(b, parser->problem_mark, "%s%s", problem, remedy_of(parser));
}

static enum status stream_read(struct build *b)
{
    for (bool end = false; !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event))
            return parser_error(b);
        enum status status = event_handle(b, &event);
        if (!status && b->out.failed)
            status = out_status(b);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* JSON is nearly YAML, but not in its escapes (surrogate pairs), so it goes through untouched. */
static bool json_take(const char *bytes, size_t length, struct yaml_documents *ret)
{
    struct yaml_documents found = {0};
    size_t room = 0, skip = 0;
    while (skip < length && bytes[skip] && strchr(" \t\r\n", bytes[skip]))
        skip++;
    if (skip == length || (bytes[skip] != '{' && bytes[skip] != '[') ||
        json_check(bytes, length, LIMIT_JSON_DEPTH, NULL) != STATUS_OK)
        return false;
    struct yaml_document document = {.json = malloc(length + 1), .length = length, .line = 1};
    if (!document.json || documents_add(&found, &room, document)) {
        free(document.json);
        return false;
    }
    memcpy(document.json, bytes, length);
    document.json[length] = '\0';
    *ret = found;
    return true;
}

enum status yaml_to_json(const char *bytes, size_t length, struct yaml_documents *ret, struct error *err)
{
    if (length > LIMIT_DOCUMENT)
        return error_set(err, STATUS_TOO_BIG, "larger than %zu bytes", LIMIT_DOCUMENT);
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark says nothing in UTF-8 */
        bytes += 3;
        length -= 3;
    }
    if (json_take(bytes, length, ret))
        return STATUS_OK;
    struct build *b = calloc(1, sizeof *b);
    if (!b || !yaml_parser_initialize(&b->parser)) {
        free(b);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    b->err = err;
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)bytes, length);
    enum status status = stream_read(b);
    document_clear(b);
    yaml_parser_delete(&b->parser);
    if (status)
        yaml_documents_release(&b->found);
    else
        *ret = b->found;
    free(b);
    return status;
}

void yaml_documents_release(struct yaml_documents *documents)
{
    for (size_t i = 0; i < documents->count; i++)
        free(documents->items[i].json);
    free(documents->items);
    *documents = (struct yaml_documents){0};
}
