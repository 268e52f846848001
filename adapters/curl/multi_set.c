#include "adapters/curl/multi_set.h"

#include <stdlib.h>

#include "adapters/loop/loop_uv.h"
#include "core/base/mem.h"

/* A further multi is used for every so many transfers: less than MULTI_TRANSFERS, so that the least loaded one always
 * has room. Few at low load, or each would keep connections of its own to the same instance. */
#define MULTI_SPREAD 96

struct multi {
    struct multi_set *set;
    CURLM *curl;
    size_t in_flight;
    uv_timer_t timer;
};

struct multi_set {
    struct loop *loop;
    struct multi **multis; /* made when first needed */
    size_t multi_max, in_flight;
    void (*on_done)(void *context, CURL *easy, CURLcode code);
    void (*on_idle)(void *context);
    void *context;
};

/* A socket that a multi wants watched. */
struct watch {
    uv_poll_t poll;
    struct multi *multi;
    curl_socket_t fd;
    int events; /* of libuv */
};

static void multi_collect(struct multi *multi)
{
    struct multi_set *set = multi->set;
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi->curl, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result; /* before the removal: it frees the message */
        multi_remove(multi, easy);
        set->on_done(set->context, easy, code);
    }
    set->on_idle(set->context);
}

static void multi_act(struct multi *multi, curl_socket_t fd, int events)
{
    int running;
    (void)curl_multi_socket_action(multi->curl, fd, events, &running);
    multi_collect(multi);
}

static void on_timeout(uv_timer_t *timer)
{
    multi_act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* An error on the socket is not told as one: curl would drop an answer that arrived before the reset. It reads first
 * and meets the error itself, which also names it better. libuv has stopped watching then. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    const struct watch *watch = poll->data;
    int flags = status < 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : 0;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    multi_act(watch->multi, watch->fd, flags);
    if (status < 0 && !uv_is_closing((uv_handle_t *)poll) && !uv_is_active((uv_handle_t *)poll))
        (void)uv_poll_start(poll, watch->events, on_poll);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* curl: "tell me by socket_action after this time"; −1 = never. Must not call back into curl, hence the 0 ms timer. */
static int on_curl_timer(CURLM *curl, long timeout_ms, void *context)
{
    struct multi *multi = context;
    (void)curl;
    if (timeout_ms < 0)
        return uv_timer_stop(&multi->timer);
    uv_update_time(multi->timer.loop);
    return uv_timer_start(&multi->timer, on_timeout, (uint64_t)timeout_ms, 0);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *assigned)
{
    struct multi *multi = context;
    struct watch *watch = assigned;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            uv_close((uv_handle_t *)&watch->poll, on_closed);
        (void)curl_multi_assign(multi->curl, fd, NULL);
        return 0;
    }
    if (!watch) {
        watch = mem_new(struct watch);
        watch->multi = multi;
        watch->fd = fd;
        if (uv_poll_init_socket(loop_uv(multi->set->loop), &watch->poll, fd)) {
            free(watch);
            return -1;
        }
        watch->poll.data = watch;
        (void)curl_multi_assign(multi->curl, fd, watch);
    }
    watch->events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watch->poll, watch->events, on_poll) ? -1 : 0;
}

static struct multi *multi_create(struct multi_set *set)
{
    struct multi *multi = mem_new(struct multi);
    multi->set = set;
    multi->curl = curl_multi_init();
    if (!multi->curl) {
        free(multi);
        return NULL;
    }
    (void)uv_timer_init(loop_uv(set->loop), &multi->timer);
    multi->timer.data = multi;
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    /* As many idle connections as transfers: with fewer, keep-alive collapses under load. */
    (void)curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)MULTI_TRANSFERS);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return multi;
}

static struct multi *multi_choose(struct multi_set *set)
{
    size_t wanted = set->in_flight / MULTI_SPREAD + 1;
    struct multi *best = NULL;
    if (wanted > set->multi_max)
        wanted = set->multi_max;
    for (size_t i = 0; i < wanted; i++) {
        if (!set->multis[i])
            set->multis[i] = multi_create(set);
        struct multi *multi = set->multis[i];
        if (multi && (!best || multi->in_flight < best->in_flight))
            best = multi;
    }
    return best;
}

struct multi *multi_add(struct multi_set *set, CURL *easy)
{
    struct multi *multi = multi_choose(set);
    if (!multi || curl_multi_add_handle(multi->curl, easy) != CURLM_OK)
        return NULL;
    multi->in_flight++;
    set->in_flight++;
    return multi;
}

void multi_remove(struct multi *multi, CURL *easy)
{
    (void)curl_multi_remove_handle(multi->curl, easy);
    multi->in_flight--;
    multi->set->in_flight--;
}

struct multi_set *multi_set_create(struct loop *loop, size_t max_transfers,
                                   void (*on_done)(void *context, CURL *easy, CURLcode code),
                                   void (*on_idle)(void *context), void *context)
{
    struct multi_set *set = mem_new(struct multi_set);
    set->loop = loop;
    set->multi_max = max_transfers / MULTI_SPREAD + 1;
    set->multis = mem_alloc(set->multi_max * sizeof(struct multi *));
    set->on_done = on_done;
    set->on_idle = on_idle;
    set->context = context;
    return set;
}

void multi_set_free(struct multi_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->multi_max; i++) {
        struct multi *multi = set->multis[i];
        if (!multi)
            continue;
        (void)curl_multi_cleanup(multi->curl);
        uv_close((uv_handle_t *)&multi->timer, on_closed);
    }
    free(set->multis);
    free(set);
}
