/* One ZooKeeper session at a time, seen from the loop. The client's own threads and a keeper thread stay in here: the
 * keeper opens and closes handles (both can block) and is the watchdog that ends the session of a hung loop. Replies,
 * watches and states arrive on the loop's thread, in order; those of an earlier session never arrive. */
#ifndef CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_SESSION_H
#define CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_SESSION_H

#include <zookeeper/zookeeper.h>

#include "core/base/instant.h"
#include "core/ports/sink.h"

struct loop;
struct session;

enum session_state {
    SESSION_CONNECTED,    /* also again after a disconnection; the same session */
    SESSION_DISCONNECTED, /* it may live */
    SESSION_ENDED,        /* expired, or ended by the watchdog; its ephemeral nodes are gone or soon will be */
    SESSION_UNREACHABLE,  /* a handle could not even be made (names do not resolve) */
    SESSION_AUTH_FAILED,
};

struct session_reply {
    int rc; /* ZOK or a code of zookeeper.h; ZINVALIDSTATE: never sent */
    struct Stat stat;
    const char *data; /* get: NUL-terminated; NULL = none */
    size_t length;
    char *const *names; /* children */
    size_t name_count;
    int64_t number; /* the caller's, from the request */
};

typedef void (*session_on_reply)(void *context, const struct session_reply *reply);

struct session_options {
    const char *hosts; /* "host:port,host:port" */
    const char *auth;  /* "user:password"; NULL or "" = none */
    span timeout;
    struct sink *sink;
    void (*on_state)(void *context, enum session_state state);
    void (*on_watch)(void *context, int watch); /* a watch of this number has fired */
    void *context;
};

struct session *session_create(struct loop *loop, const struct session_options *options);
/* A new session begins; on_state tells. Any earlier one is closed first. */
void session_open(struct session *session);
/* The present session is closed; none follows. */
void session_drop(struct session *session);
/* Waits until the handle is closed (a few seconds at worst). No callback comes afterwards; requests are ignored. */
void session_close(struct session *session);
void session_free(struct session *session); /* after session_close */
/* Id and password of the present session: whoever has them can end it. False: there is none. */
bool session_client(struct session *session, clientid_t *ret);

int64_t session_id(const struct session *session);   /* of the present session, once connected */
span session_timeout(const struct session *session); /* as the server grants it */

/* Requests. `on_reply` is called exactly once while the session lives. `number` comes back in the reply. */
#define SESSION_WATCHES 2
void session_create_node(struct session *session, const char *path, const char *data, int flags,
                         session_on_reply on_reply, int64_t number);
void session_get(struct session *session, const char *path, int watch /* −1 = none */, session_on_reply on_reply,
                 int64_t number);
void session_children(struct session *session, const char *path, int watch, session_on_reply on_reply, int64_t number);
void session_set(struct session *session, const char *path, const char *data, session_on_reply on_reply,
                 int64_t number);
void session_delete(struct session *session, const char *path, session_on_reply on_reply, int64_t number);
/* No request: on_reply comes in the next turn with rc ZINVALIDSTATE. */
void session_defer(struct session *session, session_on_reply on_reply, int64_t number);

#endif
