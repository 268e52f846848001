#include "core/model/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/civil.h"
#include "core/base/duration.h"
#include "core/model/hint.h"

_Static_assert(sizeof(enum routing) == sizeof(unsigned), "read_choice stores enums as unsigned");

/* ---- places and faults --------------------------------------------------------------------------------------------
 */

const char *place_text(const struct place *place, char buffer[FAULT_PATH_MAX])
{
    const struct place *chain[LIMIT_JSON_DEPTH + 2];
    size_t depth = 0, used = 0;
    buffer[0] = '\0';
    for (; place && depth < sizeof chain / sizeof *chain; place = place->up)
        chain[depth++] = place;
    while (depth-- && used < FAULT_PATH_MAX) {
        const struct place *p = chain[depth];
        int more = p->name ? snprintf(buffer + used, FAULT_PATH_MAX - used, "%s%s", used ? "." : "", p->name)
                           : snprintf(buffer + used, FAULT_PATH_MAX - used, "[%zu]", p->index);
        used += (size_t)more;
    }
    return buffer;
}

const struct place *place_keep(struct reader *reader, const struct place *place)
{
    const struct place *kept = NULL;
    const struct place **link = &kept;
    for (; place; place = place->up) {
        struct place *copy = take_memory(reader, sizeof *copy);
        if (!copy)
            return NULL;
        *copy = (struct place){NULL, place->name, place->index};
        *link = copy;
        link = &copy->up;
    }
    return kept;
}

void read_fault(struct reader *reader, const struct place *place, const char *format, ...)
{
    char path[FAULT_PATH_MAX], text[FAULT_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    faults_add(reader->faults, place_text(place, path), "%s", text);
}

void *take_memory(struct reader *reader, size_t size)
{
    void *memory = arena_alloc(reader->arena, size);
    if (!memory)
        reader->no_memory = true;
    return memory;
}

/* ---- objects ------------------------------------------------------------------------------------------------------
 */

static const char *type_text(struct slice value)
{
    static const char *const texts[] = {
        [JSON_NONE] = "nothing",    [JSON_NULL] = "null",     [JSON_FALSE] = "false",  [JSON_TRUE] = "true",
        [JSON_NUMBER] = "a number", [JSON_STRING] = "a text", [JSON_ARRAY] = "a list", [JSON_OBJECT] = "an object",
    };
    return texts[json_type_of(value)];
}

/* Unescaped text of a string slice in the arena; NULL when out of memory. */
static char *unquote(struct reader *reader, struct slice value)
{
    struct str text;
    str_init(&text, value.length);
    json_unquote(value, &text);
    char *copy = str_status(&text) ? NULL : arena_copy(reader->arena, str_text(&text), text.length);
    str_release(&text);
    if (!copy)
        reader->no_memory = true;
    return copy;
}

static void unknown_member(struct reader *reader, const struct place *place, struct slice key,
                           const struct field *fields, size_t count)
{
    const char *name = unquote(reader, key);
    if (!name)
        return;
    struct hint hint = hint_begin(name);
    for (size_t i = 0; i < count; i++)
        hint_offer(&hint, fields[i].name);
    if (hint.near)
        read_fault(reader, place, "unknown member \"%.100s\"; did you mean \"%s\"?", name, hint.near);
    else
        read_fault(reader, place, "unknown member \"%.100s\"", name);
}

uint64_t read_object(struct reader *reader, const struct place *place, struct slice value, const struct field *fields,
                     size_t count, void *target)
{
    uint64_t seen = 0;
    if (json_type_of(value) != JSON_OBJECT) {
        read_fault(reader, place, "an object is expected, not %s", type_text(value));
        return 0;
    }
    struct json_walk walk = json_walk_begin(value);
    while (json_walk_next(&walk)) {
        size_t i = 0;
        while (i < count && !json_string_equals(walk.key, fields[i].name))
            i++;
        if (i == count) {
            unknown_member(reader, place, walk.key, fields, count);
            continue;
        }
        if (json_type_of(walk.value) == JSON_NULL)
            continue;
        seen |= FIELD_BIT(i);
        fields[i].read(reader, PLACE_MEMBER(place, fields[i].name), walk.value, (char *)target + fields[i].offset,
                       &fields[i]);
    }
    return seen;
}

/* ---- texts --------------------------------------------------------------------------------------------------------
 */

const char *take_text(struct reader *reader, const struct place *place, struct slice value)
{
    if (json_type_of(value) != JSON_STRING) {
        read_fault(reader, place, "a text is expected, not %s", type_text(value));
        return NULL;
    }
    return unquote(reader, value);
}

bool line_valid(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static const char *sized_text(struct reader *reader, const struct place *place, struct slice value,
                              const struct field *field)
{
    size_t maximum = field->high ? (size_t)field->high : READ_TEXT_MAX;
    const char *text = take_text(reader, place, value);
    if (!text)
        return NULL;
    if (strlen(text) > maximum) {
        read_fault(reader, place, "too long: %zu bytes, at most %zu are allowed", strlen(text), maximum);
        return NULL;
    }
    return text;
}

void read_text(struct reader *reader, const struct place *place, struct slice value, void *target,
               const struct field *field)
{
    const char *text = sized_text(reader, place, value, field);
    if (text)
        *(const char **)target = text;
}

void read_line(struct reader *reader, const struct place *place, struct slice value, void *target,
               const struct field *field)
{
    const char *text = sized_text(reader, place, value, field);
    if (!text)
        return;
    if (!*text)
        read_fault(reader, place, "may not be empty");
    else if (!line_valid(text))
        read_fault(reader, place, "may not hold control characters");
    else
        *(const char **)target = text;
}

void read_name(struct reader *reader, const struct place *place, struct slice value, void *target,
               const struct field *field)
{
    const char *text = take_text(reader, place, value);
    (void)field;
    if (!text)
        return;
    if (name_valid(text))
        *(const char **)target = text;
    else
        read_fault(reader, place,
                   "\"%.140s\" is no name; a name has 1 to %d characters of a-z, 0-9, '.', '_' and '-', and begins and "
                   "ends with a letter or digit",
                   text, LIMIT_NAME);
}

/* 1…65535 without leading zeros. */
static bool port_valid(const char *text)
{
    long port = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || port > 65535)
            return false;
        port = port * 10 + (*p - '0');
    }
    return port >= 1 && port <= 65535 && text[0] != '0';
}

