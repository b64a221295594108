#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The answers of a GPU as they are kept: keep.py ANSWERS LIST... > KEPT

ANSWERS is what run_kernels --record wrote on the GPU (with --answers of the
CPU device, so that it has values where the two differ), each LIST what
run_kernels --answers ANSWERS --all printed on the CPU device. Of results that
are equal the digest is kept, of close ones some values, and of others a ?:
also of those that differ once and once do not, since they come of memory that
the kernel reads and nobody wrote.
"""
import sys

MOST = 8  # values of a result that is close


def spread(values):
    step = max(1, -(-len(values) // MOST))
    return values[::step]


def main():
    verdicts = {}
    for line in (line for path in sys.argv[2:] for line in open(path)):
        words = line.split()
        if len(words) > 3 and len(words[0]) == 16 and words[2] == "changed":
            verdicts.setdefault((words[0], words[1]), set()).add(words[3])
    for line in open(sys.argv[1]):
        words = line.split()
        if line.startswith("#") or len(words[2]) != 16:
            print(line.strip())
            continue
        # Values: it differed when they were taken.
        found = verdicts.get((words[0], words[1]), set())
        found |= {"differs"} if words[4:] and found != {"close"} else {"equal"}
        if "differs" in found:
            print(*words[:4], "?")
        elif "close" in found:
            print(*words[:4], *spread(words[4:]))
        else:
            print(*words[:4])


main()
