#include "cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/yaml/yaml.h"
#include "core/base/jsonscan.h"

#include "cli/files.h"

#define CONFIG_FILE "/etc/carillon/carillon.yaml"
#define CONFIG_MAX ((size_t)256 << 10)

const struct flag server_flags[] = {
    {"--set", NULL, "KEY=VALUE",
     "one setting, e.g. scheduler.poll_interval=100ms; may be repeated (`carillon config` lists all)"},
    {"--config", "-c", "FILE", "YAML file with settings (default: " CONFIG_FILE " when it is there)"},
    {"--listen", NULL, "HOST:PORT", "same as --set server.listen"},
    {"--data", NULL, "FOLDER", "same as --set data_dir"},
    {0},
};

static const struct flag config_flags[] = {
    {"--json", NULL, NULL, "as JSON"},
    {"--markdown", NULL, NULL, "every setting with its default, as the page docs/reference/settings.md"},
    {"--set", NULL, "KEY=VALUE", "one setting; may be repeated"},
    {"--config", "-c", "FILE", "YAML file with settings"},
    {"--listen", NULL, "HOST:PORT", "same as --set server.listen"},
    {"--data", NULL, "FOLDER", "same as --set data_dir"},
    {0},
};

enum status config_secret_file(const char *path, char *ret, size_t size, struct error *err)
{
    char *bytes;
    size_t length;
    enum status status = file_read_whole(path, 4096, &bytes, &length, err);
    if (status)
        return status;
    length = strcspn(bytes, "\r\n");
    if (!length || length >= size)
        status = error_set(err, STATUS_INVALID, "%s holds no secret in its first line (or one of more than %zu bytes)",
                           path, size - 1);
    else
        (void)snprintf(ret, size, "%.*s", (int)length, bytes);
    explicit_bzero(bytes, strlen(bytes));
    free(bytes);
    return status;
}

/* ---- file: sections of keys
 * ------------------------------------------------------------------------------------------ */

static enum status set_section(struct settings *settings, const char *section, struct slice values, struct error *err)
{
    struct json_walk walk = json_walk_begin(values);
    struct str key, value;
    enum status status = STATUS_OK;
    str_init(&key, 256);
    str_init(&value, SETTING_TEXT);
    while (!status && json_walk_next(&walk)) {
        str_clear(&key);
        str_clear(&value);
        str_addf(&key, "%s.", section);
        json_unquote(walk.key, &key);
        if (json_type_of(walk.value) != JSON_NULL)
            json_unquote(walk.value, &value);
        status = settings_set(settings, str_text(&key), str_text(&value), err);
    }
    str_release(&key);
    str_release(&value);
    return status;
}

static enum status set_document(struct settings *settings, const struct yaml_document *document, struct error *err)
{
    struct json_walk walk = json_walk_begin(slice_of(document->json, document->length));
    struct str name, value;
    enum status status = STATUS_OK;
    if (json_type_of(slice_of(document->json, document->length)) != JSON_OBJECT)
        return error_set(err, STATUS_INVALID,
                         "settings are written as \"section:\" with \"key: value\" lines below it");
    str_init(&name, 256);
    str_init(&value, SETTING_TEXT);
    while (!status && json_walk_next(&walk)) {
        str_clear(&name);
        str_clear(&value);
        json_unquote(walk.key, &name);
        if (json_type_of(walk.value) == JSON_OBJECT) {
            status = set_section(settings, str_text(&name), walk.value, err);
        } else {
            json_unquote(walk.value, &value);
            status = settings_set(settings, str_text(&name), str_text(&value), err);
        }
    }
    str_release(&name);
    str_release(&value);
    return status;
}

static enum exit_code load_file(const char *path, struct settings *settings)
{
    struct yaml_documents documents = {0};
    struct error err;
    char *bytes;
    size_t length;
    if (file_read_whole(path, CONFIG_MAX, &bytes, &length, &err))
        return complain(EXIT_CONFIG, "%s", err.text);
    enum status status = yaml_to_json(bytes, length, &documents, &err);
    for (size_t i = 0; !status && i < documents.count; i++)
        status = set_document(settings, &documents.items[i], &err);
    yaml_documents_release(&documents);
    free(bytes);
    return status ? complain(EXIT_CONFIG, "%s: %s", path, err.text) : EXIT_OK;
}

