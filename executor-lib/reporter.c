#include "executor-lib/reporter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "core/base/jsonscan.h"
#include "core/base/str.h"
#include "executor-lib/client.h"

#define THREADS 4
#define LOG_MAX ((size_t)64 << 10) /* of lines that wait; what comes beyond is counted and said */
#define LOG_PAUSE 500              /* ms that lines wait for company */
#define ALIVE_PAUSE 250            /* ms between two changes of progress */
#define RETRY_FIRST 1000
#define RETRY_MOST 60000
#define RETRY_END ((int64_t)24 * 3600000) /* then nobody can want it any more */
#define CONNECT_MS 3000
#define SEND_MS 10000
#define REFUSAL_BYTES 4096
#define ANSWER_DEPTH 16
#define MISSED_BEATS 3 /* so many may be lost before the call counts as dead */
#define MISSED_GRACE 5 /* seconds */

struct outbox {
    struct reporter *reporter;
    char *key, *urls;
    bool busy;           /* a thread works on it */
    bool left, canceled; /* left: the caller is gone */
    bool beats, over;    /* over: acknowledged or given up */
    bool replaced;       /* the end was refused as it is; a failure that says so went out instead */
    char *alive, *end;   /* bodies that wait; alive NULL: nothing new */
    struct str log;
    size_t log_lost;
    int64_t alive_due, log_due, beat_due, end_due, end_pause, end_since; /* mono ms */
    struct outbox *prev, *next;
};

struct reporter {
    struct reporter_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[THREADS];
    size_t thread_count;
    struct outbox *outboxes;
    bool stopping;
};

static int64_t mono_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- one request ---------------------------------------------------------------------------------------------------
 */

/* HTTP status; 0: no answer. */
static long post(CURL *easy, const char *url, const char *suffix, const char *type, const char *body,
                 struct client_answer *answer)
{
    struct str whole;
    struct curl_slist *headers = curl_slist_append(NULL, type);
    str_init(&whole, 8192);
    str_addf(&whole, "%s%s", url, suffix);
    struct client_request request = {.method = "POST",
                                     .url = str_text(&whole),
                                     .body = body,
                                     .headers = headers,
                                     .connect_ms = CONNECT_MS,
                                     .total_ms = SEND_MS};
    long status = client_send(easy, &request, answer);
    curl_slist_free_all(headers);
    str_release(&whole);
    return status;
}

/* To the first of the urls that gives an answer which settles it. */
static long tell(CURL *easy, const char *urls, const char *suffix, const char *type, const char *body,
                 struct client_answer *answer)
{
    char url[4096];
    long status = 0;
    for (const char *p = urls + strspn(urls, ", "); *p; p += strspn(p, ", ")) {
        size_t length = strcspn(p, ", ");
        if (length < sizeof url) {
            memcpy(url, p, length);
            url[length] = '\0';
            status = post(easy, url, suffix, type, body, answer);
            if (status && status != 429 && status < 500)
                return status;
        }
        p += length;
    }
    return status;
}

/* ---- one outbox ----------------------------------------------------------------------------------------------------
 */

static void outbox_free(struct outbox *outbox)
{
    DL_DELETE(outbox->reporter->outboxes, outbox);
    free(outbox->key);
    free(outbox->urls);
    free(outbox->alive);
    free(outbox->end);
    str_release(&outbox->log);
    free(outbox);
}

struct parcel { /* what one turn takes out of an outbox */
    char *log, *alive, *end;
    size_t lost;
};

/* The newest state; where signs of life come by themselves, with the time within which the next one comes. */
static char *promise(const struct outbox *outbox)
{
    struct str body;
    const char *state = outbox->alive ? outbox->alive : "{\"state\":\"running\"}";
    if (!outbox->beats)
        return strdup(state);
    str_init(&body, REFUSAL_BYTES);
    str_add_bytes(&body, state, strlen(state) - 1);
    str_addf(&body, ",\"within\":\"%llds\"}",
             (long long)(outbox->reporter->options.heartbeat_ms * MISSED_BEATS / 1000 + MISSED_GRACE));
    return str_take(&body);
}

