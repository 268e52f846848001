/* The embedded web interface at every path outside /api/ and the probes. */
#ifndef CARILLON_ORCHESTRATOR_INTERFACE_H
#define CARILLON_ORCHESTRATOR_INTERFACE_H

#include "adapters/http/http_server.h"

/* true: answered. false: not a path of the interface (or the program was built without it). */
bool interface_serve(const struct http_request *request, struct http_response *response);

#endif
