#include "core/logic/time/zone.h"

#include <stdlib.h>
#include <string.h>

#include "core/logic/time/segment.h"
#include "core/logic/time/tzrule.h"

#define TRANSITIONS_MAX 4000 /* zic's own limit is 2000; real files have some 240 */
#define TYPES_MAX 256
#define ABBREVIATIONS_MAX 512
#define NAME_MAX_BYTES 128
#define FILE_MAX ((size_t)256 << 10)
#define EXPAND_UNTIL INT64_C(4133980800) /* 2101-01-01: until then changes of the footer lie in the table */
#define SECOND_LIMIT (INT64_C(1) << 52)  /* changes beyond it (the Big Bang of some files) are drawn in to it */

struct zone_type {
    int32_t offset;
    uint16_t abbreviation; /* index into abbreviations */
};

struct zone {
    const char *name;
    size_t count;           /* changes */
    const int64_t *times;   /* ascending seconds of UTC */
    const uint8_t *indices; /* type from that time on */
    const struct zone_type *types;
    const char *abbreviations;
    bool ruled; /* the rule is in force from the last change on (for ever, when there is none) */
    struct tz_rule rule;
};

static const struct zone_type utc_type = {0, 0};
static const struct zone utc = {.name = "UTC", .types = &utc_type, .abbreviations = "UTC"};

const struct zone *zone_utc(void)
{
    return &utc;
}

const char *zone_name(const struct zone *zone)
{
    return zone->name;
}

/* ---- reading a file -----------------------------------------------------------------------------------------------
 */

struct header {
    int version;
    size_t isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt;
};

struct reader {
    const unsigned char *at, *end;
};

static int64_t big_endian(const unsigned char *p, size_t width)
{
    uint64_t value = p[0] & 0x80 ? ~UINT64_C(0) : 0;
    for (size_t i = 0; i < width; i++)
        value = value << 8 | p[i];
    return (int64_t)value;
}

static const unsigned char *take(struct reader *reader, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) < bytes)
        return NULL;
    const unsigned char *p = reader->at;
    reader->at += bytes;
    return p;
}

static const char *take_header(struct reader *reader, struct header *ret)
{
    const unsigned char *p = take(reader, 44);
    if (!p || memcmp(p, "TZif", 4) != 0)
        return "it is no TZif file";
    ret->version = p[4] == 0 ? 1 : p[4] >= '2' && p[4] <= '9' ? p[4] - '0' : 0;
    if (!ret->version)
        return "its version is unknown";
    size_t *counts[] = {&ret->isutcnt, &ret->isstdcnt, &ret->leapcnt, &ret->timecnt, &ret->typecnt, &ret->charcnt};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int64_t value = big_endian(p + 20 + i * 4, 4);
        if (value < 0 || value > (int64_t)FILE_MAX)
            return "a count in its header is too big";
        *counts[i] = (size_t)value;
    }
    return NULL;
}

static size_t block_size(const struct header *h, size_t width)
{
    return h->timecnt * (width + 1) + h->typecnt * 6 + h->charcnt + h->leapcnt * (width + 4) + h->isstdcnt + h->isutcnt;
}

struct draft {
    int64_t times[TRANSITIONS_MAX];
    uint8_t indices[TRANSITIONS_MAX];
    struct zone_type types[TYPES_MAX + 2]; /* two more for the rule */
    char abbreviations[ABBREVIATIONS_MAX + 2 * TZ_NAME_SIZE];
    size_t count, type_count, abbreviation_size;
    bool ruled;
    struct tz_rule rule;
};

static const char *read_times(struct draft *draft, const unsigned char *times, const unsigned char *indices,
                              const struct header *h, size_t width)
{
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < h->timecnt; i++) {
        int64_t t = big_endian(times + i * width, width);
        if (i && t <= before)
            return "its changes are not in order";
        if (indices[i] >= h->typecnt)
            return "a change names a type that does not exist";
        before = t;
        draft->times[i] = t < -SECOND_LIMIT ? -SECOND_LIMIT : t > SECOND_LIMIT ? SECOND_LIMIT : t;
        draft->indices[i] = indices[i];
    }
    draft->count = h->timecnt;
    return NULL;
}

