#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Writes examples.txt: what each example must give, computed here without
# Kiln and without a GPU, in the arithmetic that the kernels ask for.
#
#     examples/expect.py > examples/examples.txt
import ctypes
import ctypes.util
import struct

libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.fmaf.restype = ctypes.c_float
libm.fmaf.argtypes = [ctypes.c_float] * 3
fma32 = libm.fmaf

M32, M64 = 2**32 - 1, 2**64 - 1


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def signed(x, bits):
    x &= 2**bits - 1
    return x - 2**bits if x >> (bits - 1) else x


def random_at(seed, i):
    """splitmix64, as src/tool/fill.c says."""
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & M64
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & M64
    return z ^ z >> 31


def rand_int(seed, n, bits):
    return [signed(random_at(seed, i) >> (64 - bits), bits) for i in range(n)]


def rand_f32(seed, n):
    return [(random_at(seed, i) >> 40) * 2.0**-24 for i in range(n)]


def show(x, digits):
    """The shortest text that reads back, as kiln run prints."""
    if isinstance(x, int):
        return str(x)
    for d in range(6 if digits == 9 else 15, digits + 1):
        text = "%.*g" % (d, x)
        back = f32(float(text)) if digits == 9 else float(text)
        if back == x:
            return text
    return text


def example(command, *outputs):
    print("run " + command)
    for number, kind, values in outputs:
        words = command.split()
        # Arguments follow the options; the option values are counted off.
        args = [w for w in words[2:] if ":" in w and not w.startswith("--")
                and not w.startswith("'")]
        text = args[number - 1].strip("'")
        type_and_count = text[: text.index("]") + 1]
        digits = 9 if text.startswith("f32") and kind == "head" else 17
        if not isinstance(values, list):
            values = [values]
        print("  argument %d %s %s: %s" % (
            number, type_and_count, kind,
            " ".join(show(v, digits) for v in values)))
    print()


def saxpy():
    n = 1048576
    example("saxpy.cu saxpy --grid 4096 --block 256 f32:2 f32[%d]:iota "
            "f32[%d]:const=1:head i32:%d" % (n, n, n),
            (3, "head", [float(2 * i + 1) for i in range(8)]))
    n = 1000003
    y = [fma32(0.5, f32(i), 1.0) for i in range(n)]
    example("saxpy.cu saxpy_stride --grid 8 --block 128 f32:0.5 f32[%d]:iota "
            "f32[%d]:const=1:sum i32:%d" % (n, n, n), (3, "sum", sum(y)))


