/* SPDX-License-Identifier: MIT */
#include "hostile.h"

#include <string.h>

static const char head[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n";

/* %r0 is the thread, %rd1 its place in p. */
static void open_kernel(struct buffer *b, int registers)
{
    buffer_printf(b,
                  ".visible .entry k(.param .u64 p)\n{\n"
                  ".reg .pred %%p<10>;\n.reg .b32 %%r<%d>;\n"
                  ".reg .b64 %%rd<10>;\n.reg .f64 %%d<4>;\n"
                  ".reg .f32 %%f<40>;\n"
                  "mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%r0;\n"
                  "mov.u32 %%r2, 1;\nld.param.u64 %%rd0, [p];\n"
                  "mad.wide.u32 %%rd1, %%r0, 4, %%rd0;\n",
                  registers + 10);
}

static void close_kernel(struct buffer *b)
{
    buffer_text(b, "st.global.u32 [%rd1], %r1;\nret;\n}\n");
}

/* Branches one after the other that part the lanes. */
static void branches(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "and.b32 %%r2, %%r1, %d;\nsetp.eq.u32 %%p1, %%r2, 0;\n"
                      "@%%p1 bra E%d;\nadd.u32 %%r1, %%r1, %d;\nE%d:\n",
                      1 << i % 7, i, i | 1, i);
    close_kernel(b);
}

/* Branches in each other. */
static void nested(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "setp.le.u32 %%p1, %%r0, %d;\n@%%p1 bra E%d;\n"
                      "add.u32 %%r1, %%r1, 1;\n",
                      i, i);
    for (int i = n; i-- > 0;)
        buffer_printf(b, "E%d: add.u32 %%r1, %%r1, 2;\n", i);
    close_kernel(b);
}

/* Loops in each other, each of another number of turns in each lane. */
static void loops(struct buffer *b, int n)
{
    open_kernel(b, n);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "mov.u32 %%r%d, 0;\nL%d:\nadd.u32 %%r1, %%r1, 3;\n",
                      i + 3, i);
    for (int i = n; i-- > 0;)
        buffer_printf(b,
                      "add.u32 %%r%d, %%r%d, 1;\n"
                      "setp.lt.u32 %%p1, %%r%d, %%r0;\n@%%p1 bra L%d;\n",
                      i + 3, i + 3, i + 3, i);
    close_kernel(b);
}

/* Loops one after the other. */
static void loops_in_a_row(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "mov.u32 %%r2, 0;\nL%d:\nadd.u32 %%r1, %%r1, 3;\n"
                      "add.u32 %%r2, %%r2, 1;\nsetp.lt.u32 %%p1, %%r2, %%r0;\n"
                      "@%%p1 bra L%d;\n",
                      i, i);
    close_kernel(b);
}

/* Addresses that are read, in one block. */
static void gathers(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "ld.global.u32 %%r2, [%%rd1+%d];\n"
                      "mad.wide.u32 %%rd2, %%r2, 4, %%rd0;\n"
                      "ld.global.u32 %%r3, [%%rd2];\n"
                      "add.u32 %%r1, %%r1, %%r3;\n"
                      "st.global.u32 [%%rd2], %%r1;\n",
                      4 * i);
    close_kernel(b);
}

/* Neighbours that are read and written by lanes apart. */
static void masked(struct buffer *b, int n)
{
    open_kernel(b, 0);
    buffer_text(b, "setp.gt.u32 %p1, %r0, 20;\n@%p1 bra END;\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "ld.global.u32 %%r2, [%%rd1+%d];\n"
                      "add.u32 %%r1, %%r1, %%r2;\n"
                      "st.global.u32 [%%rd1+%d], %%r1;\n",
                      4 * i, 4 * i);
    buffer_text(b, "END:\n");
    close_kernel(b);
}

static void arithmetic(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "mad.lo.u32 %%r1, %%r1, 5, %%r2;\n"
                      "xor.b32 %%r2, %%r1, %d;\n",
                      i);
    close_kernel(b);
}

/* Instructions that are many of the processor's. */
static void divisions(struct buffer *b, int n)
{
    open_kernel(b, 0);
    buffer_text(b, "cvt.rn.f64.u32 %d2, %r1;\ncvt.rn.f32.u32 %f1, %r1;\n");
    for (int i = 0; i < n; i++)
        buffer_text(b, "rem.u32 %r1, %r1, %r2;\nadd.u32 %r2, %r2, %r0;\n"
                       "div.rn.f32 %f1, %f1, %f1;\nsqrt.rm.f64 %d1, %d2;\n"
                       "fma.rz.f64 %d2, %d1, %d1, %d2;\n");
    buffer_text(b, "cvt.rzi.u32.f64 %r2, %d2;\nadd.u32 %r1, %r1, %r2;\n"
                   "cvt.rzi.u32.f32 %r2, %f1;\nadd.u32 %r1, %r1, %r2;\n");
    close_kernel(b);
}