static bool host_character(char c, bool ipv6)
{
    bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (hex || c == '.')
        return true;
    return ipv6 ? c == ':' : (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') || c == '-' || c == '_';
}

bool address_valid(const char *address)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || strlen(address) > 255 || !port_valid(colon + 1))
        return false;
    bool bracket = address[0] == '[';
    if (bracket && (colon[-1] != ']' || colon - address < 4))
        return false;
    const char *end = bracket ? colon - 1 : colon;
    for (const char *p = address + bracket; p < end; p++)
        if (!host_character(*p, bracket))
            return false;
    return true;
}

void read_address(struct reader *reader, const struct place *place, struct slice value, void *target,
                  const struct field *field)
{
    const char *text = take_text(reader, place, value);
    (void)field;
    if (!text)
        return;
    if (address_valid(text))
        *(const char **)target = text;
    else
        read_fault(reader, place,
                   "\"%.100s\" is not host:port; write 10.0.0.7:9001, ledger.svc:9000 or [2001:db8::7]:9001", text);
}

/* ---- numbers, times, choices --------------------------------------------------------------------------------------
 */

void read_bool(struct reader *reader, const struct place *place, struct slice value, void *target,
               const struct field *field)
{
    enum json_type type = json_type_of(value);
    (void)field;
    if (type == JSON_TRUE || type == JSON_FALSE)
        *(bool *)target = type == JSON_TRUE;
    else
        read_fault(reader, place, "true or false is expected, not %s", type_text(value));
}

void read_int64(struct reader *reader, const struct place *place, struct slice value, void *target,
                const struct field *field)
{
    int64_t number;
    if (json_type_of(value) != JSON_NUMBER)
        read_fault(reader, place, "a whole number is expected, not %s", type_text(value));
    else if (!json_int64(value, &number) || number < field->low || number > field->high)
        read_fault(reader, place, "%.*s is out of range; a whole number from %lld to %lld is expected",
                   value.length < 40 ? (int)value.length : 40, value.bytes, (long long)field->low,
                   (long long)field->high);
    else
        *(int64_t *)target = number;
}

void read_int(struct reader *reader, const struct place *place, struct slice value, void *target,
              const struct field *field)
{
    int64_t number = *(const int *)target;
    read_int64(reader, place, value, &number, field);
    *(int *)target = (int)number;
}

/* A decimal number without exponent, 0…1. */
static bool parse_fraction(struct slice value, double *ret)
{
    double sum = 0, scale = 1;
    bool point = false;
    for (size_t i = 0; i < value.length; i++) {
        char c = value.bytes[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || i > 18)
            return false;
        if (point)
            scale /= 10;
        sum = point ? sum + scale * (c - '0') : sum * 10 + (c - '0');
    }
    *ret = sum;
    return sum <= 1;
}

void read_fraction(struct reader *reader, const struct place *place, struct slice value, void *target,
                   const struct field *field)
{
    double number;
    (void)field;
    if (json_type_of(value) == JSON_NUMBER && parse_fraction(value, &number))
        *(double *)target = number;
    else
        read_fault(reader, place, "a number from 0 to 1 such as 0.2 is expected");
}

