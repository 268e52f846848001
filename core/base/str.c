#include "core/base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_init(struct str *s, size_t maximum)
{
    *s = (struct str){.maximum = maximum};
}

void str_release(struct str *s)
{
    free(s->data);
    *s = (struct str){.maximum = s->maximum};
}

void str_clear(struct str *s)
{
    s->length = 0;
    s->failed = s->too_big = false;
    if (s->data)
        s->data[0] = '\0';
}

static bool reserve(struct str *s, size_t more)
{
    if (s->failed)
        return false;
    if (more > s->maximum || s->length > s->maximum - more) {
        s->failed = s->too_big = true;
        return false;
    }
    size_t need = s->length + more + 1;
    if (need <= s->room)
        return true;
    size_t room = s->room ? s->room : 64;
    while (room < need)
        room *= 2;
    char *grown = realloc(s->data, room);
    if (!grown) {
        s->failed = true;
        return false;
    }
    s->data = grown;
    s->room = room;
    return true;
}

void str_add_bytes(struct str *s, const void *bytes, size_t length)
{
    if (!reserve(s, length))
        return;
    if (length)
        memcpy(s->data + s->length, bytes, length);
    s->length += length;
    s->data[s->length] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_add_bytes(s, text, strlen(text));
}

void str_add_char(struct str *s, char c)
{
    str_add_bytes(s, &c, 1);
}

void str_add_i64(struct str *s, int64_t number)
{
    char digits[24];
    str_add_bytes(s, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number));
}

void str_addf(struct str *s, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(s, (size_t)length)) {
        (void)vsnprintf(s->data + s->length, (size_t)length + 1, format, again);
        s->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void str_add_json_bytes(struct str *s, const char *bytes, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    size_t start = 0;
    str_add_char(s, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        str_add_bytes(s, bytes + start, i - start);
        start = i + 1;
        switch (c) {
        case '"':
            str_add(s, "\\\"");
            break;
        case '\\':
            str_add(s, "\\\\");
            break;
        case '\n':
            str_add(s, "\\n");
            break;
        case '\r':
            str_add(s, "\\r");
            break;
        case '\t':
            str_add(s, "\\t");
            break;
        default: {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            str_add_bytes(s, escape, sizeof escape);
        }
        }
    }
    str_add_bytes(s, bytes + start, length - start);
    str_add_char(s, '"');
}

void str_add_json(struct str *s, const char *text)
{
    str_add_json_bytes(s, text, strlen(text));
}

const char *str_text(const struct str *s)
{
    return s->data ? s->data : "";
}

enum status str_status(const struct str *s)
{
    if (!s->failed)
        return STATUS_OK;
    return s->too_big ? STATUS_TOO_BIG : STATUS_NO_MEMORY;
}

char *str_take(struct str *s)
{
    if (s->failed || !reserve(s, 0)) {
        str_release(s);
        return NULL;
    }
    s->data[s->length] = '\0';
    char *bytes = s->data;
    *s = (struct str){.maximum = s->maximum};
    return bytes;
}
