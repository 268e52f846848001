#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>

static bool wide(unsigned code)
{
    return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
           (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
           (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
           (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
}

/* Columns on the terminal of well-formed UTF-8. */
static size_t width(const char *text)
{
    size_t columns = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
        unsigned code = more == 3 ? *p & 7U : more == 2 ? *p & 15U : more == 1 ? *p & 31U : *p;
        for (p++; more && *p; more--, p++)
            code = code << 6 | (*p & 63U);
        columns += wide(code) ? 2 : 1;
    }
    return columns;
}

void table_init(struct table *table, size_t columns, const char *const *heading)
{
    *table = (struct table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        table_add(table, heading[i]);
}

void table_add(struct table *table, const char *cell)
{
    char *copy = mem_copy_text(cell && *cell ? cell : "-");
    for (char *p = copy; *p; p++) /* a cell is one line, and control characters do not reach the terminal */
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
    vec_add(&table->cells, copy);
}

void table_print(struct table *table, const char *when_empty)
{
    size_t widths[TABLE_COLUMNS] = {0}, count = table->cells.count;
    if (count <= table->columns && when_empty)
        (void)printf("%s\n", when_empty);
    for (size_t i = 0; i < count; i++) {
        size_t w = width(table->cells.items[i]);
        if (w > widths[i % table->columns])
            widths[i % table->columns] = w;
    }
    for (size_t i = 0; count > table->columns && i < count; i++) {
        const char *cell = table->cells.items[i];
        bool last = i % table->columns == table->columns - 1;
        (void)fputs(cell, stdout);
        for (size_t w = width(cell); !last && w < widths[i % table->columns] + 2; w++)
            (void)fputc(' ', stdout);
        if (last)
            (void)fputc('\n', stdout);
    }
    table_release(table);
}

void table_release(struct table *table)
{
    for (size_t i = 0; i < table->cells.count; i++)
        free(table->cells.items[i]);
    vec_release(&table->cells);
}
