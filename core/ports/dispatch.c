#include "core/ports/dispatch.h"

#include <stdlib.h>

void dispatch_call_release(struct dispatch_call *call)
{
    free(call->answer);
    call->answer = NULL;
    call->answer_length = 0;
}
