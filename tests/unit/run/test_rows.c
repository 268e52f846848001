/* Event logs of the run machine as texts: tests/unit/run/rows, one case a file. A case reads like this:
 *
 *     task app/t repeat=never            a task (app/t with defaults exists when none is named)
 *     job timeout=1h max_in_flight=2     options of the job
 *     step a on_failure=retry max=1      steps: see step_option below
 *     step b after=a,c:failure join=any
 *     instances h1 h2-down h3-full       the world; may change later
 *     start                              events …
 *     end a http_5xx error=boom
 *     accept a | cancel | driver 8 | boot …
 *     at 5s                              time since the start
 *     effects                            asks; the lines until "." must be the list; then carries it out
 *       attempt a n=2 try=2 h1
 *     .
 *     run failed   state a waiting busy  questions;  linger 3600000 (ms since the start, or "none")
 *     refused end a success              an event that the machine must refuse
 * "a#2" is item 2 of step a.
 *
 * A wake is compared only where the case names one. */
#include <ctype.h>
#include <dirent.h>

#include "core/base/duration.h"
#include "tests/unit/run/support.h"

#define EFFECTS 16

struct script {
    struct bench b;
    struct step_spec steps[32];
    struct edge_spec edges[32][8];
    char *text, *at; /* the file; the rest of it */
    bool made;
};

static const char *next_line(struct script *s)
{
    if (!s->at || !*s->at)
        return NULL;
    char *line = s->at, *end = strchr(line, '\n');
    if (end)
        *end = '\0';
    s->at = end ? end + 1 : NULL;
    s->b.line++;
    while (isspace((unsigned char)*line))
        line++;
    for (char *tail = line + strlen(line); tail > line && isspace((unsigned char)tail[-1]);)
        *--tail = '\0';
    return line;
}

/* Cuts the next word off *rest; "" at the end. */
static char *word(char **rest)
{
    char *start = *rest;
    while (*start == ' ')
        start++;
    char *end = start;
    while (*end && *end != ' ')
        end++;
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return start;
}

static span to_span(struct script *s, const char *text)
{
    span d = 0;
    struct error err;
    if (duration_parse(text, &d, &err) != STATUS_OK)
        BENCH_FAIL(&s->b, "%s", err.text);
    return d;
}

static size_t find_step(struct script *s, const char *name)
{
    for (size_t i = 0; i < s->b.job.step_count; i++)
        if (!strcmp(s->steps[i].name, name))
            return i;
    BENCH_FAIL(&s->b, "no step %s", name);
    return 0;
}

/* a | a:failure | a:always | a:${expression} */
static void add_edge(struct script *s, size_t step, char *text)
{
    struct edge_spec *edge = &s->edges[step][s->steps[step].after_count++];
    char *on = strchr(text, ':');
    if (on)
        *on++ = '\0';
    *edge = (struct edge_spec){.from = find_step(s, text), .on = EDGE_SUCCESS};
    if (on && !strcmp(on, "failure"))
        edge->on = EDGE_FAILURE;
    else if (on && !strcmp(on, "always"))
        edge->on = EDGE_ALWAYS;
    else if (on) {
        edge->on = EDGE_EXPRESSION;
        edge->when = on;
    }
}

static unsigned class_mask(struct script *s, char *text)
{
    unsigned mask = 0;
    for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
        enum call_class class;
        if (!call_class_parse(name, &class))
            BENCH_FAIL(&s->b, "no class %s", name);
        mask |= 1U << class;
    }
    return mask;
}

static void call_option(struct script *s, struct call_spec *call, const char *key, const char *value)
{
    if (!strcmp(key, "repeat")) {
        if (!repeat_rule_parse(value, &call->repeat))
            BENCH_FAIL(&s->b, "no rule %s", value);
    } else if (!strcmp(key, "wait_timeout"))
        call->wait_timeout = to_span(s, value);
    else if (!strcmp(key, "timeout"))
        call->timeout = to_span(s, value);
    else if (!strcmp(key, "serial"))
        call->serial = true;
    else
        BENCH_FAIL(&s->b, "no option %s", key);
}

