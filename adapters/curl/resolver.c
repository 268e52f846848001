#include "adapters/curl/resolver.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/loop/loop.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define HOST_SIZE 256
#define ADDRESSES_MAX 1024              /* bytes of text: some twenty addresses */
#define FRESH (30 * SPAN_SECOND)        /* used without a question */
#define USABLE (5 * SPAN_MINUTE)        /* used while a refresh is under way, or fails */
#define REFRESH_PAUSE (2 * SPAN_SECOND) /* between lookups of one name */
#define NAMES_MAX 4096

struct resolver_name {
    char host[HOST_SIZE]; /* key, lower case */
    char *addresses;      /* NULL = none yet */
    mono learned, tried;
    bool asking; /* a lookup is under way or queued */
    struct resolver_wait *waits;
    struct resolver_name *next_queued;
    UT_hash_handle hh;
};

/* Threads outlive the resolver when a name server is slow: what they post goes through this gate. */
struct gate {
    pthread_mutex_t lock;
    struct resolver *resolver; /* NULL = closed */
    struct loop *loop;
    size_t references; /* under lock */
};

struct resolver {
    struct loop *loop;
    struct gate *gate;
    struct resolver_name *names;
    struct resolver_name *queue, **queue_end;
    size_t threads;
};

struct lookup {
    struct gate *gate;
    char host[HOST_SIZE];
    char addresses[ADDRESSES_MAX];
    int code; /* of getaddrinfo */
};

/* ---- URLs ---------------------------------------------------------------------------------------------------------
 */

bool resolver_url_host(const char *url, char *host, size_t size, int *ret_port)
{
    bool tls = strncasecmp(url, "https://", 8) == 0;
    if (!tls && strncasecmp(url, "http://", 7) != 0)
        return false;
    const char *at = url + (tls ? 8 : 7);
    size_t length = strcspn(at, ":/?#");
    int port = tls ? 443 : 80;
    if (length == 0 || length >= size || strspn(at, "0123456789.") >= length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)at[i]) && at[i] != '-' && at[i] != '.' && at[i] != '_')
            return false; /* user names, escapes, other alphabets, [v6] */
        host[i] = (char)tolower((unsigned char)at[i]);
    }
    host[length] = '\0';
    if (at[length] == ':') {
        char *end;
        long number = strtol(at + length + 1, &end, 10);
        if (number < 1 || number > 65535 || (*end && !strchr("/?#", *end)))
            return false;
        port = (int)number;
    }
    *ret_port = port;
    bool local = strcmp(host, "localhost") == 0 || (length > 10 && strcmp(host + length - 10, ".localhost") == 0);
    return !local && host[length - 1] != '.';
}

/* ---- lookups ------------------------------------------------------------------------------------------------------
 */

/* Under its lock, which it gives back. */
static void gate_leave(struct gate *gate)
{
    bool last = --gate->references == 0;
    pthread_mutex_unlock(&gate->lock);
    if (last) {
        pthread_mutex_destroy(&gate->lock);
        free(gate);
    }
}

static void addresses_write(const struct addrinfo *found, char ret[ADDRESSES_MAX])
{
    size_t length = 0;
    for (; found; found = found->ai_next) {
        char text[INET6_ADDRSTRLEN + 1];
        bool six = found->ai_family == AF_INET6;
        if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) ||
            strchr(text, '%') || length + strlen(text) + 4 > ADDRESSES_MAX)
            continue;
        length += (size_t)snprintf(ret + length, ADDRESSES_MAX - length, "%s%s%s%s", length ? "," : "", six ? "[" : "",
                                   text, six ? "]" : "");
    }
}

static void on_looked_up(void *context);

static void *lookup_run(void *context)
{
    struct lookup *lookup = context;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    lookup->code = getaddrinfo(lookup->host, NULL, &hints, &found);
    if (lookup->code == 0) {
        addresses_write(found, lookup->addresses);
        freeaddrinfo(found);
        if (!lookup->addresses[0])
            lookup->code = EAI_NONAME;
    }
    struct gate *gate = lookup->gate;
    pthread_mutex_lock(&gate->lock);
    if (gate->resolver)
        loop_post(gate->loop, on_looked_up, lookup); /* keeps its reference until it is told */
    else
        free(lookup);
    if (gate->resolver)
        pthread_mutex_unlock(&gate->lock);
    else
        gate_leave(gate);
    return NULL;
}

static bool lookup_start(struct resolver *resolver, struct resolver_name *name)
{
    struct lookup *lookup = mem_new(struct lookup);
    pthread_attr_t attributes;
    pthread_t thread;
    lookup->gate = resolver->gate;
    memcpy(lookup->host, name->host, sizeof lookup->host);
    pthread_mutex_lock(&resolver->gate->lock);
    resolver->gate->references++;
    pthread_mutex_unlock(&resolver->gate->lock);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    bool started = pthread_create(&thread, &attributes, lookup_run, lookup) == 0;
    pthread_attr_destroy(&attributes);
    if (started) {
        resolver->threads++;
        return true;
    }
    pthread_mutex_lock(&resolver->gate->lock);
    resolver->gate->references--;
    pthread_mutex_unlock(&resolver->gate->lock);
    free(lookup);
    return false;
}

