/* `carillon admin tokens`, `carillon admin revoke-token`: on the store itself, so they serve when no API answers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/civil.h"
#include "core/base/ids.h"

#include "cli/serve.h"
#include "cli/table.h"

#define PAGE 500

static const char *time_cell(instant at, const char *never, char text[RFC3339_SIZE])
{
    return instant_is_none(at) ? never : rfc3339_format(at, text);
}

static void add_row(struct table *table, const struct token_row *row)
{
    char id[24], made[RFC3339_SIZE], ends[RFC3339_SIZE], used[RFC3339_SIZE], gone[RFC3339_SIZE + 16];
    (void)snprintf(id, sizeof id, "%" PRId64, row->id);
    table_add(table, id);
    table_add(table, row->name);
    table_add(table, row->role);
    table_add(table, row->project ? row->project : "all");
    table_add(table, time_cell(row->created_at, "", made));
    table_add(table, time_cell(row->expires_at, "never", ends));
    table_add(table, time_cell(row->last_used_at, "never", used));
    table_add(table, time_cell(row->revoked_at, "", gone));
}

enum exit_code admin_tokens_list(struct store *store, const char *project)
{
    static const char *const heading[] = {"ID", "NAME", "ROLE", "PROJECT", "MADE", "EXPIRES", "USED", "REVOKED"};
    struct table table;
    struct store_op op;
    enum exit_code code = EXIT_OK;
    int64_t skip = 0, total = 1;
    table_init(&table, 8, heading);
    while (!code && skip < total) {
        store_op_init(&op, STORE_TOKENS);
        op.tokens = (struct store_tokens){.project = project, .skip = skip, .limit = PAGE};
        enum status status = store_execute(store, &op);
        if (status)
            code = complain(exit_code_of_status(status), "store: %s", op.error.text);
        for (size_t i = 0; !status && i < op.tokens.count; i++)
            add_row(&table, &op.tokens.rows[i]);
        total = op.tokens.count ? op.tokens.total : 0;
        skip += PAGE;
        store_op_release(&op);
    }
    table_print(&table, "no token was ever made; `carillon admin create-token` makes one");
    return code;
}

enum exit_code admin_token_revoke(struct store *store, const char *word)
{
    struct store_op op;
    int64_t id;
    if (!id_parse(word, &id))
        return complain(EXIT_BAD_INPUT, "\"%.40s\" is no id of a token; `carillon admin tokens` lists them", word);
    store_op_init(&op, STORE_TOKEN_END);
    op.token_end = (struct store_token_end){.id = id, .author = "command line"};
    enum status status = store_execute(store, &op);
    enum exit_code code = EXIT_OK;
    if (status == STATUS_NOT_FOUND)
        code = complain(EXIT_NOT_FOUND, "%s", op.error.text);
    else if (status)
        code = complain(exit_code_of_status(status), "store: %s", op.error.text);
    else
        (void)printf("token %s %s; servers follow within 5 seconds\n", word,
                     op.token_end.unchanged ? "was taken back before" : "is taken back");
    store_op_release(&op);
    return code;
}
