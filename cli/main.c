/* Entry: finds the verb, parses its arguments, runs it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/model/hint.h"

#include "cli/verb.h"

const struct verb *const verbs[] = {
    /* servers */
    &verb_standalone, &verb_scheduler, &verb_orchestrator, &verb_admin, &verb_config,
    /* definitions */
    &verb_apply, &verb_diff, &verb_export, &verb_delete, &verb_lint, &verb_render, &verb_projects, &verb_apps,
    &verb_application_key, &verb_tasks, &verb_calendars, &verb_jobs, &verb_job, &verb_triggers,
    /* runs */
    &verb_run, &verb_enqueue, &verb_cancel, &verb_pause, &verb_resume, &verb_runs, &verb_attempts, &verb_logs,
    &verb_explain, &verb_ledger, &verb_schedulers, &verb_leases,
    /* tools */
    &verb_cron, &verb_check_endpoint, &verb_import, &verb_login, &verb_completion, &verb_version, NULL};

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
        (void)fprintf(to, "  %-15s %s\n", (*verb)->name, (*verb)->summary);
    (void)fputs(
        "\nFirst steps: `carillon standalone` in one terminal, `carillon apply -f examples/shop` in another, then the URL it printed.\n"
        "Exit codes:",
        to);
    for (const struct exit_meaning *exit = exit_meanings; exit->name; exit++)
        (void)fprintf(to, " %d %s%s", (int)exit->code, exit->name, exit[1].name ? "," : "\n");
}

/* ---- the reference page: the same tables ---- */

/* "|" would end a cell. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        (void)printf(*text == '|' ? "\\%c" : "%c", *text);
}

static void print_markdown_flags(const struct flag *flags)
{
    if (!flags->name)
        return;
    (void)printf("\n| option | |\n|---|---|\n");
    for (; flags->name; flags++) {
        (void)printf("| `%s%s%s%s%s` | ", flags->brief ? flags->brief : "", flags->brief ? "`, `" : "", flags->name,
                     flags->value ? " " : "", flags->value ? flags->value : "");
        print_cell(flags->help);
        (void)printf(" |\n");
    }
}

static void print_markdown(void)
{
    (void)printf(
        "# Command line\n\nPrinted by `carillon help --markdown`; a test compares. `carillon VERB --help` tells "
        "the same. Options come after the\nverb, in any order; `--` ends them.\n\n## Exit codes\n\n"
        "| code | | when |\n|---|---|---|\n");
    for (const struct exit_meaning *exit = exit_meanings; exit->name; exit++)
        (void)printf("| %d | %s | %s |\n", (int)exit->code, exit->name, exit->when);
    (void)printf("\n## Options of all verbs that talk to a server\n\nThese verbs are marked with *.\n");
    print_markdown_flags(client_flags);
    (void)printf("\n## Verbs\n");
    for (const struct verb *const *at = verbs; *at; at++) {
        const struct verb *verb = *at;
        (void)printf("\n### %s%s\n\n`carillon %s%s%s`: %s.\n", verb->name, verb->client ? " *" : "", verb->name,
                     *verb->words ? " " : "", verb->words, verb->summary);
        print_markdown_flags(verb->flags);
        if (verb->teach)
            (void)printf("\n```\n%s\n```\n", verb->teach);
    }
}

static const struct verb *find_verb(const char *name)
{
    for (const struct verb *const *verb = verbs; *verb; verb++)
        if (!strcmp((*verb)->name, name))
            return *verb;
    return NULL;
}

static enum exit_code refuse_verb(const char *name)
{
    struct hint hint = hint_begin(name);
    for (const struct verb *const *verb = verbs; *verb; verb++)
        hint_offer(&hint, (*verb)->name);
    return complain(EXIT_BAD_INPUT, "there is no verb \"%.40s\"%s%s%s; `carillon --help` lists them", name,
                    hint.near ? "; did you mean \"" : "", hint.near ? hint.near : "", hint.near ? "\"?" : "");
}

/* `carillon help`, `carillon help VERB`, `carillon help --markdown`. */
static enum exit_code help(const char *about)
{
    if (!about || about[0] == '-') {
        if (about && !strcmp(about, "--markdown"))
            print_markdown();
        else
            print_help(stdout);
        return EXIT_OK;
    }
    const struct verb *verb = find_verb(about);
    if (!verb)
        return refuse_verb(about);
    print_verb_help(verb);
    return EXIT_OK;
}

/* A full disk behind `>` must not look like success. */
static enum exit_code output_finish(enum exit_code code)
{
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    return lost && !code ? complain(EXIT_FAILED, "the output could not be written: %s", strerror(errno)) : code;
}

int main(int argc, char **argv)
{
    struct args args;
    struct error err;
    if (argc < 2) {
        print_help(stderr);
        return (int)EXIT_BAD_INPUT;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return (int)output_finish(help(argc > 2 ? argv[2] : NULL));
    if (argv[1][0] == '-' && strcmp(argv[1], "--version") != 0)
        return (int)complain(EXIT_BAD_INPUT, "the verb comes first, options after it: carillon VERB %.40s …", argv[1]);
    const struct verb *verb = find_verb(!strcmp(argv[1], "--version") ? "version" : argv[1]);
    if (!verb)
        return (int)refuse_verb(argv[1]);
    const struct flag *const tables[] = {verb->flags, help_flags, verb->client ? client_flags : NULL, NULL};
    if (args_parse(tables, argc - 2, argv + 2, &args, &err))
        return (int)complain(EXIT_BAD_INPUT, "%s: %s", verb->name, err.text);
    if (args_get(&args, "--help")) {
        print_verb_help(verb);
        return EXIT_OK;
    }
    if (args.word_count < verb->min_words || args.word_count > verb->max_words)
        return (int)complain(EXIT_BAD_INPUT, "usage: carillon %s%s%s; `carillon %s --help` tells more", verb->name,
                             *verb->words ? " " : "", verb->words, verb->name);
    return (int)output_finish(verb->run(&args));
}
