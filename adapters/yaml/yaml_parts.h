/* The parts of the reader: documents and their errors (yaml.c), nodes and where they go (yaml_nodes.c), what a scalar
 * means (yaml_scalar.c). JSON grows in `out` while the parser tells its events. */
#ifndef CARILLON_ADAPTERS_YAML_YAML_PARTS_H
#define CARILLON_ADAPTERS_YAML_YAML_PARTS_H

#include <yaml.h>

#include "adapters/yaml/yaml.h"
#include "core/base/map.h"
#include "core/base/str.h"
#include "core/model/limits.h"

#define ANCHORS_MAX 1000
#define CORE_TAG "tag:yaml.org,2002:"

/* A finished node with an anchor: a piece of the output, so that aliases cost no memory of their own. */
struct yaml_anchor {
    char *name;
    size_t start, length;
    int height; /* levels within */
};

/* A key seen in a mapping: "<number of the mapping>:<key>". */
struct yaml_key {
    UT_hash_handle hh;
    char text[];
};

/* A container that is open. */
struct yaml_level {
    bool map, wants_key;
    size_t count;
    unsigned long number;
    size_t start;
    char *anchor; /* owned; NULL = none */
    int height;
};

struct yaml_build {
    yaml_parser_t parser;
    struct str out; /* of this document */
    struct yaml_level levels[LIMIT_JSON_DEPTH];
    int depth;
    struct yaml_anchor anchors[ANCHORS_MAX];
    size_t anchor_count, alias_count;
    struct yaml_key *keys;
    unsigned long numbers; /* of mappings */
    int line;              /* of the document */
    bool empty;            /* the document holds nothing */
    size_t written;        /* bytes of earlier documents */
    struct yaml_documents found;
    size_t found_room;
    struct error *err;
};

/* INVALID at the mark's place. */
enum status yaml_build_fail(struct yaml_build *b, yaml_mark_t mark, const char *format, ...) PRINTF_LIKE(3, 4);
enum status yaml_build_no_memory(struct yaml_build *b);
/* Has all that was written found room? */
enum status yaml_build_status(struct yaml_build *b);

/* The JSON of a scalar value; ret_plain NULL = a string. */
enum status yaml_build_meaning(struct yaml_build *b, const yaml_event_t *event, const char **ret_plain);

/* One event each. */
enum status yaml_build_scalar(struct yaml_build *b, const yaml_event_t *event);
enum status yaml_build_open(struct yaml_build *b, const yaml_event_t *event);
enum status yaml_build_close(struct yaml_build *b, const yaml_event_t *event);
enum status yaml_build_alias(struct yaml_build *b, const yaml_event_t *event);

#endif
