/* Definition files: YAML or JSON, one or several documents each; a folder means every .yaml, .yml and .json in it, in
 * order of name. */
#ifndef CARILLON_CLI_FILES_H
#define CARILLON_CLI_FILES_H

#include "core/base/error.h"
#include "core/base/vec.h"

struct file_document {
    char *origin; /* "shop/jobs.yaml:12" */
    char *json;
};

struct file_documents {
    VEC(struct file_document) list;
    size_t faults; /* files that could not be read or parsed: already complained about */
};

/* "-" = standard input. Faults are complained about with file, line and remedy. */
void files_read(const char *path, struct file_documents *ret);
void files_release(struct file_documents *documents);

/* Whole file; NUL added. STATUS_NOT_FOUND, TOO_BIG (limit bytes), UNAVAILABLE with a text. */
enum status file_read_whole(const char *path, size_t limit, char **ret, size_t *ret_length, struct error *err) MUST_USE;

#endif
