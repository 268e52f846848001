/* Feeds every file of the folders named on the command line to the fuzzer, in order of name. Fails on an empty folder:
 * a corpus that got lost must not look like one that passed. */
#include <dirent.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX ((size_t)4 << 20)

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The bytes lie in a block of exactly their size, so that a sanitizer sees one read too many. */
static int replay_file(const char *folder, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    unsigned char *buffer = malloc(INPUT_MAX);
    if (!file || !buffer) {
        (void)fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    size_t length = fread(buffer, 1, INPUT_MAX, file);
    (void)fclose(file);
    unsigned char *exact = malloc(length ? length : 1);
    if (!exact)
        exit(1);
    memcpy(exact, buffer, length);
    free(buffer);
    (void)LLVMFuzzerTestOneInput(exact, length);
    free(exact);
    return 1;
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_file, alphasort), replayed = 0;
    if (count <= 0) {
        (void)fprintf(stderr, "%s: no corpus there\n", folder);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        (void)fprintf(stderr, "%s/%s\n", folder, entries[i]->d_name); /* the last line names the culprit */
        replayed += replay_file(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return replayed;
}

int main(int argc, char **argv)
{
    int replayed = 0;
    for (int i = 1; i < argc; i++)
        replayed += replay_folder(argv[i]);
    (void)printf("%d inputs replayed\n", replayed);
    return replayed ? 0 : 1;
}
