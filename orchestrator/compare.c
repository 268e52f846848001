/* Two documents side by side: the fingerprint that tells equal ones, and the difference for a dry run. */
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "core/base/mem.h"
#include "orchestrator/check.h"

/* Where a value stands: `paused` of a trigger is read at creation only, so it is left out. */
enum position { AT_ROOT, AT_SPEC, AT_TRIGGERS, AT_TRIGGER, ELSEWHERE };

struct member {
    struct slice key, value;
    enum position at;
};

static int by_key(const void *a, const void *b)
{
    const struct slice *x = &((const struct member *)a)->key, *y = &((const struct member *)b)->key;
    int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static enum position position_below(enum position at, const struct json_walk *walk)
{
    if (at == AT_ROOT && walk->object && json_string_equals(walk->key, "spec"))
        return AT_SPEC;
    if (at == AT_SPEC && walk->object && json_string_equals(walk->key, "triggers"))
        return AT_TRIGGERS;
    return at == AT_TRIGGERS && !walk->object ? AT_TRIGGER : ELSEWHERE;
}

/* Keys sorted, no white space. */
static void canonical(struct slice value, enum position at, struct str *ret)
{
    enum json_type type = json_type_of(value);
    if (type != JSON_OBJECT && type != JSON_ARRAY) {
        json_compact(value, ret);
        return;
    }
    size_t n = json_count(value), i = 0;
    struct member *members = mem_alloc((n + 1) * sizeof *members);
    for (struct json_walk walk = json_walk_begin(value); json_walk_next(&walk);)
        if (at != AT_TRIGGER || !json_string_equals(walk.key, "paused"))
            members[i++] = (struct member){walk.key, walk.value, position_below(at, &walk)};
    if (type == JSON_OBJECT && i > 1)
        qsort(members, i, sizeof *members, by_key);
    str_add_char(ret, type == JSON_OBJECT ? '{' : '[');
    for (size_t k = 0; k < i; k++) {
        if (k)
            str_add_char(ret, ',');
        if (type == JSON_OBJECT) {
            str_add_bytes(ret, members[k].key.bytes, members[k].key.length);
            str_add_char(ret, ':');
        }
        canonical(members[k].value, members[k].at, ret); // NOLINT(misc-no-recursion): as deep as LIMIT_JSON_DEPTH
    }
    str_add_char(ret, type == JSON_OBJECT ? '}' : ']');
    free(members);
}

void document_fingerprint(const char *json, char ret[65])
{
    struct str text;
    str_init(&text, 4 * LIMIT_DOCUMENT);
    canonical(slice_of(json, strlen(json)), AT_ROOT, &text);
    crypto_sha256_hex(str_text(&text), text.length, ret);
    str_release(&text);
}

/* ---- difference ---- */

struct difference {
    struct out out;
    struct str path;
    bool lines; /* for people */
};

#define SHOWN 200 /* bytes of a value in a line for people */

static void add_shown(struct slice value, struct str *line)
{
    struct str text;
    str_init(&text, 4 * LIMIT_DOCUMENT);
    json_compact(value, &text);
    size_t length = text.length;
    if (length > SHOWN)
        for (length = SHOWN; length && ((unsigned char)str_text(&text)[length] & 0xc0) == 0x80; length--)
            ;
    str_add_bytes(line, str_text(&text), length);
    if (length < text.length)
        str_add(line, "…");
    str_release(&text);
}

static void tell_line(struct difference *d, const char *sign, struct slice before, struct slice after)
{
    struct str line;
    str_init(&line, 4096);
    str_addf(&line, "%s %.500s", sign, d->path.length ? str_text(&d->path) : "document");
    if (before.length || after.length)
        str_add(&line, ": ");
    if (before.length)
        add_shown(before, &line);
    if (before.length && after.length)
        str_add(&line, " → ");
    if (after.length)
        add_shown(after, &line);
    out_text(&d->out, NULL, str_text(&line));
    str_release(&line);
}

static void tell(struct difference *d, const char *op, struct slice before, struct slice after)
{
    if (d->lines) {
        tell_line(d, *op == 'a' ? "+" : *op == 'r' && !after.length ? "-" : "~", before, after);
        return;
    }
    out_open(&d->out, NULL, '{');
    out_text(&d->out, "path", str_text(&d->path));
    out_text(&d->out, "op", op);
    if (before.length) {
        out_key(&d->out, "before");
        json_compact(before, d->out.to);
    }
    if (after.length) {
        out_key(&d->out, "after");
        json_compact(after, d->out.to);
    }
    out_close(&d->out, '}');
}

static void cut(struct str *s, size_t length)
{
    s->length = length;
    if (s->data)
        s->data[length] = '\0';
}

static void step_into(struct difference *d, struct slice key, size_t index)
{
    if (!key.length) {
        str_addf(&d->path, "[%zu]", index);
        return;
    }
    if (d->path.length)
        str_add_char(&d->path, '.');
    json_unquote(key, &d->path);
}

static bool same_text(struct slice a, struct slice b)
{
    struct str x, y;
    str_init(&x, 4 * LIMIT_DOCUMENT);
    str_init(&y, 4 * LIMIT_DOCUMENT);
    json_compact(a, &x);
    json_compact(b, &y);
    bool same = x.length == y.length && !memcmp(str_text(&x), str_text(&y), x.length);
    str_release(&x);
    str_release(&y);
    return same;
}

/* Value of a member by its key as written (with quotes, perhaps escapes). */
static struct slice member_of(struct slice object, struct slice key)
{
    struct str name;
    str_init(&name, LIMIT_DOCUMENT);
    json_unquote(key, &name);
    struct slice value = json_member(object, str_text(&name));
    str_release(&name);
    return value;
}

static void compare(struct difference *d, struct slice before, struct slice after)
{
    enum json_type type = json_type_of(before);
    size_t length = d->path.length, index = 0;
    struct slice none = slice_of("", 0);
    if (type != json_type_of(after) || (type != JSON_OBJECT && type != JSON_ARRAY)) {
        if (!same_text(before, after))
            tell(d, "replace", before, after);
        return;
    }
    for (struct json_walk walk = json_walk_begin(before); json_walk_next(&walk); index++, cut(&d->path, length)) {
        struct slice now = walk.object ? member_of(after, walk.key) : json_element(after, index);
        step_into(d, walk.key, index);
        if (now.length)
            compare(d, walk.value, now); // NOLINT(misc-no-recursion): as deep as LIMIT_JSON_DEPTH
        else
            tell(d, "remove", walk.value, none);
    }
    index = 0;
    for (struct json_walk walk = json_walk_begin(after); json_walk_next(&walk); index++, cut(&d->path, length)) {
        struct slice earlier = walk.object ? member_of(before, walk.key) : json_element(before, index);
        step_into(d, walk.key, index);
        if (!earlier.length)
            tell(d, "add", none, walk.value);
    }
}

static void write_difference(const char *before, const char *after, bool lines, struct str *ret)
{
    struct difference d = {.out = out_to(ret), .lines = lines};
    str_init(&d.path, 64 << 10);
    out_open(&d.out, NULL, '[');
    if (before)
        compare(&d, slice_of(before, strlen(before)), slice_of(after, strlen(after)));
    else
        tell(&d, "add", slice_of("", 0), slice_of(after, strlen(after)));
    out_close(&d.out, ']');
    str_release(&d.path);
}

void document_changes(const char *before, const char *after, struct str *ret)
{
    write_difference(before, after, false, ret);
}

void document_diff(const char *before, const char *after, struct str *ret)
{
    write_difference(before, after, true, ret);
}
