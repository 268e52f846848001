/* What embed/embed.cmake writes and assets.c searches. Not for others. */
#ifndef CARILLON_UI_ASSETS_TABLE_H
#define CARILLON_UI_ASSETS_TABLE_H

#include "ui/assets.h"

struct ui_asset_forms {
    struct ui_asset plain;
    struct ui_asset packed; /* bytes NULL: no compressed form (pictures, tiny files) */
};

extern const struct ui_asset_forms ui_asset_table[]; /* sorted by path, as strcmp orders */
extern const size_t ui_asset_table_size;

#endif