static const char *read_types(struct draft *draft, const unsigned char *types, const unsigned char *chars,
                              const struct header *h)
{
    memcpy(draft->abbreviations, chars, h->charcnt);
    draft->abbreviations[h->charcnt] = '\0';
    draft->abbreviation_size = h->charcnt + 1;
    for (size_t i = 0; i < h->typecnt; i++) {
        int64_t offset = big_endian(types + i * 6, 4);
        if (offset < -TZ_OFFSET_MAX || offset > TZ_OFFSET_MAX)
            return "an offset is beyond 26 hours";
        if (types[i * 6 + 5] >= h->charcnt)
            return "an abbreviation lies outside of its table";
        draft->types[i] = (struct zone_type){(int32_t)offset, types[i * 6 + 5]};
    }
    draft->type_count = h->typecnt;
    return NULL;
}

static const char *read_block(struct reader *reader, const struct header *h, size_t width, struct draft *draft)
{
    if (h->timecnt > TRANSITIONS_MAX - 300 || h->typecnt > TYPES_MAX || h->charcnt > ABBREVIATIONS_MAX - 1)
        return "it has too many changes, types or abbreviations";
    if (h->typecnt == 0 || h->charcnt == 0)
        return "it has no type";
    if (h->leapcnt)
        return "it counts leap seconds (a zone of `right/`): take the one without that prefix";
    const unsigned char *p = take(reader, block_size(h, width));
    if (!p)
        return "it ends too early";
    const unsigned char *indices = p + h->timecnt * width;
    const unsigned char *types = indices + h->timecnt;
    const char *fault = read_times(draft, p, indices, h, width);
    return fault ? fault : read_types(draft, types, types + h->typecnt * 6, h);
}

static const char *read_footer(struct reader *reader, struct draft *draft)
{
    char text[128];
    const unsigned char *newline = take(reader, 1);
    if (!newline || *newline != '\n')
        return "its footer is missing";
    const unsigned char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    if (!end)
        return "its footer has no end";
    size_t length = (size_t)(end - reader->at);
    if (length == 0)
        return NULL; /* nothing is known beyond the table: its last type goes on */
    if (length >= sizeof text || memchr(reader->at, '\0', length))
        return "its footer is no POSIX TZ string";
    memcpy(text, reader->at, length);
    text[length] = '\0';
    if (tz_rule_parse(text, &draft->rule) != STATUS_OK)
        return "its footer is no POSIX TZ string";
    draft->ruled = true;
    return NULL;
}

static uint8_t add_type(struct draft *draft, int32_t offset, const char *abbreviation)
{
    size_t length = strlen(abbreviation) + 1;
    memcpy(draft->abbreviations + draft->abbreviation_size, abbreviation, length);
    draft->types[draft->type_count] = (struct zone_type){offset, (uint16_t)draft->abbreviation_size};
    draft->abbreviation_size += length;
    return (uint8_t)draft->type_count++;
}

/* Changes of the rule for this century join the table, so that looking up stays one binary search. */
static void expand(struct draft *draft)
{
    if (!draft->ruled || !draft->rule.changes || !draft->count || draft->type_count > TYPES_MAX - 2)
        return;
    uint8_t standard = add_type(draft, draft->rule.standard, draft->rule.standard_name);
    uint8_t summer = add_type(draft, draft->rule.summer, draft->rule.summer_name);
    int64_t last = draft->times[draft->count - 1];
    while (draft->count < TRANSITIONS_MAX && last < EXPAND_UNTIL) {
        struct tz_stretch stretch = tz_rule_at(&draft->rule, last);
        if (stretch.until == INT64_MAX)
            break;
        last = stretch.until;
        draft->times[draft->count] = last;
        draft->indices[draft->count++] = tz_rule_at(&draft->rule, last).summer ? summer : standard;
    }
}

