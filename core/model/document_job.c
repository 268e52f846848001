/* Jobs: policies here, triggers and graph in their own files. */
#include "core/model/document_parts.h"

/* clang-format off */
static const struct choice overlaps[] = {{"wait", OVERLAP_WAIT}, {"skip", OVERLAP_SKIP}, {"allow", OVERLAP_ALLOW}, {"replace", OVERLAP_REPLACE}, {NULL, 0}};
static const struct choice captures[] = {{"head", CAPTURE_HEAD}, {"none", CAPTURE_NONE}, {"full", CAPTURE_FULL}, {NULL, 0}};

struct job_members {
    struct job_spec spec;
    struct slice triggers, graph;
};

#define AT(member) offsetof(struct job_members, member)
static const struct field fields[] = {
    {"triggers", read_raw, AT(triggers), 0, 0, NULL, NULL},
    {"graph", read_raw, AT(graph), 0, 0, NULL, NULL},
    {"overlap", read_choice, AT(spec.overlap), 0, 0, overlaps, NULL},
    {"max_parallel", read_int, AT(spec.max_parallel), 1, 100000, NULL, NULL},
    {"timeout", read_span, AT(spec.timeout), 1, CALL_MAX, NULL, NULL},
    {"params", read_json_object, AT(spec.params), 0, LIMIT_PARAMS, NULL, NULL},
    {"retry", read_retry, AT(spec.retry), 0, 0, NULL, NULL},
    {"max_consecutive_failures", read_int, AT(spec.max_consecutive_failures), 0, 1000000, NULL, NULL},
    {"max_in_flight", read_int, AT(spec.max_in_flight), 1, 100000, NULL, NULL},
    {"pool", read_name, AT(spec.pool), 0, 0, NULL, NULL},
    {"capture", read_choice, AT(spec.capture), 0, 0, captures, NULL},
    {"alerts", read_json, AT(spec.alerts), 0, LIMIT_PARAMS, NULL, NULL},
};
/* clang-format on */

void job_read(struct reader *reader, const struct place *place, struct slice value, struct job_spec *ret)
{
    struct job_members m = {.spec = *ret};
    m.spec.overlap = OVERLAP_WAIT;
    m.spec.max_parallel = JOB_PARALLEL_DEFAULT;
    m.spec.timeout = JOB_TIMEOUT_DEFAULT;
    m.spec.max_in_flight = JOB_IN_FLIGHT_DEFAULT;
    m.spec.capture = CAPTURE_HEAD;
    if (json_type_of(value) != JSON_NONE)
        read_object(reader, place, value, fields, sizeof fields / sizeof *fields, &m);
    if (m.triggers.length)
        triggers_read(reader, PLACE_MEMBER(place, "triggers"), m.triggers, &m.spec);
    if (m.graph.length)
        graph_read(reader, PLACE_MEMBER(place, "graph"), m.graph, &m.spec);
    else
        read_fault(reader, PLACE_MEMBER(place, "graph"),
                   "is missing; a job needs at least one step: graph: [{step: ping, url: \"http://…\"}]");
    *ret = m.spec;
}
