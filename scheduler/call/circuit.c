/* Circuits: an instance that does not answer takes no calls for a while, then a single one that tries it (half-open).
 * When that one is answered, calls come back little by little (slow start), so that what has just come up is not
 * knocked over again. And the pace of a host: calls a second, whatever application or url leads there.
 *
 *   closed ──not_sent, or 5 ends in a row without an answer──▶ open ──pause──▶ half-open ──answer──▶ closed (slow
 * start) ▲                  │ └──── no answer ───┘  pause: 1 s doubling to 30 s */
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"

#define OPEN_FIRST SPAN_SECOND
#define OPEN_MOST (30 * SPAN_SECOND)
#define UNANSWERED_MOST 5           /* one lost answer is nobody's fault */
#define RAMP (10 * SPAN_SECOND)     /* until an instance that came back takes all that it may */
#define RAMP_STEP (SPAN_SECOND / 2) /* how often that is looked at */
#define HOSTS_MAX 10000             /* paces that are remembered */
#define MICRO 1000                  /* µs of a millisecond */

/* Something about room changes by itself then. */
static void look_again(struct scheduler *s, mono at)
{
    s->next_ring = mono_min(s->next_ring, at);
}

bool circuit_open(struct scheduler *s, const struct instance *instance)
{
    if (!instance->set_aside)
        return false;
    if (instance->probing)
        return true; /* its end frees room */
    if (mono_cmp(s->now.mono, instance->until) >= 0)
        return false;
    look_again(s, instance->until);
    return true;
}

int32_t circuit_room(struct scheduler *s, const struct instance *instance, int32_t most)
{
    if (instance->set_aside)
        return 1;
    span since = instance->slow ? mono_sub(s->now.mono, instance->closed_at) : RAMP;
    if (since >= RAMP)
        return most;
    look_again(s, mono_add(s->now.mono, RAMP_STEP));
    int64_t part = most * since / RAMP;
    return part < 1 ? 1 : (int32_t)part;
}

static void open_circuit(struct scheduler *s, const struct call *call, struct instance *instance)
{
    instance->pause = instance->pause == 0              ? OPEN_FIRST
                      : instance->pause * 2 > OPEN_MOST ? OPEN_MOST
                                                        : instance->pause * 2;
    instance->until = mono_add(s->now.mono, instance->pause);
    if (!instance->set_aside)
        sink_logf(s->ports.sink, LOG_WARN, "An instance does not answer: it is set aside and probed back in.",
                  "application=%s instance=%s error=\"%s\"", call->application->key, instance->address,
                  call->wire.error);
    instance->set_aside = true;
    instance->slow = false;
}

static void close_circuit(struct scheduler *s, const struct call *call, struct instance *instance)
{
    instance->unanswered = 0;
    if (!instance->set_aside)
        return;
    sink_logf(s->ports.sink, LOG_INFO, "An instance answers again.", "application=%s instance=%s",
              call->application->key, instance->address);
    instance->set_aside = false;
    instance->pause = 0;
    instance->slow = true;
    instance->closed_at = s->now.mono;
}

void instance_outcome(struct scheduler *s, struct call *call, enum call_class class)
{
    struct instance *instance = call->instance;
    if (!instance || strstr(instance->address, "${")) /* a computed host: each run may mean another machine */
        return;
    bool lost = class == CALL_UNKNOWN || class == CALL_TIMEOUT;
    if (class == CALL_NOT_SENT || (lost && (++instance->unanswered >= UNANSWERED_MOST || instance->set_aside)))
        open_circuit(s, call, instance);
    else if (!lost && class != CALL_NONE && class != CALL_CANCELED && class != CALL_HEARTBEAT)
        close_circuit(s, call, instance);
}

/* ---- pace ----------------------------------------------------------------------------------------------------------
 */

/* Of one host, as a time: calls are due one after another, `next` is when the next one is due. A host may be ahead of
 * it by a tenth of a second. */
struct pace {
    char *host;
    int64_t next; /* µs on the monotonic clock */
    UT_hash_handle hh;
};

static size_t host_length(const char *address)
{
    const char *port = strrchr(address, ':');
    return port && !strchr(port, ']') ? (size_t)(port - address) : strlen(address);
}

static struct pace *find(const struct scheduler *s, const char *address)
{
    struct pace *pace = NULL;
    HASH_FIND(hh, s->paces, address, host_length(address), pace);
    return pace;
}

static int64_t interval(const struct scheduler *s)
{
    int64_t rate = room_share(s, s->settings->dispatch.max_rate_per_host);
    return SPAN_SECOND * MICRO / (rate > 0 ? rate : 1);
}

static bool has_pace(const struct scheduler *s, const char *address)
{
    return s->settings->dispatch.max_rate_per_host > 0 && address && !strstr(address, "${");
}

bool pace_holds(struct scheduler *s, const char *address)
{
    const struct pace *pace = has_pace(s, address) ? find(s, address) : NULL;
    int64_t ahead = pace ? pace->next - s->now.mono.ms * MICRO - SPAN_SECOND * MICRO / 10 : 0;
    if (ahead <= 0)
        return false;
    look_again(s, mono_add(s->now.mono, ahead / MICRO + 1));
    return true;
}

static void forget_idle(struct scheduler *s)
{
    for (struct pace *pace = s->paces, *next; pace; pace = next) {
        next = pace->hh.next;
        if (pace->next < s->now.mono.ms * MICRO) {
            HASH_DELETE(hh, s->paces, pace);
            free(pace->host);
            free(pace);
        }
    }
}

void pace_take(struct scheduler *s, const char *address)
{
    if (!has_pace(s, address))
        return;
    struct pace *pace = find(s, address);
    if (!pace) {
        if (HASH_COUNT(s->paces) >= HOSTS_MAX)
            forget_idle(s);
        pace = mem_new(struct pace);
        pace->host = mem_copy_text(address);
        HASH_ADD_KEYPTR(hh, s->paces, pace->host, host_length(address), pace);
    }
    int64_t now = s->now.mono.ms * MICRO;
    pace->next = (pace->next > now ? pace->next : now) + interval(s);
}

void paces_release(struct scheduler *s)
{
    for (struct pace *pace = s->paces, *next; pace; pace = next) {
        next = pace->hh.next;
        HASH_DELETE(hh, s->paces, pace);
        free(pace->host);
        free(pace);
    }
}
