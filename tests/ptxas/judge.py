#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the CUDA toolkit's assembler says to lines of PTX.

judge.py SEED COUNT > answers.txt

ptxas names every line that it refuses, save that a syntax error ends the
file, and that what is found wrong later shows once the rest is right. So
lines that were named are taken out and the others go in again, until a file
passes: its lines are accepted.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import lines

PTXAS = os.environ.get("PTXAS", "/usr/local/cuda/bin/ptxas")
BATCH = 120
CRASH = object()


def module(version, target, batch):
    """The text, and which line of it holds each of the batch."""
    frame = open(os.path.join(lines.HERE, "frame.ptx")).read()
    head = open(os.path.join(lines.HERE, "head.ptx")).read()
    # Registers of 128 bits are newer than the oldest version here.
    frame = frame.replace("@WIDE@", ".reg .b128 %q<8>;"
                          if float(version) >= 8.3 else "")
    text = f".version {version}\n.target {target}\n" + head
    where = {}
    for i, line in batch:
        before, after = frame.replace("@N@", str(i)).split("@LINE@")
        text += before
        first = text.count("\n") + 1
        text += line + after
        for n in range(first, text.count("\n") + 1):
            where[n] = i
    return text, where


def answer(version, target, batch):
    refused = {}
    left = list(batch)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.ptx")
        while left:
            text, where = module(version, target, left)
            open(path, "w").write(text)
            run = subprocess.run(
                [PTXAS, "-arch=" + target, "-O0", "-o",
                 os.path.join(folder, "out"), path], capture_output=True,
                text=True, timeout=600)
            named = {}
            for m in re.finditer(r"line (\d+); (error|fatal) *: (.*)",
                                 run.stdout + run.stderr):
                i = where.get(int(m.group(1)))
                if i is not None:
                    named.setdefault(i, m.group(3))
            # Fatal for the file, at the end, without a line of its own.
            for m in re.finditer(r"uses (32-bit address) on line '(\d+)'",
                                 run.stdout + run.stderr):
                if int(m.group(2)) in where:
                    named.setdefault(where[int(m.group(2))], m.group(1))
            if run.returncode == 0:
                break
            if not named and len(left) == 1: # refused, or ptxas crashed
                named[left[0][0]] = (run.stdout + run.stderr)[:200] \
                    if run.returncode > 0 else CRASH
            if not named:
                half = len(left) // 2
                for part in (left[:half], left[half:]):
                    refused.update(answer(version, target, part))
                break
            refused.update(named)
            left = [x for x in left if x[0] not in named]
    return refused


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    only = set(sys.argv[3].split(",")) if len(sys.argv) > 3 else None
    items = list(enumerate(
        lines.lines(seed, count, only, not os.environ.get("PLAIN"))))
    groups = {}
    for i, (version, target, line) in items:
        groups.setdefault((version, target), []).append((i, line))
    jobs = [(v, t, g[k:k + BATCH]) for (v, t), g in groups.items()
            for k in range(0, len(g), BATCH)]
    refused = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(lambda job: answer(*job), jobs):
            refused.update(part)
    for (version, target), group in groups.items():
        print(f"= {version} {target}")
        for i, line in group:
            if refused.get(i) is CRASH:
                continue # no answer
            print("-" if i in refused else "+", line,
                  f"\t{refused[i]}" if i in refused and
                  os.environ.get("REASONS") else "", sep="")


main()
