#!/bin/sh
# SPDX-License-Identifier: MIT
#
# exports.sh ENTRY_DEF LIBRARY...: each library exports the symbols of
# entry.def and kilnDriverInfo, no more and no fewer.
set -u
entry=$1
shift
wanted=$(mktemp)
found=$(mktemp)
trap 'rm -f "$wanted" "$found"' EXIT
{
    sed -n 's/^ENTRY(\(cu[A-Za-z0-9_]*\),.*/\1/p' "$entry"
    echo kilnDriverInfo
} | LC_ALL=C sort >"$wanted"
bad=0
for library; do
    nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' |
        LC_ALL=C sort >"$found"
    if diff "$wanted" "$found"; then
        echo "ok   $library: $(wc -l <"$found") names"
    else
        echo "FAIL $library"
        bad=1
    fi
done
exit $bad
