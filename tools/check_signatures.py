#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the CPU driver's entry points with cuda.h, parameter by parameter.

    tools/check_signatures.py BUILD    (for BUILD's generated headers)

cpu/api defines its functions without NVIDIA's header, and the linker compares
no types; this does, through the compiler's own listing of declarations. Status
77 without the toolkit.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                       "include")
# Names that cuda.h gives one type, and how aux-info writes 64-bit numbers.
SAME = [(r"\b(CU\w+?)_v[12]\b", r"\1"), (r"\bcuuint(32|64)_t\b", r"uint\1_t")]


def declared(source, flags):
    """name -> list of parameter types, from gcc -aux-info."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["gcc", "-fsyntax-only", "-w", "-x", "c", "-aux-info",
                        out.name, *flags, source], check=True)
        text = out.read().decode()
    found = {}
    pattern = r"CUresult (cu[A-Z]\w*) \((.*)\);"
    for name, params in re.findall(pattern, text):
        for old, new in SAME:
            params = re.sub(old, new, params)
        found[name] = [plain(p) for p in params.split(",")]
    return found


def plain(param):
    """The type alone, without the name that a definition has."""
    words = re.findall(r"\w+|\*", param)
    types = {"int", "char", "short", "long", "unsigned", "void", "float"}
    if len(words) > 1 and words[-1] != "*" and words[-1] not in types:
        if words[-2] not in ("const",) and not words[-1].startswith("CU"):
            words.pop()
    return " ".join(words)


def main():
    if not os.path.exists(os.path.join(INCLUDE, "cuda.h")):
        print("no CUDA headers in %s" % INCLUDE)
        return 77
    with tempfile.NamedTemporaryFile(suffix=".c", mode="w") as f:
        f.write("#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n"
                "#include <cudaProfiler.h>\n")
        f.flush()
        theirs = declared(f.name, ["-I" + INCLUDE])
    ours = {}
    flags = ["-std=c17", "-D_GNU_SOURCE", "-I" + ROOT, "-I" + ROOT + "/src",
             "-I" + ROOT + "/include", "-I" + sys.argv[1] + "/cpu/api"]
    for source in sorted(glob.glob(ROOT + "/cpu/api/*.c")):
        if os.path.basename(source) not in ("stubs.c", "entry.c"):
            ours.update(declared(source, flags))
    # Helpers of the macros in api.h.
    ours = {n: p for n, p in ours.items() if not n.endswith(("_on", "_of"))}
    bad = [n for n in sorted(ours) if ours[n] != theirs.get(n)]
    for name in bad:
        print("%s: %s, cuda.h: %s" % (name, ours[name], theirs.get(name)))
    print("%d functions compared, %d differ" % (len(ours), len(bad)))
    return 1 if bad or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
