/* SPDX-License-Identifier: MIT
 *
 * libFuzzer's mutator for PTX: words and phrases are exchanged, those of the
 * parser's tables and what may stand around them, and instructions put in.
 */
#include "cpu/ptx/ptx.h"
#include "fuzz/mutate.h"
#include "fuzz/mutate_form.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

static const char *const words[] = {
#define OP(name, mnemonic, open) "\n" mnemonic,
#include "cpu/ptx/opcodes.def"
#undef OP
#define MOD(name, text) "." text,
#include "cpu/ptx/modifiers.def"
#undef MOD
#define TYPE(name, text, bits, cls) "." text,
    PTX_TYPE_MAP(TYPE)
#undef TYPE
    /* directives */
    ".version ",
    ".target ", ".address_size ", ".visible ", ".extern ", ".weak ", ".common ",
    ".entry ", ".func ", ".param ", ".reg ", ".global ", ".const ", ".shared ",
    ".local ", ".align ", ".ptr ", ".maxntid ", ".reqntid ", ".minnctapersm ",
    ".maxnctapersm ", ".maxnreg ", ".noreturn ", ".pragma ", ".loc ", ".file ",
    ".section ", ".branchtargets ", ".calltargets ", ".callprototype ",
    ".alias ", ".attribute(.managed) ", ".attribute(.unified(1,2)) ",
    ".explicitcluster ", ".maxclusterrank ", ".reqnctapercluster ",
    ".blocksareclusters ", ".abi_preserve ", ".abi_preserve_control ", ".tex ",
    ".generic", ".v2", ".v4", ".v8",
    /* choices that are no flags */
    ".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".lo", ".ls", ".hi", ".hs",
    ".equ", ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan", ".and",
    ".or", ".xor", ".add", ".min", ".max", ".inc", ".dec", ".exch", ".cas",
    ".popc", ".any", ".ballot", ".up", ".down", ".bfly", ".idx", ".rn", ".rz",
    ".rm", ".rp", ".rna", ".rs", ".rni", ".rzi", ".rmi", ".rpi", ".x", ".y",
    ".z", ".w", ".r", ".b0", ".h1", ".h10", ".b7610", ".m16n8k16", ".m16n16k16",
    ".m8n8k4", ".m8n32k16", ".row", ".col",
    /* special registers */
    "%tid", "%ntid", "%ctaid", "%nctaid", "%clock", "%clock64", "%clock_hi",
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
    "%lanemask_eq", "%lanemask_lt", "%globaltimer", "%globaltimer_lo",
    "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%envreg3",
    "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
    "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster", "%pm0",
    "%reserved_smem_offset_begin",
    /* names and marks */
    "%p1", "%r1", "%rd1", "%f1", "@%p1 ", "@!%p1 ", "{", "}", "(", ")", "[",
    "]", ",", ";\n", ":\n", "|", "+", "-", "*", "/", "<", ">", "=",
    "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "?", "~", "!", "&", "^",
    "%", "_", "generic(", "mask(", "0xff(", "WARP_SZ", "\"a\"", "//", "/*",
    "*/", "[]", "[4]", "<8>", "%r<8>", "sm_20", "sm_90a", "sm_100f",
    "compute_90", "8.8", "9.2", "1.0", "debug", "texmode_independent",
    "texmode_unified", "map_f64_to_f32", "1.5", "0f3F800000",
    "0d3FF0000000000000", "1e9", "0b101", "017", "1U", "(.s64)", "(.u64)",
    /* whole phrases */
    ".reg .b32 a, b, c;\n", ".reg .v4 .f32 v<4>;\n", ".reg .b32 %s<4>;\n",
    ".shared .align 16 .b8 s[64];\n", ".local .b32 m[2][3];\n",
    ".extern .shared .align 16 .b8 e[];\n",
    ".global .u64 g1[2] = {g1, generic(g1)+8};\n",
    ".global .b8 g2[8] = {0xff(g1), 0xff00(g1), 1, -1};\n",
    ".global .v4 .f32 g3 = {1.0, 0f00000000, 1, 2};\n",
    ".const .s16 c1[2][2] = {{1, 2}, {3}};\n", ".global .texref t1;\n",
    ".weak .global .u32 w = 3;\n", ".common .global .b32 q;\n",
    ".extern .global .b32 x;\n",
    ".visible .func (.param .b32 o) f1(.param .b32 i);\n",
    ".func (.reg .b32 o) f2(.reg .b32 i) { mov.b32 o, i; ret; }\n",
    ".extern .func (.param .s32 o) vprintf(.param .b64 a, .param .b64 b);\n",
    ".alias f1, f2;\n", ".visible .entry e(.param .u64 a) {\nret;\n}\n",
    ".weak .entry e2() .maxntid 32, 2, 1 .reqntid 32 .maxnreg 32 {}\n",
    "T: .branchtargets L0, L1;\n", "C: .calltargets f1, f2;\n",
    "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n",
    "P2: .callprototype _ (.param .align 8 .b8 _[12]) .noreturn;\n",
    "{\n.param .b32 a;\n", "call.uni (o), f1, (a);\n", "call f2, (1);\n",
    "call (a), %rd1, (b), P;\n", "brx.idx %r1, T;\n", "L0:\n",
    "L1: ", "ld.param.b32 %r1, [a];\n", "st.param.v2.b32 [a+8], {%r1, %r2};\n",
    "mov.b64 {%r1, %r2}, %rd1;\n", "@%p1 bra L0;\n", "ret;\n",
    ".loc 1 2 3, function_name L0, inlined_at 1 2 3\n",
    ".file 1 \"a.cu\", 1, 2\n",
    ".section .debug_str\n{\nL: .b8 1, 2\n.b64 L+4\n.b32 L-L\n}\n",
    ".pragma \"nounroll\";\n", "@@DWARF .byte 1\n", ".ptr .global .align 8 "};

