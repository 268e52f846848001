/* The scheduler's counters as Prometheus text. Names are part of the contract (docs/reference/metrics.md). */
#include "scheduler/scheduler.h"

#include "cli/process.h"

static int64_t load(const int64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void head(struct str *ret, const char *name, const char *type, const char *help)
{
    str_addf(ret, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void lateness(const struct scheduler_metrics *m, struct str *ret)
{
    int64_t sum = 0;
    head(ret, "carillon_fire_lateness_seconds", "histogram", "From the due time of a run to the commit of its row.");
    for (int i = 0; i < SCHEDULER_LATENESS_BUCKETS; i++) {
        sum += load(&m->lateness_bucket[i]);
        if (i + 1 < SCHEDULER_LATENESS_BUCKETS)
            str_addf(ret, "carillon_fire_lateness_seconds_bucket{le=\"%g\"} %lld\n", scheduler_lateness_bounds[i],
                     (long long)sum);
        else
            str_addf(ret, "carillon_fire_lateness_seconds_bucket{le=\"+Inf\"} %lld\n", (long long)sum);
    }
    str_addf(ret, "carillon_fire_lateness_seconds_sum %.3f\ncarillon_fire_lateness_seconds_count %lld\n",
             (double)load(&m->lateness_sum_ms) / 1000, (long long)load(&m->lateness_count));
}

static const struct gauge {
    const char *name, *type, *help;
    size_t offset;
} gauges[] = {
#define GAUGE(name, type, member, help)                              \
    {                                                                \
        name, type, help, offsetof(struct scheduler_metrics, member) \
    }
    GAUGE("carillon_fires_total", "counter", fires, "Runs fired by this node."),
    GAUGE("carillon_skips_total", "counter", skips, "Skip rows written by this node."),
    GAUGE("carillon_runs_open", "gauge", runs_open, "Runs that this node drives."),
    GAUGE("carillon_calls_in_flight", "gauge", calls_in_flight, "HTTP calls under way."),
    GAUGE("carillon_store_batches_total", "counter", batches, "Batches committed."),
    GAUGE("carillon_store_batch_items_total", "counter", batch_items, "Rows in committed batches."),
    GAUGE("carillon_store_batches_refused_total", "counter", batches_refused,
          "Batches that the store refused or could not take."),
    GAUGE("carillon_store_batch_milliseconds_total", "counter", batch_ms_sum, "Time spent waiting for commits."),
    GAUGE("carillon_store_queue_rows", "gauge", queue_rows, "Rows that wait for the store."),
    GAUGE("carillon_store_bytes", "gauge", store_bytes,
          "Bytes of the store's data, where this node leads housekeeping; else 0."),
    GAUGE("carillon_store_max_bytes", "gauge", store_bytes_max, "store.max_size, likewise; alert at 80 %."),
    GAUGE("carillon_store_down", "gauge", store_down, "1 while the store cannot be reached."),
    GAUGE("carillon_coordination_down", "gauge", coordination_down,
          "1 while the coordination service cannot be reached."),
    GAUGE("carillon_slots_owned", "gauge", slots_owned, "Slots that this node holds."),
    GAUGE("carillon_jobs_ruled", "gauge", jobs_ruled, "Jobs in these slots."),
    GAUGE("carillon_jobs_owned", "gauge", jobs_owned, "Jobs in the slots that this node holds, as the store counts."),
    GAUGE("carillon_jobs_unowned", "gauge", jobs_unowned,
          "Jobs in slots that nobody holds, as this node sees the cluster; more than 0 for a minute is an alarm."),
    GAUGE("carillon_capacity_alarm", "gauge", capacity_alarm,
          "1 while this node holds more jobs than scheduler.alarm_at of its capacity."),
    GAUGE("carillon_slot_moves_total", "counter", slot_moves, "Slots that this node gave to others for balance."),
    GAUGE("carillon_job_moves_total", "counter", job_moves, "Jobs that went to another slot by hand or by their pool."),
    GAUGE("carillon_slot_flaps_total", "counter", slot_flaps,
          "Slots that came back to this node within a minute after they had left it."),
    GAUGE("carillon_takeovers_total", "counter", takeovers, "Boots of others whose runs this node went on with."),
    GAUGE("carillon_triggers_in_error", "gauge", triggers_in_error, "Triggers that cannot fire."),
    GAUGE("carillon_clock_offset_milliseconds", "gauge", clock_offset_ms, "This node's clock less the store's."),
    GAUGE("carillon_feed_lag_milliseconds", "gauge", feed_lag_ms, "Age of the last answered poll of the change feed."),
#undef GAUGE
};

void metrics_write(const struct scheduler *scheduler, struct str *ret)
{
    const struct scheduler_metrics *m = scheduler_metrics(scheduler);
    lateness(m, ret);
    head(ret, "carillon_runs_total", "counter", "Runs ended, by state.");
    for (int i = RUN_SUCCEEDED; i < RUN_STATES; i++)
        str_addf(ret, "carillon_runs_total{state=\"%s\"} %lld\n", run_state_text((enum run_state)i),
                 (long long)load(&m->runs_ended[i]));
    head(ret, "carillon_attempts_total", "counter", "Calls ended, by class.");
    for (int i = CALL_SUCCESS; i < CALL_ACCEPTED; i++)
        str_addf(ret, "carillon_attempts_total{class=\"%s\"} %lld\n", call_class_text((enum call_class)i),
                 (long long)load(&m->attempts_ended[i]));
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        const void *counter = (const char *)m + gauges[i].offset;
        head(ret, gauges[i].name, gauges[i].type, gauges[i].help);
        str_addf(ret, "%s %lld\n", gauges[i].name, (long long)load(counter));
    }
}

#define STORE_WARNING 80 /* percent of store.max_size; the scheduler's log warns from there on, too */

const char *metrics_warning(const struct scheduler *scheduler)
{
    const struct scheduler_metrics *metrics = scheduler_metrics(scheduler);
    int64_t size = __atomic_load_n(&metrics->store_bytes, __ATOMIC_RELAXED);
    int64_t most = __atomic_load_n(&metrics->store_bytes_max, __ATOMIC_RELAXED);
    if (most <= 0 || size < most / 100 * STORE_WARNING)
        return NULL;
    return "the store is nearly full (80 % of store.max_size): shorten retention.runs or retention.bodies, or raise "
           "store.max_size";
}
