/* Memory of keys: over a restart, over a torn tail, over a rewrite; epochs. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor-lib/epochs.h"
#include "executor-lib/keys.h"
#include "tests/contract/wires/harness.h"

#define DAY ((int64_t)86400000)

struct folder {
    char path[64], keys[80], lock[80];
};

static int set_up(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    assert_non_null(folder);
    (void)snprintf(folder->path, sizeof folder->path, "/tmp/carillon-keys-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    (void)snprintf(folder->keys, sizeof folder->keys, "%s/keys", folder->path);
    (void)snprintf(folder->lock, sizeof folder->lock, "%s/lock", folder->path);
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    struct folder *folder = *state;
    (void)unlink(folder->keys);
    (void)unlink(folder->lock);
    assert_int_equal(rmdir(folder->path), 0);
    free(folder);
    return 0;
}

static struct keys *open_keys(const struct folder *folder)
{
    struct keys *keys = NULL;
    struct error err = {0};
    if (keys_create(100, DAY, folder->path, &keys, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return keys;
}

static enum key_turn begin(struct keys *keys, const char *key, const char *body, char **ret_answer)
{
    int status = 0;
    *ret_answer = NULL;
    return keys_begin(keys, key, body, strlen(body), 1000, false, &status, ret_answer);
}

static void assert_answer(struct keys *keys, const char *key, const char *expected)
{
    char *answer;
    assert_int_equal(begin(keys, key, "{}", &answer), KEY_ANSWERED);
    assert_string_equal(answer, expected);
    free(answer);
}

static void test_restart(void **state)
{
    char *answer;
    struct keys *keys = open_keys(*state);
    assert_int_equal(begin(keys, "done", "{}", &answer), KEY_FIRST);
    assert_true(keys_finish(keys, "done", 200, "the first\nanswer", NULL, 1001));
    assert_int_equal(begin(keys, "broken off", "{}", &answer), KEY_FIRST);
    assert_int_equal(begin(keys, "refused", "{}", &answer), KEY_FIRST);
    keys_forget(keys, "refused");
    keys_free(keys);
    keys = open_keys(*state);
    assert_answer(keys, "done", "the first\nanswer");
    assert_int_equal(begin(keys, "done", "{\"x\":1}", &answer), KEY_CLASH);
    assert_int_equal(begin(keys, "broken off", "{\"x\":1}", &answer), KEY_CLASH);
    assert_int_equal(begin(keys, "broken off", "{}", &answer), KEY_INTERRUPTED);
    assert_int_equal(begin(keys, "broken off", "{}", &answer), KEY_RUNNING);
    assert_int_equal(begin(keys, "refused", "{\"other\":1}", &answer), KEY_FIRST);
    assert_true(keys_finish(keys, "broken off", 200, "second try", NULL, 1002));
    assert_answer(keys, "broken off", "second try");
    keys_free(keys);
}

/* A kill may cut the file anywhere: what was acknowledged before the cut is there, and it can be written on. */
static void test_torn_tail(void **state)
{
    struct folder *folder = *state;
    struct stat all;
    char *answer;
    struct keys *keys = open_keys(folder);
    assert_int_equal(begin(keys, "whole", "{}", &answer), KEY_FIRST);
    assert_true(keys_finish(keys, "whole", 200, "yes", NULL, 1001));
    assert_int_equal(stat(folder->keys, &all), 0);
    off_t good = all.st_size;
    assert_int_equal(begin(keys, "torn", "{}", &answer), KEY_FIRST);
    assert_true(keys_finish(keys, "torn", 200, "{\"a\":\"long enough to be cut\"}", NULL, 1001));
    assert_int_equal(stat(folder->keys, &all), 0);
    keys_free(keys);
    for (off_t size = all.st_size; size >= good; size--) {
        assert_int_equal(truncate(folder->keys, size), 0);
        keys = open_keys(folder);
        assert_answer(keys, "whole", "yes");
        keys_free(keys);
    }
    int fd = open(folder->keys, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "E 3 0 5 0 200 7 ff\nkeyvalue\n", 27), 27); /* a wrong checksum */
    (void)close(fd);
    keys = open_keys(folder);
    assert_answer(keys, "whole", "yes");
    assert_int_equal(begin(keys, "key", "{}", &answer), KEY_FIRST);
    assert_true(keys_finish(keys, "key", 200, "after", NULL, 1001));
    keys_free(keys);
    keys = open_keys(folder);
    assert_answer(keys, "key", "after");
    keys_free(keys);
}

