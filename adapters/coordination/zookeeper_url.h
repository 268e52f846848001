/* "zk://host:port[,host:port…][/chroot]" taken apart. */
#ifndef CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_URL_H
#define CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_URL_H

#include "core/base/error.h"

#define ZOOKEEPER_HOSTS 512
#define ZOOKEEPER_CHROOT 128

struct zookeeper_url {
    char hosts[ZOOKEEPER_HOSTS];
    char chroot[ZOOKEEPER_CHROOT]; /* "" or "/a/b" */
};

enum status zookeeper_url_parse(const char *text, struct zookeeper_url *ret, struct error *err) MUST_USE;
/* Path of the chroot's n-th ancestor or itself, from the top: n = 0 is "/a". False: there is none. */
bool zookeeper_chroot_step(const struct zookeeper_url *url, size_t n, char ret[ZOOKEEPER_CHROOT]);

#endif