/* --- names for instructions that are put in --- */

/* Some name of the text that begins with %. 0: it has none there. */
static int text_name(const struct buffer *text, struct rng *r,
                     struct buffer *out)
{
    const unsigned char *s = text->bytes;
    size_t at = rng_below(r, (uint32_t)text->size);
    size_t n = 1;

    while (at < text->size && s[at] != '%')
        at++;
    if (at == text->size)
        return 0;
    while (at + n < text->size && mutate_is_word(s[at + n]))
        n++;
    buffer_add(out, s + at, n);
    return 1;
}

/* Of the text, or of tests/ptxas/frame.ptx, which many seeds are. */
static void add_name(void *from, struct rng *r, enum form_name kind,
                     unsigned bits, struct buffer *out)
{
    static const char *const names[][4] = {
        {"%p", "%p", "%p", "%p"},    {"%c", "%c", "%c", "%c"},
        {"%h", "%hu", "%hs", "%hf"}, {"%r", "%ru", "%f", "%hh"},
        {"%d", "%du", "%ds", "%fd"}, {"%q", "%q", "%q", "%q"}};
    static const char *const variables[] = {"gl", "sh",  "lo",
                                            "co", "pin", "blob"};
    const unsigned size = bits == 1    ? 0
                          : bits <= 8  ? 1
                          : bits <= 16 ? 2
                          : bits <= 32 ? 3
                          : bits <= 64 ? 4
                                       : 5;

    switch (kind) {
    case FORM_REGISTER:
        if (rng_below(r, 4) == 0 && text_name(from, r, out))
            break;
        buffer_printf(out, "%s%u",
                      names[size][rng_below(r, 2) ? 0 : rng_below(r, 4)],
                      rng_below(r, 8));
        break;
    case FORM_VARIABLE:
        buffer_text(out, variables[rng_below(r, 6)]);
        break;
    case FORM_LABEL:
        buffer_text(out, rng_below(r, 2) ? "L0" : "L1");
        break;
    case FORM_TABLE:
        buffer_text(out, "T");
        break;
    case FORM_FUNCTION:
        buffer_text(out, "fn");
        break;
    }
}

/* An instruction of a row of forms.def, before a line or in its place. */
static size_t put_form(uint8_t *data, size_t size, size_t most, struct rng *r)
{
    struct buffer b = {0};
    struct buffer line = {0};
    size_t at = rng_below(r, (uint32_t)size);
    size_t end = at;

    while (at && data[at - 1] != '\n')
        at--;
    while (end < size && data[end] != '\n')
        end++;
    buffer_add(&b, data, size);
    form_insn(&(struct form_names){&b, add_name}, r, &line);
    buffer_text(&line, ";\n");
    mutate_splice(&b, at, rng_below(r, 2) ? 0 : end - at, &line);
    buffer_fini(&line);
    return mutate_give(&b, data, most);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    struct rng r = {seed};

    if (size && rng_below(&r, 3) == 0)
        return put_form(data, size, max_size, &r);
    return mutate_text(data, size, max_size, seed, words,
                       sizeof words / sizeof *words);
}
