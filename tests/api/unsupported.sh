#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unsupported.sh PROGRAM LIST [--accept]: the CPU driver lacks exactly the
# entry points of the list; --accept writes the list anew.
set -u
if [ "${3-}" = --accept ]; then
    "$1" >"$2"
    exit
fi
"$1" | diff "$2" - || {
    echo "FAIL these differ; after a look: unsupported.sh ... --accept"
    exit 1
}
echo "ok   $(wc -l <"$2") names are not there, as listed"
