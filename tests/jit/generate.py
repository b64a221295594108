#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random kernels for the differential tests of the code generator.

    generate.py FIRST_SEED COUNT [--kind=plain|warp|block|atomic] [--small]

One kernel a seed, kSEED, as text that is CUDA C++ and, by twin.h, host C++.
Control flow of a plain kernel is arbitrary: nested branches, loops left from
the middle, goto. In a warp kernel every branch keeps account of which lanes
run, so that warp operations may stand anywhere. A block kernel has barriers
where control is the same for the whole block. An atomic kernel leaves only
what does not depend on the order of its threads. The host's main() runs each
kernel in some launch shapes and prints what comes out.
"""
import random
import sys

SHAPES_1D = [(1, 32), (3, 64), (2, 256), (1, 1024), (5, 1), (3, 7), (2, 33),
             (2, 100), (1, 1000), (7, 96), (1, 48)]
SHAPES_2D = [((1, 1), (16, 16)), ((2, 3), (8, 8)), ((3, 2), (5, 7)),
             ((2, 1), (32, 8)), ((2, 2), (32, 1)), ((1, 2), (64, 4)),
             ((1, 3), (4, 24))]
SHAPES_3D = [((1, 2, 1), (8, 4, 2)), ((2, 1, 2), (4, 4, 4)),
             ((1, 1, 3), (3, 5, 2)), ((2, 1, 1), (32, 2, 2)),
             ((1, 1, 2), (16, 2, 8))]


class Scope:
    """What control is like where a statement stands."""

    def __init__(self, uniform, mask, depth=0, loop=None, dead_ends=True):
        self.uniform = uniform  # all threads of the block are here
        self.mask = mask        # variable: lanes of the warp here, or None
        self.depth = depth
        self.loop = loop        # may break and continue
        self.dead_ends = dead_ends  # may return and jump

    def inner(self, **changes):
        s = Scope(self.uniform, self.mask, self.depth + 1, self.loop,
                  self.dead_ends)
        for k, v in changes.items():
            setattr(s, k, v)
        return s


class Kernel:
    def __init__(self, seed, kind=None, small=False):
        self.r = random.Random(seed)
        self.seed = seed
        self.kind = kind or self.r.choice(
            ["plain"] * 5 + ["warp"] * 3 + ["block"] * 3 + ["atomic"])
        self.dims = self.r.choice([1, 1, 1, 2, 2, 3])
        self.lines = []
        self.decls = []
        self.count = 0
        self.budget = self.r.choice([4, 6, 9] if small else [8, 12, 20, 35])
        self.labels = []  # forward labels still to be placed: (name, depth)
        self.has_float = self.r.random() < 0.7
        self.has_wide = self.r.random() < 0.6
        self.has_local = self.r.random() < 0.35
        self.busy = set()  # loop counters that no statement may write

    # --- small things ---

    def one(self, *choices):
        return self.r.choice(choices)

    def chance(self, p):
        return self.r.random() < p

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, scope, text):
        self.lines.append("    " * (scope.depth + 1) + text)

    # --- expressions ---

    def uniform_u(self, d=2):
        r = self.r.random()
        if d == 0 or r < 0.5:
            return self.one("(u32)n", "blockIdx.x", "blockDim.x", "b",
                            str(self.r.randrange(100)) + "u",
                            f"table[{self.r.randrange(64)}]",
                            f"in[b & {self.one(7, 63)}u]",
                            f"in[{self.r.randrange(64)}]", "w0", "w1")
        op = self.one("+", "-", "*", "^", "&", "|")
        return f"({self.uniform_u(d - 1)} {op} {self.uniform_u(d - 1)})"

    def index(self):
        """An index of any pattern, not masked."""
        k = self.r.randrange(1, 9)
        return self.one(
            "gid", "gid", "t", "threadIdx.x", "threadIdx.y", f"(gid + {k}u)",
            f"(t * {k}u + b)", f"(4095u - gid)", f"(t + b * {k}u)",
            "hash(gid)", f"(hash(t) + {k}u)", f"(gid / {k}u)",
            f"(gid % {k}u)", f"(threadIdx.x * blockDim.x + {k}u)",
            f"(threadIdx.y * 64u + threadIdx.x)", f"(gid * 3u - {k}u)",
            self.u(1), self.u(1), self.uniform_u(1), "(lane ^ 5u)")

    def load_u(self):
        i = self.index()
        return self.one(
            f"in[{i} & 4095u]", f"in[{i} & 4095u]", f"in[{i} & 4095u]",
            f"(u32)((const u8 *)in)[{i} & 16383u]",
            f"(u32)((const s8 *)in)[{i} & 16383u]",
            f"(u32)((const u16 *)in)[{i} & 8191u]",
            f"(u32)((const s16 *)in)[{i} & 8191u]",
            f"table[{i} & 63u]",
            *([f"loc[{i} & 15u]"] * 3 if self.has_local else []),
            f"out[64u + gid * 16u + ({i} & 7u)]",
            f"out[64u + 16u * (u32)n + {self.r.randrange(4)}u * (u32)n + gid]")

    def u(self, d=3):
        r = self.r.random()
        if d <= 0 or r < 0.25:
            return self.one("u0", "u1", "u2", "u3", "u0", "u1", "gid", "t",
                            "lane", "w0", "w1", "(u32)i0", "(u32)i1",
                            "(u32)c0", "(u32)h0",
                            str(self.r.randrange(1 << self.one(3, 8, 32))) +
                            "u")
        a = lambda: self.u(d - 1)
        sh = lambda: self.one(str(self.r.randrange(32)), f"({a()} & 31u)")
        forms = [
            lambda: f"({a()} {self.one('+', '-', '*', '^', '&', '|')} {a()})",
            lambda: f"({a()} {self.one('+', '-', '^')} {a()})",
            lambda: f"({a()} {self.one('<<', '>>')} {sh()})",
            lambda: f"(~{a()})",
            lambda: f"safe_div({a()}, {a()})",
            lambda: f"({a()} % ({a()} | 1u))",
            lambda: f"({self.cond(d - 1)} ? {a()} : {a()})",
            lambda: f"{self.one('min', 'max')}((u32)({a()}), (u32)({a()}))",
            lambda: f"(u32){self.one('__popc', '__brev')}({a()})",
            lambda: f"(u32){self.one('__clz', '__ffs')}((int)({a()}))",
            lambda: f"__umulhi({a()}, {a()})",
            lambda: f"__byte_perm({a()}, {a()}, {a()} & 0x7777u)",
            lambda: f"__funnelshift_{self.one('l', 'r')}({a()}, {a()}, {sh()})",
            lambda: f"hash({a()})",
            lambda: self.load_u(), lambda: self.load_u(),
            lambda: f"(u32)({self.i(d - 1)})",
            lambda: f"(u32)({self.cond(d - 1)})",
            lambda: f"(u32)(u8)({a()})",
            lambda: f"(u32)(s16)({a()})",
        ]
        if self.has_wide:
            forms += [lambda: f"(u32)({self.q(d - 1)})",
                      lambda: f"(u32)(({self.q(d - 1)}) >> 32)"]
        if self.has_float:
            forms += [lambda: f"fbits({self.f(d - 1)})",
                      lambda: f"F2U({self.f(d - 1)})"]
        return self.r.choice(forms)()

    def i(self, d=2):
        if d <= 0 or self.chance(0.3):
            return self.one("i0", "i1", "(s32)u0", "(s32)u1", "(s32)c0",
                            "(s32)h0", str(self.r.randrange(-50, 50)))
        a = lambda: self.i(d - 1)
        forms = [
            lambda: f"({a()} {self.one('+', '-', '*', '^', '&')} {a()})",
            lambda: f"({a()} >> {self.r.randrange(32)})",
            lambda: f"safe_sdiv({a()}, {a()})",
            lambda: f"safe_srem({a()}, {a()})",
            lambda: f"{self.one('min', 'max')}((s32)({a()}), (s32)({a()}))",
            lambda: f"__mulhi({a()}, {a()})",
            lambda: f"(s32)({self.u(d - 1)})",
            lambda: f"({self.cond(d - 1)} ? {a()} : {a()})",
        ]
        if self.has_float:
            forms += [lambda: f"F2I({self.f(d - 1)})"]
        return self.r.choice(forms)()

    def q(self, d=2):
        if d <= 0 or self.chance(0.3):
            return self.one("q0", "q1", "(u64)u0", "(u64)(s64)i0",
                            f"((const u64 *)in)[{self.index()} & 2047u]")
        a = lambda: self.q(d - 1)
        return self.r.choice([
            lambda: f"({a()} {self.one('+', '-', '*', '^', '&', '|')} {a()})",
            lambda: f"({a()} {self.one('<<', '>>')} ({self.u(1)} & 63u))",
            lambda: f"((u64)({self.u(d - 1)}) * ({self.u(d - 1)}))",
            lambda: f"((u64)((s64)({self.i(d - 1)}) * ({self.i(d - 1)})))",
            lambda: f"__umul64hi({a()}, {a()})",
            lambda: f"({a()} / ({a()} | 1ull))",
            lambda: f"((u64)((s64)({a()}) >> {self.r.randrange(64)}))",
            lambda: f"({self.cond(d - 1)} ? {a()} : {a()})",
            lambda: f"((u64)({self.u(d - 1)}) << 32 | ({self.u(d - 1)}))",
        ])()

    def f(self, d=2):
        if d <= 0 or self.chance(0.3):
            return self.one("f0", "f1", f"fval({self.u(1)})",
                            f"fval(in[{self.index()} & 4095u])",
                            f"({self.r.randrange(-40, 40)}.25f)",
                            f"(float)({self.i(1)})")
        a = lambda: self.f(d - 1)
        forms = [
            lambda: f"({a()} {self.one('+', '-', '*')} {a()})",
            lambda: f"FMA({a()}, {a()}, {a()})",
            lambda: f"FDIV({a()}, {a()})",
            lambda: f"FSQRT({a()})",
            lambda: f"(-{a()})",
            lambda: f"fabsf({a()})",
            lambda: f"({self.cond(d - 1)} ? {a()} : {a()})",
            lambda: f"(float)({self.u(d - 1)})",
        ]
        if self.has_wide:
            forms += [lambda: f"(float)(d0 * {self.f(d - 1)})"]
        return self.r.choice(forms)()

    def cond(self, d=2):
        if d <= 0:
            return self.one("p0", "p1", "(u0 & 1u)", "(lane & 4u)",
                            "(i0 < i1)")
        c = ("==", "!=", "<", "<=", ">", ">=")
        forms = [
            lambda: f"({self.u(d - 1)} {self.one(*c)} {self.u(d - 1)})",
            lambda: f"({self.i(d - 1)} {self.one(*c)} {self.i(d - 1)})",
            lambda: f"({self.u(d - 1)} & {self.one(1, 2, 3, 8, 16)}u)",
            lambda: f"(hash({self.u(1)}) & 1u)",
            lambda: f"({self.cond(d - 1)} {self.one('&&', '||')} "
                    f"{self.cond(d - 1)})",
            lambda: f"(!{self.cond(d - 1)})",
            lambda: f"(lane {self.one(*c)} {self.r.randrange(32)}u)",
            lambda: self.one("p0", "p1"),
        ]
        if self.has_wide:
            forms += [lambda: f"({self.q(1)} {self.one(*c)} {self.q(1)})"]
        if self.has_float:
            forms += [lambda: f"({self.f(1)} {self.one(*c)} {self.f(1)})"]
        return self.r.choice(forms)()

    def uniform_cond(self):
        return self.one(f"({self.uniform_u(1)} & {self.one(1, 2, 4)}u)",
                        f"({self.uniform_u(1)} < {self.uniform_u(1)})",
                        f"(b {self.one('==', '<', '>')} "
                        f"{self.r.randrange(3)}u)",
                        "(n & 32)", "(w0 & 2u)")

    # --- statements ---

    def assign(self, s):
        kinds = ["u"] * 5 + ["i", "p", "c", "h", "w"]
        kinds += ["f"] * 3 if self.has_float else []
        kinds += ["q", "q"] if self.has_wide else []
        kinds += ["d"] if self.has_wide and self.has_float else []
        k = self.r.choice(kinds)
        if k == "u":
            v = self.one("u0", "u1", "u2", "u3")
            self.emit(s, f"{v} {self.one('=', '=', '+=', '^=')} {self.u()};")
        elif k == "i":
            self.emit(s, f"{self.one('i0', 'i1')} = {self.i()};")
        elif k == "p":
            self.emit(s, f"{self.one('p0', 'p1')} = {self.cond()};")
        elif k == "c":
            self.emit(s, f"c0 = (u8)({self.u(2)});")
        elif k == "h":
            self.emit(s, f"h0 = (s16)({self.u(2)});")
        elif k == "w":
            # Uniform wherever all threads come by.
            v = self.one("w0", "w1")
            if s.uniform or not self.block_needs_uniform():
                self.emit(s, f"{v} = {self.uniform_u()};")
            else:
                self.emit(s, ";")
        elif k == "f":
            self.emit(s, f"{self.one('f0', 'f1')} = {self.f(3)};")
        elif k == "q":
            self.emit(s, f"{self.one('q0', 'q1')} = {self.q(3)};")
        elif k == "d":
            self.emit(s, f"d0 = {self.one('d0 + ', 'd0 - ', '')}"
                         f"DFMA(d0, (double){self.f(1)}, "
                         f"(double)({self.i(1)}));")

    def block_needs_uniform(self):
        return self.kind == "block"

    def store(self, s):
        row = "out + 64u + gid * 16u"
        k = self.r.randrange(4)
        i = self.one(str(self.r.randrange(8)), f"({self.u(1)} & 7u)")
        forms = [
            f"out[64u + 16u * (u32)n + {k}u * (u32)n + gid] = {self.u(2)};",
            f"out[64u + 16u * (u32)n + {k}u * (u32)n + gid] ^= {self.u(1)};",
            f"({row})[{i}] = {self.u(2)};",
            f"((u8 *)({row}))[({self.u(1)} & 31u)] = (u8)({self.u(1)});",
            f"((u16 *)({row}))[{i}] = (u16)({self.u(1)});",
            f"((u64 *)({row}))[{i}] = {self.q(1)};",
        ]
        if self.has_local:
            forms += [f"loc[{self.index()} & 15u] = {self.u(2)};"] * 3
        if self.has_float:
            forms += [f"((float *)({row}))[8 + {k}] = "
                      f"F_BITS(fbits({self.f(2)}));"]
        self.emit(s, self.r.choice(forms))

    def vector(self, s):
        """Vector loads and stores."""
        t = self.name("v")
        typ, count, parts = self.one(
            ("uint4", 4, "xyzw"), ("uint2", 2, "xy"), ("float4", 4, "xyzw"),
            ("float2", 2, "xy"), ("uchar4", 4, "xyzw"),
            ("ushort4", 4, "xyzw"), ("ushort2", 2, "xy"),
            ("ulonglong2", 2, "xy"))
        size = {"uint4": 16, "uint2": 8, "float4": 16, "float2": 8,
                "uchar4": 4, "ushort4": 8, "ushort2": 4,
                "ulonglong2": 16}[typ]
        n = 16384 // size
        inner = s.inner()
        self.emit(s, "{")
        self.emit(inner, f"{typ} {t} = ((const {typ} *)in)"
                         f"[{self.index()} & {n - 1}u];")
        for c in parts:
            if self.chance(0.7):
                conv = (f"fbits({t}.{c})" if "float" in typ
                        else f"(u32){t}.{c}")
                self.emit(inner, f"{self.one('u0', 'u1', 'u2', 'u3')} "
                                 f"{self.one('+=', '^=', '=')} {conv};")
        if self.chance(0.5):
            for c in parts:
                if "float" in typ:
                    self.emit(inner, f"{t}.{c} = F_BITS(fbits({t}.{c}));")
                elif self.chance(0.5):
                    self.emit(inner, f"{t}.{c} += ({self.u(1)});")
            self.emit(inner, f"(({typ} *)(out + 64u + gid * 16u))"
                             f"[{self.r.randrange(32 // size)}] = {t};")
        self.emit(s, "}")

    def block_of(self, s, budget):
        n = max(1, min(budget, self.r.randrange(1, 5)))
        for _ in range(n):
            self.statement(s)

    def branch(self, s):
        uniform = self.chance(0.3)
        c = self.uniform_cond() if uniform else self.cond()
        stays = uniform and self.kind == "block" and s.uniform
        if self.kind == "warp" and s.mask and not uniform:
            m = self.name("m")
            self.decls.append(f"u32 {m} = 0;")
            cv = self.name("c")
            self.decls.append(f"bool {cv} = false;")
            self.emit(s, f"{cv} = {c};")
            self.emit(s, f"{m} = __ballot_sync({s.mask}, {cv});")
            then = s.inner(uniform=False, mask=m)
            other = s.inner(uniform=False, mask=f"({s.mask} & ~{m})")
            c = cv
        elif stays:
            then = other = s.inner()
        elif uniform and self.kind == "warp" and s.mask:
            # w0 may differ between lanes of a warp kernel.
            c = c.replace("w0", "b").replace("w1", "blockDim.x")
            then = other = s.inner(uniform=False)
        else:
            then = other = s.inner(uniform=False, mask=None)
        self.emit(s, f"if ({c}) {{")
        self.block_of(then, 3)
        if self.chance(0.5):
            self.emit(s, "} else {")
            self.block_of(other, 3)
        self.emit(s, "}")

    def switch(self, s):
        if self.kind == "warp" and s.mask:
            return self.branch(s)
        n = self.one(2, 3, 3, 4)
        v = self.name("sw")
        self.decls.append(f"u32 {v} = 0;")
        self.emit(s, f"{v} = {self.u(2)} % {n + 1}u;")
        self.emit(s, f"switch ({v}) {{")
        inner = s.inner(uniform=False, mask=None,
                        loop=s.loop and s.loop.replace("b", ""))
        for k in range(n):
            self.emit(s, f"case {k}:")
            self.block_of(inner, 2)
            if self.chance(0.7):
                self.emit(inner, "break;")
        if self.chance(0.5):
            self.emit(s, "default:")
            self.block_of(inner, 2)
        self.emit(s, "}")

    def loop(self, s):
        i = self.name("k")
        self.decls.append(f"u32 {i} = 0;")
        uniform = self.chance(0.35)
        if uniform:
            count = self.one(str(self.r.randrange(2, 6)) + "u",
                             "(table[3] & 3u)", "(b & 3u)", "(blockDim.x & 5u)",
                             "(in[5] & 3u)")
        else:
            count = self.one("(lane & 3u)", f"({self.u(1)} & 7u)",
                             f"(hash(gid) & {self.one(3, 7)}u)", "(t % 5u)")
        lv = self.name("n")
        self.decls.append(f"u32 {lv} = 0;")
        self.emit(s, f"{lv} = {count};")
        if self.kind == "warp" and s.mask and not uniform:
            m = self.name("m")
            cv = self.name("c")
            self.decls.append(f"u32 {m} = 0;")
            self.decls.append(f"bool {cv} = false;")
            self.emit(s, f"{m} = {s.mask};")
            self.emit(s, f"for ({i} = 0;; {i}++) {{")
            inner = s.inner(uniform=False, mask=m, loop=None, dead_ends=False)
            self.emit(inner, f"{cv} = {i} < {lv};")
            self.emit(inner, f"{m} = __ballot_sync({m}, {cv});")
            self.emit(inner, f"if (!{cv}) break;")
            self.block_of(inner, 4)
            self.emit(s, "}")
        else:
            keeps = uniform and (self.kind != "plain")
            inner = s.inner(uniform=s.uniform and keeps,
                            mask=s.mask if keeps else None,
                            loop=None if keeps else "bc",
                            dead_ends=s.dead_ends and not keeps)
            form = self.one("for", "for", "while", "do")
            if form == "for":
                self.emit(s, f"for ({i} = 0; {i} < {lv}; {i}++) {{")
            elif form == "while":
                self.emit(s, f"{i} = 0;")
                self.emit(s, f"while ({i}++ < {lv}) {{")
            else:
                self.emit(s, f"{i} = 0;")
                self.emit(s, "do {")
            self.block_of(inner, 4)
            if self.chance(0.5):
                v = self.one("u0", "u1")
                self.emit(inner, f"{v} = {v} * 3u + {i};")
            self.emit(s, f"}} while (++{i} < {lv});" if form == "do" else "}")
        if self.chance(0.6):
            v = self.one("u0", "u1", "u2")
            self.emit(s, f"{v} ^= {i} * 77u;")

    def jump(self, s):
        """break, continue, return, goto: in control that is anyone's."""
        if not s.dead_ends or self.kind in ("warp",) or s.uniform:
            return self.assign(s)
        if self.kind == "block" and not s.loop:
            return self.assign(s)
        forms = []
        if s.loop and "b" in s.loop:
            forms += ["break;"] * 3
        if s.loop and "c" in s.loop:
            forms += ["continue;"] * 2
        if self.kind in ("plain", "atomic") and s.depth > 0:
            forms += ["return;"]
        if self.kind == "plain":
            if not self.labels or self.chance(0.3):
                self.labels.append(self.name("L"))
            forms += [f"goto {self.r.choice(self.labels)};"] * 2
        if not forms:
            return self.assign(s)
        self.emit(s, f"if ({self.cond()}) {self.r.choice(forms)}")

    def warp_op(self, s):
        m = s.mask
        if not m or self.kind not in ("warp", "block"):
            return self.assign(s)
        w = self.one(32, 32, 16, 8, 4)
        v = self.one("u0", "u1", "u2", "u3")
        by = self.one(str(self.r.randrange(w)), f"({self.u(1)} & {w - 1}u)",
                      str(self.one(1, 2, 4)))
        a = self.u(2)
        tile = self.one(8, 16)
        sub = f"(({(1 << tile) - 1:#x}u << (lane & {32 - tile}u)) & {m})"
        pv = self.name("c")
        red = self.one("add", "min", "max", "and", "or", "xor")
        forms = [
            f"{v} = shfl_idx({m}, {a}, {by}, {w}u, lane);",
            f"{v} = shfl_up({m}, {a}, {by}, {w}u, lane);",
            f"{v} = shfl_down({m}, {a}, {by}, {w}u, lane);",
            f"{v} = shfl_xor({m}, {a}, {by}, {w}u, lane);",
            f"{v} = __ballot_sync({m}, {self.cond()});",
            f"{v} += (u32)__any_sync({m}, {self.cond()});",
            f"{v} += (u32)__all_sync({m}, {self.cond()});",
            f"{v} = __match_any_sync({m}, {a} & 3u);",
            f"{v} = __match_any_sync({m}, (u64)({a} & 1u) << 40);",
            f"{v} = __match_all_sync({m}, {self.one('b', a)}, &agree);",
            f"{v} = __reduce_{red}_sync({m}, {a});",
            f"{v} = __ballot_sync({sub}, {self.cond()});",
            f"{v} = __reduce_{red}_sync({sub}, {a});",
            f"{v} = __match_any_sync({sub}, {a} & 3u);",
            f"p0 = __any_sync({sub}, {self.cond()});",
            f"__syncwarp({m});",
        ]
        self.emit(s, self.r.choice(forms))

    def barrier(self, s):
        if self.kind != "block" or not s.uniform:
            return self.assign(s)
        v = self.one("u0", "u1", "u2")
        k = self.r.randrange(1, 40)
        form = self.r.randrange(6)
        if form < 3:
            idx = self.one("t", "(nt - 1u - t)", "((t * 5u + 1u) % 1024u)")
            read = self.one(f"(t + {k}u) % nt", f"(t ^ 1u) % nt",
                            f"({self.u(1)}) % nt", "0", "nt - 1u")
            if idx.startswith("(("):
                # A permutation of the whole array.
                self.emit(s, f"for (u32 z = t; z < 1024u; z += nt) "
                             f"sh[z] = z * 7u;")
                self.emit(s, "__syncthreads();")
            self.emit(s, f"sh[{idx}] = {self.u(2)};")
            self.emit(s, "__syncthreads();")
            self.emit(s, f"{v} ^= sh[{read}];")
            self.emit(s, "__syncthreads();")
        elif form == 3:
            f = self.one("count", "and", "or")
            self.emit(s, f"{v} += (u32)__syncthreads_{f}({self.cond()});")
        elif form == 4:
            c = self.cond()
            self.emit(s, "sh[t] = 0u;")
            self.emit(s, "__syncthreads();")
            op = self.one("atomicAdd", "atomicMax", "atomicXor", "atomicOr")
            self.emit(s, f"if ({c}) {op}(&sh[({self.u(1)}) % nt], "
                         f"{self.u(1)});")
            self.emit(s, "__syncthreads();")
            self.emit(s, f"{v} += sh[t];")
            self.emit(s, "__syncthreads();")
        else:
            # A tree.
            z = self.name("z")
            self.emit(s, f"sh[t] = {self.u(2)};")
            self.emit(s, "__syncthreads();")
            self.emit(s, f"for (u32 {z} = 512u; {z}; {z} >>= 1) {{")
            self.emit(s, f"    if (t < {z} && t + {z} < nt) "
                         f"sh[t] += sh[t + {z}];")
            self.emit(s, "    __syncthreads();")
            self.emit(s, "}")
            self.emit(s, f"{v} ^= sh[0];")
            self.emit(s, "__syncthreads();")

    def atomic(self, s):
        if self.kind != "atomic":
            return self.assign(s)
        a = self.one("1u", self.u(2))
        i = self.one(str(self.r.randrange(8)), f"({self.u(1)} & 7u)",
                     "(lane & 3u)", "(t & 7u)")
        # One kind of operation a word, so that order does not matter.
        forms = [
            f"atomicAdd(&out[{i}], {a});",
            f"atomicMin(&out[8u + {i}], ({a}) | 1u);",
            f"atomicMax(&out[16u + {i}], {a});",
            f"atomicXor(&out[24u + {i}], {a});",
            f"atomicOr(&out[32u + {i}], {a});",
            f"atomicMax((s32 *)&out[40u + {i}], (s32)({a}));",
            f"{{ u32 *w = &out[48u + {i} % 4u], old = *(volatile u32 *)w, "
            f"seen; const u32 add = {a}; "
            f"while ((seen = atomicCAS(w, old, old + add * 3u)) != old) "
            f"old = seen; }}",
            f"atomicAdd((u64 *)(out + 52u) + ({i} & 3u), (u64)({a}) << 8);",
        ]
        self.emit(s, self.r.choice(forms))

    def statement(self, s):
        self.budget -= 1
        r = self.r.random()
        if self.budget < 0 or s.depth > 5:
            return self.assign(s)
        if r < 0.30:
            self.assign(s)
        elif r < 0.40:
            self.store(s)
        elif r < 0.45:
            self.vector(s)
        elif r < 0.60:
            self.branch(s)
        elif r < 0.65:
            self.switch(s)
        elif r < 0.78:
            self.loop(s)
        elif r < 0.87:
            self.jump(s)
        elif self.kind == "warp" or (self.kind == "block" and r < 0.90):
            self.warp_op(s)
        elif self.kind == "block":
            self.barrier(s)
        elif self.kind == "atomic":
            self.atomic(s)
        elif s.depth == 0 and self.labels:
            self.emit(s, f"{self.labels.pop()}:;")
        else:
            self.assign(s)

    def text(self):
        top = Scope(True, "W" if self.kind in ("warp", "block") else None,
                    dead_ends=self.kind in ("plain", "atomic", "block"))
        if self.kind == "block" and self.chance(0.3):
            self.early = "if (t >= 32u && t / 32u == 1u + (b & 1u)) return;"
        else:
            self.early = None
        while self.budget > 0:
            self.statement(top)
        while self.labels:
            self.emit(top, f"{self.labels.pop()}:;")
            self.assign(top)
        head = [f"KERNEL(k{self.seed}) /* {self.kind} */", "{"]
        body = ["const u32 nt = blockDim.x * blockDim.y * blockDim.z;"]
        if self.dims == 1:
            body += ["const u32 t = threadIdx.x, b = blockIdx.x;",
                     "const u32 gid = blockIdx.x * blockDim.x + threadIdx.x;"]
        elif self.dims == 2:
            body += [
                "const u32 t = threadIdx.y * blockDim.x + threadIdx.x;",
                "const u32 b = blockIdx.y * gridDim.x + blockIdx.x;",
                "const u32 gid = (blockIdx.y * blockDim.y + threadIdx.y) * "
                "(gridDim.x * blockDim.x) + blockIdx.x * blockDim.x + "
                "threadIdx.x;"]
        else:
            body += [
                "const u32 t = (threadIdx.z * blockDim.y + threadIdx.y) * "
                "blockDim.x + threadIdx.x;",
                "const u32 b = (blockIdx.z * gridDim.y + blockIdx.y) * "
                "gridDim.x + blockIdx.x;",
                "const u32 gid = b * nt + t;"]
        body += ["const u32 lane = t & 31u;"]
        if self.kind in ("warp", "block"):
            body += ["const u32 W = warp_mask(t, nt);", "int agree = 0;"]
        if self.kind == "block":
            body += ["SHARED u32 sh[1024];"]
        body += ["u32 u0 = in[gid & 4095u], u1 = gid * 5u, u2 = lane, "
                 "u3 = hash(gid);",
                 "s32 i0 = (s32)u3, i1 = (s32)t - 16;",
                 "u32 w0 = b, w1 = (u32)n;",
                 "u8 c0 = (u8)u3; s16 h0 = (s16)(u3 >> 9);",
                 "bool p0 = (u3 & 64u) != 0, p1 = lane < 9u;",
                 "u64 q0 = (u64)u3 << 20, q1 = (u64)gid;",
                 "float f0 = fval(u3), f1 = fval(u1);",
                 "double d0 = (double)f0;"]
        if self.has_local:
            body += ["u32 loc[16];",
                     "for (u32 z = 0; z < 16u; z++) loc[z] = z * lane;"]
        body += self.decls
        if self.early:
            body += ["sh[t] = t;", "__syncthreads();", self.early]
        tail = ["out[64u + 16u * (u32)n + gid] = "
                "u0 ^ hash(u1) ^ u2 * 3u ^ hash(u3 + 1u);",
                "out[64u + 17u * (u32)n + gid] = (u32)i0 + hash((u32)i1) + "
                "w0 * 5u + w1 * 7u + c0 + (u32)(s32)h0;",
                "out[64u + 18u * (u32)n + gid] = (u32)q0 ^ (u32)(q1 >> 32) ^ "
                "(u32)q1 ^ (u32)(q0 >> 32) ^ (p0 ? 1u : 0u) ^ "
                "(p1 ? 2u : 0u);",
                "out[64u + 19u * (u32)n + gid] = fbits(f0) ^ hash(fbits(f1)) "
                "^ (u32)(dbits(d0) >> 32);"]
        if self.has_local:
            tail += ["for (u32 z = 0; z < 16u; z++) "
                     "out[64u + 16u * (u32)n + gid] += hash(loc[z] + z);"]
        if self.kind == "warp" or self.kind == "block":
            tail += ["(void)agree;"]
        if self.kind == "atomic":
            # Every ticket is given out once.
            tail += [f"out[64u + 20u * (u32)n + atomicAdd(&out[60], 1u)] = "
                     f"77u;"]
        pad = lambda lines: ["    " + x for x in lines]
        return "\n".join(head + pad(body) + self.lines + pad(tail) +
                         ["}", ""])

    def launches(self):
        out = []
        if self.dims == 1:
            for g, t in self.r.sample(SHAPES_1D, 4):
                out.append((g, 1, 1, t, 1, 1))
        elif self.dims == 2:
            for g, t in self.r.sample(SHAPES_2D, 4):
                out.append((*g, 1, *t, 1))
        else:
            for g, t in self.r.sample(SHAPES_3D, 3):
                out.append((*g, *t))
        return out


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    kind = None
    for a in sys.argv[1:]:
        if a.startswith("--kind="):
            kind = a[7:]
    first, count = int(args[0]), int(args[1])
    small = "--small" in sys.argv
    kernels = [Kernel(s, kind, small) for s in range(first, first + count)]
    r = random.Random(99)
    print("/* Made by generate.py. */")
    print('#include "twin.h"')
    print("CONSTANT u32 table[64] = {" +
          ", ".join(f"{r.randrange(1 << 32)}u" for _ in range(64)) + "};")
    for k in kernels:
        print(k.text())
    print("#ifndef __CUDA_ARCH__")
    print("TWIN_MAIN")
    for k in kernels:
        for x in k.launches():
            print(f"TWIN_LAUNCH(k{k.seed}, " + ", ".join(f"{v}" for v in x) +
                  f", {k.seed * 7 + 1})")
    print("TWIN_END")
    print("#endif")


main()
