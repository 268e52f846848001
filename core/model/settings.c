#include "core/model/settings.h"

#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/utf8.h"
#include "core/model/hint.h"
#include "core/model/job.h"
#include "core/model/limits.h"

#define AT(member) offsetof(struct settings, member)
#define CENTURY (36500 * SPAN_DAY)
#define MANY ((int64_t)1000000)
#define KIB ((int64_t)1024)
#define TIB (KIB * KIB * KIB * KIB)
#define NODE_ID_MAX 24 /* characters: fits the id column of every row of a run */

/* For texts `high` is the greatest number of characters (0: as many as fit). */
/* clang-format off */
static const struct setting table[] = {
    {"data_dir", SETTING_STRING, AT(data_dir), "", NULL, 0, 0, false, false,
     "folder of the store of a standalone (--data); empty: $XDG_DATA_HOME/carillon"},

    {"scheduler.node_id", SETTING_STRING, AT(scheduler.node_id), "", NULL, 0, NODE_ID_MAX, false, false,
     "name of this node, unique in the cluster; empty: the host name (standalone: local)"},
    {"scheduler.poll_interval", SETTING_SPAN, AT(scheduler.poll_interval), "250ms", NULL, 10, SPAN_MINUTE, true, false,
     "how often the change feed and requests are looked at"},
    {"scheduler.max_concurrent_runs", SETTING_INT, AT(scheduler.max_concurrent_runs), "10000", NULL, 1, MANY, true, false,
     "runs in progress on this node; further ones wait"},
    {"scheduler.misfire_threshold", SETTING_SPAN, AT(scheduler.misfire_threshold), "60s", NULL, 0, SPAN_DAY, true, false,
     "an instant decided later than this is a misfire"},
    {"scheduler.capacity", SETTING_INT, AT(scheduler.capacity), "0", NULL, 0, 1000 * MANY, true, false,
     "jobs that this node takes; 0: no limit"},
    {"scheduler.alarm_at", SETTING_PERCENT, AT(scheduler.alarm_at), "80%", NULL, 1, 100, true, false,
     "share of the capacity from which the node alarms"},
    {"scheduler.shutdown_grace", SETTING_SPAN, AT(scheduler.shutdown_grace), "10m", NULL, 0, 7 * SPAN_DAY, true, false,
     "how long a node that stops waits for its runs"},
    {"scheduler.pool", SETTING_STRING, AT(scheduler.pool), "", NULL, 0, LIMIT_NAME, false, false,
     "placement group of this node; jobs may ask for one"},
    {"scheduler.weight", SETTING_INT, AT(scheduler.weight), "1", NULL, 1, 1000, false, false,
     "share of the jobs that this node takes, beside the weights of the others"},

    {"coordination.url", SETTING_STRING, AT(coordination.url), "local:", NULL, 1, 0, false, false,
     "local: (one process) or zk://host:port[,host:port…]/chroot"},
    {"coordination.session_timeout", SETTING_SPAN, AT(coordination.session_timeout), "6s", NULL, SPAN_SECOND, 5 * SPAN_MINUTE, false, false,
     "a node unheard of for so long loses its slots"},
    {"coordination.claim_slots", SETTING_INT, AT(coordination.claim_slots), "1024", NULL, CLAIM_SLOTS, CLAIM_SLOTS, false, false,
     "slots that jobs are spread over; fixed when the cluster is made"},
    {"coordination.lease_ttl", SETTING_SPAN, AT(coordination.lease_ttl), "30s", NULL, SPAN_SECOND, SPAN_HOUR, false, false,
     "how long a lease in the store holds without being renewed"},
    {"coordination.node_timeout", SETTING_SPAN, AT(coordination.node_timeout), "90s", NULL, SPAN_SECOND, SPAN_DAY, false, false,
     "a node whose row is older than this is shown as down"},
    {"coordination.moves_per_second", SETTING_INT, AT(coordination.moves_per_second), "50", NULL, 0, 1000, true, false,
     "slots that the whole cluster moves between living nodes for balance; 0: none"},
    {"coordination.auth_file", SETTING_STRING, AT(coordination.auth_file), "", NULL, 0, 0, false, false,
     "file with user:password for ZooKeeper's digest access lists"},

    {"store.url", SETTING_STRING, AT(store.url), "sqlite:", NULL, 1, 0, false, false,
     "sqlite: (in the data folder), sqlite:/path or mysql://user@host:port/database"},
    {"store.password_file", SETTING_STRING, AT(store.password_file), "", NULL, 0, 0, false, false,
     "file with the password of the store's user"},
    {"store.password", SETTING_STRING, AT(store.password), "", NULL, 0, 0, false, true,
     "password of the store's user; by environment CARILLON_STORE_PASSWORD, better by store.password_file"},
    {"store.max_size", SETTING_SIZE, AT(store.max_size), "10GiB", NULL, 16 * KIB * KIB, 1024 * TIB, true, false,
     "size of the store past which history is cut early and new runs are refused"},
    {"store.readers", SETTING_INT, AT(store.readers), "2", NULL, 1, 64, false, false,
     "connections for reading"},
    {"store.tls_ca", SETTING_STRING, AT(store.tls_ca), "", NULL, 0, 0, false, false,
     "file with certificates that the store's server is checked against; set: TLS is demanded"},

    {"retention.runs", SETTING_SPAN, AT(retention.runs), "30d", NULL, SPAN_SECOND, CENTURY, true, false,
     "how long ended runs are kept"},
    {"retention.bodies", SETTING_SPAN, AT(retention.bodies), "7d", NULL, SPAN_SECOND, CENTURY, true, false,
     "how long bodies of requests and answers are kept"},
    {"retention.skips", SETTING_SPAN, AT(retention.skips), "90d", NULL, SPAN_SECOND, CENTURY, true, false,
     "how long skipped instants are kept"},
    {"retention.audit", SETTING_SPAN, AT(retention.audit), "400d", NULL, SPAN_SECOND, CENTURY, true, false,
     "how long the audit log is kept"},
    {"retention.interval", SETTING_SPAN, AT(retention.interval), "60s", NULL, SPAN_SECOND, SPAN_DAY, true, false,
     "how often what is too old is removed"},

    {"dispatch.max_in_flight", SETTING_INT, AT(dispatch.max_in_flight), "4096", NULL, 1, MANY, true, false,
     "calls of this node at once"},
    {"dispatch.max_per_instance", SETTING_INT, AT(dispatch.max_per_instance), "64", NULL, 1, MANY, true, false,
     "calls to one instance at once"},
    {"dispatch.max_per_application", SETTING_INT, AT(dispatch.max_per_application), "1000", NULL, 1, MANY, true, false,
     "calls to one application at once"},
    {"dispatch.max_rate_per_host", SETTING_INT, AT(dispatch.max_rate_per_host), "0", NULL, 0, 1000 * 1000, true, false,
     "calls a second to one host, whatever leads there, all schedulers together; 0 = no limit"},
    {"dispatch.max_response", SETTING_SIZE, AT(dispatch.max_response), "4MiB", NULL, KIB, 256 * KIB * KIB, true, false,
     "bytes of an answer that are read; a bigger one is bad_answer"},
    {"dispatch.timeout", SETTING_SPAN, AT(dispatch.timeout), "1h", NULL, 1, 365 * SPAN_DAY, true, false,
     "one attempt in all, when neither step nor task says it"},
    {"dispatch.connect_timeout", SETTING_SPAN, AT(dispatch.connect_timeout), "5s", NULL, 1, SPAN_HOUR, true, false,
     "name, connection and TLS of one attempt"},
    {"dispatch.wait_timeout", SETTING_SPAN, AT(dispatch.wait_timeout), "10m", NULL, 0, 365 * SPAN_DAY, true, false,
     "how long a step waits for a live instance, and for a busy one"},
    {"dispatch.allow", SETTING_STRING, AT(dispatch.allow), "", NULL, 0, 0, true, false,
     "addresses that may be called beside the default ones: CIDRs and host:port, by commas"},
    {"dispatch.deny", SETTING_STRING, AT(dispatch.deny), "", NULL, 0, 0, true, false,
     "addresses that may not be called: CIDRs and host:port, by commas"},
    {"dispatch.tls_ca", SETTING_STRING, AT(dispatch.tls_ca), "", NULL, 0, 0, false, false,
     "file with the certificates that executors are checked against; empty: the system's"},

    {"server.listen", SETTING_STRING, AT(server.listen), "127.0.0.1:8420", NULL, 1, 0, false, false,
     "host:port of the API and the interface"},
    {"server.public_url", SETTING_STRING, AT(server.public_url), "", NULL, 0, 0, true, false,
     "URL that executors and people reach this process by; empty: made from server.listen"},
    {"server.tls_cert", SETTING_STRING, AT(server.tls_cert), "", NULL, 0, 0, false, false,
     "file with the server's certificate chain (PEM)"},
    {"server.tls_key", SETTING_STRING, AT(server.tls_key), "", NULL, 0, 0, false, false,
     "file with the key of server.tls_cert (PEM)"},
    {"server.threads", SETTING_INT, AT(server.threads), "4", NULL, 1, 256, false, false,
     "threads that answer requests"},
    {"server.rate", SETTING_INT, AT(server.rate), "0", NULL, 0, MANY, true, false,
     "requests a second and token; 0: no limit"},

    {"log.level", SETTING_CHOICE, AT(log.level), "info", "error|warn|info|debug", 0, 0, true, false,
     "what is logged"},
    {"log.format", SETTING_CHOICE, AT(log.format), "text", "text|json", 0, 0, false, false,
     "how lines of the log look"},
};
/* clang-format on */
#define SETTINGS (sizeof table / sizeof *table)

