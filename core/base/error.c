#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

/* A text that was cut, or quotes what was cut, may end in half a character: such bytes go, so that it stays UTF-8. */
static void drop_halves(char *text)
{
    size_t length = strlen(text);
    char *to = text;
    if (utf8_valid(text, length))
        return;
    for (size_t i = 0; i < length;) {
        unsigned char lead = (unsigned char)text[i];
        size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
        if (n > length - i || !utf8_valid(text + i, n)) {
            i++;
            continue;
        }
        memmove(to, text + i, n);
        to += n;
        i += n;
    }
    *to = '\0';
}

enum status error_set(struct error *err, enum status code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        drop_halves(err->text);
    }
    return code;
}

void faults_init(struct faults *faults)
{
    *faults = (struct faults){0};
}

void faults_release(struct faults *faults)
{
    free(faults->items);
    *faults = (struct faults){0};
}

static PRINTF_LIKE(4, 0) void add(struct faults *faults, bool warning, const char *path, const char *format,
                                  va_list args)
{
    if (!warning)
        faults->errors++;
    if (faults->count == FAULTS_MAX)
        return;
    if ((faults->count & (faults->count - 1)) == 0) { /* grow at 0, 1, 2, 4, 8, … */
        size_t room = faults->count ? faults->count * 2 : 1;
        struct fault *grown = realloc(faults->items, room * sizeof *grown);
        if (!grown)
            return;
        faults->items = grown;
    }
    struct fault *fault = &faults->items[faults->count++];
    fault->warning = warning;
    (void)snprintf(fault->path, sizeof fault->path, "%s", path ? path : "");
    (void)vsnprintf(fault->text, sizeof fault->text, format, args);
    drop_halves(fault->path);
    drop_halves(fault->text);
}

void faults_add(struct faults *faults, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(faults, false, path, format, args);
    va_end(args);
}

void faults_warn(struct faults *faults, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(faults, true, path, format, args);
    va_end(args);
}
