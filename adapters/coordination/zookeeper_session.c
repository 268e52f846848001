#include "adapters/coordination/zookeeper_session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/coordination/zookeeper_log.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"

#define RESOLUTION_DELAY_MS 60000 /* the client would otherwise resolve its hosts for every single operation */
#define HEARTBEATS 6              /* of the loop in one session timeout */
#define PROBE_NAPS 30             /* tenths of a second for a stranger to be let in */
#define KEEPER_TICKS 12           /* looks of the watchdog in one session timeout */

/* One handle's life. The client's callbacks carry it, so that an old handle cannot speak for a new one. */
struct era {
    struct session *session;
    int64_t number;
};

struct session_watch {
    struct session *session;
    int number;
};

struct request;

struct session {
    struct loop *loop;
    struct session_options options;
    char *hosts, *auth;
    struct session_watch watches[SESSION_WATCHES];
    struct loop_timer *heartbeat;
    /* the loop's thread */
    bool closed;
    int64_t id;
    /* any thread, atomic */
    span granted;
    int64_t holds; /* who may still touch this: requests under way, posts, the owner */
    int64_t beat;  /* mono ms of the loop's last heartbeat */
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t keeper;
    zhandle_t *handle;
    struct era *era; /* of `handle`, or of the one being made */
    int64_t number;  /* of the era that the loop wants */
    bool wanted, quit;
    int64_t away_since;   /* mono ms of the handle's last disconnection; 0 = connected, or never was */
    struct request *sent; /* the client owes their completions */
};

/* One request from its call until its reply has been told. */
struct request {
    struct session *session;
    struct request *next, **link; /* in session->sent while the client has it; under lock */
    int64_t era;
    session_on_reply on_reply;
    struct session_reply reply;
    char *data;
    char **names;
};

static void session_hold(struct session *session)
{
    (void)__atomic_add_fetch(&session->holds, 1, __ATOMIC_ACQ_REL);
}

static void session_let_go(struct session *session)
{
    if (__atomic_sub_fetch(&session->holds, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    pthread_mutex_destroy(&session->lock);
    pthread_cond_destroy(&session->changed);
    free(session->hosts);
    free(session->auth);
    free(session);
}

/* ---- states and watches: client thread → loop ---------------------------------------------------------------------
 */

struct notice {
    struct session *session;
    int64_t era; /* −1 = any */
    enum session_state state;
    int watch; /* −1 = it is a state */
    int64_t id;
    span granted;
};

static bool era_is_present(struct session *session, int64_t number)
{
    pthread_mutex_lock(&session->lock);
    bool present = session->number == number;
    pthread_mutex_unlock(&session->lock);
    return present;
}

static void on_notice(void *context)
{
    struct notice *notice = context;
    struct session *session = notice->session;
    if (!session->closed && notice->watch >= 0) {
        session->options.on_watch(session->options.context, notice->watch);
    } else if (!session->closed && era_is_present(session, notice->era)) {
        if (notice->state == SESSION_CONNECTED) {
            session->id = notice->id;
            __atomic_store_n(&session->granted, notice->granted, __ATOMIC_RELEASE);
        }
        session->options.on_state(session->options.context, notice->state);
    }
    session_let_go(session);
    free(notice);
}

static void notice_post(struct session *session, struct notice notice)
{
    struct notice *copy = mem_new(struct notice);
    *copy = notice;
    copy->session = session;
    session_hold(session);
    loop_post(session->loop, on_notice, copy);
}

static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    const struct session_watch *watch = context;
    (void)handle;
    (void)state;
    (void)path;
    if (type != ZOO_SESSION_EVENT) /* states come to the watcher of the handle */
        notice_post(watch->session, (struct notice){.watch = watch->number});
}

static void on_session_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    const struct era *era = context;
    struct session *session = era->session;
    struct notice notice = {.era = era->number, .watch = -1};
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    if (state == ZOO_CONNECTED_STATE) {
        notice.state = SESSION_CONNECTED;
        notice.id = zoo_client_id(handle)->client_id;
        notice.granted = zoo_recv_timeout(handle);
        pthread_mutex_lock(&session->lock);
        if (session->era == era) {
            session->handle = handle; /* this event may come before zookeeper_init has returned */
            session->away_since = 0;
        }
        pthread_mutex_unlock(&session->lock);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        notice.state = SESSION_ENDED;
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        notice.state = SESSION_AUTH_FAILED;
    } else {
        notice.state = SESSION_DISCONNECTED;
        pthread_mutex_lock(&session->lock);
        if (session->era == era && !session->away_since)
            session->away_since = loop_clock().mono.ms;
        pthread_mutex_unlock(&session->lock);
    }
    notice_post(session, notice);
}