/* ---- environment: CARILLON_SECTION_KEY
 * -------------------------------------------------------------------------------- */

static void variable_name(const char *key, char *ret, size_t size)
{
    size_t used = (size_t)snprintf(ret, size, "CARILLON_%s", key);
    for (size_t i = 0; i < used && i < size; i++)
        ret[i] = ret[i] == '.' ? '_' : ret[i] >= 'a' && ret[i] <= 'z' ? (char)(ret[i] - 32) : ret[i];
}

/* A variable that begins like a setting's section but names no setting is a typing error, not a wish to be ignored. */
static const char *unknown_variable(const struct setting *table, size_t count)
{
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        bool section = false, known = false;
        size_t length = strcspn(*entry, "=");
        for (size_t i = 0; i < count && !known; i++) {
            variable_name(table[i].key, name, sizeof name);
            known = strlen(name) == length && !strncmp(*entry, name, length);
            const char *dot = strchr(table[i].key, '.');
            size_t head = strlen("CARILLON_") + (dot ? (size_t)(dot - table[i].key) + 1 : 0);
            section = section || (dot && length > head && !strncmp(*entry, name, head));
        }
        if (section && !known)
            return *entry;
    }
    return NULL;
}

static enum exit_code load_environment(struct settings *settings)
{
    size_t count;
    const struct setting *table = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        char name[128];
        struct error err;
        variable_name(table[i].key, name, sizeof name);
        const char *value = getenv(name);
        if (value && settings_set(settings, table[i].key, value, &err))
            return complain(EXIT_CONFIG, "%s: %s", name, err.text);
    }
    const char *unknown = unknown_variable(table, count);
    if (unknown)
        return complain(EXIT_CONFIG, "the environment variable %.*s names no setting; `carillon config` lists them",
                        (int)strcspn(unknown, "="), unknown);
    return EXIT_OK;
}

/* ---- arguments
 * ------------------------------------------------------------------------------------------------------- */

/* argv is shown by `ps`: a secret must not stay there. args->flags borrows from argv, so this is argv itself. */
static void wipe_argument(const char *value)
{
    union {
        const char *shown;
        char *own;
    } argument = {.shown = value};
    memset(argument.own, '*', strlen(argument.own));
}

static bool holds_password(const char *key, size_t length, const char *value)
{
    const char *scheme = strstr(value, "://"), *at = scheme ? strchr(scheme, '@') : NULL;
    const char *colon = at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
    return colon || (length == strlen("store.password") && !strncmp(key, "store.password", length));
}

static enum exit_code load_arguments(const struct args *args, struct settings *settings)
{
    static const struct {
        const char *flag, *key;
    } brief[] = {{"--listen", "server.listen"}, {"--data", "data_dir"}};
    struct error err;
    const char *pair;
    for (size_t i = 0; (pair = args_nth(args, "--set", i)); i++) {
        const char *equals = strchr(pair, '=');
        char key[128];
        if (!equals || (size_t)(equals - pair) >= sizeof key)
            return complain(EXIT_CONFIG, "--set wants KEY=VALUE, not \"%.60s\"", pair);
        (void)snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
        if (settings_set(settings, key, equals + 1, &err))
            return complain(EXIT_CONFIG, "--set: %s", err.text);
        if (holds_password(key, strlen(key), equals + 1)) {
            (void)complain(EXIT_OK,
                           "warning: a password on the command line can be read by others; use store.password_file or "
                           "CARILLON_STORE_PASSWORD (wiped from the process list now)");
            wipe_argument(equals + 1);
        }
    }
    for (size_t i = 0; i < sizeof brief / sizeof *brief; i++) {
        const char *value = args_get(args, brief[i].flag);
        if (value && settings_set(settings, brief[i].key, value, &err))
            return complain(EXIT_CONFIG, "%s: %s", brief[i].flag, err.text);
    }
    return EXIT_OK;
}

