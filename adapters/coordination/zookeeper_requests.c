/* Requests of a ZooKeeper session: from the loop to the client, and their replies back to the loop. */
#include <stdlib.h>
#include <string.h>

#include "adapters/coordination/zookeeper_session_parts.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"

static void request_link(struct request *request)
{
    struct session *session = request->session;
    request->next = session->sent;
    request->link = &session->sent;
    if (session->sent)
        session->sent->link = &request->next;
    session->sent = request;
}

void session_request_unlink(struct request *request)
{
    if (!request->link)
        return;
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    request->next = NULL;
    request->link = NULL;
}

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
    if (!session->closed && session_era_is_present(session, request->era)) {
        request->reply.data = request->data;
        request->reply.names = request->names;
        request->on_reply(session->options.context, &request->reply);
    }
    request_free(request);
}

void session_request_end(struct request *request, int rc, const struct Stat *stat)
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
    session_request_unlink(request);
    pthread_mutex_unlock(&session->lock);
    session_request_end(request, rc, stat);
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
            session_request_unlink(request);                       \
        pthread_mutex_unlock(&(session)->lock);                    \
        if (rc_ != ZOK)                                            \
            session_request_end(request, rc_, NULL);               \
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
    watcher_fn watcher = watch < 0 ? NULL : session_on_watch;
    void *context = watch < 0 ? NULL : &session->watches[watch];
    SEND(session, request, zoo_awget(handle, path, watcher, context, on_got, request));
}

void session_children(struct session *session, const char *path, int watch, session_on_reply reply, int64_t number)
{
    struct request *request = request_new(session, reply, number);
    watcher_fn watcher = watch < 0 ? NULL : session_on_watch;
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
    session_request_end(request, ZINVALIDSTATE, NULL);
}