/* Each lane's value against all others' of the warp. */
static void matches(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_text(b, "match.any.sync.b32 %r2, %r1, %r0;\n"
                       "add.u32 %r1, %r1, %r2;\n");
    close_kernel(b);
}

static void atomics(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "atom.global.%s.u32 %%r1, [%%rd1], %%r1;\n",
                      i % 3 == 0   ? "add"
                      : i % 3 == 1 ? "inc"
                                   : "max");
    close_kernel(b);
}

static void matrices(struct buffer *b, int n)
{
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        buffer_text(b, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                       "{%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, "
                       "{%r0, %r1}, {%f0, %f1, %f2, %f3};\n");
    buffer_text(b, "mov.b32 %r1, %f1;\n");
    close_kernel(b);
}

/* Registers that are all live round a loop that parts the lanes. */
static void live(struct buffer *b, int n)
{
    open_kernel(b, n);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "add.u32 %%r%d, %%r0, %d;\n", i + 4, i);
    buffer_text(b, "mov.u32 %r3, 0;\nL:\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b, "mad.lo.u32 %%r%d, %%r%d, 3, %%r%d;\n", i + 4, i + 4,
                      (i + 1) % n + 4);
    buffer_text(b, "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r0;\n"
                   "@%p1 bra L;\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b, "xor.b32 %%r1, %%r1, %%r%d;\n", i + 4);
    close_kernel(b);
}

/* As many values live across as many branches. */
static void live_branches(struct buffer *b, int n)
{
    open_kernel(b, n);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "mul.lo.u32 %%r%d, %%r0, %d;\n", i + 4, i);
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "setp.gt.u32 %%p1, %%r%d, 7;\n@%%p1 bra E%d;\n"
                      "add.u32 %%r%d, %%r%d, %%r1;\nE%d:\n",
                      i + 4, i, n - i + 3, i + 4, i);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "xor.b32 %%r1, %%r1, %%r%d;\n", i + 4);
    close_kernel(b);
}

static void barriers(struct buffer *b, int n)
{
    open_kernel(b, 32);
    for (int i = 0; i < 32; i++)
        buffer_printf(b, "mul.lo.u32 %%r%d, %%r0, %d;\n", i + 4, i);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "add.u32 %%r%d, %%r%d, %%r1;\nbar.sync 0;\n",
                      i % 32 + 4, (i + 1) % 32 + 4);
    for (int i = 0; i < 32; i++)
        buffer_printf(b, "xor.b32 %%r1, %%r1, %%r%d;\n", i + 4);
    close_kernel(b);
}

static void targets(struct buffer *b, int n)
{
    open_kernel(b, 0);
    buffer_text(b, "ts: .branchtargets ");
    for (int i = 0; i < n; i++)
        buffer_printf(b, "%sB%d", i ? "," : "", i);
    buffer_text(b, ";\nbrx.idx %r0, ts;\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b, "B%d: add.u32 %%r1, %%r1, %d;\n%s", i, i,
                      i % 2 ? "bra END;\n" : "");
    buffer_text(b, "END:\n");
    close_kernel(b);
}

static void call(struct buffer *b, const char *to, int number)
{
    buffer_text(b, "{ .param .b32 a; .param .b32 c;\n"
                   "st.param.b32 [a], %r1;\ncall (c), ");
    buffer_printf(b, number < 0 ? "%s" : "%s%d", to, number);
    buffer_text(b, ", (a);\nld.param.b32 %r1, [c];\n}\n");
}

static void open_function(struct buffer *b, int number, int is_declared)
{
    buffer_printf(b, ".func (.param .b32 c) f%d(.param .b32 a)%s", number,
                  is_declared ? ";\n"
                              : "\n{\n.reg .pred %p<4>;\n.reg .b32 %r<4>;\n"
                                "ld.param.b32 %r1, [a];\n"
                                "add.u32 %r1, %r1, 1;\n");
}

static void close_function(struct buffer *b)
{
    buffer_text(b, "st.param.b32 [c], %r1;\nret;\n}\n");
}

/* Calls of one small function. */
static void calls(struct buffer *b, int n)
{
    open_function(b, 0, 0);
    close_function(b);
    open_kernel(b, 0);
    for (int i = 0; i < n; i++)
        call(b, "f", 0);
    close_kernel(b);
}

/* Each function calls the next twice: 2^n calls. */
static void doubled_calls(struct buffer *b, int n)
{
    for (int i = n; i-- > 0;) {
        open_function(b, i, 0);
        if (i + 1 < n) {
            call(b, "f", i + 1);
            call(b, "f", i + 1);
        }
        close_function(b);
    }
    open_kernel(b, 0);
    call(b, "f", 0);
    close_kernel(b);
}

/* Functions in a ring, each calling the next. */
static void ring(struct buffer *b, int n)
{
    for (int i = 0; i < n; i++)
        open_function(b, i, 1);
    for (int i = 0; i < n; i++) {
        open_function(b, i, 0);
        buffer_text(b, "setp.gt.u32 %p1, %r1, 100;\n@%p1 bra END;\n");
        call(b, "f", (i + 1) % n);
        buffer_text(b, "END:\n");
        close_function(b);
    }
    open_kernel(b, 0);
    call(b, "f", 0);
    close_kernel(b);
}

