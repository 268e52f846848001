/* The one way to include uthash: seeded hash, and out of memory does not end the process from inside a macro.
 * After HASH_ADD check `element->hh.tbl` (NULL: out of memory) where the caller must survive it. */
#ifndef CARILLON_CORE_BASE_MAP_H
#define CARILLON_CORE_BASE_MAP_H

#include "core/base/hash.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned)hash_bytes((key), (length), hash_table_seed))
#include <uthash.h>

#endif
