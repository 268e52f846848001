/* A network between processes that can be broken: TCP links, each with a listening port and a target, and commands on
 * standard input that hold bytes back, delay them, reset connections, or swallow the answer to a COMMIT. Ends with its
 * standard input.
 *
 *   bench_proxy LINK…      LINK: NAME,LISTEN,TARGET with LISTEN and TARGET = [/run/netns/x:]PORT on 127.0.0.1
 *
 * Commands, each answered by "ok" or "no …"; NAME may end with '*':
 *   NAME flow                     everything passes again, at once
 *   NAME hold up|down|both        bytes of this direction wait (a partition: the peer sees silence; up = to the target)
 *   NAME refuse                   connections are reset, new ones too
 *   NAME reset                    connections are reset, new ones pass
 *   NAME slow MS JITTER           each piece is so much later (order is kept)
 *   NAME lose PERCENT             so many pieces are 200 to 1000 ms late, as a lost and resent packet is
 *   NAME swallow N                the answers of the next N COMMITs are lost with their connections
 *   NAME catch before|after WHAT  WHAT = commit, call or claim: at the next one, what goes to the target (before) or
 * its answer (after) is held, and "event NAME before|after" is printed
 *
 * Bytes are held, not dropped, as TCP does it: they arrive when the link flows again, if both ends are still there. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINKS 64
#define QUEUE_MAX (256 * 1024)
#define PIECE_MAX (32 * 1024)
#define EVENTS 128

enum { UP, DOWN };
enum { CATCH_NOTHING, CATCH_COMMIT, CATCH_CALL, CATCH_CLAIM };

struct end {
    char space[64]; /* file of a network namespace; "" = ours */
    int port;
};

struct link {
    char name[32];
    struct end listen, target;
    int fd;
    bool hold[2], refuse;
    int delay, jitter, lose, swallow, catch_what, catch_where;
};

struct piece {
    struct piece *next;
    long long due;
    size_t length, sent;
    char bytes[];
};

struct connection {
    struct link *link;
    struct connection *next, *previous;
    int fd[2]; /* of the client, of the target (−1: not connected yet) */
    unsigned interest[2];
    struct piece *head[2], **tail[2];
    size_t queued[2];
    bool end[2], ended[2], swallow, dead;
};

static struct link links[LINKS];
static int link_count, epoll, home = -1;
static struct connection *connections;
static unsigned long long random_state = 88172645463325252ULL;

static long long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int chance(int below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return below > 0 ? (int)(random_state % (unsigned)below) : 0;
}

/* A socket made here belongs to the namespace for ever, whatever the thread does afterwards. */
static int socket_in(const struct end *end)
{
    int space = *end->space ? open(end->space, O_RDONLY | O_CLOEXEC) : -1;
    if (*end->space && (space < 0 || setns(space, CLONE_NEWNET) != 0)) {
        perror(end->space);
        exit(1);
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (space >= 0) {
        (void)close(space);
        if (setns(home, CLONE_NEWNET) != 0)
            exit(1);
    }
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    return fd;
}

static struct sockaddr_in address_of(const struct end *end)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)end->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* ---- connections ---------------------------------------------------------------------------------------------------
 */

static void watch(struct connection *c, int side)
{
    unsigned wanted = 0;
    if (c->fd[side] < 0)
        return;
    if (!c->end[side] && c->queued[side] < QUEUE_MAX)
        wanted |= EPOLLIN;
    if (c->head[1 - side] && c->head[1 - side]->sent > 0)
        wanted |= EPOLLOUT;
    if (wanted == c->interest[side])
        return;
    struct epoll_event event = {.events = wanted, .data.u64 = (unsigned long long)(size_t)c | (unsigned)side};
    (void)epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd[side], &event);
    c->interest[side] = wanted;
}

static void add(struct connection *c, int side)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (unsigned long long)(size_t)c | (unsigned)side};
    c->interest[side] = EPOLLIN;
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd[side], &event);
}

