/* Instances that announce themselves (executor-protocol.md §4), and the key with which they sign and check. A
 * registration is signed like a call, with Webhook-Id "<register|leave>:<project>/<app>/<host:port>:<anything>", so
 * that nobody can say it of another address; a token with the role developer is taken, too. */
#include <stdio.h>
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "core/model/read.h"
#include "orchestrator/auth.h"
#include "orchestrator/definitions.h"
#include "orchestrator/routes.h"

#define INSTANCE_TTL (30 * SPAN_SECOND)
#define SIGNATURE_AGE 300 /* seconds, either way */
#define DOCUMENT_MAX ((size_t)256 << 10)
#define VERSION_MAX 64

/* ---- who says so ---------------------------------------------------------------------------------------------------
 */

static const char *header(const struct call *call, const char *name)
{
    const char *value = http_header(call->request, name);
    return value ? value : "";
}

static bool signature_right(struct call *call, const char *id, int64_t seconds)
{
    struct signer *signer = call->o->options.signer;
    char right[SIGNATURE_SIZE];
    const char *application = call_printf(call, "%s/%s", call->project, call->app);
    signer->sign(signer, application, id, seconds, call->request->body, call->request->body_length, right);
    size_t length = strlen(right);
    bool found = false;
    for (const char *p = header(call, "Webhook-Signature"); *p; p += strspn(p, " ")) {
        size_t one = strcspn(p, " ");
        found |= one == length && crypto_equal(p, right, length);
        p += one;
    }
    return found;
}

/* NULL: it is. */
static const char *signed_wrong(struct call *call, const char *verb)
{
    const char *id = header(call, "Webhook-Id"), *at = header(call, "Webhook-Timestamp");
    const char *begin = call_printf(call, "%s:%s/%s/%s:", verb, call->project, call->app, call->id);
    char *end = NULL;
    long long seconds = strtoll(at, &end, 10);
    if (!*id || !*at || !call->o->options.signer)
        return "it is not signed";
    if (strncmp(id, begin, strlen(begin)) != 0)
        return call_printf(call, "Webhook-Id must begin with %s", begin);
    if (*end || strlen(at) > 12 || seconds < call->now.wall.ms / 1000 - SIGNATURE_AGE ||
        seconds > call->now.wall.ms / 1000 + SIGNATURE_AGE)
        return "Webhook-Timestamp is more than five minutes away";
    return signature_right(call, id, seconds) ? NULL : "Webhook-Signature does not match";
}

static bool sender_known(struct call *call, const char *verb)
{
    if (*header(call, "Authorization"))
        return auth_check(call) && call_may(call, ROLE_DEVELOPER, call->project, &call->problem);
    const char *why = signed_wrong(call, verb);
    if (!why) {
        (void)snprintf(call->who.name, sizeof call->who.name, "executor %.150s", call->id);
        return true;
    }
    return auth_brake(call) && call_fail(call, SIGNATURE_REFUSED, "reason", why, NULL);
}

static bool admitted(struct call *call, const char *verb)
{
    if (!sender_known(call, verb))
        return false;
    if (!name_valid(call->project) || !name_valid(call->app))
        return call_fail(call, APPLICATION_UNKNOWN, "project", call->project, "name", call->app, NULL);
    return address_valid(call->id) ||
           call_fail(call, PARAMETER_INVALID, "name", "instance", "reason", "host:port is expected", NULL);
}

/* ---- its tasks -----------------------------------------------------------------------------------------------------
 */

/* A name out of a path: "/orders/new" → "orders-new". `clash`: with a piece of the path's hash. */
static void slug(const char *path, bool clash, char ret[LIMIT_NAME + 1])
{
    size_t n = 0;
    for (const char *p = path; *p && n < 100; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain || (n > 0 && ret[n - 1] != '-'))
            ret[n++] = plain ? c : '-';
    }
    while (n > 0 && ret[n - 1] == '-')
        n--;
    ret[n] = '\0';
    if (n == 0 || clash)
        (void)snprintf(ret + n, LIMIT_NAME + 1 - n, "%s%04x", n ? "-" : "task-",
                       (unsigned)(hash_text(path, 0) & 0xffff));
}

struct tasks { /* of the document that is being put together */
    struct str text;
    struct slice known; /* array of the document that is there; empty = none */
    size_t added, unknown;
    const char *first_unknown;
};

