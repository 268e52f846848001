#include "orchestrator/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct str *call_body(struct call *call)
{
    return &call->response->body;
}

bool call_fail(struct call *call, enum problem_code code, ...)
{
    struct problem *problem = &call->problem;
    va_list args;
    const char *text[2 * PROBLEM_ARGS + 1] = {0};
    va_start(args, code);
    for (size_t i = 0; i + 1 < 2 * PROBLEM_ARGS && (text[i] = va_arg(args, const char *)); i += 2)
        text[i + 1] = va_arg(args, const char *);
    va_end(args);
    return problem_set(problem, code, text[0], text[1], text[2], text[3], text[4], text[5], text[6], text[7], text[8],
                       text[9], NULL);
}

void call_poke(struct call *call)
{
    if (call->o->options.poke)
        call->o->options.poke(call->o->options.context);
}

char *call_printf(struct call *call, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(&call->arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (text && length >= 0)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

char *call_copy(struct call *call, struct slice text)
{
    return arena_copy(&call->arena, text.bytes, text.length);
}

char *call_unquote(struct call *call, struct slice string)
{
    struct str text;
    str_init(&text, LIMIT_DOCUMENT);
    json_unquote(string, &text);
    char *copy = arena_copy(&call->arena, str_text(&text), text.length);
    str_release(&text);
    return copy;
}

/* ---- permissions ---- */

static const char *const roles[] = {[ROLE_NOBODY] = "nobody",
                                    [ROLE_VIEWER] = "viewer",
                                    [ROLE_OPERATOR] = "operator",
                                    [ROLE_DEVELOPER] = "developer",
                                    [ROLE_ADMIN] = "admin"};

const char *role_text(enum role role)
{
    return roles[role];
}

bool role_parse(const char *text, enum role *ret)
{
    for (enum role role = ROLE_VIEWER; role <= ROLE_ADMIN; role++)
        if (!strcmp(roles[role], text)) {
            *ret = role;
            return true;
        }
    return false;
}

bool call_may(const struct call *call, enum role need, const char *project, struct problem *problem)
{
    if (call->who.role < need)
        return problem_set(problem, ROLE_MISSING, "need", role_text(need), "role", role_text(call->who.role), NULL);
    if (*call->who.project && (!project || strcmp(project, call->who.project) != 0))
        return problem_set(problem, SCOPE_MISSING, "scope", call->who.project, NULL);
    return true;
}

/* ---- store ---- */

enum status call_store(struct call *call, struct store_op *op)
{
    enum status status = store_execute(call->o->options.store, op);
    for (int again = 0; status == STATUS_UNKNOWN && again < 3; again++)
        status = store_execute(call->o->options.store, op);
    op->status = status;
    return status;
}

bool problem_of_store(struct problem *problem, const struct store_op *op)
{
    switch (op->status) {
    case STATUS_OK:
        return true;
    case STATUS_UNAVAILABLE:
    case STATUS_UNKNOWN:
    case STATUS_TIMEOUT:
    case STATUS_CANCELED:
    case STATUS_FENCED:
        return problem_set(problem, STORE_AWAY, NULL);
    case STATUS_FULL:
    case STATUS_READ_ONLY:
        return problem_set(problem, STORE_FULL, NULL);
    case STATUS_INVALID:
    case STATUS_TOO_BIG:
        return problem_set(problem, JSON_INVALID, "reason", op->error.text, NULL);
    case STATUS_NO_MEMORY:
    case STATUS_NOT_FOUND:
    case STATUS_EXISTS:
    case STATUS_CONFLICT:
    case STATUS_DENIED:
    case STATUS_CORRUPT:
    case STATUS_IN_USE:
    case STATUS_END:
    case STATUS_INTERNAL:
        break;
    }
    return problem_set(problem, INTERNAL, NULL);
}
