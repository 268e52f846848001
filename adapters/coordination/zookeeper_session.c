#include "adapters/coordination/zookeeper_session.h"

#include <stdio.h>
#include <stdlib.h>

#include "adapters/coordination/zookeeper_log.h"
#include "adapters/coordination/zookeeper_session_parts.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"

#define HEARTBEATS 6 /* of the loop in one session timeout */

void session_hold(struct session *session)
{
    (void)__atomic_add_fetch(&session->holds, 1, __ATOMIC_ACQ_REL);
}

void session_let_go(struct session *session)
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

bool session_era_is_present(struct session *session, int64_t number)
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
    } else if (!session->closed && session_era_is_present(session, notice->era)) {
        if (notice->state == SESSION_CONNECTED) {
            session->id = notice->id;
            __atomic_store_n(&session->granted, notice->granted, __ATOMIC_RELEASE);
        }
        session->options.on_state(session->options.context, notice->state);
    }
    session_let_go(session);
    free(notice);
}

void session_notice_post(struct session *session, struct notice notice)
{
    struct notice *copy = mem_new(struct notice);
    *copy = notice;
    copy->session = session;
    session_hold(session);
    loop_post(session->loop, on_notice, copy);
}

void session_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    const struct session_watch *watch = context;
    (void)handle;
    (void)state;
    (void)path;
    if (type != ZOO_SESSION_EVENT) /* states come to the watcher of the handle */
        session_notice_post(watch->session, (struct notice){.watch = watch->number});
}

void session_on_event(zhandle_t *handle, int type, int state, const char *path, void *context)
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
    session_notice_post(session, notice);
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
    if (pthread_create(&session->keeper, NULL, session_keeper_run, session)) {
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
