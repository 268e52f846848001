/* Claims: asking for slots, giving them back, and the list of all of them. */
#include <string.h>

#include "adapters/coordination/zookeeper_parts.h"
#include "adapters/coordination/zookeeper_payload.h"

static void claim_path(const struct zookeeper *zk, int32_t slot, char ret[PATH_SIZE])
{
    zookeeper_path(zk, ret, "/claims/%d", slot);
}

/* ---- asking -------------------------------------------------------------------------------------------------------
 */

static void on_released(void *context, const struct session_reply *reply);

static void claim_delete(struct zookeeper *zk, int32_t slot)
{
    char path[PATH_SIZE];
    claim_path(zk, slot, path);
    session_delete(zk->session, path, on_released, slot);
}

static void on_released(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    struct cell *cell = &zk->cells[reply->number];
    if (reply->rc == ZOK || reply->rc == ZNONODE)
        cell->mine = cell->release = false;
    else if (zookeeper_rc_unsure(reply->rc))
        cell->release = true; /* again when connected */
}

/* The one answer to a claim. */
static void claim_answer(struct zookeeper *zk, int32_t slot, enum coordination_event_kind kind,
                         const struct coordination_claim *claim)
{
    struct cell *cell = &zk->cells[slot];
    cell->asked = ASKED_NOT;
    if (kind == COORDINATION_CLAIM_WON) {
        cell->mine = true;
        cell->claim = *claim;
    }
    if (cell->release) { /* given back before it was known to be won */
        if (kind == COORDINATION_CLAIM_WON)
            claim_delete(zk, slot);
        else
            cell->release = false;
        kind = COORDINATION_CLAIM_FAILED;
    }
    zookeeper_emit(zk, &(struct coordination_event){.kind = kind, .claim = *claim});
}

static void on_claim_checked(void *context, const struct session_reply *reply);

static void claim_check(struct zookeeper *zk, int32_t slot)
{
    char path[PATH_SIZE];
    claim_path(zk, slot, path);
    zk->cells[slot].asked = ASKED_READING;
    session_get(zk->session, path, -1, on_claim_checked, slot);
}

/* Who holds it? Only the owner of the ephemeral node tells: our own create may have succeeded without our hearing. */
static void on_claim_checked(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    int32_t slot = (int32_t)reply->number;
    struct coordination_claim claim = {.slot = slot, .czxid = reply->stat.czxid};
    if (zk->cells[slot].asked != ASKED_READING)
        return;
    if (reply->rc == ZOK) {
        (void)payload_claim_read(reply->data, reply->length, &claim); /* unreadable: taken by someone unknown */
        bool mine = reply->stat.ephemeralOwner == session_id(zk->session);
        claim_answer(zk, slot, mine ? COORDINATION_CLAIM_WON : COORDINATION_CLAIM_TAKEN, &claim);
    } else if (zookeeper_rc_unsure(reply->rc) && !zookeeper_active(zk)) {
        zk->cells[slot].asked = ASKED_UNSURE;
    } else {
        claim_answer(zk, slot, COORDINATION_CLAIM_FAILED, &claim);
    }
}

static void on_claim_created(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    int32_t slot = (int32_t)reply->number;
    struct coordination_claim claim = {.slot = slot, .czxid = reply->stat.czxid, .boot = zk->self.boot};
    if (zk->cells[slot].asked != ASKED_CREATING)
        return;
    memcpy(claim.node, zk->self.node, sizeof claim.node);
    if (reply->rc == ZOK)
        claim_answer(zk, slot, COORDINATION_CLAIM_WON, &claim);
    else if (reply->rc == ZNODEEXISTS || (zookeeper_rc_unsure(reply->rc) && zookeeper_active(zk)))
        claim_check(zk, slot);
    else if (zookeeper_rc_unsure(reply->rc))
        zk->cells[slot].asked = ASKED_UNSURE;
    else
        claim_answer(zk, slot, COORDINATION_CLAIM_FAILED, &claim);
}

/* Answers what cannot be asked; not from inside the call. */
static void on_claim_refused(void *context, const struct session_reply *reply)
{
    struct coordination_claim claim = {.slot = (int32_t)reply->number};
    zookeeper_emit(context, &(struct coordination_event){.kind = COORDINATION_CLAIM_FAILED, .claim = claim});
}

void claims_claim(struct zookeeper *zk, int32_t slot)
{
    char path[PATH_SIZE];
    struct str payload;
    if (slot < 0 || slot >= CLAIM_SLOTS_ALL || !zookeeper_active(zk) || zk->cells[slot].asked != ASKED_NOT) {
        session_defer(zk->session, on_claim_refused, slot);
        return;
    }
    str_init(&payload, PAYLOAD_MAX);
    payload_claim_write(&zk->self, &payload);
    claim_path(zk, slot, path);
    zk->cells[slot].asked = ASKED_CREATING;
    zk->cells[slot].release = false;
    session_create_node(zk->session, path, str_text(&payload), ZOO_EPHEMERAL, on_claim_created, slot);
    str_release(&payload);
}

void claims_release(struct zookeeper *zk, int32_t slot)
{
    if (slot < 0 || slot >= CLAIM_SLOTS_ALL)
        return;
    struct cell *cell = &zk->cells[slot];
    if (cell->asked != ASKED_NOT) {
        cell->release = true;
    } else if (cell->mine) {
        cell->release = true;
        if (zookeeper_active(zk))
            claim_delete(zk, slot);
    }
}

