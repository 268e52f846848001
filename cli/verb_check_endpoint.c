/* check-endpoint: calls a task as a scheduler would and says how well it keeps to the protocol (docs/protocol.md). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "adapters/crypto/crypto.h"
#include "core/base/arena.h"
#include "core/base/jsonscan.h"
#include "core/logic/run/answer.h"

#include "cli/client.h"
#include "cli/table.h"

#define BODY_MAX ((size_t)4 << 20)
#define DEPTH 64

enum grade { GRADE_GOOD, GRADE_MEND, GRADE_BROKEN };

struct probe { /* one request and its answer */
    const char *method, *url, *body, *key;
    int epoch;   /* 0 = no run headers */
    bool forged; /* with a signature that is wrong */
    long status; /* 0: no answer, `text` says why */
    struct str text;
    char type[128], location[512];
    bool replayed;
};

struct check {
    const char *url, *body, *key; /* key: "whsec_…" or NULL */
    char stem[64];                /* of idempotency keys */
    struct table table;
    bool json;
    struct str items;
    int counts[3];
};

static const char *const grades[] = {"good", "mend", "broken"};

static void PRINTF_LIKE(4, 5) say(struct check *check, const char *what, enum grade grade, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    check->counts[grade]++;
    table_add(&check->table, what);
    table_add(&check->table, grades[grade]);
    table_add(&check->table, text);
    str_addf(&check->items, "%s{\"check\":\"%s\",\"grade\":\"%s\",\"text\":", check->items.length ? "," : "", what,
             grades[grade]);
    str_add_json(&check->items, text);
    str_add(&check->items, "}");
}

/* ---- one request ---------------------------------------------------------------------------------------------------
 */

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct probe *probe = context;
    str_add_bytes(&probe->text, bytes, size * count);
    return str_status(&probe->text) == STATUS_OK ? size * count : 0; /* 0 ends the call: an answer may be endless */
}

static void copy_value(const char *line, size_t length, char *ret, size_t size)
{
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    while (length > 0 && strchr("\r\n ", line[length - 1]))
        length--;
    (void)snprintf(ret, size, "%.*s", (int)length, line);
}

static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    struct probe *probe = context;
    size_t length = size * count;
    if (length > 13 && strncasecmp(line, "content-type:", 13) == 0)
        copy_value(line + 13, length - 13, probe->type, sizeof probe->type);
    else if (length > 9 && strncasecmp(line, "location:", 9) == 0)
        copy_value(line + 9, length - 9, probe->location, sizeof probe->location);
    else if (length > 21 && strncasecmp(line, "idempotency-replayed:", 21) == 0)
        probe->replayed = true;
    return length;
}

static struct curl_slist *add(struct curl_slist *list, const char *format, ...) PRINTF_LIKE(2, 3);
static struct curl_slist *add(struct curl_slist *list, const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return curl_slist_append(list, line);
}

static struct curl_slist *headers_of(const struct check *check, const struct probe *probe)
{
    struct curl_slist *list = NULL;
    char signature[SIGNATURE_SIZE];
    int64_t now = (int64_t)time(NULL);
    list = add(list, "Content-Type: application/json; charset=utf-8");
    list = add(list, "Accept: application/json");
    list = add(list, "User-Agent: carillon/%s check-endpoint", CARILLON_VERSION);
    list = add(list, "Idempotency-Key: %s", probe->key);
    if (probe->epoch)
        list = add(list, "X-Carillon-Epoch: %d", probe->epoch);
    list = add(list, "X-Carillon-Run: %s", check->stem);
    list = add(list, "X-Carillon-Job: default/check-endpoint");
    list = add(list, "X-Carillon-Step: check");
    list = add(list, "X-Carillon-Attempt: 1");
    if (!check->key)
        return list;
    if (!crypto_webhook_sign(check->key, probe->key, now, probe->body, strlen(probe->body), signature))
        return list;
    if (probe->forged)
        signature[4] = signature[4] == 'A' ? 'B' : 'A';
    list = add(list, "Webhook-Id: %s", probe->key);
    list = add(list, "Webhook-Timestamp: %lld", (long long)now);
    return add(list, "Webhook-Signature: %s", signature);
}

