/* Memory. Daemons end with one message when memory is out (kill -9 is safe for them), so roof and adapters use
 * `mem_*`, which never return NULL. Parsers and executor-lib use malloc or an arena and return STATUS_NO_MEMORY. */
#ifndef CARILLON_CORE_BASE_MEM_H
#define CARILLON_CORE_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size); /* zeroed; free() it */
void *mem_resize(void *old, size_t size);
char *mem_copy_text(const char *text);            /* NULL stays NULL */
char *mem_copy(const void *bytes, size_t length); /* NUL added behind */
#define mem_new(type) ((type *)mem_alloc(sizeof(type)))

#endif
