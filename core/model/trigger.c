#include "core/model/trigger.h"

#include <string.h>

static const char *const kinds[] = {
    [TRIGGER_CRON] = "cron",
    [TRIGGER_EVERY] = "every",
    [TRIGGER_DELAY] = "delay",
    [TRIGGER_AT] = "at",
};

static const char *const policies[] = {
    [MISFIRE_LATEST] = "latest",
    [MISFIRE_SKIP] = "skip",
    [MISFIRE_ALL] = "all",
};
#define KINDS (sizeof kinds / sizeof *kinds)
#define POLICIES (sizeof policies / sizeof *policies)

const char *trigger_kind_text(enum trigger_kind kind)
{
    return (unsigned)kind < KINDS ? kinds[kind] : "";
}

const char *misfire_policy_text(enum misfire_policy policy)
{
    return (unsigned)policy < POLICIES ? policies[policy] : "";
}

bool misfire_policy_parse(const char *text, enum misfire_policy *ret)
{
    for (size_t i = 0; i < POLICIES; i++)
        if (!strcmp(text, policies[i])) {
            *ret = (enum misfire_policy)i;
            return true;
        }
    return false;
}
