#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The matrix on the build's own driver:  cpu.sh PROGRAMS DRIVER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export HOME="$tmp" KILN_TEST_DRIVER="$2" KILN_CPU_DRIVER="$2"
unset KILN_CPU_CC CUDA_FORCE_PTX_JIT CUDA_DISABLE_PTX_JIT KILN_CACHE_DIR
# else PTX of any version is taken
export KILN_CPU_DRIVER_VERSION=13000
cat "$here"/rows*.txt "$here"/late*.txt >"$tmp/rows"
mkdir "$tmp/images"
"$1/walk_make" cpu "$tmp/rows" "$here/units" "$tmp/images"
status=0
"$1/walk_load" "$tmp/images" 2 >"$tmp/found" || status=1
grep 'predicted\|^#' "$tmp/found"
"$1/walk_best" cpu "$tmp/images" || status=1
"$1/walk_best" cpu "$tmp/images" --mutate "${KILN_TEST_MUTANTS:-300}" || status=1
exit $status
