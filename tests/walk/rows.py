#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes rows of the walk matrix: one load a row, in the words of
tests/unit/walk/nvidia-sm90.txt, none of which is repeated.

    rows.py SEED COUNT [FIRST_NUMBER [FILE...]] > rows.txt

Every image of a row returns a number of its own. Rows in FILE (and those of
nvidia-sm90.txt) are not made again. The same arguments give the same rows.
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = os.path.join(HERE, "../unit/walk/nvidia-sm90.txt")
LOW = ["c75", "c80", "c86", "c89"]
HIGH = ["c100", "c100f", "c120"]
OWN = ["c90", "c90a", "d90", "d90a"]
# target, and a version that has it
PTX = [("50", "4.0"), ("60", "5.0"), ("70", "6.0"), ("75", "6.3"),
       ("80", "7.0"), ("86", "7.1"), ("87", "7.4"), ("89", "7.8"),
       ("90", "7.8"), ("90a", "8.0")]
PTX_HIGH = [("100", "8.6"), ("100a", "8.6"), ("103", "8.8"), ("120", "8.7"),
            ("121", "8.8")]
VERSIONS = ["7.8", "8.0", "8.3", "8.5", "8.8", "9.0"]
TOO_NEW = ["9.1", "9.3", "10.0"]


def elf(r, names, mods=""):
    return "elf:" + r.choice(names) + mods


def ptx(r, rows=PTX, version=None):
    target, least = r.choice(rows)
    newer = [v for v in VERSIONS
             if tuple(map(int, v.split("."))) >= tuple(map(int, least.split(".")))]
    return "ptx:%s:%s" % (target, version or r.choice([least] + newer))


def packed(r, tokens, odds=0.3):
    return [t + r.choice([",lz4", ",zstd"])
            if r.random() < odds and ",trunc" not in t else t for t in tokens]


def mixed(r):
    """Anything that is sound, shuffled."""
    t = [elf(r, LOW) for _ in range(r.randint(0, 2))]
    t += [elf(r, HIGH) for _ in range(r.randint(0, 1))]
    t += r.sample(["elf:" + n for n in OWN], r.randint(0, 2))
    t += [ptx(r) for _ in range(r.randint(0, 3))]
    t += [ptx(r, PTX_HIGH) for _ in range(r.randint(0, 1))]
    return t or [ptx(r)]


def only_ptx(r):
    """By target, by version, equals, above the device."""
    t = [ptx(r) for _ in range(r.randint(1, 4))]
    if r.random() < 0.5:
        t += [t[0].rsplit(":", 1)[0] + ":" + r.choice(["8.5", "9.0"])]
    if r.random() < 0.4:
        t += [ptx(r, PTX_HIGH)]
    return t


def too_new(r):
    t = [ptx(r, PTX, r.choice(TOO_NEW))]
    t += [ptx(r) for _ in range(r.randint(0, 2))]
    if r.random() < 0.4:
        t += [elf(r, LOW + OWN)]
    return t


def other_device(r):
    return [elf(r, LOW + HIGH) for _ in range(r.randint(1, 3))] + \
        [ptx(r, PTX_HIGH) for _ in range(r.randint(0, 2))]


def damaged(r):
    bad = r.choice(["elf:c90,flip=0", "elf:d90,flip=18", "elf:c90,trunc=0",
                    "elf:c90a,flip=1", "elf:c80,flip=0", "ptx:80:7.0,bad",
                    "ptx:90:8.0,bad", "ptx:75:6.3,trunc=0", "ptx:90a:8.0,bad",
                    "ptx:86:7.1,undef", "ptx:90:8.3,undef",
                    "ptx:80:8.5,shared=232449", "ptx:80:8.5,const=65537",
                    "ptx:90:9.0,shared=232449", "ptx:70:7.0,const=65537"])
    return [bad] + [x for x in mixed(r) if not x.startswith(bad.split(",")[0])]


def resources(r):
    what = r.choice(["shared=49152", "shared=49153", "shared=232448",
                     "shared=232449", "const=65536", "const=65537",
                     "undefvar"])
    return [ptx(r, PTX[4:], "8.5") + "," + what] + \
        [ptx(r) for _ in range(r.randint(0, 2))]


def labels(r):
    """Headers that say something else than the image."""
    t = [r.choice(["ptx:80:7.0,ha=70", "ptx:80:7.0,ha=90", "ptx:70:6.0,ha=89",
                   "ptx:80:7.0,hv=9.3", "ptx:75:6.3,hv=1.0",
                   "ptx:80:7.0,hf=0x100011", "ptx:90:8.0,hf=0x100011",
                   "elf:c90,hf=0x100011", "elf:c90a,hf=0x11",
                   "elf:c90,hf=0x200011", "ptx:86:7.1,hk=3", "elf:c90,hk=4",
                   "ptx:90a:8.0,hf=0x11", "ptx:80:7.0,ha=100"])]
    return t + [x for x in mixed(r) if x.split(",")[0] != t[0].split(",")[0]]


def others(r):
    """LTO IR and unknown kinds between the others."""
    t = mixed(r)
    for _ in range(r.randint(1, 2)):
        t += [r.choice(["lto:%s" % r.choice(["80", "90", "100"]),
                        elf(r, OWN) + ",hk=%d" % r.choice([3, 4]),
                        ptx(r) + ",hk=%d" % r.choice([3, 4])])]
    return t


