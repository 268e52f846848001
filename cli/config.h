/* Settings of a server process: defaults < file < environment < --set and the short flags. Complains (exit 78) by
 * itself. */
#ifndef CARILLON_CLI_CONFIG_H
#define CARILLON_CLI_CONFIG_H

#include "core/model/settings.h"

#include "cli/verb.h"

/* File: --config, else /etc/carillon/carillon.yaml when it is there. Passwords in argv are wiped from the process list.
 */
enum exit_code config_load(const struct args *args, struct settings *ret);

/* The store's URL with `sqlite:` made into the file in the data folder; the coordination's auth file and the like are
 * read by whoever needs them. */
void config_store_url(const struct settings *settings, char *ret, size_t size);
/* $XDG_DATA_HOME/carillon, else ~/.local/share/carillon. */
void config_default_data(char *ret, size_t size);
/* First line of a secret file, without its end. STATUS_* with a text. */
enum status config_secret_file(const char *path, char *ret, size_t size, struct error *err) MUST_USE;

#endif
