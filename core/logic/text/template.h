/* ${…} in parameters, urls, headers; conditions of edges; time expressions (semantics.md §3). The language is total: it
 * always ends, it reads and never writes. Values are JSON text: numbers of any size and every character arrive as they
 * were written.
 *
 * A string that is exactly one ${…} becomes the value itself (any JSON type); a ${…} within a longer string is put in
 * as text. An unknown name, or a member missing from a real result, is STATUS_INVALID with a text that names it, unless
 * `?? default`. */
#ifndef CARILLON_CORE_LOGIC_TEXT_TEMPLATE_H
#define CARILLON_CORE_LOGIC_TEXT_TEMPLATE_H

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/logic/time/zone.h"

struct template_step {
    const char *name;
    const char *state;  /* "succeeded" … */
    const char *result; /* JSON text; NULL = null (ignored and skipped steps) */
    bool known;         /* ended: its result may be read */
};

struct template_context {
    const char *run_id, *project, *job, *trigger, *origin, *version;
    instant scheduled, fired;
    const struct zone *zone;
    const char *params; /* effective params, JSON object text; NULL = {} */
    /* NULL when there is no such step. */
    const struct template_step *(*step)(void *context, const char *name);
    void *context;
    const char *step_name;        /* of the step that is rendered; NULL = none */
    int shard_index, shard_total; /* total 0 = no shard */
    const char *names; /* JSON object whose members are names, too: {"status":200,"headers":{},"body":…}; NULL = none */
};

/* Renders a JSON template (any JSON value; NULL = "{}") into JSON text. */
enum status template_render_json(const char *json, const struct template_context *context, struct str *ret,
                                 struct error *err) MUST_USE;
/* Renders a plain text (url, header value). */
enum status template_render_text(const char *text, const struct template_context *context, struct str *ret,
                                 struct error *err) MUST_USE;
/* Evaluates a condition: "${…}" or bare expression → true or false (null, false, 0, "" and empty are false). */
enum status template_test(const char *expression, const struct template_context *context, bool *ret,
                          struct error *err) MUST_USE;
/* Syntax check without values; names of steps that it reads go to `seen` (may be NULL). For document checks. A text
 * that is a JSON object, array or string is taken as a JSON template, anything else as plain text. */
enum status template_check(const char *text, void (*seen)(void *context, const char *step), void *context,
                           struct error *err) MUST_USE;

#endif
