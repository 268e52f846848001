#include "adapters/curl/dispatch_curl.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "adapters/curl/addresses.h"
#include "adapters/curl/multi_set.h"
#include "adapters/curl/resolver.h"
#include "adapters/curl/transfer.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"
#include "core/model/job.h"

#define BEATS 4 /* looks at the clock in the longest harmless pause */
#define IN_FLIGHT_DEFAULT 4096
#define QUEUE_DEFAULT 65536
#define BODY_BYTES_MAX ((size_t)256 << 20) /* answers under way, all together */
#define QUEUE_SWEEP SPAN_SECOND
#define HOST_SIZE 256
#define RESOLVED_SIZE 1400

/* [resolving ──▶] [queued ──▶] running ──▶ finished ──▶ done is called, the ticket is gone. cancel moves every other
 * state to finished. */
enum ticket_state { TICKET_RESOLVING, TICKET_QUEUED, TICKET_RUNNING, TICKET_FINISHED };

/* One call under way; call->adapter points here. */
struct ticket {
    struct ticket *next, *previous; /* in the list of its state */
    struct dispatch_curl *dispatch;
    struct resolver_wait wait; /* resolving */
    mono resolve_by;
    struct dispatch_call *call;
    struct transfer *transfer; /* running */
    enum ticket_state state;
    mono deadline; /* queued: when the attempt's time is over */
};

struct ticket_list {
    struct ticket *first, *last;
    size_t count;
};

struct dispatch_curl {
    struct dispatch dispatch; /* first: the face */
    struct loop *loop;
    char *user_agent, *ca_file;
    struct address_rules *rules;
    struct transfer_context shared;
    struct multi_set *multis;
    struct resolver *resolver;
    struct transfer *idle; /* handles for reuse */
    struct ticket_list resolving, queued, running, finished;
    size_t running_max, queued_max;
    bool closing;
    struct loop_notice *notice; /* something is in `finished` */
    struct loop_timer *sweep;   /* runs while something is queued */
    struct loop_timer *beat;    /* with pause_max: sees whether the loop runs */
    bool sweeping;
};

static void list_append(struct ticket_list *list, struct ticket *ticket)
{
    ticket->next = NULL;
    ticket->previous = list->last;
    if (list->last)
        list->last->next = ticket;
    else
        list->first = ticket;
    list->last = ticket;
    list->count++;
}

static void list_remove(struct ticket_list *list, struct ticket *ticket)
{
    if (ticket->previous)
        ticket->previous->next = ticket->next;
    else
        list->first = ticket->next;
    if (ticket->next)
        ticket->next->previous = ticket->previous;
    else
        list->last = ticket->previous;
    list->count--;
}

static void ticket_finish(struct dispatch_curl *d, struct ticket *ticket)
{
    ticket->state = TICKET_FINISHED;
    list_append(&d->finished, ticket);
}

static void ticket_refuse(struct dispatch_curl *d, struct ticket *ticket, enum dispatch_end end, const char *text)
{
    ticket->call->end = end;
    if (text)
        (void)snprintf(ticket->call->error, sizeof ticket->call->error, "%s", text);
    ticket_finish(d, ticket);
    loop_notice_send(d->notice);
}

/* Calls `done` of everything that has ended. A done may start or cancel others. */
static void finished_drain(struct dispatch_curl *d)
{
    while (d->finished.first) {
        struct ticket *ticket = d->finished.first;
        struct dispatch_call *call = ticket->call;
        list_remove(&d->finished, ticket);
        free(ticket);
        call->adapter = NULL;
        call->done(call);
    }
}

static struct transfer *transfer_take(struct dispatch_curl *d)
{
    struct transfer *transfer = d->idle;
    if (!transfer)
        return transfer_create(&d->shared);
    d->idle = transfer->next;
    return transfer;
}

static void transfer_give_back(struct dispatch_curl *d, struct transfer *transfer)
{
    transfer->next = d->idle;
    d->idle = transfer;
}