/* Under lock. Lines go before the end; a state that is overtaken by the end is not sent. */
static struct parcel take(struct outbox *outbox, int64_t now)
{
    struct parcel parcel = {0};
    if (outbox->log.length && (now >= outbox->log_due || outbox->end)) {
        parcel.log = str_take(&outbox->log);
        parcel.lost = outbox->log_lost;
        outbox->log_lost = 0;
        str_init(&outbox->log, LOG_MAX);
    }
    if (outbox->end && now >= outbox->end_due) {
        parcel.end = outbox->end;
        outbox->end = NULL;
    } else if (!outbox->end &&
               ((outbox->alive && now >= outbox->alive_due) || (outbox->beats && now >= outbox->beat_due))) {
        parcel.alive = promise(outbox);
        free(outbox->alive);
        outbox->alive = NULL;
        outbox->alive_due = now + ALIVE_PAUSE;
        outbox->beat_due = now + outbox->reporter->options.heartbeat_ms;
    }
    return parcel;
}

static int64_t due(const struct outbox *outbox)
{
    int64_t at = INT64_MAX;
    if (outbox->busy || outbox->over)
        return at;
    if (outbox->end)
        return outbox->log.length ? 0 : outbox->end_due;
    if (outbox->log.length && outbox->log_due < at)
        at = outbox->log_due;
    if (outbox->alive && outbox->alive_due < at)
        at = outbox->alive_due;
    if (outbox->beats && outbox->beat_due < at)
        at = outbox->beat_due;
    return at;
}

static void end_again(struct outbox *outbox, char *body, int64_t due)
{
    outbox->end = body;
    outbox->end_due = due;
}

/* Too big, or not understood: nobody may wait for it until the time-out, so the call ends as a failure that says why.
 */
static bool replace(struct outbox *outbox, long status, const char *answer)
{
    struct str body;
    char message[400];
    if (outbox->replaced || status < 400 || status == 409 || status == 410)
        return false;
    (void)snprintf(message, sizeof message, "the report of the end was refused with %ld: %.300s", status, answer);
    str_init(&body, REFUSAL_BYTES);
    str_add(&body, "{\"state\":\"failed\",\"code\":\"REPORT_REFUSED\",\"message\":");
    str_add_json(&body, message);
    str_add(&body, "}");
    outbox->replaced = true;
    end_again(outbox, str_take(&body), 0);
    return outbox->end != NULL;
}

/* The end was told, or not: under lock. true: it is settled. */
static bool settle(struct outbox *outbox, struct parcel *parcel, long status, const char *answer, int64_t now)
{
    bool told = status && status != 429 && status < 500; /* 200, 409, 410, and what can never be right */
    if (outbox->end_since == 0)
        outbox->end_since = now;
    if (told && replace(outbox, status, answer)) {
        free(parcel->end);
        return false;
    }
    if (told || now - outbox->end_since > RETRY_END) {
        free(parcel->end);
        outbox->over = true;
        return true;
    }
    outbox->end_pause = outbox->end_pause == 0               ? RETRY_FIRST
                        : outbox->end_pause * 2 > RETRY_MOST ? RETRY_MOST
                                                             : outbox->end_pause * 2;
    end_again(outbox, parcel->end, now + outbox->end_pause);
    return false;
}

static void note(struct reporter *reporter, const struct outbox *outbox, long status, const char *answer)
{
    char line[512];
    if (status >= 400 && status != 409 && status != 410) {
        (void)snprintf(line, sizeof line, "the end of %s was refused with %ld: %.300s", outbox->key, status, answer);
        reporter->options.log(reporter->options.context, line);
    }
}

static bool says_canceled(const struct client_answer *answer)
{
    return json_check(answer->text, answer->length, ANSWER_DEPTH, NULL) == STATUS_OK &&
           json_type_of(json_member(slice_of(answer->text, answer->length), "canceled")) == JSON_TRUE;
}

