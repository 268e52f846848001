/* The API as a stranger sees it: a real server on a free port, a real SQLite store in a folder of its own, and a
 * client.
 *
 *     struct api *api = *state;                                   (cmocka: api_setup, api_teardown)
 *     struct answer a = api_call(api, "PUT", "/api/v1/projects/shop", "{}");
 *     assert_int_equal(a.status, 201); … answer_release(&a);
 */
#ifndef CARILLON_TESTS_ORCHESTRATOR_FIXTURE_H
#define CARILLON_TESTS_ORCHESTRATOR_FIXTURE_H

/* clang-format off */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cjson/cJSON.h>
/* clang-format on */

#include "core/model/settings.h"
#include "core/ports/signer.h"
#include "core/ports/store.h"

struct answer {
    int status;
    char *text;    /* body */
    char *headers; /* as received */
    cJSON *json;   /* NULL when the body is none */
};

struct api {
    char folder[64];
    struct settings settings;
    struct store *store;
    struct zones *zones;
    struct signer *signer; /* of the store's cluster key */
    struct orchestrator *orchestrator;
    struct http_server *server;
    int port;
    char admin[80]; /* token */
    int pokes;
    bool ready;
    const char *warning; /* said while it is ready; NULL = none */
    int64_t boot;
    pthread_mutex_t turn; /* what a test changed before a request is seen by the thread that answers it */
};

int api_setup(void **state);
int api_teardown(void **state);
/* Serve from this store instead (a wrapper around api->store). */
void api_restart(struct api *api, struct store *store);

/* A token made in the store; project NULL = all. Life in ms, 0 = for ever. */
void api_token(struct api *api, const char *name, const char *role, const char *project, int64_t life, char ret[80]);

/* With the admin's token. body NULL = none. */
struct answer api_call(struct api *api, const char *method, const char *path, const char *body);
/* token NULL = none; headers: NULL-terminated list of "Name: value", or NULL. */
struct answer api_call_as(struct api *api, const char *token, const char *method, const char *path, const char *body,
                          const char *const *headers);
void answer_release(struct answer *answer);

/* Member by a path of names and indices: "items.0.error.code". NULL when absent. */
const cJSON *answer_at(const struct answer *answer, const char *path);
const char *answer_text(const struct answer *answer, const char *path); /* fails the test when it is no text */
int64_t answer_number(const struct answer *answer, const char *path);

/* Calls, checks the status (printing the answer otherwise), releases. */
void api_expect(struct api *api, int line, int status, const char *method, const char *path, const char *body);
#define EXPECT(api, status, method, path, body) api_expect((api), __LINE__, (status), (method), (path), (body))
/* The same, and the code of the error. */
void api_refused(struct api *api, int line, int status, const char *code, const char *method, const char *path,
                 const char *body);
#define REFUSED(api, status, code, method, path, body) \
    api_refused((api), __LINE__, (status), (code), (method), (path), (body))

/* A project "shop" with an application "ledger" (tasks extract, post). */
void api_shop(struct api *api);

#endif