static void reset(struct connection *c)
{
    struct linger hard = {1, 0};
    for (int side = 0; side < 2; side++)
        if (c->fd[side] >= 0) {
            (void)setsockopt(c->fd[side], SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
            (void)close(c->fd[side]);
            c->fd[side] = -1;
        }
    c->dead = true;
}

static void dial(struct connection *c)
{
    struct sockaddr_in address = address_of(&c->link->target);
    c->fd[1] = socket_in(&c->link->target);
    if (connect(c->fd[1], (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS) {
        reset(c);
        return;
    }
    add(c, 1);
}

static void take(struct link *link)
{
    int fd = accept4(link->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct connection *c = calloc(1, sizeof *c);
    if (!c)
        exit(1);
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->link = link;
    c->fd[0] = fd;
    c->fd[1] = -1;
    c->tail[UP] = &c->head[UP];
    c->tail[DOWN] = &c->head[DOWN];
    c->next = connections;
    if (connections)
        connections->previous = c;
    connections = c;
    if (link->refuse) {
        reset(c);
        return;
    }
    add(c, 0);
    if (!link->hold[UP] && !link->hold[DOWN])
        dial(c);
}

static void release(struct connection *c)
{
    for (int side = 0; side < 2; side++)
        while (c->head[side]) {
            struct piece *piece = c->head[side];
            c->head[side] = piece->next;
            free(piece);
        }
    if (c->next)
        c->next->previous = c->previous;
    if (c->previous)
        c->previous->next = c->next;
    else
        connections = c->next;
    free(c);
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

static bool holds(const char *bytes, size_t length, const char *pattern, size_t size)
{
    return memmem(bytes, length, pattern, size) != NULL;
}

static bool is_commit(const char *bytes, size_t length)
{
    return holds(bytes, length, "\7\0\0\0\3COMMIT", 11);
}

static bool is_caught(int what, const char *bytes, size_t length)
{
    static const char *const patterns[] = {[CATCH_CALL] = "Idempotency-Key", [CATCH_CLAIM] = "/claims/"};
    if (what == CATCH_COMMIT)
        return is_commit(bytes, length);
    return what != CATCH_NOTHING && holds(bytes, length, patterns[what], strlen(patterns[what]));
}

static void look_at(struct connection *c, int side, const char *bytes, size_t length)
{
    struct link *link = c->link;
    if (side == DOWN) {
        if (c->swallow)
            reset(c);
        return;
    }
    if (link->swallow > 0 && is_commit(bytes, length)) {
        link->swallow--;
        c->swallow = true;
    }
    if (is_caught(link->catch_what, bytes, length)) {
        link->catch_what = CATCH_NOTHING;
        link->hold[link->catch_where] = true;
        (void)printf("event %s %s\n", link->name, link->catch_where == UP ? "before" : "after");
        (void)fflush(stdout);
    }
}

static void read_some(struct connection *c, int side)
{
    char bytes[PIECE_MAX];
    ssize_t length = read(c->fd[side], bytes, sizeof bytes);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) { /* a reset is passed on as an end; both directions are over then */
        c->end[side] = true;
        if (length < 0)
            c->end[1 - side] = true;
        return;
    }
    look_at(c, side, bytes, (size_t)length);
    if (c->dead)
        return;
    struct link *link = c->link;
    struct piece *piece = malloc(sizeof *piece + (size_t)length);
    if (!piece)
        exit(1);
    *piece = (struct piece){.due = now_ms() + link->delay + chance(link->jitter), .length = (size_t)length};
    if (chance(100) < link->lose)
        piece->due += 200 + chance(800);
    memcpy(piece->bytes, bytes, (size_t)length);
    *c->tail[side] = piece;
    c->tail[side] = &piece->next;
    c->queued[side] += piece->length;
}

/* Passes on what is due. Returns when the next piece is, or −1. */
static long long pass(struct connection *c, int side, long long now)
{
    int to = c->fd[1 - side];
    if (c->link->hold[side] || to < 0)
        return -1;
    while (c->head[side]) {
        struct piece *piece = c->head[side];
        if (piece->due > now)
            return piece->due;
        ssize_t sent = write(to, piece->bytes + piece->sent, piece->length - piece->sent);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN))
            return now + 1;
        if (sent < 0) {
            reset(c);
            return -1;
        }
        piece->sent += (size_t)sent;
        if (piece->sent < piece->length)
            continue;
        c->head[side] = piece->next;
        if (!c->head[side])
            c->tail[side] = &c->head[side];
        c->queued[side] -= piece->length;
        free(piece);
    }
    if (c->end[side] && !c->ended[side]) {
        (void)shutdown(to, SHUT_WR);
        c->ended[side] = true;
    }
    return -1;
}

/* All connections: what is due goes on. Returns how long to sleep. */
static int pass_all(void)
{
    long long now = now_ms(), wake = now + 1000;
    for (struct connection *c = connections, *next; c; c = next) {
        next = c->next;
        for (int side = 0; side < 2 && !c->dead; side++) {
            long long due = pass(c, side, now);
            if (due >= 0 && due < wake)
                wake = due;
        }
        if (!c->dead && c->ended[UP] && c->ended[DOWN])
            reset(c);
        if (c->dead) {
            release(c);
            continue;
        }
        watch(c, 0);
        watch(c, 1);
    }
    return (int)(wake > now ? wake - now : 0);
}

/* ---- commands ------------------------------------------------------------------------------------------------------
 */

static bool named(const struct link *link, const char *name)
{
    size_t length = strlen(name);
    if (length && name[length - 1] == '*')
        return !strncmp(link->name, name, length - 1);
    return !strcmp(link->name, name);
}

static void reset_all(const struct link *link)
{
    for (struct connection *c = connections; c; c = c->next)
        if (c->link == link && !c->dead)
            reset(c);
}

static void flow(struct link *link)
{
    link->hold[UP] = link->hold[DOWN] = link->refuse = false;
    link->delay = link->jitter = link->lose = link->swallow = link->catch_what = 0;
    for (struct connection *c = connections; c; c = c->next)
        if (c->link == link && !c->dead && c->fd[1] < 0)
            dial(c);
}

static bool obey(struct link *link, const char *verb, const char *a, const char *b)
{
    if (!strcmp(verb, "flow")) {
        flow(link);
    } else if (!strcmp(verb, "hold")) {
        link->hold[UP] |= strcmp(a, "down") != 0;
        link->hold[DOWN] |= strcmp(a, "up") != 0;
    } else if (!strcmp(verb, "refuse") || !strcmp(verb, "reset")) {
        link->refuse = !strcmp(verb, "refuse");
        reset_all(link);
    } else if (!strcmp(verb, "slow")) {
        link->delay = atoi(a);
        link->jitter = atoi(b);
    } else if (!strcmp(verb, "lose")) {
        link->lose = atoi(a);
    } else if (!strcmp(verb, "swallow")) {
        link->swallow = atoi(a);
    } else if (!strcmp(verb, "catch")) {
        link->catch_where = strcmp(a, "before") ? DOWN : UP;
        link->catch_what = !strcmp(b, "call") ? CATCH_CALL : !strcmp(b, "claim") ? CATCH_CLAIM : CATCH_COMMIT;
    } else {
        return false;
    }
    return true;
}

static void command(char *line)
{
    char *rest = line, *words[4] = {strsep(&rest, " "), NULL, NULL, NULL};
    int found = 0;
    for (int i = 1; i < 4; i++)
        words[i] = rest ? strsep(&rest, " ") : NULL;
    for (int i = 0; i < link_count; i++)
        if (words[1] && named(&links[i], words[0]) &&
            obey(&links[i], words[1], words[2] ? words[2] : "", words[3] ? words[3] : ""))
            found++;
    (void)printf(found ? "ok\n" : "no such link or command: %s\n", words[0]);
    (void)fflush(stdout);
}

static bool read_commands(void)
{
    static char text[4096];
    static size_t filled;
    ssize_t length = read(STDIN_FILENO, text + filled, sizeof text - 1 - filled);
    if (length <= 0)
        return false;
    filled += (size_t)length;
    text[filled] = '\0';
    char *line = text, *end;
    while ((end = strchr(line, '\n'))) {
        *end = '\0';
        command(line);
        line = end + 1;
    }
    filled = strlen(line);
    memmove(text, line, filled);
    return filled < sizeof text - 1;
}

/* ---- start ---------------------------------------------------------------------------------------------------------
 */

static void parse_end(const char *text, struct end *ret)
{
    const char *colon = strchr(text, ':');
    if (colon)
        (void)snprintf(ret->space, sizeof ret->space, "%.*s", (int)(colon - text), text);
    ret->port = atoi(colon ? colon + 1 : text);
}

static bool open_link(char *text)
{
    struct link *link = &links[link_count];
    char *name = strsep(&text, ","), *from = strsep(&text, ","), *to = strsep(&text, ",");
    if (link_count == LINKS || !to)
        return false;
    (void)snprintf(link->name, sizeof link->name, "%s", name);
    parse_end(from, &link->listen);
    parse_end(to, &link->target);
    link->fd = socket_in(&link->listen);
    struct sockaddr_in address = address_of(&link->listen);
    if (bind(link->fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(link->fd, 512) != 0) {
        perror(name);
        return false;
    }
    /* Tags of links are small numbers with both low bits set; connections are aligned addresses. */
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (unsigned long long)link_count << 2 | 3};
    link_count++;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, link->fd, &event) == 0;
}

static void handle(const struct epoll_event *event)
{
    unsigned long long tag = event->data.u64;
    if ((tag & 3) == 3) {
        take(&links[tag >> 2]);
        return;
    }
    struct connection *c = (struct connection *)(size_t)(tag & ~3ULL);
    int side = (int)(tag & 3);
    if (!c->dead && c->fd[side] >= 0 && (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !c->end[side])
        read_some(c, side);
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    (void)signal(SIGPIPE, SIG_IGN);
    home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 1; i < argc; i++)
        if (!open_link(argv[i])) {
            (void)fprintf(stderr, "bench_proxy: %s cannot be opened\n", argv[i]);
            return 1;
        }
    struct epoll_event input = {.events = EPOLLIN, .data.u64 = 2};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input);
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (;;) {
        int wait = pass_all();
        int count = epoll_wait(epoll, events, EVENTS, wait);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == 2) {
                if (!read_commands())
                    return 0;
            } else {
                handle(&events[i]);
            }
        }
    }
}
