#include "adapters/coordination/zookeeper_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME "zk://"

/* "name:2181", "10.0.0.1:2181", "[::1]:2181". */
static bool host_valid(const char *host, size_t length)
{
    size_t colon = length;
    while (colon > 0 && host[colon - 1] != ':')
        colon--;
    if (colon < 2 || length - colon < 1 || length - colon > 5)
        return false;
    int port = 0;
    for (size_t i = colon; i < length; i++) {
        if (host[i] < '0' || host[i] > '9')
            return false;
        port = port * 10 + (host[i] - '0');
    }
    for (size_t i = 0; i + 1 < colon; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[]:", host[i]))
            return false;
    }
    return port > 0 && port < 65536;
}

static bool hosts_valid(const char *hosts)
{
    for (;;) {
        size_t length = strcspn(hosts, ",");
        if (!host_valid(hosts, length))
            return false;
        if (!hosts[length])
            return true;
        hosts += length + 1;
    }
}

static bool chroot_valid(const char *chroot)
{
    size_t length = strlen(chroot);
    if (length == 0)
        return true;
    return length > 1 && chroot[length - 1] != '/' && !strstr(chroot, "//") && !strstr(chroot, "/.") &&
           strspn(chroot, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == length &&
           strncmp(chroot, "/zookeeper", 10) != 0;
}

enum status zookeeper_url_parse(const char *text, struct zookeeper_url *ret, struct error *err)
{
    struct zookeeper_url url = {0};
    const char *rest = text && strncmp(text, SCHEME, strlen(SCHEME)) == 0 ? text + strlen(SCHEME) : "";
    size_t length = strcspn(rest, "/");
    size_t chroot = strlen(rest + length);
    if (chroot == 1) /* "zk://host:port/" */
        chroot = 0;
    if (length < sizeof url.hosts && chroot < sizeof url.chroot) {
        memcpy(url.hosts, rest, length);
        memcpy(url.chroot, rest + length, chroot);
    }
    if (!hosts_valid(url.hosts) || !chroot_valid(url.chroot))
        return error_set(err, STATUS_INVALID,
                         "coordination.url: \"%.200s\" is not of the form zk://host:port[,host:port]/chroot "
                         "(letters, digits, \".\", \"_\", \"-\")",
                         text ? text : "");
    *ret = url;
    return STATUS_OK;
}

bool zookeeper_chroot_step(const struct zookeeper_url *url, size_t n, char ret[ZOOKEEPER_CHROOT])
{
    const char *at = url->chroot;
    for (size_t i = 0; *at; i++) {
        at += 1 + strcspn(at + 1, "/");
        if (i == n) {
            (void)snprintf(ret, ZOOKEEPER_CHROOT, "%.*s", (int)(at - url->chroot), url->chroot);
            return true;
        }
    }
    return false;
}
