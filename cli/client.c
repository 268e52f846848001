#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#define ANSWER_MAX ((size_t)64 << 20)

/* ---- context ------------------------------------------------------------------------------------------------------
 */

static bool context_path(char *ret, size_t size, bool make_folder)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = base && *base ? snprintf(ret, size, "%s/carillon", base)
                               : snprintf(ret, size, "%s/.config/carillon", home && *home ? home : "/root");
    if (length < 0 || (size_t)length + 16 > size)
        return false;
    if (make_folder) { /* both levels; the file itself tells when this did not work */
        char *last = strrchr(ret, '/');
        *last = '\0';
        (void)mkdir(ret, 0700);
        *last = '/';
        (void)mkdir(ret, 0700);
    }
    (void)snprintf(ret + length, size - (size_t)length, "/context");
    return true;
}

static bool refuse(struct error *err, const char *reason)
{
    (void)error_set(err, STATUS_UNAVAILABLE, "cannot write the context file: %s", reason);
    return false;
}

bool context_write(const char *url, const char *token, struct error *err)
{
    char path[600], fresh[640];
    if (!context_path(path, sizeof path, true))
        return refuse(err, "its path is too long");
    (void)snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return refuse(err, strerror(errno));
    bool ok = dprintf(fd, "%s\n%s\n", url, token) > 0;
    ok = close(fd) == 0 && ok && rename(fresh, path) == 0;
    if (!ok)
        return refuse(err, strerror(errno));
    return true;
}

static void context_read(char *url, size_t url_size, char *token, size_t token_size)
{
    char path[600], line[512];
    FILE *file = context_path(path, sizeof path, false) ? fopen(path, "re") : NULL;
    if (!file)
        return;
    for (int i = 0; i < 2 && fgets(line, sizeof line, file); i++) {
        line[strcspn(line, "\n")] = '\0';
        char *to = i ? token : url;
        size_t room = i ? token_size : url_size;
        if (!*to && strlen(line) < room)
            memcpy(to, line, strlen(line) + 1);
    }
    (void)fclose(file);
}

static void take(char *to, size_t size, const char *flag, const char *variable)
{
    const char *value = flag ? flag : getenv(variable);
    (void)snprintf(to, size, "%s", value ? value : "");
}

/* Both go into lines of HTTP: a line end in them would make two. */
static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static bool address_allowed(const struct client *client)
{
    const char *scheme = strstr(client->url, "://");
    if (!is_printable(client->url) || !is_printable(client->token))
        (void)complain(EXIT_BAD_INPUT, "the URL and the token may not hold control characters");
    else if (scheme && strncmp(client->url, "http://", 7) != 0 && strncmp(client->url, "https://", 8) != 0)
        (void)complain(EXIT_BAD_INPUT, "the URL of the API begins with http:// or https://, not as \"%.60s\"",
                       client->url);
    else
        return true;
    return false;
}

bool client_open(const struct args *args, struct client *ret, enum exit_code *ret_code)
{
    const char *project = args_get(args, "--project");
    *ret = (struct client){.json = args_get(args, "--json") != NULL};
    take(ret->url, sizeof ret->url, args_get(args, "--url"), "CARILLON_URL");
    take(ret->token, sizeof ret->token, args_get(args, "--token"), "CARILLON_TOKEN");
    context_read(ret->url, sizeof ret->url, ret->token, sizeof ret->token);
    if (!*ret->url)
        (void)snprintf(ret->url, sizeof ret->url, "http://127.0.0.1:8420");
    if (!*ret->token) {
        *ret_code =
            complain(EXIT_CONFIG,
                     "no API token: run `carillon login URL < DATA/admin.token`, set CARILLON_TOKEN, or give --token");
        return false;
    }
    if (!address_allowed(ret)) {
        *ret_code = EXIT_BAD_INPUT;
        return false;
    }
    for (size_t length = strlen(ret->url); length && ret->url[length - 1] == '/'; length--)
        ret->url[length - 1] = '\0';
    (void)snprintf(ret->project, sizeof ret->project, "%s", project ? project : "default");
    return true;
}

/* ---- requests -----------------------------------------------------------------------------------------------------
 */

static size_t collect(char *bytes, size_t size, size_t count, void *to)
{
    struct str *text = to;
    str_add_bytes(text, bytes, size * count);
    return text->failed ? 0 : size * count;
}

/* "documents[3].spec.graph" of a set becomes "shop/jobs.yaml:12: spec.graph". */
static void print_detail(const struct client *client, const cJSON *detail)
{
    const char *path = text_of(detail, "path"), *origin = NULL;
    if (client->origin && !strncmp(path, "documents[", 10)) {
        char *end;
        unsigned long index = strtoul(path + 10, &end, 10);
        origin = client->origin(client->origin_context, index);
        if (origin)
            path = end + strspn(end, "].");
    }
    (void)fprintf(stderr, "  %s%s%s%s%s\n", origin ? origin : "", origin ? ": " : "", path, *path ? ": " : "",
                  text_of(detail, "message"));
}

