#include "core/logic/run/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/base/map.h"
#include "core/logic/text/template.h"

/* ---- order: predecessors first ---------------------------------------------------------------------------------- */

/* A step waits for its edges, and a compensating step for the steps that it undoes. Positions count through the first,
 * then through all steps in search of the second. */
static bool next_predecessor(const struct job_spec *job, size_t step, bool undoes, size_t *position, size_t *ret)
{
    const struct step_spec *spec = &job->steps[step];
    while (*position < spec->after_count) {
        *ret = spec->after[(*position)++].from;
        if (*ret < job->step_count)
            return true;
    }
    while (undoes && *position - spec->after_count < job->step_count) {
        *ret = (*position)++ - spec->after_count;
        const struct step_spec *other = &job->steps[*ret];
        if (other->on_exhausted == EXHAUSTED_COMPENSATE && other->compensate == step)
            return true;
    }
    return false;
}

enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };

struct walk {
    unsigned char mark[LIMIT_STEPS];
    bool undoes[LIMIT_STEPS];
    size_t path[LIMIT_STEPS], position[LIMIT_STEPS]; /* the way down: each stands on a predecessor of the one before */
    size_t depth, done;
};

static void walk_init(struct walk *walk, const struct job_spec *job)
{
    memset(walk, 0, sizeof *walk);
    for (size_t i = 0; i < job->step_count; i++)
        if (job->steps[i].on_exhausted == EXHAUSTED_COMPENSATE && job->steps[i].compensate < job->step_count)
            walk->undoes[job->steps[i].compensate] = true;
}

static void walk_enter(struct walk *walk, size_t step)
{
    walk->mark[step] = MARK_OPEN;
    walk->path[walk->depth] = step;
    walk->position[walk->depth++] = 0;
}

/* Depth first, without recursion. false: a cycle; then path from *ret_entry on is it. */
static bool walk_down(struct walk *walk, const struct job_spec *job, size_t start, size_t *order, size_t *ret_entry)
{
    walk_enter(walk, start);
    while (walk->depth) {
        size_t step = walk->path[walk->depth - 1], before;
        if (!next_predecessor(job, step, walk->undoes[step], &walk->position[walk->depth - 1], &before)) {
            walk->mark[step] = MARK_DONE;
            order[walk->done++] = step;
            walk->depth--;
        } else if (walk->mark[before] == MARK_NEW) {
            walk_enter(walk, before);
        } else if (walk->mark[before] == MARK_OPEN) {
            for (*ret_entry = 0; walk->path[*ret_entry] != before;)
                (*ret_entry)++;
            return false;
        }
    }
    return true;
}