enum exit_code config_load(const struct args *args, struct settings *ret)
{
    const char *file = args_get(args, "--config");
    struct error err;
    enum exit_code code = EXIT_OK;
    settings_defaults(ret);
    if (file || access(CONFIG_FILE, F_OK) == 0)
        code = load_file(file ? file : CONFIG_FILE, ret);
    if (!code)
        code = load_environment(ret);
    if (!code)
        code = load_arguments(args, ret);
    if (!code && *ret->store.password_file && !*ret->store.password &&
        config_secret_file(ret->store.password_file, ret->store.password, sizeof ret->store.password, &err))
        code = complain(EXIT_CONFIG, "store.password_file: %s", err.text);
    if (!code && *ret->dispatch.tls_ca && access(ret->dispatch.tls_ca, R_OK) != 0) /* or no https call would go out */
        code = complain(EXIT_CONFIG, "dispatch.tls_ca: cannot read %s: %s", ret->dispatch.tls_ca, strerror(errno));
    if (!code && settings_check(ret, &err))
        code = complain(EXIT_CONFIG, "%s", err.text);
    return code;
}

void config_default_data(char *ret, size_t size)
{
    const char *base = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (base && *base)
        (void)snprintf(ret, size, "%s/carillon", base);
    else
        (void)snprintf(ret, size, "%s/.local/share/carillon", home && *home ? home : "/root");
}

void config_store_url(const struct settings *settings, char *ret, size_t size)
{
    if (!strcmp(settings->store.url, "sqlite:"))
        (void)snprintf(ret, size, "sqlite:%s/carillon.db", settings->data_dir);
    else
        (void)snprintf(ret, size, "%s", settings->store.url);
}

/* ---- verb
 * ------------------------------------------------------------------------------------------------------------ */

static void print_json(const struct settings *settings, const struct setting *table, size_t count)
{
    struct str value, out;
    str_init(&value, 4096);
    str_init(&out, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        str_clear(&value);
        settings_show(settings, &table[i], &value);
        str_addf(&out, "%s\"%s\":", i ? "," : "", table[i].key);
        str_add_json(&out, str_text(&value));
    }
    (void)printf("{%s}\n", str_text(&out));
    str_release(&value);
    str_release(&out);
}

static void print_text(const struct settings *settings, const struct setting *table, size_t count)
{
    struct str value;
    str_init(&value, 4096);
    for (size_t i = 0; i < count; i++) {
        str_clear(&value);
        settings_show(settings, &table[i], &value);
        (void)printf("%-32s %-24s %s\n", table[i].key, value.length ? str_text(&value) : "-", table[i].help);
    }
    str_release(&value);
}

/* The reference page is this text, so that it cannot differ from the table. */
static void print_markdown(const struct setting *table, size_t count)
{
    (void)printf(
        "# Settings\n\nPrinted by `carillon config --markdown`; a test compares. Order: defaults, file, environment, `--set`. The environment\n"
        "variable of `scheduler.poll_interval` is `CARILLON_SCHEDULER_POLL_INTERVAL`, and so on.\n\n"
        "| setting | default | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        (void)printf("| `%s` | %s%s%s | %s |\n", table[i].key, *table[i].fallback ? "`" : "", table[i].fallback,
                     *table[i].fallback ? "`" : "", table[i].help);
}

static enum exit_code config(const struct args *args)
{
    struct settings settings;
    size_t count;
    const struct setting *table = settings_table(&count);
    if (args_get(args, "--markdown")) {
        print_markdown(table, count);
        return EXIT_OK;
    }
    enum exit_code code = config_load(args, &settings);
    if (code)
        return code;
    if (args_get(args, "--json"))
        print_json(&settings, table, count);
    else
        print_text(&settings, table, count);
    return EXIT_OK;
}

const struct verb verb_config = {"config",
                                 "",
                                 "print the effective settings, secrets masked",
                                 "  carillon config --set scheduler.poll_interval=100ms\n\n"
                                 "Order: defaults, file, environment (CARILLON_SCHEDULER_POLL_INTERVAL), --set.",
                                 config_flags,
                                 false,
                                 0,
                                 0,
                                 config};
