/* cron next: preview of an expression, without a server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/loop/loop.h"
#include "adapters/zones/zones.h"
#include "core/base/ids.h"
#include "core/logic/time/preview.h"

#include "cli/verb.h"

static const struct flag cron_flags[] = {
    {"--timezone", "-z", "ZONE", "IANA zone (default UTC)"},
    {"--from", NULL, "TIME", "instants strictly after this (RFC 3339; default: now)"},
    {"--count", "-n", "N", "how many (default 5, at most 1000)"},
    {"--dialect", NULL, "NAME", "quartz, unix, spring or ant (default: by the number of fields)"},
    {"--dst-gap", NULL, "HOW", "a local time that does not exist: shift or skip"},
    {"--dst-overlap", NULL, "HOW", "a local time that comes twice: first, last or both"},
    {"--json", NULL, NULL, "{\"next\":[…]}"},
    {0},
};

/* Index of `text` in a "|"-separated list; −1 when it is not in it. 0 when text is NULL. */
static int choice(const char *text, const char *list)
{
    int index = 0;
    if (!text)
        return 0;
    for (const char *p = list; *p; index++) {
        size_t length = strcspn(p, "|");
        if (length == strlen(text) && !strncmp(p, text, length))
            return index;
        p += length + (p[length] == '|');
    }
    return -1;
}

static void print_json(const instant *next, size_t count)
{
    char text[RFC3339_SIZE];
    (void)printf("{\"next\":[");
    for (size_t i = 0; i < count; i++)
        (void)printf("%s\"%s\"", i ? "," : "", rfc3339_format_short(next[i], text));
    (void)printf("]}\n");
}

/* UTC, and what the clock on the wall shows then. */
static void print_lines(const instant *next, size_t count, const struct zone *zone)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    char text[RFC3339_SIZE];
    for (size_t i = 0; i < count; i++) {
        struct civil_time t = zone_local(zone, next[i]);
        (void)printf("%s   %s %04d-%02d-%02d %02d:%02d:%02d %s\n", rfc3339_format_short(next[i], text),
                     days[civil_weekday(civil_days(t.date))], t.date.year, t.date.month, t.date.day, t.hour, t.minute,
                     t.second, zone_abbreviation(zone, next[i]));
    }
    if (!count)
        (void)printf("never: no time fits any more\n");
}

struct preview_input {
    const struct zone *zone;
    instant from;
    size_t count;
    int dialect, gap, overlap;
};

static enum exit_code read_input(const struct args *args, struct zones *zones, struct preview_input *ret)
{
    const char *zone = args_get(args, "--timezone"), *from = args_get(args, "--from"),
               *count = args_get(args, "--count");
    struct error err;
    int64_t number = 5;
    ret->zone = zones->get(zones, zone ? zone : "UTC");
    if (!ret->zone)
        return complain(EXIT_BAD_INPUT, "there is no time zone \"%.60s\"; write an IANA name such as Europe/Berlin",
                        zone);
    ret->from = loop_clock().wall;
    if (from && rfc3339_parse(from, &ret->from, &err))
        return complain(EXIT_BAD_INPUT, "--from: %s", err.text);
    if (count && (!id_parse(count, &number) || number > 1000))
        return complain(EXIT_BAD_INPUT, "--count is a number from 1 to 1000, not \"%.40s\"", count);
    ret->count = (size_t)number;
    ret->dialect = choice(args_get(args, "--dialect"), "auto|quartz|unix|spring|ant");
    ret->gap = choice(args_get(args, "--dst-gap"), "auto|shift|skip");
    ret->overlap = choice(args_get(args, "--dst-overlap"), "auto|first|last|both");
    if (ret->dialect < 0)
        return complain(EXIT_BAD_INPUT, "--dialect is quartz, unix, spring or ant");
    if (ret->gap < 0)
        return complain(EXIT_BAD_INPUT, "--dst-gap is shift or skip");
    if (ret->overlap < 0)
        return complain(EXIT_BAD_INPUT, "--dst-overlap is first, last or both");
    return EXIT_OK;
}

static enum exit_code cron(const struct args *args)
{
    struct preview_input in;
    struct faults warnings;
    struct error err;
    if (strcmp(args->words[0], "next"))
        return complain(EXIT_BAD_INPUT,
                        "usage: carillon cron next 'EXPRESSION' [--timezone ZONE] [--from TIME] [--count N]");
    struct zones *zones = zones_create(NULL);
    enum exit_code code = read_input(args, zones, &in);
    if (!code) {
        size_t count = 0;
        instant *next = calloc(in.count, sizeof *next);
        faults_init(&warnings);
        if (!next) {
            code = complain(EXIT_FAILED, "out of memory");
        } else if (cron_preview(args->words[1], (enum cron_dialect)in.dialect, in.zone, (enum dst_gap)in.gap,
                                (enum dst_overlap)in.overlap, in.from, in.count, next, &count, &warnings, &err)) {
            code = complain(EXIT_BAD_INPUT, "%s", err.text);
        } else {
            for (size_t i = 0; i < warnings.count; i++)
                (void)fprintf(stderr, "warning: %s\n", warnings.items[i].text);
            if (args_get(args, "--json"))
                print_json(next, count);
            else
                print_lines(next, count, in.zone);
        }
        faults_release(&warnings);
        free(next);
    }
    zones_free(zones);
    return code;
}

const struct verb verb_cron = {
    "cron",
    "next EXPR",
    "show when a cron expression fires; needs no server",
    "  carillon cron next '0 30 2 * * ?' --timezone Europe/Berlin --count 3\n"
    "  carillon cron next '30 2 * * MON-FRI' --from 2026-03-28T00:00:00Z --json\n\n"
    "Five fields are Unix cron, six or seven are Quartz (seconds first). Several expressions are joined by ';'.",
    cron_flags,
    false,
    2,
    2,
    cron};