/* ---- requests that the client has; under lock ----------------------------------------------------------------------
 */

static void request_link(struct request *request)
{
    struct session *session = request->session;
    request->next = session->sent;
    request->link = &session->sent;
    if (session->sent)
        session->sent->link = &request->next;
    session->sent = request;
}

static void request_unlink(struct request *request)
{
    if (!request->link)
        return;
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    request->next = NULL;
    request->link = NULL;
}

/* ---- keeper -------------------------------------------------------------------------------------------------------
 */

static void on_auth(int rc, const void *data)
{
    (void)rc; /* a refusal arrives as the state AUTH_FAILED */
    (void)data;
}

/* With the lock held at entry and exit, but not while the client resolves names. */
static void keeper_open(struct session *session)
{
    struct era *era = mem_new(struct era);
    era->session = session;
    era->number = session->number;
    session->era = era;
    pthread_mutex_unlock(&session->lock);
    zookeeper_log_target(session->loop, session->options.sink);
    zhandle_t *handle = zookeeper_init2(session->hosts, on_session_event, (int)session->options.timeout, NULL, era, 0,
                                        zookeeper_log_line);
    if (handle) {
        (void)zoo_set_servers_resolution_delay(handle, RESOLUTION_DELAY_MS);
        if (session->auth && *session->auth)
            (void)zoo_add_auth(handle, "digest", session->auth, (int)strlen(session->auth), on_auth, NULL);
    }
    pthread_mutex_lock(&session->lock);
    session->handle = handle;
    session->wanted = session->wanted && session->number != era->number; /* another one was asked for meanwhile */
    if (!handle) {
        session->era = NULL;
        notice_post(session, (struct notice){.era = era->number, .watch = -1, .state = SESSION_UNREACHABLE});
        free(era);
    }
}

static void request_end(struct request *request, int rc, const struct Stat *stat);

/* The client forgets some completions when it is closed, and its threads have ended by now: nobody else will answer. */
static void requests_abandon(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    while (session->sent) {
        struct request *request = session->sent;
        request_unlink(request);
        pthread_mutex_unlock(&session->lock);
        request_end(request, ZCLOSING, NULL);
        pthread_mutex_lock(&session->lock);
    }
    pthread_mutex_unlock(&session->lock);
}

/* Closing ends the session at once, so its nodes go without waiting for the timeout. Lock as above. */
static void keeper_shut(struct session *session)
{
    zhandle_t *handle = session->handle;
    struct era *era = session->era;
    session->handle = NULL;
    session->era = NULL;
    session->away_since = 0;
    pthread_mutex_unlock(&session->lock);
    (void)zookeeper_close(handle);
    free(era);
    requests_abandon(session);
    pthread_mutex_lock(&session->lock);
}

/* The client's threads ping on while the loop hangs, so the session would never end and nobody could take over. But if
 * this thread itself has not run for a while, the whole process was stopped: the loop gets its chance to beat first. */
static bool keeper_sees_hang(struct session *session, int64_t *last_look)
{
    span timeout = session_timeout(session);
    int64_t now = loop_clock().mono.ms, looked = *last_look;
    *last_look = now;
    if (now - looked > 3 * timeout / KEEPER_TICKS)
        return false;
    return now - __atomic_load_n(&session->beat, __ATOMIC_ACQUIRE) > timeout / 2;
}

/* Strangers are welcome, we are not: so it is with a service that was wiped, which turns away whoever has seen a later
 * transaction than its last, for ever. */
struct estrangement {
    int64_t probed_at;
    int welcomes; /* in a row */
};

static void on_probe_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        __atomic_store_n((int *)context, state, __ATOMIC_RELEASE);
}

static bool probe_is_welcome(struct session *session)
{
    const struct timespec nap = {.tv_nsec = 100000000};
    int state = 0;
    zhandle_t *handle = zookeeper_init2(session->hosts, on_probe_event, (int)session->options.timeout, NULL, &state, 0,
                                        zookeeper_log_line);
    for (int i = 0; handle && i < PROBE_NAPS && __atomic_load_n(&state, __ATOMIC_ACQUIRE) != ZOO_CONNECTED_STATE; i++)
        (void)nanosleep(&nap, NULL);
    bool welcome = __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ZOO_CONNECTED_STATE;
    if (handle)
        (void)zookeeper_close(handle);
    return welcome;
}

/* Twice in a row, a session's time apart: our session is over by then, whatever the reason. Lock as above. */
static bool keeper_sees_estrangement(struct session *session, struct estrangement *e)
{
    int64_t now = loop_clock().mono.ms, away = session->away_since, timeout = session_timeout(session);
    if (!away || now - away < 2 * timeout || now - e->probed_at < timeout)
        return false;
    e->welcomes = e->probed_at < away ? 0 : e->welcomes;
    pthread_mutex_unlock(&session->lock);
    bool welcome = probe_is_welcome(session);
    pthread_mutex_lock(&session->lock);
    e->probed_at = loop_clock().mono.ms;
    e->welcomes = welcome ? e->welcomes + 1 : 0;
    return session->handle && session->away_since == away && e->welcomes >= 2;
}

