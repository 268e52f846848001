/* Operations about boots, leases and who owns which slot. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/db_parts.h"

enum status db_op_cluster(struct db *db, struct store_op *op)
{
    (void)snprintf(op->cluster.id, sizeof op->cluster.id, "simulation");
    db->generation += op->cluster.next_generation;
    op->cluster.generation = db->generation;
    op->cluster.store_now.ms = db->now;
    return STATUS_OK;
}

enum status db_op_boot_start(struct db *db, struct store_op *op)
{
    for (size_t i = 0; i < db->boots.count; i++)
        if (!db->boots.items[i].fenced && !strcmp(db->boots.items[i].node, op->boot_start.node))
            op->boot_start.previous_boot = db->boots.items[i].boot;
    struct db_boot *boot = vec_push(&db->boots);
    boot->boot = (int64_t)db->boots.count;
    boot->seen_at = db->now;
    (void)snprintf(boot->node, sizeof boot->node, "%s", op->boot_start.node);
    op->boot_start.boot = boot->boot;
    op->boot_start.wish = db_find_node(db, boot->node)->wish;
    op->boot_start.store_now.ms = db->now;
    return STATUS_OK;
}

enum status db_op_boot_read(struct db *db, struct store_op *op)
{
    struct db_boot *boot = db_find_boot(db, op->boot_read.boot);
    if (!boot)
        return STATUS_NOT_FOUND;
    boot->seen_at = db->now;
    op->boot_read.fenced = boot->fenced;
    op->boot_read.batch = boot->batch;
    op->boot_read.store_now.ms = db->now;
    return STATUS_OK;
}

enum status db_op_boot_fence(struct db *db, struct store_op *op)
{
    if (fenced(db, op->boot_fence.boot))
        return STATUS_FENCED;
    struct db_boot *dead = db_find_boot(db, op->boot_fence.dead_boot);
    if (!dead)
        return STATUS_NOT_FOUND;
    op->boot_fence.already = dead->fenced;
    dead->fenced = true;
    return STATUS_OK;
}

enum status db_op_boots(struct db *db, struct store_op *op)
{
    op->boots.rows = arena_array(&op->arena, struct boot_row, db->boots.count);
    for (size_t i = 0; i < db->boots.count; i++) {
        struct db_boot *boot = &db->boots.items[i];
        op->boots.rows[op->boots.count++] = (struct boot_row){.boot = boot->boot,
                                                              .node = arena_text(&op->arena, boot->node),
                                                              .address = "",
                                                              .fenced = boot->fenced,
                                                              .started_at = {boot->seen_at},
                                                              .seen_at = {boot->seen_at}};
    }
    return STATUS_OK;
}

static struct db_lease *find_lease(struct db *db, const char *name)
{
    for (size_t i = 0; i < db->leases.count; i++)
        if (!strcmp(db->leases.items[i].name, name))
            return &db->leases.items[i];
    struct db_lease *lease = vec_push(&db->leases);
    (void)snprintf(lease->name, sizeof lease->name, "%s", name);
    return lease;
}

enum status db_op_lease(struct db *db, struct store_op *op)
{
    struct store_lease *wish = &op->lease;
    struct db_lease *lease = find_lease(db, wish->name);
    wish->held = false;
    if (wish->release) {
        if (lease->boot == wish->boot)
            lease->boot = 0;
        return STATUS_OK;
    }
    if (fenced(db, wish->boot))
        return STATUS_FENCED;
    if (!lease->boot || lease->boot == wish->boot || lease->until < db->now || fenced(db, lease->boot)) {
        lease->boot = wish->boot;
        lease->until = db->now + wish->ttl;
        wish->held = true;
    }
    return STATUS_OK;
}

enum status db_op_retention(struct db *db, struct store_op *op)
{
    return fenced(db, op->retention.boot);
}

enum status db_op_slots_read(struct db *db, struct store_op *op)
{
    op->slots_read.rows = arena_array(&op->arena, struct slot_row, CLAIM_SLOTS_ALL);
    op->slots_read.count = CLAIM_SLOTS_ALL;
    for (int32_t i = 0; i < CLAIM_SLOTS_ALL; i++) {
        struct db_slot *slot = &db->slots[i];
        struct db_boot *owner = db_find_boot(db, slot->owner_boot);
        op->slots_read.rows[i] = (struct slot_row){.slot = i,
                                                   .generation = slot->generation,
                                                   .czxid = slot->czxid,
                                                   .owner_boot = slot->owner_boot,
                                                   .owner_node = owner ? arena_text(&op->arena, owner->node) : NULL,
                                                   .since = {0},
                                                   .decided_through = {slot->decided_through}};
    }
    for (size_t i = 0; i < db->jobs.count; i++)
        op->slots_read.rows[db->jobs.items[i].slot].jobs += !db->jobs.items[i].deleted;
    for (size_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        op->slots_read.rows[i].node = op->slots_read.rows[i].jobs ? db->slots[i].node : NULL;
    return STATUS_OK;
}

enum status db_op_slots_take(struct db *db, struct store_op *op)
{
    struct store_slots_take *take = &op->slots_take;
    if (fenced(db, take->boot))
        return STATUS_FENCED;
    for (size_t i = 0; i < take->count; i++) {
        struct slot_take *one = &take->takes[i];
        struct db_slot *slot = &db->slots[one->slot];
        one->previous_boot = slot->owner_boot;
        one->decided_through.ms = slot->decided_through;
        one->taken =
            slot->generation < one->generation || (slot->generation == one->generation && slot->czxid < one->czxid) ||
            (slot->generation == one->generation && slot->czxid == one->czxid && slot->owner_boot == take->boot);
        if (one->taken) {
            slot->generation = one->generation;
            slot->czxid = one->czxid;
            slot->owner_boot = take->boot;
        }
    }
    take->feed_head = (int64_t)db->changes.count;
    return STATUS_OK;
}

enum status db_op_decided(struct db *db, struct store_op *op)
{
    if (fenced(db, op->decided.boot))
        return STATUS_FENCED;
    for (size_t i = 0; i < op->decided.count; i++) {
        int32_t slot = op->decided.slots[i].slot;
        if (slot_owned(db, slot, op->decided.boot) && db->slots[slot].moved_seq <= op->decided.feed_seq &&
            db->slots[slot].decided_through < op->decided.slots[i].through.ms)
            db->slots[slot].decided_through = op->decided.slots[i].through.ms;
    }
    return STATUS_OK;
}
