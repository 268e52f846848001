/* Order of preference: weighted rendezvous hashing. */
#include <string.h>

#include "core/base/hash.h"
#include "core/logic/assign/assign_parts.h"

/* −log2 of u / 2^64 in 32.32 fixed point, u > 0: integers alone, so that every node of every build gets the same
 * answer. 16 fractional bits come from repeated squaring of the mantissa. */
static uint64_t minus_log2(uint64_t u)
{
    unsigned shift = (unsigned)__builtin_clzll(u);
    uint64_t mantissa = u << shift, fraction = 0; /* in [2^63, 2^64) = [1, 2) */
    for (int bit = 0; bit < 32; bit++) {
        uint64_t half = mantissa >> 32;
        uint64_t square = half * half; /* [1, 4) with 62 fractional bits */
        fraction <<= 1;
        if (square >> 63) {
            fraction |= 1;
            mantissa = square;
        } else {
            mantissa = square << 1;
        }
    }
    return ((uint64_t)(shift + 1) << 32) - fraction;
}

int64_t assign_weight(const struct assign_node *node)
{
    return node->weight < 1 ? 1 : node->weight > ASSIGN_WEIGHT_MAX ? ASSIGN_WEIGHT_MAX : node->weight;
}

/* Weighted rendezvous: the node with the smallest −log(u) / weight wins, u drawn from (node, slot). A node's share is
 * its share of all weights, and a slot moves only to a node that joins or from one that leaves. With equal weights the
 * largest u wins, which is the same and needs no logarithm. */
uint64_t assign_cost(const struct assign_node *node, int32_t slot, bool even)
{
    uint64_t u = hash_mix(hash_text(node->name, 0x736c6f74U) ^ hash_mix((uint64_t)(uint32_t)slot + 1));
    return even ? ~u : minus_log2(u ? u : 1) / (uint64_t)assign_weight(node);
}

bool assign_weights_even(const struct assign_node *nodes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (assign_weight(&nodes[i]) != assign_weight(&nodes[0]))
            return false;
    return true;
}

bool assign_before(const struct assign_node *a, uint64_t cost_a, const struct assign_node *b, uint64_t cost_b)
{
    return cost_a != cost_b ? cost_a < cost_b : strcmp(a->name, b->name) < 0;
}

void assign_preference(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t *ret)
{
    bool even = assign_weights_even(nodes, node_count);
    for (size_t i = 0; i < node_count; i++) { /* insertion: a cluster has few nodes */
        uint64_t cost = assign_cost(&nodes[i], slot, even);
        size_t at = i;
        for (; at > 0; at--) {
            const struct assign_node *other = &nodes[ret[at - 1]];
            if (!assign_before(&nodes[i], cost, other, assign_cost(other, slot, even)))
                break;
            ret[at] = ret[at - 1];
        }
        ret[at] = (int32_t)i;
    }
}

int32_t assign_rank(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t node)
{
    bool even = assign_weights_even(nodes, node_count);
    uint64_t own = assign_cost(&nodes[node], slot, even);
    int32_t rank = 0;
    for (int32_t i = 0; i < (int32_t)node_count; i++)
        rank += i != node && !nodes[i].unwilling &&
                assign_before(&nodes[i], assign_cost(&nodes[i], slot, even), &nodes[node], own);
    return rank;
}