static bool member_is(struct call *call, struct slice object, const char *name, const char *text)
{
    struct slice value = json_member(object, name);
    return json_type_of(value) == JSON_STRING && strcmp(call_unquote(call, value), text) == 0;
}

static bool has(struct call *call, struct slice tasks, const char *member, const char *text)
{
    struct json_walk walk = json_walk_begin(tasks);
    while (json_walk_next(&walk))
        if (member_is(call, walk.value, member, text))
            return true;
    return false;
}

static bool is_true(struct slice object, const char *name)
{
    return json_type_of(json_member(object, name)) == JSON_TRUE;
}

static void add_task(struct call *call, struct tasks *tasks, struct slice told, const char *path)
{
    char name[LIMIT_NAME + 1];
    struct slice description = json_member(told, "description");
    slug(path, false, name);
    bool clash = has(call, tasks->known, "name", name) ||
                 strstr(str_text(&tasks->text), call_printf(call, "{\"name\":\"%s\",", name)) != NULL;
    if (clash)
        slug(path, true, name);
    str_addf(&tasks->text, "%s{\"name\":\"%s\",\"path\":", tasks->text.length ? "," : "", name);
    str_add_json(&tasks->text, path);
    if (json_type_of(description) == JSON_STRING) {
        str_add(&tasks->text, ",\"description\":");
        str_add_bytes(&tasks->text, description.bytes, description.length);
    }
    str_add(&tasks->text, is_true(told, "serial") ? ",\"serial\":true" : "");
    str_add(&tasks->text, is_true(told, "async") ? ",\"async\":true" : "");
    str_add(&tasks->text, "}");
    tasks->added++;
}

/* Tasks that the document does not know: added, or (a document of somebody else) counted. */
static void gather(struct call *call, struct slice told, bool add, struct tasks *tasks)
{
    struct json_walk walk = json_walk_begin(told);
    for (; json_walk_next(&walk);) {
        struct slice path_member = json_member(walk.value, "path");
        const char *path = json_type_of(path_member) == JSON_STRING ? call_unquote(call, path_member) : "";
        if (*path != '/' || has(call, tasks->known, "path", path) ||
            strstr(str_text(&tasks->text), call_printf(call, "\"path\":\"%s\"", path)))
            continue;
        if (add) {
            add_task(call, tasks, walk.value, path);
        } else if (tasks->unknown++ == 0) {
            tasks->first_unknown = path;
        }
    }
}

static bool store_tasks(struct call *call, const struct definition_row *row, struct tasks *tasks)
{
    struct put_options options = {.create_only = !row, .if_match = row ? row->version : 0};
    struct put_result result = {0};
    struct problem problem = {0};
    struct catalog catalog;
    struct str text;
    str_init(&text, LIMIT_DOCUMENT);
    str_add(&text, "{\"spec\":{\"tasks\":[");
    if (tasks->known.length > 2) {
        str_add_bytes(&text, tasks->known.bytes + 1, tasks->known.length - 2);
        str_add(&text, ",");
    }
    str_add(&text, str_text(&tasks->text));
    str_add(&text, "]}}");
    catalog_init(&catalog, call);
    call->source = "registered";
    struct document *document = definition_parse(&catalog, slice_of(str_text(&text), text.length), DOCUMENT_APPLICATION,
                                                 call->project, call->app, &problem);
    bool ok = document && definition_store(call, document, &options, &result, &problem);
    if (!ok && problem.code == VERSION_CHANGED) {
        ok = true; /* another instance was quicker; what it lacks comes with the next registration */
    } else if (!ok) {
        call->problem = problem;
        problem = (struct problem){0};
    }
    put_result_release(&result);
    document_free(document);
    catalog_release(&catalog);
    problem_release(&problem);
    str_release(&text);
    return ok;
}

/* New tasks appear by themselves in an application that only registrations have made. One that people wrote is theirs:
 * what it lacks is said in the answer. */