static const struct size_unit {
    const char *name;
    int64_t bytes;
} size_units[] = {
    {"TiB", TIB},        {"GiB", KIB *KIB *KIB}, {"MiB", KIB *KIB}, {"KiB", KIB}, {"TB", 1000000 * MANY},
    {"GB", 1000 * MANY}, {"MB", MANY},           {"KB", 1000},      {"B", 1},     {"", 1},
};
#define SIZE_UNITS (sizeof size_units / sizeof *size_units)

const struct setting *settings_table(size_t *ret_count)
{
    *ret_count = SETTINGS;
    return table;
}

static const struct setting *find(const char *key)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (!strcmp(table[i].key, key))
            return &table[i];
    return NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

/* Decimal digits; *ret_rest is what follows. false: none, or too many. */
static bool read_number(const char *text, int64_t *ret, const char **ret_rest)
{
    int64_t sum = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, *p - '0', &sum))
            return false;
    *ret = sum;
    *ret_rest = p;
    return p > text;
}

static bool read_size(const char *text, int64_t *ret)
{
    const char *unit;
    int64_t number;
    if (!read_number(text, &number, &unit))
        return false;
    while (*unit == ' ')
        unit++;
    for (size_t i = 0; i < SIZE_UNITS; i++)
        if (!strcmp(unit, size_units[i].name))
            return !__builtin_mul_overflow(number, size_units[i].bytes, ret);
    return false;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strchr(value, '|') ? 0 : strlen(value);
    for (const char *p = choices; p && length; p = strchr(p, '|')) {
        p += *p == '|';
        if (!strncmp(p, value, length) && (p[length] == '|' || !p[length]))
            return true;
    }
    return false;
}

