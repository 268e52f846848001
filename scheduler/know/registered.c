/* Instances that announce themselves (executor-protocol.md §4). Every poll tells a number that rises when one comes,
 * changes or leaves; then the list is read anew, and also when the first of them expires unless it was renewed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/know/know.h"

#define READ_PAUSE (SPAN_SECOND / 2) /* between two looks for expired ones */
#define READ_RETRY SPAN_SECOND

static void forget(struct application *application)
{
    for (size_t i = 0; i < application->registered.count; i++)
        free(application->registered.items[i]);
    application->registered.count = 0;
}

static bool same(const struct application *application, const struct instance_row *rows, size_t count)
{
    if (application->registered.count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(application->registered.items[i], rows[i].address) != 0)
            return false;
    return true;
}

/* The rows of one application: they come sorted. Returns how many. */
static size_t take(struct scheduler *s, const struct instance_row *rows, size_t count)
{
    char key[2 * LIMIT_NAME + 2];
    size_t n = 1;
    while (n < count && strcmp(rows[n].project, rows[0].project) == 0 &&
           strcmp(rows[n].application, rows[0].application) == 0)
        n++;
    (void)snprintf(key, sizeof key, "%s/%s", rows[0].project, rows[0].application);
    struct application *application = application_need(s, key);
    application->registered_read = s->instances_readings;
    if (!same(application, rows, n)) {
        forget(application);
        for (size_t i = 0; i < n; i++)
            vec_add(&application->registered, mem_copy_text(rows[i].address));
        application_list(s, application);
    }
    return n;
}

static void answered(struct scheduler *s, struct work *work)
{
    const struct store_instances *read = &work->op.instances;
    span left = SPAN_DAY;
    s->reading_instances = false;
    if (!work_ok(s, work)) {
        s->instances_retry = mono_add(s->now.mono, READ_RETRY);
        return;
    }
    s->instances_read = work->number;
    s->instances_readings++;
    for (size_t i = 0; i < read->count; i++) {
        span lives = instant_sub(read->rows[i].expires_at, read->store_now);
        left = lives < left ? lives : left;
    }
    for (size_t i = 0; i < read->count;)
        i += take(s, read->rows + i, read->count - i);
    for (struct application *a = s->applications; a; a = a->hh.next)
        if (a->registered.count > 0 && a->registered_read != s->instances_readings) {
            forget(a);
            application_list(s, a);
        }
    s->instances_due = (mono){0};
    if (read->count)
        s->instances_due = mono_add(s->now.mono, left < READ_PAUSE ? READ_PAUSE : left);
}

void registered_polled(struct scheduler *s, int64_t number)
{
    s->instances_number = number;
}

void registered_step(struct scheduler *s)
{
    bool expiry = s->instances_due.ms != 0;
    bool due = s->instances_number != s->instances_read || (expiry && mono_cmp(s->now.mono, s->instances_due) >= 0);
    if (!s->joined || s->reading_instances)
        return;
    if (!due && expiry)
        wake_at(s, s->instances_due);
    else if (due && mono_cmp(s->now.mono, s->instances_retry) < 0)
        wake_at(s, s->instances_retry);
    else if (due) {
        s->reading_instances = true;
        struct work *work = work_new(s, STORE_INSTANCES, answered);
        work->number = s->instances_number;
        work_submit(work);
    }
}
