/* SPDX-License-Identifier: MIT
 *
 * PTX text -> a checked program in memory. What the parser promises to the
 * code generator: every name is resolved, every register has its declared
 * type, modifiers are a set plus the few fields that carry a choice, operand
 * counts and kinds fit the mnemonic, and each instruction knows its line.
 *
 * cpu/ptx must not know LLVM, the driver, or how a program is run.
 */
#ifndef KILN_CPU_PTX_PTX_H
#define KILN_CPU_PTX_PTX_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

/* Fundamental types, PTX ISA 5.2. X(enum, text, bits, class) */
#define PTX_TYPE_MAP(X)                                                        \
    X(NONE, "", 0, NONE)                                                       \
    X(PRED, "pred", 1, PRED)                                                   \
    X(B8, "b8", 8, BITS)                                                       \
    X(B16, "b16", 16, BITS)                                                    \
    X(B32, "b32", 32, BITS)                                                    \
    X(B64, "b64", 64, BITS)                                                    \
    X(B128, "b128", 128, BITS)                                                 \
    X(U8, "u8", 8, UINT)                                                       \
    X(U16, "u16", 16, UINT)                                                    \
    X(U32, "u32", 32, UINT)                                                    \
    X(U64, "u64", 64, UINT)                                                    \
    X(S8, "s8", 8, SINT)                                                       \
    X(S16, "s16", 16, SINT)                                                    \
    X(S32, "s32", 32, SINT)                                                    \
    X(S64, "s64", 64, SINT)                                                    \
    X(F16, "f16", 16, FLOAT)                                                   \
    X(F16X2, "f16x2", 32, PACKED)                                              \
    X(BF16, "bf16", 16, FLOAT)                                                 \
    X(BF16X2, "bf16x2", 32, PACKED)                                            \
    X(TF32, "tf32", 32, FLOAT)                                                 \
    X(F32, "f32", 32, FLOAT)                                                   \
    X(F64, "f64", 64, FLOAT)                                                   \
    /* Packed, and the element types that only cvt and mma name. */            \
    X(U16X2, "u16x2", 32, PACKED)                                              \
    X(S16X2, "s16x2", 32, PACKED)                                              \
    X(U8X4, "u8x4", 32, PACKED)                                                \
    X(S8X4, "s8x4", 32, PACKED)                                                \
    X(F32X2, "f32x2", 64, PACKED)                                              \
    X(E4M3X2, "e4m3x2", 16, PACKED)                                            \
    X(E5M2X2, "e5m2x2", 16, PACKED)                                            \
    X(E2M3X2, "e2m3x2", 16, PACKED)                                            \
    X(E3M2X2, "e3m2x2", 16, PACKED)                                            \
    X(E2M1X2, "e2m1x2", 8, PACKED)                                             \
    X(UE8M0X2, "ue8m0x2", 16, PACKED)                                          \
    X(E4M3X4, "e4m3x4", 32, PACKED)                                            \
    X(E5M2X4, "e5m2x4", 32, PACKED)                                            \
    X(E2M3X4, "e2m3x4", 32, PACKED)                                            \
    X(E3M2X4, "e3m2x4", 32, PACKED)                                            \
    X(E2M1X4, "e2m1x4", 16, PACKED)                                            \
    X(E4M3, "e4m3", 8, FLOAT)                                                  \
    X(E5M2, "e5m2", 8, FLOAT)                                                  \
    X(E2M3, "e2m3", 6, FLOAT)                                                  \
    X(E3M2, "e3m2", 6, FLOAT)                                                  \
    X(E2M1, "e2m1", 4, FLOAT)                                                  \
    X(UE8M0, "ue8m0", 8, FLOAT)                                                \
    X(UE4M3, "ue4m3", 8, FLOAT)                                                \
    X(U2, "u2", 2, UINT)                                                       \
    X(S2, "s2", 2, SINT)                                                       \
    X(U4, "u4", 4, UINT)                                                       \
    X(S4, "s4", 4, SINT)                                                       \
    X(B1, "b1", 1, BITS)                                                       \
    X(B8X16, "b8x16", 128, PACKED)                                             \
    X(B6X16_P32, "b6x16_p32", 128, PACKED)                                     \
    X(B4X16_P64, "b4x16_p64", 128, PACKED)                                     \
    X(TEXREF, "texref", 64, OPAQUE)                                            \
    X(SAMPLERREF, "samplerref", 64, OPAQUE)                                    \
    X(SURFREF, "surfref", 64, OPAQUE)

