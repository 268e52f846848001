#include "bench/reports.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#define THREADS 6
#define TRIES 120
#define TIMEOUT_MS 4000L

struct report {
    struct report *next;
    long long due;
    int tries;
    char key[200];
    char urls[4096];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct report *waiting;

static void put(struct report *report)
{
    (void)pthread_mutex_lock(&lock);
    report->next = waiting;
    waiting = report;
    (void)pthread_mutex_unlock(&lock);
}

void reports_add(const char *key, const char *urls, long long due)
{
    struct report *report = calloc(1, sizeof *report);
    if (!report)
        abort();
    (void)snprintf(report->key, sizeof report->key, "%s", key);
    (void)snprintf(report->urls, sizeof report->urls, "%s", urls);
    report->due = due;
    put(report);
}

static struct report *take_due(void)
{
    struct report *found = NULL;
    (void)pthread_mutex_lock(&lock);
    for (struct report **at = &waiting; *at; at = &(*at)->next)
        if ((*at)->due <= sink_now()) {
            found = *at;
            *at = found->next;
            break;
        }
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static size_t ignore(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

static long post(CURL *curl, const char *url)
{
    long status = 0;
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "{\"state\":\"succeeded\",\"result\":null}");
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (curl_easy_perform(curl) == CURLE_OK)
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    return status;
}

static long send_report(CURL *curl, const struct report *report)
{
    char urls[sizeof report->urls];
    long status = 0;
    char *rest = urls, *url;
    memcpy(urls, report->urls, sizeof urls);
    while ((url = strsep(&rest, ", ")) && !(status == 200 || status == 409 || status == 410))
        if (*url)
            status = post(curl, url);
    return status;
}

static void *work(void *context)
{
    CURL *curl = curl_easy_init();
    (void)context;
    for (;;) {
        struct report *report = take_due();
        if (!report) {
            struct timespec pause = {0, 10000000};
            (void)nanosleep(&pause, NULL);
            continue;
        }
        long status = send_report(curl, report);
        if (status == 200 || status == 409 || status == 410 || ++report->tries == TRIES) {
            sink_log("R %lld %s %ld\n", sink_now(), report->key, status);
            free(report);
            continue;
        }
        report->due = sink_now() + 1000;
        put(report);
    }
    return NULL;
}

void reports_start(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            abort();
    }
}
