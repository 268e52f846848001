#!/bin/sh
# The include check must fail on a house with a fault. Usage: check_includes_selftest.sh FOLDER-OF-THE-CHECK
set -eu
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/core/base" "$house/scheduler"
echo '#include "core/model/job.h"' >"$house/core/base/bad.c"
! "$1/check_includes.sh" "$house" >/dev/null
rm "$house/core/base/bad.c"
"$1/check_includes.sh" "$house"
echo '#include "adapters/store/db.h"' >"$house/scheduler/bad.c"
! "$1/check_includes.sh" "$house" >/dev/null
