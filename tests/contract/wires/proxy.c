#include "tests/contract/wires/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"

#define PAIRS 16

struct proxy {
    int listener, port;
    struct sockaddr_in server;
    pthread_t thread;
    int mode; /* atomic */
    bool quit;
    int pairs[PAIRS][2]; /* client, server; −1 = free */
};

static void pair_close(struct proxy *proxy, int i)
{
    for (int side = 0; side < 2; side++) {
        if (proxy->pairs[i][side] >= 0)
            (void)close(proxy->pairs[i][side]);
        proxy->pairs[i][side] = -1;
    }
}

static void pair_open(struct proxy *proxy, bool cut)
{
    int client = accept(proxy->listener, NULL, NULL);
    for (int i = 0; client >= 0 && !cut && i < PAIRS; i++) {
        if (proxy->pairs[i][0] >= 0)
            continue;
        int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(server, (const struct sockaddr *)&proxy->server, sizeof proxy->server) == 0) {
            proxy->pairs[i][0] = client;
            proxy->pairs[i][1] = server;
            return;
        }
        (void)close(server);
        break;
    }
    if (client >= 0)
        (void)close(client);
}

static void pair_copy(struct proxy *proxy, int i, int side, bool swallow)
{
    char bytes[65536];
    ssize_t n = recv(proxy->pairs[i][side], bytes, sizeof bytes, 0);
    if (n <= 0 || (!(swallow && side == 1) && send(proxy->pairs[i][1 - side], bytes, (size_t)n, MSG_NOSIGNAL) != n))
        pair_close(proxy, i);
}

static void *proxy_run(void *context)
{
    struct proxy *proxy = context;
    while (!__atomic_load_n(&proxy->quit, __ATOMIC_ACQUIRE)) {
        struct pollfd polls[1 + 2 * PAIRS] = {{.fd = proxy->listener, .events = POLLIN}};
        int mode = __atomic_load_n(&proxy->mode, __ATOMIC_ACQUIRE);
        for (int i = 0; i < PAIRS; i++) {
            if (mode == PROXY_CUT)
                pair_close(proxy, i);
            for (int side = 0; side < 2; side++)
                polls[1 + 2 * i + side] = (struct pollfd){.fd = proxy->pairs[i][side], .events = POLLIN};
        }
        if (poll(polls, 1 + 2 * PAIRS, 10) <= 0)
            continue;
        for (int i = 0; i < PAIRS; i++) {
            for (int side = 0; side < 2; side++) {
                if (polls[1 + 2 * i + side].revents && proxy->pairs[i][side] >= 0)
                    pair_copy(proxy, i, side, mode == PROXY_DEAF);
            }
        }
        if (polls[0].revents)
            pair_open(proxy, mode == PROXY_CUT);
    }
    for (int i = 0; i < PAIRS; i++)
        pair_close(proxy, i);
    return NULL;
}

struct proxy *proxy_start(const char *host, int port)
{
    struct proxy *proxy = mem_new(struct proxy);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    proxy->server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    (void)inet_pton(AF_INET, host, &proxy->server.sin_addr);
    for (int i = 0; i < PAIRS; i++)
        proxy->pairs[i][0] = proxy->pairs[i][1] = -1;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (const struct sockaddr *)&address, sizeof address) || listen(proxy->listener, 64) ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &length) ||
        pthread_create(&proxy->thread, NULL, proxy_run, proxy))
        abort();
    proxy->port = ntohs(address.sin_port);
    return proxy;
}

int proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

void proxy_set(struct proxy *proxy, enum proxy_mode mode)
{
    __atomic_store_n(&proxy->mode, (int)mode, __ATOMIC_RELEASE);
}

void proxy_stop(struct proxy *proxy)
{
    __atomic_store_n(&proxy->quit, true, __ATOMIC_RELEASE);
    pthread_join(proxy->thread, NULL);
    (void)close(proxy->listener);
    free(proxy);
}
