/* import crontab: lines that call curl or wget become jobs with a `url:` step, as documents on stdout; what cannot be
 * taken over is told on stderr, line by line. Nothing is written anywhere: `carillon apply` does that. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/str.h"
#include "core/base/utf8.h"
#include "core/logic/time/cron.h"

#include "cli/files.h"
#include "cli/verb.h"

#define FILE_MAX ((size_t)4 << 20)
#define WORDS_MAX 100
#define HEADERS_MAX 20

static const struct flag import_flags[] = {
    {"--project", "-p", "NAME", "project of the jobs (default: default)"},
    {"--timezone", NULL, "ZONE", "zone that the lines are meant in, until CRON_TZ says otherwise (default: UTC)"},
    {0}};

struct request { /* what a command line of curl or wget asks for */
    const char *url, *method, *body;
    const char *headers[HEADERS_MAX];
    size_t header_count;
};

struct import {
    const char *file, *project, *zone;
    char zone_text[80];
    size_t taken, left;
};

/* ---- words as a shell would see them -------------------------------------------------------------------------------
 */

/* false: it needs a shell (pipes, variables, substitutions, …). Output redirections at the end are of no matter here.
 */
static bool split(char *text, char *words[WORDS_MAX], size_t *ret_count, const char **ret_why)
{
    char *out = text;
    size_t n = 0;
    for (char *p = text; *p;) {
        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            break;
        if (n == WORDS_MAX) {
            *ret_why = "too many words";
            return false;
        }
        words[n++] = out;
        char quote = '\0';
        for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
            if (quote ? *p == quote : *p == '\'' || *p == '"') {
                quote = quote ? '\0' : *p;
            } else if (quote != '\'' && strchr("$`", *p)) {
                *ret_why = "it uses a variable or another command's output";
                return false;
            } else if (!quote && strchr("|;&<(", *p) && !(*p == '&' && strchr("12", p > text ? p[-1] : ' '))) {
                *ret_why = "it is more than one command";
                return false;
            } else {
                *out++ = quote != '\'' && *p == '\\' && p[1] ? *++p : *p;
            }
        }
        if (quote) {
            *ret_why = "a quotation mark is not closed";
            return false;
        }
        bool more = *p != '\0';
        p += more;
        *out++ = '\0';
        if (!more)
            break;
    }
    *ret_count = n;
    return true;
}

/* Cut off "> /dev/null 2>&1" and the like: an attempt's answer is kept anyway. */
static void cut_output(char *command)
{
    for (char *p = command, quote = '\0'; *p; p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = quote ? '\0' : *p;
        else if (!quote &&
                 (*p == '>' || (strchr("12&", *p) && p[1] == '>' && p > command && isspace((unsigned char)p[-1])))) {
            *p = '\0';
            return;
        }
    }
}

/* ---- curl and wget -------------------------------------------------------------------------------------------------
 */

enum meaning { FLAG_NONE, FLAG_DROP, FLAG_DROP_VALUE, FLAG_METHOD, FLAG_HEADER, FLAG_BODY, FLAG_URL };

static const struct option {
    const char *name;
    enum meaning meaning;
} options[] = {
    {"-s", FLAG_DROP},
    {"-S", FLAG_DROP},
    {"-f", FLAG_DROP},
    {"-q", FLAG_DROP},
    {"-sS", FLAG_DROP},
    {"-fs", FLAG_DROP},
    {"-sf", FLAG_DROP},
    {"-fsS", FLAG_DROP},
    {"-fsSL", FLAG_DROP},
    {"-sL", FLAG_DROP},
    {"-L", FLAG_DROP},
    {"--silent", FLAG_DROP},
    {"--show-error", FLAG_DROP},
    {"--fail", FLAG_DROP},
    {"--location", FLAG_DROP},
    {"--quiet", FLAG_DROP},
    {"-nv", FLAG_DROP},
    {"--no-verbose", FLAG_DROP},
    {"--spider", FLAG_DROP},
    {"-o", FLAG_DROP_VALUE},
    {"-O", FLAG_DROP_VALUE},
    {"--output", FLAG_DROP_VALUE},
    {"-m", FLAG_DROP_VALUE},
    {"--max-time", FLAG_DROP_VALUE},
    {"--connect-timeout", FLAG_DROP_VALUE},
    {"--retry", FLAG_DROP_VALUE},
    {"-T", FLAG_DROP_VALUE},
    {"-t", FLAG_DROP_VALUE},
    {"--timeout", FLAG_DROP_VALUE},
    {"--tries", FLAG_DROP_VALUE},
    {"-X", FLAG_METHOD},
    {"--request", FLAG_METHOD},
    {"--method", FLAG_METHOD},
    {"-H", FLAG_HEADER},
    {"--header", FLAG_HEADER},
    {"-d", FLAG_BODY},
    {"--data", FLAG_BODY},
    {"--data-raw", FLAG_BODY},
    {"--post-data", FLAG_BODY},
    {"--body-data", FLAG_BODY},
    {"--url", FLAG_URL},
};

