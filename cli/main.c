/* Entry: finds the verb, parses its arguments, runs it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

const struct verb *const verbs[] = {
    /* servers */
    &verb_standalone, &verb_scheduler, &verb_orchestrator, &verb_admin, &verb_config,
    /* definitions */
    &verb_apply, &verb_diff, &verb_export, &verb_delete, &verb_lint, &verb_render, &verb_projects, &verb_apps,
    &verb_tasks, &verb_calendars, &verb_jobs, &verb_job, &verb_triggers,
    /* runs */
    &verb_run, &verb_enqueue, &verb_cancel, &verb_pause, &verb_resume, &verb_runs, &verb_explain, &verb_ledger,
    &verb_schedulers,
    /* tools */
    &verb_cron, &verb_login, &verb_completion, &verb_version, NULL};

const struct flag no_flags[] = {{0}};
const struct flag client_flags[] = {
    {"--url", NULL, "URL", "orchestrator (default: CARILLON_URL, then the context that `login` or `standalone` wrote)"},
    {"--token", NULL, "TOKEN", "API token (default: CARILLON_TOKEN, then the context)"},
    {"--project", "-p", "NAME", "project of names that are not written PROJECT/NAME (default: default)"},
    {"--json", NULL, NULL, "print the API's answer instead of a table"},
    {0},
};
static const struct flag help_flags[] = {{"--help", "-h", NULL, "this text"}, {0}};

enum exit_code complain(enum exit_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("carillon: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    return code;
}

static void print_flags(const struct flag *flags)
{
    for (; flags->name; flags++) {
        char left[64];
        (void)snprintf(left, sizeof left, "%s%s%s%s%s", flags->brief ? flags->brief : "", flags->brief ? ", " : "",
                       flags->name, flags->value ? " " : "", flags->value ? flags->value : "");
        (void)printf("  %-28s %s\n", left, flags->help);
    }
}

static void print_verb_help(const struct verb *verb)
{
    (void)printf("carillon %s%s%s [options]\n\n%s\n\nOptions\n", verb->name, *verb->words ? " " : "", verb->words,
                 verb->summary);
    print_flags(verb->flags);
    if (verb->client)
        print_flags(client_flags);
    print_flags(help_flags);
    if (verb->teach)
        (void)printf("\n%s\n", verb->teach);
}

static void print_help(FILE *to)
{
    (void)fputs("carillon: fires jobs on time and carries them out by calling HTTP endpoints\n\n"
                "  carillon VERB [words] [options]      carillon VERB --help tells more, with examples\n\n",
                to);
    for (const struct verb *const *verb = verbs; *verb; verb++)
        (void)fprintf(to, "  %-13s %s\n", (*verb)->name, (*verb)->summary);
    (void)fputs(
        "\nFirst steps: `carillon standalone` in one terminal, `carillon apply -f examples/shop` in another, then the URL it printed.\n"
        "Exit codes: 0 ok, 1 failed, 2 bad input, 3 not found, 4 conflict, 5 unreachable, 6 timed out, 7 canceled, 73 in use, "
        "78 configuration\n",
        to);
}

static const struct verb *find_verb(const char *name)
{
    for (const struct verb *const *verb = verbs; *verb; verb++)
        if (!strcmp((*verb)->name, name))
            return *verb;
    return NULL;
}

int main(int argc, char **argv)
{
    struct args args;
    struct error err;
    if (argc < 2) {
        print_help(stderr);
        return (int)EXIT_BAD_INPUT;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return EXIT_OK;
    }
    const struct verb *verb = find_verb(!strcmp(argv[1], "--version") ? "version" : argv[1]);
    if (!verb)
        return (int)complain(EXIT_BAD_INPUT, "there is no verb \"%.40s\"; `carillon --help` lists them", argv[1]);
    const struct flag *const tables[] = {verb->flags, help_flags, verb->client ? client_flags : NULL, NULL};
    if (args_parse(tables, argc - 2, argv + 2, &args, &err))
        return (int)complain(EXIT_BAD_INPUT, "%s: %s", verb->name, err.text);
    if (args_get(&args, "--help")) {
        print_verb_help(verb);
        return EXIT_OK;
    }
    if (args.word_count < verb->min_words || args.word_count > verb->max_words)
        return (int)complain(EXIT_BAD_INPUT, "usage: carillon %s %s; `carillon %s --help` tells more", verb->name,
                             verb->words, verb->name);
    return (int)verb->run(&args);
}
