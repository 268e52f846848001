#include "adapters/zones/zones.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/logic/time/zone.h"

#define ZONE_NAME_MAX 96
#define ZONE_FILE_MAX ((size_t)256 << 10) /* the largest of tzdata has 4 KiB */
#define ZONES_MAX 4096                    /* tzdata has 600 names; keeps strangers' spellings from filling memory */

struct entry {
    char name[ZONE_NAME_MAX]; /* key */
    struct zone *zone;        /* owned; NULL for UTC, which is static */
    UT_hash_handle hh;
};

struct zones_files {
    struct zones zones; /* first: the face */
    char *folder;
    pthread_mutex_t lock;
    struct entry *entries; /* under lock; entries never leave, so their zones may be borrowed */
};

/* "Area/City": letters, digits, "+-_" and single slashes between parts. So neither "..", nor absolute, nor hidden.
 * The capital at the front, which every IANA name has, keeps out the folder's other files: "localtime" and "posixrules"
 * mean something else on each machine, "posix/…" and "right/…" are copies. "Factory" says that nobody chose a zone. */
static bool name_allowed(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";
    size_t length = strlen(name);
    return length > 0 && length < ZONE_NAME_MAX && strspn(name, allowed) == length && name[0] >= 'A' &&
           name[0] <= 'Z' && strcmp(name, "Factory") != 0 && name[length - 1] != '/' && !strstr(name, "//");
}

static bool is_utc(const char *name)
{
    return strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0;
}

static bool file_read(int fd, char *buffer, size_t size, size_t *ret_length)
{
    size_t length = 0;
    while (length < size) {
        ssize_t n = read(fd, buffer + length, size - length);
        if (n < 0)
            return false;
        if (n == 0) {
            *ret_length = length;
            return true;
        }
        length += (size_t)n;
    }
    return false; /* larger than any zone */
}

static struct zone *zone_load(const char *folder, const char *name)
{
    char path[4096];
    struct stat info;
    struct zone *zone = NULL;
    struct error err;
    size_t length;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* non-blocking: a fifo there must not hang us */
    if (fd < 0)
        return NULL;
    char *bytes = mem_alloc(ZONE_FILE_MAX);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && file_read(fd, bytes, ZONE_FILE_MAX, &length) && length > 4 &&
        memcmp(bytes, "TZif", 4) == 0 && zone_parse(name, bytes, length, &zone, &err) != STATUS_OK)
        zone = NULL;
    (void)close(fd);
    free(bytes);
    return zone;
}

/* Under lock. Names that do not exist are not kept: they would be a stranger's way to fill memory. */
static struct entry *entry_add(struct zones_files *files, const char *name)
{
    struct zone *zone = zone_load(files->folder, name);
    if (!zone && !is_utc(name))
        return NULL;
    struct entry *entry = mem_new(struct entry);
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->zone = zone;
    HASH_ADD_STR(files->entries, name, entry);
    return entry;
}

static const struct zone *zones_get(struct zones *zones, const char *name)
{
    struct zones_files *files = (struct zones_files *)zones;
    struct entry *entry = NULL;
    if (!name || !name_allowed(name))
        return NULL;
    pthread_mutex_lock(&files->lock);
    HASH_FIND_STR(files->entries, name, entry);
    if (!entry && HASH_COUNT(files->entries) < ZONES_MAX)
        entry = entry_add(files, name);
    pthread_mutex_unlock(&files->lock);
    if (!entry)
        return NULL;
    return entry->zone ? entry->zone : zone_utc();
}

struct zones *zones_create(const char *folder)
{
    struct zones_files *files = mem_new(struct zones_files);
    files->zones.get = zones_get;
    files->folder = mem_copy_text(folder ? folder : "/usr/share/zoneinfo");
    pthread_mutex_init(&files->lock, NULL);
    return &files->zones;
}

void zones_free(struct zones *zones)
{
    struct zones_files *files = (struct zones_files *)zones;
    struct entry *entry, *next;
    if (!files)
        return;
    HASH_ITER(hh, files->entries, entry, next)
    {
        HASH_DEL(files->entries, entry);
        zone_free(entry->zone);
        free(entry);
    }
    pthread_mutex_destroy(&files->lock);
    free(files->folder);
    free(files);
}
