/* Settings: one table describes each (name, type, default, unit, reloadable, help); file < environment < --set.
 * Pure: the caller hands over texts. An unknown name or an illegal value is an error that names key and value (exit
 * 78). */
#ifndef CARILLON_CORE_MODEL_SETTINGS_H
#define CARILLON_CORE_MODEL_SETTINGS_H

#include "core/base/error.h"
#include "core/base/instant.h"
#include "core/base/str.h"

#define SETTING_TEXT 512

struct settings {
    char data_dir[SETTING_TEXT]; /* standalone --data */
    struct {
        char node_id[SETTING_TEXT];  /* <= 24 characters */
        span poll_interval;          /* 250ms */
        int64_t max_concurrent_runs; /* 10000 */
        span misfire_threshold;      /* 60s */
        int64_t capacity;            /* 0 = unlimited */
        int64_t alarm_at;            /* percent, 80 */
        span shutdown_grace;         /* 10m */
        char pool[SETTING_TEXT];
        int64_t weight; /* 1 */
    } scheduler;
    struct {
        char url[SETTING_TEXT];       /* "local:" or zk://host:port[,host:port]/chroot */
        span session_timeout;         /* 6s */
        int64_t claim_slots;          /* 1024 */
        span lease_ttl;               /* 30s */
        span node_timeout;            /* 90s */
        int64_t moves_per_second;     /* of slots, for balance; 50 */
        char auth_file[SETTING_TEXT]; /* "user:password" of digest ACLs */
    } coordination;
    struct {
        char url[SETTING_TEXT]; /* "sqlite:" (in the data folder), sqlite:/path, mysql://user@host:port/database */
        char password_file[SETTING_TEXT];
        char password[SETTING_TEXT]; /* from CARILLON_STORE_PASSWORD or the file; masked wherever it is shown */
        int64_t max_size;            /* bytes; 10 GiB */
        int64_t readers;             /* connections for reads, 2 */
        char tls_ca[SETTING_TEXT];
    } store;
    struct {
        span runs, bodies, skips, audit, interval; /* 30d 7d 90d 400d 60s */
    } retention;
    struct {
        int64_t max_in_flight;                       /* 4096 */
        int64_t max_per_instance;                    /* 64 */
        int64_t max_per_application;                 /* 1000 */
        int64_t max_rate_per_host;                   /* calls a second, 0 = no limit */
        int64_t max_response;                        /* bytes, 4 MiB */
        span timeout, connect_timeout, wait_timeout; /* 1h 5s 10m */
        char allow[SETTING_TEXT];                    /* comma-separated CIDRs and host:port */
        char deny[SETTING_TEXT];
        char tls_ca[SETTING_TEXT];
    } dispatch;
    struct {
        char listen[SETTING_TEXT]; /* 127.0.0.1:8420 */
        char public_url[SETTING_TEXT];
        char tls_cert[SETTING_TEXT], tls_key[SETTING_TEXT];
        int64_t threads; /* pool for requests, 4 */
        int64_t rate;    /* requests a second and token, 0 = no limit */
    } server;
    struct {
        char level[SETTING_TEXT];  /* error warn info debug */
        char format[SETTING_TEXT]; /* text json */
    } log;
};

enum setting_type { SETTING_STRING, SETTING_SPAN, SETTING_INT, SETTING_SIZE, SETTING_PERCENT, SETTING_CHOICE };

struct setting {
    const char *key; /* "scheduler.poll_interval" */
    enum setting_type type;
    size_t offset; /* in struct settings */
    const char *fallback;
    const char *choices; /* SETTING_CHOICE: "a|b" */
    int64_t low, high;   /* numbers and spans, both ends allowed */
    bool reloadable, secret;
    const char *help;
};

const struct setting *settings_table(size_t *ret_count);
void settings_defaults(struct settings *settings);
enum status settings_set(struct settings *settings, const char *key, const char *value, struct error *err) MUST_USE;
/* Rules between settings (after everything is set). */
enum status settings_check(const struct settings *settings, struct error *err) MUST_USE;
/* Effective value as text; secrets come as "***". */
void settings_show(const struct settings *settings, const struct setting *setting, struct str *ret);

#endif
