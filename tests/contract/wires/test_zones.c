/* Zones from files: the system's, and folders of strangers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/zones/zones.h"
#include "core/logic/time/zone.h"
#include "tests/contract/wires/harness.h"

#define SYSTEM "/usr/share/zoneinfo"

static const struct {
    int row;
    const char *name;
    bool there;
} names[] = {
    {__LINE__, "UTC", true},
    {__LINE__, "Etc/UTC", true},
    {__LINE__, "Europe/Berlin", true},
    {__LINE__, "America/New_York", true},
    {__LINE__, "Asia/Shanghai", true},
    {__LINE__, "Etc/GMT+5", true},
    {__LINE__, "America/Argentina/Buenos_Aires", true},
    {__LINE__, "", false},
    {__LINE__, "europe/berlin", false},
    {__LINE__, "Europe", false},
    {__LINE__, "Europe/", false},
    {__LINE__, "/etc/passwd", false},
    {__LINE__, "../../../etc/passwd", false},
    {__LINE__, "Europe/../UTC", false},
    {__LINE__, "tzdata.zi", false},
    {__LINE__, "zone.tab", false},
    {__LINE__, "localtime", false},
    {__LINE__, "posixrules", false},
    {__LINE__, "posix/Europe/Berlin", false},
    {__LINE__, "Factory", false},
    {__LINE__, "Europe//Berlin", false},
    {__LINE__, "Nowhere/Town", false},
    {__LINE__, ".", false},
    {__LINE__, "Europe/Berlin\n", false},
};

static void test_names(void **state)
{
    struct zones *zones = zones_create(NULL);
    (void)state;
    if (access(SYSTEM "/Europe/Berlin", R_OK) != 0) {
        print_message("skipped: no tzdata in " SYSTEM "\n");
        zones_free(zones);
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct zone *zone = zones->get(zones, names[i].name);
        if ((zone != NULL) != names[i].there)
            fail_msg("row %d: %s", names[i].row, names[i].name);
        assert_ptr_equal(zones->get(zones, names[i].name), zone); /* kept */
    }
    assert_null(zones->get(zones, NULL));
    /* 2026-07-01T00:00Z */
    assert_int_equal(zone_offset(zones->get(zones, "Europe/Berlin"), (instant){1782864000000}), 7200);
    zones_free(zones);
}

static void file_write(const char *folder, const char *name, const char *bytes, size_t length)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    (void)fclose(file);
}

static void test_bad_folder(void **state)
{
    char folder[] = "/tmp/carillon-zones-XXXXXX", path[300];
    static char large[300 << 10] = "TZif2";
    (void)state;
    struct zones *zones = zones_create("/nowhere/at/all");
    assert_non_null(zones->get(zones, "UTC"));
    assert_null(zones->get(zones, "Europe/Berlin"));
    zones_free(zones);
    assert_non_null(mkdtemp(folder));
    file_write(folder, "Text", "hello world, this is no zone", 28);
    file_write(folder, "Short", "TZif2", 5);
    file_write(folder, "Empty", "", 0);
    file_write(folder, "Large", large, sizeof large);
    file_write(folder, "UTC", "garbage", 7);
    (void)snprintf(path, sizeof path, "%s/Fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    zones = zones_create(folder);
    static const char *const none[] = {"Text", "Short", "Empty", "Large", "Fifo"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(zones->get(zones, none[i]));
    assert_non_null(zones->get(zones, "UTC"));
    zones_free(zones);
    static const char *const all[] = {"Text", "Short", "Empty", "Large", "Fifo", "UTC"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, all[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void *reader(void *context)
{
    struct zones *zones = context;
    for (int i = 0; i < 200; i++) {
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            (void)zones->get(zones, names[n].name);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct zones *zones = zones_create(NULL);
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, reader, zones);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    zones_free(zones);
    zones_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_bad_folder),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests_name("zones", tests, NULL, NULL);
}
