/* What a task and a step say about a call: method, headers, query, timeouts, when it counts as a success. */
#include <stdio.h>
#include <string.h>

#include "core/model/document_parts.h"

/* clang-format off */
const struct choice call_methods[] = {{"GET", 0},   {"POST", 1},   {"PUT", 2}, {"PATCH", 3}, {"DELETE", 4}, {"HEAD", 5}, {NULL, 0}};
const struct choice call_repeats[] = {{"same_instance", REPEAT_SAME_INSTANCE}, {"anywhere", REPEAT_ANYWHERE}, {"never", REPEAT_NEVER}, {NULL, 0}};
static const struct choice backoffs[] = {{"fixed", BACKOFF_FIXED}, {"exponential", BACKOFF_EXPONENTIAL}, {NULL, 0}};
/* clang-format on */

void read_choice_text(struct reader *reader, const struct place *place, struct slice value, void *target,
                      const struct field *field)
{
    unsigned found = UINT32_MAX;
    read_choice(reader, place, value, &found, field);
    if (found != UINT32_MAX)
        *(const char **)target = field->choices[found].text;
}

/* ---- pairs and headers --------------------------------------------------------------------------------------------
 */

static bool pair_read(struct reader *reader, const struct place *place, const struct json_walk *walk,
                      struct name_value *ret)
{
    enum json_type type = json_type_of(walk->value);
    struct str text;
    str_init(&text, READ_TEXT_MAX);
    json_unquote(walk->value, &text);
    if (type == JSON_ARRAY || type == JSON_OBJECT || type == JSON_NULL)
        read_fault(reader, place, "a text is expected");
    else if (text.failed)
        read_fault(reader, place, "too long: at most %d bytes are allowed", READ_TEXT_MAX);
    else if (!line_valid(str_text(&text)))
        read_fault(reader, place, "may not hold control characters");
    else if (!(ret->value = arena_text(reader->arena, str_text(&text))))
        reader->no_memory = true;
    str_release(&text);
    return ret->value;
}

void read_pairs(struct reader *reader, const struct place *place, struct slice value, void *target,
                const struct field *field)
{
    struct name_values *pairs = target;
    size_t count = json_count(value);
    if (json_type_of(value) != JSON_OBJECT) {
        read_fault(reader, place, "an object of texts is expected");
        return;
    }
    if (count > (size_t)field->high) {
        read_fault(reader, place, "too many: %zu, at most %lld are allowed", count, (long long)field->high);
        return;
    }
    pairs->items = take_array(reader, struct name_value, count);
    struct json_walk walk = json_walk_begin(value);
    while (pairs->items && json_walk_next(&walk)) {
        struct name_value *pair = &pairs->items[pairs->count];
        pair->name = take_text(reader, place, walk.key);
        if (!pair->name)
            return;
        const struct place *here = PLACE_MEMBER(place, pair->name);
        if (!*pair->name || strlen(pair->name) > LIMIT_NAME || !line_valid(pair->name))
            read_fault(reader, place, "a name must have 1 to %d bytes and no control characters", LIMIT_NAME);
        else if (pair_read(reader, here, &walk, pair))
            pairs->count++;
    }
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool same_name(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (lower(a[i]) != lower(b[i]) || !a[i])
            return !a[i] && !b[i];
    return true;
}

static bool header_token(const char *name)
{
    for (; *name; name++)
        if (!(lower(*name) >= 'a' && lower(*name) <= 'z') && !(*name >= '0' && *name <= '9') &&
            !strchr("!#$%&'*+-.^_`|~", *name))
            return false;
    return true;
}

/* Ours or the transport's; a '-' at the end stands for all names that begin so. */
static bool header_reserved(const char *name)
{
    static const char *const reserved[] = {
        "Idempotency-Key", "X-Carillon-", "Webhook-", "traceparent", "Host",    "Content-Length", "Transfer-Encoding",
        "Connection",      "Keep-Alive",  "Upgrade",  "TE",          "Trailer", "Expect",
    };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        size_t length = strlen(reserved[i]);
        bool prefix = reserved[i][length - 1] == '-';
        if (same_name(reserved[i], name, prefix ? length : length + 1))
            return true;
    }
    return false;
}

void read_headers(struct reader *reader, const struct place *place, struct slice value, void *target,
                  const struct field *field)
{
    struct name_values *headers = target;
    read_pairs(reader, place, value, target, field);
    for (size_t i = 0; i < headers->count; i++) {
        const char *name = headers->items[i].name;
        if (!header_token(name))
            read_fault(reader, place, "\"%.100s\" is no header name; letters, digits and -_.!#$%%&'*+^`|~ are allowed",
                       name);
        else if (header_reserved(name))
            read_fault(reader, place, "the header \"%.100s\" is set by Carillon itself; leave it out", name);
        for (size_t j = 0; j < i; j++)
            if (same_name(name, headers->items[j].name, strlen(name) + 1))
                read_fault(reader, place, "the header \"%.100s\" is given twice", name);
    }
}

/* ---- success, path, url -------------------------------------------------------------------------------------------
 */

