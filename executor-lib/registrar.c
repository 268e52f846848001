/* Announces this instance to the servers, every ten seconds and at once after a change of heart of the net:
 *     PUT /api/v1/projects/<p>/apps/<a>/instances/<host:port>     signed like a call
 * A server that does not answer is passed over for the next one. At the stop it is taken off again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "executor-lib/client.h"
#include "executor-lib/parts.h"

#define EVERY_MS 10000
#define AGAIN_MS 2000 /* after a failure */
#define ID_BYTES 700

struct registrar {
    struct carillon_executor *executor;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    struct str path, name, document; /* path: from /api on; name: project/application/host:port */
    char said[ERROR_TEXT_MAX];       /* what was logged last: the same is not said twice */
};

static struct curl_slist *sign(const struct registrar *registrar, const char *verb, const char *body)
{
    char line[ID_BYTES + 40], id[ID_BYTES], signature[SIGNATURE_TEXT];
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    int64_t now = executor_now_ms();
    (void)snprintf(id, sizeof id, "%s:%.600s:%lld", verb, str_text(&registrar->name), (long long)now);
    signature_make(registrar->executor->signature, id, now / 1000, body, strlen(body), signature);
    (void)snprintf(line, sizeof line, "Webhook-Id: %s", id);
    headers = curl_slist_append(headers, line);
    (void)snprintf(line, sizeof line, "Webhook-Timestamp: %lld", (long long)(now / 1000));
    headers = curl_slist_append(headers, line);
    (void)snprintf(line, sizeof line, "Webhook-Signature: %s", signature);
    return curl_slist_append(headers, line);
}

static long ask(struct registrar *registrar, CURL *easy, const char *server, size_t length, const char *method,
                struct client_answer *answer)
{
    struct str url;
    str_init(&url, 8192);
    while (length > 0 && server[length - 1] == '/')
        length--;
    str_addf(&url, "%.*s%s", (int)length, server, str_text(&registrar->path));
    struct client_request request = {.method = method,
                                     .url = str_text(&url),
                                     .body = strcmp(method, "PUT") == 0 ? str_text(&registrar->document) : "",
                                     .connect_ms = 3000,
                                     .total_ms = 5000};
    request.headers = sign(registrar, *request.body ? "register" : "leave", request.body);
    long status = client_send(easy, &request, answer);
    curl_slist_free_all(request.headers);
    str_release(&url);
    return status;
}

static void say(struct registrar *registrar, const char *text)
{
    if (strcmp(text, registrar->said) == 0)
        return;
    (void)snprintf(registrar->said, sizeof registrar->said, "%s", text);
    executor_log(registrar->executor, registrar->said);
}

static bool announce(struct registrar *registrar, CURL *easy, const char *method)
{
    struct client_answer answer;
    char line[ERROR_TEXT_MAX] = "";
    const char *servers = registrar->executor->options.servers;
    for (const char *p = servers + strspn(servers, ", "); *p; p += strspn(p, ", ")) {
        size_t length = strcspn(p, ", ");
        long status = ask(registrar, easy, p, length, method, &answer);
        if (status >= 200 && status < 300) {
            struct slice document = slice_of(answer.text, answer.length);
            bool json = json_check(answer.text, answer.length, JSON_DEPTH, NULL) == STATUS_OK;
            if (json && json_type_of(json_member(document, "warning")) == JSON_STRING) {
                struct slice warning = json_member(document, "warning");
                (void)snprintf(line, sizeof line, "registered, but: %.*s",
                               (int)(warning.length < 380 ? warning.length : 380), warning.bytes);
            } else {
                (void)snprintf(line, sizeof line, "registered at %.*s", (int)length, p);
            }
            if (strcmp(method, "PUT") == 0)
                say(registrar, line);
            return true;
        }
        (void)snprintf(line, sizeof line, "not registered at %.*s: %ld %.300s", (int)length, p, status, answer.text);
        p += length;
    }
    say(registrar, line);
    return false;
}

static void rest(struct registrar *registrar, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    while (!registrar->stopping && pthread_cond_timedwait(&registrar->changed, &registrar->lock, &until) == 0)
        ;
}

static void *run(void *context)
{
    struct registrar *registrar = context;
    CURL *easy = curl_easy_init();
    bool there = false;
    (void)pthread_mutex_lock(&registrar->lock);
    while (easy && !registrar->stopping) {
        (void)pthread_mutex_unlock(&registrar->lock);
        bool done = announce(registrar, easy, "PUT");
        there = there || done;
        (void)pthread_mutex_lock(&registrar->lock);
        rest(registrar, done ? EVERY_MS : AGAIN_MS);
    }
    (void)pthread_mutex_unlock(&registrar->lock);
    if (there)
        (void)announce(registrar, easy, "DELETE");
    curl_easy_cleanup(easy);
    return NULL;
}

static void add_encoded(struct str *ret, CURL *easy, const char *text)
{
    char *encoded = curl_easy_escape(easy, text, 0);
    str_add(ret, encoded ? encoded : "");
    curl_free(encoded);
}

static void registrar_free(struct registrar *registrar)
{
    str_release(&registrar->path);
    str_release(&registrar->name);
    str_release(&registrar->document);
    (void)pthread_cond_destroy(&registrar->changed);
    (void)pthread_mutex_destroy(&registrar->lock);
    free(registrar);
}

struct registrar *registrar_start(struct carillon_executor *executor)
{
    struct registrar *registrar = calloc(1, sizeof *registrar);
    CURL *easy = curl_easy_init();
    struct str address;
    pthread_condattr_t attributes;
    if (!registrar || !easy) {
        free(registrar);
        curl_easy_cleanup(easy);
        return NULL;
    }
    registrar->executor = executor;
    (void)pthread_mutex_init(&registrar->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&registrar->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    str_init(&registrar->path, 4096);
    str_init(&registrar->document, ANSWER_MAX);
    str_init(&address, 512);
    executor_address(executor, &address);
    str_init(&registrar->name, ID_BYTES);
    str_addf(&registrar->name, "%s/%s/%s", executor->options.project, executor->options.application,
             str_text(&address));
    str_add(&registrar->path, "/api/v1/projects/");
    add_encoded(&registrar->path, easy, executor->options.project);
    str_add(&registrar->path, "/apps/");
    add_encoded(&registrar->path, easy, executor->options.application);
    str_add(&registrar->path, "/instances/");
    add_encoded(&registrar->path, easy, str_text(&address));
    str_release(&address);
    curl_easy_cleanup(easy);
    executor_document(executor, &registrar->document);
    if (str_status(&registrar->path) != STATUS_OK || str_status(&registrar->document) != STATUS_OK ||
        pthread_create(&registrar->thread, NULL, run, registrar)) {
        registrar_free(registrar);
        return NULL;
    }
    return registrar;
}

void registrar_stop(struct registrar *registrar)
{
    if (!registrar)
        return;
    (void)pthread_mutex_lock(&registrar->lock);
    registrar->stopping = true;
    (void)pthread_cond_broadcast(&registrar->changed);
    (void)pthread_mutex_unlock(&registrar->lock);
    (void)pthread_join(registrar->thread, NULL);
    registrar_free(registrar);
}
