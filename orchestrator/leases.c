/* Leases for applications: one holder at a time, by the database's clock. A token of one project has names of its own;
 * those of cluster-wide tokens are the cluster's. The lease's token is told once, at the taking. */
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "orchestrator/routes.h"

#define TTL_DEFAULT 30 /* seconds, as for our own leases */
#define TTL_MAX 86400

struct lease_wish {
    const char *holder, *token;
    int64_t ttl; /* seconds */
};

static bool read_wish(struct call *call, bool need_token, struct lease_wish *ret)
{
    struct slice body = slice_of("{}", 2);
    struct problem *problem = &call->problem;
    *ret = (struct lease_wish){.ttl = TTL_DEFAULT};
    if (call->request->body_length && !input_object(call, &body))
        return false;
    if (!name_valid(call->name))
        return call_fail(call, PARAMETER_INVALID, "name", "lease", "reason",
                         "lower-case letters, digits, '.', '_' and '-', at most 128", NULL);
    if (!input_text(call, problem, body, "holder", &ret->holder) ||
        !input_text(call, problem, body, "token", &ret->token) ||
        !input_int(problem, body, "ttl_seconds", 1, TTL_MAX, TTL_DEFAULT, &ret->ttl))
        return false;
    if (need_token && !ret->token)
        return call_fail(call, PARAMETER_INVALID, "name", "token", "reason", "the one that acquire answered", NULL);
    return true;
}

static void write_lease(const struct app_lease *lease, struct out *out)
{
    out_text(out, "name", lease->name);
    out_text(out, "project", lease->project && *lease->project ? lease->project : NULL);
    out_text(out, "holder", lease->holder);
    out_int(out, "fence", lease->fence);
    out_time(out, "since", lease->since);
    out_time(out, "expires_at", lease->until);
}

static void change(struct call *call, enum lease_action action)
{
    struct lease_wish wish;
    struct store_op op;
    char token[TOKEN_TEXT_SIZE], hash[HASH_HEX_SIZE];
    if (!read_wish(call, action != LEASE_ACQUIRE, &wish))
        return;
    if (action == LEASE_ACQUIRE) {
        crypto_token(token);
        wish.token = token;
    }
    crypto_sha256_hex(wish.token, strlen(wish.token), hash);
    store_op_init(&op, STORE_APP_LEASE);
    op.app_lease.action = action;
    op.app_lease.ttl = wish.ttl * SPAN_SECOND;
    op.app_lease.token_hash = hash;
    op.app_lease.row = (struct app_lease){.project = *call->who.project ? call->who.project : NULL,
                                          .name = call->name,
                                          .holder = wish.holder ? wish.holder : call->who.name,
                                          .author = call->who.name};
    enum status status = call_store(call, &op);
    const struct app_lease *row = &op.app_lease.row;
    if (status == STATUS_OK) {
        struct out out = out_to(call_body(call));
        out_open(&out, NULL, '{');
        write_lease(row, &out);
        if (action == LEASE_ACQUIRE)
            out_text(&out, "token", token);
        out_close(&out, '}');
    } else if (status == STATUS_CONFLICT && row->holder) {
        call_fail(call, LEASE_HELD, "lease", call->name, "holder", row->holder, NULL);
    } else if (status == STATUS_CONFLICT) {
        call_fail(call, LEASE_LOST, "lease", call->name, NULL);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

void lease_acquire(struct call *call)
{
    change(call, LEASE_ACQUIRE);
}

void lease_renew(struct call *call)
{
    change(call, LEASE_RENEW);
}

void lease_release(struct call *call)
{
    change(call, LEASE_RELEASE);
}

void leases_list(struct call *call)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    if (!input_page(call, &page))
        return;
    store_op_init(&op, STORE_APP_LEASES);
    op.app_leases = (struct store_app_leases){
        .project = *call->who.project ? call->who.project : NULL, .skip = page.skip, .limit = page.limit};
    if (call_store(call, &op) == STATUS_OK) {
        out_page_begin(&out);
        for (size_t i = 0; i < op.app_leases.count; i++) {
            out_open(&out, NULL, '{');
            write_lease(&op.app_leases.rows[i], &out);
            out_text(&out, "author", op.app_leases.rows[i].author);
            out_close(&out, '}');
        }
        out_page_end(&out, op.app_leases.total);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}
