/* A verb of the command line: `carillon VERB …`. The whole list is one table in cli/main.c. */
#ifndef CARILLON_CLI_VERB_H
#define CARILLON_CLI_VERB_H

#include "cli/args.h"
#include "cli/exit_codes.h"

struct verb {
    const char *name;
    const char *words;   /* "PROJECT/JOB", "" = none */
    const char *summary; /* one line */
    const char *teach;   /* examples and what they mean; NULL = none */
    const struct flag *flags;
    bool client; /* talks to an orchestrator: --url, --token, --project, --json come with it */
    size_t min_words, max_words;
    enum exit_code (*run)(const struct args *args);
};

extern const struct flag client_flags[], no_flags[], server_flags[];

extern const struct verb verb_standalone, verb_scheduler, verb_orchestrator, verb_admin, verb_config, verb_version,
    verb_completion;
extern const struct verb verb_cron, verb_render, verb_lint, verb_login;
extern const struct verb verb_apply, verb_diff, verb_export, verb_delete;
extern const struct verb verb_projects, verb_apps, verb_tasks, verb_calendars, verb_jobs, verb_job, verb_triggers,
    verb_schedulers, verb_leases;
extern const struct verb verb_run, verb_enqueue, verb_cancel, verb_pause, verb_resume;
extern const struct verb verb_application_key, verb_logs, verb_check_endpoint, verb_import;
extern const struct verb verb_runs, verb_attempts, verb_explain, verb_ledger;

/* All verbs, NULL-terminated. */
extern const struct verb *const verbs[];

/* "carillon: …" on stderr; returns `code`. */
enum exit_code complain(enum exit_code code, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