static enum meaning meaning_of(const char *word, const char **ret_value)
{
    size_t length = strcspn(word, "=");
    *ret_value = word[0] == '-' && word[1] == '-' && word[length] ? word + length + 1 : NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(word, options[i].name) == 0 ||
            (*ret_value && strlen(options[i].name) == length && strncmp(word, options[i].name, length) == 0))
            return options[i].meaning;
    return FLAG_NONE;
}

static const char *take_option(struct request *request, enum meaning meaning, const char *value)
{
    if (meaning == FLAG_METHOD)
        request->method = value;
    else if (meaning == FLAG_HEADER && request->header_count < HEADERS_MAX && strchr(value, ':'))
        request->headers[request->header_count++] = value;
    else if (meaning == FLAG_HEADER)
        return "a header is not NAME: VALUE";
    else if (meaning == FLAG_BODY && (request->body || *value == '@'))
        return "its body comes from a file, or from several options";
    else if (meaning == FLAG_BODY)
        request->body = value;
    else if (meaning == FLAG_URL)
        request->url = value;
    return NULL;
}

/* NULL: taken; otherwise why not. */
static const char *read_request(char **words, size_t count, struct request *ret)
{
    const char *slash = count ? strrchr(words[0], '/') : NULL, *program = slash ? slash + 1 : count ? words[0] : "";
    bool wget = strcmp(program, "wget") == 0;
    if (strcmp(program, "curl") != 0 && !wget)
        return "it is a command, no call of curl or wget: make it a task of an executor";
    for (size_t i = 1; i < count; i++) {
        const char *value, *why;
        enum meaning meaning = meaning_of(words[i], &value);
        if (words[i][0] != '-') {
            if (ret->url)
                return "it calls several addresses";
            ret->url = words[i];
            continue;
        }
        if (meaning == FLAG_NONE)
            return words[i];
        if (meaning == FLAG_DROP)
            continue;
        if (!value && i + 1 == count)
            return "the value of its last option is missing";
        if (!value)
            value = words[++i];
        if ((why = take_option(ret, meaning, value)))
            return why;
    }
    if (!ret->url || (strncmp(ret->url, "http://", 7) != 0 && strncmp(ret->url, "https://", 8) != 0))
        return "its address does not begin with http:// or https://";
    if (!ret->method)
        ret->method = ret->body ? "POST" : "GET";
    return NULL;
}

/* ---- documents -----------------------------------------------------------------------------------------------------
 */

/* "https://shop.example/close?x=1" → "shop-example-close", with the line's number, so that it is nobody else's. */
static void name_of(const struct request *request, size_t number, char ret[80])
{
    const char *p = strstr(request->url, "://") + 3;
    size_t n = 0;
    for (; *p && *p != '?' && *p != '#' && n < 50; p++) {
        bool plain = isalnum((unsigned char)*p) != 0;
        if (plain || (n > 0 && ret[n - 1] != '-'))
            ret[n++] = plain ? (char)tolower((unsigned char)*p) : '-';
    }
    while (n > 0 && ret[n - 1] == '-')
        n--;
    (void)snprintf(ret + n, 80 - n, "%sline-%zu", n ? "-" : "", number);
}

static void print_job(const struct import *import, size_t number, const char *cron, const struct request *request)
{
    char name[80];
    struct str out;
    bool json = request->body && (*request->body == '{' || *request->body == '[');
    str_init(&out, 8 * FILE_MAX);
    name_of(request, number, name);
    str_addf(&out,
             "---\n# %s:%zu\napiVersion: carillon/v1\nkind: Job\nmetadata: {project: %s, name: %s}\nspec:\n"
             "  triggers:\n    - {cron: ",
             import->file, number, import->project, name);
    str_add_json(&out, cron);
    str_add(&out, ", timezone: ");
    str_add_json(&out, import->zone);
    str_add(&out, "}\n  overlap: allow\n  graph:\n    - step: call\n      url: ");
    str_add_json(&out, request->url);
    str_addf(&out, "\n      method: %s\n      success_when: http\n", request->method);
    if (request->header_count)
        str_add(&out, "      headers:\n");
    for (size_t i = 0; i < request->header_count; i++) {
        const char *colon = strchr(request->headers[i], ':');
        struct str header;
        str_init(&header, FILE_MAX);
        str_add_bytes(&header, request->headers[i], (size_t)(colon - request->headers[i]));
        str_add(&out, "        ");
        str_add_json(&out, str_text(&header));
        str_add(&out, ": ");
        str_add_json(&out, colon + 1 + strspn(colon + 1, " "));
        str_add(&out, "\n");
        str_release(&header);
    }
    if (json)
        str_addf(&out, "      params: %s\n", request->body);
    (void)fputs(str_text(&out), stdout);
    str_release(&out);
}

/* ---- lines ---------------------------------------------------------------------------------------------------------
 */

