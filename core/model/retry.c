#include "core/model/retry.h"

#include <string.h>

static const char *const classes[CALL_CLASSES] = {
#define CALL_CLASS_TEXT(symbol, text) [symbol] = (text),
    CALL_CLASS_TABLE(CALL_CLASS_TEXT)
#undef CALL_CLASS_TEXT
};

/* Our name and the name that SIA-TASK has for it. */
static const struct {
    const char *text, *sia;
} presets[FAILURE_PRESETS] = {
    [FAILURE_STOP] = {"stop", "STOP"},
    [FAILURE_IGNORE] = {"ignore", "IGNORE"},
    [FAILURE_RETRY] = {"retry", "MULTI_CALLS"},
    [FAILURE_TRANSFER] = {"transfer", "TRANSFER"},
    [FAILURE_RETRY_TRANSFER] = {"retry_transfer", "MULTI_CALLS_TRANSFER"},
};

static const char *const repeats[] = {
    [REPEAT_SAME_INSTANCE] = "same_instance",
    [REPEAT_ANYWHERE] = "anywhere",
    [REPEAT_NEVER] = "never",
};
#define REPEATS (sizeof repeats / sizeof *repeats)

const char *call_class_text(enum call_class c)
{
    return (unsigned)c < CALL_CLASSES ? classes[c] : "";
}

bool call_class_parse(const char *text, enum call_class *ret)
{
    for (size_t i = CALL_NONE; i < CALL_CLASSES; i++)
        if (!strcmp(text, classes[i])) {
            *ret = (enum call_class)i;
            return true;
        }
    return false;
}

const char *failure_preset_text(enum failure_preset preset)
{
    return (unsigned)preset < FAILURE_PRESETS ? presets[preset].text : "";
}

bool failure_preset_parse(const char *text, enum failure_preset *ret)
{
    for (size_t i = 0; i < FAILURE_PRESETS; i++)
        if (!strcmp(text, presets[i].text) || !strcmp(text, presets[i].sia)) {
            *ret = (enum failure_preset)i;
            return true;
        }
    return false;
}

const char *repeat_rule_text(enum repeat_rule rule)
{
    return (unsigned)rule < REPEATS ? repeats[rule] : "";
}

bool repeat_rule_parse(const char *text, enum repeat_rule *ret)
{
    for (size_t i = 0; i < REPEATS; i++)
        if (!strcmp(text, repeats[i])) {
            *ret = (enum repeat_rule)i;
            return true;
        }
    return false;
}
