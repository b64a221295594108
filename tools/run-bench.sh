#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the benchmark of a build folder: tools/run-bench.sh BUILD [KERNEL...].
# Without a kernel's name, first the time of a warm start of `kiln run`.
# OpenMP's threads sleep between the runs, so that they take nothing from the
# device that is measured next.
set -eu
build=$1
shift
export OMP_WAIT_POLICY=passive
[ $# -gt 0 ] || ! [ -x "$build/bin/kiln" ] ||
    sh tests/examples/warm.sh "$PWD/$build/bin/kiln"
[ $# -gt 0 ] || bench/inspect.sh "$build"
exec "$build/bin/bench" "$@"
