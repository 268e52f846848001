/* scheduler, orchestrator, admin: the server verbs of a cluster. */
#include "cli/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/crypto/crypto.h"
#include "core/model/job.h"

#include "cli/config.h"

enum exit_code serve(const struct args *args, enum exit_code (*start)(struct process *process))
{
    struct process *process = calloc(1, sizeof *process);
    enum exit_code code;
    bool again;
    if (!process)
        return complain(EXIT_FAILED, "out of memory");
    code = config_load(args, &process->settings);
    do {
        struct settings settings = process->settings;
        if (!code)
            code = start(process);
        if (!code)
            code = process_run(process);
        again = !code && process->restart;
        process_end(process);
        *process = (struct process){.settings = settings};
    } while (again);
    explicit_bzero(&process->settings, sizeof process->settings);
    free(process);
    return code;
}

enum exit_code admin_token_create(struct store *store, const char *role, const char *name, const char *project,
                                  char *ret_token)
{
    struct store_op op;
    char hash[HASH_HEX_SIZE];
    crypto_token(ret_token);
    crypto_sha256_hex(ret_token, strlen(ret_token), hash);
    store_op_init(&op, STORE_TOKEN_ADD);
    op.token_add.row = (struct token_row){.name = name,
                                          .role = role,
                                          .project = project,
                                          .hash = hash,
                                          .expires_at = INSTANT_NONE,
                                          .created_at = INSTANT_NONE,
                                          .last_used_at = INSTANT_NONE};
    op.token_add.author = "command line";
    enum status status = store_execute(store, &op);
    enum exit_code code = status ? complain(exit_code_of_status(status), "store: %s", op.error.text) : EXIT_OK;
    store_op_release(&op);
    return code;
}

static bool is_cluster(const struct settings *settings, const char *role)
{
    if (!strncmp(settings->store.url, "mysql://", 8) && !strncmp(settings->coordination.url, "zk://", 5))
        return true;
    (void)complain(
        EXIT_CONFIG,
        "%s: set store.url to mysql://user@host:port/database and coordination.url to zk://host:port/chroot; "
        "for one machine without them there is `carillon standalone`",
        role);
    return false;
}

static enum exit_code start_scheduler(struct process *process)
{
    if (!is_cluster(&process->settings, "scheduler"))
        return EXIT_CONFIG;
    enum exit_code code = process_base(process, "scheduler");
    if (!code)
        code = process_store(process);
    if (!code)
        code = process_scheduler(process, false);
    if (!code)
        code = process_listen(process);
    if (!code)
        sink_logf(process->log, LOG_INFO, "scheduler started", "node=%s listen=%s", process->node,
                  process->settings.server.listen);
    return code;
}

static enum exit_code start_orchestrator(struct process *process)
{
    if (!is_cluster(&process->settings, "orchestrator"))
        return EXIT_CONFIG;
    enum exit_code code = process_base(process, "orchestrator");
    if (!code)
        code = process_store(process);
    if (!code)
        code = process_orchestrator(process);
    if (!code)
        code = process_listen(process);
    if (!code)
        sink_logf(process->log, LOG_INFO, "orchestrator started", "node=%s listen=%s", process->node,
                  process->settings.server.listen);
    return code;
}

static enum exit_code scheduler(const struct args *args)
{
    return serve(args, start_scheduler);
}

static enum exit_code orchestrator(const struct args *args)
{
    return serve(args, start_orchestrator);
}

#define CLUSTER_EXAMPLE \
    " --set store.url=mysql://carillon@db:3306/carillon \\\n      --set coordination.url=zk://zk1:2181,zk2:2181,zk3:2181/carillon "

const struct verb verb_scheduler = {"scheduler",
                                    "",
                                    "run a scheduler node (ZooKeeper and MySQL)",
                                    "  carillon scheduler" CLUSTER_EXAMPLE "--set scheduler.node_id=s1\n\n"
                                    "The store's password comes from CARILLON_STORE_PASSWORD or store.password_file.",
                                    server_flags,
                                    false,
                                    0,
                                    0,
                                    scheduler};
const struct verb verb_orchestrator = {"orchestrator",
                                       "",
                                       "run the API and the interface of a cluster; as many as wanted",
                                       "  carillon orchestrator" CLUSTER_EXAMPLE "--listen 0.0.0.0:8420",
                                       server_flags,
                                       false,
                                       0,
                                       0,
                                       orchestrator};

/* ---- admin
 * ------------------------------------------------------------------------------------------------------------- */

static const struct flag admin_flags[] = {
    {"--role", NULL, "ROLE", "viewer, operator, developer or admin (default viewer)"},
    {"--name", NULL, "NAME", "what the token is for (default: the role)"},
    {"--project", "-p", "NAME", "only this project (default: all)"},
    {"--set", NULL, "KEY=VALUE", "one setting, e.g. store.url=…; may be repeated"},
    {"--config", "-c", "FILE", "YAML file with settings"},
    {"--data", NULL, "FOLDER", "of a standalone"},
    {"--listen", NULL, "HOST:PORT", "not used here; accepted so that the same options serve all"},
    {0},
};

static bool role_known(const char *role)
{
    static const char *const roles[] = {"viewer", "operator", "developer", "admin"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!strcmp(role, roles[i]))
            return true;
    (void)complain(EXIT_BAD_INPUT, "--role is viewer, operator, developer or admin, not \"%.40s\"", role);
    return false;
}

