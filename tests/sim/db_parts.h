/* What the files of the simulation's store share: texts of rows, who may write, and the operations that live outside
 * db.c. */
#ifndef CARILLON_TESTS_SIM_DB_PARTS_H
#define CARILLON_TESTS_SIM_DB_PARTS_H

#include <stdlib.h>

#include "core/base/mem.h"
#include "tests/sim/db.h"

#define PROJECT_ID 1

/* ---- texts of rows */

static inline void own(const char **text)
{
    *text = mem_copy_text(*text);
}

static inline void disown(const char **text)
{
    union {
        const char *shown;
        void *memory;
    } u = {.shown = *text};
    free(u.memory);
    *text = NULL;
}

#define EACH(row, fn, ...)                                           \
    do {                                                             \
        const char **texts[] = {__VA_ARGS__};                        \
        for (size_t i_ = 0; i_ < sizeof texts / sizeof *texts; i_++) \
            fn(texts[i_]);                                           \
    } while (0)
#define RUN_TEXTS(r) \
    &(r)->trigger, &(r)->reason, &(r)->error_code, &(r)->error_args, &(r)->node, &(r)->zone, &(r)->params, &(r)->start
#define LINGER_TEXTS(r) &(r)->step, &(r)->application, &(r)->instance, &(r)->notice_to
#define STEP_TEXTS(r) &(r)->step, &(r)->reason, &(r)->result, &(r)->error, &(r)->items
#define ATTEMPT_TEXTS(r)                                                                                          \
    &(r)->step, &(r)->instance, &(r)->node, &(r)->error, &(r)->code, &(r)->request, &(r)->response, &(r)->result, \
        &(r)->notice_to

/* Copy of rows into an answer's arena. */
static inline void into(struct arena *arena, const char **text)
{
    *text = arena_text(arena, *text);
}
#define INTO(arena_, ...)                                            \
    do {                                                             \
        const char **texts[] = {__VA_ARGS__};                        \
        for (size_t i_ = 0; i_ < sizeof texts / sizeof *texts; i_++) \
            into(arena_, texts[i_]);                                 \
    } while (0)

/* ---- fences */

static inline bool slot_owned(const struct db *db, int32_t slot, int64_t boot)
{
    return slot >= 0 && slot < CLAIM_SLOTS_ALL && db->slots[slot].owner_boot == boot;
}

static inline enum status fenced(struct db *db, int64_t boot)
{
    struct db_boot *row = db_find_boot(db, boot);
    return row && !row->fenced ? STATUS_OK : STATUS_FENCED;
}

/* ---- finding and changing */

/* Made when it is not there. */
struct db_node *db_find_node(struct db *db, const char *name);
/* A line in the feed of changes: job `id` has changed. */
void db_add_change(struct db *db, int64_t id);
void db_apply_move(struct db *db, struct store_move *move, int64_t boot);

/* ---- copies of rows for an answer */

void db_copy_run(struct arena *arena, struct run_row *to, const struct run_row *from);
void db_copy_linger(struct arena *arena, struct linger_row *to, const struct linger_row *from);
void db_copy_rows(struct arena *arena, const struct db_run *run, struct step_row *steps, struct attempt_row *attempts);

/* ---- operations */

enum status db_op_cluster(struct db *db, struct store_op *op);
enum status db_op_boot_start(struct db *db, struct store_op *op);
enum status db_op_boot_read(struct db *db, struct store_op *op);
enum status db_op_boot_fence(struct db *db, struct store_op *op);
enum status db_op_boots(struct db *db, struct store_op *op);
enum status db_op_lease(struct db *db, struct store_op *op);
enum status db_op_retention(struct db *db, struct store_op *op);
enum status db_op_slots_read(struct db *db, struct store_op *op);
enum status db_op_slots_take(struct db *db, struct store_op *op);
enum status db_op_decided(struct db *db, struct store_op *op);
enum status db_op_slots_load(struct db *db, struct store_op *op);
enum status db_op_triggers(struct db *db, struct store_op *op);
enum status db_op_definitions(struct db *db, struct store_op *op);
enum status db_op_runs_list(struct db *db, struct store_op *op);
enum status db_op_run_read(struct db *db, struct store_op *op);
enum status db_op_failures(struct db *db, struct store_op *op);

#endif
