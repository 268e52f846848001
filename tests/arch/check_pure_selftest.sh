#!/bin/sh
# The purity check must see a clock. Usage: check_pure_selftest.sh FOLDER-OF-THE-CHECK COMPILER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include <time.h>\nlong now(void);\nlong now(void) { return (long)time(0); }\n' >"$work/bad.c"
"$2" -c "$work/bad.c" -o "$work/bad.o"
ar rc "$work/libbad.a" "$work/bad.o"
! "$1/check_pure.sh" "$1/ground.allow" "$work/libbad.a" >/dev/null
