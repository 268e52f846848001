#include "tests/orchestrator/fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "adapters/crypto/crypto.h"
#include "adapters/store/store_open.h"
#include "adapters/zones/zones.h"
#include "core/base/mem.h"
#include "orchestrator/orchestrator.h"

static void nothing(void *context)
{
    (void)context;
}

static void count_poke(void *context)
{
    struct api *api = context;
    __atomic_add_fetch(&api->pokes, 1, __ATOMIC_RELAXED);
}

static void some_metrics(void *context, struct str *ret)
{
    (void)context;
    str_add(ret, "carillon_from_elsewhere 1\n");
}

static bool is_ready(void *context, const char **ret_reason)
{
    const struct api *api = context;
    *ret_reason = api->ready ? api->warning : "not yet";
    return api->ready;
}

static void open_store(struct api *api)
{
    char url[128];
    struct error err = {0};
    struct store_op op;
    (void)snprintf(url, sizeof url, "sqlite:%s/carillon.db", api->folder);
    struct store_options options = {.url = url, .session_timeout = 6000, .post = nothing};
    if (store_open(&options, &api->store, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    store_op_init(&op, STORE_BOOT_START);
    op.boot_start.node = "test";
    op.boot_start.address = "127.0.0.1:0";
    op.boot_start.role = "standalone";
    if (store_execute(api->store, &op) != STATUS_OK)
        fail_msg("%s", op.error.text);
    api->boot = op.boot_start.boot;
    store_op_release(&op);
    store_op_init(&op, STORE_CLUSTER);
    if (store_execute(api->store, &op) != STATUS_OK)
        fail_msg("%s", op.error.text);
    api->signer = crypto_signer(op.cluster.key);
    store_op_release(&op);
}

static void take_turn(struct api *api)
{
    (void)pthread_mutex_lock(&api->turn);
    (void)pthread_mutex_unlock(&api->turn);
}

static void handle(void *context, const struct http_request *request, struct http_response *response)
{
    struct api *api = context;
    take_turn(api);
    orchestrator_handle(api->orchestrator, request, response);
    take_turn(api);
}

static void serve(struct api *api, struct store *store)
{
    struct error err = {0};
    struct orchestrator_options options = {.settings = &api->settings,
                                           .store = store,
                                           .zones = api->zones,
                                           .signer = api->signer,
                                           .version = "0.0.1",
                                           .role = "orchestrator",
                                           .node = "test",
                                           .boot = api->boot,
                                           .threads = 4,
                                           .context = api,
                                           .poke = count_poke,
                                           .metrics = some_metrics,
                                           .ready = is_ready};
    api->orchestrator = orchestrator_create(&options, &err);
    if (!api->orchestrator)
        fail_msg("%s", err.text);
    struct http_server_options server = {.listen = "127.0.0.1:0", .threads = 4, .handler = handle, .context = api};
    if (http_server_start(&server, &api->server, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    api->port = http_server_port(api->server);
}

static void stop(struct api *api)
{
    orchestrator_stop_waiting(api->orchestrator);
    http_server_stop(api->server);
    orchestrator_free(api->orchestrator);
}

void api_restart(struct api *api, struct store *store)
{
    stop(api);
    serve(api, store);
}

int api_setup(void **state)
{
    struct api *api = mem_new(struct api);
    *state = api;
    crypto_start();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)snprintf(api->folder, sizeof api->folder, "/tmp/carillon-api-XXXXXX");
    assert_non_null(mkdtemp(api->folder));
    (void)pthread_mutex_init(&api->turn, NULL);
    settings_defaults(&api->settings);
    api->ready = true;
    open_store(api);
    api->zones = zones_create(NULL);
    serve(api, api->store);
    api_token(api, "admin", "admin", NULL, 0, api->admin);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

int api_teardown(void **state)
{
    struct api *api = *state;
    stop(api);
    api->store->ops->close(api->store);
    zones_free(api->zones);
    free(api->signer);
    (void)nftw(api->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(api);
    return 0;
}

void api_token(struct api *api, const char *name, const char *role, const char *project, int64_t life, char ret[80])
{
    struct store_op op;
    struct timespec now;
    char hash[HASH_HEX_SIZE];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    instant at = {(int64_t)now.tv_sec * 1000};
    crypto_token(ret);
    crypto_sha256_hex(ret, strlen(ret), hash);
    store_op_init(&op, STORE_TOKEN_ADD);
    op.token_add.author = "test";
    op.token_add.row = (struct token_row){.name = name,
                                          .role = role,
                                          .project = project,
                                          .hash = hash,
                                          .created_at = at,
                                          .expires_at = life ? instant_add(at, life) : INSTANT_NONE,
                                          .last_used_at = INSTANT_NONE};
    if (store_execute(api->store, &op) != STATUS_OK)
        fail_msg("token %s: %s", name, op.error.text);
    store_op_release(&op);
}

static size_t gather(char *bytes, size_t size, size_t count, void *context)
{
    str_add_bytes(context, bytes, size * count);
    return size * count;
}

struct answer api_call_as(struct api *api, const char *token, const char *method, const char *path, const char *body,
                          const char *const *headers)
{
    take_turn(api);
    struct answer answer = {0};
    struct str text, received;
    char url[4096], authorization[256];
    long status = 0;
    CURL *curl = curl_easy_init();
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    str_init(&text, (size_t)64 << 20);
    str_init(&received, 1 << 20);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d%s", api->port, path);
    if (token) {
        (void)snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", token);
        list = curl_slist_append(list, authorization);
    }
    for (; headers && *headers; headers++)
        list = curl_slist_append(list, *headers);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, gather);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, gather);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, &received);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    if (!strcmp(method, "HEAD"))
        (void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (body) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK)
        print_error("%s %s: %s\n", method, path, curl_easy_strerror(code));
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
    answer.status = (int)status;
    answer.json = cJSON_Parse(str_text(&text));
    answer.text = mem_copy(str_text(&text), text.length);
    answer.headers = mem_copy(str_text(&received), received.length);
    str_release(&text);
    str_release(&received);
    take_turn(api);
    return answer;
}

struct answer api_call(struct api *api, const char *method, const char *path, const char *body)
{
    return api_call_as(api, api->admin, method, path, body, NULL);
}

void answer_release(struct answer *answer)
{
    free(answer->text);
    free(answer->headers);
    cJSON_Delete(answer->json);
    *answer = (struct answer){0};
}

const cJSON *answer_at(const struct answer *answer, const char *path)
{
    const cJSON *at = answer->json;
    char name[128];
    while (at && *path) {
        size_t length = strcspn(path, ".");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, path);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(name)) : cJSON_GetObjectItemCaseSensitive(at, name);
        path += length + (path[length] == '.');
    }
    return at;
}

