/* What tests of documents share. */
#ifndef CARILLON_TESTS_UNIT_MODEL_DOCUMENT_SUPPORT_H
#define CARILLON_TESTS_UNIT_MODEL_DOCUMENT_SUPPORT_H

/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/model/document.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static inline struct document *parse(const char *json, enum document_kind kind, struct faults *faults)
{
    faults_init(faults);
    return document_parse(json, strlen(json), kind, faults);
}

/* With every default written out it must give the same model: the same text when that is done again. */
static inline void check_effective(const struct document *d)
{
    struct faults faults;
    struct str once, twice;
    str_init(&once, LIMIT_DOCUMENT);
    str_init(&twice, LIMIT_DOCUMENT);
    document_write_effective(d, &once);
    struct document *again = parse(str_text(&once), DOCUMENT_KINDS, &faults);
    for (size_t i = 0; i < faults.count; i++)
        print_error("effective %s: %s\n", faults.items[i].path, faults.items[i].text);
    assert_non_null(again);
    document_write_effective(again, &twice);
    assert_string_equal(str_text(&once), str_text(&twice));
    document_free(again);
    faults_release(&faults);
    str_release(&once);
    str_release(&twice);
}

/* Parses what must be right. */
static inline struct document *good(const char *json, enum document_kind kind)
{
    struct faults faults;
    struct document *d = parse(json, kind, &faults);
    for (size_t i = 0; i < faults.count; i++)
        print_error("%s: %s\n", faults.items[i].path, faults.items[i].text);
    assert_int_equal(faults.errors, 0);
    assert_non_null(d);
    faults_release(&faults);
    if (document_metadata(d)->name[0])
        check_effective(d);
    return d;
}

static inline struct document *good_job(const char *spec)
{
    char json[8192];
    (void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"j\"},\"spec\":%s}", spec);
    return good(json, DOCUMENT_JOB);
}

#define GRAPH "\"graph\":[{\"step\":\"a\",\"url\":\"http://h/x\"}]"

#endif