static void ask(const struct check *check, struct probe *probe)
{
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = headers_of(check, probe);
    str_init(&probe->text, BODY_MAX);
    (void)curl_easy_setopt(easy, CURLOPT_URL, probe->url);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, probe->method);
    if (*probe->body)
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, probe->body);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 60000L);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, probe);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, probe);
    CURLcode code = curl_easy_perform(easy);
    if (code == CURLE_OK) {
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &probe->status);
    } else {
        bool big = str_status(&probe->text) != STATUS_OK;
        str_clear(&probe->text);
        str_add(&probe->text, big ? "the answer has more than 4 MiB, which a scheduler takes for bad_answer"
                                  : curl_easy_strerror(code));
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
}

static struct probe probe_of(const struct check *check, const char *key)
{
    return (struct probe){.method = "POST", .url = check->url, .body = check->body, .key = key};
}

/* ---- checks --------------------------------------------------------------------------------------------------------
 */

static void check_form(struct check *check, const struct probe *first)
{
    const char *text = str_text(&first->text);
    bool json = first->text.length > 0 && json_check(text, first->text.length, DEPTH, NULL) == STATUS_OK;
    bool says = json && json_type_of(json_member(slice_of(text, first->text.length), "status")) != JSON_NONE;
    if (!json)
        say(check, "form", GRADE_MEND,
            "the answer is no JSON, so the whole text is the result; answer {\"status\":\"success\",\"result\":…}");
    else if (!says)
        say(check, "form", GRADE_MEND,
            "the answer has no \"status\": every 2xx counts as success, and a failure cannot be told");
    else if (strncasecmp(first->type, "application/json", 16) != 0)
        say(check, "form", GRADE_MEND, "JSON, but Content-Type is \"%s\"; send application/json", first->type);
    else
        say(check, "form", GRADE_GOOD, "JSON with a status");
}

static bool check_call(struct check *check, const struct probe *first)
{
    struct arena arena;
    struct answer answer = {.delay = -1};
    struct answer_input input = {.http_status = (int)first->status,
                                 .body = str_text(&first->text),
                                 .length = first->text.length,
                                 .content_type = first->type,
                                 .location = first->location,
                                 .retry_after = -1};
    arena_init(&arena, BODY_MAX);
    bool read = answer_classify(&input, &arena, &answer) == STATUS_OK;
    bool good = read && (answer.class == CALL_SUCCESS || answer.class == CALL_ACCEPTED || answer.class == CALL_BUSY ||
                         answer.class == CALL_FAILURE);
    const char *why = answer.message ? answer.message : answer.note ? answer.note : "";
    if (first->status == 401 && !check->key)
        say(check, "call", GRADE_BROKEN,
            "401: it checks signatures; put the application's key into CARILLON_APPLICATION_KEY (carillon application-key)");
    else if (good)
        say(check, "call", GRADE_GOOD, "%ld means %s%s%s", first->status, call_class_text(answer.class),
            *why ? ": " : "", why);
    else
        say(check, "call", GRADE_BROKEN, "%ld means %s%s%s%s", first->status,
            read ? call_class_text(answer.class) : "bad_answer", *why ? ": " : "", why,
            first->status / 100 == 3 ? "; redirects are not followed, name the last address" : "");
    arena_release(&arena);
    return good;
}

static void check_repeat(struct check *check, const struct probe *first)
{
    char key[96];
    (void)snprintf(key, sizeof key, "%s.check.0.1", check->stem);
    struct probe again = probe_of(check, key);
    ask(check, &again);
    bool same = again.status == first->status && strcmp(str_text(&again.text), str_text(&first->text)) == 0;
    if (again.replayed || (same && again.status == 202))
        say(check, "repeated key", GRADE_GOOD, "it gets the first answer again");
    else
        say(check, "repeated key", GRADE_MEND,
            "%s; remember keys with their answers for a day, so that a call whose answer was lost has no second effect%s",
            same ? "the answer is the same, but nothing says that it was remembered" : "it is carried out again",
            same ? " (and say Idempotency-Replayed: true)" : "");
    str_release(&again.text);
    struct probe clash = probe_of(check, key);
    clash.body = "{\"carillon-check\":\"another body\"}";
    ask(check, &clash);
    if (clash.status == 422)
        say(check, "key, other body", GRADE_GOOD, "refused with 422");
    else
        say(check, "key, other body", GRADE_MEND,
            "%ld; answer 422: two requests under one key are a mistake of somebody", clash.status);
    str_release(&clash.text);
}

