#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Well-formed instructions of every row of forms.def, and mutants of them.

lines(seed, count) gives (version, target, line) triples, the same ones for
the same seed and table.
"""
import os
import random
import re

HERE = os.path.dirname(os.path.abspath(__file__))
FORMS = os.path.join(HERE, "..", "..", "cpu", "ptx", "forms.def")

# Oldest to newest that the assembler of the toolkit takes.
CONTEXTS = [("9.0", "sm_120"), ("9.0", "sm_100"), ("8.8", "sm_90"),
            ("8.0", "sm_90"), ("7.8", "sm_80"), ("7.0", "sm_80"),
            ("6.5", "sm_75"), ("6.3", "sm_75"), ("9.0", "sm_100a"),
            ("9.0", "sm_120a")]
WEIGHTS = [28, 18, 10, 10, 10, 5, 10, 5, 2, 2]

BITS = {"pred": 1, "f16x2": 32, "bf16x2": 32, "tf32": 32, "u16x2": 32,
        "s16x2": 32, "f32x2": 64, "e4m3x2": 16, "e5m2x2": 16, "e2m3x2": 16,
        "e3m2x2": 16, "e2m1x2": 8, "ue8m0x2": 16, "e4m3x4": 32, "e5m2x4": 32,
        "e2m3x4": 32, "e3m2x4": 32, "e2m1x4": 16, "bf16": 16}
POOLS = {8: ["c"], 16: ["h", "hu", "hs", "hf"], 32: ["r", "ru", "rs", "f", "hh"],
         64: ["d", "du", "ds", "fd"], 128: ["q"], 1: ["p"]}
# What the table leaves to rules of its own; its generator gives too few
# operands that fit.
HARD = {"mma", "wmma", "ldmatrix", "stmatrix", "cp", "tex", "tld4", "txq",
        "suld", "sust", "sured", "suq", "call", "setmaxnreg", "multimem"}


def read_forms(path=FORMS):
    """[(mnemonic, version, sm, [words], [operand alternatives])]"""
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    macros, rows = {}, []

    def joined(expr):
        out = ""
        for m in re.finditer(r'"([^"]*)"|(\w+)', expr):
            out += m.group(1) if m.group(1) is not None \
                else joined(macros[m.group(2)])
        return out

    for line in text.splitlines():
        m = re.match(r"#define (\w+)\s+(\S.*)", line)
        if m:
            macros[m.group(1)] = m.group(2)
            continue
        m = re.match(r"FORM\((\w+),\s*(\d+),\s*(\d+|A\(\d+\)),\s*(.*),"
                     r"\s*\"([^\"]*)\"\)", line)
        if m:
            rows.append((m.group(1).lower(), int(m.group(2)), m.group(3),
                         joined(m.group(4)).split(),
                         [a.split() for a in m.group(5).split(" / ")]))
    return rows


def is_type(word):
    return word in BITS or re.fullmatch(r"[busf](8|16|32|64|128|4|1)", word) or \
        re.fullmatch(r"e\dm\dx?\d?|ue\dm\d(x\d)?|b\dx16\w*", word)


def bits_of(t):
    return BITS[t] if t in BITS else int(re.sub(r"\D", "", t) or 32)


def register(rnd, t):
    """A register that suits the type, by its declared type or by bits."""
    if not t:
        return "%r" + str(rnd.randrange(8))
    bits = bits_of(t)
    pick = {8: "c", 16: "h", 32: "r", 64: "d", 128: "q", 1: "p"}.get(bits, "r")
    if rnd.random() < 0.6:
        exact = {"u16": "hu", "s16": "hs", "f16": "hf", "u32": "ru",
                 "s32": "rs", "f32": "f", "u64": "du", "s64": "ds",
                 "f64": "fd", "f16x2": "hh"}
        pick = exact.get(t, pick)
    return "%" + pick + str(rnd.randrange(8))


def constant(rnd, t):
    if t and t.startswith("f") and t in ("f32", "f64"):
        return rnd.choice(["0f3F800000", "1.5", "0f00000000"]) \
            if t == "f32" else rnd.choice(["0d3FF0000000000000", "2.0"])
    return str(rnd.choice([0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 255, -1]))


class Line:
    def __init__(self, op, words, operands, guard=""):
        self.op, self.words, self.operands = op, words, operands
        self.guard = guard

    def text(self):
        head = ".".join([self.op] + self.words)
        return (self.guard + head + " " + ", ".join(self.operands)).rstrip() \
            + ";"

    def copy(self):
        return Line(self.op, list(self.words), list(self.operands), self.guard)


def choose_words(rnd, words):
    out, types = [], []
    for w in words:
        optional = w.endswith("?")
        choices = w.rstrip("?").lstrip("^").split("|")
        if optional and rnd.random() < 0.75:
            continue
        pick = rnd.choice(choices).rstrip("'")
        out.append(pick)
        if is_type(choices[0]):
            types.append(pick)
    return out, types


def space_of(words):
    for w in words:
        base = w.split("::")[0]
        if base in ("global", "shared", "local", "const", "param"):
            return base
    return ""


def address(rnd, space):
    names = {"global": "gl", "shared": "sh", "local": "lo", "const": "co",
             "param": "pin"}
    if space == "param":
        base = rnd.choice(["pin", "blob"])
    elif space == "const" and rnd.random() < 0.5:
        base = "co"
    elif space and rnd.random() < 0.3:
        base = names[space]
    else:
        base = "%d" + str(rnd.randrange(8))
        if space in ("shared", "local") and rnd.random() < 0.5:
            base = "%r" + str(rnd.randrange(8))
    if rnd.random() < 0.4:
        base += "+" + str(16 * rnd.randrange(4))
    return "[" + base + "]"


def operand(rnd, word, words, types):
    w = word.lstrip("=").rstrip("?~")
    kind, rest = w[0], w[1:].split("|")[0].rstrip("?~")
    code = rest[:1]
    named = {"u": "u32", "s": "s32", "b": "b32", "f": "f32", "h": "b16",
             "y": "b8", "B": "b64", "q": "b128"}
    t = named.get(code)
    if code.isdigit() and int(code) < len(types):
        t = types[int(code)]
    if code == "w" and types:
        t = types[0][0] + str(2 * bits_of(types[0]))
    vec = next((int(x[1]) for x in words if re.fullmatch(r"v[248]", x)), 1)
    if kind == "p":
        p = "%p" + str(rnd.randrange(8))
        return "!" + p if "=" not in word and rnd.random() < 0.2 else p
    if kind == "m":
        return address(rnd, space_of(words))
    if kind == "l":
        return rnd.choice(["L0", "L1"])
    if kind == "t":
        return "T"
    if kind == "i":
        return str(rnd.choice([0, 1, 2, 4, 8, 16]))
    if kind == "c":
        return "%d1" if "L2::cache_hint" in words else None
    if kind == "X":
        kind = rnd.choice("Vx")
    if kind in "vV" and (vec > 1 or kind == "V"):
        n = vec if vec > 1 else rnd.choice([2, 4])
        return "{" + ", ".join(register(rnd, t) for _ in range(n)) + "}"
    if kind in "axyv" and "=" not in word and rnd.random() < 0.2:
        return constant(rnd, t)
    if kind == "x" and rnd.random() < 0.2:
        return rnd.choice(["%tid.x", "%laneid", "gl", "sh", "%clock64"])
    out = register(rnd, t)
    if "|p" in word and rnd.random() < 0.3:
        out += "|%p" + str(rnd.randrange(8))
    return out


def well_formed(rnd, row):
    op, _, _, words, alternatives = row
    picked, types = choose_words(rnd, words)
    operands = []
    for word in rnd.choice(alternatives):
        if word in ("-", ""):
            continue
        if "?" in word and rnd.random() < 0.6:
            continue
        o = operand(rnd, word, picked, types)
        if o is not None:
            operands.append(o)
    guard = rnd.choice(["@%p1 ", "@!%p2 "]) if rnd.random() < 0.1 else ""
    return Line(op, picked, operands, guard)


# --- mutations ------------------------------------------------------------

EVERY = ("rn rz rm rp rni rzi ftz sat lo hi wide cc sync uni volatile relaxed "
         "acquire release gpu cta sys global shared local const param v2 v4 v8 "
         "nc ca cg cs approx full eq ne lt and or xor add min max inc cas exch "
         "NaN relu noftz aligned clamp wrap to u8 u16 u32 u64 s8 s16 s32 s64 "
         "f16 f16x2 bf16 bf16x2 f32 f64 b8 b16 b32 b64 b128 pred").split()
SWAPS = ["%p1", "%c1", "%h1", "%hu1", "%hs1", "%hf1", "%r1", "%ru1", "%rs1",
         "%hh1", "%f1", "%d1", "%du1", "%ds1", "%fd1", "%q1"]


def some(rnd, items):
    return rnd.randrange(len(items)) if items else None


def swap_type(rnd, line, rows):
    places = [(i, m) for i, o in enumerate(line.operands)
              for m in re.finditer(r"%[a-z]+\d+", o)]
    if not places:
        return
    i, m = rnd.choice(places)
    o = line.operands[i]
    line.operands[i] = o[:m.start()] + rnd.choice(SWAPS) + o[m.end():]


def drop_word(rnd, line, rows):
    if line.words:
        line.words.pop(some(rnd, line.words))


def repeat_word(rnd, line, rows):
    if line.words:
        i = some(rnd, line.words)
        line.words.insert(i, line.words[i])


def replace_word(rnd, line, rows):
    if line.words:
        line.words[some(rnd, line.words)] = rnd.choice(EVERY)


def sibling_word(rnd, line, rows):
    """Another choice of the same word, of any row of the mnemonic."""
    groups = [w.rstrip("?").lstrip("^").split("|") for r in rows
              if r[0] == line.op for w in r[3]]
    if not line.words:
        return
    i = some(rnd, line.words)
    fit = [g for g in groups if line.words[i] in g and len(g) > 1]
    if fit:
        line.words[i] = rnd.choice(rnd.choice(fit)).rstrip("'")


def add_word(rnd, line, rows):
    words = [c for r in rows if r[0] == line.op for w in r[3]
             for c in w.rstrip("?").lstrip("^").split("|")]
    pick = rnd.choice(words if words and rnd.random() < 0.7 else EVERY)
    line.words.insert(rnd.randrange(len(line.words) + 1), pick.rstrip("'"))


def wrong_space(rnd, line, rows):
    spaces = ["global", "shared", "local", "const", "param", "shared::cta"]
    for i, w in enumerate(line.words):
        if w.split("::")[0] in spaces:
            line.words[i] = rnd.choice(spaces)
            return
    line.words.insert(0, rnd.choice(spaces))


def drop_operand(rnd, line, rows):
    if line.operands:
        line.operands.pop(some(rnd, line.operands))


def repeat_operand(rnd, line, rows):
    if line.operands:
        i = some(rnd, line.operands)
        line.operands.insert(i, line.operands[i])


def swap_operands(rnd, line, rows):
    if len(line.operands) > 1:
        i = rnd.randrange(len(line.operands) - 1)
        o = line.operands
        o[i], o[i + 1] = o[i + 1], o[i]


def number(rnd, line, rows):
    if line.operands:
        line.operands[some(rnd, line.operands)] = rnd.choice(
            ["0", "1", "-1", "5", "99", "256", "65536", "4294967295",
             "4294967296", "0x7fffffffffffffff", "1.5", "0f3F800000",
             "0d3FF0000000000000", "-2147483649", "WARP_SZ"])


def undeclared(rnd, line, rows):
    if line.operands:
        i = some(rnd, line.operands)
        line.operands[i] = re.sub(r"%?[a-zA-Z]\w*", "%nope", line.operands[i],
                                  count=1)


def special(rnd, line, rows):
    if line.operands:
        line.operands[some(rnd, line.operands)] = rnd.choice(
            ["%tid.x", "%ntid", "%clock64", "%laneid", "gl", "sh", "co", "lo",
             "pin", "L0", "k0", "_", "%lanemask_lt", "%envreg3", "fn"])


def vector_size(rnd, line, rows):
    for i, o in enumerate(line.operands):
        if o.startswith("{"):
            inner = o[1:-1].split(", ")
            if rnd.random() < 0.5:
                inner.append(inner[0])
            else:
                inner.pop()
            line.operands[i] = "{" + ", ".join(inner) + "}"
            return
    if line.operands:
        i = some(rnd, line.operands)
        line.operands[i] = "{" + line.operands[i] + ", " + \
            line.operands[i] + "}"


def brackets(rnd, line, rows):
    if line.operands:
        i = some(rnd, line.operands)
        o = line.operands[i]
        line.operands[i] = o[1:-1] if o.startswith("[") else "[" + o + "]"


def variable(rnd, line, rows):
    for i, o in enumerate(line.operands):
        if o.startswith("["):
            line.operands[i] = "[" + rnd.choice(
                ["gl", "sh", "lo", "co", "pin", "blob", "0", "4096", "%r1",
                 "%f1", "%h1", "gl+4294967296", "%d1+2147483647", "%d1-8",
                 "%d1+2147483648", "fn"]) + "]"
            return


def negation(rnd, line, rows):
    if line.operands:
        i = some(rnd, line.operands)
        line.operands[i] = rnd.choice(["!", "-"]) + line.operands[i]


def guards(rnd, line, rows):
    line.guard = rnd.choice(["@%r1 ", "@%nope ", "@!%p1 ", "@%p3 ", "@1 "])


def spelling(rnd, line, rows):
    line.op = line.op[:-1] + rnd.choice("xqz") if rnd.random() < 0.7 \
        else rnd.choice([r[0] for r in rows])


def order(rnd, line, rows):
    if len(line.words) > 1:
        i = rnd.randrange(len(line.words) - 1)
        w = line.words
        w[i], w[i + 1] = w[i + 1], w[i]


MUTATIONS = [(swap_type, 16), (drop_word, 10), (repeat_word, 3),
             (replace_word, 8), (sibling_word, 14), (add_word, 10),
             (wrong_space, 5), (drop_operand, 5), (repeat_operand, 3),
             (swap_operands, 5), (number, 10), (undeclared, 2), (special, 6),
             (vector_size, 5), (brackets, 3), (variable, 4), (negation, 3),
             (guards, 2), (spelling, 1), (order, 2)]


def too_new(row, context):
    version = int(context[0].replace(".", ""))
    least = int(row[2].strip("A()"))
    arch = context[1][-1] == "a"
    return row[1] > version or least > int(context[1][3:].rstrip("a")) or \
        (row[2][0] == "A" and not arch)


def lines(seed, count, only=None, mutants=True):
    rnd = random.Random(seed)
    rows = read_forms()
    by_op = {}
    for r in rows:
        by_op.setdefault(r[0], []).append(r)
    ops = [op for op in by_op if only is None or op in only]
    weights = [min(6, len(by_op[op])) * (0.3 if op in HARD else 1)
               for op in ops]
    what = [m for m, _ in MUTATIONS]
    how_often = [w for _, w in MUTATIONS]
    seen = set()
    while len(seen) < count:
        context = rnd.choices(CONTEXTS, WEIGHTS)[0]
        row = rnd.choice(by_op[rnd.choices(ops, weights)[0]])
        while too_new(row, context) and rnd.random() < 0.8:
            context = rnd.choice(CONTEXTS)
        line = well_formed(rnd, row)
        for _ in range(mutants and rnd.choices([0, 1, 2], [25, 65, 10])[0]):
            rnd.choices(what, how_often)[0](rnd, line, rows)
        item = context + (line.text(),)
        if item not in seen:
            seen.add(item)
            yield item
