/* YAML (and so JSON) documents as JSON text, without passing through doubles: a number is kept as it was written.
 * YAML 1.2 core words: true, false, null, ~; what matches JSON's number grammar is a number; all else, and everything
 * quoted, is text ("0x1f", "1_000", "yes" and "012" are texts). Limits: LIMIT_DOCUMENT bytes in and out,
 * LIMIT_JSON_DEPTH levels, aliases expanded within these; merge keys and tags other than the core ones are refused, and
 * so are duplicate keys. Errors name line and column. */
#ifndef CARILLON_ADAPTERS_YAML_YAML_H
#define CARILLON_ADAPTERS_YAML_YAML_H

#include <stddef.h>

#include "core/base/error.h"

struct yaml_document {
    char *json; /* NUL-terminated */
    size_t length;
    int line; /* 1-based, where the document begins */
};

struct yaml_documents {
    struct yaml_document *items;
    size_t count; /* empty documents are left out */
};

/* STATUS_INVALID, STATUS_TOO_BIG, STATUS_NO_MEMORY; `ret` is untouched then. */
enum status yaml_to_json(const char *bytes, size_t length, struct yaml_documents *ret, struct error *err) MUST_USE;
void yaml_documents_release(struct yaml_documents *documents);

#endif