/* How a value of a type is written, for people. */
static const char *const type_hints[] = {
    [SETTING_STRING] = "a text",
    [SETTING_SPAN] = "a duration such as 250ms, 90s, 10m, 1h30m or 7d",
    [SETTING_INT] = "a whole number",
    [SETTING_SIZE] = "a size such as 512MiB or 10GiB",
    [SETTING_PERCENT] = "a percentage such as 80%",
    [SETTING_CHOICE] = "one of its choices",
};

static void format_number(const struct setting *setting, int64_t value, struct str *ret)
{
    char buffer[DURATION_SIZE];
    switch (setting->type) {
    case SETTING_SPAN:
        str_add(ret, duration_format(value, buffer));
        return;
    case SETTING_SIZE:
        for (size_t i = 0; i < SIZE_UNITS; i++)
            if (!strchr(size_units[i].name, 'i') || (value && value % size_units[i].bytes == 0)) {
                bool binary = strchr(size_units[i].name, 'i');
                str_add_i64(ret, binary ? value / size_units[i].bytes : value);
                str_add(ret, binary ? size_units[i].name : "B");
                return;
            }
        return;
    case SETTING_PERCENT:
        str_add_i64(ret, value);
        str_add_char(ret, '%');
        return;
    case SETTING_INT:
    case SETTING_STRING:
    case SETTING_CHOICE:
        str_add_i64(ret, value);
    }
}

