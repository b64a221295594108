#!/bin/sh
# SPDX-License-Identifier: MIT
# ptx_coverage --pack and run_kernels on kernels whose ends are known:
# run_test.sh PTX_COVERAGE RUN_KERNELS KERNELS.ptx FOLDER
set -eu
coverage=$1 run=$2 ptx=$3 folder=$4
mkdir -p "$folder"
cd "$folder"
rm -rf cache
export KILN_CPU_TIME_LIMIT=0.3 KILN_CACHE_DIR="$PWD/cache"
fail() {
    echo "FAIL $*"
    exit 1
}

"$coverage" --pack kernels.pack "$ptx" > pack.out || fail "no pack"
"$run" --all --record answers --need 6 kernels.pack > run.out ||
    fail "the kernels did not run"
# NAME END END END END, one a seed
awk 'NF >= 6 && $2 ~ /^[0-3]$/ {
    for (name = 4; $name != "kernels.ptx"; name++);
    ends[$(name + 1)] = ends[$(name + 1)] " " $3
} END { for (n in ends) print n ends[n] }' run.out | sort > ends
cat > wanted <<'END'
approximate changed changed changed changed
axpy changed changed same changed
beyond fault fault fault fault
demanding changed changed changed changed
endless limit limit limit limit
its_address varies varies varies varies
lists changed changed changed changed
module_scope changed changed changed changed
nothing same same same same
refused refused refused refused refused
structure changed changed changed changed
trapping trap trap trap trap
END
diff wanted ends || fail "kernels ended otherwise"

"$run" --answers answers kernels.pack > again.out || fail "not equal to itself"
awk '/^all/ { ok = $3 == 6 && $12 == 6 } END { exit !ok }' again.out ||
    fail "6 kernels should be equal"

# Another digest for every answer: all differ, and their values are recorded.
awk '!/^#/ && $3 !~ /^[a-z-]*$/ { $3 = "1" } { print }' answers > other
if "$run" --answers other --record values kernels.pack > other.out; then
    fail "a wrong digest went unseen"
fi
awk '/^all/ { ok = $14 == 6 } END { exit !ok }' other.out ||
    fail "6 kernels should differ"

# Values in the last digit: floats are close, integers are not.
last() { # $1: digit to put where
    awk -v digit="$1" '$5 ~ /:/ {
        $3 = "1"
        for (i = 5; i <= NF; i++)
            $i = substr($i, 1, length($i) - 1) digit
    } { print }' values
}
last 5 > near
"$run" --answers near --all kernels.pack > near.out || :
for name in axpy approximate structure module_scope; do
    grep -q " close by .* $name\$" near.out || fail "$name is not close"
done
for name in lists demanding; do
    grep -q " differs by .* $name\$" near.out || fail "$name should differ"
done
echo "12 kernels ended as they should"