static void queue_advance(struct resolver *resolver)
{
    while (resolver->queue && resolver->threads < RESOLVER_THREADS) {
        struct resolver_name *name = resolver->queue;
        if (!lookup_start(resolver, name))
            return; /* no thread now: when one of the others ends */
        resolver->queue = name->next_queued;
        if (!resolver->queue)
            resolver->queue_end = &resolver->queue;
    }
}

static void name_ask(struct resolver *resolver, struct resolver_name *name)
{
    if (name->asking)
        return;
    name->asking = true;
    name->tried = loop_clock().mono;
    name->next_queued = NULL;
    *resolver->queue_end = name;
    resolver->queue_end = &name->next_queued;
    queue_advance(resolver);
}

static void name_answer(struct resolver_name *name, const char *error)
{
    while (name->waits) {
        struct resolver_wait *wait = name->waits;
        resolver_leave(wait);
        wait->done(wait, error);
    }
}

static void on_looked_up(void *context)
{
    struct lookup *lookup = context;
    struct gate *gate = lookup->gate;
    struct resolver_name *name = NULL;
    char error[400];
    pthread_mutex_lock(&gate->lock);
    struct resolver *resolver = gate->resolver;
    gate_leave(gate);
    if (resolver) {
        resolver->threads--;
        HASH_FIND_STR(resolver->names, lookup->host, name);
    }
    if (name) { /* always, but when memory was out while it was added; its calls then end by their time */
        name->asking = false;
        if (lookup->code == 0) {
            free(name->addresses);
            name->addresses = mem_copy_text(lookup->addresses);
            name->learned = loop_clock().mono;
        }
        (void)snprintf(error, sizeof error, "the host name \"%.200s\" does not resolve: %s", lookup->host,
                       gai_strerror(lookup->code));
        name_answer(name, lookup->code ? error : NULL);
    }
    if (resolver)
        queue_advance(resolver);
    free(lookup);
}

/* ---- names --------------------------------------------------------------------------------------------------------
 */

static void name_free(struct resolver *resolver, struct resolver_name *name)
{
    HASH_DEL(resolver->names, name);
    free(name->addresses);
    free(name);
}

/* Nobody asks for them, nobody has for long. */
static void names_prune(struct resolver *resolver)
{
    mono now = loop_clock().mono;
    struct resolver_name *name, *next;
    HASH_ITER(hh, resolver->names, name, next)
    {
        if (!name->asking && !name->waits && mono_sub(now, name->tried) > FRESH)
            name_free(resolver, name);
    }
}

static struct resolver_name *name_get(struct resolver *resolver, const char *host)
{
    struct resolver_name *name = NULL;
    HASH_FIND_STR(resolver->names, host, name);
    if (name)
        return name;
    if (HASH_COUNT(resolver->names) >= NAMES_MAX)
        names_prune(resolver);
    name = mem_new(struct resolver_name);
    (void)snprintf(name->host, sizeof name->host, "%s", host);
    HASH_ADD_STR(resolver->names, host, name);
    return name;
}

const char *resolver_find(struct resolver *resolver, const char *host)
{
    struct resolver_name *name = NULL;
    HASH_FIND_STR(resolver->names, host, name);
    if (!name || !name->addresses)
        return NULL;
    mono now = loop_clock().mono;
    span age = mono_sub(now, name->learned);
    if (age > USABLE)
        return NULL;
    if (age > FRESH && mono_sub(now, name->tried) > REFRESH_PAUSE)
        name_ask(resolver, name);
    return name->addresses;
}

void resolver_await(struct resolver *resolver, const char *host, struct resolver_wait *wait)
{
    struct resolver_name *name = name_get(resolver, host);
    wait->name = name;
    wait->previous = NULL;
    wait->next = name->waits;
    if (name->waits)
        name->waits->previous = wait;
    name->waits = wait;
    name_ask(resolver, name);
}

void resolver_leave(struct resolver_wait *wait)
{
    if (!wait->name)
        return;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        wait->name->waits = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
    wait->name = NULL;
}

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

struct resolver *resolver_create(struct loop *loop)
{
    struct resolver *resolver = mem_new(struct resolver);
    resolver->loop = loop;
    resolver->queue_end = &resolver->queue;
    resolver->gate = mem_new(struct gate);
    pthread_mutex_init(&resolver->gate->lock, NULL);
    resolver->gate->resolver = resolver;
    resolver->gate->loop = loop;
    resolver->gate->references = 1;
    return resolver;
}

void resolver_free(struct resolver *resolver)
{
    struct resolver_name *name, *next;
    if (!resolver)
        return;
    pthread_mutex_lock(&resolver->gate->lock);
    resolver->gate->resolver = NULL;
    gate_leave(resolver->gate);
    HASH_ITER(hh, resolver->names, name, next)
    {
        name_free(resolver, name);
    }
    free(resolver);
}
