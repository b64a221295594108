#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All that a run on another machine needs:
#     prepare.sh BUILD FOLDER [sm_90]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
out=$2
device=${3:-sm_90}
mkdir -p "$out/images" "$out/lib"
cp "$build/bin/walk_load" "$build/bin/walk_best" "$out/"
# The C library is the other machine's own.
ldd "$build/bin/walk_best" | awk '$3 ~ "^/" { print $3 }' |
    grep -vE '/(libc|libm|libdl|libpthread|ld-linux[^/]*)\.so' |
    xargs -r -I LIB cp -L LIB "$out/lib/"
cat "$here"/rows*.txt "$here"/late*.txt >"$out/rows.txt"
"$build/bin/walk_make" "$device" "$out/rows.txt" "$here/units" "$out/images"
cat >"$out/run.sh" <<'R'
#!/bin/sh
# run.sh [MUTANTS [OUT]]
here=$(cd "$(dirname "$0")" && pwd)
mutants=${1:-20000}
mkdir -p "${2:-.}"
to=$(cd "${2:-.}" && pwd)
cd "$to" # copies that end a process are left here
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
jobs=$(nproc)
status=0
echo "== which image the driver takes"
KILN_TEST_DRIVER=${KILN_TEST_DRIVER:-libcuda.so.1} \
    "$here/walk_load" "$here/images" "$jobs" >"$to/nvidia.txt" || status=1
grep '#.*predicted\|^# ' "$to/nvidia.txt"
echo "== through libkiln"
"$here/walk_best" nvidia "$here/images" || status=1
echo "== damaged copies through libkiln"
parts=$((jobs < 16 ? 8 : 16))
part=$(((mutants + parts - 1) / parts))
for seed in $(seq $parts); do
    timeout 240 "$here/walk_best" nvidia "$here/images" --mutate "$part" \
        "$seed" >"$to/mutants-$seed.txt" 2>&1 || echo "seed $seed: status $?" \
        >>"$to/mutants-$seed.txt" &
done
wait
cat "$to"/mutants-*.txt
grep -q 'status' "$to"/mutants-*.txt && status=1
exit $status
R
chmod +x "$out/run.sh"
du -sh "$out"
