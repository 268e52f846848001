#include "adapters/coordination/zookeeper_payload.h"

#include <stdio.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/model/limits.h"

bool payload_name_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return length > 0 && length < sizeof((struct coordination_node *)0)->node && !name[length] &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

enum { STATE_WORKING, STATE_DRAINING, STATE_OFFLINE, STATES };
static const char *const states[STATES] = {"working", "draining", "offline"};

void payload_node_write(const struct coordination_node *node, struct str *ret)
{
    str_addf(ret, "{\"boot\":%lld,\"address\":", (long long)node->boot);
    str_add_json(ret, node->address);
    str_addf(ret, ",\"weight\":%d,\"capacity\":%d,\"pool\":", node->weight, node->capacity);
    str_add_json(ret, node->pool);
    str_addf(ret, ",\"store\":\"%s\",\"state\":\"%s\"}", node->store_ok ? "ok" : "down",
             states[node->offline    ? STATE_OFFLINE
                    : node->draining ? STATE_DRAINING
                                     : STATE_WORKING]);
}

void payload_claim_write(const struct coordination_node *owner, struct str *ret)
{
    str_add(ret, "{\"node\":");
    str_add_json(ret, owner->node);
    str_addf(ret, ",\"boot\":%lld}", (long long)owner->boot);
}

static bool object_check(const char *data, size_t length, struct slice *ret)
{
    *ret = slice_of(data, length);
    return data && length > 0 && length <= PAYLOAD_MAX && json_check(data, length, 4, NULL) == STATUS_OK &&
           json_type_of(*ret) == JSON_OBJECT;
}

static bool text_read(struct slice object, const char *member, char *ret, size_t size)
{
    struct slice value = json_member(object, member);
    struct str text;
    if (json_type_of(value) != JSON_STRING)
        return false;
    str_init(&text, size - 1);
    json_unquote(value, &text);
    bool fits = !text.failed && strlen(str_text(&text)) == text.length;
    if (fits)
        memcpy(ret, str_text(&text), text.length + 1);
    str_release(&text);
    return fits;
}

static bool number_read(struct slice object, const char *member, int64_t low, int64_t high, int64_t *ret)
{
    return json_int64(json_member(object, member), ret) && *ret >= low && *ret <= high;
}

static bool state_read(struct slice object, struct coordination_node *ret)
{
    char text[16];
    if (!text_read(object, "state", text, sizeof text))
        return false;
    for (int i = 0; i < STATES; i++)
        if (strcmp(text, states[i]) == 0) {
            ret->draining = i != STATE_WORKING;
            ret->offline = i == STATE_OFFLINE;
            return true;
        }
    return false;
}

bool payload_node_read(const char *name, const char *data, size_t length, struct coordination_node *ret)
{
    struct coordination_node node = {0};
    struct slice object;
    int64_t weight, capacity;
    char store[8];
    if (!payload_name_valid(name) || !object_check(data, length, &object) ||
        !number_read(object, "boot", 1, INT64_MAX, &node.boot) ||
        !text_read(object, "address", node.address, sizeof node.address) ||
        !number_read(object, "weight", 0, INT32_MAX, &weight) ||
        !number_read(object, "capacity", 0, INT32_MAX, &capacity) ||
        !text_read(object, "pool", node.pool, sizeof node.pool) || !text_read(object, "store", store, sizeof store) ||
        !state_read(object, &node))
        return false;
    (void)snprintf(node.node, sizeof node.node, "%s", name);
    node.weight = (int32_t)weight;
    node.capacity = (int32_t)capacity;
    node.store_ok = strcmp(store, "ok") == 0;
    *ret = node;
    return true;
}

bool payload_claim_read(const char *data, size_t length, struct coordination_claim *ret)
{
    struct slice object;
    struct coordination_claim claim = *ret;
    if (!object_check(data, length, &object) || !text_read(object, "node", claim.node, sizeof claim.node) ||
        !payload_name_valid(claim.node) || !number_read(object, "boot", 1, INT64_MAX, &claim.boot))
        return false;
    *ret = claim;
    return true;
}

bool payload_slot_parse(const char *name, int32_t *ret)
{
    int32_t slot = 0;
    size_t length = strspn(name, "0123456789");
    if (length == 0 || length > 4 || name[length] || (name[0] == '0' && length > 1))
        return false;
    for (; *name; name++)
        slot = slot * 10 + (*name - '0');
    *ret = slot;
    return slot < CLAIM_SLOTS_ALL;
}
