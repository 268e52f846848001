/* Operations of the store port about definitions: read, put, delete, list. */
#ifndef CARILLON_CORE_PORTS_STORE_DEFINITIONS_H
#define CARILLON_CORE_PORTS_STORE_DEFINITIONS_H

#include "core/base/status.h"
#include "core/ports/store_rows.h"

/* By kind: all (ids NULL), some ids, or one old version (ids[0], version > 0). For schedulers: without status fields of
 * jobs. */
struct store_definitions {
    enum document_kind kind;
    const int64_t *ids;
    size_t id_count;
    int64_t after; /* with ids NULL: ids greater than this */
    size_t limit;  /* with ids NULL */
    int64_t version;
    struct definition_row *rows; /* out */
    size_t count;
};

/* Create or replace whole. Equal document = no new version. One transaction with feed line, slot choice and audit row.
 */
struct store_put {
    enum document_kind kind;
    const char *project, *name;
    const char *json;                 /* full form (document_write) */
    const char *fingerprint;          /* of the document without pause and status; compared to tell "unchanged" */
    const char *const *trigger_names; /* jobs */
    size_t trigger_count;
    const char *const *paused_triggers; /* jobs: read at creation only; of triggers that come later, their activation */
    size_t paused_count;
    const char *pool;            /* jobs: NULL = none. A job that changes it is moved by its owner */
    const char *author, *source; /* source: file, api, ui, registered, imported */
    int64_t if_match;            /* version that must be current; 0 = any. CONFLICT otherwise */
    bool create_only;
    int64_t id, version;     /* out */
    bool created, unchanged; /* out */
    int32_t slot;            /* out, jobs */
    const char *before;      /* out: earlier document, NULL = none */
};

/* Several, in this order, in one transaction: all or nothing. What one refuses, refuses all; `failed` says which. */
struct store_puts {
    struct store_put *items;
    size_t count;
    size_t failed; /* out: index, when the status is not OK; count = none in particular */
};

/* CONFLICT when in use (error names by whom); NOT_FOUND. Jobs leave a tombstone. */
struct store_delete {
    enum document_kind kind;
    const char *project, *name;
    const char *author;
    int64_t if_match;
};

/* A page of definitions, by name; with the status fields of jobs. names: exactly these (in this order, missing ones
 * absent). */
struct store_list {
    enum document_kind kind;
    const char *project; /* NULL = all */
    const char *const *names;
    size_t name_count;
    const char *text;  /* part of name or description; NULL = any */
    const char *state; /* jobs: active, paused, suspended; NULL = any */
    const char *owner; /* jobs: node; NULL = any */
    bool brief;        /* jobs: without last_run */
    int64_t skip, limit;
    struct definition_row *rows; /* out */
    size_t count;
    int64_t total; /* out */
};

#endif
