#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write cpu/api/entry.def from the CUDA toolkit's headers, or check it.

    tools/gen_entry.py           write cpu/api/entry.def
    tools/gen_entry.py --check   compare it with the headers, and
                                 src/driver/cuda_abi.h with cuda.h

CUDA_HOME names the toolkit (default /usr/local/cuda). Where its headers are
missing, both say so and end with status 77, which CTest takes for "skipped".

The names a driver exports are the functions that cuda.h declares when it is
preprocessed with every version of every call visible, and the profiler's
three. What cuGetProcAddress answers follows from the PFN_<name>_v<version>
types: the n-th version of a name is the n-th of its exported variants.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")
INCLUDE = os.path.join(CUDA, "include")
ENTRY = os.path.join(ROOT, "cpu/api/entry.def")
CC = os.environ.get("CC", "gcc")

HEAD = """\
/* SPDX-License-Identifier: MIT
 *
 * Written by tools/gen_entry.py; do not edit.
 *
 * ENTRY(symbol, name, version, per_thread): every function that a CUDA driver
 * exports. cuGetProcAddress(name, v) answers the row with the highest version
 * <= v; rows with per_thread 1 come first when the caller asks for the
 * per-thread default stream.
 */
/* clang-format off */
"""


def preprocess(text, *flags):
    command = [CC, "-E", "-P", "-x", "c", "-I" + INCLUDE, *flags, "-"]
    return subprocess.run(command, input=text, text=True, check=True,
                          capture_output=True).stdout


def declared(text, *flags):
    """Names of the functions declared by an #include line."""
    out = preprocess(text, *flags)
    return set(re.findall(r"\bCUresult\s+(cu\w+)\s*\(", out))


def exported():
    """All names: three ways of reading cuda.h, and the profiler's."""
    cuda = "#include <cuda.h>\n"
    plain = declared(cuda)
    threads = declared(cuda, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM")
    every = declared(cuda, "-D__CUDA_API_VERSION_INTERNAL")
    profiler = declared("#include <cudaProfiler.h>\n") - plain
    # A macro of cuda.h writes _ptsz behind a name that takes no stream.
    threads.discard("cuGetProcAddress_v2_ptsz")
    missing = (plain | threads) - every
    if missing:
        sys.exit("cuda.h: declared only in one reading: %s" % sorted(missing))
    return every | profiler


def versions():
    """(name, per_thread) -> sorted versions, from the PFN_ types."""
    found = {}
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
        with open(os.path.join(INCLUDE, header)) as f:
            text = f.read()
        pattern = r"\(\s*CUDAAPI\s*\*\s*PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)"
        for name, version, thread in re.findall(pattern, text):
            found.setdefault((name, bool(thread)), set()).add(int(version))
    return {key: sorted(v) for key, v in found.items()}


def rows():
    variants = {}
    for symbol in exported():
        m = re.fullmatch(r"(cu\w+?)(?:_v(\d+))?(_pt[ds][sz])?", symbol)
        key = (m.group(1), bool(m.group(3)))
        variants.setdefault(key, []).append((int(m.group(2) or 1), symbol))
    table = versions()
    if set(table) != set(variants):
        sys.exit("names without a version or a symbol: %s"
                 % sorted(set(table) ^ set(variants)))
    out = []
    for key, symbols in variants.items():
        if len(symbols) != len(table[key]):
            sys.exit("%s: %d versions, %d symbols"
                     % (key[0], len(table[key]), len(symbols)))
        for (_, symbol), version in zip(sorted(symbols), table[key]):
            out.append((key[0], int(key[1]), version, symbol))
    return sorted(out)


def entry_text():
    lines = [HEAD]
    for name, thread, version, symbol in rows():
        lines.append("ENTRY(%s, %s, %d, %d)\n" % (symbol, name, version, thread))
    lines.append("/* clang-format on */\n")
    return "".join(lines)


def abi_items():
    """What cuda_abi.h declares: enumerators, and fields of structs."""
    enums = []
    text = ""
    for name in ("cuda_enums.h", "cuda_abi.h", "cuda_result.def"):
        with open(os.path.join(ROOT, "src/driver", name)) as f:
            text += re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    enums += re.findall(r"\b(CU[A-Z0-9_a-z]+) = \w+", text)
    enums += re.findall(r"^CU_RESULT\((CUDA\w+),", text, re.M)
    # Macros on both sides: the numbers of launch tags, flags, targets.
    enums += [n for n, v in re.findall(r"#define (CU_\w+) (\S.*)", text)
              if re.match(r"0x", v)]
    fields = []
    for body, name in re.findall(r"typedef (?:struct|union) \{\n(.*?)\n\} "
                                 r"(\w+);", text, re.S):
        depth = 0
        for line in body.split("\n"):
            m = re.search(r"(\w+)(?:\[[^]]*\])?;", line)
            inner = "{" in line
            if "}" in line:
                depth -= 1
            if depth == 0 and not inner and m and m.group(1) != "default_":
                fields.append((name, m.group(1)))
            depth += inner
    return enums, fields


def measure(include, flags, enums, fields):
    names = sorted({s for s, _ in fields})
    body = ["#include %s\n#include <stddef.h>\n#include <stdio.h>\n"
            "int main(void) {\n" % include]
    body += ['printf("%s %%lld\\n", (long long)%s);\n' % (e, e) for e in enums]
    body += ['printf("sizeof %s %%zu\\n", sizeof(%s));\n' % (n, n)
             for n in names]
    body += ['printf("%s.%s %%zu\\n", offsetof(%s, %s));\n' % (s, f, s, f)
             for s, f in fields]
    body.append("return 0; }\n")
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "a")
        subprocess.run([CC, "-x", "c", "-", "-o", program, *flags],
                       input="".join(body), text=True, check=True)
        return subprocess.run([program], check=True, capture_output=True,
                              text=True).stdout.splitlines()


def check_abi():
    enums, fields = abi_items()
    enums = [e for e in enums if e != "CU_RESULT_FORCE_INT"]
    ours = measure('"driver/cuda_abi.h"', ["-I" + os.path.join(ROOT, "src")],
                   enums, fields)
    theirs = measure("<cuda.h>", ["-I" + INCLUDE], enums, fields)
    bad = [(a, b) for a, b in zip(ours, theirs) if a != b]
    for a, b in bad:
        print("cuda_abi.h: %s, cuda.h: %s" % (a, b))
    print("cuda_abi.h: %d numbers, %d fields compared, %d differ"
          % (len(enums), len(fields), len(bad)))
    return not bad


def main():
    if not os.path.exists(os.path.join(INCLUDE, "cudaTypedefs.h")):
        print("no CUDA headers in %s" % INCLUDE)
        return 77
    text = entry_text()
    if sys.argv[1:] == ["--check"]:
        with open(ENTRY) as f:
            same = f.read() == text
        print("entry.def: %d entries, %s" % (text.count("ENTRY(") - 1,
              "as the headers say" if same else "differs from the headers"))
        return 0 if check_abi() and same else 1
    with open(ENTRY, "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
