/* Graphs: nested serial and parallel blocks become one list of steps and edges; names become indices. */
#include "core/model/document_graph.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/hint.h"

struct indices {
    size_t *items;
    size_t count, room;
};

struct edge {
    size_t from, to;
    enum edge_on on;
    const char *when;
};

struct name_index {
    const char *name;
    size_t index;
};

struct graph {
    struct reader *reader;
    const struct place *place;
    struct step_members *steps;
    size_t count;
    struct name_index *names; /* sorted */
    size_t name_count;
    struct edge *edges;
    size_t edge_count, edge_room;
    bool too_many;
};

/* ---- growing in the arena -----------------------------------------------------------------------------------------
 */

static void index_add(struct reader *reader, struct indices *list, size_t index)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 4;
        size_t *grown = take_array(reader, size_t, room);
        if (!grown)
            return;
        if (list->count)
            memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->room = room;
    }
    list->items[list->count++] = index;
}

static void edge_add(struct graph *g, struct edge edge)
{
    if (g->edge_count == LIMIT_EDGES) {
        if (!g->too_many)
            read_fault(g->reader, g->place, "too many edges: at most %d are allowed; put a step of kind noop between",
                       LIMIT_EDGES);
        g->too_many = true;
        return;
    }
    if (g->edge_count == g->edge_room) {
        size_t room = g->edge_room ? g->edge_room * 2 : 64;
        struct edge *grown = take_array(g->reader, struct edge, room);
        if (!grown)
            return;
        if (g->edge_count)
            memcpy(grown, g->edges, g->edge_count * sizeof *grown);
        g->edges = grown;
        g->edge_room = room;
    }
    g->edges[g->edge_count++] = edge;
}

/* ---- blocks into one list -----------------------------------------------------------------------------------------
 */

struct block {
    struct slice serial, parallel, after;
};

static bool is_block(struct slice value)
{
    return json_member(value, "serial").length || json_member(value, "parallel").length;
}

/* Nesting is bounded by LIMIT_JSON_DEPTH, which the text was checked against. */
/* NOLINTNEXTLINE(misc-no-recursion) blocks nest */
static size_t count_steps(struct slice list)
{
    size_t count = 0;
    struct json_walk walk = json_walk_begin(list);
    while (!walk.object && json_walk_next(&walk)) {
        if (!is_block(walk.value)) {
            count++;
            continue;
        }
        count += count_steps(json_member(walk.value, "serial"));
        count += count_steps(json_member(walk.value, "parallel"));
    }
    return count;
}

/* Reads one item. It begins after every step in `before`; the steps it ends with are added to `ends`. */
static void item_read(struct graph *g, const struct place *place, struct slice value, const struct indices *before,
                      const struct inherited *inherited, struct indices *ends);

/* NOLINTNEXTLINE(misc-no-recursion) blocks nest, see count_steps */
static void block_read(struct graph *g, const struct place *place, struct slice value, const struct indices *before,
                       const struct inherited *inherited, struct indices *ends)
{
    static const struct field fields[] = {
        {"serial", read_raw, offsetof(struct block, serial), 0, 0, NULL, NULL},
        {"parallel", read_raw, offsetof(struct block, parallel), 0, 0, NULL, NULL},
        {"after", read_raw, offsetof(struct block, after), 0, 0, NULL, NULL},
    };
    struct block block = {.after = {NULL, 0}};
    read_object(g->reader, place, value, fields, 3, &block);
    bool serial = block.serial.length;
    const struct place *here = PLACE_MEMBER(place, serial ? "serial" : "parallel");
    struct slice list = serial ? block.serial : block.parallel;
    if (block.serial.length && block.parallel.length)
        read_fault(g->reader, place, "a block is serial or parallel, not both");
    if (json_type_of(list) != JSON_ARRAY || !json_count(list)) {
        read_fault(g->reader, here, "a list of at least one step is expected");
        return;
    }
    if (block.after.length) {
        struct inherited *own = take_memory(g->reader, sizeof *own);
        const struct place *kept = place_keep(g->reader, place);
        if (!own || !kept)
            return;
        *own = (struct inherited){inherited, kept, block.after};
        inherited = own;
    }
    struct indices current = *before;
    struct json_walk walk = json_walk_begin(list);
    for (size_t i = 0; json_walk_next(&walk); i++) {
        struct indices next = {0};
        bool first = !serial || i == 0;
        item_read(g, PLACE_INDEX(here, i), walk.value, first ? before : &current, first ? inherited : NULL,
                  serial ? &next : ends);
        current = next;
    }
    for (size_t i = 0; serial && i < current.count; i++)
        index_add(g->reader, ends, current.items[i]);
}