static bool take_tasks(struct call *call, struct slice told, struct tasks *tasks)
{
    struct store_op op;
    struct problem missing = {0};
    bool there = definition_fetch(call, DOCUMENT_APPLICATION, call->project, call->app, &op, &missing);
    const struct definition_row *row = there ? &op.list.rows[0] : NULL;
    bool ours = !row || (row->source && strcmp(row->source, "registered") == 0), ok = true;
    if (!there && missing.code != APPLICATION_UNKNOWN) {
        call->problem = missing;
        return false;
    }
    problem_release(&missing);
    if (row)
        tasks->known = json_member(json_member(slice_of(row->json, strlen(row->json)), "spec"), "tasks");
    gather(call, told, ours, tasks);
    if (!there || tasks->added)
        ok = str_status(&tasks->text) == STATUS_OK
                 ? store_tasks(call, row, tasks)
                 : call_fail(call, BODY_TOO_BIG, "name", "tasks", "size", "more", "maximum", "262144", NULL);
    if (there)
        store_op_release(&op);
    return ok;
}

/* ---- handlers ------------------------------------------------------------------------------------------------------
 */

static bool set(struct call *call, const char *version, const char *document, bool remove, bool *ret_fresh)
{
    struct store_op op;
    store_op_init(&op, STORE_INSTANCE_SET);
    op.instance_set.row = (struct instance_row){.project = call->project,
                                                .application = call->app,
                                                .address = call->id,
                                                .version = version,
                                                .document = document};
    op.instance_set.ttl = INSTANCE_TTL;
    op.instance_set.remove = remove;
    bool ok = call_store(call, &op) == STATUS_OK || problem_of_store(&call->problem, &op);
    *ret_fresh = op.instance_set.fresh;
    store_op_release(&op);
    if (ok && *ret_fresh)
        call_poke(call);
    return ok;
}

static void answer(struct call *call, bool fresh, const struct tasks *tasks)
{
    struct out out = out_to(call_body(call));
    out_open(&out, NULL, '{');
    out_text(&out, "instance", call->id);
    out_bool(&out, "new", fresh);
    out_span(&out, "expires_in", INSTANCE_TTL);
    if (tasks->unknown)
        out_text(&out, "warning",
                 call_printf(
                     call,
                     "%zu task(s) are not in the document of application %s, which is not made by registrations: %s%s",
                     tasks->unknown, call->app, tasks->first_unknown, tasks->unknown > 1 ? ", …" : ""));
    out_close(&out, '}');
}

void instance_register(struct call *call)
{
    struct slice body, told;
    struct tasks tasks = {0};
    const char *version;
    bool fresh = false;
    if (!admitted(call, "register") || !input_object(call, &body) ||
        !input_member(&call->problem, body, "tasks", JSON_ARRAY, &told) ||
        !input_text(call, &call->problem, body, "version", &version))
        return;
    if (call->request->body_length > DOCUMENT_MAX) {
        call_fail(call, BODY_TOO_BIG, "name", "body", "size", call_printf(call, "%zu", call->request->body_length),
                  "maximum", "262144", NULL);
        return;
    }
    if (version && strlen(version) > VERSION_MAX) {
        call_fail(call, PARAMETER_INVALID, "name", "version", "reason", "at most 64 bytes", NULL);
        return;
    }
    str_init(&tasks.text, DOCUMENT_MAX);
    if (take_tasks(call, told, &tasks) && set(call, version, call->request->body, false, &fresh))
        answer(call, fresh, &tasks);
    str_release(&tasks.text);
}

void instance_leave(struct call *call)
{
    struct tasks none = {0};
    bool fresh = false;
    if (admitted(call, "leave") && set(call, NULL, NULL, true, &fresh))
        answer(call, false, &none);
}

/* Shown to administrators alone; who has it can sign as the application. */
void application_key_get(struct call *call)
{
    struct signer *signer = call->o->options.signer;
    char key[SIGNATURE_SIZE];
    struct store_op op;
    struct out out = out_to(call_body(call));
    if (!signer || !definition_fetch(call, DOCUMENT_PROJECT, call->project, call->project, &op, &call->problem))
        return;
    store_op_release(&op);
    if (!name_valid(call->app)) {
        call_fail(call, APPLICATION_UNKNOWN, "project", call->project, "name", call->app, NULL);
        return;
    }
    signer->application_key(signer, call_printf(call, "%s/%s", call->project, call->app), key);
    out_open(&out, NULL, '{');
    out_text(&out, "application", call_printf(call, "%s/%s", call->project, call->app));
    out_text(&out, "key", key);
    out_close(&out, '}');
}
