/* carillon standalone: scheduler, orchestrator and interface in one process on a SQLite file. The only file that uses
 * both roofs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/crypto/crypto.h"

#include "cli/client.h"
#include "cli/config.h"
#include "cli/process.h"
#include "cli/serve.h"
#include "cli/verb.h"

/* Makes the folder and those above it. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        int failed = mkdir(path, 0700) && errno != EEXIST;
        if (slash)
            *slash = '/';
        if (failed || !slash)
            return !failed;
    }
}

/* One process a folder: the lock also proves that every earlier boot of this folder is dead. */
static enum exit_code lock_folder(struct process *process)
{
    char *folder = process->settings.data_dir, path[SETTING_TEXT + 16];
    if (!*folder)
        config_default_data(folder, sizeof process->settings.data_dir);
    if (!make_folders(folder))
        return complain(EXIT_FAILED, "cannot make the data folder %s: %s; give another with --data", folder,
                        strerror(errno));
    (void)snprintf(path, sizeof path, "%s/lock", folder);
    process->folder_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (process->folder_lock < 0)
        return complain(EXIT_FAILED, "cannot write in the data folder %s: %s; give another with --data", folder,
                        strerror(errno));
    if (flock(process->folder_lock, LOCK_EX | LOCK_NB))
        return complain(EXIT_IN_USE,
                        "the data folder %s is in use by another carillon; stop it, or give another with --data",
                        folder);
    return EXIT_OK;
}

static bool token_is_known(struct store *store, const char *token)
{
    struct store_op op;
    char hash[HASH_HEX_SIZE];
    crypto_sha256_hex(token, strlen(token), hash);
    store_op_init(&op, STORE_TOKEN_FIND);
    op.token_find.hash = hash;
    bool known = store_execute(store, &op) == STATUS_OK;
    store_op_release(&op);
    return known;
}

/* DIR/admin.token (0600): made at the first start, made anew when the store does not know it. Written before anything
 * answers. */
static enum exit_code write_admin_token(struct process *process, char token[TOKEN_TEXT_SIZE])
{
    char path[SETTING_TEXT + 16], fresh[SETTING_TEXT + 32];
    struct error err;
    (void)snprintf(path, sizeof path, "%s/admin.token", process->settings.data_dir);
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    if (access(path, R_OK) == 0 && !config_secret_file(path, token, TOKEN_TEXT_SIZE, &err) &&
        token_is_known(process->store, token))
        return EXIT_OK;
    enum exit_code code = admin_token_create(process->store, "admin", "admin.token", NULL, token);
    if (code)
        return code;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && dprintf(fd, "%s\n", token) > 0 && fsync(fd) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (!ok || rename(fresh, path))
        return complain(EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
    return EXIT_OK;
}

static enum exit_code start(struct process *process)
{
    char token[TOKEN_TEXT_SIZE] = "", url[SETTING_TEXT + 16];
    struct error err;
    if (strncmp(process->settings.coordination.url, "local:", 6))
        return complain(EXIT_CONFIG,
                        "coordination.url: a standalone coordinates by itself (local:); run `carillon scheduler` and "
                        "`carillon orchestrator` with ZooKeeper");
    if (strncmp(process->settings.store.url, "sqlite:", 7))
        return complain(EXIT_CONFIG,
                        "store.url: a standalone keeps its store in its own SQLite file; a shared MySQL needs "
                        "`carillon scheduler` and `carillon orchestrator` with ZooKeeper");
    enum exit_code code = process_base(process, "standalone");
    if (!code)
        code = lock_folder(process);
    if (!code)
        code = process_store(process);
    if (!code)
        code = write_admin_token(process, token);
    if (!code)
        code = process_scheduler(process, true);
    if (!code)
        code = process_orchestrator(process);
    if (!code)
        code = process_listen(process);
    if (code)
        return code;
    (void)snprintf(url, sizeof url, "%s://%.*s:%d", *process->settings.server.tls_cert ? "https" : "http",
                   (int)(strrchr(process->settings.server.listen, ':') - process->settings.server.listen),
                   process->settings.server.listen, http_server_port(process->http));
    if (!context_write(url, token, &err))
        sink_logf(process->log, LOG_WARN, "the command line's context was not written; use --url and --token",
                  "reason=\"%s\"", err.text);
    (void)printf("Carillon is at %s\nLog in with the token in %s/admin.token\n", url, process->settings.data_dir);
    (void)fflush(stdout);
    explicit_bzero(token, sizeof token);
    return EXIT_OK;
}

static enum exit_code standalone(const struct args *args)
{
    return serve(args, start);
}

const struct verb verb_standalone = {
    "standalone",
    "",
    "run everything in one process: scheduler, API, interface, SQLite",
    "  carillon standalone                                      127.0.0.1:8420, data in $XDG_DATA_HOME/carillon\n"
    "  carillon standalone --data ./data --listen 127.0.0.1:9000\n\n"
    "The token to log in with is in DATA/admin.token.",
    server_flags,
    false,
    0,
    0,
    standalone};