static struct zone *build(const char *name, const struct draft *draft)
{
    size_t times = draft->count * sizeof *draft->times, types = draft->type_count * sizeof *draft->types;
    size_t name_size = strlen(name) + 1;
    char *bytes = malloc(sizeof(struct zone) + times + types + draft->count + draft->abbreviation_size + name_size);
    if (!bytes)
        return NULL;
    struct zone *zone = (struct zone *)(void *)bytes;
    bytes += sizeof *zone;
    int64_t *own_times = (int64_t *)(void *)bytes;
    memcpy(own_times, draft->times, times);
    struct zone_type *own_types = (struct zone_type *)(void *)(bytes += times);
    memcpy(own_types, draft->types, types);
    uint8_t *own_indices = (uint8_t *)(bytes += types);
    memcpy(own_indices, draft->indices, draft->count);
    char *own_abbreviations = bytes += draft->count;
    memcpy(own_abbreviations, draft->abbreviations, draft->abbreviation_size);
    char *own_name = bytes + draft->abbreviation_size;
    memcpy(own_name, name, name_size);
    *zone = (struct zone){.name = own_name,
                          .count = draft->count,
                          .times = own_times,
                          .indices = own_indices,
                          .types = own_types,
                          .abbreviations = own_abbreviations,
                          .ruled = draft->ruled,
                          .rule = draft->rule};
    return zone;
}

static const char *read_file(const void *bytes, size_t length, struct draft *draft)
{
    struct reader reader = {bytes, (const unsigned char *)bytes + length};
    struct header h;
    if (length > FILE_MAX)
        return "it is too big";
    const char *fault = take_header(&reader, &h);
    if (fault || h.version == 1)
        return fault ? fault : read_block(&reader, &h, 4, draft);
    if (!take(&reader, block_size(&h, 4))) /* 32-bit data for old readers; the 64-bit block follows */
        return "it ends too early";
    fault = take_header(&reader, &h);
    if (!fault)
        fault = read_block(&reader, &h, 8, draft);
    if (!fault)
        fault = read_footer(&reader, draft);
    return fault;
}

enum status zone_parse(const char *name, const void *bytes, size_t length, struct zone **ret, struct error *err)
{
    if (strlen(name) > NAME_MAX_BYTES)
        return error_set(err, STATUS_INVALID, "time zone: the name is longer than %d bytes", NAME_MAX_BYTES);
    struct draft *draft = calloc(1, sizeof *draft);
    if (!draft)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    const char *fault = read_file(bytes, length, draft);
    struct zone *zone = NULL;
    if (!fault) {
        expand(draft);
        zone = build(name, draft);
    }
    free(draft);
    if (fault)
        return error_set(err, STATUS_INVALID, "time zone %s cannot be read: %s", name, fault);
    if (!zone)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    *ret = zone;
    return STATUS_OK;
}

void zone_free(struct zone *zone)
{
    free(zone);
}

/* ---- asking -------------------------------------------------------------------------------------------------------
 */

/* Number of changes at or before the second. */
static size_t changes_until(const struct zone *zone, int64_t second)
{
    const int64_t *base = zone->times;
    size_t length = zone->count;
    while (length > 1) { /* branch-free halves: about ten steps of a few nanoseconds */
        size_t half = length / 2;
        base = base[half - 1] <= second ? base + half : base;
        length -= half;
    }
    return (size_t)(base - zone->times) + (length && *base <= second);
}

static const struct zone_type *type_of(const struct zone *zone, size_t changes)
{
    return &zone->types[changes ? zone->indices[changes - 1] : 0];
}

/* Seconds that a rule can be asked about; outside of them the last known offset goes on. */
static int64_t within_reach(int64_t second)
{
    return second < -SECOND_LIMIT ? -SECOND_LIMIT : second > SECOND_LIMIT ? SECOND_LIMIT : second;
}

