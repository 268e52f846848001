/* Projects and applications. */
#include <string.h>

#include "core/model/document_parts.h"

void project_read(struct reader *reader, const struct place *place, struct slice value, struct project_spec *ret)
{
    static const struct field fields[] = {
        {"timezone", read_line, offsetof(struct project_spec, timezone), 0, LIMIT_NAME, NULL, NULL},
    };
    ret->timezone = "UTC";
    if (json_type_of(value) != JSON_NONE)
        read_object(reader, place, value, fields, 1, ret);
}

struct task_members {
    struct task_spec task;
    struct call_members members;
};

/* clang-format off */
static const struct field task_fields[] = {
    {"name", read_name, offsetof(struct task_members, task.name), 0, 0, NULL, NULL},
    {"description", read_text, offsetof(struct task_members, task.description), 0, 0, NULL, NULL},
    {"path", read_line, CALL_AT(struct task_members, call.path), 0, 2048, NULL, NULL},
    {"serial", read_bool, CALL_AT(struct task_members, call.serial), 0, 0, NULL, NULL},
    {"concurrency", read_int, CALL_AT(struct task_members, call.concurrency), 1, 100000, NULL, NULL},
    CALL_FIELDS(struct task_members),
};
/* clang-format on */
#define TASK_FIELDS (sizeof task_fields / sizeof *task_fields)

static void task_read(struct reader *reader, const struct place *place, struct slice value, struct task_spec *ret)
{
    struct task_members m = {.members = call_unset()};
    m.members.call.method = "POST";
    uint64_t seen = read_object(reader, place, value, task_fields, TASK_FIELDS, &m);
    if (json_type_of(value) != JSON_OBJECT)
        return;
    if (!(seen & FIELD_BIT(0)))
        read_fault(reader, PLACE_MEMBER(place, "name"), "is missing; steps name the task by it");
    if (!(seen & FIELD_BIT(2)))
        read_fault(reader, PLACE_MEMBER(place, "path"), "is missing; write the path that is called, such as /extract");
    const char *path = m.members.call.path;
    if (path && !path_valid(path))
        read_fault(reader, PLACE_MEMBER(place, "path"),
                   "\"%.100s\" is no path; it begins with /, and has neither white space nor #", path);
    if (m.members.call.serial && m.members.call.concurrency > 1)
        read_fault(reader, PLACE_MEMBER(place, "concurrency"),
                   "a serial task runs once at a time; leave one of both out");
    m.task.call = call_take(reader, place, &m.members);
    *ret = m.task;
}

static void read_tasks(struct reader *reader, const struct place *place, struct slice value, void *target,
                       const struct field *field)
{
    struct application_spec *app = target;
    size_t count;
    struct json_walk walk = {0};
    (void)field;
    if (!take_list(reader, place, value, LIMIT_TASKS, false, &count) || !count)
        return;
    app->tasks = take_array(reader, struct task_spec, count);
    for (size_t i = 0; i < count && app->tasks; i++) {
        task_read(reader, PLACE_INDEX(place, i), list_element(value, &walk, i == 0), &app->tasks[i]);
        app->task_count++;
        for (size_t j = 0; j < i && app->tasks[i].name; j++)
            if (app->tasks[j].name && !strcmp(app->tasks[i].name, app->tasks[j].name))
                read_fault(reader, PLACE_INDEX(place, i), "a task named \"%s\" is already there ([%zu])",
                           app->tasks[i].name, j);
    }
}

static void read_instances(struct reader *reader, const struct place *place, struct slice value, void *target,
                           const struct field *field)
{
    struct application_spec *app = target;
    size_t count;
    struct json_walk walk = {0};
    if (!take_list(reader, place, value, LIMIT_INSTANCES, false, &count) || !count)
        return;
    app->instances = take_array(reader, const char *, count);
    for (size_t i = 0; i < count && app->instances; i++) {
        const char **instance = &app->instances[app->instance_count];
        read_address(reader, PLACE_INDEX(place, i), list_element(value, &walk, i == 0), instance, field);
        if (!*instance)
            continue;
        app->instance_count++;
        for (size_t j = 0; j + 1 < app->instance_count; j++)
            if (!strcmp(*instance, app->instances[j]))
                read_fault(reader, PLACE_INDEX(place, i), "the instance %s is given twice", *instance);
    }
}

void application_read(struct reader *reader, const struct place *place, struct slice value,
                      struct application_spec *ret)
{
    static const struct field fields[] = {
        {"instances", read_instances, 0, 0, 0, NULL, NULL},
        {"dns", read_address, offsetof(struct application_spec, dns), 0, 0, NULL, NULL},
        {"tls", read_bool, offsetof(struct application_spec, tls), 0, 0, NULL, NULL},
        {"tasks", read_tasks, 0, 0, 0, NULL, NULL},
    };
    if (json_type_of(value) != JSON_NONE)
        read_object(reader, place, value, fields, sizeof fields / sizeof *fields, ret);
}
