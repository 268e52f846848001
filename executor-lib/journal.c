/*
 * A fact on disk: a line of numbers, then its texts and a newline.
 *     <kind> <length of key> <of callbacks> <of answer> <body hash> <status> <at> <checksum>\n
 *     <key><callbacks><answer>\n
 */
#include "executor-lib/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/str.h"

#define FACT_MAX ((size_t)5 << 20)
#define HEAD_MAX 160
#define REWRITE_LEAST ((size_t)4 << 20) /* a smaller file is not worth it */
#define CHECK_SEED 0x6b657973U

struct journal {
    int folder, lock, file; /* descriptors; −1 = none */
    size_t size;            /* of the file */
    size_t whole;           /* up to here every fact is whole: what is behind it is cut off before the next one */
    pthread_mutex_t writing, syncing;
    size_t written, synced; /* counts of facts, rising; written under `writing`, synced under `syncing` */
    int fresh;              /* the file of a rewrite */
    size_t fresh_size;
    bool fresh_failed;
};

static uint64_t check(const struct journal_fact *fact)
{
    char numbers[80];
    (void)snprintf(numbers, sizeof numbers, "%c %" PRIx64 " %d %" PRId64, (char)fact->kind, fact->body, fact->status,
                   fact->at);
    uint64_t sum = hash_bytes(numbers, strlen(numbers), CHECK_SEED);
    sum = hash_bytes(fact->key, strlen(fact->key), sum);
    sum = hash_bytes(fact->callbacks, strlen(fact->callbacks), sum);
    return hash_bytes(fact->answer, strlen(fact->answer), sum);
}

static void write_fact(const struct journal_fact *given, struct str *ret)
{
    struct journal_fact fact = *given;
    fact.callbacks = fact.callbacks ? fact.callbacks : "";
    fact.answer = fact.answer ? fact.answer : "";
    str_addf(ret, "%c %zu %zu %zu %" PRIx64 " %d %" PRId64 " %" PRIx64 "\n", (char)fact.kind, strlen(fact.key),
             strlen(fact.callbacks), strlen(fact.answer), fact.body, fact.status, fact.at, check(&fact));
    str_add(ret, fact.key);
    str_add(ret, fact.callbacks);
    str_add(ret, fact.answer);
    str_add(ret, "\n");
}

/* ---- reading -------------------------------------------------------------------------------------------------------
 */

