/* Expressions of templates (docs/reference/templates.md): parsed and evaluated in one pass from left to right. Internal
 * to core/logic/text; others use template.h.
 *
 * Total: every loop moves forward in the text, nesting is limited, and so are the bytes that one rendering may look at
 * (WORK_MAX) and make (ARENA_MAX). */
#ifndef CARILLON_CORE_LOGIC_TEXT_EXPRESSION_H
#define CARILLON_CORE_LOGIC_TEXT_EXPRESSION_H

#include "core/base/arena.h"
#include "core/base/jsonscan.h"
#include "core/logic/text/template.h"

enum value_type {
    VALUE_MISSING, /* an unknown name; `text` says which. `??` replaces it, everything else passes it on */
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_NUMBER, /* text: as it was written */
    VALUE_TEXT,   /* text: the characters, without quotes and escapes */
    VALUE_JSON,   /* text: an array or object */
    VALUE_TIME,
};

struct value {
    enum value_type type;
    bool truth;
    struct slice text;
    instant at;
    char unit; /* VALUE_TIME: of the last term; 0 = none */
};

#define WORK_MAX ((size_t)64 << 20)
#define EXPRESSION_ARENA_MAX ((size_t)8 << 20)
#define EXPRESSION_DEPTH 40
#define CHECKED_MAX 16

/* One rendering: memory and budget for all its expressions. */
struct evaluation {
    const struct template_context *context; /* NULL: only the syntax is checked */
    void (*seen)(void *context, const char *step);
    void *seen_context;
    struct arena arena;
    size_t work;
    const char *checked[CHECKED_MAX]; /* texts that were found to be well-formed JSON */
    size_t checked_count;
};

void evaluation_begin(struct evaluation *e, const struct template_context *context);
void evaluation_end(struct evaluation *e);

/* Evaluates the expression at `text`. Braced: up to its closing brace, a format allowed before; *ret_length counts the
 * brace. Otherwise all of the text. A missing name is STATUS_INVALID. */
enum status expression_evaluate(struct evaluation *e, const char *text, size_t length, bool braced, struct value *ret,
                                size_t *ret_length, struct error *err) MUST_USE;

bool value_truth(const struct value *value);
void value_text(const struct evaluation *e, const struct value *value, struct str *ret); /* as plain text */
void value_json(const struct evaluation *e, const struct value *value, struct str *ret); /* as a JSON value */

#endif
