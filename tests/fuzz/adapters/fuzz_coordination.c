/* What may stand in a ZooKeeper node, and the names of nodes: read strictly, written back equal. */
#include <string.h>

#include "adapters/coordination/zookeeper_payload.h"
#include "adapters/coordination/zookeeper_url.h"
#include "core/model/limits.h"
#include "tests/fuzz/fuzz.h"

static void look_at_node(const char *text, size_t size)
{
    struct coordination_node node, again;
    struct str written;
    if (!payload_node_read("n1", text, size, &node))
        return;
    str_init(&written, PAYLOAD_MAX * 8);
    payload_node_write(&node, &written);
    if (written.length <= PAYLOAD_MAX) {
        fuzz_check(payload_node_read("n1", str_text(&written), written.length, &again));
        fuzz_check(again.boot == node.boot && !strcmp(again.address, node.address) && !strcmp(again.pool, node.pool));
    }
    str_release(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct coordination_claim claim = {.slot = 7};
    struct zookeeper_url url;
    struct error err = {.text = ""};
    int32_t slot;
    char text[8193];
    if (size > sizeof text - 1)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    look_at_node(text, size);
    if (payload_claim_read(text, size, &claim))
        fuzz_check(claim.boot > 0 && payload_name_valid(claim.node) && claim.slot == 7);
    else
        fuzz_check(!claim.node[0] && claim.boot == 0);
    if (payload_slot_parse(text, &slot))
        fuzz_check(slot >= 0 && slot < CLAIM_SLOTS_ALL);
    if (!zookeeper_url_parse(text, &url, &err))
        fuzz_check(url.hosts[0] && (!url.chroot[0] || url.chroot[0] == '/'));
    else
        fuzz_check(err.text[0]);
    return 0;
}
