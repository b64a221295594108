#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The answers of a GPU as they are kept: keep.py ANSWERS LIST > KEPT

ANSWERS is what run_kernels --record wrote on the GPU (with --answers of the
CPU device, so that it has values where the two differ), LIST what run_kernels
--answers ANSWERS --all printed on the CPU device. Of results that are equal
the digest is kept, of close ones some values, and of others a ?.
"""
import sys

MOST = 8  # values of a result that is close


def spread(values):
    step = max(1, -(-len(values) // MOST))
    return values[::step]


def main():
    verdicts = {}
    for line in open(sys.argv[2]):
        words = line.split()
        if len(words) > 3 and len(words[0]) == 16 and words[2] == "changed":
            verdicts[words[0], words[1]] = words[3]
    for line in open(sys.argv[1]):
        words = line.split()
        if line.startswith("#") or len(words[2]) != 16:
            print(line.strip())
            continue
        verdict = verdicts.get((words[0], words[1]), "equal")
        if verdict == "close":
            print(*words[:4], *spread(words[4:]))
        elif verdict == "equal":
            print(*words[:4])
        else:
            print(*words[:4], "?")


main()
