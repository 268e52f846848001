/* What the parts of the evaluator share; internal to core/logic/text. */
#ifndef CARILLON_CORE_LOGIC_TEXT_PARSER_H
#define CARILLON_CORE_LOGIC_TEXT_PARSER_H

#include "core/logic/text/expression.h"

struct parser {
    struct evaluation *e;
    const char *start, *at, *end;
    int depth;
    int skip; /* > 0: this part is parsed only: the branch that is not taken */
    struct error *err;
    enum status status; /* the first failure; everything stops */
};

/* Is a value wanted here, or only the syntax? */
static inline bool parser_active(const struct parser *p)
{
    return p->e->context && !p->skip && !p->status;
}

/* First failure wins. The text gets the expression behind it. Returns null. */
struct value parser_fail(struct parser *p, const char *format, ...) PRINTF_LIKE(2, 3);
struct value parser_no_memory(struct parser *p);
struct value value_missing(struct parser *p, const char *format, ...) PRINTF_LIKE(2, 3);
struct value value_null(void);
struct value value_bool(bool truth);
struct value value_number(struct parser *p, const char *text, size_t length); /* copied */
struct value value_string(struct parser *p, const char *text, size_t length); /* copied */
struct value value_taken(struct parser *p, struct str *text);                 /* text as a string; releases it */
struct value value_of_json(struct parser *p, struct slice json);              /* of checked JSON */
const char *value_type_text(const struct value *value);                       /* "a text" */
/* Counts bytes that are looked at; false (and failed) when it is too much. */
bool parser_work(struct parser *p, size_t bytes);

/* A name at `at` and all that hangs on it with points: `steps.a.result`, `params`. */
struct value name_evaluate(struct parser *p, struct slice name);
struct value member_of(struct parser *p, const struct value *container, struct slice path, struct slice name);
struct value element_of(struct parser *p, const struct value *container, struct slice path, const struct value *index);
struct slice scan_identifier(const char *at, const char *end); /* empty: none */

enum comparison {
    COMPARE_EQUAL,
    COMPARE_UNEQUAL,
    COMPARE_AT_MOST,
    COMPARE_AT_LEAST,
    COMPARE_LESS,
    COMPARE_MORE,
    COMPARE_NONE
};

/* Operators; a missing operand is passed on. */
struct value value_calculate(struct parser *p, char op, const struct value *a, const struct value *b);
struct value value_negated(struct parser *p, const struct value *value);
struct value value_compared(struct parser *p, enum comparison comparison, const struct value *a, const struct value *b);

/* Functions: index of the name, or −1. */
#define ARGUMENTS_MAX 3
int function_find(struct slice name);
bool function_arity_valid(int function, size_t count);
const char *function_usage(int function);
bool function_is_if(int function);
struct value function_call(struct parser *p, int function, const struct value *args, size_t count);

#endif
