#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Adds the result of a run to fuzz/record.txt, and says what all runs come
# to: executions, those since a run that had a finding, and for how long no
# new edge was seen.
#     fuzz/record.sh [RESULT.txt...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
record=$here/record.txt
for result; do
    rev=$(git -C "$here" rev-parse --short HEAD)
    sed "s/^/$(date -u +%F) $rev /" "$result" >>"$record"
done
awk '!/^#/ && NF == 10 {
        if (!($3 in runs)) order[++n] = $3
        runs[$3]++
        executions[$3] += $4
        findings[$3] += $10
        clean[$3] = $10 ? 0 : clean[$3] + $4
        # a run without a new edge goes on where the last one ended, but where
        # the reader was changed in between
        if ($9 > 0 || $8 != edges[$3]) quiet[$3] = $5 - $9
        else quiet[$3] += $5
        edges[$3] = $8
    }
    END {
        printf "%-8s %5s %12s %8s %12s %6s %12s\n", "reader", "runs",
            "executions", "findings", "since then", "edges", "no new for s"
        for (i = 1; i <= n; i++) {
            r = order[i]
            printf "%-8s %5d %12d %8d %12d %6d %12d\n", r, runs[r],
                executions[r], findings[r], clean[r], edges[r], quiet[r]
        }
    }' "$record"
