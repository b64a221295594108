#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the benchmark of a build folder: tools/run-bench.sh BUILD [KERNEL...].
# OpenMP's threads sleep between the runs, so that they take nothing from the
# device that is measured next.
set -eu
build=$1
shift
export OMP_WAIT_POLICY=passive
exec "$build/bin/bench" "$@"