/* What curl needs to find the addresses of a URL without asking; NULL: it finds them itself (or there is no name). */
static const char *resolved_text(struct dispatch_curl *d, const char *url, char ret[RESOLVED_SIZE])
{
    char host[HOST_SIZE];
    int port;
    if (!resolver_url_host(url, host, sizeof host, &port))
        return NULL;
    const char *addresses = resolver_find(d->resolver, host);
    if (!addresses || snprintf(ret, RESOLVED_SIZE, "+%s:%d:%s", host, port, addresses) >= RESOLVED_SIZE)
        return NULL;
    return ret;
}

static void ticket_run(struct dispatch_curl *d, struct ticket *ticket)
{
    struct moment now = loop_moment(d->loop);
    struct dispatch_call *call = ticket->call;
    span left = mono_sub(ticket->deadline, now.mono);
    if (left <= 0) {
        ticket_refuse(d, ticket, DISPATCH_NOT_SENT, "waited too long behind other calls (dispatch.max_in_flight)");
        return;
    }
    struct transfer *transfer = transfer_take(d);
    if (!transfer) {
        ticket_refuse(d, ticket, DISPATCH_NOT_SENT, "out of memory");
        return;
    }
    char resolved[RESOLVED_SIZE];
    if (transfer_prepare(transfer, call, left, now.wall, resolved_text(d, call->url, resolved))) {
        transfer->multi = multi_add(d->multis, transfer->easy);
        if (transfer->multi) {
            ticket->transfer = transfer;
            ticket->state = TICKET_RUNNING;
            list_append(&d->running, ticket);
            return;
        }
        (void)snprintf(call->error, sizeof call->error, "the HTTP client refused the call");
    }
    char reason[sizeof call->error];
    memcpy(reason, call->error, sizeof reason);
    transfer_cancel(transfer);
    transfer_give_back(d, transfer);
    ticket_refuse(d, ticket, DISPATCH_NOT_SENT, reason);
}

static void queue_advance(struct dispatch_curl *d)
{
    while (d->queued.first && d->running.count < d->running_max) {
        struct ticket *ticket = d->queued.first;
        list_remove(&d->queued, ticket);
        ticket_run(d, ticket);
    }
}

static void on_transfer_done(void *context, CURL *easy, CURLcode code)
{
    struct dispatch_curl *d = context;
    char *private = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
    struct transfer *transfer = (struct transfer *)(void *)private;
    struct ticket *ticket = transfer->call->adapter;
    transfer_finish(transfer, code);
    transfer_give_back(d, transfer);
    list_remove(&d->running, ticket);
    ticket->transfer = NULL;
    ticket_finish(d, ticket);
}

static void on_round_end(void *context)
{
    struct dispatch_curl *d = context;
    if (d->finished.first) {
        queue_advance(d);
        finished_drain(d);
    }
}

static void sweep_want(struct dispatch_curl *d)
{
    if (!d->sweeping)
        loop_timer_start(d->sweep, QUEUE_SWEEP);
    d->sweeping = true;
}

static void ticket_cancel(struct dispatch_curl *d, struct ticket *ticket);

/* Calls that wait and whose time is over end even when nothing else does. */
static void on_sweep(void *context)
{
    struct dispatch_curl *d = context;
    mono now = loop_moment(d->loop).mono;
    struct ticket *ticket, *next;
    for (ticket = d->queued.first; ticket; ticket = next) {
        next = ticket->next;
        if (mono_cmp(ticket->deadline, now) <= 0) {
            list_remove(&d->queued, ticket);
            ticket_refuse(d, ticket, DISPATCH_NOT_SENT, "waited too long behind other calls (dispatch.max_in_flight)");
        }
    }
    for (ticket = d->resolving.first; ticket; ticket = next) {
        next = ticket->next;
        if (mono_cmp(ticket->resolve_by, now) <= 0) {
            resolver_leave(&ticket->wait);
            list_remove(&d->resolving, ticket);
            ticket_refuse(d, ticket, DISPATCH_NOT_SENT, "the lookup of the host name took too long");
        }
    }
    d->sweeping = false;
    if (d->queued.first || d->resolving.first)
        sweep_want(d);
}

