#include "executor-lib/client.h"

#include <stdio.h>
#include <string.h>

static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct client_answer *answer = context;
    size_t length = size * count, room = sizeof answer->text - 1 - answer->length;
    memcpy(answer->text + answer->length, bytes, length < room ? length : room);
    answer->length += length < room ? length : room;
    answer->text[answer->length] = '\0';
    return length;
}

long client_send(CURL *easy, const struct client_request *request, struct client_answer *answer)
{
    long status = 0;
    answer->length = 0;
    answer->text[0] = '\0';
    curl_easy_reset(easy);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (*request->body) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, request->connect_ms);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request->total_ms);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    CURLcode code = request->headers ? curl_easy_perform(easy) : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK)
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    else
        (void)snprintf(answer->text, sizeof answer->text, "%s", curl_easy_strerror(code));
    return status;
}
