#!/bin/sh
# The ground floor is pure: its undefined symbols, less its own, must stand in the allow-list. A call of time() fails here.
# Usage: check_pure.sh ALLOW ARCHIVE…
set -eu
allow=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u >"$work/own"
nm -u "$@" 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u >"$work/needed"
sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$allow" >"$work/allow"
comm -23 "$work/needed" "$work/own" | grep -vxE -f "$work/allow" >"$work/bad" || true
if [ -s "$work/bad" ]; then
    echo "the ground floor may not call:"
    cat "$work/bad"
    exit 1
fi