static void step_option(struct script *s, size_t i, const char *key, char *value)
{
    struct step_spec *step = &s->steps[i];
    step->call_set = true;
    if (!strcmp(key, "after")) {
        for (char *save = NULL, *edge = strtok_r(value, ",", &save); edge; edge = strtok_r(NULL, ",", &save))
            add_edge(s, i, edge);
        step->after = s->edges[i];
    } else if (!strcmp(key, "join")) {
        step->join = !strcmp(value, "all") ? JOIN_ALL : !strcmp(value, "any") ? JOIN_ANY : JOIN_N;
        step->join_n = step->join == JOIN_N ? (size_t)atoi(value) : 0;
    } else if (!strcmp(key, "cancel_rest"))
        step->cancel_rest = true;
    else if (!strcmp(key, "on_failure")) {
        if (!failure_preset_parse(value, &step->on_failure))
            BENCH_FAIL(&s->b, "no preset %s", value);
    } else if (!strcmp(key, "max"))
        step->retry.max = atoi(value);
    else if (!strcmp(key, "delay"))
        step->retry.delay = to_span(s, value);
    else if (!strcmp(key, "exponential"))
        step->retry.backoff = BACKOFF_EXPONENTIAL;
    else if (!strcmp(key, "max_elapsed"))
        step->retry.max_elapsed = to_span(s, value);
    else if (!strcmp(key, "on"))
        step->retry.on = class_mask(s, value);
    else if (!strcmp(key, "exhausted_ignore"))
        step->on_exhausted = EXHAUSTED_IGNORE;
    else if (!strcmp(key, "compensate")) {
        step->on_exhausted = EXHAUSTED_COMPENSATE;
        step->compensate = find_step(s, value);
    } else if (!strcmp(key, "wait")) {
        step->kind = STEP_WAIT;
        step->wait = to_span(s, value);
    } else if (!strcmp(key, "noop"))
        step->kind = STEP_NOOP;
    else if (!strcmp(key, "fixed")) {
        step->routing = ROUTE_FIXED;
        step->instance = value;
    } else if (!strcmp(key, "routing")) {
        if (!routing_parse(value, &step->routing))
            BENCH_FAIL(&s->b, "no routing %s", value);
    } else if (!strcmp(key, "map")) {
        step->kind = STEP_MAP;
        step->map = value;
    } else if (!strcmp(key, "shards"))
        step->shards = atoi(value);
    else if (!strcmp(key, "concurrency"))
        step->concurrency = atoi(value);
    else if (!strcmp(key, "tolerate")) {
        step->tolerate = atoi(value);
        step->tolerate_share = strchr(value, '%');
    } else if (!strcmp(key, "params"))
        step->params = value;
    else if (!strcmp(key, "task")) {
        step->application = value;
        step->task = strchr(value, '/') + 1;
        *strchr(value, '/') = '\0';
    } else
        call_option(s, &step->call, key, value);
}

static void job_option(struct script *s, const char *key, const char *value)
{
    if (!strcmp(key, "timeout"))
        s->b.job.timeout = to_span(s, value);
    else if (!strcmp(key, "max_in_flight"))
        s->b.job.max_in_flight = atoi(value);
    else
        BENCH_FAIL(&s->b, "no option %s", key);
}

/* Splits "key=value" (or a bare "key"). */
static char *option(char **rest, char **ret_value)
{
    char *text = word(rest), *equals = strchr(text, '=');
    *ret_value = equals ? equals + 1 : text + strlen(text);
    if (equals)
        *equals = '\0';
    return text;
}

static void read_job_line(struct script *s, const char *kind, char *rest)
{
    char *value;
    if (!strcmp(kind, "job")) {
        for (char *key = option(&rest, &value); *key; key = option(&rest, &value))
            job_option(s, key, value);
    } else if (!strcmp(kind, "task")) {
        struct task_spec *task = bench_add_task(&s->b, word(&rest));
        for (char *key = option(&rest, &value); *key; key = option(&rest, &value))
            call_option(s, &task->call, key, value);
    } else {
        size_t i = s->b.job.step_count++;
        s->steps[i] = step_defaults(word(&rest));
        for (char *key = option(&rest, &value); *key; key = option(&rest, &value))
            step_option(s, i, key, value);
    }
}

static void set_instances(struct script *s, char *rest)
{
    s->b.instance_count = 0;
    for (char *name = word(&rest); *name; name = word(&rest)) {
        char *mark = strchr(name, '-');
        bool down = mark && !strcmp(mark, "-down"), full = mark && !strcmp(mark, "-full");
        bool aside = mark && !strcmp(mark, "-aside");
        if (mark)
            *mark = '\0';
        bench_instance(&s->b, name, !down && !aside, full);
        s->b.instances[s->b.instance_count - 1].aside = aside;
    }
}

static void make(struct script *s)
{
    if (s->made)
        return;
    s->b.job.steps = s->steps;
    if (!s->b.task_count)
        (void)bench_add_task(&s->b, "app/t");
    instant now = s->b.now;
    bench_create(&s->b);
    if (now.ms > T0)
        s->b.now = now;
    s->made = true;
}

