/* One HTTP request to a Carillon server, blocking: http and https alone, no proxy, no redirects. */
#ifndef CARILLON_EXECUTOR_LIB_CLIENT_H
#define CARILLON_EXECUTOR_LIB_CLIENT_H

#include <curl/curl.h>

#define CLIENT_ANSWER_BYTES 4096

struct client_request {
    const char *method, *url, *body; /* body "" = none */
    struct curl_slist *headers;      /* borrowed */
    long connect_ms, total_ms;
};

struct client_answer {
    char text[CLIENT_ANSWER_BYTES]; /* the beginning of the body; status 0: why there is none */
    size_t length;
};

/* HTTP status; 0: no answer. */
long client_send(CURL *easy, const struct client_request *request, struct client_answer *answer);

#endif
