#include "orchestrator/catalog.h"

#include <stdio.h>
#include <string.h>

#include "core/logic/time/schedule.h"
#include "orchestrator/definitions.h"

#define NAMES_SHOWN 20

void catalog_init(struct catalog *catalog, struct call *call)
{
    *catalog = (struct catalog){.call = call};
}

void catalog_release(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->entries.count; i++)
        if (catalog->entries.items[i].owned)
            document_free(catalog->entries.items[i].document);
    vec_release(&catalog->entries);
}

void catalog_offer(struct catalog *catalog, struct document *document)
{
    struct catalog_entry entry = {document->kind, document_project(document), document_name(document), document, false};
    vec_add(&catalog->entries, entry);
}

static struct document *read_stored(struct catalog *catalog, enum document_kind kind, const char *project,
                                    const char *name)
{
    struct call *call = catalog->call;
    struct document *document = NULL;
    struct store_op op;
    store_op_init(&op, STORE_LIST);
    op.list.kind = kind;
    op.list.project = kind == DOCUMENT_PROJECT ? NULL : project;
    op.list.names = &name;
    op.list.name_count = 1;
    op.list.limit = 1;
    enum status status = call_store(call, &op);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        catalog->failed = true;
        problem_of_store(&call->problem, &op);
    } else if (status == STATUS_OK && op.list.count) {
        struct faults faults;
        faults_init(&faults);
        document = document_parse(op.list.rows[0].json, strlen(op.list.rows[0].json), kind, &faults);
        faults_release(&faults);
    }
    store_op_release(&op);
    return document;
}

const struct document *catalog_find(struct catalog *catalog, enum document_kind kind, const char *project,
                                    const char *name)
{
    for (size_t i = 0; i < catalog->entries.count; i++) {
        const struct catalog_entry *entry = &catalog->entries.items[i];
        if (entry->kind == kind && !strcmp(entry->name, name) &&
            (kind == DOCUMENT_PROJECT || !strcmp(entry->project, project)))
            return entry->document;
    }
    struct catalog_entry entry = {.kind = kind, .owned = true};
    if (catalog->failed)
        return NULL;
    entry.document = name_valid(name) ? read_stored(catalog, kind, project, name) : NULL;
    if (catalog->failed)
        return NULL;
    entry.project = arena_text(&catalog->call->arena, project);
    entry.name = arena_text(&catalog->call->arena, name);
    if (!entry.project || !entry.name) {
        document_free(entry.document);
        return NULL;
    }
    vec_add(&catalog->entries, entry);
    return entry.document;
}

const char *catalog_names(struct catalog *catalog, enum document_kind kind, const char *project)
{
    struct call *call = catalog->call;
    struct str names;
    struct store_op op;
    str_init(&names, 300);
    for (size_t i = 0; i < catalog->entries.count; i++) {
        const struct catalog_entry *entry = &catalog->entries.items[i];
        if (entry->kind == kind && !entry->owned && !strcmp(entry->project, project))
            str_addf(&names, "%s%s", names.length ? ", " : "", entry->name);
    }
    store_op_init(&op, STORE_LIST);
    op.list.kind = kind;
    op.list.project = kind == DOCUMENT_PROJECT ? NULL : project;
    op.list.limit = NAMES_SHOWN;
    if (call_store(call, &op) == STATUS_OK)
        for (size_t i = 0; i < op.list.count; i++)
            str_addf(&names, "%s%s", names.length ? ", " : "", op.list.rows[i].name);
    store_op_release(&op);
    const char *ret = arena_text(&call->arena, names.length ? str_text(&names) : "none");
    str_release(&names);
    return ret ? ret : "";
}

const char *catalog_zone_name(struct catalog *catalog, const char *project, const struct trigger_spec *trigger)
{
    if (trigger->timezone)
        return trigger->timezone;
    const struct document *document = catalog_find(catalog, DOCUMENT_PROJECT, "", project);
    return document && document->project.timezone ? document->project.timezone : "UTC";
}

enum status catalog_compile(struct catalog *catalog, const char *project, const char *job,
                            const struct trigger_spec *trigger, struct schedule **ret, const char **ret_zone_name,
                            const char **ret_member, struct error *err)
{
    const struct calendar_spec *calendars[LIMIT_CALENDARS] = {0};
    const char *ignored;
    const char **member = ret_member ? ret_member : &ignored;
    char key[3 * LIMIT_NAME + 4];
    struct zones *zones = catalog->call->o->options.zones;

    *ret_zone_name = catalog_zone_name(catalog, project, trigger);
    const struct zone *zone = zones->get(zones, *ret_zone_name);
    *member = trigger->timezone ? "timezone" : "";
    if (!zone)
        return error_set(err, STATUS_INVALID, "there is no time zone \"%.60s\"; use an IANA name such as Europe/Berlin",
                         *ret_zone_name);
    *member = "calendars";
    for (size_t i = 0; i < trigger->calendar_count && i < LIMIT_CALENDARS; i++) {
        const struct document *calendar = catalog_find(catalog, DOCUMENT_CALENDAR, project, trigger->calendars[i]);
        if (!calendar)
            return error_set(err, STATUS_INVALID, "there is no calendar \"%.128s\" in project \"%.128s\"; known: %s",
                             trigger->calendars[i], project, catalog_names(catalog, DOCUMENT_CALENDAR, project));
        calendars[i] = &calendar->calendar;
    }
    *member = trigger->kind == TRIGGER_CRON ? "cron" : "";
    (void)snprintf(key, sizeof key, "%s/%s/%s", project, job, trigger->name);
    struct schedule_context context = {.key = key, .zone = zone, .calendars = calendars};
    return schedule_compile(trigger, &context, ret, err);
}
