#include "adapters/yaml/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/yaml/yaml_parts.h"
#include "core/base/jsonscan.h"

#define DOCUMENTS_MAX 10000

enum status yaml_build_fail(struct yaml_build *b, yaml_mark_t mark, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(b->err, STATUS_INVALID, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1, text);
}

enum status yaml_build_no_memory(struct yaml_build *b)
{
    return error_set(b->err, STATUS_NO_MEMORY, "out of memory");
}

enum status yaml_build_status(struct yaml_build *b)
{
    enum status status = str_status(&b->out);
    if (status == STATUS_TOO_BIG)
        return error_set(b->err, status, "the document is larger than %zu bytes once its aliases are written out",
                         LIMIT_DOCUMENT);
    return status ? yaml_build_no_memory(b) : STATUS_OK;
}

/* ---- documents ----------------------------------------------------------------------------------------------------
 */

static void document_clear(struct yaml_build *b)
{
    struct yaml_key *key, *next;
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

static void document_begin(struct yaml_build *b, const yaml_event_t *event)
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

static enum status document_end(struct yaml_build *b)
{
    enum status status = yaml_build_status(b);
    if (status || b->empty)
        return status;
    if (b->found.count == DOCUMENTS_MAX)
        return error_set(b->err, STATUS_TOO_BIG, "more than %d documents", DOCUMENTS_MAX);
    struct yaml_document document = {.length = b->out.length, .line = b->line};
    b->written += document.length;
    document.json = str_take(&b->out);
    if (!document.json || documents_add(&b->found, &b->found_room, document)) {
        free(document.json);
        return yaml_build_no_memory(b);
    }
    return STATUS_OK;
}

static enum status event_handle(struct yaml_build *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        document_begin(b, event);
        return STATUS_OK;
    case YAML_DOCUMENT_END_EVENT:
        return document_end(b);
    case YAML_ALIAS_EVENT:
        return yaml_build_alias(b, event);
    case YAML_SCALAR_EVENT:
        return yaml_build_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return yaml_build_open(b, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return yaml_build_close(b, event);
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

static enum status parser_error(struct yaml_build *b)
{
    const yaml_parser_t *parser = &b->parser;
    const char *problem = parser->problem ? parser->problem : "this is no YAML";
    if (parser->error == YAML_MEMORY_ERROR)
        return yaml_build_no_memory(b);
    if (parser->error == YAML_READER_ERROR)
        return error_set(b->err, STATUS_INVALID, "byte %zu: %s", parser->problem_offset, problem);
    if (parser->context)
        return yaml_build_fail(b, parser->problem_mark, "%s (%s that begins in line %zu)%s", problem, parser->context,
                               parser->context_mark.line + 1, remedy_of(parser));
    return yaml_build_fail(b, parser->problem_mark, "%s%s", problem, remedy_of(parser));
}

static enum status stream_read(struct yaml_build *b)
{
    for (bool end = false; !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event))
            return parser_error(b);
        enum status status = event_handle(b, &event);
        if (!status && b->out.failed)
            status = yaml_build_status(b);
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
    struct yaml_build *b = calloc(1, sizeof *b);
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
