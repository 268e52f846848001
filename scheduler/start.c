/* The first steps of a process: know the cluster, take the node's name in the coordination, become a boot, fence the
 * own past, join the others. Each is repeated until the store answers. A second process of one name gets no further
 * than the name: nothing that the store knows of the first one is touched. */
#include <stdio.h>
#include <string.h>

#include "scheduler/own/own.h"

#define ENTER_FIRST_WORD \
    (5 * SPAN_SECOND) /* the client library speaks up by itself when a port refuses, and not else */
#define ENTER_NEXT_WORD (60 * SPAN_SECOND)

enum start_phase {
    START_CLUSTER,
    START_CLUSTER_ASKED,
    START_ENTER,
    START_ENTERING,
    START_BOOT,
    START_BOOT_ASKED,
    START_JOIN,
    START_DONE
};

static void later(struct scheduler *s, enum start_phase phase)
{
    s->start_phase = (int)phase;
    s->start_retry = mono_add(s->now.mono, 500);
}

static void cluster_answered(struct scheduler *s, struct work *work)
{
    if (!work_ok(s, work)) {
        later(s, START_CLUSTER);
        return;
    }
    s->generation = work->op.cluster.generation;
    s->start_phase = START_ENTER;
}

static void boot_answered(struct scheduler *s, struct work *work)
{
    if (!work_ok(s, work)) {
        later(s, START_BOOT);
        return;
    }
    s->boot = work->op.boot_start.boot;
    s->previous_boot = work->op.boot_start.previous_boot;
    ownership_wished(s, work->op.boot_start.wish);
    s->next_boot_read = mono_add(s->now.mono, SPAN_SECOND);
    s->start_phase = START_JOIN;
    sink_logf(s->ports.sink, LOG_INFO, "The scheduler starts.", "node=%s boot=%lld previous_boot=%lld", s->node,
              (long long)s->boot, (long long)s->previous_boot);
    if (s->previous_boot != 0)
        recovery_suspect(s, s->previous_boot);
}

/* What listens at the address may be anything: silence is all that is heard of it. */
static void wait_for_entry(struct scheduler *s)
{
    if (mono_cmp(s->now.mono, s->enter_word) >= 0) {
        s->unanswered = true;
        s->enter_word = mono_add(s->now.mono, ENTER_NEXT_WORD);
        sink_logf(
            s->ports.sink, LOG_WARN,
            "The coordination service has not answered yet: check coordination.url, and that ZooKeeper listens there.",
            "url=%s", s->settings->coordination.url);
    }
    wake_at(s, s->enter_word);
}

static void join(struct scheduler *s)
{
    s->start_phase = START_DONE;
    s->joined = true;
    s->node_dirty = true; /* ownership.c joins with the node's present state */
    s->next_boot_read = s->now.mono;
    s->next_poll = s->now.mono;
    if (s->state == SCHEDULER_STARTING)
        s->state = SCHEDULER_WORKING;
}

void start_step(struct scheduler *s)
{
    if (s->start_phase == START_DONE)
        return;
    if (mono_cmp(s->now.mono, s->start_retry) < 0) {
        wake_at(s, s->start_retry);
        return;
    }
    if (s->start_phase == START_CLUSTER) {
        s->start_phase = START_CLUSTER_ASKED;
        work_submit(work_new(s, STORE_CLUSTER, cluster_answered));
    } else if (s->start_phase == START_ENTER) {
        s->start_phase = START_ENTERING;
        s->enter_word = mono_add(s->now.mono, ENTER_FIRST_WORD);
        ownership_tell(s);
    } else if (s->start_phase == START_ENTERING && !s->connected) {
        wait_for_entry(s);
    } else if (s->start_phase == START_ENTERING) {
        s->unanswered = false;
        s->start_phase = START_BOOT;
        s->busy = true;
    } else if (s->start_phase == START_BOOT) {
        struct work *work = work_new(s, STORE_BOOT_START, boot_answered);
        work->op.boot_start.node = s->node;
        work->op.boot_start.address = s->address;
        work->op.boot_start.role = s->options.role;
        work->op.boot_start.version = s->options.version;
        work->op.boot_start.pool = s->settings->scheduler.pool;
        work->op.boot_start.capacity = s->settings->scheduler.capacity;
        work->op.boot_start.weight = s->settings->scheduler.weight;
        s->start_phase = START_BOOT_ASKED;
        work_submit(work);
    } else if (s->start_phase == START_JOIN) {
        join(s);
    }
}