/* NOLINTNEXTLINE(misc-no-recursion) blocks nest, see count_steps */
static void item_read(struct graph *g, const struct place *place, struct slice value, const struct indices *before,
                      const struct inherited *inherited, struct indices *ends)
{
    if (is_block(value)) {
        block_read(g, place, value, before, inherited, ends);
        return;
    }
    size_t index = g->count++;
    struct step_members *step = &g->steps[index];
    step->inherited = inherited;
    step_parse(g->reader, place, value, step);
    for (size_t i = 0; i < before->count; i++)
        edge_add(g, (struct edge){before->items[i], index, (enum edge_on)step->on, step->when});
    index_add(g->reader, ends, index);
}

/* ---- names into indices -------------------------------------------------------------------------------------------
 */

static int compare_names(const void *a, const void *b)
{
    const struct name_index *na = a, *nb = b;
    int order = strcmp(na->name, nb->name);
    return order ? order : (na->index > nb->index) - (na->index < nb->index);
}

static void names_index(struct graph *g)
{
    g->names = take_array(g->reader, struct name_index, g->count);
    for (size_t i = 0; i < g->count && g->names; i++)
        if (g->steps[i].spec.name)
            g->names[g->name_count++] = (struct name_index){g->steps[i].spec.name, i};
    if (g->name_count)
        qsort(g->names, g->name_count, sizeof *g->names, compare_names);
    for (size_t i = 1; i < g->name_count; i++)
        if (!strcmp(g->names[i - 1].name, g->names[i].name)) {
            char first[FAULT_PATH_MAX];
            const struct step_members *twice = &g->steps[g->names[i].index];
            read_fault(g->reader, PLACE_MEMBER(twice->place, "step"), "a step named \"%s\" is already there (%s)",
                       g->names[i].name, place_text(g->steps[g->names[i - 1].index].place, first));
        }
}

