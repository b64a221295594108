#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The main job once: compiles examples/saxpy.cu, loads it on the CPU device,
# launches it over a million elements and checks every one.
#
#     tools/run-example.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$1
n=1048576
out=$(mktemp "${TMPDIR:-/tmp}/kiln-saxpy-XXXXXX")
trap 'rm -f "$out"' EXIT

# Without a home there is no cache to hit the second time: use one here.
if [ -z "${HOME:-}${XDG_CACHE_HOME:-}${KILN_CACHE_DIR:-}" ]; then
    KILN_CACHE_DIR=$(cd "$build" && pwd)/cache
    export KILN_CACHE_DIR
    mkdir -p "$KILN_CACHE_DIR"
    echo "HOME is not set: the cache is $KILN_CACHE_DIR"
fi

set -- run examples/saxpy.cu saxpy --device cpu --grid 4096 --block 256 \
    f32:2 "f32[$n]:iota" "f32[$n]:const=1:@$out" "i32:$n"
echo "\$ kiln $*"
"$build/bin/kiln" "$@"
python3 - "$out" $n <<'PYTHON'
import struct, sys
data = open(sys.argv[1], "rb").read()
n = int(sys.argv[2])
if len(data) != 4 * n:
    sys.exit("result: %d bytes, %d expected" % (len(data), 4 * n))
for i, y in enumerate(struct.unpack("<%df" % n, data)):
    if y != 2 * i + 1:
        sys.exit("result: y[%d] is %r, %d expected" % (i, y, 2 * i + 1))
print("result: y[i] = 2 i + 1 for all %d elements" % n)
PYTHON