static void test_rewrite(void **state)
{
    enum { ROUNDS = 100, SIZE = 200000 };
    struct folder *folder = *state;
    struct stat all;
    char *answer, key[32], *text = malloc(SIZE + 1);
    assert_non_null(text);
    memset(text, 'x', SIZE);
    text[SIZE] = '\0';
    struct keys *keys = NULL;
    struct error err;
    assert_int_equal(keys_create(10, DAY, folder->path, &keys, &err), STATUS_OK);
    assert_int_equal(begin(keys, "under way", "{}", &answer), KEY_FIRST);
    for (int i = 0; i < ROUNDS; i++) {
        (void)snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(begin(keys, key, "{}", &answer), KEY_FIRST);
        assert_true(keys_finish(keys, key, 200, text, NULL, 1000 + i));
    }
    keys_free(keys);
    free(text);
    assert_int_equal(stat(folder->keys, &all), 0);
    assert_true(all.st_size < 18 << 20); /* 20 MB were written */
    assert_int_equal(keys_create(10, DAY, folder->path, &keys, &err), STATUS_OK);
    assert_int_equal(begin(keys, key, "{}", &answer), KEY_ANSWERED);
    assert_int_equal(strlen(answer), SIZE);
    free(answer);
    assert_int_equal(begin(keys, "under way", "{}", &answer), KEY_INTERRUPTED);
    keys_free(keys);
}

static void count_unreported(void *context, const char *key, const char *callbacks, const char *answer)
{
    int *n = context;
    assert_string_equal(key, "a");
    assert_string_equal(callbacks, "http://one, http://two");
    assert_string_equal(answer, "{\"state\":\"succeeded\"}");
    (*n)++;
}

static void test_unreported(void **state)
{
    char *answer;
    int n = 0;
    struct keys *keys = open_keys(*state);
    assert_int_equal(begin(keys, "a", "{}", &answer), KEY_FIRST);
    assert_true(keys_finish(keys, "a", 202, "{\"state\":\"succeeded\"}", "http://one, http://two", 1001));
    keys_free(keys);
    keys = open_keys(*state);
    keys_unreported(keys, count_unreported, &n);
    assert_int_equal(n, 1);
    keys_reported(keys, "a");
    keys_free(keys);
    keys = open_keys(*state);
    keys_unreported(keys, count_unreported, &n);
    assert_int_equal(n, 1);
    assert_answer(keys, "a", "{\"state\":\"succeeded\"}");
    keys_free(keys);
}

static void test_one_process(void **state)
{
    struct folder *folder = *state;
    struct error err;
    struct keys *keys = open_keys(folder), *second = NULL;
    assert_int_equal(keys_create(10, DAY, folder->path, &second, &err), STATUS_IN_USE);
    assert_non_null(strstr(err.text, "in use by another process"));
    keys_free(keys);
    assert_int_not_equal(keys_create(10, DAY, "/proc/nothing/here", &second, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "/proc/nothing/here"));
}

struct crowd {
    struct keys *keys;
    int number;
};

static void *work(void *context)
{
    struct crowd *crowd = context;
    char key[32], *answer;
    for (int i = 0; i < 50; i++) {
        (void)snprintf(key, sizeof key, "%d/%d", crowd->number, i);
        if (begin(crowd->keys, key, "{}", &answer) != KEY_FIRST || !keys_finish(crowd->keys, key, 200, key, NULL, 1001))
            crowd->number = -1;
    }
    return NULL;
}

static void test_threads(void **state)
{
    enum { THREADS = 8 };
    struct folder *folder = *state;
    struct keys *keys = NULL;
    struct error err;
    pthread_t threads[THREADS];
    struct crowd crowds[THREADS];
    assert_int_equal(keys_create(1000, DAY, folder->path, &keys, &err), STATUS_OK);
    for (int i = 0; i < THREADS; i++) {
        crowds[i] = (struct crowd){keys, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &crowds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(crowds[i].number, i);
    }
    keys_free(keys);
    assert_int_equal(keys_create(1000, DAY, folder->path, &keys, &err), STATUS_OK);
    assert_answer(keys, "0/0", "0/0");
    assert_answer(keys, "7/49", "7/49");
    keys_free(keys);
}

static void test_epochs(void **state)
{
    int64_t seen = 0;
    struct epochs *epochs = epochs_create(2);
    (void)state;
    assert_true(epochs_admit(epochs, "1", 5, &seen));
    assert_true(epochs_admit(epochs, "1", 7, &seen));
    assert_false(epochs_admit(epochs, "1", 6, &seen));
    assert_int_equal(seen, 7);
    assert_true(epochs_admit(epochs, "1", 7, &seen));
    assert_true(epochs_admit(epochs, "2", 1, &seen));
    assert_true(epochs_admit(epochs, "1", 8, &seen));
    assert_true(epochs_admit(epochs, "3", 1, &seen)); /* 2 was not seen for the longest time: forgotten */
    assert_false(epochs_admit(epochs, "1", 7, &seen));
    assert_true(epochs_admit(epochs, "2", 0, &seen));
    epochs_free(epochs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torn_tail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rewrite, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unreported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test(test_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