static struct zone_segment ruled_segment(const struct zone *zone, int64_t second)
{
    struct zone_segment s = {zone->count ? zone->times[zone->count - 1] : SEGMENT_FIRST, SEGMENT_LAST,
                             zone->rule.standard};
    if (!zone->rule.changes)
        return s;
    struct tz_stretch stretch = tz_rule_at(&zone->rule, second);
    if (stretch.from > s.from)
        s.from = stretch.from;
    s.until = stretch.until > SECOND_LIMIT ? SEGMENT_LAST : stretch.until;
    if (stretch.summer)
        s.offset = zone->rule.summer;
    return s;
}

struct zone_segment zone_segment_at(const struct zone *zone, int64_t second)
{
    second = within_reach(second);
    size_t n = changes_until(zone, second);
    if (n == zone->count && zone->ruled)
        return ruled_segment(zone, second);
    return (struct zone_segment){n ? zone->times[n - 1] : SEGMENT_FIRST,
                                 n < zone->count ? zone->times[n] : SEGMENT_LAST, type_of(zone, n)->offset};
}

int32_t zone_offset(const struct zone *zone, instant at)
{
    int64_t second = within_reach(floor_div(at.ms, 1000));
    size_t n = changes_until(zone, second);
    if (n == zone->count && zone->ruled)
        return ruled_segment(zone, second).offset;
    return type_of(zone, n)->offset;
}

const char *zone_abbreviation(const struct zone *zone, instant at)
{
    int64_t second = within_reach(floor_div(at.ms, 1000));
    size_t n = changes_until(zone, second);
    if (n == zone->count && zone->ruled)
        return zone->rule.changes && tz_rule_at(&zone->rule, second).summer ? zone->rule.summer_name
                                                                            : zone->rule.standard_name;
    return zone->abbreviations + type_of(zone, n)->abbreviation;
}

struct civil_time zone_local(const struct zone *zone, instant at)
{
    return civil_from_instant(instant_add(at, (span)zone_offset(zone, at) * SPAN_SECOND));
}

/* Every solution of t + offset(t) = local lies within 26 hours of it: walk the segments there. */
struct local_instants zone_instants(const struct zone *zone, struct civil_time local)
{
    instant wall = civil_to_instant(local);
    int64_t second = floor_div(wall.ms, 1000), rest = wall.ms - second * 1000;
    int64_t t = second - TZ_OFFSET_MAX, end = second + TZ_OFFSET_MAX, gap = 0, found[2];
    size_t count = 0;
    bool missing = false;
    for (struct zone_segment s = zone_segment_at(zone, t);;) {
        int64_t candidate = second - s.offset;
        if (candidate >= t && candidate < s.until) {
            found[count ? 1 : 0] = candidate;
            count++;
        }
        if (s.until > end)
            break;
        struct zone_segment next = zone_segment_at(zone, s.until);
        if (!missing && s.until + s.offset <= second && second < s.until + next.offset) {
            missing = true;
            gap = s.until;
        }
        t = s.until;
        s = next;
    }
    if (count == 0)
        return (struct local_instants){LOCAL_GAP, {gap * 1000}, {gap * 1000}};
    instant first = {found[0] * 1000 + rest};
    if (count == 1)
        return (struct local_instants){LOCAL_ONCE, first, first};
    return (struct local_instants){LOCAL_TWICE, first, {found[1] * 1000 + rest}};
}

/* A rule whose summer never ends has stretches, but no changes: 400 years of them prove it. */
instant zone_next_transition(const struct zone *zone, instant at)
{
    struct zone_segment s = zone_segment_at(zone, floor_div(at.ms, 1000));
    for (int steps = 0; s.until != SEGMENT_LAST && steps < TRANSITIONS_MAX + 800; steps++) {
        struct zone_segment next = zone_segment_at(zone, s.until);
        if (next.offset != s.offset)
            return (instant){s.until * 1000};
        s = next;
    }
    return INSTANT_MAX;
}
