/* The frame of the server verbs, and what they share with `admin`. */
#ifndef CARILLON_CLI_SERVE_H
#define CARILLON_CLI_SERVE_H

#include "cli/process.h"
#include "cli/verb.h"

/* Loads the settings, lets `start` build the process, runs it, takes it down; begins again as a new boot when it was
 * fenced. */
enum exit_code serve(const struct args *args, enum exit_code (*start)(struct process *process));

/* A new token in the store; its text goes to `ret_token` and nowhere else. project NULL = all. */
enum exit_code admin_token_create(struct store *store, const char *role, const char *name, const char *project,
                                  char *ret_token);

/* cli/admin_tokens.c: prints all tokens (of one project); takes the one with this id back. */
enum exit_code admin_tokens_list(struct store *store, const char *project);
enum exit_code admin_token_revoke(struct store *store, const char *word);

#endif
