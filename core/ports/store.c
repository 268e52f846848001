#include "core/ports/store.h"

#include <string.h>

void store_op_init(struct store_op *op, enum store_op_kind kind)
{
    memset(op, 0, sizeof *op);
    op->kind = kind;
    arena_init(&op->arena, STORE_ARENA_MAX);
}

void store_op_release(struct store_op *op)
{
    arena_release(&op->arena);
}

const char *store_op_name(enum store_op_kind kind)
{
    static const char *const names[STORE_OPS] = {
#define STORE_OP_NAME(symbol, member, name) [symbol] = name,
        STORE_OP_TABLE(STORE_OP_NAME)
#undef STORE_OP_NAME
    };
    return names[kind];
}

const char *request_kind_text(enum request_kind kind)
{
    static const char *const names[REQUEST_KINDS] = {
        [REQUEST_RUN] = "run",     [REQUEST_ENQUEUE] = "enqueue", [REQUEST_CANCEL] = "cancel",
        [REQUEST_PAUSE] = "pause", [REQUEST_RESUME] = "resume",   [REQUEST_MOVE] = "move",
        [REQUEST_RETRY] = "retry", [REQUEST_SUSPEND] = "suspend",
    };
    return names[kind];
}

const char *node_wish_text(enum node_wish wish)
{
    static const char *const names[NODE_WISHES] = {[NODE_WORK] = "working", [NODE_DRAIN] = "draining"};
    return names[wish];
}

const char *activation_kind_text(enum activation_kind kind)
{
    static const char *const names[] = {[ACTIVATION_VERSION] = "version",
                                        [ACTIVATION_PAUSE] = "pause",
                                        [ACTIVATION_RESUME] = "resume",
                                        [ACTIVATION_DELETE] = "delete"};
    return names[kind];
}