enum ptx_type {
#define PTX_TYPE_ENUM(name, text, bits, cls) PTX_##name,
    PTX_TYPE_MAP(PTX_TYPE_ENUM)
#undef PTX_TYPE_ENUM
        PTX_TYPE_COUNT
};
enum ptx_type_class {
    PTX_CLASS_NONE,
    PTX_CLASS_PRED,
    PTX_CLASS_BITS,
    PTX_CLASS_UINT,
    PTX_CLASS_SINT,
    PTX_CLASS_FLOAT,
    PTX_CLASS_PACKED,
    PTX_CLASS_OPAQUE
};
unsigned ptx_type_bits(enum ptx_type t);
enum ptx_type_class ptx_type_class(enum ptx_type t);
const char *ptx_type_text(enum ptx_type t);

/* State spaces, PTX ISA 5.1. GENERIC: no space named. */
enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_REG,
    PTX_SPACE_CONST,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM,
    PTX_SPACE_SHARED
};

/* Mnemonics: opcodes.def, one row each; the part before the first dot, so
 * `shfl.sync.idx.b32` is PTX_OP_SHFL with its modifiers. */
enum ptx_op {
#define OP(name, ...) PTX_OP_##name,
#include "cpu/ptx/opcodes.def"
#undef OP
    PTX_OP_COUNT
};
const char *ptx_op_text(enum ptx_op op);

/* Modifiers that are flags: modifiers.def, MOD(enum, "text"). Written after
 * the mnemonic in any order. Types, spaces, vector widths and the choices
 * below are not flags; they have fields. */
enum ptx_mod {
#define MOD(name, text) PTX_MOD_##name,
#include "cpu/ptx/modifiers.def"
#undef MOD
    PTX_MOD_COUNT
};
enum { PTX_MOD_WORDS = 4 };
_Static_assert(PTX_MOD_COUNT <= 64 * PTX_MOD_WORDS, "words of modifiers");

enum ptx_cmp { /* setp, set, slct: PTX ISA 9.3 */
               PTX_CMP_NONE,
               PTX_CMP_EQ,
               PTX_CMP_NE,
               PTX_CMP_LT,
               PTX_CMP_LE,
               PTX_CMP_GT,
               PTX_CMP_GE,
               PTX_CMP_LO, /* unsigned lt, le, gt, ge by name */
               PTX_CMP_LS,
               PTX_CMP_HI,
               PTX_CMP_HS,
               PTX_CMP_EQU, /* unordered float forms */
               PTX_CMP_NEU,
               PTX_CMP_LTU,
               PTX_CMP_LEU,
               PTX_CMP_GTU,
               PTX_CMP_GEU,
               PTX_CMP_NUM,
               PTX_CMP_NAN
};
/* Two-operand choices: the BoolOp of setp, the operation of atom, red,
 * redux, bar.red, vote, and of lop3's predicate. */
enum ptx_sub {
    PTX_SUB_NONE,
    PTX_SUB_AND,
    PTX_SUB_OR,
    PTX_SUB_XOR,
    PTX_SUB_ADD,
    PTX_SUB_MIN,
    PTX_SUB_MAX,
    PTX_SUB_INC,
    PTX_SUB_DEC,
    PTX_SUB_EXCH,
    PTX_SUB_CAS,
    PTX_SUB_POPC,
    PTX_SUB_ALL,
    PTX_SUB_ANY,
    PTX_SUB_UNI,
    PTX_SUB_BALLOT,
    PTX_SUB_SHFL_UP,
    PTX_SUB_SHFL_DOWN,
    PTX_SUB_SHFL_BFLY,
    PTX_SUB_SHFL_IDX
};
enum ptx_round { /* .rn .rz .rm .rp, and the integer forms .rni ... */
                 PTX_ROUND_NONE,
                 PTX_ROUND_RN,
                 PTX_ROUND_RZ,
                 PTX_ROUND_RM,
                 PTX_ROUND_RP,
                 PTX_ROUND_RNA,
                 PTX_ROUND_RS, /* stochastic */
                 PTX_ROUND_RNI,
                 PTX_ROUND_RZI,
                 PTX_ROUND_RMI,
                 PTX_ROUND_RPI
};

