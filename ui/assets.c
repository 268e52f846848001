#include "ui/assets.h"

#include <string.h>

#include "ui/assets_table.h"

static const struct ui_asset_forms *table_find(const char *path)
{
    size_t low = 0;
    size_t high = ui_asset_table_size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, ui_asset_table[middle].plain.path);
        if (order == 0)
            return &ui_asset_table[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Is path equal to folder or below it? "/apiary" is not below "/api". */
static bool path_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static const struct ui_asset_forms *forms_find(const char *path)
{
    const struct ui_asset_forms *found = table_find(path);
    if (found || path_below(path, "/assets") || path_below(path, "/api"))
        return found;
    return table_find("/index.html");
}

const struct ui_asset *ui_asset_find_encoded(const char *path, bool accepts_gzip)
{
    const struct ui_asset_forms *forms = forms_find(path);
    if (!forms)
        return NULL;
    return accepts_gzip && forms->packed.bytes ? &forms->packed : &forms->plain;
}

const struct ui_asset *ui_asset_find(const char *path)
{
    return ui_asset_find_encoded(path, false);
}
