/* Tables for people: columns as wide as their widest cell, wide characters counted as two. */
#ifndef CARILLON_CLI_TABLE_H
#define CARILLON_CLI_TABLE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"

#define TABLE_COLUMNS 10

struct table {
    size_t columns;
    VEC(char *) cells; /* row by row, the heading first */
};

void table_init(struct table *table, size_t columns, const char *const *heading);
void table_add(struct table *table, const char *cell);         /* next cell; NULL and "" are shown as "-" */
void table_print(struct table *table, const char *when_empty); /* prints and releases */
void table_release(struct table *table);                       /* one that is not printed */

#endif
