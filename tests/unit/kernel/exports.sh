#!/bin/sh
# SPDX-License-Identifier: MIT
#
# libkiln.so exports exactly the functions that its headers declare.
#
#     exports.sh LIBRARY INCLUDE_FOLDER
set -u
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
nm -D --defined-only "$1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' |
    sort >"$tmp/exported"
# A declaration's name is followed by its parameter list; comments are not
# declarations, a typedef is no function.
cat "$2"/*.h | sed -e 's|/\*.*\*/||' | awk '
    /\/\*/ { comment = 1 } !comment { print } /\*\// { comment = 0 }' |
    grep -v typedef | grep -oE '\bkiln_[a-z_]+\(' | tr -d '(' | sort -u \
    >"$tmp/declared"
if ! diff -u "$tmp/declared" "$tmp/exported"; then
    echo "the exports differ from the headers"
    exit 1
fi
echo "$(wc -l <"$tmp/exported") functions"
[ -s "$tmp/exported" ]
