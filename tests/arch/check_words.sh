#!/bin/sh
# The repository speaks of Carillon alone: no unfinished work marked in code, no absolute paths of a build machine, no registry hosts in
# the lock file. Usage: check_words.sh ROOT
set -eu
cd "$1"
status=0
hits=$(git grep -nE '\b(TODO|FIXME|XXX|HACK)\b' -- '*.c' '*.h' '*.ts' '*.tsx' '*.py' '*.sh' ':!tests/arch' || true)
if [ -n "$hits" ]; then
    printf '%s\n  ^ unfinished work is an issue, not a remark\n' "$hits"
    status=1
fi
if [ -f ui/package-lock.json ] && grep -qE '"resolved": *"https?:' ui/package-lock.json; then
    echo "ui/package-lock.json names download hosts; ui/.npmrc holds omit-lockfile-registry-resolved=true"
    status=1
fi
exit $status