struct refusal { /* what should be refused, and how */
    const char *what, *method, *body;
    bool forged, needs_key;
    long wanted, also;
    const char *advice;
};

static const struct refusal refusals[] = {
    {"no JSON", "POST", "{broken", false, false, 400, 422, "answer 400 before anything is done"},
    {"GET", "GET", "", false, false, 405, 404,
     "a task takes POST: links, crawlers and health checks must not start it"},
    {"wrong signature", "POST", NULL, true, true, 401, 403,
     "check Webhook-Signature, or anybody who reaches it can start the task"},
};

static void check_refusals(struct check *check)
{
    char key[96];
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        if (r->needs_key && !check->key) {
            say(check, r->what, GRADE_MEND, "not tried: no key was given; without one it takes calls of everybody");
            continue;
        }
        (void)snprintf(key, sizeof key, "%s.check.0.%zu", check->stem, i + 2);
        struct probe probe = probe_of(check, key);
        probe.method = r->method;
        probe.body = r->body ? r->body : check->body;
        probe.forged = r->forged;
        ask(check, &probe);
        if (probe.status == r->wanted || probe.status == r->also)
            say(check, r->what, GRADE_GOOD, "refused with %ld", probe.status);
        else
            say(check, r->what, r->forged ? GRADE_BROKEN : GRADE_MEND, "%ld; %s", probe.status, r->advice);
        str_release(&probe.text);
    }
}

static void check_epoch(struct check *check)
{
    char keys[2][96];
    long status[2];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "%s.check.0.%zu", check->stem, i + 8);
        struct probe probe = probe_of(check, keys[i]);
        probe.epoch = i == 0 ? 7 : 6;
        ask(check, &probe);
        status[i] = probe.status;
        str_release(&probe.text);
    }
    if (status[1] == 409)
        say(check, "lower epoch", GRADE_GOOD, "refused with 409");
    else
        say(check, "lower epoch", GRADE_MEND, "%ld; an executor may refuse (409) a scheduler that was overtaken",
            status[1]);
}

static void check_accepted(struct check *check, const struct probe *first)
{
    char url[1024] = "";
    if (first->status != 202)
        return;
    CURLU *base = curl_url();
    char *whole = NULL;
    if (*first->location && !curl_url_set(base, CURLUPART_URL, check->url, 0) &&
        !curl_url_set(base, CURLUPART_URL, first->location, 0) && !curl_url_get(base, CURLUPART_URL, &whole, 0))
        (void)snprintf(url, sizeof url, "%s", whole);
    curl_free(whole);
    curl_url_cleanup(base);
    if (!*url) {
        say(check, "status url", GRADE_MEND,
            "202 without Location: nobody can ask how the work stands, or cancel it there");
        return;
    }
    char key[96];
    (void)snprintf(key, sizeof key, "%s.check.0.20", check->stem);
    struct probe probe = probe_of(check, key);
    probe.method = "GET";
    probe.url = url;
    probe.body = "";
    ask(check, &probe);
    bool json = json_check(str_text(&probe.text), probe.text.length, DEPTH, NULL) == STATUS_OK;
    if (probe.status == 200 && json &&
        json_type_of(json_member(slice_of(str_text(&probe.text), probe.text.length), "state")) == JSON_STRING)
        say(check, "status url", GRADE_GOOD, "it tells the state");
    else
        say(check, "status url", GRADE_MEND, "GET %s gives %ld; answer 200 with what a report would say, {\"state\":…}",
            url, probe.status);
    str_release(&probe.text);
}