/* Special registers, PTX ISA 10. Vector ones carry dim 0..2 (x, y, z), or 3
 * for the whole vector. */
enum ptx_sreg {
    PTX_SREG_NONE,
    PTX_SREG_TID,
    PTX_SREG_NTID,
    PTX_SREG_CTAID,
    PTX_SREG_NCTAID,
    PTX_SREG_LANEID,
    PTX_SREG_WARPID,
    PTX_SREG_NWARPID,
    PTX_SREG_SMID,
    PTX_SREG_NSMID,
    PTX_SREG_GRIDID,
    PTX_SREG_LANEMASK_EQ,
    PTX_SREG_LANEMASK_LT,
    PTX_SREG_LANEMASK_LE,
    PTX_SREG_LANEMASK_GT,
    PTX_SREG_LANEMASK_GE,
    PTX_SREG_CLOCK,
    PTX_SREG_CLOCK_HI,
    PTX_SREG_CLOCK64,
    PTX_SREG_GLOBALTIMER,
    PTX_SREG_GLOBALTIMER_LO,
    PTX_SREG_GLOBALTIMER_HI,
    PTX_SREG_DYNAMIC_SMEM_SIZE,
    PTX_SREG_TOTAL_SMEM_SIZE,
    PTX_SREG_AGGR_SMEM_SIZE,
    PTX_SREG_ENVREG, /* dim is 0..31 */
    PTX_SREG_CLUSTERID,
    PTX_SREG_NCLUSTERID,
    PTX_SREG_CLUSTER_CTAID,
    PTX_SREG_CLUSTER_NCTAID,
    PTX_SREG_CLUSTER_CTARANK,
    PTX_SREG_CLUSTER_NCTARANK,
    PTX_SREG_IS_EXPLICIT_CLUSTER,
    PTX_SREG_CURRENT_GRAPH_EXEC,
    PTX_SREG_RESERVED_SMEM_BEGIN, /* %reserved_smem_offset_begin ... */
    PTX_SREG_RESERVED_SMEM_END,
    PTX_SREG_RESERVED_SMEM_CAP,
    PTX_SREG_RESERVED_SMEM_0,
    PTX_SREG_RESERVED_SMEM_1,
    PTX_SREG_PM,    /* dim is 0..7 */
    PTX_SREG_PM_64, /* likewise */
    PTX_SREG_COUNT
};

/* A variable of any space but .reg: module scope, function scope, or a
 * parameter. */
struct ptx_var {
    const char *name;
    enum ptx_space space;
    enum ptx_type type; /* element type */
    uint8_t vec;        /* 1, 2 or 4 */
    uint8_t is_extern;
    uint8_t is_visible;
    uint8_t is_weak; /* .weak or .common */
    uint8_t is_managed;
    uint8_t is_array;   /* was declared with [] or [N] */
    uint8_t is_pointer; /* a parameter with .ptr */
    uint8_t ptr_space;  /* .ptr .global: enum ptx_space; 0: none named */
    uint8_t is_unified; /* .attribute(.unified...) */
    uint32_t ptr_align; /* .ptr ... .align N */
    uint32_t reg;       /* space REG (register parameters of .func): the
                         * index into func->regs */
    uint32_t align;     /* bytes; natural unless .align */
    uint64_t size;      /* bytes; 0 for `.extern .shared x[]` */
    uint64_t offset;    /* parameters: byte offset in the parameter block.
                         * others: for the code generator to use */
    /* Initialiser: size bytes (NULL: zeros) and the places that hold
     * addresses. Borrowed from the module's arena. */
    const uint8_t *init;
    const struct ptx_init_ref *refs;
    size_t ref_count;
    unsigned line;
};
/* An address in an initialiser: `size` bytes at `at` (8, or 1 with a shift
 * for mask(addr) forms, or 4), of a variable or a function. */
