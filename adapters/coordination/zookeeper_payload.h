/* What our nodes in ZooKeeper hold, as JSON text. Anybody may have written there, so reading is strict and cannot fail
 * loudly: false = not ours. */
#ifndef CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_PAYLOAD_H
#define CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_PAYLOAD_H

#include "core/base/str.h"
#include "core/ports/coordination.h"

#define PAYLOAD_MAX ((size_t)4 << 10) /* bytes that are looked at */

/* Node names make paths: letters, digits, '.', '_', '-'; at most 31. */
bool payload_name_valid(const char *name);

void payload_node_write(const struct coordination_node *node, struct str *ret);
/* `name`: of the znode. */
bool payload_node_read(const char *name, const char *data, size_t length, struct coordination_node *ret);

void payload_claim_write(const struct coordination_node *owner, struct str *ret);
/* Fills node and boot. */
bool payload_claim_read(const char *data, size_t length, struct coordination_claim *ret);

/* Name of a claim's znode → slot; false when it is none (foreign). */
bool payload_slot_parse(const char *name, int32_t *ret);

#endif