def reduce():
    for grid, block, init, n, total in (
            (64, 256, "const=1", 1048576, 1048576),
            (3, 96, "iota", 1024, 1024 * 1023 // 2),
            (1, 32, "iota", 7, 21)):
        example("reduce.cu sum --grid %d --block %d f32[%d]:%s "
                "f32[1]:zero:head i32:%d" % (grid, block, n, init, n),
                (2, "head", float(total)))
    example("reduce.cu sum_tree --grid 4 --block 256 f32[1000]:iota "
            "f32[1]:zero:head i32:1000", (2, "head", 499500.0))
    x = rand_int(7, 1024, 32)
    bins = [sum(1 for v in x if v & 15 == b) for b in range(16)]
    example("reduce.cu extremes --grid 8 --block 128 i32[1024]:rand=7 "
            "i32[1]:zero:head i32[1]:zero:head u32[16]:zero:head=16 i32:1024",
            (2, "head", min(x)), (3, "head", max(x)), (4, "head", bins))


def lanes():
    x = list(range(32))
    lane = range(32)
    ballot = lambda p, m: sum(1 << k for k in lane if m >> k & 1 and p(x[k]))

    def segment(k, delta, width):
        to = k + delta
        return to if k // width == to // width and to >= 0 else k

    rows = [
        [x[(k * 7 + 3) & 31] for k in lane],
        [x[segment(k, -3, 32)] for k in lane],
        [x[segment(k, 5, 32)] for k in lane],
        [x[k ^ 9] for k in lane],
        [x[segment(k, -1, 8)] for k in lane],
        [x[segment(k, 2, 16)] for k in lane],
        [ballot(lambda v: v % 3 == 0, M32)] * 32,
        [int(5 in x) | int(all(v >= 0 for v in x)) << 1] * 32,
        [ballot(lambda v: v & 2, 0xAAAAAAAA) if k & 1
         else ballot(lambda v: v & 4, 0x55555555) for k in lane],
        [32] * 32,
    ]
    example("reduce.cu lanes --block 32 i32[32]:iota u32[320]:zero:head=320",
            (2, "head", [v for row in rows for v in row]))


def matmul():
    n = 100
    a, b = rand_f32(1, n * n), rand_f32(2, n * n)
    c = []
    for row in range(n):
        for col in range(n):
            acc = 0.0
            for k in range(n):
                acc = fma32(a[row * n + k], b[k * n + col], acc)
            c.append(acc)
    args = "--grid 7,7 --block 16,16 f32[10000]:rand=1 f32[10000]:rand=2 "
    example("matmul.cu matmul " + args + "f32[10000]:zero:head i32:100",
            (3, "head", c[:8]))
    example("matmul.cu matmul " + args + "f32[10000]:zero:sum i32:100",
            (3, "sum", sum(c)))


def product(a, b, n):
    """a by rows, b by columns."""
    rows = [a[i * n:i * n + n] for i in range(n)]
    columns = [b[i * n:i * n + n] for i in range(n)]
    return [sum(x * y for x, y in zip(row, column))
            for row in rows for column in columns]


def tensor():
    n = 128
    ints = rand_int(3, n * n // 4, 32), rand_int(4, n * n // 4, 32)
    a, b = [[signed(v >> 8 * i, 8) for v in m for i in range(4)] for m in ints]
    c = product(a, b, n)
    args = "--grid 16,8 --block 32 i32[4096]:rand=3 i32[4096]:rand=4 "
    example("tensor.cu matmul_bytes " + args + "i32[16384]:zero:head i32:128",
            (3, "head", c[:8]))
    example("tensor.cu matmul_bytes " + args + "i32[16384]:zero:sum i32:128",
            (3, "sum", sum(c)))
    a, b = [[(v & 15) - 8 for v in rand_int(seed, n * n, 32)]
            for seed in (5, 6)]
    c = [float(x) for x in product(a, b, n)]
    args = "--grid 16,8 --block 32 i32[16384]:rand=5 i32[16384]:rand=6 "
    example("tensor.cu matmul_halves " + args + "f32[16384]:zero:head i32:128",
            (3, "head", c[:8]))
    example("tensor.cu matmul_halves " + args + "f32[16384]:zero:sum i32:128",
            (3, "sum", sum(c)))


def mandelbrot():
    w, h, limit = 200, 150, 100
    total = 0
    for py in range(h):
        for px in range(w):
            cx = fma32(3.0 / 1024, float(px * 1024 // w), -2.25)
            cy = fma32(2.5 / 1024, float(py * 1024 // h), -1.25)
            x = y = 0.0
            i = 0
            while i < limit:
                xx, yy = f32(x * x), f32(y * y)
                if f32(xx + yy) > 4.0:
                    break
                y = fma32(f32(2 * x), y, cy)
                x = f32(f32(xx - yy) + cx)
                i += 1
            total += i
    example("mandelbrot.cu mandelbrot --grid 13,10 --block 16,16 "
            "i32[%d]:zero:sum i32:%d i32:%d i32:%d" % (w * h, w, h, limit),
            (1, "sum", total))


def templates():
    for t, name in (("f32", "float"), ("f64", "double")):
        example("template.cu axpy<%s> --grid 4 --block 256 %s:3 "
                "%s[1000]:iota %s[1000]:const=0.5:head i32:1000"
                % (name, t, t, t),
                (3, "head", [3.0 * i + 0.5 for i in range(8)]))
    example("template.cu ns::scale<int,4> --block 64 i32[250]:iota:sum "
            "i32:250", (1, "sum", 4 * 250 * 249 // 2))


def filters():
    n = 1000
    weights = [0.125, 0.25, 0.25, 0.25, 0.125]
    y = [sum(weights[k + 2] * min(max(i + k, 0), n - 1)
             for k in range(-2, 3)) for i in range(n)]
    args = "--grid 8 --block 128 f32[1000]:iota "
    example("filter.cu filter " + args + "f32[1000]:zero:head i32:1000",
            (2, "head", y[:8]))
    example("filter.cu filter " + args + "f32[1000]:zero:sum i32:1000",
            (2, "sum", sum(y)))


def reverse():
    y = [b * 64 + 63 - t for b in range(4) for t in range(64)]
    example("reverse.cu reverse --grid 4 --block 64 --shared 256 "
            "i32[256]:iota i32[256]:zero:head=70", (2, "head", y[:70]))


def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def integers(bits):
    n, mask = 1024, 2**bits - 1
    xs = rand_int(3 if bits == 32 else 5, n, bits)
    ys = rand_int(4 if bits == 32 else 6, n, bits)
    total = 0
    for a, y in zip(xs, ys):
        b = y | 1
        ua, ub, s = a & mask, b & mask, b & (bits - 1)
        d = 1 if b == -1 else b
        text = format(ua, "0%db" % bits)
        rows = [a + b, a - b, a * b, quotient(a, d), a - quotient(a, d) * d,
                ua // ub, ua % ub, ua << s, ua >> s, a >> s, a * b >> bits,
                ua * ub >> bits, text.count("1"),
                len(text) - len(text.lstrip("0")), int(text[::-1], 2),
                (ua & -ua).bit_length(), (a & b) ^ (a | ~b), min(a, b),
                max(ua, ub)]
        if bits == 32:
            rows += [abs(a),
                     signed(a, 16) * signed(b, 16) + signed(a >> 3, 8)]
        else:
            rows += [signed(a, 32) * signed(b, 32), (a & M32) * (b & M32)]
        rows += [1 if a < b else 2 if ua < ub else 3]
        total += sum(r & mask for r in rows)
    seeds = (3, 4) if bits == 32 else (5, 6)
    example("integer.cu integer%d --grid 8 --block 128 i%d[1024]:rand=%d "
            "i%d[1024]:rand=%d u%d[22528]:zero:sum i32:1024"
            % (bits, bits, seeds[0], bits, seeds[1], bits),
            (3, "sum", total & M64))


print("""# What each example must give on every device, after "kiln run". The
# indented lines are those of the output that start with "argument".
# Written by expect.py, which computes them without Kiln.
""")
saxpy()
reduce()
lanes()
matmul()
tensor()
mandelbrot()
templates()
filters()
reverse()
integers(32)
integers(64)
