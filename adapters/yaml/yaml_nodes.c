/* Nodes of a document on their way into JSON: keys, values, containers, anchors and aliases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/yaml/yaml_parts.h"

#define ALIASES_MAX 10000

/* ---- anchors ------------------------------------------------------------------------------------------------------
 */

static struct yaml_anchor *anchor_find(struct yaml_build *b, const char *name)
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
static enum status anchor_add(struct yaml_build *b, yaml_mark_t mark, char *name, size_t start, int height)
{
    if (b->anchor_count == ANCHORS_MAX) {
        free(name);
        return yaml_build_fail(b, mark, "more than %d anchors", ANCHORS_MAX);
    }
    b->anchors[b->anchor_count++] =
        (struct yaml_anchor){.name = name, .start = start, .length = b->out.length - start, .height = height};
    return STATUS_OK;
}

/* ---- places for nodes ---------------------------------------------------------------------------------------------
 */

static struct yaml_level *top(struct yaml_build *b)
{
    return b->depth ? &b->levels[b->depth - 1] : NULL;
}

static bool wants_key(struct yaml_build *b)
{
    const struct yaml_level *level = top(b);
    return level && level->map && level->wants_key;
}

/* The mark before a value. */
static void value_begin(struct yaml_build *b)
{
    struct yaml_level *level = top(b);
    if (!level)
        return;
    if (!level->map && level->count > 0)
        str_add_char(&b->out, ',');
    if (!level->map)
        level->count++;
}

/* After a value with so many levels in it. */
static void value_end(struct yaml_build *b, int height)
{
    struct yaml_level *level = top(b);
    if (!level)
        return;
    level->wants_key = true;
    if (level->height < height)
        level->height = height;
}

static enum status key_new(struct yaml_build *b, yaml_mark_t mark, const char *text, size_t length)
{
    struct yaml_level *level = top(b);
    struct yaml_key *found = NULL;
    char number[32];
    int digits = snprintf(number, sizeof number, "%lu:", level->number);
    size_t size = (size_t)digits + length;
    struct yaml_key *key = malloc(sizeof *key + size);
    if (!key)
        return yaml_build_no_memory(b);
    memcpy(key->text, number, (size_t)digits);
    memcpy(key->text + digits, text, length);
    HASH_FIND(hh, b->keys, key->text, size, found);
    if (found) {
        free(key);
        return yaml_build_fail(b, mark, "the key \"%.*s\" is there twice", (int)(length < 100 ? length : 100), text);
    }
    HASH_ADD(hh, b->keys, text, size, key);
    if (!key->hh.tbl) {
        free(key);
        return yaml_build_no_memory(b);
    }
    return STATUS_OK;
}

/* ---- nodes */

static enum status key_scalar(struct yaml_build *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct yaml_level *level = top(b);
    if (event->data.scalar.anchor)
        return yaml_build_fail(b, event->start_mark, "a key cannot have an anchor");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
        return yaml_build_fail(b, event->start_mark, "merge keys (\"<<\") are not supported: write the members out");
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

enum status yaml_build_scalar(struct yaml_build *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value, *plain;
    size_t length = event->data.scalar.length;
    if (strlen(text) != length)
        return yaml_build_fail(b, event->start_mark, "a text holds the character U+0000, which is not allowed");
    if (wants_key(b))
        return key_scalar(b, event);
    enum status status = yaml_build_meaning(b, event, &plain);
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
    return name ? anchor_add(b, event->start_mark, name, start, 0) : yaml_build_no_memory(b);
}

/* ---- containers and aliases ---------------------------------------------------------------------------------------
 */

enum status yaml_build_open(struct yaml_build *b, const yaml_event_t *event)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const char *tag = (const char *)(map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    if (tag && strcmp(tag, "!") != 0 && strcmp(tag, map ? CORE_TAG "map" : CORE_TAG "seq") != 0)
        return yaml_build_fail(b, event->start_mark, "the tag \"%.100s\" is not known here", tag);
    if (wants_key(b))
        return yaml_build_fail(b, event->start_mark, "a key must be a text, not a list or an object");
    if (b->depth == LIMIT_JSON_DEPTH)
        return yaml_build_fail(b, event->start_mark, "nested deeper than %d levels", LIMIT_JSON_DEPTH);
    value_begin(b);
    struct yaml_level *level = &b->levels[b->depth];
    *level = (struct yaml_level){.map = map, .wants_key = map, .number = b->numbers++, .start = b->out.length};
    if (anchor && !(level->anchor = anchor_copy(anchor)))
        return yaml_build_no_memory(b);
    b->depth++;
    str_add_char(&b->out, map ? '{' : '[');
    return STATUS_OK;
}

enum status yaml_build_close(struct yaml_build *b, const yaml_event_t *event)
{
    struct yaml_level level = *top(b);
    str_add_char(&b->out, level.map ? '}' : ']');
    b->depth--;
    value_end(b, level.height + 1);
    return level.anchor ? anchor_add(b, event->start_mark, level.anchor, level.start, level.height + 1) : STATUS_OK;
}

enum status yaml_build_alias(struct yaml_build *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct yaml_anchor *anchor = anchor_find(b, name);
    if (!anchor)
        return yaml_build_fail(b, event->start_mark, "no anchor named \"%.100s\" has been completed before", name);
    if (wants_key(b))
        return yaml_build_fail(b, event->start_mark, "a key cannot be an alias");
    if (++b->alias_count > ALIASES_MAX)
        return yaml_build_fail(b, event->start_mark, "more than %d aliases", ALIASES_MAX);
    if (b->depth + anchor->height > LIMIT_JSON_DEPTH)
        return yaml_build_fail(b, event->start_mark, "nested deeper than %d levels", LIMIT_JSON_DEPTH);
    enum status status = yaml_build_status(b); /* after a failure the piece might not be there */
    if (status)
        return status;
    char *copy = malloc(anchor->length + 1); /* the output may move while it grows */
    if (!copy)
        return yaml_build_no_memory(b);
    memcpy(copy, b->out.data + anchor->start, anchor->length);
    int height = anchor->height;
    value_begin(b);
    str_add_bytes(&b->out, copy, anchor->length);
    free(copy);
    value_end(b, height);
    return STATUS_OK;
}
