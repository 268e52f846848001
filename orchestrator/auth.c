#include "orchestrator/auth.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "adapters/crypto/crypto.h"

#define CACHE_SIZE 256               /* tokens; the oldest place is reused */
#define CACHE_LIFE (5 * SPAN_SECOND) /* how long a revoked token may still work */
#define BRAKE_SIZE 256               /* addresses */
#define BRAKE_WINDOW SPAN_MINUTE
#define BRAKE_REFUSALS 30 /* refused tokens of one address in a window */
#define TOKEN_MAX 256     /* bytes of a token worth hashing */

struct known { /* a token seen lately */
    char hash[HASH_HEX_SIZE];
    struct principal who;
    instant expires_at;
    mono until, second; /* second: start of the window of `asked` */
    int64_t asked;
};

struct brake { /* an address that sent refused tokens */
    char remote[64];
    mono since;
    int refusals;
};

struct auth {
    pthread_mutex_t lock;
    struct known known[CACHE_SIZE];
    struct brake brakes[BRAKE_SIZE];
};

struct auth *auth_create(void)
{
    struct auth *auth = mem_new(struct auth);
    (void)pthread_mutex_init(&auth->lock, NULL);
    return auth;
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    (void)pthread_mutex_destroy(&auth->lock);
    free(auth);
}

void auth_forget(struct auth *auth, int64_t token)
{
    (void)pthread_mutex_lock(&auth->lock);
    for (size_t i = 0; i < CACHE_SIZE; i++)
        if (auth->known[i].who.id == token)
            auth->known[i] = (struct known){0};
    (void)pthread_mutex_unlock(&auth->lock);
}

/* ---- below: with the lock held ---- */

static struct known *find_known(struct auth *auth, const char *hash, mono now)
{
    struct known *known = &auth->known[hash_text(hash, 0) % CACHE_SIZE];
    return mono_cmp(known->until, now) > 0 && crypto_equal(known->hash, hash, HASH_HEX_SIZE) ? known : NULL;
}

/* Seen here before, however long ago: its owner is not locked out by the refused tokens of others at his address. */
static bool seen_before(const struct auth *auth, const char *hash)
{
    return crypto_equal(auth->known[hash_text(hash, 0) % CACHE_SIZE].hash, hash, HASH_HEX_SIZE);
}

/* One more request of this token in this second; false: too many. */
static bool count_request(struct known *known, mono now, int64_t rate)
{
    if (mono_sub(now, known->second) >= SPAN_SECOND) {
        known->second = now;
        known->asked = 0;
    }
    known->asked++;
    return !rate || known->asked <= rate;
}

static struct brake *find_brake(struct auth *auth, const char *remote, mono now)
{
    struct brake *brake = &auth->brakes[hash_text(remote, 0) % BRAKE_SIZE];
    if (strncmp(brake->remote, remote, sizeof brake->remote - 1) != 0 || mono_sub(now, brake->since) >= BRAKE_WINDOW) {
        *brake = (struct brake){.since = now};
        (void)snprintf(brake->remote, sizeof brake->remote, "%s", remote);
    }
    return brake;
}

/* ---- without it ---- */

static int count_refusal(struct call *call)
{
    struct auth *auth = call->o->auth;
    atomic_fetch_add(&call->o->refused_tokens, 1);
    (void)pthread_mutex_lock(&auth->lock);
    int refusals = ++find_brake(auth, call->request->remote ? call->request->remote : "", call->now.mono)->refusals;
    (void)pthread_mutex_unlock(&auth->lock);
    return refusals;
}

static bool refuse(struct call *call)
{
    (void)count_refusal(call);
    return call_fail(call, TOKEN_REFUSED, NULL);
}

bool auth_brake(struct call *call)
{
    return count_refusal(call) <= BRAKE_REFUSALS || call_fail(call, AUTH_TOO_OFTEN, NULL);
}

static bool look_up(struct call *call, const char *hash)
{
    struct store_op op;
    struct known known = {.until = mono_add(call->now.mono, CACHE_LIFE), .second = call->now.mono, .asked = 1};
    store_op_init(&op, STORE_TOKEN_FIND);
    op.token_find.hash = hash;
    op.token_find.touch = true;
    enum status status = call_store(call, &op);
    const struct token_row *row = &op.token_find.row;
    if (status == STATUS_OK && row->role && role_parse(row->role, &known.who.role)) {
        known.who.id = row->id;
        known.expires_at = row->expires_at;
        (void)snprintf(known.hash, sizeof known.hash, "%s", hash);
        (void)snprintf(known.who.name, sizeof known.who.name, "%s", row->name ? row->name : "");
        (void)snprintf(known.who.project, sizeof known.who.project, "%s", row->project ? row->project : "");
    } else if (status == STATUS_OK) {
        status = STATUS_NOT_FOUND; /* a role of a later release: nothing is allowed */
    }
    bool expired =
        status == STATUS_OK && !instant_is_none(known.expires_at) && instant_cmp(known.expires_at, call->now.wall) <= 0;
    bool known_to_store = status != STATUS_NOT_FOUND && !expired;
    bool ok = known_to_store && problem_of_store(&call->problem, &op);
    store_op_release(&op);
    if (!known_to_store)
        return refuse(call);
    if (!ok)
        return false;
    struct auth *auth = call->o->auth;
    (void)pthread_mutex_lock(&auth->lock);
    auth->known[hash_text(hash, 0) % CACHE_SIZE] = known;
    (void)pthread_mutex_unlock(&auth->lock);
    call->who = known.who;
    return true;
}

static const char *bearer(struct call *call)
{
    const char *header = http_header(call->request, "Authorization");
    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        return NULL;
    header += 7;
    while (*header == ' ')
        header++;
    return *header ? header : NULL;
}

bool auth_check(struct call *call)
{
    struct auth *auth = call->o->auth;
    const char *token = bearer(call), *remote = call->request->remote ? call->request->remote : "";
    char hash[HASH_HEX_SIZE], rate_text[24];
    if (!token)
        return call_fail(call, TOKEN_MISSING, NULL);
    crypto_sha256_hex(token, strnlen(token, TOKEN_MAX), hash);

    int64_t rate = call->o->options.settings->server.rate;
    (void)pthread_mutex_lock(&auth->lock);
    struct known *known = find_known(auth, hash, call->now.mono);
    bool expired = known && !instant_is_none(known->expires_at) && instant_cmp(known->expires_at, call->now.wall) <= 0;
    bool within = !known || count_request(known, call->now.mono, rate);
    bool braked =
        !known && !seen_before(auth, hash) && find_brake(auth, remote, call->now.mono)->refusals >= BRAKE_REFUSALS;
    if (known)
        call->who = known->who;
    (void)pthread_mutex_unlock(&auth->lock);

    if (braked)
        return call_fail(call, AUTH_TOO_OFTEN, NULL);
    if (!known)
        return strlen(token) > TOKEN_MAX ? refuse(call) : look_up(call, hash);
    if (expired)
        return refuse(call);
    (void)snprintf(rate_text, sizeof rate_text, "%lld", (long long)rate);
    return within || call_fail(call, TOO_OFTEN, "rate", rate_text, NULL);
}