/* At once when there is room, else behind the others. */
static void ticket_admit(struct dispatch_curl *d, struct ticket *ticket)
{
    if (d->running.count < d->running_max && !d->queued.first) {
        ticket_run(d, ticket);
        return;
    }
    ticket->state = TICKET_QUEUED;
    list_append(&d->queued, ticket);
    sweep_want(d);
}

static void on_resolved(struct resolver_wait *wait, const char *error)
{
    struct ticket *ticket = (struct ticket *)(void *)((char *)wait - offsetof(struct ticket, wait));
    struct dispatch_curl *d = ticket->dispatch;
    list_remove(&d->resolving, ticket);
    if (error)
        ticket_refuse(d, ticket, DISPATCH_NOT_SENT, error);
    else
        ticket_admit(d, ticket);
}

/* True: the host has a name whose addresses are not known yet. */
static bool ticket_resolve(struct dispatch_curl *d, struct ticket *ticket)
{
    const struct dispatch_call *call = ticket->call;
    span limit = call->connect_timeout > 0 ? call->connect_timeout : CONNECT_TIMEOUT_DEFAULT;
    char host[HOST_SIZE];
    int port;
    if (!resolver_url_host(call->url, host, sizeof host, &port) || resolver_find(d->resolver, host))
        return false;
    ticket->state = TICKET_RESOLVING;
    ticket->resolve_by = mono_min(ticket->deadline, mono_add(loop_moment(d->loop).mono, limit));
    ticket->wait.done = on_resolved;
    list_append(&d->resolving, ticket);
    resolver_await(d->resolver, host, &ticket->wait);
    sweep_want(d);
    return true;
}

/* ---- the port -----------------------------------------------------------------------------------------------------
 */

static void outputs_clear(struct dispatch_call *call)
{
    call->end = DISPATCH_NOT_SENT;
    call->http_status = 0;
    call->answer = NULL;
    call->answer_length = 0;
    call->content_type[0] = call->location[0] = call->error[0] = '\0';
    call->retry_after = -1;
    call->bytes_sent = 0;
    call->reused_connection = false;
    call->connect_ms = call->first_byte_ms = call->total_ms = -1;
}

static void curl_start(struct dispatch *dispatch, struct dispatch_call *call)
{
    struct dispatch_curl *d = (struct dispatch_curl *)dispatch;
    struct ticket *ticket = mem_new(struct ticket);
    outputs_clear(call);
    ticket->call = call;
    ticket->deadline = mono_add(loop_moment(d->loop).mono, call->timeout > 0 ? call->timeout : CALL_TIMEOUT_DEFAULT);
    call->adapter = ticket;
    ticket->dispatch = d;
    if (d->closing)
        ticket_refuse(d, ticket, DISPATCH_NOT_SENT, "shutting down");
    else if (d->queued.count + d->resolving.count >= d->queued_max)
        ticket_refuse(d, ticket, DISPATCH_NOT_SENT, "too many calls wait already (dispatch.max_in_flight)");
    else if (!ticket_resolve(d, ticket))
        ticket_admit(d, ticket);
}

static void ticket_cancel(struct dispatch_curl *d, struct ticket *ticket)
{
    if (ticket->state == TICKET_RUNNING) {
        struct transfer *transfer = ticket->transfer;
        multi_remove(transfer->multi, transfer->easy);
        transfer_cancel(transfer);
        transfer_give_back(d, transfer);
        ticket->transfer = NULL;
        list_remove(&d->running, ticket);
        ticket_refuse(d, ticket, DISPATCH_CANCELED, NULL);
    } else if (ticket->state == TICKET_QUEUED) {
        list_remove(&d->queued, ticket);
        ticket_refuse(d, ticket, DISPATCH_CANCELED, "canceled");
    } else if (ticket->state == TICKET_RESOLVING) {
        resolver_leave(&ticket->wait);
        list_remove(&d->resolving, ticket);
        ticket_refuse(d, ticket, DISPATCH_CANCELED, "canceled");
    }
}

