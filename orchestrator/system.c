/* The cluster and the process: audit, configuration, health, metrics, the API's own description. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/openapi.h"
#include "orchestrator/routes.h"

void whoami_get(struct call *call)
{
    struct out out = out_to(call_body(call));
    out_open(&out, NULL, '{');
    out_text(&out, "name", call->who.name);
    out_text(&out, "role", role_text(call->who.role));
    out_text(&out, "project", *call->who.project ? call->who.project : NULL);
    out_text(&out, "version", call->o->options.version);
    out_text(&out, "cluster", call->o->cluster_id);
    out_close(&out, '}');
}

/* ---- audit ---- */

void audit_list(struct call *call)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    if (!input_page(call, &page))
        return;
    store_op_init(&op, STORE_AUDIT);
    op.audit.skip = page.skip;
    op.audit.limit = page.limit;
    op.audit.project = call->project ? call->project : http_query(call->request, "project");
    if (call_store(call, &op) == STATUS_OK) {
        out_page_begin(&out);
        for (size_t i = 0; i < op.audit.count; i++) {
            const struct audit_entry *entry = &op.audit.rows[i];
            out_open(&out, NULL, '{');
            out_id(&out, "id", entry->id);
            out_time(&out, "at", entry->at);
            out_text(&out, "who", entry->who);
            out_text(&out, "action", entry->action);
            out_text(&out, "kind", entry->kind);
            out_text(&out, "project", entry->project);
            out_text(&out, "name", entry->name);
            out_json(&out, "before", entry->before);
            out_json(&out, "after", entry->after);
            out_close(&out, '}');
        }
        out_page_end(&out, op.audit.total);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

/* ---- configuration, description ---- */

void config_get(struct call *call)
{
    size_t count;
    const struct setting *table = settings_table(&count);
    struct out out = out_to(call_body(call));
    struct str value;
    str_init(&value, 4096);
    out_open(&out, NULL, '{');
    out_open(&out, "items", '[');
    for (size_t i = 0; i < count; i++) {
        str_clear(&value);
        settings_show(call->o->options.settings, &table[i], &value);
        out_open(&out, NULL, '{');
        out_text(&out, "key", table[i].key);
        out_text(&out, "value", str_text(&value));
        out_text(&out, "default", table[i].fallback);
        out_bool(&out, "reloadable", table[i].reloadable);
        out_text(&out, "help", table[i].help);
    }
    out_close(&out, ']');
    out_close(&out, '}');
    str_release(&value);
}

void openapi_get(struct call *call)
{
    call->response->static_body = openapi_json;
    call->response->static_length = openapi_json_length;
}

/* ---- health ---- */

void health_get(struct call *call)
{
    struct out out = out_to(call_body(call));
    out_open(&out, NULL, '{');
    out_text(&out, "status", "ok");
    out_text(&out, "role", call->o->options.role);
    out_text(&out, "version", call->o->options.version);
    out_close(&out, '}');
}

static bool store_answers(struct call *call)
{
    struct store_op op;
    store_op_init(&op, STORE_CLUSTER);
    bool ok = call_store(call, &op) == STATUS_OK;
    store_op_release(&op);
    return ok;
}

void ready_get(struct call *call)
{
    struct out out = out_to(call_body(call));
    const struct orchestrator_options *options = &call->o->options;
    const char *reason = NULL;
    bool ready = !options->ready || options->ready(options->context, &reason);
    if (ready && !store_answers(call)) {
        ready = false;
        reason = "the store does not answer";
    }
    call->response->status = ready ? 200 : 503;
    if (!ready)
        http_response_header(call->response, "Retry-After", "1");
    out_open(&out, NULL, '{');
    out_text(&out, "status", ready ? "ready" : "not ready");
    out_text(&out, "reason", ready ? NULL : reason ? reason : "starting");
    if (ready && reason)
        out_text(&out, "warning", reason);
    out_close(&out, '}');
}

void metrics_get(struct call *call)
{
    struct orchestrator *o = call->o;
    struct str *body = call_body(call);
    call->response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    str_addf(body,
             "# HELP carillon_build_info Version and role of this process.\n"
             "# TYPE carillon_build_info gauge\n"
             "carillon_build_info{version=\"%s\",role=\"%s\"} 1\n",
             o->options.version, o->options.role);
    str_add(body, "# HELP carillon_http_answers_total Answers of the API by hundreds of their status.\n"
                  "# TYPE carillon_http_answers_total counter\n");
    for (int i = 2; i < 6; i++)
        str_addf(body, "carillon_http_answers_total{status=\"%dxx\"} %" PRId64 "\n", i, atomic_load(&o->answers[i]));
    str_addf(body,
             "# HELP carillon_tokens_refused_total Requests with an unknown or expired token.\n"
             "# TYPE carillon_tokens_refused_total counter\n"
             "carillon_tokens_refused_total %" PRId64 "\n"
             "# HELP carillon_requests_waiting Requests that wait for their run.\n"
             "# TYPE carillon_requests_waiting gauge\n"
             "carillon_requests_waiting %d\n",
             atomic_load(&o->refused_tokens), atomic_load(&o->waiting));
    if (o->options.metrics)
        o->options.metrics(o->options.context, body);
}