static void complain_api(const struct client *client, const struct answer_body *answer)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer->json, "error");
    if (!error) {
        (void)complain(EXIT_FAILED, "the server answered %d: %.300s", answer->status, str_text(&answer->text));
        return;
    }
    (void)complain(EXIT_FAILED, "%s (%s)", text_of(error, "message"), text_of(error, "code"));
    const cJSON *detail;
    cJSON_ArrayForEach(detail, cJSON_GetObjectItemCaseSensitive(error, "details"))
        print_detail(client, detail);
}

void client_call(struct client *client, const char *method, const char *path, const char *body, bool quiet,
                 struct answer_body *ret)
{
    char url[4096], authorization[320], reason[CURL_ERROR_SIZE] = "";
    *ret = (struct answer_body){.code = EXIT_UNREACHABLE};
    str_init(&ret->text, ANSWER_MAX);
    CURL *curl = curl_easy_init();
    (void)snprintf(url, sizeof url, "%s/api/v1%s", client->url, path);
    (void)snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", client->token);
    struct curl_slist *headers = curl_slist_append(NULL, authorization);
    headers = curl_slist_append(headers, "Content-Type: application/json; charset=utf-8");
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 660L); /* a waiting run answers after 10 minutes at the latest */
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &ret->text);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
    }
    CURLcode result = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (result != CURLE_OK) {
        (void)complain(EXIT_UNREACHABLE,
                       "cannot reach %s: %s; is `carillon standalone` (or an orchestrator) running there?", client->url,
                       *reason ? reason : curl_easy_strerror(result));
        return;
    }
    ret->status = (int)status;
    ret->json = cJSON_ParseWithLength(str_text(&ret->text), ret->text.length);
    ret->code = exit_code_of_http(ret->status);
    if (!ret->code && ret->text.length && !ret->json) { /* somebody else's web server */
        ret->status = 0;
        ret->code = complain(EXIT_UNREACHABLE, "%s answers, but not as Carillon does: is the URL right?", client->url);
        return;
    }
    if (ret->code && !quiet)
        complain_api(client, ret);
}

void answer_release(struct answer_body *answer)
{
    cJSON_Delete(answer->json);
    str_release(&answer->text);
}

void url_encode(const char *text, struct str *ret)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
        if (plain)
            str_add_char(ret, (char)c);
        else
            str_addf(ret, "%%%02X", (unsigned)c);
    }
}

void client_path(struct str *ret, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (; *format; format++) {
        if (format[0] == '%' && format[1] == 's') {
            url_encode(va_arg(args, const char *), ret);
            format++;
        } else {
            str_add_char(ret, *format);
        }
    }
    va_end(args);
}

bool full_name_split(const struct client *client, const char *word, struct full_name *ret)
{
    const char *slash = strchr(word, '/'), *name = slash ? slash + 1 : word;
    size_t length = slash ? (size_t)(slash - word) : strlen(client->project);
    if (strlen(name) >= sizeof ret->name || length >= sizeof ret->project || !*name || strchr(name, '/') || !length ||
        *name == '.' || *word == '.') { /* "..": another path of the API */
        (void)complain(EXIT_BAD_INPUT, "\"%.60s\" is no name; write PROJECT/NAME, or NAME with -p PROJECT", word);
        return false;
    }
    (void)snprintf(ret->project, sizeof ret->project, "%.*s", (int)length, slash ? word : client->project);
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    return true;
}

void add_schedule(struct str *ret, const cJSON *trigger)
{
    const char *kind = text_of(trigger, "kind");
    if (*kind && strcmp(kind, "cron") != 0)
        str_addf(ret, "%s ", kind);
    str_add(ret, text_of(trigger, "schedule"));
}

void print_raw(const struct answer_body *answer)
{
    (void)printf("%s\n", str_text(&answer->text));
}

const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(member) ? member->valuestring : "";
}

const char *shown_of(cJSON *object, const char *name)
{
    cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsString(member))
        return text_of(object, name);
    for (unsigned char *p = (unsigned char *)member->valuestring; *p; p++) {
        bool wide = p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0; /* U+0080 to U+009F rule terminals, too */
        if (wide)
            p[1] = '?';
        if (wide || (*p < 0x20 && *p != '\t') || *p == 0x7f)
            *p = '?';
    }
    return member->valuestring;
}

double number_of(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : 0;
}

bool true_of(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}
