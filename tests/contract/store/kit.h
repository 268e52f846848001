/* What the suites of the store share: a fresh, empty store of the backend under test, and short ways to do what every
 * test needs. Everything goes through the port; only the fault tests reach for store_test_hooks. */
#ifndef CARILLON_TESTS_CONTRACT_STORE_KIT_H
#define CARILLON_TESTS_CONTRACT_STORE_KIT_H

/* cmocka.h needs what stands before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "adapters/store/store_open.h"
#include "adapters/store/store_sql.h"
#include "core/model/limits.h"
#include "core/ports/store.h"

/* Reads the backend from the program's arguments; ends the program with 77 where it cannot be tested here. */
void kit_begin(int argc, char **argv);
bool kit_mysql(void);
/* URL of an empty place: a folder, a database. kit_forget removes it. New: without a schema, too. */
const char *kit_place(void);
const char *kit_new_place(void);
const char *kit_current_place(void);
void kit_forget(void);
/* The present place, for db_open; kit_target_free afterwards. */
void kit_target(struct db_target *ret);
void kit_target_free(struct db_target *target);
struct store *kit_open(void); /* at the present place */
enum status kit_open_status(struct store **ret, struct error *err);
enum status kit_open_options(struct store_options options, struct store **ret, struct error *err);
void kit_close(struct store *store);

/* cmocka fixtures: a store at a new place in *state. */
int kit_setup(void **state);
int kit_teardown(void **state);

/* Raw access beside the port: what another program would see. */
int64_t kit_number(const char *sql);
void kit_sql(const char *sql);
void kit_kill_connections(void); /* MySQL: all of this database, as the server may */

/* ---- short forms ----------------------------------------------------------------------------------------------------
 */

#define OP(name, KIND)    \
    struct store_op name; \
    store_op_init(&name, KIND)

/* Must succeed; tells the error otherwise. */
#define DO(store, op) kit_do((store), (op), __FILE__, __LINE__)
void kit_do(struct store *store, struct store_op *op, const char *file, int line);
#define EXPECT(store, op, wanted) kit_expect((store), (op), (wanted), __FILE__, __LINE__)
void kit_expect(struct store *store, struct store_op *op, enum status wanted, const char *file, int line);

int64_t kit_boot(struct store *store, const char *node);
instant kit_now(struct store *store);
/* Job of project default with triggers "a", "b" (or as given); returns its id. */
int64_t kit_job(struct store *store, const char *name, int32_t *ret_slot);
int64_t kit_job_with(struct store *store, const char *name, const char *json, const char *fingerprint,
                     const char *const *triggers, size_t count, int32_t *ret_slot);
/* Takes slots for a boot with epoch (1, czxid); all must be taken. Returns the owner before. */
int64_t kit_take(struct store *store, int64_t boot, int32_t slot, int64_t czxid);
void kit_fence(struct store *store, int64_t boot, int64_t dead);

/* A queued run of a trigger's instant; id made from day and the sequence number. */
struct run_row kit_run(int64_t job, int32_t slot, int64_t boot, const char *trigger, instant at, uint64_t sequence);
/* One batch with these fires; number is counted per boot by the kit. */
enum status kit_fire(struct store *store, int64_t boot, struct store_fire *fires, size_t count);
int64_t kit_batch_number(int64_t boot); /* the next one */
enum status kit_batch(struct store *store, struct store_batch batch);
int64_t kit_runs(struct store *store); /* rows in all */

#define DOCUMENT(name) \
    "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"graph\":[]}}"

#endif