static enum status refuse_range(const struct setting *setting, const char *value, struct error *err)
{
    struct str low, high;
    str_init(&low, 64);
    str_init(&high, 64);
    format_number(setting, setting->low, &low);
    format_number(setting, setting->high, &high);
    enum status status = error_set(err, STATUS_INVALID, "setting %s: \"%.100s\" is out of range; %s to %s are allowed",
                                   setting->key, value, str_text(&low), str_text(&high));
    str_release(&low);
    str_release(&high);
    return status;
}

static enum status set_text(char *field, const struct setting *setting, const char *value, struct error *err)
{
    size_t length = strlen(value);
    size_t maximum = setting->high ? (size_t)setting->high : SETTING_TEXT - 1;
    if (setting->type == SETTING_CHOICE && !is_choice(setting->choices, value))
        return error_set(err, STATUS_INVALID, "setting %s: \"%.100s\" is none of %s", setting->key, value,
                         setting->choices);
    if (!utf8_valid(value, length))
        return error_set(err, STATUS_INVALID, "setting %s: the value is not UTF-8", setting->key);
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < 0x20)
            return error_set(err, STATUS_INVALID, "setting %s: the value holds a control character", setting->key);
    if (length < (size_t)setting->low)
        return error_set(err, STATUS_INVALID, "setting %s: may not be empty; its default is \"%s\"", setting->key,
                         setting->fallback);
    if (length >= SETTING_TEXT || utf8_count(value) > maximum)
        return error_set(err, STATUS_INVALID, "setting %s: longer than %zu characters", setting->key, maximum);
    memset(field, 0, SETTING_TEXT); /* nothing of a longer secret stays behind */
    memcpy(field, value, length);
    return STATUS_OK;
}

static enum status set_number(int64_t *field, const struct setting *setting, const char *value, struct error *err)
{
    const char *rest = "";
    int64_t number = 0;
    bool ok = false;
    switch (setting->type) {
    case SETTING_SPAN:
        ok = duration_parse(value, &number, NULL) == STATUS_OK;
        break;
    case SETTING_SIZE:
        ok = read_size(value, &number);
        break;
    case SETTING_PERCENT:
        ok = read_number(value, &number, &rest) && (!*rest || !strcmp(rest, "%"));
        break;
    case SETTING_INT:
        ok = read_number(value, &number, &rest) && !*rest;
        break;
    case SETTING_STRING:
    case SETTING_CHOICE:
        break;
    }
    if (!ok)
        return error_set(err, STATUS_INVALID, "setting %s: \"%.100s\" is not %s", setting->key, value,
                         type_hints[setting->type]);
    if (number < setting->low || number > setting->high)
        return refuse_range(setting, value, err);
    *field = number;
    return STATUS_OK;
}

/* Alignment and type of every field are those that its row of the table names (tests/unit/model/test_settings.c). */
static void *field_of(struct settings *settings, const struct setting *setting)
{
    return (char *)settings + setting->offset;
}

static enum status set(struct settings *settings, const struct setting *setting, const char *value, struct error *err)
{
    if (setting->type == SETTING_STRING || setting->type == SETTING_CHOICE)
        return set_text(field_of(settings, setting), setting, value, err);
    return set_number(field_of(settings, setting), setting, value, err);
}

void settings_defaults(struct settings *settings)
{
    *settings = (struct settings){0};
    for (size_t i = 0; i < SETTINGS; i++)
        (void)set(settings, &table[i], table[i].fallback, NULL); /* a test sets every default */
}

static enum status refuse_key(const char *key, struct error *err)
{
    struct hint hint = hint_begin(key);
    for (size_t i = 0; i < SETTINGS; i++)
        hint_offer(&hint, table[i].key);
    if (hint.near)
        return error_set(err, STATUS_INVALID, "setting %.100s: no such setting; did you mean %s?", key, hint.near);
    return error_set(err, STATUS_INVALID, "setting %.100s: no such setting; `carillon config` lists them", key);
}