void read_span(struct reader *reader, const struct place *place, struct slice value, void *target,
               const struct field *field)
{
    char low[DURATION_SIZE], high[DURATION_SIZE];
    struct error err = {.code = STATUS_OK};
    span length = 0;
    if (json_type_of(value) != JSON_STRING) {
        read_fault(reader, place, "a duration with its unit is expected, such as \"90s\" or \"10m\", not %s",
                   type_text(value));
        return;
    }
    const char *text = unquote(reader, value);
    if (!text)
        return;
    if (duration_parse(text, &length, &err))
        read_fault(reader, place, "%s", err.text);
    else if (length < field->low || length > field->high)
        read_fault(reader, place, "\"%.40s\" is out of range; %s to %s are allowed", text,
                   duration_format(field->low, low), duration_format(field->high, high));
    else
        *(span *)target = length;
}

void read_instant(struct reader *reader, const struct place *place, struct slice value, void *target,
                  const struct field *field)
{
    static const struct civil_time first = {.date = {1, 1, 1}}, last = {.date = {9999, 12, 31}};
    struct error err = {.code = STATUS_OK};
    instant at;
    const char *text = take_text(reader, place, value);
    (void)field;
    if (!text)
        return;
    if (rfc3339_parse(text, &at, &err))
        read_fault(reader, place, "%s", err.text);
    else if (at.ms < civil_to_instant(first).ms || at.ms >= civil_to_instant(last).ms)
        read_fault(reader, place, "\"%.40s\" is out of range; the years 1 to 9999 are allowed", text);
    else
        *(instant *)target = at;
}

void read_choice(struct reader *reader, const struct place *place, struct slice value, void *target,
                 const struct field *field)
{
    const char *text = take_text(reader, place, value);
    if (!text)
        return;
    struct hint hint = hint_begin(text);
    struct str all;
    for (const struct choice *c = field->choices; c->text; c++) {
        hint_offer(&hint, c->text);
        if (!strcmp(c->text, text)) {
            *(unsigned *)target = (unsigned)c->value;
            return;
        }
    }
    str_init(&all, 200);
    for (const struct choice *c = field->choices; c->text; c++)
        str_addf(&all, "%s%s", all.length ? ", " : "", c->text);
    read_fault(reader, place, "\"%.60s\" is none of %s%s%s%s", text, field->shown ? field->shown : str_text(&all),
               hint.near ? "; did you mean \"" : "", hint.near ? hint.near : "", hint.near ? "\"?" : "");
    str_release(&all);
}

/* ---- carried JSON -------------------------------------------------------------------------------------------------
 */

void read_json(struct reader *reader, const struct place *place, struct slice value, void *target,
               const struct field *field)
{
    size_t maximum = field->high ? (size_t)field->high : LIMIT_PARAMS;
    if (value.length > maximum) {
        read_fault(reader, place, "too big: %zu bytes, at most %zu are allowed", value.length, maximum);
        return;
    }
    char *copy = arena_copy(reader->arena, value.bytes, value.length);
    if (copy)
        *(const char **)target = copy;
    else
        reader->no_memory = true;
}

void read_json_object(struct reader *reader, const struct place *place, struct slice value, void *target,
                      const struct field *field)
{
    if (json_type_of(value) == JSON_OBJECT)
        read_json(reader, place, value, target, field);
    else
        read_fault(reader, place, "an object is expected, not %s", type_text(value));
}

void read_raw(struct reader *reader, const struct place *place, struct slice value, void *target,
              const struct field *field)
{
    (void)reader;
    (void)place;
    (void)field;
    *(struct slice *)target = value;
}

/* ---- lists --------------------------------------------------------------------------------------------------------
 */

bool take_list(struct reader *reader, const struct place *place, struct slice value, size_t maximum, bool single,
               size_t *ret_count)
{
    enum json_type type = json_type_of(value);
    if (type != JSON_ARRAY) {
        *ret_count = 1;
        if (!single)
            read_fault(reader, place, "a list is expected, not %s", type_text(value));
        return single;
    }
    *ret_count = json_count(value);
    if (*ret_count > maximum)
        read_fault(reader, place, "too many: %zu, at most %zu are allowed", *ret_count, maximum);
    return *ret_count <= maximum;
}

struct slice list_element(struct slice list, struct json_walk *walk, bool first)
{
    if (json_type_of(list) != JSON_ARRAY)
        return list;
    if (first)
        *walk = json_walk_begin(list);
    return json_walk_next(walk) ? walk->value : slice_of(NULL, 0);
}
