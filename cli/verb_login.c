/* login, completion, version. */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/client.h"

static bool read_token(char *ret, size_t size)
{
    struct termios old = {0}, quiet;
    bool terminal = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &old);
    if (terminal) {
        quiet = old;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        (void)fprintf(stderr, "API token (DATA/admin.token of a standalone): ");
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    bool ok = fgets(ret, (int)size, stdin) != NULL;
    if (terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
        (void)fputc('\n', stderr);
    }
    if (ok)
        ret[strcspn(ret, "\r\n")] = '\0';
    return ok && *ret;
}

static enum exit_code login(const struct args *args)
{
    struct client client = {.project = "default"};
    struct answer_body answer;
    struct error err;
    (void)snprintf(client.url, sizeof client.url, "%s", args->words[0]);
    if (!read_token(client.token, sizeof client.token))
        return complain(EXIT_BAD_INPUT, "no token on standard input");
    client_call(&client, "GET", "/whoami", NULL, false, &answer);
    enum exit_code code = answer.code;
    if (!code && !context_write(client.url, client.token, &err))
        code = complain(EXIT_FAILED, "%s", err.text);
    if (!code)
        (void)printf("logged in to %s as %s (%s)\n", client.url, text_of(answer.json, "name"),
                     text_of(answer.json, "role"));
    answer_release(&answer);
    return code;
}

const struct verb verb_login = {"login",
                                "URL",
                                "remember an orchestrator and a token (read from standard input) for the client verbs",
                                "  carillon login http://127.0.0.1:8420 < data/admin.token",
                                no_flags,
                                false,
                                1,
                                1,
                                login};

static enum exit_code version(const struct args *args)
{
    (void)args;
    (void)printf("carillon %s\n", CARILLON_VERSION);
    return EXIT_OK;
}

const struct verb verb_version = {"version", "", "print the version", NULL, no_flags, false, 0, 0, version};

static void print_verb_names(void)
{
    for (const struct verb *const *verb = verbs; *verb; verb++)
        (void)printf("%s ", (*verb)->name);
}

/* Words and options come from the same tables as --help, so that they cannot differ. */
static enum exit_code completion(const struct args *args)
{
    if (strcmp(args->words[0], "bash"))
        return complain(EXIT_BAD_INPUT, "completion is written for bash, not \"%.20s\"", args->words[0]);
    (void)printf(
        "# carillon: completion for bash\n_carillon() {\n    local words\n    case \"$COMP_CWORD\" in\n    1) words=\"");
    print_verb_names();
    (void)printf("help\" ;;\n    *) case \"${COMP_WORDS[1]}\" in\n        help) words=\"");
    print_verb_names();
    (void)printf("\" ;;\n");
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        const char *word = (*verb)->words; /* words in small letters are written as they stand: cron next */
        (void)printf("        %s) words=\"", (*verb)->name);
        for (; word[0] >= 'a' && word[0] <= 'z'; word += strcspn(word, "| "), word += *word == '|')
            (void)printf("%.*s ", (int)strcspn(word, "| "), word);
        (void)printf("--help");
        for (const struct flag *flag = (*verb)->flags; flag->name; flag++)
            (void)printf(" %s", flag->name);
        for (const struct flag *flag = (*verb)->client ? client_flags : no_flags; flag->name; flag++)
            (void)printf(" %s", flag->name);
        (void)printf("\" ;;\n");
    }
    (void)printf(
        "        esac ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
        "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
        "complete -F _carillon carillon\n");
    return EXIT_OK;
}

const struct verb verb_completion = {"completion",
                                     "bash",
                                     "print the completion script for a shell",
                                     "  source <(carillon completion bash)",
                                     no_flags,
                                     false,
                                     1,
                                     1,
                                     completion};
