/* What documents may refer to, while one request is served: projects, calendars, applications from a set that is being
 * applied, or from the store (each read once and kept). Not thread-safe: one per request. */
#ifndef CARILLON_ORCHESTRATOR_CATALOG_H
#define CARILLON_ORCHESTRATOR_CATALOG_H

#include "core/model/document.h"
#include "orchestrator/call.h"

struct catalog_entry {
    enum document_kind kind;
    const char *project, *name;
    struct document *document; /* NULL: there is none */
    bool owned;
};

struct catalog {
    struct call *call;
    VEC(struct catalog_entry) entries;
    bool failed; /* the store could not be asked; call->problem says so */
};

void catalog_init(struct catalog *catalog, struct call *call);
void catalog_release(struct catalog *catalog);
/* A document of the set under way: it wins over what is stored. Borrowed. */
void catalog_offer(struct catalog *catalog, struct document *document);

/* NULL: there is none (or catalog->failed). Borrowed from the catalog. project is "" for projects themselves. */
const struct document *catalog_find(struct catalog *catalog, enum document_kind kind, const char *project,
                                    const char *name);
/* Names of the first few of a kind, joined by ", ", in the arena; "none" when there are none. */
const char *catalog_names(struct catalog *catalog, enum document_kind kind, const char *project);
/* The zone name that rules a trigger: its own, else the project's, else UTC. */
const char *catalog_zone_name(struct catalog *catalog, const char *project, const struct trigger_spec *trigger);

/* Compiles a trigger with its zone and calendars. *ret_zone_name is its zone's name even on failure. STATUS_INVALID
 * with the reason; `ret_member` (may be NULL) names the member at fault ("timezone", "calendars", "cron"). */
struct schedule;
enum status catalog_compile(struct catalog *catalog, const char *project, const char *job,
                            const struct trigger_spec *trigger, struct schedule **ret, const char **ret_zone_name,
                            const char **ret_member, struct error *err) MUST_USE;

#endif