/* One function that calls itself in so many places. */
static void recursion(struct buffer *b, int n)
{
    open_function(b, 0, 0);
    buffer_text(b, "setp.gt.u32 %p1, %r1, 100;\n@%p1 bra END;\n");
    for (int i = 0; i < n; i++)
        call(b, "f", 0);
    buffer_text(b, "END:\n");
    close_function(b);
    open_kernel(b, 0);
    call(b, "f", 0);
    close_kernel(b);
}

static void prints(struct buffer *b, int n)
{
    buffer_text(b, ".global .align 1 .b8 text[4] = {37, 100, 10, 0};\n");
    open_kernel(b, 0);
    buffer_text(b, ".local .align 8 .b8 args[8];\n"
                   "cvta.local.u64 %rd3, args;\nmov.u64 %rd2, text;\n"
                   "cvta.global.u64 %rd2, %rd2;\n");
    for (int i = 0; i < n; i++)
        buffer_text(b, "{ .param .b64 a; .param .b64 b; .param .b32 c;\n"
                       "st.param.b64 [a], %rd2;\nst.param.b64 [b], %rd3;\n"
                       "call (c), vprintf, (a, b);\n}\n");
    close_kernel(b);
}

/* Parameters of the kernel, eight bytes each. */
static void parameters(struct buffer *b, int n)
{
    buffer_text(b, ".visible .entry k(.param .u64 p");
    for (int i = 0; i < n; i++)
        buffer_printf(b, ", .param .u64 p%d", i);
    buffer_text(b, ")\n{\n.reg .b64 %rd<4>;\nmov.u64 %rd1, 0;\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "ld.param.u64 %%rd2, [p%d];\n"
                      "add.u64 %%rd1, %%rd1, %%rd2;\n",
                      i);
    buffer_text(b, "ld.param.u64 %rd2, [p];\nst.global.u64 [%rd2], %rd1;\n"
                   "ret;\n}\n");
}

/* Kernels of one instruction. */
static void kernels(struct buffer *b, int n)
{
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      ".visible .entry k%d(.param .u64 p)\n{\n"
                      ".reg .b64 %%rd<2>;\nld.param.u64 %%rd1, [p];\n"
                      "st.global.u32 [%%rd1], %d;\nret;\n}\n",
                      i, i);
}

/* An array of so many bytes in each space. */
static void arrays(struct buffer *b, int n)
{
    buffer_printf(b, ".global .align 4 .b8 ga[%d];\n", n);
    buffer_printf(b, ".const .align 4 .b8 ca[%d] = {1, 2, 3};\n", n);
    open_kernel(b, 0);
    buffer_printf(b,
                  ".shared .align 4 .b8 sa[%d];\n"
                  ".local .align 4 .b8 la[%d];\n",
                  n, n);
    buffer_text(b, "st.local.u32 [la], %r0;\nld.local.u32 %r1, [la];\n"
                   "st.shared.u32 [sa], %r1;\nst.global.u32 [ga], %r1;\n"
                   "ld.const.u32 %r2, [ca];\nadd.u32 %r1, %r1, %r2;\n");
    close_kernel(b);
}

/* Four elements a lane, in one block. */
static void vectors(struct buffer *b, int n)
{
    open_kernel(b, 0);
    buffer_text(b, "mad.wide.u32 %rd2, %r0, 16, %rd0;\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "ld.global.v4.u32 {%%r3, %%r4, %%r5, %%r6}, [%%rd2+%d];\n"
                      "add.u32 %%r1, %%r1, %%r5;\n"
                      "st.global.v4.u32 [%%rd2+%d], {%%r1, %%r4, %%r3, %%r6};"
                      "\n",
                      16 * i, 16 * i + 16);
    close_kernel(b);
}

static const struct kind {
    const char *name;
    void (*make)(struct buffer *, int);
} kinds[] = {
    {"branches", branches},
    {"nested", nested},
    {"loops", loops},
    {"loops_in_a_row", loops_in_a_row},
    {"gathers", gathers},
    {"masked", masked},
    {"arithmetic", arithmetic},
    {"divisions", divisions},
    {"matches", matches},
    {"atomics", atomics},
    {"matrices", matrices},
    {"live", live},
    {"live_branches", live_branches},
    {"barriers", barriers},
    {"targets", targets},
    {"calls", calls},
    {"doubled_calls", doubled_calls},
    {"ring", ring},
    {"recursion", recursion},
    {"prints", prints},
    {"parameters", parameters},
    {"kernels", kernels},
    {"arrays", arrays},
    {"vectors", vectors},
};

const char *hostile_kind(size_t index)
{
    return index < sizeof kinds / sizeof *kinds ? kinds[index].name : NULL;
}

struct buffer hostile_make(const char *kind, int n)
{
    struct buffer b = {0};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].name)) {
            buffer_text(&b, head);
            kinds[i].make(&b, n);
        }
    return b;
}