struct ptx_init_ref {
    uint64_t at;
    uint8_t size;
    uint8_t generic; /* generic(sym) */
    uint8_t shift;   /* 0xff00(sym): the byte at bit 8; size is 1 */
    const struct ptx_var *var;
    const struct ptx_func *func;
    int64_t addend;
};

/* Only registers that the text uses exist. Names are unique in a function:
 * what a nested scope declares again has `$1` or so appended, and so have
 * variables and labels. */
struct ptx_reg {
    const char *name; /* "%r12" */
    enum ptx_type type;
    uint8_t vec; /* .v2/.v4 registers: 2, 4; else 1 */
};

enum ptx_operand_kind {
    PTX_OPERAND_NONE,
    PTX_OPERAND_REG,
    PTX_OPERAND_SINK,      /* _ */
    PTX_OPERAND_INT,       /* ival; bits as written, sign-extended */
    PTX_OPERAND_FLOAT,     /* fbits: 32 bits for 0f, else a double's 64 */
    PTX_OPERAND_SREG,      /* sreg, dim */
    PTX_OPERAND_VAR,       /* address of var, + ival */
    PTX_OPERAND_FUNC,      /* func: call target, or its address */
    PTX_OPERAND_LABEL,     /* block index after parsing */
    PTX_OPERAND_ADDR_REG,  /* [reg + ival] */
    PTX_OPERAND_ADDR_VAR,  /* [var + ival]  (also ld.param of a parameter) */
    PTX_OPERAND_ADDR_INT,  /* [ival] */
    PTX_OPERAND_VECTOR,    /* {a, b, ...}: count elements */
    PTX_OPERAND_ADDR_LIST, /* [a, {b, c}]: textures, tensor maps; elems,
                            * the first an address, the others operands */
    PTX_OPERAND_TABLE      /* .branchtargets, .calltargets, .callprototype */
};

/* Fields that no kind needs at once share their place, so that a module of
 * many instructions stays small: read only what the kind above names. */
struct ptx_operand {
    enum ptx_operand_kind kind;
    uint8_t negate; /* !p: 1; -r of a video instruction: PTX_NEGATE_MINUS */
    uint8_t is_f32; /* FLOAT: written as 0f */
    uint8_t count;  /* VECTOR, ADDR_LIST: elements */
    uint8_t dim;    /* SREG; REG of vector type: 1 + element, 0 whole; REG of
                     * a video instruction: PTX_PART_B0 ... */
    union {
        uint32_t reg;   /* index into func->regs */
        uint32_t label; /* index into func->labels */
    };
    enum ptx_sreg sreg;
    union {
        int64_t ival;
        uint64_t fbits;
    };
    union {
        const struct ptx_var *var;
        const struct ptx_func *func;
        const struct ptx_table *table;
        struct ptx_operand *elems; /* VECTOR, ADDR_LIST */
    };
};
/* %r1.b0 ... %r1.h1, the parts that vadd and its kin select. The selectors of
 * vadd2 and vadd4, .h10 or .b7610, have dim PTX_PARTS_H or PTX_PARTS_B plus
 * how many they are, and their numbers in ival, four bits each, the first in
 * the highest. */
enum {
    PTX_PART_B0 = 16,
    PTX_PART_H0 = 32,
    PTX_PARTS_B = 64,
    PTX_PARTS_H = 80,
    PTX_NEGATE_MINUS = 2
};

/* Operands in the order of the text, destinations first. `p|q` gives two
 * operands with insn->dst_count 2 (q absent: dst_count as without it; the
 * code generator looks at has_pair). */
