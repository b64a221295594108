#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each shared library exports its own names and nothing else, and has the
# SONAME that programs ask for.
#
#     tools/check-symbols.sh BUILD
set -u
lib=$1/lib
bad=0
ran=0

complain() {
    echo "check-symbols: $*"
    bad=1
}

# check FILE SONAME PATTERN: every exported name matches the whole pattern.
check() {
    [ -e "$lib/$1" ] || return 0
    ran=$((ran + 1))
    names=$(nm -D --defined-only "$lib/$1" | awk '$2 != "A" {print $3}' |
        sed 's/@.*//')
    strange=$(echo "$names" | grep -Evx "$3" | head -n 5)
    [ -z "$strange" ] || complain "$1 exports" $strange
    [ -n "$names" ] || complain "$1 exports nothing"
    soname=$(readelf -d "$lib/$1" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
    [ "$soname" = "$2" ] || complain "$1 has SONAME '$soname', not '$2'"
}

check libkiln.so.0 libkiln.so.0 'kiln_[a-z0-9_]+'
check libkiln-cpu.so libkiln-cpu.so 'cu[A-Z][A-Za-z0-9_]*|kilnDriverInfo'
check cuda/libcuda.so.1 libcuda.so.1 'cu[A-Z][A-Za-z0-9_]*|kilnDriverInfo'
check libkiln-ptxjit.so libkiln-ptxjit.so 'kiln_ptxjit_[a-z_]+'
check libcudart.so.13 libcudart.so.13 '(cuda[A-Z]|__cuda[A-Z])[A-Za-z0-9_]*'
check libcudart.so.12 libcudart.so.12 '(cuda[A-Z]|__cuda[A-Z])[A-Za-z0-9_]*'

# The driver must not drag the compiler in.
for f in libkiln-cpu.so cuda/libcuda.so.1; do
    [ -e "$lib/$f" ] || continue
    if readelf -d "$lib/$f" | grep -q 'NEEDED.*LLVM'; then
        complain "$f needs LLVM"
    fi
done
[ $ran -gt 0 ] || complain "no library in $lib"
[ $bad = 0 ] && echo "check-symbols: $ran libraries are as they should be"
exit $bad
