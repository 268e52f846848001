#include "cli/args.h"

#include <string.h>

static const struct flag *find(const struct flag *const *tables, const char *word, size_t length)
{
    for (; *tables; tables++)
        for (const struct flag *flag = *tables; flag->name; flag++)
            if ((strlen(flag->name) == length && !memcmp(flag->name, word, length)) ||
                (flag->brief && strlen(flag->brief) == length && !memcmp(flag->brief, word, length)))
                return flag;
    return NULL;
}

static enum status add_flag(struct args *args, const struct flag *flag, const char *value, struct error *err)
{
    if (args->flag_count == ARGS_MAX)
        return error_set(err, STATUS_INVALID, "more than %d options", ARGS_MAX);
    args->flags[args->flag_count].flag = flag;
    args->flags[args->flag_count++].value = value;
    return STATUS_OK;
}

static enum status take_flag(const struct flag *const *tables, int argc, char **argv, int *at, struct args *args,
                             struct error *err)
{
    const char *word = argv[*at], *equals = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
    const struct flag *flag = find(tables, word, equals ? (size_t)(equals - word) : strlen(word));
    if (!flag)
        return error_set(err, STATUS_INVALID, "unknown option \"%.60s\"; --help lists them", word);
    if (!flag->value)
        return equals ? error_set(err, STATUS_INVALID, "option %s takes no value", flag->name)
                      : add_flag(args, flag, "", err);
    if (equals)
        return add_flag(args, flag, equals + 1, err);
    if (*at + 1 == argc)
        return error_set(err, STATUS_INVALID, "option %s needs a value: %s %s", flag->name, flag->name, flag->value);
    return add_flag(args, flag, argv[++*at], err);
}

enum status args_parse(const struct flag *const *tables, int argc, char **argv, struct args *ret, struct error *err)
{
    bool flags = true;
    *ret = (struct args){0};
    for (int i = 0; i < argc; i++) {
        if (flags && !strcmp(argv[i], "--")) {
            flags = false;
        } else if (flags && argv[i][0] == '-' && argv[i][1]) {
            enum status status = take_flag(tables, argc, argv, &i, ret, err);
            if (status)
                return status;
        } else if (ret->word_count == ARGS_MAX) {
            return error_set(err, STATUS_INVALID, "more than %d words", ARGS_MAX);
        } else {
            ret->words[ret->word_count++] = argv[i];
        }
    }
    return STATUS_OK;
}

const char *args_get(const struct args *args, const char *name)
{
    for (size_t i = args->flag_count; i-- > 0;)
        if (!strcmp(args->flags[i].flag->name, name))
            return args->flags[i].value;
    return NULL;
}

const char *args_nth(const struct args *args, const char *name, size_t index)
{
    for (size_t i = 0; i < args->flag_count; i++)
        if (!strcmp(args->flags[i].flag->name, name) && index-- == 0)
            return args->flags[i].value;
    return NULL;
}
