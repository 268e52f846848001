/* A graph while it is read; internal to core/model. document_step.c reads what one step says, document_graph.c lays the
 * steps of nested blocks into one list and resolves names. */
#ifndef CARILLON_CORE_MODEL_DOCUMENT_GRAPH_H
#define CARILLON_CORE_MODEL_DOCUMENT_GRAPH_H

#include "core/model/document_parts.h"

/* `after` of a block around a step: its first steps take it over. */
struct inherited {
    const struct inherited *up;
    const struct place *place;
    struct slice after;
};

struct step_members {
    struct step_spec spec;
    struct call_members members;
    const char *task, *url, *hash_key, *when, *on_exhausted;
    struct slice after, join, tolerate;
    bool noop;
    unsigned on;                       /* enum edge_on for edges that say nothing themselves */
    const struct place *place;         /* kept in the arena */
    const struct inherited *inherited; /* NULL: none */
};

/* Reads everything but names of other steps. */
void step_parse(struct reader *reader, const struct place *place, struct slice value, struct step_members *ret);
/* "on" and "when" of a step or an edge. */
bool when_valid(struct reader *reader, const struct place *place, const char *when, bool on_given);

extern const struct choice edge_choices[];

#endif