static void curl_cancel(struct dispatch *dispatch, struct dispatch_call *call)
{
    struct ticket *ticket = call->adapter;
    if (ticket)
        ticket_cancel((struct dispatch_curl *)dispatch, ticket);
}

/* What was finished or has made room since the last event. */
static void on_notice(void *context)
{
    struct dispatch_curl *d = context;
    queue_advance(d);
    finished_drain(d);
}

static void on_beat(void *context)
{
    struct dispatch_curl *d = context;
    transfer_context_beat(&d->shared);
    loop_timer_start(d->beat, d->shared.pause_max / BEATS);
}

static size_t curl_in_flight(const struct dispatch *dispatch)
{
    const struct dispatch_curl *d = (const struct dispatch_curl *)dispatch;
    return d->resolving.count + d->running.count + d->queued.count + d->finished.count;
}

static void dispatch_release(struct dispatch_curl *d)
{
    multi_set_free(d->multis);
    resolver_free(d->resolver);
    while (d->idle) {
        struct transfer *transfer = d->idle;
        d->idle = transfer->next;
        transfer_free(transfer);
    }
    loop_notice_free(d->notice);
    loop_timer_free(d->sweep);
    loop_timer_free(d->beat);
    address_rules_free(d->rules);
    free(d->user_agent);
    free(d->ca_file);
    free(d);
    curl_global_cleanup();
}

static void curl_close(struct dispatch *dispatch)
{
    struct dispatch_curl *d = (struct dispatch_curl *)dispatch;
    d->closing = true;
    while (d->resolving.first)
        ticket_cancel(d, d->resolving.first);
    while (d->queued.first)
        ticket_cancel(d, d->queued.first);
    while (d->running.first)
        ticket_cancel(d, d->running.first);
    finished_drain(d);
    dispatch_release(d);
}

static const struct dispatch_ops curl_ops = {.name = "curl",
                                             .start = curl_start,
                                             .cancel = curl_cancel,
                                             .in_flight = curl_in_flight,
                                             .close = curl_close};

enum status dispatch_curl_create(struct loop *loop, const struct dispatch_curl_options *options, struct dispatch **ret,
                                 struct error *err)
{
    struct address_rules *rules = NULL;
    const struct address_options addresses = {
        .allow = options->allow, .deny = options->deny, .own = options->own, .loopback_ok = options->loopback_ok};
    enum status status = address_rules_create(&addresses, &rules, err);
    if (status)
        return status;
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
        address_rules_free(rules);
        return error_set(err, STATUS_UNAVAILABLE, "the HTTP client cannot be set up (libcurl)");
    }
    struct dispatch_curl *d = mem_new(struct dispatch_curl);
    d->dispatch.ops = &curl_ops;
    d->loop = loop;
    d->rules = rules;
    d->user_agent = mem_copy_text(options->user_agent ? options->user_agent : "carillon");
    d->ca_file = mem_copy_text(options->ca_file);
    d->running_max = options->max_in_flight ? options->max_in_flight : IN_FLIGHT_DEFAULT;
    d->queued_max = options->max_queue ? options->max_queue : QUEUE_DEFAULT;
    d->shared = (struct transfer_context){.rules = rules,
                                          .user_agent = d->user_agent,
                                          .ca_file = d->ca_file,
                                          .body_max = BODY_BYTES_MAX,
                                          .pause_max = options->pause_max,
                                          .beat = loop_clock().mono};
    d->multis = multi_set_create(loop, d->running_max, on_transfer_done, on_round_end, d);
    d->resolver = resolver_create(loop);
    d->notice = loop_notice_create(loop, on_notice, d);
    d->sweep = loop_timer_create(loop, on_sweep, d);
    d->beat = loop_timer_create(loop, on_beat, d);
    if (options->pause_max > 0)
        on_beat(d);
    *ret = &d->dispatch;
    return STATUS_OK;
}
