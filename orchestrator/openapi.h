/* The OpenAPI document (openapi.json) as bytes in the program. */
#ifndef CARILLON_ORCHESTRATOR_OPENAPI_H
#define CARILLON_ORCHESTRATOR_OPENAPI_H

#include <stddef.h>

extern const unsigned char openapi_json[];
extern const size_t openapi_json_length;

#endif
