/* The key of an application, for its executors. */
#include <stdio.h>

#include "cli/client.h"

static enum exit_code run(const struct args *args)
{
    struct client client;
    struct full_name name;
    struct answer_body answer;
    struct str path;
    enum exit_code code;
    if (!client_open(args, &client, &code))
        return code;
    if (!full_name_split(&client, args->words[0], &name))
        return EXIT_BAD_INPUT;
    str_init(&path, 1024);
    client_path(&path, "/projects/%s/apps/%s/key", name.project, name.name);
    client_call(&client, "GET", str_text(&path), NULL, false, &answer);
    code = answer.code;
    if (code == EXIT_OK && client.json)
        print_raw(&answer);
    else if (code == EXIT_OK)
        (void)printf("%s\n", text_of(answer.json, "key"));
    answer_release(&answer);
    str_release(&path);
    return code;
}

const struct verb verb_application_key = {
    .name = "application-key",
    .words = "[PROJECT/]APPLICATION",
    .summary = "print the key with which calls to an application are signed",
    .teach = "Its executors check signatures with it, and sign with it when they announce themselves. Needs the role\n"
             "admin. Whoever has the key can speak as the application: hand it over by a file or the environment.\n\n"
             "  carillon application-key shop/ledger",
    .flags = no_flags,
    .client = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
