/* TCP proxy on 127.0.0.1 that can be cut, and can swallow what the server says. One thread. */
#ifndef CARILLON_TESTS_CONTRACT_WIRES_PROXY_H
#define CARILLON_TESTS_CONTRACT_WIRES_PROXY_H

struct proxy;

enum proxy_mode {
    PROXY_OPEN,
    PROXY_CUT,  /* connections are closed, new ones too */
    PROXY_DEAF, /* what the server answers is thrown away */
};

struct proxy *proxy_start(const char *host, int port);
int proxy_port(const struct proxy *proxy);
void proxy_set(struct proxy *proxy, enum proxy_mode mode);
void proxy_stop(struct proxy *proxy);

#endif
