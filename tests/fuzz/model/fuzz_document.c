/* Documents from outside: never a crash, a fault with a text for each refusal, and what is read is written and read
 * again alike. */
#include <string.h>

#include "core/base/utf8.h"
#include "core/model/document.h"
#include "tests/fuzz/fuzz.h"

/* Indices within bounds, texts where they are promised. */
static void check_job(const struct job_spec *job)
{
    fuzz_check(job->step_count > 0);
    for (size_t i = 0; i < job->step_count; i++) {
        const struct step_spec *s = &job->steps[i];
        fuzz_check(s->name && name_valid(s->name));
        for (size_t a = 0; a < s->after_count; a++)
            fuzz_check(s->after[a].from < job->step_count && s->after[a].from != i &&
                       (s->after[a].on != EDGE_EXPRESSION || s->after[a].when));
        fuzz_check(s->on_exhausted != EXHAUSTED_COMPENSATE || s->compensate < job->step_count);
        fuzz_check(s->kind != STEP_HTTP || s->call.url || (s->application && s->task));
        fuzz_check(call_spec_resolve(NULL, s).timeout > 0);
    }
    for (size_t i = 0; i < job->trigger_count; i++) {
        const struct trigger_spec *t = &job->triggers[i];
        fuzz_check(t->name && (t->kind != TRIGGER_CRON || t->cron));
        fuzz_check((t->kind != TRIGGER_EVERY && t->kind != TRIGGER_DELAY) || t->period > 0);
        fuzz_check(t->kind != TRIGGER_AT || !instant_is_none(t->at));
    }
}

static void round_trip(const struct document *d)
{
    struct faults faults;
    struct str once, twice;
    str_init(&once, 2 * LIMIT_DOCUMENT);
    str_init(&twice, 2 * LIMIT_DOCUMENT);
    document_write(d, &once);
    faults_init(&faults);
    struct document *again = document_parse(str_text(&once), once.length, d->kind, &faults);
    fuzz_check(again && again->kind == d->kind && !faults.errors && !strcmp(again->spec_json, d->spec_json));
    document_write(again, &twice);
    fuzz_check(!strcmp(str_text(&once), str_text(&twice)));
    str_clear(&once);
    document_write_effective(d, &once);
    struct document *effective = document_parse(str_text(&once), once.length, d->kind, &faults);
    fuzz_check(effective && !faults.errors);
    str_clear(&twice);
    document_write_effective(effective, &twice);
    fuzz_check(!strcmp(str_text(&once), str_text(&twice)));
    faults_release(&faults);
    document_free(again);
    document_free(effective);
    str_release(&once);
    str_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct faults faults;
    if (size < 1 || size > 65536)
        return 0;
    enum document_kind kind = (enum document_kind)(data[0] % (DOCUMENT_KINDS + 1));
    char *text = malloc(size);
    fuzz_check(text);
    memcpy(text, data + 1, size - 1);
    faults_init(&faults);
    struct document *d = document_parse(text, size - 1, kind, &faults);
    fuzz_check(d ? !faults.errors : faults.errors > 0);
    for (size_t i = 0; i < faults.count; i++)
        fuzz_check(faults.items[i].text[0] && utf8_valid(faults.items[i].text, strlen(faults.items[i].text)) &&
                   utf8_valid(faults.items[i].path, strlen(faults.items[i].path)));
    if (d && d->kind == DOCUMENT_JOB)
        check_job(&d->job);
    if (d && document_metadata(d)->name[0]) /* without a name there is no file to write */
        round_trip(d);
    faults_release(&faults);
    document_free(d);
    free(text);
    return 0;
}
