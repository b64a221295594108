#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All readers at once, on all cores, for some time: run.sh of the folder that
# prepare.sh makes.
#
#     run.sh SECONDS OUT [CORES]
#
# READERS="scan=7 ptx=5" runs those alone, each with so many processes.
# Every process of a reader shares one corpus folder, live/NAME beside this
# file, with which the next run begins. OUT gets
#     result.txt      a line a reader: executions, seconds, processes, edges
#                     when the corpus was loaded, edges at the end, second of
#                     the last new edge (0: none), findings
#     corpus.tar.gz   the corpora
#     findings/       inputs that were too much, and what was said
set -u
here=$(cd "$(dirname "$0")" && pwd)
seconds=$1
mkdir -p "$2/findings" "$here/logs"
[ -d "$here/live" ] || {
    mkdir "$here/live"
    tar -C "$here/live" -xzf "$here/corpus.tar.gz"
}
out=$(cd "$2" && pwd)
cores=${3:-$(nproc)}
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export ASAN_OPTIONS=quarantine_size_mb=4:max_malloc_fill_size=0:allocator_may_return_null=1:handle_abort=1
readers=$(cd "$here/bin" && ls | sed 's/^fuzz_//')
[ -z "${READERS:-}" ] || readers=$(for r in $READERS; do echo "${r%%=*}"; done)
for r in $readers; do
    [ -x "$here/bin/fuzz_$r" ] || {
        echo "$0: no reader $r" >&2
        exit 2
    }
done
rm -f "$here"/logs/*

# The slow ones get more of the cores.
processes() {
    for r in ${READERS:-}; do
        [ "${r%%=*}" != "$1" ] || {
            echo "${r#*=}"
            return
        }
    done
    case $1 in
    cubin | ptx) share=3 ;;
    fatbin | header | scan) share=2 ;;
    *) share=1 ;;
    esac
    n=$((share * cores / 16))
    [ $n -gt 0 ] || n=1
    echo $n
}

# fuzz NAME NUMBER: one process after the other until the time is over; one
# that ends early had a finding.
fuzz() {
    end=$(($(date +%s) + seconds))
    part=0
    while left=$((end - $(date +%s))) && [ $left -gt 2 ]; do
        part=$((part + 1))
        "$here/bin/fuzz_$1" "$here/live/$1" \
            -max_total_time=$left -max_len=8192 -timeout=10 \
            -rss_limit_mb=2048 -print_final_stats=1 -reload=1 \
            -artifact_prefix="$out/findings/$1-" \
            >"$here/logs/$1.$2.$part" 2>&1 || {
            [ $left -le 5 ] || sleep 1
            cp "$here/logs/$1.$2.$part" "$out/findings/$1.$2.$part.log"
        }
    done
}

# Of a reader's logs: the most edges that a process has seen.
edges() {
    cat "$here"/logs/"$1".* 2>/dev/null | sed -n 's/.* cov: \([0-9]*\) .*/\1/p' |
        sort -n | tail -n 1
}

start=$(date +%s)
for r in $readers; do
    mkdir -p "$here/live/$r"
    n=$(processes "$r")
    while [ "$n" -gt 0 ]; do
        fuzz "$r" "$n" &
        n=$((n - 1))
    done
done
while now=$(($(date +%s) - start)) && [ $now -lt "$seconds" ]; do
    for r in $readers; do
        echo "$r $now $(edges "$r")"
    done
    sleep 5
done >"$here/logs/samples"
wait

for r in $readers; do
    # A process that was ended by a finding tells no final count.
    runs=0
    for log in "$here"/logs/"$r".*; do
        n=$(sed -n 's/^#\([0-9][0-9]*\).*/\1/p' "$log" | tail -n 1)
        runs=$((runs + ${n:-0}))
    done
    first=$(cat "$here"/logs/"$r".*.1 | sed -n 's/.*INITED cov: \([0-9]*\) .*/\1/p' |
        sort -n | tail -n 1)
    last=$(edges "$r")
    # the first sample that has as many edges as the end
    when=$(awk -v r="$r" -v last="$last" -v first="${first:-0}" '
        last > first && $1 == r && $3 == last { print $2; exit }' \
        "$here/logs/samples")
    [ "${first:-0}" = "$last" ] && when=0
    findings=$(find "$out/findings" -name "$r.*.log" | wc -l)
    echo "$r $runs $seconds $(processes "$r") ${first:-0} $last ${when:-$seconds} $findings"
done | tee "$out/result.txt"
tar -C "$here/live" -czf "$out/corpus.tar.gz" .
rmdir "$out/findings" 2>/dev/null
! awk '{ bad += $8 } END { exit bad == 0 }' "$out/result.txt"