static void leave(struct import *import, size_t number, const char *why)
{
    import->left++;
    (void)fprintf(stderr, "%s:%zu: not imported: %s\n", import->file, number, why);
}

/* Five fields, or one that begins with "@". NULL: it is no entry. Returns where the command begins. */
static char *take_schedule(char *line, char *ret, size_t size)
{
    int fields = *line == '@' ? 1 : 5;
    char *p = line;
    for (int i = 0; i < fields; i++) {
        p += strcspn(p, " \t");
        size_t length = (size_t)(p - line);
        p += strspn(p, " \t");
        if (!*p || length >= size)
            return NULL;
        (void)snprintf(ret, size, "%.*s", (int)length, line);
    }
    return p;
}

static bool take_setting(struct import *import, char *line)
{
    size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    const char *value = line + name + strspn(line + name, " \t");
    if (!name || *value != '=')
        return false;
    value += 1 + strspn(value + 1, " \t\"'");
    if ((name == 7 && strncmp(line, "CRON_TZ", name) == 0) || (name == 2 && strncmp(line, "TZ", name) == 0)) {
        (void)snprintf(import->zone_text, sizeof import->zone_text, "%.*s", (int)strcspn(value, " \t\"'"), value);
        import->zone = import->zone_text;
    }
    return true;
}

/* NULL: `cron`, the beginning of the line, is a schedule of ours, too. */
static const char *schedule_wrong(const char *line, const char *cron, struct error *err)
{
    struct cron *parsed = NULL;
    if (strcasecmp(cron, "@reboot") == 0)
        return "@reboot has no time";
    if (!utf8_valid(line, strlen(line)))
        return "it is not UTF-8";
    if (cron_parse(cron, CRON_AUTO, NULL, &parsed, NULL, err) != STATUS_OK)
        return err->text;
    cron_free(parsed);
    return NULL;
}

static void take_line(struct import *import, size_t number, char *line)
{
    char cron[200], *words[WORDS_MAX];
    size_t count = 0;
    struct request request = {0};
    const char *why = NULL;
    struct error err;
    line += strspn(line, " \t");
    line[strcspn(line, "\r\n")] = '\0';
    if (!*line || *line == '#' || take_setting(import, line))
        return;
    char *command = take_schedule(line, cron, sizeof cron);
    if (!command) {
        leave(import, number, "it is no line of a crontab (five fields and a command)");
        return;
    }
    if ((why = schedule_wrong(line, cron, &err)) != NULL) {
        leave(import, number, why);
        return;
    }
    cut_output(command);
    if (strchr(command, '%'))
        why = "it holds a %, which cron turns into a new line";
    else if (split(command, words, &count, &why))
        why = read_request(words, count, &request);
    if (!why && request.body && *request.body != '{' && *request.body != '[')
        why = "its body is no JSON object or array";
    if (why && *why == '-') {
        char text[200];
        (void)snprintf(text, sizeof text, "the option %.100s has no counterpart here", why);
        leave(import, number, text);
    } else if (why) {
        leave(import, number, why);
    } else {
        import->taken++;
        print_job(import, number, cron, &request);
    }
}

static enum exit_code run(const struct args *args)
{
    struct import import = {
        .file = args->words[1], .project = args_get(args, "--project"), .zone = args_get(args, "--timezone")};
    char *text = NULL;
    size_t length = 0;
    struct error err;
    if (strcmp(args->words[0], "crontab") != 0)
        return complain(EXIT_BAD_INPUT, "import knows crontab, not \"%.40s\"", args->words[0]);
    import.project = import.project ? import.project : "default";
    import.zone = import.zone ? import.zone : "UTC";
    if (file_read_whole(import.file, FILE_MAX, &text, &length, &err) != STATUS_OK)
        return complain(EXIT_BAD_INPUT, "%s", err.text);
    size_t number = 1;
    for (char *p = text, *end; p < text + length; p = end + 1, number++) {
        end = memchr(p, '\n', (size_t)(text + length - p));
        end = end ? end : text + length;
        *end = '\0';
        if (strlen(p) < (size_t)(end - p))
            leave(&import, number, "it holds a NUL byte");
        else
            take_line(&import, number, p);
    }
    free(text);
    (void)fprintf(stderr, "%zu line(s) imported, %zu not\n", import.taken, import.left);
    return import.left ? EXIT_FAILED : EXIT_OK;
}

const struct verb verb_import = {
    .name = "import",
    .words = "crontab FILE",
    .summary = "print a crontab's calls of curl and wget as jobs; what is left out is told on stderr",
    .teach =
        "Nothing is written: read what comes out, then apply it. Exit code 1 when lines were left out. The jobs run in\n"
        "UTC until --timezone, or CRON_TZ in the file, says otherwise; cron used the machine's own zone.\n\n"
        "  crontab -l >crontab.txt; carillon import crontab crontab.txt --timezone Europe/Berlin >jobs.yaml\n"
        "  carillon apply -f jobs.yaml --dry-run",
    .flags = import_flags,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