enum status settings_set(struct settings *settings, const char *key, const char *value, struct error *err)
{
    const struct setting *setting = find(key);
    return setting ? set(settings, setting, value, err) : refuse_key(key, err);
}

/* ---- rules between settings ---------------------------------------------------------------------------------------
 */

static bool begins(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static enum status check_urls(const struct settings *s, struct error *err)
{
    bool zookeeper = begins(s->coordination.url, "zk://");
    bool mysql = begins(s->store.url, "mysql://");
    if (!zookeeper && strcmp(s->coordination.url, "local:") != 0)
        return error_set(err, STATUS_INVALID,
                         "setting coordination.url: \"%.200s\" is neither local: nor zk://host:port[,host:port]/chroot",
                         s->coordination.url);
    if (!mysql && !begins(s->store.url, "sqlite:"))
        return error_set(err, STATUS_INVALID,
                         "setting store.url: neither sqlite:, sqlite:/path nor mysql://user@host:port/database");
    const char *at = mysql ? strrchr(s->store.url, '@') : NULL;
    if (at && memchr(s->store.url + 8, ':', (size_t)(at - s->store.url) - 8))
        return error_set(err, STATUS_INVALID,
                         "setting store.url: holds a password; put it into store.password_file or the environment "
                         "variable CARILLON_STORE_PASSWORD");
    if (s->server.public_url[0] && !begins(s->server.public_url, "http://") &&
        !begins(s->server.public_url, "https://"))
        return error_set(err, STATUS_INVALID,
                         "setting server.public_url: \"%.200s\" does not begin with http:// or https://",
                         s->server.public_url);
    return STATUS_OK;
}

/* host:port or [ipv6]:port. */
static bool listen_valid(const char *listen)
{
    const char *colon = strrchr(listen, ':'), *rest;
    int64_t port;
    if (!colon || colon == listen || (strchr(listen, ':') != colon && (listen[0] != '[' || colon[-1] != ']')))
        return false;
    return read_number(colon + 1, &port, &rest) && !*rest && port <= 65535;
}

static bool node_id_valid(const char *id)
{
    for (; *id; id++)
        if (*id == '/' || *id == ' ')
            return false;
    return true;
}

enum status settings_check(const struct settings *s, struct error *err)
{
    enum status status = check_urls(s, err);
    if (status)
        return status;
    if (!listen_valid(s->server.listen))
        return error_set(err, STATUS_INVALID,
                         "setting server.listen: \"%.200s\" is not host:port (an IPv6 address in brackets)",
                         s->server.listen);
    if (!s->server.tls_cert[0] != !s->server.tls_key[0])
        return error_set(err, STATUS_INVALID, "setting %s: is missing; server.tls_cert and server.tls_key go together",
                         s->server.tls_cert[0] ? "server.tls_key" : "server.tls_cert");
    if (!node_id_valid(s->scheduler.node_id))
        return error_set(err, STATUS_INVALID, "setting scheduler.node_id: \"%s\" may hold neither / nor a space",
                         s->scheduler.node_id);
    if (*s->scheduler.pool && !name_valid(s->scheduler.pool)) /* no job could ask for it */
        return error_set(err, STATUS_INVALID,
                         "setting scheduler.pool: \"%s\" is no name: a-z 0-9 . _ -, first and last a letter or digit",
                         s->scheduler.pool);
    if (s->coordination.node_timeout < s->coordination.lease_ttl)
        return error_set(err, STATUS_INVALID,
                         "setting coordination.node_timeout: must be at least coordination.lease_ttl");
    if (s->dispatch.connect_timeout > s->dispatch.timeout)
        return error_set(err, STATUS_INVALID,
                         "setting dispatch.connect_timeout: must not be longer than dispatch.timeout");
    return STATUS_OK;
}

/* ---- showing ------------------------------------------------------------------------------------------------------
 */

void settings_show(const struct settings *settings, const struct setting *setting, struct str *ret)
{
    const void *field = (const char *)settings + setting->offset;
    if (setting->type == SETTING_STRING || setting->type == SETTING_CHOICE) {
        const char *text = field;
        str_add(ret, setting->secret && *text ? "***" : text);
        return;
    }
    format_number(setting, *(const int64_t *)field, ret);
}