void claims_resume(struct zookeeper *zk)
{
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++) {
        const struct cell *cell = &zk->cells[slot];
        if (cell->asked == ASKED_UNSURE)
            claim_check(zk, slot);
        else if (cell->asked == ASKED_NOT && cell->release && cell->mine)
            claim_delete(zk, slot);
    }
}

void claims_lost(struct zookeeper *zk)
{
    zk->claims_version_known = false;
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++) {
        struct cell *cell = &zk->cells[slot];
        bool asked = cell->asked != ASKED_NOT;
        *cell = (struct cell){0};
        if (asked)
            zookeeper_emit(zk, &(struct coordination_event){.kind = COORDINATION_CLAIM_FAILED, .claim.slot = slot});
    }
}

/* ---- the list -----------------------------------------------------------------------------------------------------
 */

static bool claim_same(const struct coordination_claim *a, const struct coordination_claim *b)
{
    return a->slot == b->slot && a->czxid == b->czxid && a->boot == b->boot && strcmp(a->node, b->node) == 0;
}

/* Brings claims_told up to date; false: it was. */
static bool claims_collect(struct zookeeper *zk)
{
    size_t count = 0, before = zk->claims_told.count;
    bool same = true;
    vec_reserve(&zk->claims_told, CLAIM_SLOTS_ALL);
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++) {
        const struct coordination_claim *claim = &zk->cells[slot].claim;
        if (!zk->cells[slot].present)
            continue;
        same = same && count < before && claim_same(claim, &zk->claims_told.items[count]);
        zk->claims_told.items[count++] = *claim;
    }
    zk->claims_told.count = count;
    return !same || count != before;
}

static void claims_tell(struct zookeeper *zk)
{
    bool complete = !zk->claims_look.incomplete;
    look_end(&zk->claims_look, complete);
    if (!complete) {
        zk->claims_version_known = false; /* read all of them again */
        return;
    }
    bool changed = claims_collect(zk);
    if (!changed && zk->claims_look.told)
        return;
    zk->claims_look.told = true;
    zookeeper_emit(zk, &(struct coordination_event){.kind = COORDINATION_CLAIMS,
                                                    .claims = zk->claims_told.items,
                                                    .claim_count = zk->claims_told.count});
}

static void on_claim_read(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    int32_t slot = (int32_t)reply->number;
    struct cell *cell = &zk->cells[slot];
    if (reply->rc == ZOK) {
        cell->claim = (struct coordination_claim){.slot = slot, .czxid = reply->stat.czxid};
        (void)payload_claim_read(reply->data, reply->length, &cell->claim);
        cell->present = true;
        cell->mine = reply->stat.ephemeralOwner == session_id(zk->session);
    } else if (reply->rc == ZNONODE) {
        cell->present = cell->mine = false;
    }
    if (look_count(&zk->claims_look, reply->rc == ZOK || reply->rc == ZNONODE))
        claims_tell(zk);
}

/* Marks what is there, forgets what is not; returns how many names came or went. */
static int32_t claims_compare(struct zookeeper *zk, const struct session_reply *reply)
{
    int32_t changes = 0, slot;
    for (slot = 0; slot < CLAIM_SLOTS_ALL; slot++)
        zk->cells[slot].listed = false;
    for (size_t i = 0; i < reply->name_count; i++) {
        if (!payload_slot_parse(reply->names[i], &slot))
            continue; /* not ours, not our business */
        zk->cells[slot].listed = true;
        changes += !zk->cells[slot].present;
    }
    for (slot = 0; slot < CLAIM_SLOTS_ALL; slot++) {
        struct cell *cell = &zk->cells[slot];
        if (cell->present && !cell->listed) {
            cell->present = cell->mine = false;
            changes++;
        }
    }
    return changes;
}

/* The parent's cversion counts every creation and deletion below it. When it has moved by more than the names tell, a
 * claim was given up and taken by another between two reads: then all are read again, else only the new ones. So no
 * watch is needed on any claim. */
static void on_claims_listed(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    if (reply->rc != ZOK) {
        look_end(&zk->claims_look, false);
        return;
    }
    int32_t changes = claims_compare(zk, reply);
    uint32_t moved = (uint32_t)reply->stat.cversion - (uint32_t)zk->claims_version;
    bool all = !zk->claims_version_known || moved != (uint32_t)changes;
    zk->claims_version = reply->stat.cversion;
    zk->claims_version_known = true;
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++)
        zk->claims_look.pending += zk->cells[slot].listed && (all || !zk->cells[slot].present);
    if (zk->claims_look.pending == 0) {
        claims_tell(zk);
        return;
    }
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++) {
        if (zk->cells[slot].listed && (all || !zk->cells[slot].present)) {
            char path[PATH_SIZE];
            claim_path(zk, slot, path);
            session_get(zk->session, path, -1, on_claim_read, slot);
        }
    }
}

void claims_look_begin(struct zookeeper *zk)
{
    char path[PATH_SIZE];
    zookeeper_path(zk, path, "/claims");
    session_children(zk->session, path, WATCH_CLAIMS, on_claims_listed, 0);
}
