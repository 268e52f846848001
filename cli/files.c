#include "cli/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapters/yaml/yaml.h"
#include "core/model/limits.h"

#include "cli/verb.h"

enum status file_read_whole(const char *path, size_t limit, char **ret, size_t *ret_length, struct error *err)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
    if (!file)
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_UNAVAILABLE, "cannot read %s: %s", path,
                         strerror(errno));
    char *bytes = mem_alloc(limit + 2);
    size_t length = fread(bytes, 1, limit + 1, file);
    enum status status = STATUS_OK;
    if (ferror(file))
        status = error_set(err, STATUS_UNAVAILABLE, "cannot read %s: %s", path, strerror(errno));
    else if (length > limit)
        status = error_set(err, STATUS_TOO_BIG, "%s is larger than %zu bytes; split it", path, limit);
    if (file != stdin)
        (void)fclose(file);
    if (status) {
        free(bytes);
        return status;
    }
    bytes = mem_resize(bytes, length + 1);
    bytes[length] = '\0';
    *ret = bytes;
    *ret_length = length;
    return STATUS_OK;
}

static void read_one(const char *path, struct file_documents *ret)
{
    struct yaml_documents parsed = {0};
    struct error err;
    char *bytes = NULL;
    size_t length = 0;
    enum status status = file_read_whole(path, LIMIT_DOCUMENT, &bytes, &length, &err);
    if (!status) {
        status = yaml_to_json(bytes, length, &parsed, &err);
        if (status)
            (void)complain(EXIT_BAD_INPUT, "%s: %s", path, err.text);
    } else {
        (void)complain(EXIT_BAD_INPUT, "%s", err.text);
    }
    ret->faults += status != STATUS_OK;
    for (size_t i = 0; i < parsed.count; i++) {
        struct file_document *document = vec_push(&ret->list);
        char origin[4300];
        (void)snprintf(origin, sizeof origin, "%s:%d", path, parsed.items[i].line);
        document->origin = mem_copy_text(origin);
        document->json = mem_copy(parsed.items[i].json, parsed.items[i].length);
    }
    yaml_documents_release(&parsed);
    free(bytes);
}

static int is_definition(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml") || !strcmp(dot, ".json"));
}

static void read_folder(const char *path, struct file_documents *ret)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_definition, alphasort);
    if (count < 0) {
        (void)complain(EXIT_BAD_INPUT, "cannot read the folder %s: %s", path, strerror(errno));
        ret->faults++;
        return;
    }
    if (!count) {
        (void)complain(EXIT_BAD_INPUT, "%s holds no .yaml, .yml or .json file", path);
        ret->faults++;
    }
    for (int i = 0; i < count; i++) {
        char file[4200];
        (void)snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        read_one(file, ret);
        free(entries[i]);
    }
    free(entries);
}

void files_read(const char *path, struct file_documents *ret)
{
    struct stat info;
    if (strcmp(path, "-") && !stat(path, &info) && S_ISDIR(info.st_mode))
        read_folder(path, ret);
    else
        read_one(path, ret);
}

void files_release(struct file_documents *documents)
{
    for (size_t i = 0; i < documents->list.count; i++) {
        free(documents->list.items[i].origin);
        free(documents->list.items[i].json);
    }
    vec_release(&documents->list);
}