/* Index of the step, or SIZE_MAX with a fault. */
static size_t step_find(struct graph *g, const struct place *place, const char *name)
{
    size_t low = 0, high = g->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(g->names[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < g->name_count && !strcmp(g->names[low].name, name))
        return g->names[low].index;
    struct hint hint = hint_begin(name);
    for (size_t i = 0; i < g->name_count; i++)
        hint_offer(&hint, g->names[i].name);
    read_fault(g->reader, place, "no step named \"%.140s\"%s%s%s", name, hint.near ? "; did you mean \"" : "",
               hint.near ? hint.near : "", hint.near ? "\"?" : "");
    return SIZE_MAX;
}

struct edge_members {
    const char *step, *when;
    unsigned on;
};

static void edge_read(struct graph *g, const struct place *place, struct slice value, size_t to)
{
    static const struct field fields[] = {
        {"step", read_line, offsetof(struct edge_members, step), 0, 0, NULL, NULL},
        {"on", read_choice, offsetof(struct edge_members, on), 0, 0, edge_choices, NULL},
        {"when", read_line, offsetof(struct edge_members, when), 0, LIMIT_EXPRESSION, NULL, NULL},
    };
    const struct step_members *step = &g->steps[to];
    struct edge_members m = {.on = step->on, .when = step->when};
    if (json_type_of(value) == JSON_OBJECT) {
        uint64_t seen = read_object(g->reader, place, value, fields, 3, &m);
        if (!(seen & FIELD_BIT(0)))
            read_fault(g->reader, PLACE_MEMBER(place, "step"), "is missing; name the step that comes before");
        if (seen & FIELD_BIT(1))
            m.when = NULL;
        if ((seen & FIELD_BIT(2)) && m.when &&
            when_valid(g->reader, PLACE_MEMBER(place, "when"), m.when, seen & FIELD_BIT(1)))
            m.on = EDGE_EXPRESSION;
    } else {
        m.step = take_text(g->reader, place, value);
    }
    size_t from = m.step ? step_find(g, place, m.step) : SIZE_MAX;
    if (from == SIZE_MAX)
        return;
    if (from == to)
        read_fault(g->reader, place, "the step comes after itself");
    else
        edge_add(g, (struct edge){from, to, (enum edge_on)m.on, m.when});
}

static void after_read(struct graph *g, const struct place *place, struct slice value, size_t to)
{
    size_t count;
    struct json_walk walk = {0};
    const struct place *here = PLACE_MEMBER(place, "after");
    if (!take_list(g->reader, here, value, LIMIT_STEPS, true, &count))
        return;
    bool list = json_type_of(value) == JSON_ARRAY;
    for (size_t i = 0; i < count && !g->too_many; i++) {
        size_t known = g->edge_count;
        const struct place *item = list ? PLACE_INDEX(here, i) : here;
        edge_read(g, item, list_element(value, &walk, i == 0), to);
        for (size_t j = 0; j < known && g->edge_count > known; j++)
            if (g->edges[j].to == to && g->edges[j].from == g->edges[known].from) {
                read_fault(g->reader, item, "\"%s\" is already a predecessor of this step",
                           g->steps[g->edges[j].from].spec.name);
                break;
            }
    }
}

static void step_resolve(struct graph *g, size_t index)
{
    struct step_members *step = &g->steps[index];
    if (step->after.length)
        after_read(g, step->place, step->after, index);
    for (const struct inherited *i = step->inherited; i; i = i->up)
        after_read(g, i->place, i->after, index);
    if (step->spec.on_exhausted == EXHAUSTED_COMPENSATE) {
        const struct place *place = PLACE_MEMBER(step->place, "on_exhausted");
        step->spec.compensate = step_find(g, place, step->on_exhausted + 11);
        if (step->spec.compensate == index)
            read_fault(g->reader, place, "the step would compensate itself");
    }
}

/* Edges by step, in the order they were written. */
static void edges_deal(struct graph *g, struct step_spec *steps)
{
    for (size_t i = 0; i < g->edge_count; i++)
        steps[g->edges[i].to].after_count++;
    for (size_t i = 0; i < g->count; i++) {
        if (!steps[i].after_count)
            continue;
        steps[i].after = take_array(g->reader, struct edge_spec, steps[i].after_count);
        if (!steps[i].after)
            return;
        steps[i].after_count = 0;
    }
    for (size_t i = 0; i < g->edge_count; i++) {
        struct step_spec *step = &steps[g->edges[i].to];
        step->after[step->after_count++] = (struct edge_spec){g->edges[i].from, g->edges[i].on, g->edges[i].when};
    }
}

void graph_read(struct reader *reader, const struct place *place, struct slice value, struct job_spec *job)
{
    struct graph g = {.reader = reader, .place = place};
    size_t count = count_steps(value);
    if (json_type_of(value) != JSON_ARRAY || !count) {
        read_fault(reader, place, "a list of at least one step is expected");
        return;
    }
    if (count > LIMIT_STEPS) {
        read_fault(reader, place, "too many steps: %zu, at most %d are allowed", count, LIMIT_STEPS);
        return;
    }
    g.steps = take_array(reader, struct step_members, count);
    if (!g.steps)
        return;
    struct indices none = {0}, ends = {0};
    struct json_walk walk = json_walk_begin(value);
    for (size_t i = 0; json_walk_next(&walk) && !reader->no_memory; i++)
        item_read(&g, PLACE_INDEX(place, i), walk.value, &none, NULL, &ends);
    if (reader->no_memory)
        return;
    names_index(&g);
    for (size_t i = 0; i < g.count; i++)
        step_resolve(&g, i);
    job->steps = take_array(reader, struct step_spec, g.count);
    if (!job->steps || reader->no_memory)
        return;
    for (size_t i = 0; i < g.count; i++)
        job->steps[i] = g.steps[i].spec;
    job->step_count = g.count;
    edges_deal(&g, job->steps);
}
