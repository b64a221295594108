#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what kiln reads from cubins with NVIDIA's cuobjdump: kernel names,
offsets and sizes of parameters, registers, over cubins of the given files.

    compare_cuobjdump.py KILN CUOBJDUMP COUNT FILE...

Takes COUNT cubins, spread evenly over all that are in the files (of at most
512 KiB each, since cuobjdump prints every byte). Exit status 1 when one
differs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

MOST = 512 << 10


def theirs(cuobjdump, path):
    text = subprocess.run([cuobjdump, "-elf", path], capture_output=True,
                          check=True).stdout.decode("utf-8", "replace")
    kernels = {}
    section = ""
    for line in text.splitlines():
        symbol = re.match(r"\s*0x[0-9a-f]+\s+\S+\s+\S+\s+FUNC\s+\S+\s+.*\bENTRY\b"
                          r".*\s(\S+)$", line)
        if symbol and not re.search(r"ENTRY\S*\s+0\s+\S+$", line):
            kernels.setdefault(symbol.group(1), {"params": {}, "registers": -1})
        elif line.startswith(".nv.info.") and "\t" not in line.strip():
            section = line.strip()[len(".nv.info."):]
        elif line.startswith("."):
            section = ""
        count = re.search(r"function: (.+)\(0x[0-9a-f]+\)\s+register count: "
                          r"(\d+)", line)
        if count and count.group(1) in kernels:
            kernels[count.group(1)]["registers"] = int(count.group(2))
        param = re.search(r"Ordinal : 0x([0-9a-f]+)\s+Offset\s+: 0x([0-9a-f]+)"
                          r"\s+Size\s+: 0x([0-9a-f]+)", line)
        if param and section in kernels:
            ordinal, offset, size = (int(x, 16) for x in param.groups())
            kernels[section]["params"][ordinal] = (offset, size)
    return {n: (k["registers"], [p for _, p in sorted(k["params"].items())])
            for n, k in kernels.items()}


def ours(kiln, path):
    text = subprocess.run([kiln, "inspect", "--json", "--kernels", path],
                          capture_output=True, check=True).stdout
    entry = json.loads(text)["files"][0]["containers"][0]["entries"][0]
    return {k["name"]: (k["registers"], [(p["offset"], p["size"])
                                         for p in k["parameters"]])
            for k in entry["kernels"]}


def main():
    kiln, cuobjdump, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        for file in sys.argv[4:]:
            subprocess.run([kiln, "inspect", "--summary", "--extract", folder,
                            file], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
        paths = sorted(os.path.join(folder, n) for n in os.listdir(folder)
                       if n.endswith(".cubin"))
        paths = [p for p in paths if os.path.getsize(p) <= MOST]
        paths = paths[::max(1, len(paths) // count)][:count]

        def compare(path):
            return path, theirs(cuobjdump, path), ours(kiln, path)

        differ = kernels = params = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, a, b in pool.map(compare, paths):
                kernels += len(a)
                params += sum(len(k[1]) for k in a.values())
                if a != b:
                    differ += 1
                    for name in sorted(set(a) | set(b)):
                        if a.get(name) != b.get(name):
                            print("%s: %s: cuobjdump %s, kiln %s"
                                  % (os.path.basename(path), name,
                                     a.get(name), b.get(name)))
                            break
        print("%d cubins, %d kernels, %d parameters, %d cubins differ"
              % (len(paths), kernels, params, differ))
        return 1 if differ or not kernels else 0


sys.exit(main())