static void check_health(struct check *check)
{
    char url[600];
    const char *scheme = strstr(check->url, "://");
    const char *host = scheme ? scheme + 3 : check->url;
    (void)snprintf(url, sizeof url, "%.*s/healthz", (int)(host - check->url + (long)strcspn(host, "/?")), check->url);
    struct probe probe = {.method = "GET", .url = url, .body = "", .key = "health"};
    ask(check, &probe);
    if (probe.status == 200)
        say(check, "health", GRADE_GOOD, "GET /healthz answers");
    else
        say(check, "health", GRADE_MEND, "GET /healthz gives %ld; answer 200 while it can work", probe.status);
    str_release(&probe.text);
}

static enum exit_code print(struct check *check)
{
    const char *whole = check->counts[GRADE_BROKEN] ? "broken" : check->counts[GRADE_MEND] ? "works, but mend" : "good";
    if (check->json) {
        struct str url;
        str_init(&url, BODY_MAX);
        str_add_json(&url, check->url);
        (void)printf("{\"url\":%s,\"grade\":\"%s\",\"checks\":[%s]}\n", str_text(&url), whole, str_text(&check->items));
        str_release(&url);
        table_release(&check->table);
    } else {
        table_print(&check->table, "");
        (void)printf("\n%s: %s (%d good, %d to mend, %d broken)\n", check->url, whole, check->counts[GRADE_GOOD],
                     check->counts[GRADE_MEND], check->counts[GRADE_BROKEN]);
    }
    str_release(&check->items);
    return check->counts[GRADE_BROKEN] ? EXIT_FAILED : EXIT_OK;
}

static enum exit_code run(const struct args *args)
{
    static const char *const heading[] = {"CHECK", "GRADE", "WHAT"};
    const char *key = getenv("CARILLON_APPLICATION_KEY"), *body = args_get(args, "--body");
    struct check check = {.url = args->words[0], .body = body ? body : "{}", .key = key && *key ? key : NULL};
    char first_key[96];
    crypto_start();
    if (strncmp(check.url, "http://", 7) != 0 && strncmp(check.url, "https://", 8) != 0)
        return complain(EXIT_BAD_INPUT, "the whole address of a task is expected: http://127.0.0.1:9000/post");
    if (json_check(check.body, strlen(check.body), DEPTH, NULL) != STATUS_OK)
        return complain(EXIT_BAD_INPUT, "--body is no JSON");
    char ignored[SIGNATURE_SIZE];
    if (check.key && !crypto_webhook_sign(check.key, "x", 0, "", 0, ignored))
        return complain(EXIT_BAD_INPUT, "CARILLON_APPLICATION_KEY is no key: \"whsec_\" and base64 are expected");
    check.json = args_get(args, "--json") != NULL;
    str_init(&check.items, BODY_MAX);
    table_init(&check.table, 3, heading);
    (void)snprintf(check.stem, sizeof check.stem, "%lld%05ld", (long long)time(NULL), (long)getpid() % 100000);
    (void)snprintf(first_key, sizeof first_key, "%s.check.0.1", check.stem);
    struct probe first = probe_of(&check, first_key);
    ask(&check, &first);
    if (!first.status) {
        enum exit_code code = complain(EXIT_UNREACHABLE, "%s: %s", check.url, str_text(&first.text));
        str_release(&first.text);
        str_release(&check.items);
        table_release(&check.table);
        return code;
    }
    if (check_call(&check, &first)) {
        check_form(&check, &first);
        check_repeat(&check, &first);
        check_refusals(&check);
        check_epoch(&check);
        check_accepted(&check, &first);
    }
    check_health(&check);
    str_release(&first.text);
    return print(&check);
}

static const struct flag check_flags[] = {{"--body", NULL, "JSON", "parameters of the calls (default {})"},
                                          {"--json", NULL, NULL, "print JSON instead of a table"},
                                          {0}};

const struct verb verb_check_endpoint = {
    .name = "check-endpoint",
    .words = "URL",
    .summary = "call a task as a scheduler would, grade it against the protocol, say what to mend",
    .teach =
        "The task is carried out for real, up to four times. Calls are signed when CARILLON_APPLICATION_KEY holds the\n"
        "application's key. Exit code 0: good, or works with something to mend; 1: broken; 5: nobody answers.\n\n"
        "  carillon check-endpoint http://127.0.0.1:9000/post --body '{\"total\":\"1\"}'",
    .flags = check_flags,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
