/* Reading of checked JSON into structs by tables of fields; internal to core/model. Every fault is added with its path,
 * and reading goes on, so that one pass tells them all. Texts and arrays go to the arena; running out of it sets
 * `no_memory`, after which results are not to be used. */
#ifndef CARILLON_CORE_MODEL_READ_H
#define CARILLON_CORE_MODEL_READ_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/instant.h"
#include "core/base/jsonscan.h"
#include "core/model/job.h"

#define READ_TEXT_MAX 4096 /* bytes of a text that has no limit of its own */

struct reader {
    struct arena *arena;
    struct faults *faults;
    bool no_memory;
};

/* Where we are: a chain of members and indices up to the root. */
struct place {
    const struct place *up;
    const char *name; /* NULL: an index */
    size_t index;
};

#define PLACE_MEMBER(up, name) (&(const struct place){(up), (name), 0})
#define PLACE_INDEX(up, index) (&(const struct place){(up), NULL, (index)})

const char *place_text(const struct place *place, char buffer[FAULT_PATH_MAX]);
/* Copies the chain into the arena; NULL when out of memory. */
const struct place *place_keep(struct reader *reader, const struct place *place);
void read_fault(struct reader *reader, const struct place *place, const char *format, ...) PRINTF_LIKE(3, 4);

struct field;
typedef void read_function(struct reader *reader, const struct place *place, struct slice value, void *target,
                           const struct field *field);

struct choice {
    const char *text;
    int value;
};

struct field {
    const char *name;
    read_function *read;
    size_t offset; /* of the target in the struct */
    int64_t low, high;
    const struct choice *choices; /* read_choice: ends with text NULL */
    const char *shown;            /* read_choice: what a fault lists */
};

/* Reads the members of an object through `fields`; unknown ones are faults. null counts as absent. Returns a bit per
 * field that was there. */
uint64_t read_object(struct reader *reader, const struct place *place, struct slice value, const struct field *fields,
                     size_t count, void *target);
#define FIELD_BIT(index) ((uint64_t)1 << (index))

/* Targets in brackets. low and high: allowed ends, of texts their bytes (high 0: READ_TEXT_MAX). */
read_function read_text;        /* [const char *] any characters but U+0000 */
read_function read_line;        /* [const char *] no control characters, not empty */
read_function read_name;        /* [const char *] name_valid */
read_function read_bool;        /* [bool] */
read_function read_int;         /* [int] */
read_function read_int64;       /* [int64_t] */
read_function read_fraction;    /* [double] 0…1 */
read_function read_span;        /* [span] */
read_function read_instant;     /* [instant] */
read_function read_choice;      /* [an enum] */
read_function read_json;        /* [const char *] any JSON, kept as text; high: bytes */
read_function read_json_object; /* [const char *] the same, an object only */
read_function read_raw;         /* [struct slice] whatever it is, for a second look */
read_function read_address;     /* [const char *] host:port */

/* Text of a JSON string in the arena; NULL, with a fault, when it is none. */
const char *take_text(struct reader *reader, const struct place *place, struct slice value);
void *take_memory(struct reader *reader, size_t size); /* zeroed; NULL sets no_memory */
#define take_array(reader, type, count) ((type *)take_memory((reader), sizeof(type) * (count)))
/* Array with 1 … maximum elements? Adds the fault itself otherwise. A single other value counts as a list of one when
 * `single`. */
bool take_list(struct reader *reader, const struct place *place, struct slice value, size_t maximum, bool single,
               size_t *ret_count);
/* Element of what take_list has counted. */
struct slice list_element(struct slice list, struct json_walk *walk, bool first);

bool address_valid(const char *address); /* host:port, IPv6 in brackets */
bool line_valid(const char *text);       /* no control characters */

#endif