def large(r):
    """A variable larger than the device."""
    t = [r.choice(["elf:g90,gib=512", "elf:g90,gib=300",
                   ptx(r, PTX[4:], "8.5") + ",gib=%d" % r.choice([1, 512])])]
    return t + [ptx(r) for _ in range(r.randint(0, 2))] + \
        [elf(r, LOW + OWN) for _ in range(r.randint(0, 1))]


def lto_alone(r):
    """LTO IR, real or not, beside what is of no use here."""
    t = ["lto:%s%s" % (r.choice(["50", "75", "80", "90", "90", "100"]),
                       r.choice(["", "", ",real", ",nvvm"]))]
    t += [elf(r, LOW + HIGH) for _ in range(r.randint(0, 2))]
    t += [ptx(r, PTX_HIGH) for _ in range(r.randint(0, 1))]
    if r.random() < 0.25:
        t += ["lto:%s" % r.choice(["80", "90", "100"])]
    return t, r.choice(["-", "-", "-", "-", "force=1", "disable=1", "lib=1",
                        "target=80", "loading=EAGER"])


def variables(r):
    """Variables of every size, read or not."""
    grown = [n + "," + w + "=%d" for n in ("elf:g90", "elf:h90")
             for w in ("gib", "gibsym", "gibseg", "giball")]
    uses = r.choice(["", ",uses"])
    full = r.random() < 0.3
    t = [r.choice([r.choice(grown) % (r.choice([1, 2, 3]) if full
                                      else r.choice([300, 512, 1000])),
                   "elf:i90", "elf:j90", "elf:w90",
                   ptx(r, PTX[4:], "8.5") + ",gib=%d%s" % (
                       r.choice([2, 3, 6]) if full else r.choice([1, 2, 400]),
                       uses)])]
    t += [ptx(r) for _ in range(r.randint(0, 2))]
    t += [elf(r, LOW + OWN) for _ in range(r.randint(0, 1))]
    s = "fill=1" if full else "-"
    if r.random() < 0.3:
        s = "loading=EAGER" if s == "-" else s + " loading=EAGER"
    elif r.random() < 0.2 and s == "-":
        s = "lib=1"
    return t, s


def filled(r):
    """A device that is full."""
    t = [r.choice(["elf:g90,gib=2", ptx(r, PTX[4:], "8.5") + ",gib=2"])]
    return t + [ptx(r) for _ in range(r.randint(0, 2))], "fill=1"


def minors(r):
    """Labelled with the device's major number and a higher minor one."""
    t = [elf(r, ["c90", "c90a", "d90"]) + ",ha=%d" % r.randint(91, 99)]
    return t + mixed(r)


def by_library(r):
    wrapped = r.choice(["", "wrap=1 "])
    return r.choice([mixed, only_ptx, too_new, damaged])(r), wrapped + "lib=1"


SWITCHES = ["force=1", "force=1", "disable=1", "disable=1",
            "force=1 disable=1", "force=0", "disable=0", "maxreg=32", "opt=0",
            "fallback=0", "fallback=1"]


def switched(r):
    return r.choice([mixed, only_ptx, too_new])(r), r.choice(SWITCHES)


def retargeted(r):
    return r.choice([mixed, only_ptx])(r), \
        "target=%d" % r.choice([75, 80, 86, 89, 90])


KINDS = [(mixed, 5), (only_ptx, 5), (too_new, 3), (other_device, 2),
         (damaged, 5), (resources, 2), (labels, 4), (switched, 4),
         (retargeted, 2)]
# From late2.txt on.
MORE = [(others, 4), (large, 3), (filled, 1), (minors, 3), (by_library, 4)]
# From late3.txt on (MORE=2).
LATER = [(lto_alone, 18), (variables, 20), (switched, 8), (others, 4)]


def known(paths):
    seen = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    parts = [p.strip() for p in line.split("|")]
                    seen.add((parts[1], parts[2]))
    return seen


def distinct(tokens):
    """The same image twice could not be told apart."""
    out = []
    for t in tokens:
        name = t.split(",")[0]
        if name.startswith("ptx:") or \
                name not in [o.split(",")[0] for o in out]:
            out.append(t)
    return out


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 1001
    seen = known([KNOWN] + sys.argv[4:])
    r = random.Random(seed)
    more = os.environ.get("MORE")
    kinds = [k for k, n in KINDS + (MORE if more else []) +
             (LATER if more == "2" else []) for _ in range(n)]
    print("# %srows.py %d %d: row | images | switches" %
          ("MORE=%s " % more if more else "", seed, count))
    while count:
        made = r.choice(kinds)(r)
        tokens, switches = made if isinstance(made, tuple) else (made, "-")
        tokens = distinct(tokens)[:6]
        r.shuffle(tokens)
        tokens = packed(r, tokens)
        raw = len(tokens) == 1 and r.random() < 0.3 and \
            not any(m in tokens[0] for m in
                    (",h", "z", "trunc", "flip", "lto"))
        text = tokens[0] if raw else "{ %s }" % " ".join(tokens)
        if more and len(tokens) > 1 and r.random() < 0.15:
            cut = r.randint(1, len(tokens) - 1)
            text = "{ %s } { %s }" % (" ".join(tokens[:cut]),
                                      " ".join(tokens[cut:]))
        if raw and "wrap" in switches:
            continue
        if (text, switches) in seen:
            continue
        seen.add((text, switches))
        print("%d | %s | %s" % (number, text, switches))
        number += 1
        count -= 1


main()