static void attempt_option(struct script *s, struct attempt_row *row, const char *key, const char *value)
{
    if (!strcmp(key, "error"))
        row->error = value;
    else if (!strcmp(key, "code"))
        row->code = value;
    else if (!strcmp(key, "result"))
        row->result = value;
    else if (!strcmp(key, "retry_after"))
        row->retry_after = to_span(s, value);
    else if (!strcmp(key, "n"))
        row->n = atoi(value);
    else
        BENCH_FAIL(&s->b, "no option %s", key);
}

/* "a#2" is item 2 of step a; the number is cut off. */
static int32_t item_number(char *step)
{
    char *mark = strchr(step, '#');
    if (!mark)
        return 0;
    *mark = '\0';
    return atoi(mark + 1);
}

/* false: the line is no event. */
static bool read_event(struct script *s, const char *kind, char *rest, struct run_event *ret)
{
    char *value;
    *ret = (struct run_event){0};
    if (!strcmp(kind, "start")) {
        ret->kind = RUN_EVENT_START;
    } else if (!strcmp(kind, "cancel")) {
        ret->kind = RUN_EVENT_CANCEL;
    } else if (!strcmp(kind, "driver")) {
        *ret = (struct run_event){.kind = RUN_EVENT_DRIVER, .boot = atoi(rest), .node = "s2"};
    } else if (!strcmp(kind, "end") || !strcmp(kind, "accept")) {
        char *step = word(&rest);
        int32_t item = item_number(step);
        enum call_class class = CALL_ACCEPTED;
        if (!strcmp(kind, "end") && !call_class_parse(word(&rest), &class))
            BENCH_FAIL(&s->b, "no such class");
        *ret = item_end_event(s->b.run, step, item, class);
        for (char *key = option(&rest, &value); *key; key = option(&rest, &value))
            attempt_option(s, &ret->attempt, key, value);
    } else if (!strcmp(kind, "begin")) { /* not asked for by an effect */
        char *step = word(&rest);
        int32_t item = item_number(step);
        *ret = (struct run_event){.kind = RUN_EVENT_ATTEMPT,
                                  .attempt = {.step = step, .item = item, .n = 1, .key_try = 1}};
        ret->attempt.instance = "h1";
        for (char *key = option(&rest, &value); *key; key = option(&rest, &value)) {
            ret->attempt.n = !strcmp(key, "n") ? atoi(value) : ret->attempt.n;
            ret->attempt.key_try = !strcmp(key, "try") ? atoi(value) : ret->attempt.key_try;
        }
    } else if (!strcmp(kind, "step_is")) { /* by force */
        char *step = word(&rest);
        int32_t item = item_number(step);
        *ret = (struct run_event){.kind = RUN_EVENT_STEP, .step = {.step = step, .item = item}};
        if (!step_state_parse(word(&rest), &ret->step.state))
            BENCH_FAIL(&s->b, "no such state");
        ret->step.result = *rest ? rest : NULL;
    } else if (!strcmp(kind, "run_is")) {
        ret->kind = RUN_EVENT_END;
        if (!run_state_parse(word(&rest), &ret->state))
            BENCH_FAIL(&s->b, "no such state");
    } else {
        return false;
    }
    return true;
}

static void expect_effects(struct script *s, bool carry_out)
{
    struct run_effect effects[EFFECTS];
    size_t count, i = 0;
    char got[EFFECTS][700];
    count = bench_effects(&s->b, effects, EFFECTS);
    for (size_t k = 0; k < count; k++)
        effect_text(&effects[k], got[k], sizeof got[k]);
    count = bench_effects(&s->b, effects, EFFECTS); /* asked twice, it says the same */
    for (size_t k = 0; k < count; k++) {
        char again[700];
        effect_text(&effects[k], again, sizeof again);
        if (strcmp(again, got[k]) != 0)
            BENCH_FAIL(&s->b, "asked twice: \"%.800s\", then \"%.800s\"", got[k], again);
    }
    const char *line;
    while ((line = next_line(s)) && strcmp(line, ".") != 0) {
        while (i < count && effects[i].kind == EFFECT_WAKE && strncmp(line, "wake", 4) != 0)
            i++;
        if (i == count)
            BENCH_FAIL(&s->b, "expected \"%s\", but the list has ended", line);
        if (strcmp(got[i], line) != 0)
            BENCH_FAIL(&s->b, "expected \"%s\", got \"%s\"", line, got[i]);
        i++;
    }
    while (i < count && effects[i].kind == EFFECT_WAKE)
        i++;
    if (i < count)
        BENCH_FAIL(&s->b, "not expected: \"%s\"", got[i]);
    for (size_t k = 0; carry_out && k < count; k++)
        bench_carry_out(&s->b, &effects[k]);
}

