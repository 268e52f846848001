/* Port: time zones by IANA name. Implementations read the system's tzdata once and keep it; the ground floor only
 * computes. */
#ifndef CARILLON_CORE_PORTS_ZONES_H
#define CARILLON_CORE_PORTS_ZONES_H

struct zone; /* core/logic/time/zone.h */

struct zones {
    /* NULL: no such zone. Borrowed, valid as long as `zones`. Safe from several threads. */
    const struct zone *(*get)(struct zones *zones, const char *name);
};

#endif
