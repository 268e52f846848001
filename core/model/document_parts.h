/* The parts of a document, one file each; internal to core/model. Each reads `value` at `place` into its struct, adds
 * faults, and leaves defaults where nothing is said. */
#ifndef CARILLON_CORE_MODEL_DOCUMENT_PARTS_H
#define CARILLON_CORE_MODEL_DOCUMENT_PARTS_H

#include "core/model/document.h"
#include "core/model/read.h"

#define DOCUMENT_VERSION "carillon/v1"
const struct metadata *document_metadata_of(const struct document *document);

void project_read(struct reader *reader, const struct place *place, struct slice value, struct project_spec *ret);
void application_read(struct reader *reader, const struct place *place, struct slice value,
                      struct application_spec *ret);
void calendar_read(struct reader *reader, const struct place *place, struct slice value, struct calendar_spec *ret);
void job_read(struct reader *reader, const struct place *place, struct slice value, struct job_spec *ret);

void triggers_read(struct reader *reader, const struct place *place, struct slice value, struct job_spec *job);
void graph_read(struct reader *reader, const struct place *place, struct slice value, struct job_spec *job);

read_function read_pairs;   /* [struct name_values] object of texts, in order */
read_function read_headers; /* [struct name_values] the same, as HTTP headers that are not ours */
read_function read_retry;   /* [struct retry_policy] over what stands there */

struct name_values {
    struct name_value *items;
    size_t count;
};

/* What both a task and a step say about a call, as it is read; call_take makes a call_spec of it. */
struct call_members {
    struct call_spec call;
    struct name_values headers, query;
    const char *success_when;
};

/* Where `retry` or a preset that retries is given, and says no more. */
static inline struct retry_policy retry_policy_default(void)
{
    return (struct retry_policy){
        .max = 3, .delay = 5 * SPAN_SECOND, .backoff = BACKOFF_FIXED, .max_delay = 10 * SPAN_MINUTE};
}

#define CALL_MAX (365 * SPAN_DAY)
#define CALL_AT(type, member) (offsetof(type, members) + offsetof(struct call_members, member))
#define CALL_FIELDS(type)                                                                              \
    {"method", read_choice_text, CALL_AT(type, call.method), 0, 0, call_methods, NULL},                \
        {"headers", read_headers, CALL_AT(type, headers), 0, LIMIT_HEADERS, NULL, NULL},               \
        {"query", read_pairs, CALL_AT(type, query), 0, LIMIT_HEADERS, NULL, NULL},                     \
        {"timeout", read_span, CALL_AT(type, call.timeout), 1, CALL_MAX, NULL, NULL},                  \
        {"connect_timeout", read_span, CALL_AT(type, call.connect_timeout), 1, SPAN_HOUR, NULL, NULL}, \
        {"wait_timeout", read_span, CALL_AT(type, call.wait_timeout), 0, CALL_MAX, NULL, NULL},        \
        {"repeat", read_choice, CALL_AT(type, call.repeat), 0, 0, call_repeats, NULL},                 \
        {"success_when", read_line, CALL_AT(type, success_when), 0, LIMIT_EXPRESSION, NULL, NULL},     \
        {"envelope", read_bool, CALL_AT(type, call.envelope), 0, 0, NULL, NULL},                       \
        {"async", read_bool, CALL_AT(type, call.async), 0, 0, NULL, NULL},                             \
    {                                                                                                  \
        "cancel", read_bool, CALL_AT(type, call.cancel), 0, 0, NULL, NULL                              \
    }
#define CALL_FIELD_COUNT 11

extern const struct choice call_methods[], call_repeats[];
read_function read_choice_text; /* [const char *] one of the choices */

struct call_members call_unset(void);
struct call_spec call_take(struct reader *reader, const struct place *place, const struct call_members *members);
/* Path and URL: '/' or http(s)://host first; white space only inside ${…}. */
bool path_valid(const char *path);
/* NULL, or what is wrong with it. */
const char *url_fault(const char *url);

#endif