/* Lock held at entry and exit. */
static void work(struct reporter *reporter, struct outbox *outbox, CURL *easy)
{
    struct parcel parcel = take(outbox, mono_ms());
    struct client_answer answer;
    long status = 0;
    bool canceled = false, settled = false;
    outbox->busy = true;
    (void)pthread_mutex_unlock(&reporter->lock);
    if (parcel.log) {
        struct str text;
        str_init(&text, LOG_MAX + 256);
        str_add(&text, parcel.log);
        if (parcel.lost)
            str_addf(&text, "(%zu bytes of lines were dropped here: they came faster than they could be sent)\n",
                     parcel.lost);
        (void)tell(easy, outbox->urls, "/logs", "Content-Type: text/plain; charset=utf-8", str_text(&text), &answer);
        str_release(&text);
    }
    if (parcel.alive || parcel.end) {
        status = tell(easy, outbox->urls, "", "Content-Type: application/json", parcel.end ? parcel.end : parcel.alive,
                      &answer);
        canceled = status == 409 || status == 410 || (status == 200 && says_canceled(&answer));
    }
    if (parcel.end)
        note(reporter, outbox, status, answer.text);
    (void)pthread_mutex_lock(&reporter->lock);
    if (parcel.end)
        settled = settle(outbox, &parcel, status, answer.text, mono_ms());
    if (settled) {
        (void)pthread_mutex_unlock(&reporter->lock);
        reporter->options.settled(reporter->options.context, outbox->key);
        (void)pthread_mutex_lock(&reporter->lock);
    }
    outbox->canceled |= canceled;
    outbox->busy = false;
    if (outbox->left && (outbox->over || (!outbox->end && !outbox->log.length)))
        outbox_free(outbox);
    free(parcel.log);
    free(parcel.alive);
    (void)pthread_cond_broadcast(&reporter->changed);
}

static void wait_until(struct reporter *reporter, int64_t at)
{
    if (at == INT64_MAX) {
        (void)pthread_cond_wait(&reporter->changed, &reporter->lock);
        return;
    }
    struct timespec until = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000};
    (void)pthread_cond_timedwait(&reporter->changed, &reporter->lock, &until);
}

