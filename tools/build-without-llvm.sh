#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Everything but the PTX compiler plugin must build where there is no LLVM.
set -eu
cd "$(dirname "$0")/.."
cmake -S . -B build/nollvm -G Ninja -DKILN_LLVM=OFF
ninja -C build/nollvm -j "${JOBS:-$(nproc)}"
