/* Documents from outside: never a crash, a fault with a text for each refusal, and what is read is written and read
 * again alike. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
    if (!truth)
        abort();
}

/* Indices within bounds, texts where they are promised. */
static void check_job(const struct job_spec *job)
{
    must(job->step_count > 0);
    for (size_t i = 0; i < job->step_count; i++) {
        const struct step_spec *s = &job->steps[i];
        must(s->name && name_valid(s->name));
        for (size_t a = 0; a < s->after_count; a++)
            must(s->after[a].from < job->step_count && s->after[a].from != i &&
                 (s->after[a].on != EDGE_EXPRESSION || s->after[a].when));
        must(s->on_exhausted != EXHAUSTED_COMPENSATE || s->compensate < job->step_count);
        must(s->kind != STEP_HTTP || s->call.url || (s->application && s->task));
        must(call_spec_resolve(NULL, s).timeout > 0);
    }
    for (size_t i = 0; i < job->trigger_count; i++) {
        const struct trigger_spec *t = &job->triggers[i];
        must(t->name && (t->kind != TRIGGER_CRON || t->cron));
        must((t->kind != TRIGGER_EVERY && t->kind != TRIGGER_DELAY) || t->period > 0);
        must(t->kind != TRIGGER_AT || !instant_is_none(t->at));
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
    must(again && again->kind == d->kind && !faults.errors && !strcmp(again->spec_json, d->spec_json));
    document_write(again, &twice);
    must(!strcmp(str_text(&once), str_text(&twice)));
    str_clear(&once);
    document_write_effective(d, &once);
    struct document *effective = document_parse(str_text(&once), once.length, d->kind, &faults);
    must(effective && !faults.errors);
    str_clear(&twice);
    document_write_effective(effective, &twice);
    must(!strcmp(str_text(&once), str_text(&twice)));
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
    must(text);
    memcpy(text, data + 1, size - 1);
    faults_init(&faults);
    struct document *d = document_parse(text, size - 1, kind, &faults);
    must(d ? !faults.errors : faults.errors > 0);
    for (size_t i = 0; i < faults.count; i++)
        must(faults.items[i].text[0]);
    if (d && d->kind == DOCUMENT_JOB)
        check_job(&d->job);
    if (d && document_metadata(d)->name[0]) /* without a name there is no file to write */
        round_trip(d);
    faults_release(&faults);
    document_free(d);
    free(text);
    return 0;
}