static void *run(void *context)
{
    struct reporter *reporter = context;
    CURL *easy = curl_easy_init();
    (void)pthread_mutex_lock(&reporter->lock);
    while (!reporter->stopping && easy) {
        struct outbox *outbox, *next = NULL;
        int64_t first = INT64_MAX, now = mono_ms();
        DL_FOREACH(reporter->outboxes, outbox)
        {
            int64_t at = due(outbox);
            if (at < first) {
                first = at;
                next = outbox;
            }
        }
        if (next && first <= now)
            work(reporter, next, easy);
        else
            wait_until(reporter, first);
    }
    (void)pthread_mutex_unlock(&reporter->lock);
    curl_easy_cleanup(easy);
    return NULL;
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

struct reporter *reporter_create(const struct reporter_options *options)
{
    struct reporter *reporter = calloc(1, sizeof *reporter);
    pthread_condattr_t attributes;
    if (!reporter)
        return NULL;
    reporter->options = *options;
    (void)pthread_mutex_init(&reporter->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&reporter->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    while (reporter->thread_count < THREADS &&
           pthread_create(&reporter->threads[reporter->thread_count], NULL, run, reporter) == 0)
        reporter->thread_count++;
    if (reporter->thread_count == 0) {
        reporter_stop(reporter, 0);
        return NULL;
    }
    return reporter;
}

static bool waits(const struct reporter *reporter)
{
    const struct outbox *outbox;
    DL_FOREACH(reporter->outboxes, outbox)
    if (outbox->busy || (outbox->end && !outbox->over))
        return true;
    return false;
}

void reporter_stop(struct reporter *reporter, int64_t most_ms)
{
    if (!reporter)
        return;
    int64_t until = mono_ms() + most_ms;
    (void)pthread_mutex_lock(&reporter->lock);
    while (waits(reporter) && mono_ms() < until)
        wait_until(reporter, until);
    reporter->stopping = true;
    (void)pthread_cond_broadcast(&reporter->changed);
    (void)pthread_mutex_unlock(&reporter->lock);
    for (size_t i = 0; i < reporter->thread_count; i++)
        (void)pthread_join(reporter->threads[i], NULL);
    while (reporter->outboxes)
        outbox_free(reporter->outboxes);
    (void)pthread_cond_destroy(&reporter->changed);
    (void)pthread_mutex_destroy(&reporter->lock);
    curl_global_cleanup();
    free(reporter);
}

struct outbox *outbox_open(struct reporter *reporter, const char *key, const char *urls, bool beats)
{
    if (!reporter || !urls || !*urls)
        return NULL;
    struct outbox *outbox = calloc(1, sizeof *outbox);
    if (!outbox)
        return NULL;
    outbox->reporter = reporter;
    outbox->key = strdup(key);
    outbox->urls = strdup(urls);
    outbox->beats = beats;
    outbox->beat_due = mono_ms(); /* the first one makes the promise */
    str_init(&outbox->log, LOG_MAX);
    (void)pthread_mutex_lock(&reporter->lock);
    DL_APPEND(reporter->outboxes, outbox);
    if (!outbox->key || !outbox->urls) {
        outbox_free(outbox);
        outbox = NULL;
    }
    (void)pthread_cond_signal(&reporter->changed);
    (void)pthread_mutex_unlock(&reporter->lock);
    return outbox;
}

void outbox_alive(struct outbox *outbox, const char *body)
{
    if (!outbox)
        return;
    (void)pthread_mutex_lock(&outbox->reporter->lock);
    free(outbox->alive);
    outbox->alive = strdup(body);
    (void)pthread_cond_signal(&outbox->reporter->changed);
    (void)pthread_mutex_unlock(&outbox->reporter->lock);
}

void outbox_log(struct outbox *outbox, const char *line)
{
    if (!outbox)
        return;
    size_t length = strcspn(line, "\n");
    (void)pthread_mutex_lock(&outbox->reporter->lock);
    if (!outbox->log.length)
        outbox->log_due = mono_ms() + LOG_PAUSE;
    if (outbox->log.length + length + 1 > LOG_MAX) {
        outbox->log_lost += length + 1;
    } else {
        str_add_bytes(&outbox->log, line, length);
        str_add(&outbox->log, "\n");
    }
    (void)pthread_cond_signal(&outbox->reporter->changed);
    (void)pthread_mutex_unlock(&outbox->reporter->lock);
}

bool outbox_canceled(struct outbox *outbox)
{
    if (!outbox)
        return false;
    (void)pthread_mutex_lock(&outbox->reporter->lock);
    bool canceled = outbox->canceled;
    (void)pthread_mutex_unlock(&outbox->reporter->lock);
    return canceled;
}

void outbox_end(struct outbox *outbox, const char *body)
{
    if (!outbox)
        return;
    (void)pthread_mutex_lock(&outbox->reporter->lock);
    free(outbox->end);
    outbox->end = strdup(body);
    outbox->end_due = 0;
    outbox->beats = false;
    (void)pthread_cond_signal(&outbox->reporter->changed);
    (void)pthread_mutex_unlock(&outbox->reporter->lock);
}

void outbox_leave(struct outbox *outbox)
{
    if (!outbox)
        return;
    struct reporter *reporter = outbox->reporter;
    (void)pthread_mutex_lock(&reporter->lock);
    outbox->left = true;
    outbox->beats = false;
    if (outbox->log.length) /* a sync call's last lines: sent, then freed */
        (void)pthread_cond_signal(&reporter->changed);
    else if (!outbox->busy && !outbox->end)
        outbox_free(outbox);
    (void)pthread_mutex_unlock(&reporter->lock);
}
