/* The parts of a transfer: the call is made ready (transfer_prepare.c), guarded and judged (transfer.c), its answer
 * taken in (transfer_answer.c). */
#ifndef CARILLON_ADAPTERS_CURL_TRANSFER_PARTS_H
#define CARILLON_ADAPTERS_CURL_TRANSFER_PARTS_H

#include "adapters/curl/transfer.h"

#define TRANSFER_HEADERS_MAX ((size_t)64 << 10) /* bytes of all header lines of an answer, interim ones included */

/* The call's error text; always false. */
bool transfer_refuse(struct dispatch_call *call, const char *format, ...) PRINTF_LIKE(2, 3);
/* curl's callbacks for a header line and a piece of the body; the context is the transfer. */
size_t transfer_on_header(char *bytes, size_t size, size_t count, void *context);
size_t transfer_on_body(char *bytes, size_t size, size_t count, void *context);

#endif