static char *text_of(FILE *in, size_t length)
{
    char *text = malloc(length + 1);
    if (text && fread(text, 1, length, in) == length && !memchr(text, '\0', length)) {
        text[length] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* false: the end, or a torn tail. */
static bool read_fact(FILE *in, void (*told)(void *context, const struct journal_fact *fact), void *context)
{
    char head[HEAD_MAX], kind;
    size_t key, callbacks, answer;
    uint64_t sum;
    struct journal_fact fact = {.kind = JOURNAL_BEGUN};
    if (!fgets(head, sizeof head, in) ||
        sscanf(head, "%c %zu %zu %zu %" SCNx64 " %d %" SCNd64 " %" SCNx64, &kind, &key, &callbacks, &answer, &fact.body,
               &fact.status, &fact.at, &sum) != 8 ||
        key + callbacks + answer > FACT_MAX)
        return false;
    char *texts[] = {text_of(in, key), text_of(in, callbacks), text_of(in, answer)};
    fact.kind = (enum journal_kind)kind;
    fact.key = texts[0];
    fact.callbacks = texts[1];
    fact.answer = texts[2];
    bool whole = texts[0] && texts[1] && texts[2] && fgetc(in) == '\n' && check(&fact) == sum;
    if (whole)
        told(context, &fact);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    return whole;
}

static enum status read_all(struct journal *journal, void (*told)(void *context, const struct journal_fact *fact),
                            void *context, struct error *err)
{
    int copy = openat(journal->folder, "keys", O_RDONLY | O_CLOEXEC);
    FILE *in = copy < 0 ? NULL : fdopen(copy, "r");
    if (!in) {
        if (copy >= 0)
            (void)close(copy);
        return error_set(err, STATUS_UNAVAILABLE, "idempotency_dir: keys cannot be read: %s", strerror(errno));
    }
    while (read_fact(in, told, context))
        journal->whole = (size_t)ftello(in);
    (void)fclose(in);
    return STATUS_OK;
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

static enum status open_files(struct journal *journal, const char *folder, struct error *err)
{
    if (mkdir(folder, 0700) && errno != EEXIST)
        return error_set(err, STATUS_UNAVAILABLE, "idempotency_dir %s cannot be made: %s", folder, strerror(errno));
    journal->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->folder < 0)
        return error_set(err, STATUS_UNAVAILABLE, "idempotency_dir %s cannot be opened: %s", folder, strerror(errno));
    journal->lock = openat(journal->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (journal->lock < 0)
        return error_set(err, STATUS_UNAVAILABLE, "idempotency_dir %s cannot be written: %s", folder, strerror(errno));
    if (flock(journal->lock, LOCK_EX | LOCK_NB))
        return error_set(err, STATUS_IN_USE, "idempotency_dir %s is in use by another process", folder);
    journal->file = openat(journal->folder, "keys", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (journal->file < 0 || fsync(journal->folder))
        return error_set(err, STATUS_UNAVAILABLE, "idempotency_dir %s cannot be written: %s", folder, strerror(errno));
    return STATUS_OK;
}

enum status journal_open(const char *folder, void (*told)(void *context, const struct journal_fact *fact),
                         void *context, struct journal **ret, struct error *err)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    journal->folder = journal->lock = journal->file = journal->fresh = -1;
    (void)pthread_mutex_init(&journal->writing, NULL);
    (void)pthread_mutex_init(&journal->syncing, NULL);
    enum status status = open_files(journal, folder, err);
    if (status == STATUS_OK)
        status = read_all(journal, told, context, err);
    if (status == STATUS_OK && ftruncate(journal->file, (off_t)journal->whole))
        status =
            error_set(err, STATUS_UNAVAILABLE, "idempotency_dir %s cannot be written: %s", folder, strerror(errno));
    if (status != STATUS_OK) {
        journal_close(journal);
        return status;
    }
    journal->size = journal->whole;
    *ret = journal;
    return STATUS_OK;
}

static void close_if_open(int descriptor)
{
    if (descriptor >= 0)
        (void)close(descriptor);
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    close_if_open(journal->file);
    close_if_open(journal->lock);
    close_if_open(journal->folder);
    (void)pthread_mutex_destroy(&journal->writing);
    (void)pthread_mutex_destroy(&journal->syncing);
    free(journal);
}

/* ---- writing -------------------------------------------------------------------------------------------------------
 */

static bool write_whole(int file, size_t at, const struct str *text)
{
    size_t done = 0;
    while (done < text->length) {
        ssize_t n = pwrite(file, str_text(text) + done, text->length - done, (off_t)(at + done));
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* One fsync serves everybody who wrote before it began. */
static bool sync_through(struct journal *journal, size_t mine)
{
    bool durable = true;
    (void)pthread_mutex_lock(&journal->syncing);
    if (journal->synced < mine) {
        (void)pthread_mutex_lock(&journal->writing);
        size_t through = journal->written;
        (void)pthread_mutex_unlock(&journal->writing);
        durable = fdatasync(journal->file) == 0;
        if (durable)
            journal->synced = through;
    }
    (void)pthread_mutex_unlock(&journal->syncing);
    return durable;
}

bool journal_add(struct journal *journal, const struct journal_fact *fact)
{
    struct str text;
    str_init(&text, FACT_MAX + HEAD_MAX);
    write_fact(fact, &text);
    bool written = str_status(&text) == STATUS_OK;
    size_t mine = 0;
    (void)pthread_mutex_lock(&journal->writing);
    written = written && write_whole(journal->file, journal->size, &text); /* half a fact is overwritten by the next */
    if (written) {
        journal->size += text.length;
        mine = ++journal->written;
    }
    (void)pthread_mutex_unlock(&journal->writing);
    str_release(&text);
    return written && sync_through(journal, mine);
}

bool journal_stale(struct journal *journal, size_t live)
{
    (void)pthread_mutex_lock(&journal->writing);
    bool stale = journal->size > REWRITE_LEAST && journal->size / 4 > live;
    (void)pthread_mutex_unlock(&journal->writing);
    return stale;
}

bool journal_rewrite_begin(struct journal *journal)
{
    journal->fresh = openat(journal->folder, "keys.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    journal->fresh_size = 0;
    journal->fresh_failed = journal->fresh < 0;
    return journal->fresh >= 0;
}

void journal_rewrite_add(struct journal *journal, const struct journal_fact *fact)
{
    struct str text;
    str_init(&text, FACT_MAX + HEAD_MAX);
    write_fact(fact, &text);
    if (str_status(&text) != STATUS_OK || !write_whole(journal->fresh, journal->fresh_size, &text))
        journal->fresh_failed = true;
    journal->fresh_size += text.length;
    str_release(&text);
}

bool journal_rewrite_end(struct journal *journal)
{
    bool good = !journal->fresh_failed && fdatasync(journal->fresh) == 0 &&
                renameat(journal->folder, "keys.new", journal->folder, "keys") == 0;
    if (good)
        (void)fsync(journal->folder); /* the old file says the same, should a power cut bring it back */
    (void)pthread_mutex_lock(&journal->syncing);
    (void)pthread_mutex_lock(&journal->writing);
    if (good) {
        (void)close(journal->file);
        journal->file = journal->fresh;
        journal->size = journal->fresh_size;
        journal->synced = journal->written;
    } else {
        close_if_open(journal->fresh);
    }
    journal->fresh = -1;
    (void)pthread_mutex_unlock(&journal->writing);
    (void)pthread_mutex_unlock(&journal->syncing);
    return good;
}
