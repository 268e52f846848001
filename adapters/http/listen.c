#include "adapters/http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

/* "[host]:port" or "host:port" → two texts. */
static bool address_split(const char *text, char *host, size_t size, const char **ret_port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strlen(colon + 1) > 5)
        return false;
    size_t length = (size_t)(colon - text);
    if (text[0] == '[') {
        if (length < 3 || text[length - 1] != ']')
            return false;
        text++;
        length -= 2;
    }
    if (length >= size)
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    *ret_port = colon + 1;
    return true;
}

static int socket_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char port[8];
    if (getsockname(fd, (struct sockaddr *)&address, &length) ||
        getnameinfo((struct sockaddr *)&address, length, NULL, 0, port, sizeof port, NI_NUMERICSERV))
        return 0;
    int number = 0;
    for (const char *at = port; *at; at++)
        number = number * 10 + (*at - '0');
    return number;
}

static int socket_try(const struct addrinfo *at)
{
    const int on = 1;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int reason = errno;
    (void)close(fd);
    errno = reason;
    return -1;
}

static enum status listen_refused(const char *text, int reason, struct error *err)
{
    switch (reason) {
    case EADDRINUSE:
        return error_set(err, STATUS_IN_USE,
                         "the address %s is in use already: stop the other program, or choose another address", text);
    case EACCES:
        return error_set(
            err, STATUS_DENIED,
            "not allowed to listen on %s: choose a port above 1023 with --listen, or grant CAP_NET_BIND_SERVICE", text);
    case EADDRNOTAVAIL:
        return error_set(err, STATUS_INVALID,
                         "this machine has no address %s: choose one of its own with --listen (0.0.0.0 means all)",
                         text);
    default:
        return error_set(err, STATUS_UNAVAILABLE, "cannot listen on %s: %s (--listen)", text, strerrordesc_np(reason));
    }
}

enum status listen_open(const char *text, int *ret_fd, int *ret_port, struct error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    char host[256];
    const char *port;
    int fd = -1, reason = EINVAL;
    if (!text || !address_split(text, host, sizeof host, &port))
        return error_set(err, STATUS_INVALID,
                         "--listen wants host:port, as in 127.0.0.1:8420 or [::1]:8420, not \"%.100s\"",
                         text ? text : "");
    int code = getaddrinfo(host, port, &hints, &found);
    if (code)
        return error_set(err, STATUS_INVALID, "cannot listen on %.100s: %s (--listen)", text, gai_strerror(code));
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = socket_try(at);
        if (fd < 0)
            reason = errno;
    }
    freeaddrinfo(found);
    if (fd < 0)
        return listen_refused(text, reason, err);
    *ret_fd = fd;
    *ret_port = socket_port(fd);
    return STATUS_OK;
}