static bool project_allowed(const char *project)
{
    if (!project || name_valid(project))
        return true;
    (void)complain(EXIT_BAD_INPUT, "\"%.60s\" is no name of a project", project);
    return false;
}

static enum exit_code create_token(const struct args *args, const char *role, struct process *process)
{
    const char *name = args_get(args, "--name") ? args_get(args, "--name") : role;
    char token[TOKEN_TEXT_SIZE];
    enum exit_code code = admin_token_create(process->store, role, name, args_get(args, "--project"), token);
    if (!code)
        (void)printf("%s\n", token);
    explicit_bzero(token, sizeof token);
    return code;
}

static enum exit_code list_tokens(const struct args *args, const char *role, struct process *process)
{
    (void)role;
    return admin_tokens_list(process->store, args_get(args, "--project"));
}

static enum exit_code revoke_token(const struct args *args, const char *role, struct process *process)
{
    (void)role;
    return admin_token_revoke(process->store, args->words[1]);
}

/* Which service shall coordinate this store is the operator's decision, not ours. */
static enum exit_code adopt_coordination(const struct args *args, const char *role, struct process *process)
{
    (void)args;
    (void)role;
    const struct settings *settings = &process->settings;
    char auth[SETTING_TEXT] = "";
    struct error err;
    if (strncmp(settings->coordination.url, "zk://", 5) != 0)
        return complain(EXIT_CONFIG, "coordination.url: only a ZooKeeper (zk://host:port/chroot) is adopted");
    if (*settings->coordination.auth_file &&
        config_secret_file(settings->coordination.auth_file, auth, sizeof auth, &err))
        return complain(EXIT_CONFIG, "coordination.auth_file: %s", err.text);
    struct coordination_zookeeper_options options = {.url = settings->coordination.url,
                                                     .cluster_id = process->cluster.id,
                                                     .session_timeout = settings->coordination.session_timeout,
                                                     .auth = auth};
    struct store_op op; /* first: an epoch of the new service must be above every one of the old */
    store_op_init(&op, STORE_CLUSTER);
    op.cluster.next_generation = true;
    enum status status = store_execute(process->store, &op);
    if (status)
        (void)error_set(&err, status, "store: %s", op.error.text);
    store_op_release(&op);
    if (!status)
        status = coordination_zookeeper_adopt(&options, &err);
    explicit_bzero(auth, sizeof auth);
    if (status)
        return complain(exit_code_of_status(status), "%s", err.text);
    (void)printf("%s coordinates cluster %s from now on; start the schedulers again\n", settings->coordination.url,
                 process->cluster.id);
    return EXIT_OK;
}

static enum exit_code admin(const struct args *args)
{
    static const struct {
        const char *word;
        enum exit_code (*run)(const struct args *args, const char *role, struct process *process);
        size_t words; /* behind it */
    } commands[] = {{"create-token", create_token, 0},
                    {"tokens", list_tokens, 0},
                    {"revoke-token", revoke_token, 1},
                    {"adopt-coordination", adopt_coordination, 0}};
    const char *role = args_get(args, "--role") ? args_get(args, "--role") : "viewer";
    size_t command = 0, count = sizeof commands / sizeof *commands;
    while (command < count && strcmp(args->words[0], commands[command].word) != 0)
        command++;
    if (command == count)
        return complain(
            EXIT_BAD_INPUT,
            "`carillon admin` knows create-token, tokens, revoke-token and adopt-coordination, not \"%.40s\"",
            args->words[0]);
    if (args->word_count != 1 + commands[command].words)
        return complain(EXIT_BAD_INPUT, "usage: carillon admin %s%s", args->words[0],
                        commands[command].words ? " ID" : "");
    if (!role_known(role) || !project_allowed(args_get(args, "--project")))
        return EXIT_BAD_INPUT;
    struct process *process = calloc(1, sizeof *process);
    if (!process)
        return complain(EXIT_FAILED, "out of memory");
    enum exit_code code = config_load(args, &process->settings);
    if (!code && !*process->settings.data_dir)
        config_default_data(process->settings.data_dir, sizeof process->settings.data_dir);
    if (!code) {
        crypto_start();
        code = process_store(process);
        if (code == EXIT_UNREACHABLE && !args_get(args, "--data") &&
            !strncmp(process->settings.store.url, "sqlite:", 7))
            (void)complain(
                code, "the folder of a standalone is named by --data, the store of a cluster by --set store.url=…");
    }
    if (!code)
        code = commands[command].run(args, role, process);
    if (process->store)
        process->store->ops->close(process->store);
    explicit_bzero(process, sizeof *process);
    free(process);
    return code;
}

const struct verb verb_admin = {
    "admin",
    "create-token|tokens|revoke-token|adopt-coordination …",
    "make an API token (printed once, kept only as a hash), list them, take one back; or let another ZooKeeper serve this store",
    "  carillon admin create-token --data ./data --role operator\n"
    "  carillon admin create-token --set store.url=mysql://carillon@db:3306/carillon --role admin\n"
    "  carillon admin tokens                     on the store itself: serves while no API answers\n"
    "  carillon admin revoke-token 7\n"
    "  carillon admin adopt-coordination --set store.url=… --set coordination.url=zk://…   every scheduler is stopped",
    admin_flags,
    false,
    1,
    2,
    admin};