static void keeper_wait(struct session *session)
{
    struct timespec until;
    span tick = session->options.timeout / KEEPER_TICKS;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(tick / 1000);
    until.tv_nsec += (long)(tick % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&session->changed, &session->lock, &until);
}

static void *keeper_run(void *context)
{
    struct session *session = context;
    int64_t last_look = loop_clock().mono.ms;
    struct estrangement strange = {0};
    pthread_mutex_lock(&session->lock);
    while (!session->quit) {
        if (session->handle && session->era->number != session->number) {
            keeper_shut(session);
        } else if (session->wanted && !session->handle) {
            keeper_open(session);
        } else if (session->handle &&
                   (keeper_sees_hang(session, &last_look) || keeper_sees_estrangement(session, &strange))) {
            int64_t number = session->era->number;
            keeper_shut(session);
            notice_post(session, (struct notice){.era = number, .watch = -1, .state = SESSION_ENDED});
        } else {
            keeper_wait(session);
        }
    }
    if (session->handle)
        keeper_shut(session);
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

static void on_heartbeat(void *context)
{
    struct session *session = context;
    __atomic_store_n(&session->beat, loop_clock().mono.ms, __ATOMIC_RELEASE);
    loop_timer_start(session->heartbeat, session->options.timeout / HEARTBEATS);
}

struct session *session_create(struct loop *loop, const struct session_options *options)
{
    struct session *session = mem_new(struct session);
    pthread_condattr_t attributes;
    session->loop = loop;
    session->options = *options;
    session->hosts = mem_copy_text(options->hosts);
    session->auth = mem_copy_text(options->auth);
    session->holds = 1;
    for (int i = 0; i < SESSION_WATCHES; i++)
        session->watches[i] = (struct session_watch){.session = session, .number = i};
    pthread_mutex_init(&session->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&session->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    session->heartbeat = loop_timer_create(loop, on_heartbeat, session);
    on_heartbeat(session);
    if (pthread_create(&session->keeper, NULL, keeper_run, session)) {
        (void)fputs("carillon: cannot start a thread for ZooKeeper\n", stderr);
        abort();
    }
    return session;
}

/* Every handle of an earlier number is closed by the keeper. */
static void session_next(struct session *session, bool wanted)
{
    __atomic_store_n(&session->beat, loop_clock().mono.ms, __ATOMIC_RELEASE);
    pthread_mutex_lock(&session->lock);
    session->number++;
    session->wanted = wanted;
    pthread_cond_signal(&session->changed);
    pthread_mutex_unlock(&session->lock);
    session->id = 0;
}

void session_open(struct session *session)
{
    session_next(session, true);
}

void session_drop(struct session *session)
{
    session_next(session, false);
}

void session_close(struct session *session)
{
    session->closed = true;
    pthread_mutex_lock(&session->lock);
    session->quit = true;
    session->number++;
    pthread_cond_signal(&session->changed);
    pthread_mutex_unlock(&session->lock);
    pthread_join(session->keeper, NULL);
    zookeeper_log_forget(session->loop);
    loop_timer_free(session->heartbeat);
}

void session_free(struct session *session)
{
    session_let_go(session); /* freed when the last reply under way has been dropped */
}

bool session_client(struct session *session, clientid_t *ret)
{
    pthread_mutex_lock(&session->lock);
    bool there = session->handle && session->id != 0;
    if (there)
        *ret = *zoo_client_id(session->handle);
    pthread_mutex_unlock(&session->lock);
    return there;
}

int64_t session_id(const struct session *session)
{
    return session->id;
}

span session_timeout(const struct session *session)
{
    span granted = __atomic_load_n(&session->granted, __ATOMIC_ACQUIRE); /* the keeper asks, too */
    return granted > 0 ? granted : session->options.timeout;
}

/* ---- requests: loop → client → loop -------------------------------------------------------------------------------
 */

static void request_free(struct request *request)
{
    for (size_t i = 0; i < request->reply.name_count; i++)
        free(request->names[i]);
    free(request->names);
    free(request->data);
    session_let_go(request->session);
    free(request);
}

static void on_reply(void *context)
{
    struct request *request = context;
    struct session *session = request->session;
    if (!session->closed && era_is_present(session, request->era)) {
        request->reply.data = request->data;
        request->reply.names = request->names;
        request->on_reply(session->options.context, &request->reply);
    }
    request_free(request);
}

static void request_end(struct request *request, int rc, const struct Stat *stat)
{
    request->reply.rc = rc;
    if (rc == ZOK && stat)
        request->reply.stat = *stat;
    loop_post(request->session->loop, on_reply, request);
}

static struct request *request_new(struct session *session, session_on_reply reply, int64_t number)
{
    struct request *request = mem_new(struct request);
    session_hold(session);
    request->session = session;
    request->on_reply = reply;
    request->reply.number = number;
    return request;
}

/* On a thread of the client. */
static void request_complete(struct request *request, int rc, const struct Stat *stat)
{
    struct session *session = request->session;
    pthread_mutex_lock(&session->lock);
    request_unlink(request);
    pthread_mutex_unlock(&session->lock);
    request_end(request, rc, stat);
}

static void on_created(int rc, const char *path, const struct Stat *stat, const void *data)
{
    (void)path;
    request_complete((struct request *)(uintptr_t)data, rc, stat);
}

static void on_got(int rc, const char *value, int length, const struct Stat *stat, const void *data)
{
    struct request *request = (struct request *)(uintptr_t)data;
    if (rc == ZOK && value && length >= 0) {
        request->data = mem_copy(value, (size_t)length);
        request->reply.length = (size_t)length;
    }
    request_complete(request, rc, stat);
}

static void on_children(int rc, const struct String_vector *names, const struct Stat *stat, const void *data)
{
    struct request *request = (struct request *)(uintptr_t)data;
    if (rc == ZOK && names && names->count > 0) {
        request->names = mem_alloc((size_t)names->count * sizeof(char *));
        for (int32_t i = 0; i < names->count; i++)
            request->names[i] = mem_copy_text(names->data[i]);
        request->reply.name_count = (size_t)names->count;
    }
    request_complete(request, rc, stat);
}

static void on_set(int rc, const struct Stat *stat, const void *data)
{
    request_complete((struct request *)(uintptr_t)data, rc, stat);
}

static void on_deleted(int rc, const void *data)
{
    request_complete((struct request *)(uintptr_t)data, rc, NULL);
}

/* Sends with `expression` (uses `handle` and `request`), under the lock that keeps the handle alive. */
#define SEND(session, request, expression)                         \
    do {                                                           \
        int rc_ = ZINVALIDSTATE;                                   \
        pthread_mutex_lock(&(session)->lock);                      \
        zhandle_t *handle = (session)->handle;                     \
        (request)->era = (session)->number;                        \
        request_link(request);                                     \
        if (handle && (session)->era->number == (session)->number) \
            rc_ = (expression);                                    \
        if (rc_ != ZOK) /* the completion will not be called */    \
            request_unlink(request);                               \
        pthread_mutex_unlock(&(session)->lock);                    \
        if (rc_ != ZOK)                                            \
            request_end(request, rc_, NULL);                       \
    } while (0)

void session_create_node(struct session *session, const char *path, const char *data, int flags, session_on_reply reply,
                         int64_t number)
{
    struct request *request = request_new(session, reply, number);
    const struct ACL_vector *acl = session->auth && *session->auth ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
    SEND(session, request, zoo_acreate2(handle, path, data, (int)strlen(data), acl, flags, on_created, request));
}

void session_get(struct session *session, const char *path, int watch, session_on_reply reply, int64_t number)
{
    struct request *request = request_new(session, reply, number);
    watcher_fn watcher = watch < 0 ? NULL : on_watch;
    void *context = watch < 0 ? NULL : &session->watches[watch];
    SEND(session, request, zoo_awget(handle, path, watcher, context, on_got, request));
}

void session_children(struct session *session, const char *path, int watch, session_on_reply reply, int64_t number)
{
    struct request *request = request_new(session, reply, number);
    watcher_fn watcher = watch < 0 ? NULL : on_watch;
    void *context = watch < 0 ? NULL : &session->watches[watch];
    SEND(session, request, zoo_awget_children2(handle, path, watcher, context, on_children, request));
}

void session_set(struct session *session, const char *path, const char *data, session_on_reply reply, int64_t number)
{
    struct request *request = request_new(session, reply, number);
    SEND(session, request, zoo_aset(handle, path, data, (int)strlen(data), -1, on_set, request));
}

void session_delete(struct session *session, const char *path, session_on_reply reply, int64_t number)
{
    struct request *request = request_new(session, reply, number);
    SEND(session, request, zoo_adelete(handle, path, -1, on_deleted, request));
}

void session_defer(struct session *session, session_on_reply reply, int64_t number)
{
    struct request *request = request_new(session, reply, number);
    request->era = session->number; /* only this thread changes it */
    request_end(request, ZINVALIDSTATE, NULL);
}
