#include "adapters/curl/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/vec.h"

/* Every address as 16 bytes; IPv4 as ::ffff:a.b.c.d. */
struct ip {
    unsigned char bytes[16];
};

struct rule {
    char name[256]; /* host name; "" = an address range */
    struct ip ip;
    int bits; /* prefix of the 128 */
    int port; /* −1 = any */
};

typedef VEC(struct rule) rule_list;

struct address_rules {
    rule_list allow, deny, own;
    bool loopback_ok;
};

const char address_own[] = "an address of this platform itself";

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static struct ip ip_from_v4(const void *four)
{
    struct ip ip;
    memcpy(ip.bytes, mapped_prefix, 12);
    memcpy(ip.bytes + 12, four, 4);
    return ip;
}

static bool ip_from_text(const char *text, struct ip *ret, int *ret_width)
{
    unsigned char four[4];
    if (inet_pton(AF_INET, text, four) == 1) {
        *ret = ip_from_v4(four);
        *ret_width = 32;
        return true;
    }
    *ret_width = 128;
    return inet_pton(AF_INET6, text, ret->bytes) == 1;
}

static bool ip_from_sockaddr(const struct sockaddr *address, struct ip *ret, int *ret_port)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        *ret = ip_from_v4(&in.sin_addr);
        *ret_port = ntohs(in.sin_port);
        return true;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        memcpy(ret->bytes, &in6.sin6_addr, 16);
        *ret_port = ntohs(in6.sin6_port);
        return true;
    }
    return false;
}

static bool ip_in(struct ip ip, struct ip network, int bits)
{
    int whole = bits / 8, rest = bits % 8;
    if (memcmp(ip.bytes, network.bytes, (size_t)whole) != 0)
        return false;
    return rest == 0 || ((ip.bytes[whole] ^ network.bytes[whole]) & (0xff << (8 - rest)) & 0xff) == 0;
}

static bool rule_matches(const struct rule *rule, struct ip ip, int port)
{
    return !rule->name[0] && (rule->port < 0 || rule->port == port) && ip_in(ip, rule->ip, rule->bits);
}

static bool rules_match(const rule_list *rules, struct ip ip, int port)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rule_matches(&rules->items[i], ip, port))
            return true;
    }
    return false;
}

/* ---- what is refused unless allowed ------------------------------------------------------------------------------ */

static const struct {
    const char *network;
    int bits; /* of the family's own width */
    const char *why;
} refused_ranges[] = {
    {"169.254.0.0", 16, "a link-local address (cloud metadata lives there)"},
    {"100.100.100.200", 32, "a cloud metadata address"},
    {"168.63.129.16", 32, "a cloud metadata address"},
    {"fd00:ec2::254", 128, "a cloud metadata address"},
    {"0.0.0.0", 8, "an unspecified address"},
    {"224.0.0.0", 4, "a multicast address"},
    {"240.0.0.0", 4, "a reserved address"},
    {"192.0.0.0", 24, "a reserved address"},
    {"192.0.2.0", 24, "a reserved address"},
    {"192.88.99.0", 24, "a reserved address"},
    {"198.18.0.0", 15, "a reserved address"},
    {"198.51.100.0", 24, "a reserved address"},
    {"203.0.113.0", 24, "a reserved address"},
    {"::", 128, "an unspecified address"},
    {"fe80::", 10, "a link-local address"},
    {"fec0::", 10, "a reserved address"},
    {"ff00::", 8, "a multicast address"},
    {"100::", 64, "a reserved address"},
    {"2001::", 32, "a reserved address"},
    {"2001:db8::", 32, "a reserved address"},
    {"64:ff9b:1::", 48, "a reserved address"},
};

/* Addresses that carry an IPv4 address inside: judged by that one, too. */
static const struct {
    const char *network;
    int bits, offset;
} carriers[] = {{"64:ff9b::", 96, 12}, {"2002::", 16, 2}, {"::", 96, 12}};

static bool range_matches(struct ip ip, const char *network, int bits)
{
    struct ip base;
    int width;
    if (!ip_from_text(network, &base, &width))
        return false;
    return ip_in(ip, base, width == 32 ? bits + 96 : bits);
}

static bool ip_is_loopback(struct ip ip)
{
    return range_matches(ip, "127.0.0.0", 8) || range_matches(ip, "::1", 128);
}

static const char *ip_refused(struct ip ip, bool loopback_ok)
{
    if (ip_is_loopback(ip))
        return loopback_ok ? NULL : "a loopback address";
    for (size_t i = 0; i < sizeof refused_ranges / sizeof *refused_ranges; i++) {
        if (range_matches(ip, refused_ranges[i].network, refused_ranges[i].bits))
            return refused_ranges[i].why;
    }
    return NULL;
}

static bool ip_carried(struct ip ip, struct ip *ret)
{
    for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++) {
        if (range_matches(ip, carriers[i].network, carriers[i].bits)) {
            *ret = ip_from_v4(ip.bytes + carriers[i].offset);
            return true;
        }
    }
    return false;
}

const char *address_check(const struct address_rules *rules, const struct sockaddr *address, bool name_allowed)
{
    struct ip ip, inner = {{0}};
    int port;
    if (!ip_from_sockaddr(address, &ip, &port))
        return "no internet address";
    bool carried = !ip_is_loopback(ip) && ip_carried(ip, &inner);
    if (rules_match(&rules->own, ip, port) || (carried && rules_match(&rules->own, inner, port)))
        return address_own;
    if (name_allowed || rules_match(&rules->allow, ip, port))
        return NULL;
    if (rules_match(&rules->deny, ip, port) || (carried && rules_match(&rules->deny, inner, port)))
        return "listed in dispatch.deny";
    const char *why = ip_refused(ip, rules->loopback_ok);
    return !why && carried ? ip_refused(inner, rules->loopback_ok) : why;
}

