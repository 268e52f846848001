/* The orchestrator: REST API (docs/reference/api.md), embedded interface, health and metrics, as one http_handler.
 * Stateless but for small caches: run as many as wanted on one store. It knows no scheduler; whoever wires both into
 * one process hands over hints and texts through the callbacks below.
 *
 *     struct orchestrator *o = orchestrator_create(&options, &err);
 *     struct http_server_options server = {.handler = orchestrator_handle, .context = o, …};
 *     … http_server_stop(server);          (finishes requests that run)
 *     orchestrator_free(o);
 *
 * Threads: orchestrator_handle is called from many threads at once and blocks in store_execute. The callbacks are
 * called on those threads, too. Everything in the options is borrowed and must outlive the orchestrator. */
#ifndef CARILLON_ORCHESTRATOR_ORCHESTRATOR_H
#define CARILLON_ORCHESTRATOR_ORCHESTRATOR_H

#include "adapters/http/http_server.h"
#include "core/model/settings.h"
#include "core/ports/signer.h"
#include "core/ports/store.h"
#include "core/ports/zones.h"

struct orchestrator;

struct orchestrator_options {
    const struct settings *settings;
    struct store *store; /* must offer `execute` */
    struct zones *zones;
    struct signer *signer;  /* checks the tokens of reports; NULL: none is taken */
    const char *version;    /* of the program: "0.1.0" */
    const char *role;       /* "standalone" or "orchestrator" */
    const char *node;       /* of this process */
    const char *cluster_id; /* NULL = read from the store */
    int64_t boot;           /* of this process, > 0: part of the ids of runs that are asked for */
    unsigned threads;       /* that call orchestrator_handle; at most half of them may wait for a run; 0 = 4 */

    void *context; /* of the callbacks below; each may be NULL */
    /* Something was written that a scheduler wants to see soon (definition or request). Must not block. */
    void (*poke)(void *context);
    /* Appends metrics in Prometheus text format; the orchestrator's own ones come before. */
    void (*metrics)(void *context, struct str *ret);
    /* false = not ready; `ret_reason` gets a static text. The store is asked by the orchestrator itself. With true a
     * text is a warning: it works, but somebody should look. */
    bool (*ready)(void *context, const char **ret_reason);
    /* The clocks; NULL = the system's. */
    struct moment (*now)(void *context);
};

/* NULL: err says why (a store that cannot execute, no boot number). */
struct orchestrator *orchestrator_create(const struct orchestrator_options *options, struct error *err);
/* An http_handler: `orchestrator` is its context. */
void orchestrator_handle(void *orchestrator, const struct http_request *request, struct http_response *response);
/* Requests that wait for a run (?wait=) give up at once; call before http_server_stop for a quick end. */
void orchestrator_stop_waiting(struct orchestrator *orchestrator);
void orchestrator_free(struct orchestrator *orchestrator); /* NULL is fine; no request may be under way */

#endif
