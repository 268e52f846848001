/* Reading cron text: what cron_parse.c (expressions, dialects) and cron_field.c (one field) share. Private to them. */
#ifndef CARILLON_CORE_LOGIC_TIME_CRON_PARSER_H
#define CARILLON_CORE_LOGIC_TIME_CRON_PARSER_H

#include "core/logic/time/cron_fields.h"

struct cron_dialect_rule {
    const char *name;
    size_t fields_low, fields_high;
    enum cron_field first; /* what the first field is */
    int weekday_low, weekday_high;
    bool sunday_is_one;   /* 1 = SUN … 7 = SAT; otherwise 0 = SUN */
    bool one_question;    /* exactly one of the day fields is `?` */
    bool wraps;           /* 22-2 is a range over midnight */
    bool strict_step;     /* a step longer than the field is an error, not a warning */
    bool star_decides;    /* Vixie: either day field matches, unless one starts with `*` */
    bool seven_is_sunday; /* 0 and 7 */
    bool loose;           /* `?` anywhere, and ranges before `#` */
};

struct cron_parser {
    const char *text; /* all of it: positions are counted from here */
    const char *at;
    const char *end; /* of the present field */
    enum cron_field field;
    const struct cron_dialect_rule *dialect;
    uint64_t key;
    struct faults *warnings;
    struct error *err;
    struct cron_expression *expression;
    bool numeric_weekday;
};

/* Reads the text from p->at to p->end into p->field of p->expression. */
enum status cron_field_parse(struct cron_parser *p) MUST_USE;
/* All weekdays that the expression names, `#` and `L` included. */
uint8_t cron_named_weekdays(const struct cron_expression *e);

#endif