enum address_name address_name_check(const struct address_rules *rules, const char *host, uint16_t port)
{
    const rule_list *lists[] = {&rules->own, &rules->allow, &rules->deny};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            const struct rule *rule = &lists[l]->items[i];
            if (rule->name[0] && strcasecmp(rule->name, host) == 0 && (rule->port < 0 || rule->port == port))
                return lists[l] == &rules->allow ? ADDRESS_NAME_ALLOWED : ADDRESS_NAME_DENIED;
        }
    }
    return ADDRESS_NAME_OPEN;
}

/* ---- lists as text ------------------------------------------------------------------------------------------------
 */

static bool number_parse(const char *text, int low, int high, int *ret)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    long n = strtol(text, &end, 10);
    if (*end || n < low || n > high)
        return false;
    *ret = (int)n;
    return true;
}

static bool name_allowed_text(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < sizeof((struct rule *)0)->name &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == length;
}

/* "a.b.c.d[/bits][:port]", "v6/bits", "[v6][:port]", "v6", "name[:port]". `text` is changed. */
static bool rule_parse(char *text, struct rule *ret)
{
    struct rule rule = {.bits = 128, .port = -1};
    char *host = text, *port = NULL;
    int width;
    if (text[0] == '[') {
        char *close = strchr(text, ']');
        if (!close || (close[1] && close[1] != ':'))
            return false;
        port = close[1] ? close + 2 : NULL;
        *close = '\0';
        host++;
    } else if (strchr(text, ':') && strchr(text, ':') == strrchr(text, ':')) {
        port = strchr(text, ':') + 1;
        port[-1] = '\0';
    }
    if (port && !number_parse(port, 1, 65535, &rule.port))
        return false;
    char *slash = strchr(host, '/');
    if (slash)
        *slash++ = '\0';
    if (ip_from_text(host, &rule.ip, &width)) {
        int bits = width;
        if (slash && !number_parse(slash, 0, width, &bits))
            return false;
        rule.bits = bits + (128 - width);
    } else {
        if (slash || !name_allowed_text(host))
            return false;
        (void)snprintf(rule.name, sizeof rule.name, "%s", host);
    }
    *ret = rule;
    return true;
}

/* Names of what must never be called count by their addresses as well. A name that does not resolve now still counts
 * by itself. */
static void rule_resolve(rule_list *list, const struct rule *named)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct rule rule = {.bits = 128, .port = named->port};
    int port;
    if (getaddrinfo(named->name, NULL, &hints, &found) != 0)
        return;
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        if (ip_from_sockaddr(at->ai_addr, &rule.ip, &port))
            vec_add(list, rule);
    }
    freeaddrinfo(found);
}

/* "0.0.0.0:8420" listens on every address of this machine. */
static void rule_spread_wildcard(rule_list *list, const struct rule *wildcard)
{
    struct ifaddrs *interfaces = NULL;
    struct rule rule = {.port = wildcard->port};
    int width, port;
    (void)ip_from_text("127.0.0.0", &rule.ip, &width);
    rule.bits = 96 + 8;
    vec_add(list, rule);
    (void)ip_from_text("::1", &rule.ip, &width);
    rule.bits = 128;
    vec_add(list, rule);
    if (getifaddrs(&interfaces) != 0)
        return;
    for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next) {
        if (at->ifa_addr && ip_from_sockaddr(at->ifa_addr, &rule.ip, &port))
            vec_add(list, rule);
    }
    freeifaddrs(interfaces);
}

static bool rule_is_wildcard(const struct rule *rule)
{
    return !rule->name[0] && rule->bits == 128 &&
           (range_matches(rule->ip, "0.0.0.0", 32) || range_matches(rule->ip, "::", 128));
}

static enum status rules_parse(const char *setting, const char *text, bool resolve, rule_list *list, struct error *err)
{
    char *copy = mem_copy_text(text ? text : ""), *next = NULL;
    enum status status = STATUS_OK;
    for (char *entry = strtok_r(copy, ", \t\n", &next); entry && !status; entry = strtok_r(NULL, ", \t\n", &next)) {
        char original[300];
        struct rule rule;
        (void)snprintf(original, sizeof original, "%s", entry);
        if (!rule_parse(entry, &rule)) {
            status = error_set(err, STATUS_INVALID,
                               "%s: \"%.100s\" is neither an address, a range (10.0.0.0/8) nor host:port", setting,
                               original);
            break;
        }
        vec_add(list, rule);
        if (resolve && rule.name[0])
            rule_resolve(list, &rule);
        if (resolve && rule_is_wildcard(&rule))
            rule_spread_wildcard(list, &rule);
    }
    free(copy);
    return status;
}

enum status address_rules_create(const struct address_options *options, struct address_rules **ret, struct error *err)
{
    struct address_rules *rules = mem_new(struct address_rules);
    rules->loopback_ok = options->loopback_ok;
    enum status status = rules_parse("dispatch.allow", options->allow, false, &rules->allow, err);
    if (!status)
        status = rules_parse("dispatch.deny", options->deny, true, &rules->deny, err);
    if (!status)
        status = rules_parse("own addresses", options->own, true, &rules->own, err);
    if (status)
        address_rules_free(rules);
    else
        *ret = rules;
    return status;
}

void address_rules_free(struct address_rules *rules)
{
    if (!rules)
        return;
    vec_release(&rules->allow);
    vec_release(&rules->deny);
    vec_release(&rules->own);
    free(rules);
}