const char *answer_text(const struct answer *answer, const char *path)
{
    const char *text = cJSON_GetStringValue(answer_at(answer, path));
    if (!text)
        fail_msg("no text at %s in %s", path, answer->text);
    return text;
}

int64_t answer_number(const struct answer *answer, const char *path)
{
    const cJSON *at = answer_at(answer, path);
    if (!cJSON_IsNumber(at))
        fail_msg("no number at %s in %s", path, answer->text);
    return (int64_t)at->valuedouble;
}

void api_expect(struct api *api, int line, int status, const char *method, const char *path, const char *body)
{
    struct answer answer = api_call(api, method, path, body);
    if (answer.status != status)
        fail_msg("line %d: %s %s: %d, not %d: %s", line, method, path, answer.status, status, answer.text);
    answer_release(&answer);
}

void api_refused(struct api *api, int line, int status, const char *code, const char *method, const char *path,
                 const char *body)
{
    struct answer answer = api_call(api, method, path, body);
    const char *have = cJSON_GetStringValue(answer_at(&answer, "error.code"));
    if (answer.status != status || !have || strcmp(have, code) != 0)
        fail_msg("line %d: %s %s: %d %s, not %d %s: %s", line, method, path, answer.status, have ? have : "-", status,
                 code, answer.text);
    answer_release(&answer);
}

void api_shop(struct api *api)
{
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop", "{\"spec\":{\"timezone\":\"Asia/Shanghai\"}}");
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/apps/ledger",
           "{\"spec\":{\"instances\":[\"127.0.0.1:9001\",\"127.0.0.1:9002\"],\"tasks\":["
           "{\"name\":\"extract\",\"path\":\"/extract\",\"timeout\":\"10m\"},"
           "{\"name\":\"post\",\"path\":\"/post\",\"repeat\":\"never\",\"serial\":true}]}}");
}
