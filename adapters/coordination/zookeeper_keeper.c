/* The keeper of a ZooKeeper session: a thread that opens and closes handles, which can block, and the watchdog that
 * ends the session of a loop that hangs, or that the service will never let in again. */
#include <string.h>
#include <time.h>

#include "adapters/coordination/zookeeper_log.h"
#include "adapters/coordination/zookeeper_session_parts.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"

#define RESOLUTION_DELAY_MS 60000 /* the client would otherwise resolve its hosts for every single operation */
#define PROBE_NAPS 30             /* tenths of a second for a stranger to be let in */
#define KEEPER_TICKS 12           /* looks of the watchdog in one session timeout */

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
    zhandle_t *handle = zookeeper_init2(session->hosts, session_on_event, (int)session->options.timeout, NULL, era, 0,
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
        session_notice_post(session, (struct notice){.era = era->number, .watch = -1, .state = SESSION_UNREACHABLE});
        free(era);
    }
}

/* The client forgets some completions when it is closed, and its threads have ended by now: nobody else will answer. */
static void requests_abandon(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    while (session->sent) {
        struct request *request = session->sent;
        session_request_unlink(request);
        pthread_mutex_unlock(&session->lock);
        session_request_end(request, ZCLOSING, NULL);
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

void *session_keeper_run(void *context)
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
            session_notice_post(session, (struct notice){.era = number, .watch = -1, .state = SESSION_ENDED});
        } else {
            keeper_wait(session);
        }
    }
    if (session->handle)
        keeper_shut(session);
    pthread_mutex_unlock(&session->lock);
    return NULL;
}