enum { PTX_MAX_OPERANDS = 8, PTX_MAX_TYPES = 6 };
struct ptx_insn {
    enum ptx_op op;
    uint8_t type_count;
    uint8_t operand_count;
    uint8_t dst_count;     /* how many of the first operands are written */
    uint8_t has_pair;      /* destination written as p|q */
    uint8_t vec;           /* .v2 .v4 .v8: 2, 4, 8; else 1 */
    enum ptx_space space;  /* of ld, st, atom, red, cvta, isspacep ... */
    enum ptx_space space2; /* a second one named: cp.async.shared.global */
    enum ptx_cmp cmp;
    enum ptx_sub sub;
    enum ptx_round round;
    enum ptx_type types[PTX_MAX_TYPES]; /* in the order of the text:
                                         * cvt.f32.s32 -> F32, S32 */
    uint64_t mods[PTX_MOD_WORDS];
    int32_t guard; /* register of @p, or -1 */
    uint8_t guard_negate;
    unsigned line;    /* of the PTX text, from 1 */
    const char *text; /* the mnemonic as written, with modifiers */
    struct ptx_operand operands[PTX_MAX_OPERANDS];
    /* call: result and argument lists; NULL otherwise. */
    const struct ptx_call *call;
};
static inline int ptx_has(const struct ptx_insn *i, enum ptx_mod m)
{
    return i->mods[m / 64] >> (m % 64) & 1;
}

struct ptx_call {
    struct ptx_operand target;      /* FUNC or REG */
    const struct ptx_var **results; /* .param variables or registers: see */
    size_t result_count;            /* the operand arrays */
    const struct ptx_operand *result_operands;
    const struct ptx_operand *args;
    size_t arg_count;
    const struct ptx_table *prototype; /* indirect calls */
};

struct ptx_table { /* .branchtargets / .calltargets / .callprototype */
    const char *name;
    const uint32_t *labels;
    size_t label_count;
    const struct ptx_func **funcs;
    size_t func_count;
    const struct ptx_func *prototype;
};

struct ptx_label {
    const char *name;
    size_t insn; /* index of the instruction that follows (may be count) */
};

struct ptx_func {
    const char *name;
    uint8_t is_entry;
    uint8_t is_visible;
    uint8_t is_extern; /* declared, no body (unless defined too) */
    uint8_t is_weak;
    uint8_t has_body;
    uint8_t noreturn;
    uint8_t is_prototype; /* of a .callprototype; not in module->funcs */
    const struct ptx_func *alias; /* .alias: run this one instead */
    struct ptx_var *params;       /* parameters, offsets filled in */
    size_t param_count;
    struct ptx_var *results; /* of .func */
    size_t result_count;
    uint32_t param_bytes; /* end of the last parameter */
    /* Directives; 0 when absent. */
    uint32_t maxntid[3];
    uint32_t reqntid[3];
    uint32_t minnctapersm;
    uint32_t maxnreg;
    uint32_t reqnctapercluster[3];
    uint32_t maxclusterrank;
    uint8_t explicitcluster;
    struct ptx_reg *regs;
    size_t reg_count;
    struct ptx_insn *insns;
    size_t insn_count;
    struct ptx_label *labels;
    size_t label_count;
    struct ptx_var **locals; /* variables of function scope */
    size_t local_count;
    struct ptx_table **tables; /* of branch and call targets, prototypes */
    size_t table_count;
    unsigned line;
};

struct ptx_module {
    uint32_t version;   /* major * 10 + minor: 90 */
    uint32_t target;    /* SM number of .target: 75 ... */
    char target_suffix; /* 0, 'a' or 'f' */
    uint8_t address_size;
    uint8_t debug;
    uint8_t texmode_independent;
    struct ptx_var **vars; /* module scope */
    size_t var_count;
    struct ptx_func **funcs; /* in order; a declaration merged with its
                              * definition */
    size_t func_count;
    struct arena *arena;
};

/* Parse and check one module. `text` needs no NUL; trailing NULs are
 * ignored. Everything in *out lives in `arena`. On failure: E_PTX with
 * "line N: ..." in err, and every diagnostic, a line each, in `log`
 * ("ptx, line 11; error : ..."); log may be NULL. An instruction that
 * opcodes.def does not know, or a modifier or type that its row does not
 * allow, is E_PTX when it is no PTX and E_NOT_SUPPORTED when it is. */
enum kiln_status ptx_parse(const char *text, size_t size, struct arena *arena,
                           struct ptx_module **out, struct buffer *log,
                           struct kiln_error *err);
/* Print as PTX again; parsing that gives the same program. */
void ptx_print(const struct ptx_module *m, struct buffer *out);
void ptx_print_insn(const struct ptx_func *f, const struct ptx_insn *insn,
                    struct buffer *out);

#endif
