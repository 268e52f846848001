/* The parts of a ZooKeeper session: its life and what it tells the loop (zookeeper_session.c), the thread that keeps
 * the handle (zookeeper_keeper.c), requests (zookeeper_requests.c). */
#ifndef CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_SESSION_PARTS_H
#define CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_SESSION_PARTS_H

#include <pthread.h>
#include <stdbool.h>

#include "adapters/coordination/zookeeper_session.h"

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

/* What a thread of the client tells the loop. */
struct notice {
    struct session *session;
    int64_t era; /* −1 = any */
    enum session_state state;
    int watch; /* −1 = it is a state */
    int64_t id;
    span granted;
};

void session_hold(struct session *session);
/* Frees it with the last hold. */
void session_let_go(struct session *session);
bool session_era_is_present(struct session *session, int64_t number);
/* To the loop, from any thread; `session` is filled in. */
void session_notice_post(struct session *session, struct notice notice);
/* Watchers of the handle (context: its era) and of nodes (context: a session_watch). */
void session_on_event(zhandle_t *handle, int type, int state, const char *path, void *context);
void session_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context);
/* The keeper's thread; the context is the session. */
void *session_keeper_run(void *context);
/* The client does not owe its completion any more. Under lock. */
void session_request_unlink(struct request *request);
/* Its reply goes to the loop; stat NULL = none. */
void session_request_end(struct request *request, int rc, const struct Stat *stat);

#endif
