/* Arguments of a verb: flags from a table, the rest are words. Flags may stand anywhere; "--" ends them. */
#ifndef CARILLON_CLI_ARGS_H
#define CARILLON_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

#define ARGS_MAX 64

struct flag {
    const char *name;  /* "--json" */
    const char *brief; /* "-p"; NULL = none */
    const char *value; /* name of its value in help; NULL = a switch */
    const char *help;
};

struct args {
    const char *words[ARGS_MAX];
    size_t word_count;
    struct {
        const struct flag *flag;
        const char *value;
    } flags[ARGS_MAX];
    size_t flag_count;
};

/* `tables`: NULL-terminated list of flag tables, each ended by a flag without name. STATUS_INVALID names the word. */
enum status args_parse(const struct flag *const *tables, int argc, char **argv, struct args *ret,
                       struct error *err) MUST_USE;
/* Value of a flag (the last one wins), "" for a switch, NULL when absent. */
const char *args_get(const struct args *args, const char *name);
/* index-th value of a flag that may be repeated; NULL behind the last. */
const char *args_nth(const struct args *args, const char *name, size_t index);

#endif