struct call_members call_unset(void)
{
    return (struct call_members){
        .call = {.timeout = -1, .connect_timeout = -1, .wait_timeout = -1, .repeat = REPEAT_UNSET}};
}

struct call_spec call_take(struct reader *reader, const struct place *place, const struct call_members *members)
{
    static const struct {
        const char *text;
        enum success_rule rule;
    } rules[] = {{"auto", SUCCESS_AUTO}, {"sia", SUCCESS_SIA}, {"http", SUCCESS_HTTP}};
    struct call_spec call = members->call;
    const char *when = members->success_when;
    call.headers = members->headers.items;
    call.header_count = members->headers.count;
    call.query = members->query.items;
    call.query_count = members->query.count;
    if (!when)
        return call;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(when, rules[i].text)) {
            call.success = rules[i].rule;
            return call;
        }
    size_t length = strlen(when);
    if (strncmp(when, "${", 2) != 0 || when[length - 1] != '}')
        read_fault(reader, PLACE_MEMBER(place, "success_when"),
                   "\"%.60s\" is none of auto, sia, http, and no condition such as ${body.code == 0}", when);
    call.success = SUCCESS_EXPRESSION;
    call.success_when = when;
    return call;
}

/* Only printable characters; a space only inside ${…}. */
static bool printable(const char *text)
{
    int open = 0;
    for (; *text; text++) {
        if (text[0] == '$' && text[1] == '{')
            open++;
        else if (*text == '}' && open)
            open--;
        if ((unsigned char)*text < 0x20 || *text == 0x7f || (*text == ' ' && !open))
            return false;
    }
    return true;
}

bool path_valid(const char *path)
{
    return *path == '/' && printable(path) && !strchr(path, '#');
}

const char *url_fault(const char *url)
{
    size_t scheme = !strncmp(url, "http://", 7) ? 7 : !strncmp(url, "https://", 8) ? 8 : 0;
    if (!scheme)
        return "a URL must begin with http:// or https://";
    if (!printable(url))
        return "a URL may not hold white space or control characters; percent-encode them";
    const char *authority = url + scheme;
    size_t length = strcspn(authority, "/?#");
    const char *template = strstr(authority, "${");
    if (template && (size_t)(template - authority) < length)
        return strchr(authority, '@') && strchr(authority, '@') < template
                   ? "a URL may not hold a user or password; use headers"
                   : NULL;
    if (memchr(authority, '@', length))
        return "a URL may not hold a user or password; use headers";
    if (strchr(authority, '#'))
        return "a URL that is called has no fragment; leave # and what follows out";
    char address[256];
    bool port = length && memchr(authority, ':', length) && authority[length - 1] != ']';
    if (!length || length + 4 > sizeof address)
        return "a URL needs a host";
    (void)snprintf(address, sizeof address, "%.*s%s", (int)length, authority, port ? "" : ":80");
    return address_valid(address) ? NULL : "the host or port of this URL is malformed";
}

/* ---- retry --------------------------------------------------------------------------------------------------------
 */

static void read_retry_on(struct reader *reader, const struct place *place, struct slice value, void *target,
                          const struct field *field)
{
    unsigned *on = target;
    size_t count;
    struct json_walk walk = {0};
    (void)field;
    if (!take_list(reader, place, value, CALL_CLASSES, true, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct slice item = list_element(value, &walk, i == 0);
        const struct place *here = PLACE_INDEX(place, i);
        const char *text = take_text(reader, here, item);
        enum call_class class = CALL_NONE;
        if (!text)
            continue;
        if (!call_class_parse(text, &class) || class < CALL_NOT_SENT || class > CALL_HEARTBEAT)
            read_fault(reader, here,
                       "\"%.40s\" is no class to retry on; they are not_sent, busy, http_3xx, http_4xx, http_5xx, "
                       "failure, bad_answer, timeout, unknown, heartbeat",
                       text);
        else
            *on |= 1U << class;
    }
}

void read_retry(struct reader *reader, const struct place *place, struct slice value, void *target,
                const struct field *field)
{
    static const struct field fields[] = {
        {"max", read_int, offsetof(struct retry_policy, max), 0, 1000, NULL, NULL},
        {"delay", read_span, offsetof(struct retry_policy, delay), 0, 7 * SPAN_DAY, NULL, NULL},
        {"backoff", read_choice, offsetof(struct retry_policy, backoff), 0, 0, backoffs, NULL},
        {"max_delay", read_span, offsetof(struct retry_policy, max_delay), 0, 30 * SPAN_DAY, NULL, NULL},
        {"jitter", read_fraction, offsetof(struct retry_policy, jitter), 0, 0, NULL, NULL},
        {"on", read_retry_on, offsetof(struct retry_policy, on), 0, 0, NULL, NULL},
        {"max_elapsed", read_span, offsetof(struct retry_policy, max_elapsed), 0, CALL_MAX, NULL, NULL},
    };
    struct retry_policy *policy = target;
    (void)field;
    *policy = retry_policy_default();
    read_object(reader, place, value, fields, sizeof fields / sizeof *fields, policy);
}
