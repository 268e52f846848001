/* A job as people see it: its document's triggers joined with what the store knows of them: state with its reason, next
 * instants, owner, open runs. */
#ifndef CARILLON_ORCHESTRATOR_VIEW_H
#define CARILLON_ORCHESTRATOR_VIEW_H

#include "orchestrator/catalog.h"

#define VIEW_NEXT 3

struct trigger_view {
    const struct trigger_spec *spec;
    const char *zone, *state, *reason; /* reason NULL = none */
    bool paused;                       /* by itself */
    instant next[VIEW_NEXT];
    size_t next_count;
    instant last, from; /* last decided instant, activation */
    int64_t fires;
};

struct job_view {
    const struct definition_row *row; /* borrowed */
    struct document *document;        /* NULL: the stored text is not readable by this release */
    struct trigger_view *triggers;
    size_t trigger_count;
    struct store_op op;          /* STORE_TRIGGERS, or the memory of a part of one */
    struct store_triggers known; /* cursors, states, waiting steps, open runs of this job */
    instant next_at;
};

/* false with call->problem: the store failed. */
bool job_view_open(struct catalog *catalog, const struct definition_row *row, struct job_view *ret);
/* Many jobs with one question: ask, then open each of it. The caller releases `ret` (not after false). */
bool job_views_ask(struct call *call, const struct definition_row *rows, size_t count, struct store_op *ret);
bool job_view_open_of(struct catalog *catalog, const struct store_op *asked, const struct definition_row *row,
                      struct job_view *ret);
void job_view_release(struct job_view *view);

/* The object of lists and of `status`. */
void job_view_write(struct call *call, const struct job_view *view, struct out *out);
void job_view_explain(struct call *call, const struct job_view *view, struct out *out);
/* "active", "paused", "suspended" */
const char *job_state_text(const struct definition_row *row);

/* What a resume would fire at once: [{"trigger","count","first","last"}] of the instants that the pause has held back
 * and the misfire policy lets through. trigger NULL: those of a paused job; else of this paused trigger alone. Returns
 * how many instants these are. */
int64_t job_view_missed(struct catalog *catalog, const struct job_view *view, const char *trigger, struct out *out);

/* A run as in lists; `detail` leaves the object open for more members. */
void run_write(struct call *call, const struct run_row *run, const char *job, const char *project, bool detail,
               struct out *out);

/* Member "progress": what executors of the run have told while they worked (run_logs.c). */
void run_write_alive(struct call *call, int64_t run, struct out *out);

#endif
