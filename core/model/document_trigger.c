/* Triggers of a job. */
#include <string.h>

#include "core/model/document_parts.h"

#define PERIOD_MIN 10
#define CRON_MAX 2048

struct trigger_members {
    struct trigger_spec spec;
    span every, delay;
    struct slice calendar, calendars, quiet;
};

/* clang-format off */
static const struct choice dialects[] = {{"auto", CRON_AUTO}, {"quartz", CRON_QUARTZ}, {"unix", CRON_UNIX}, {"spring", CRON_SPRING}, {"ant", CRON_ANT}, {NULL, 0}};
static const struct choice misfires[] = {{"latest", MISFIRE_LATEST}, {"skip", MISFIRE_SKIP}, {"all", MISFIRE_ALL}, {NULL, 0}};
static const struct choice gaps[] = {{"auto", DST_GAP_AUTO}, {"shift", DST_GAP_SHIFT}, {"skip", DST_GAP_SKIP}, {NULL, 0}};
static const struct choice overlaps[] = {{"auto", DST_OVERLAP_AUTO}, {"first", DST_OVERLAP_FIRST}, {"last", DST_OVERLAP_LAST}, {"both", DST_OVERLAP_BOTH}, {NULL, 0}};
/* clang-format on */

static void read_dst(struct reader *reader, const struct place *place, struct slice value, void *target,
                     const struct field *field)
{
    static const struct field fields[] = {
        {"gap", read_choice, offsetof(struct trigger_spec, dst_gap), 0, 0, gaps, NULL},
        {"overlap", read_choice, offsetof(struct trigger_spec, dst_overlap), 0, 0, overlaps, NULL},
    };
    (void)field;
    read_object(reader, place, value, fields, 2, target);
}

#define AT(member) offsetof(struct trigger_members, member)
enum trigger_member { MEMBER_NAME, MEMBER_CRON, MEMBER_EVERY, MEMBER_DELAY, MEMBER_AT, MEMBER_DIALECT, MEMBER_ALIGN };
/* clang-format off */
static const struct field trigger_fields[] = {
    [MEMBER_NAME] = {"name", read_name, AT(spec.name), 0, 0, NULL, NULL},
    [MEMBER_CRON] = {"cron", read_line, AT(spec.cron), 0, CRON_MAX, NULL, NULL},
    [MEMBER_EVERY] = {"every", read_span, AT(every), PERIOD_MIN, 36500 * SPAN_DAY, NULL, NULL},
    [MEMBER_DELAY] = {"delay", read_span, AT(delay), PERIOD_MIN, 36500 * SPAN_DAY, NULL, NULL},
    [MEMBER_AT] = {"at", read_instant, AT(spec.at), 0, 0, NULL, NULL},
    [MEMBER_DIALECT] = {"dialect", read_choice, AT(spec.dialect), 0, 0, dialects, NULL},
    [MEMBER_ALIGN] = {"align", read_bool, AT(spec.align), 0, 0, NULL, NULL},
    {"timezone", read_line, AT(spec.timezone), 0, LIMIT_NAME, NULL, NULL},
    {"dst", read_dst, AT(spec), 0, 0, NULL, NULL},
    {"start", read_instant, AT(spec.start), 0, 0, NULL, NULL},
    {"end", read_instant, AT(spec.end), 0, 0, NULL, NULL},
    {"max_fires", read_int64, AT(spec.max_fires), 0, INT64_MAX / 2, NULL, NULL},
    {"calendar", read_raw, AT(calendar), 0, 0, NULL, NULL},
    {"calendars", read_raw, AT(calendars), 0, 0, NULL, NULL},
    {"quiet", read_raw, AT(quiet), 0, 0, NULL, NULL},
    {"jitter", read_span, AT(spec.jitter), 0, 7 * SPAN_DAY, NULL, NULL},
    {"priority", read_int, AT(spec.priority), 0, 9, NULL, NULL},
    {"misfire", read_choice, AT(spec.misfire), 0, 0, misfires, NULL},
    {"misfire_max", read_int, AT(spec.misfire_max), 1, 10000, NULL, NULL},
    {"misfire_threshold", read_span, AT(spec.misfire_threshold), 0, 365 * SPAN_DAY, NULL, NULL},
    {"max_age", read_span, AT(spec.max_age), 0, 36500 * SPAN_DAY, NULL, NULL},
    {"params", read_json_object, AT(spec.params), 0, LIMIT_PARAMS, NULL, NULL},
    {"paused", read_bool, AT(spec.paused), 0, 0, NULL, NULL},
};
/* clang-format on */
#define TRIGGER_FIELDS (sizeof trigger_fields / sizeof *trigger_fields)

