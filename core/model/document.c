#include "core/model/document.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/document_parts.h"
#include "core/model/hint.h"

#define ARENA_MAX ((size_t)64 << 20) /* what the model of the largest document (LIMIT_DOCUMENT) can need */

/* A calendar's spec holds no metadata of its own, so every document carries a place for it. */
struct document_box {
    struct document document; /* first: a document is its box */
    struct metadata meta;     /* DOCUMENT_CALENDAR */
};

static const char *const kind_texts[DOCUMENT_KINDS] = {
    [DOCUMENT_PROJECT] = "Project",
    [DOCUMENT_APPLICATION] = "Application",
    [DOCUMENT_CALENDAR] = "Calendar",
    [DOCUMENT_JOB] = "Job",
};

const char *document_kind_text(enum document_kind kind)
{
    return (unsigned)kind < DOCUMENT_KINDS ? kind_texts[kind] : "";
}

bool document_kind_parse(const char *text, enum document_kind *ret)
{
    for (size_t i = 0; i < DOCUMENT_KINDS; i++)
        if (!strcmp(text, kind_texts[i])) {
            *ret = (enum document_kind)i;
            return true;
        }
    return false;
}

struct metadata *document_metadata(struct document *document)
{
    switch (document->kind) {
    case DOCUMENT_PROJECT:
        return &document->project.meta;
    case DOCUMENT_APPLICATION:
        return &document->application.meta;
    case DOCUMENT_JOB:
        return &document->job.meta;
    case DOCUMENT_CALENDAR:
    case DOCUMENT_KINDS:
        break;
    }
    return &((struct document_box *)document)->meta;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

struct metadata_members {
    struct metadata meta;
    struct name_values labels;
};

static void metadata_read(struct reader *reader, struct slice value, bool project, bool need_name, struct metadata *ret)
{
    static const struct field fields[] = {
        {"name", read_name, offsetof(struct metadata_members, meta.name), 0, 0, NULL, NULL},
        {"project", read_name, offsetof(struct metadata_members, meta.project), 0, 0, NULL, NULL},
        {"display_name", read_text, offsetof(struct metadata_members, meta.display_name), 0, 512, NULL, NULL},
        {"description", read_text, offsetof(struct metadata_members, meta.description), 0, 0, NULL, NULL},
        {"owner", read_line, offsetof(struct metadata_members, meta.owner), 0, 256, NULL, NULL},
        {"labels", read_pairs, offsetof(struct metadata_members, labels), 0, LIMIT_LABELS, NULL, NULL},
    };
    const struct place *place = PLACE_MEMBER(NULL, "metadata");
    struct metadata_members m = {.labels = {NULL, 0}};
    uint64_t seen = 0;
    if (value.length)
        seen = read_object(reader, place, value, fields, sizeof fields / sizeof *fields, &m);
    if (need_name && !(seen & FIELD_BIT(0)))
        read_fault(reader, PLACE_MEMBER(place, "name"), "is missing");
    if (project && (seen & FIELD_BIT(1)))
        read_fault(reader, PLACE_MEMBER(place, "project"), "a project belongs to no project; leave it out");
    if (!m.meta.name)
        m.meta.name = "";
    if (!project && !m.meta.project)
        m.meta.project = "default";
    m.meta.labels = m.labels.items;
    m.meta.label_count = m.labels.count;
    *ret = m.meta;
}

struct top {
    const char *version, *kind;
    struct slice metadata, spec;
};

/* false: there is no kind to go by. */
static bool kind_read(struct reader *reader, const struct top *top, enum document_kind fallback,
                      enum document_kind *ret)
{
    const struct place *place = PLACE_MEMBER(NULL, "kind");
    *ret = fallback;
    if (!top->kind) {
        if (fallback == DOCUMENT_KINDS)
            read_fault(reader, place, "is missing; it is one of Project, Application, Calendar, Job");
        return fallback != DOCUMENT_KINDS;
    }
    if (!document_kind_parse(top->kind, ret)) {
        struct hint hint = hint_begin(top->kind);
        for (size_t i = 0; i < DOCUMENT_KINDS; i++)
            hint_offer(&hint, kind_texts[i]);
        read_fault(reader, place, "\"%.40s\" is none of Project, Application, Calendar, Job%s%s%s", top->kind,
                   hint.near ? "; did you mean \"" : "", hint.near ? hint.near : "", hint.near ? "\"?" : "");
        return false;
    }
    if (fallback != DOCUMENT_KINDS && *ret != fallback)
        read_fault(reader, place, "is %s where %s is expected", top->kind, document_kind_text(fallback));
    return true;
}

static void spec_read(struct reader *reader, struct document_box *box, struct slice spec, bool need_name,
                      struct slice metadata)
{
    struct document *document = &box->document;
    const struct place *place = PLACE_MEMBER(NULL, "spec");
    metadata_read(reader, metadata, document->kind == DOCUMENT_PROJECT, need_name, document_metadata(document));
    switch (document->kind) {
    case DOCUMENT_PROJECT:
        project_read(reader, place, spec, &document->project);
        break;
    case DOCUMENT_APPLICATION:
        application_read(reader, place, spec, &document->application);
        break;
    case DOCUMENT_CALENDAR:
        document->calendar.project = box->meta.project;
        document->calendar.name = box->meta.name;
        document->calendar.description = box->meta.description;
        calendar_read(reader, place, spec, &document->calendar);
        break;
    case DOCUMENT_JOB:
        job_read(reader, place, spec, &document->job);
        break;
    case DOCUMENT_KINDS:
        break;
    }
}

/* `text` is checked and compact. */
static void document_read(struct reader *reader, struct document_box *box, struct slice text,
                          enum document_kind fallback)
{
    static const struct field fields[] = {
        {"apiVersion", read_line, offsetof(struct top, version), 0, 0, NULL, NULL},
        {"kind", read_line, offsetof(struct top, kind), 0, 0, NULL, NULL},
        {"metadata", read_raw, offsetof(struct top, metadata), 0, 0, NULL, NULL},
        {"spec", read_raw, offsetof(struct top, spec), 0, 0, NULL, NULL},
    };
    struct top top = {.version = NULL};
    read_object(reader, NULL, text, fields, 4, &top);
    if (json_type_of(text) != JSON_OBJECT)
        return;
    bool file = fallback == DOCUMENT_KINDS;
    if (file && !top.version)
        read_fault(reader, PLACE_MEMBER(NULL, "apiVersion"), "is missing; write apiVersion: " DOCUMENT_VERSION);
    if (top.version && strcmp(top.version, DOCUMENT_VERSION) != 0)
        read_fault(reader, PLACE_MEMBER(NULL, "apiVersion"), "\"%.40s\" is not known here; write " DOCUMENT_VERSION,
                   top.version);
    if (!kind_read(reader, &top, fallback, &box->document.kind))
        return;
    spec_read(reader, box, top.spec, file, top.metadata);
    const char *spec = top.spec.length ? arena_copy(reader->arena, top.spec.bytes, top.spec.length) : "{}";
    box->document.spec_json = spec;
    if (!spec)
        reader->no_memory = true;
}

struct document *document_parse(const char *json, size_t length, enum document_kind fallback_kind,
                                struct faults *faults)
{
    struct error err = {.code = STATUS_OK};
    if (length > LIMIT_DOCUMENT) {
        faults_add(faults, "", "the document is too big: %zu bytes, at most %zu are allowed", length, LIMIT_DOCUMENT);
        return NULL;
    }
    if (json_check(json, length, LIMIT_JSON_DEPTH, &err)) {
        faults_add(faults, "", "%s", err.text);
        return NULL;
    }
    size_t errors = faults->errors;
    struct document_box *box = calloc(1, sizeof *box);
    if (!box)
        return NULL;
    arena_init(&box->document.arena, ARENA_MAX);
    struct reader reader = {.arena = &box->document.arena, .faults = faults};
    struct str text;
    str_init(&text, length);
    json_compact(slice_of(json, length), &text);
    if (text.failed)
        reader.no_memory = true;
    else
        document_read(&reader, box, slice_of(str_text(&text), text.length), fallback_kind);
    str_release(&text);
    if (!reader.no_memory && faults->errors == errors)
        return &box->document;
    document_free(&box->document);
    return NULL;
}

void document_free(struct document *document)
{
    if (!document)
        return;
    arena_release(&document->arena);
    free(document);
}

/* The metadata of a document that is only read. */
const struct metadata *document_metadata_of(const struct document *document)
{
    switch (document->kind) {
    case DOCUMENT_PROJECT:
        return &document->project.meta;
    case DOCUMENT_APPLICATION:
        return &document->application.meta;
    case DOCUMENT_JOB:
        return &document->job.meta;
    case DOCUMENT_CALENDAR:
    case DOCUMENT_KINDS:
        break;
    }
    return &((const struct document_box *)document)->meta;
}