static void expect_state(struct script *s, char *rest)
{
    char *name = word(&rest), *state = word(&rest);
    int32_t item = item_number(name);
    const struct run_step *step = run_find_item(s->b.run, name, item);
    if (!step || strcmp(step_state_text(step->state), state) != 0)
        BENCH_FAIL(&s->b, "step %s is %s", name, step ? step_state_text(step->state) : "none");
    if (*rest && (!step->reason || strcmp(step->reason, rest) != 0))
        BENCH_FAIL(&s->b, "step %s: reason %s", name, step->reason ? step->reason : "none");
}

static void expect_linger(struct script *s, const char *rest)
{
    struct run_world world = bench_world(&s->b);
    instant until = run_linger_until(s->b.run, &world);
    instant wanted = !strcmp(rest, "none") ? INSTANT_NONE : (instant){T0 + atoll(rest)};
    if (until.ms != wanted.ms)
        BENCH_FAIL(&s->b, "lingers until %lld", (long long)(until.ms - T0));
}

static void expect_refusal(struct script *s, char *rest)
{
    struct run_event event;
    struct error err;
    char *kind = word(&rest);
    if (!read_event(s, kind, rest, &event))
        BENCH_FAIL(&s->b, "no event %s", kind);
    int32_t seq = s->b.run->seq;
    if (bench_apply(&s->b, event, &err) != STATUS_CONFLICT)
        BENCH_FAIL(&s->b, "the event was taken");
    if (s->b.run->seq != seq)
        BENCH_FAIL(&s->b, "a refused event has changed the run");
    bench_check_replay(&s->b);
}

static void read_line(struct script *s, char *rest)
{
    struct run_event event;
    char *kind = word(&rest);
    if (!*kind || *kind == '#')
        return;
    if (!strcmp(kind, "job") || !strcmp(kind, "task") || !strcmp(kind, "step")) {
        read_job_line(s, kind, rest);
        return;
    }
    if (!strcmp(kind, "instances")) {
        set_instances(s, rest);
        return;
    }
    make(s);
    if (!strcmp(kind, "at"))
        s->b.now = (instant){T0 + to_span(s, rest)};
    else if (!strcmp(kind, "effects") || !strcmp(kind, "peek"))
        expect_effects(s, !strcmp(kind, "effects"));
    else if (!strcmp(kind, "state"))
        expect_state(s, rest);
    else if (!strcmp(kind, "run")) {
        if (strcmp(run_state_text(s->b.run->row.state), rest) != 0)
            BENCH_FAIL(&s->b, "the run is %s", run_state_text(s->b.run->row.state));
    } else if (!strcmp(kind, "linger"))
        expect_linger(s, rest);
    else if (!strcmp(kind, "refused"))
        expect_refusal(s, rest);
    else if (read_event(s, kind, rest, &event))
        bench_must(&s->b, event);
    else
        BENCH_FAIL(&s->b, "what is \"%s\"?", kind);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    size_t length = fread(text, 1, 65535, file);
    text[length] = '\0';
    (void)fclose(file);
    return text;
}

static void run_script(void **state)
{
    static struct script s;
    s = (struct script){.text = read_file(*state)};
    const char *line;
    s.at = s.text;
    s.b.where = strrchr(*state, '/') + 1;
    while ((line = next_line(&s)))
        read_line(&s, (char *)(uintptr_t)line);
    assert_true(s.made);
    bench_release(&s.b);
    free(s.text);
}

#define SCRIPTS 100

int main(void)
{
    static char paths[SCRIPTS][512];
    static struct CMUnitTest tests[SCRIPTS];
    static void *states[SCRIPTS];
    struct dirent **entries;
    size_t count = 0;
    const char *folder = CARILLON_SOURCE_DIR "/tests/unit/run/rows";
    int found = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        if (strstr(entries[i]->d_name, ".txt") && count < SCRIPTS) {
            (void)snprintf(paths[count], sizeof paths[count], "%s/%s", folder, entries[i]->d_name);
            states[count] = paths[count];
            tests[count] = (struct CMUnitTest){strrchr(paths[count], '/') + 1, run_script, NULL, NULL, states[count]};
            count++;
        }
        free(entries[i]);
    }
    if (found >= 0)
        free(entries);
    if (!count) {
        (void)fprintf(stderr, "no cases in %s\n", folder);
        return 1;
    }
    return _cmocka_run_group_tests("rows", tests, count, NULL, NULL);
}