static const struct {
    enum trigger_member member;
    enum trigger_kind kind;
} kinds[] = {{MEMBER_CRON, TRIGGER_CRON},
             {MEMBER_EVERY, TRIGGER_EVERY},
             {MEMBER_DELAY, TRIGGER_DELAY},
             {MEMBER_AT, TRIGGER_AT}};

/* ---- calendars and quiet hours ------------------------------------------------------------------------------------
 */

static void calendars_read(struct reader *reader, const struct place *place, struct slice value,
                           struct trigger_spec *spec)
{
    size_t count;
    struct json_walk walk = {0};
    if (!take_list(reader, place, value, LIMIT_CALENDARS, true, &count) || !count)
        return;
    bool list = json_type_of(value) == JSON_ARRAY;
    spec->calendars = take_array(reader, const char *, count);
    for (size_t i = 0; i < count && spec->calendars; i++) {
        const char **name = &spec->calendars[spec->calendar_count];
        const struct place *here = list ? PLACE_INDEX(place, i) : place;
        read_name(reader, here, list_element(value, &walk, i == 0), name, NULL);
        for (size_t j = 0; *name && j < spec->calendar_count; j++)
            if (!strcmp(*name, spec->calendars[j]))
                read_fault(reader, here, "the calendar \"%s\" is given twice", *name);
        spec->calendar_count += *name != NULL;
    }
}

static bool two_digits(const char **p, int maximum, int *ret)
{
    const char *s = *p;
    if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
        return false;
    *ret = (s[0] - '0') * 10 + (s[1] - '0');
    *p = s + 2;
    return *ret <= maximum;
}

/* HH:mm or HH:mm:ss up to 24:00. */
static bool clock_parse(const char **p, int32_t *ret)
{
    int hour, minute, second = 0;
    if (!two_digits(p, 24, &hour) || *(*p)++ != ':' || !two_digits(p, 59, &minute))
        return false;
    if (**p == ':') {
        (*p)++;
        if (!two_digits(p, 59, &second))
            return false;
    }
    *ret = (int32_t)((hour * 3600 + minute * 60 + second) * SPAN_SECOND);
    return *ret <= SPAN_DAY;
}

/* Windows of one text: "22:00-06:00", or several by commas. */
static void windows_read(struct reader *reader, const struct place *place, const char *text, struct trigger_spec *spec)
{
    for (const char *p = text;; p++) {
        struct quiet_window window;
        while (*p == ' ')
            p++;
        bool ok = clock_parse(&p, &window.start) && *p++ == '-' && clock_parse(&p, &window.end);
        while (ok && *p == ' ')
            p++;
        if (!ok || (*p && *p != ',')) {
            read_fault(reader, place, "\"%.60s\" are no quiet hours; write 22:00-06:00, several by commas", text);
            return;
        }
        if (window.start % SPAN_DAY == window.end % SPAN_DAY) {
            read_fault(reader, place, "\"%.60s\": these quiet hours cover the whole day; nothing could ever fire",
                       text);
            return;
        }
        if (spec->quiet_count == LIMIT_QUIET) {
            read_fault(reader, place, "too many quiet hours: at most %d windows are allowed", LIMIT_QUIET);
            return;
        }
        window.start %= (int32_t)SPAN_DAY;
        spec->quiet[spec->quiet_count++] = window;
        if (!*p)
            return;
    }
}

static void quiet_read(struct reader *reader, const struct place *place, struct slice value, struct trigger_spec *spec)
{
    size_t count;
    struct json_walk walk = {0};
    if (!take_list(reader, place, value, LIMIT_QUIET, true, &count) || !count)
        return;
    bool list = json_type_of(value) == JSON_ARRAY;
    spec->quiet = take_array(reader, struct quiet_window, LIMIT_QUIET);
    for (size_t i = 0; i < count && spec->quiet; i++) {
        const struct place *here = list ? PLACE_INDEX(place, i) : place;
        const char *text = take_text(reader, here, list_element(value, &walk, i == 0));
        if (text)
            windows_read(reader, here, text, spec);
    }
}

