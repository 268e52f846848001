/* What arrives of an answer: its header lines and its body, with limits to both. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/curl/transfer_parts.h"

#define RETRY_AFTER_MAX (7 * SPAN_DAY)

/* Copies the value of a header line; empty when it does not fit or holds control characters. */
static void header_value(const char *line, size_t length, char *ret, size_t size)
{
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*line)) {
        line++;
        length--;
    }
    ret[0] = '\0';
    if (length >= size)
        return;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f)
            return;
    }
    memcpy(ret, line, length);
    ret[length] = '\0';
}

/* Seconds or a date. */
static span retry_after_parse(const char *text, instant now)
{
    char *end;
    if (*text >= '0' && *text <= '9') {
        long long seconds = strtoll(text, &end, 10);
        if (*end)
            return -1;
        return seconds > RETRY_AFTER_MAX / SPAN_SECOND ? RETRY_AFTER_MAX : seconds * SPAN_SECOND;
    }
    time_t at = curl_getdate(text, NULL);
    if (at == (time_t)-1)
        return -1;
    span left = ms_sub((int64_t)at * SPAN_SECOND, now.ms);
    return left < 0 ? 0 : left > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : left;
}

/* Whoever reads two lengths, or one that overflows, may take a piece of the body for the next answer: refused, while
 * curl would take the last one, or read on. */
static bool length_sound(struct transfer *transfer, const char *text)
{
    int64_t length = 0;
    bool number = *text;
    for (; *text && number; text++) {
        int digit = *text - '0';
        number = digit >= 0 && digit <= 9 && length <= (INT64_MAX - digit) / 10;
        length = number ? length * 10 + digit : length;
    }
    if (!number)
        transfer->misframed = "its Content-Length is no number of bytes";
    else if (transfer->length_said >= 0 && transfer->length_said != length)
        transfer->misframed = "it has two headers Content-Length that differ";
    transfer->length_said = length;
    return !transfer->misframed;
}

size_t transfer_on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    struct dispatch_call *call = transfer->call;
    size_t length = size * count;
    char text[128];
    transfer->header_bytes += length;
    if (transfer->header_bytes > TRANSFER_HEADERS_MAX) {
        transfer->flooded = true;
        return 0;
    }
    if (length > 5 && memcmp(bytes, "HTTP/", 5) == 0) { /* a block begins; one before it was interim (1xx) */
        call->retry_after = -1;
        transfer->head_whole = false;
        transfer->length_said = -1;
        call->content_type[0] = transfer->location[0] = '\0';
    } else if ((length == 2 && bytes[0] == '\r') || (length == 1 && bytes[0] == '\n')) {
        transfer->head_whole = true;
    } else if (length > 9 && strncasecmp(bytes, "location:", 9) == 0) {
        header_value(bytes + 9, length - 9, transfer->location, sizeof transfer->location);
    } else if (length > 13 && strncasecmp(bytes, "content-type:", 13) == 0) {
        header_value(bytes + 13, length - 13, call->content_type, sizeof call->content_type);
    } else if (length > 12 && strncasecmp(bytes, "retry-after:", 12) == 0) {
        header_value(bytes + 12, length - 12, text, sizeof text);
        call->retry_after = retry_after_parse(text, transfer->now);
    } else if (length > 15 && strncasecmp(bytes, "content-length:", 15) == 0) {
        header_value(bytes + 15, length - 15, text, sizeof text);
        return length_sound(transfer, text) ? length : 0;
    }
    return length;
}

size_t transfer_on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = size * count;
    if (length > transfer->body.maximum - transfer->body.length ||
        transfer->shared->body_bytes + length > transfer->shared->body_max) {
        transfer->too_big = true;
        return 0;
    }
    str_add_bytes(&transfer->body, bytes, length);
    transfer->shared->body_bytes += length;
    return transfer->body.failed ? 0 : length;
}