bool graph_order(const struct job_spec *job, size_t *ret)
{
    struct walk walk;
    size_t entry;
    if (job->step_count > LIMIT_STEPS)
        return false;
    walk_init(&walk, job);
    for (size_t i = 0; i < job->step_count; i++)
        if (walk.mark[i] == MARK_NEW && !walk_down(&walk, job, i, ret, &entry))
            return false;
    return true;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

struct check {
    const struct job_spec *job;
    struct faults *faults;
    size_t step; /* that is looked at */
    char path[FAULT_PATH_MAX];
    const bool *undoes; /* per step: it compensates another */
    bool ancestors[LIMIT_STEPS];
    bool ancestors_known;
};

static const char *step_path(struct check *c, const char *member)
{
    (void)snprintf(c->path, sizeof c->path, "spec.graph[%zu]%s%s", c->step, *member ? "." : "", member);
    return c->path;
}

static const char *edge_path(struct check *c, size_t edge)
{
    (void)snprintf(c->path, sizeof c->path, "spec.graph[%zu].after[%zu]", c->step, edge);
    return c->path;
}

/* One fault: a cycle in the order of its work, "a → b → a". */
static void check_cycles(const struct job_spec *job, struct faults *faults)
{
    struct walk walk;
    size_t order[LIMIT_STEPS], entry;
    walk_init(&walk, job);
    for (size_t i = 0; i < job->step_count; i++) {
        if (walk.mark[i] != MARK_NEW || walk_down(&walk, job, i, order, &entry))
            continue;
        struct str text;
        str_init(&text, FAULT_TEXT_MAX - 64);
        str_addf(&text, "%s → ", job->steps[walk.path[entry]].name);
        for (size_t k = walk.depth; k-- > entry + 1;)
            str_addf(&text, "%s → ", job->steps[walk.path[k]].name);
        str_add(&text, job->steps[walk.path[entry]].name);
        faults_add(faults, "spec.graph", "the steps wait for each other in a circle: %s%s", str_text(&text),
                   text.failed ? "…" : "");
        str_release(&text);
        return;
    }
}

struct named {
    const char *name;
    size_t step;
    UT_hash_handle hh;
};

static void check_names(const struct job_spec *job, struct faults *faults)
{
    struct named *names = calloc(job->step_count, sizeof *names), *table = NULL;
    if (!names) {
        faults_add(faults, "spec.graph", "out of memory");
        return;
    }
    for (size_t i = 0; i < job->step_count; i++) {
        const char *name = job->steps[i].name;
        char path[FAULT_PATH_MAX];
        (void)snprintf(path, sizeof path, "spec.graph[%zu].step", i);
        if (!name || !name_valid(name)) {
            faults_add(faults, path, "a step needs a name of a-z, 0-9, '.', '_' and '-'");
            continue;
        }
        struct named *twin;
        HASH_FIND_STR(table, name, twin);
        if (twin) {
            faults_add(faults, path, "two steps are named \"%s\": the other is spec.graph[%zu]", name, twin->step);
            continue;
        }
        names[i].name = name;
        names[i].step = i;
        HASH_ADD_KEYPTR(hh, table, names[i].name, strlen(names[i].name), &names[i]);
    }
    HASH_CLEAR(hh, table);
    free(names);
}

static void mark_ancestors(struct check *c)
{
    size_t stack[LIMIT_STEPS], depth = 0, before;
    memset(c->ancestors, 0, sizeof c->ancestors);
    stack[depth++] = c->step;
    while (depth) {
        size_t step = stack[--depth], position = 0;
        while (next_predecessor(c->job, step, c->undoes[step], &position, &before))
            if (!c->ancestors[before]) {
                c->ancestors[before] = true;
                stack[depth++] = before;
            }
    }
    c->ancestors_known = true;
}

static void check_read(void *context, const char *name)
{
    struct check *c = context;
    size_t i = 0;
    while (i < c->job->step_count && (!c->job->steps[i].name || strcmp(c->job->steps[i].name, name) != 0))
        i++;
    if (i == c->job->step_count) {
        faults_add(c->faults, c->path, "reads the step \"%s\", which does not exist", name);
        return;
    }
    if (!c->ancestors_known)
        mark_ancestors(c);
    if (!c->ancestors[i])
        faults_add(c->faults, c->path, "reads the step \"%s\", which does not come before it: add it to `after`", name);
}

static void check_text(struct check *c, const char *text)
{
    struct error err;
    if (text && template_check(text, check_read, c, &err) != STATUS_OK)
        faults_add(c->faults, c->path, "%s", err.text);
}

static void check_templates(struct check *c, const struct step_spec *spec)
{
    struct error err;
    if (spec->params) {
        (void)step_path(c, "params");
        if (json_check(spec->params, strlen(spec->params), LIMIT_JSON_DEPTH, &err) != STATUS_OK)
            faults_add(c->faults, c->path, "%s", err.text);
        else
            check_text(c, spec->params);
    }
    (void)step_path(c, "map");
    check_text(c, spec->map);
    (void)step_path(c, "url");
    check_text(c, spec->call.url);
    (void)step_path(c, "headers");
    for (size_t i = 0; i < spec->call.header_count; i++)
        check_text(c, spec->call.headers[i].value);
    (void)step_path(c, "query");
    for (size_t i = 0; i < spec->call.query_count; i++)
        check_text(c, spec->call.query[i].value);
    (void)step_path(c, "instance");
    if (spec->routing == ROUTE_HASH)
        check_text(c, spec->instance);
}

static void check_edges(struct check *c, const struct step_spec *spec)
{
    for (size_t k = 0; k < spec->after_count; k++) {
        const struct edge_spec *edge = &spec->after[k];
        (void)edge_path(c, k);
        if (edge->from >= c->job->step_count) {
            faults_add(c->faults, c->path, "no step of that name");
            continue;
        }
        const struct step_spec *from = &c->job->steps[edge->from];
        if (edge->from == c->step) /* named as a cycle, too; this one has the place */
            faults_add(c->faults, c->path, "the step waits for itself");
        for (size_t other = 0; other < k; other++)
            if (spec->after[other].from == edge->from)
                faults_add(c->faults, c->path, "the step \"%s\" stands twice in `after`", from->name);
        if (edge->on == EDGE_FAILURE && !step_has_call(from) && !from->after_count)
            faults_warn(c->faults, c->path, "the step \"%s\" never fails, so this step never runs", from->name);
        if (edge->on == EDGE_EXPRESSION && !edge->when)
            faults_add(c->faults, c->path, "`when` is missing");
        else if (edge->on == EDGE_EXPRESSION)
            check_text(c, edge->when);
    }
}

static void check_join(struct check *c, const struct step_spec *spec)
{
    if (spec->join == JOIN_N && (spec->join_n < 1 || spec->join_n > spec->after_count))
        faults_add(c->faults, step_path(c, "join"), "n is %zu, but the step has %zu predecessors", spec->join_n,
                   spec->after_count);
    if (spec->cancel_rest && (spec->join == JOIN_ALL || !spec->after_count))
        faults_warn(c->faults, step_path(c, "cancel_rest"), "nothing is left to cancel: the join waits for all");
}

static void check_compensation(struct check *c, const struct step_spec *spec)
{
    if (spec->on_exhausted != EXHAUSTED_COMPENSATE)
        return;
    (void)step_path(c, "on_exhausted");
    if (spec->compensate >= c->job->step_count) {
        faults_add(c->faults, c->path, "no step of that name");
        return;
    }
    const struct step_spec *target = &c->job->steps[spec->compensate];
    if (spec->compensate == c->step)
        faults_add(c->faults, c->path, "a step cannot compensate itself");
    else if (target->after_count)
        faults_add(c->faults, c->path,
                   "the compensating step \"%s\" has predecessors of its own; it runs when this step has failed, so "
                   "leave out its `after`",
                   target->name);
}

/* A list can be counted now; what is neither a list nor a template never becomes one. */
static void check_list(struct check *c, struct slice list)
{
    size_t count = 0;
    if (json_type_of(list) == JSON_ARRAY)
        for (struct json_walk walk = json_walk_begin(list); json_walk_next(&walk);)
            count++;
    else if (json_type_of(list) != JSON_STRING || !strstr(list.bytes, "${"))
        faults_add(c->faults, step_path(c, "map"),
                   "must be a list, or a template that gives one: ${steps.find.result}");
    if (count > LIMIT_ITEMS)
        faults_add(c->faults, step_path(c, "map"), "too many items: %zu, at most %d are allowed", count, LIMIT_ITEMS);
}

static void check_kind(struct check *c, const struct step_spec *spec)
{
    if (spec->kind == STEP_JOB || spec->kind == STEP_APPROVAL)
        faults_add(c->faults, step_path(c, ""), "steps of kind \"%s\" are not available yet in this version",
                   step_kind_text(spec->kind));
    if (spec->kind == STEP_MAP && !spec->map)
        faults_add(c->faults, step_path(c, "map"), "a map step needs its list, such as ${steps.find.result}");
    if (spec->kind == STEP_MAP && spec->map)
        check_list(c, slice_of(spec->map, strlen(spec->map)));
    if (spec->kind == STEP_MAP && (spec->routing == ROUTE_BROADCAST || spec->routing == ROUTE_SHARD))
        faults_add(c->faults, step_path(c, "routing"),
                   "routing \"%s\" makes a list of its own; a map step has one already", routing_text(spec->routing));
    if ((spec->routing == ROUTE_FIXED || spec->routing == ROUTE_HASH) && !spec->instance)
        faults_add(c->faults, step_path(c, "instance"), "routing \"%s\" needs %s", routing_text(spec->routing),
                   spec->routing == ROUTE_FIXED ? "an instance (host:port)" : "a key");
    if (spec->kind == STEP_WAIT && spec->wait < 0)
        faults_add(c->faults, step_path(c, "wait"), "a waiting step needs a duration, such as \"10m\"");
    if (step_has_call(spec) && !spec->task && !spec->call.url)
        faults_add(c->faults, step_path(c, ""), "the step calls nothing: give it a `task` or a `url`");
}

void graph_check(const struct job_spec *job, struct faults *faults)
{
    size_t edges = 0;
    if (!job->step_count) {
        faults_add(faults, "spec.graph", "the graph is empty: a job needs at least one step");
        return;
    }
    if (job->step_count > LIMIT_STEPS) {
        faults_add(faults, "spec.graph", "%zu steps; at most %d are allowed", job->step_count, LIMIT_STEPS);
        return;
    }
    for (size_t i = 0; i < job->step_count; i++)
        edges += job->steps[i].after_count;
    if (edges > LIMIT_EDGES) {
        faults_add(faults, "spec.graph", "%zu edges; at most %d are allowed", edges, LIMIT_EDGES);
        return;
    }
    check_names(job, faults);
    struct walk walk;
    walk_init(&walk, job);
    for (size_t i = 0; i < job->step_count; i++) {
        struct check c = {.job = job, .faults = faults, .step = i, .undoes = walk.undoes};
        const struct step_spec *spec = &job->steps[i];
        check_kind(&c, spec);
        check_edges(&c, spec);
        check_join(&c, spec);
        check_compensation(&c, spec);
        check_templates(&c, spec);
    }
    check_cycles(job, faults);
}
