/* For adapters that hang file descriptors into the loop (curl): libuv itself. Not for roofs. */
#ifndef CARILLON_ADAPTERS_LOOP_LOOP_UV_H
#define CARILLON_ADAPTERS_LOOP_LOOP_UV_H

#include <uv.h>

struct loop;

uv_loop_t *loop_uv(struct loop *loop);

#endif
