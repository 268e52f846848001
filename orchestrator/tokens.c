/* Tokens: made (shown once), listed (never with their hash), taken back. A token of one project makes and takes back
 * those of its project alone. */
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "core/base/duration.h"
#include "core/base/ids.h"
#include "orchestrator/auth.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"

struct token_wish {
    const char *name, *project;
    enum role role;
    instant expires_at;
};

static bool read_token_wish(struct call *call, struct token_wish *ret)
{
    struct slice body;
    struct problem *problem = &call->problem;
    const char *role, *life;
    span length;
    struct error err;
    if (!input_object(call, &body) || !input_text(call, problem, body, "name", &ret->name) ||
        !input_text(call, problem, body, "role", &role) || !input_text(call, problem, body, "project", &ret->project) ||
        !input_text(call, problem, body, "expires_in", &life) ||
        !input_time(call, problem, body, "expires_at", &ret->expires_at))
        return false;
    if (!ret->name || !name_valid(ret->name))
        return call_fail(call, PARAMETER_INVALID, "name", "name", "reason",
                         "lower-case letters, digits, '.', '_' and '-', at most 128", NULL);
    if (!role || !role_parse(role, &ret->role))
        return call_fail(call, PARAMETER_INVALID, "name", "role", "reason", "viewer, operator, developer or admin",
                         NULL);
    if (ret->project && !name_valid(ret->project))
        return call_fail(call, PARAMETER_INVALID, "name", "project", "reason", "is no name of a project", NULL);
    if (life) {
        if (duration_parse(life, &length, &err) != STATUS_OK)
            return call_fail(call, PARAMETER_INVALID, "name", "expires_in", "reason", err.text, NULL);
        ret->expires_at = instant_add(call->now.wall, length);
    }
    if (!instant_is_none(ret->expires_at) && instant_cmp(ret->expires_at, call->now.wall) <= 0)
        return call_fail(call, PARAMETER_INVALID, "name", "expires_at", "reason", "lies in the past", NULL);
    /* Nobody gives away more than they have. */
    return !*call->who.project || call_may(call, ROLE_ADMIN, ret->project, problem);
}

void token_create(struct call *call)
{
    struct token_wish wish = {0};
    struct store_op op;
    char token[TOKEN_TEXT_SIZE], hash[HASH_HEX_SIZE];
    if (!read_token_wish(call, &wish))
        return;
    crypto_token(token);
    crypto_sha256_hex(token, strlen(token), hash);
    store_op_init(&op, STORE_TOKEN_ADD);
    op.token_add.author = call->who.name;
    op.token_add.row = (struct token_row){.name = wish.name,
                                          .role = role_text(wish.role),
                                          .project = wish.project,
                                          .hash = hash,
                                          .created_at = call->now.wall,
                                          .expires_at = wish.expires_at,
                                          .last_used_at = INSTANT_NONE};
    enum status status = call_store(call, &op);
    if (status == STATUS_OK) {
        struct out out = out_to(call_body(call));
        call->response->status = 201;
        out_open(&out, NULL, '{');
        out_id(&out, "id", op.token_add.row.id);
        out_text(&out, "name", wish.name);
        out_text(&out, "role", role_text(wish.role));
        out_text(&out, "project", wish.project);
        out_time(&out, "expires_at", wish.expires_at);
        out_text(&out, "token", token); /* shown once; the store has its hash alone */
        out_close(&out, '}');
    } else if (status == STATUS_EXISTS || status == STATUS_CONFLICT) {
        call_fail(call, IN_USE, "name", wish.name, "reason", "there is a token of this name", NULL);
    } else if (status == STATUS_NOT_FOUND) {
        call_fail(call, PROJECT_UNKNOWN, "project", wish.project ? wish.project : "", NULL);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

static const char *scope(const struct call *call)
{
    return *call->who.project ? call->who.project : NULL;
}

void tokens_list(struct call *call)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    if (!input_page(call, &page))
        return;
    store_op_init(&op, STORE_TOKENS);
    op.tokens = (struct store_tokens){.project = scope(call), .skip = page.skip, .limit = page.limit};
    if (call_store(call, &op) == STATUS_OK) {
        out_page_begin(&out);
        for (size_t i = 0; i < op.tokens.count; i++) {
            const struct token_row *row = &op.tokens.rows[i];
            out_open(&out, NULL, '{');
            out_id(&out, "id", row->id);
            out_text(&out, "name", row->name);
            out_text(&out, "role", row->role);
            out_text(&out, "project", row->project);
            out_time(&out, "created_at", row->created_at);
            out_time(&out, "expires_at", row->expires_at);
            out_time(&out, "last_used_at", row->last_used_at);
            out_time(&out, "revoked_at", row->revoked_at);
            out_close(&out, '}');
        }
        out_page_end(&out, op.tokens.total);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

static void revoke(struct call *call, struct batch_item *item)
{
    struct store_op op;
    int64_t id;
    if (item->problem.code != PROBLEM_NONE)
        return;
    if (!id_parse(item->key, &id)) {
        problem_set(&item->problem, TOKEN_UNKNOWN, "id", item->key, NULL);
        return;
    }
    store_op_init(&op, STORE_TOKEN_END);
    op.token_end = (struct store_token_end){.id = id, .project = scope(call), .author = call->who.name};
    if (call_store(call, &op) == STATUS_NOT_FOUND)
        problem_set(&item->problem, TOKEN_UNKNOWN, "id", item->key, NULL);
    else if (problem_of_store(&item->problem, &op))
        auth_forget(call->o->auth, id); /* other processes follow within CACHE_LIFE */
    store_op_release(&op);
}

void tokens_revoke(struct call *call)
{
    struct batch batch;
    if (!requests_input(call, "ids", "id", &batch))
        return;
    for (size_t i = 0; i < batch.count; i++)
        revoke(call, &batch.items[i]);
    requests_answer(call, &batch, empty_result, NULL);
    batch_release(&batch);
}

void token_delete(struct call *call)
{
    struct batch_item item = {.key = call->id};
    revoke(call, &item);
    if (item.problem.code == PROBLEM_NONE)
        call->response->status = 204;
    else
        call->problem = item.problem;
}