/* ---- one trigger --------------------------------------------------------------------------------------------------
 */

static void kind_read(struct reader *reader, const struct place *place, uint64_t seen, struct trigger_members *m)
{
    size_t found = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (seen & FIELD_BIT(kinds[i].member)) {
            m->spec.kind = kinds[i].kind;
            found++;
        }
    if (found != 1)
        read_fault(reader, place, "%s; a trigger says exactly one of cron, every, delay, at",
                   found ? "more than one kind" : "no kind");
    m->spec.period = m->spec.kind == TRIGGER_EVERY ? m->every : m->delay;
    if ((seen & FIELD_BIT(MEMBER_DIALECT)) && !(seen & FIELD_BIT(MEMBER_CRON)))
        read_fault(reader, PLACE_MEMBER(place, "dialect"), "goes with cron only");
    if ((seen & FIELD_BIT(MEMBER_ALIGN)) && !(seen & FIELD_BIT(MEMBER_EVERY)))
        read_fault(reader, PLACE_MEMBER(place, "align"), "goes with every only");
}

static void trigger_read(struct reader *reader, const struct place *place, struct slice value, struct trigger_spec *ret)
{
    struct trigger_members m = {
        .spec = {.at = INSTANT_NONE,
                 .start = INSTANT_NONE,
                 .end = INSTANT_NONE,
                 .priority = PRIORITY_DEFAULT,
                 .misfire_max = MISFIRE_MAX_DEFAULT,
                 .misfire_threshold = -1,
                 .max_age = MISFIRE_AGE_DEFAULT},
    };
    uint64_t seen = read_object(reader, place, value, trigger_fields, TRIGGER_FIELDS, &m);
    if (json_type_of(value) != JSON_OBJECT)
        return;
    kind_read(reader, place, seen, &m);
    if (!(seen & FIELD_BIT(MEMBER_NAME)))
        m.spec.name = "default";
    if (m.spec.name && trigger_name_reserved(m.spec.name))
        read_fault(reader, PLACE_MEMBER(place, "name"),
                   "\"%s\" is reserved; names may not begin with manual-, retry- or recovery-", m.spec.name);
    if (m.calendar.length && m.calendars.length)
        read_fault(reader, PLACE_MEMBER(place, "calendars"), "calendar and calendars are both given; leave one out");
    else if (m.calendar.length)
        calendars_read(reader, PLACE_MEMBER(place, "calendar"), m.calendar, &m.spec);
    else if (m.calendars.length)
        calendars_read(reader, PLACE_MEMBER(place, "calendars"), m.calendars, &m.spec);
    if (m.quiet.length)
        quiet_read(reader, PLACE_MEMBER(place, "quiet"), m.quiet, &m.spec);
    if (!instant_is_none(m.spec.start) && !instant_is_none(m.spec.end) && m.spec.end.ms <= m.spec.start.ms)
        read_fault(reader, PLACE_MEMBER(place, "end"), "is not later than start; the trigger could never fire");
    *ret = m.spec;
}

void triggers_read(struct reader *reader, const struct place *place, struct slice value, struct job_spec *job)
{
    size_t count;
    struct json_walk walk = {0};
    if (!take_list(reader, place, value, LIMIT_TRIGGERS, false, &count) || !count)
        return;
    job->triggers = take_array(reader, struct trigger_spec, count);
    for (size_t i = 0; i < count && job->triggers; i++) {
        const struct place *here = PLACE_INDEX(place, i);
        struct trigger_spec *trigger = &job->triggers[i];
        trigger_read(reader, here, list_element(value, &walk, i == 0), trigger);
        job->trigger_count++;
        for (size_t j = 0; j < i && trigger->name; j++)
            if (job->triggers[j].name && !strcmp(trigger->name, job->triggers[j].name))
                read_fault(
                    reader, PLACE_MEMBER(here, "name"),
                    "a trigger named \"%s\" is already there ([%zu]); one trigger may go unnamed, it is \"default\"",
                    trigger->name, j);
    }
}
