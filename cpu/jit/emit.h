/* SPDX-License-Identifier: MIT
 *
 * From the analysed graph of one kernel to one LLVM function a variant.
 *
 * A warp is CHUNKS chunks of `lanes` lanes. Uniform values are scalars, others
 * a scalar or a vector a chunk. Values that cross blocks, phis and masks live
 * in stack slots, which LLVM's mem2reg turns into registers; a slot is set to
 * poison where its old value is dead, so that no register carries it on.
 */
#ifndef KILN_CPU_JIT_EMIT_H
#define KILN_CPU_JIT_EMIT_H

#include "cpu/jit/effort.h"
#include "cpu/jit/graph.h"
#include "cpu/jit/layout.h"
#include "cpu/jit/lower.h"

enum { EMIT_MAX_CHUNKS = 8, EMIT_MAX_ELEMENTS = 8 };

/* What the code generator knows of the processor. */
struct emit_target {
    unsigned lanes; /* of a chunk: 16 with AVX-512, 8 with AVX2, else 4 */
    int has_avx512;
    int has_f16c;
    const char *cpu;
    const char *features;
    struct lines *lines; /* to note where code comes from, or NULL */
    int checks;          /* the engine is asked before each access */
};

/* A slot's place in the frame of a warp that waits at a barrier. */
struct emit_place {
    LLVMValueRef slot;
    uint32_t offset, align;
};

struct emit_slot { /* allocas */
    LLVMValueRef at[EMIT_MAX_CHUNKS];
    int count;                /* 0: no slot */
    struct emit_place *place; /* count of them, or NULL: not kept */
    int wanted;               /* emit_wait.c: behind the barrier at hand */
};

/* A value as known in the current block. */
struct emit_known {
    int stamp;                            /* block + 1 that it is known in */
    LLVMValueRef scalar[EMIT_MAX_CHUNKS]; /* uniform: the first */
    LLVMValueRef vector[EMIT_MAX_CHUNKS];
};

/* What a barrier stores into the frame, and what is loaded behind it. */
struct emit_kept {
    struct emit_place *places;
    int count;
    size_t cap;
};
struct emit_wait {
    struct emit_kept store, load;
};

/* Values whose slots die with an iteration of a loop, by the loop of the
 * block that makes them, and phis that are blended, by the immediate
 * dominator of their block: chains through the values, GRAPH_NONE ends. */
struct emit_dead {
    int *of_loop, *next;
    int *phi_of, *next_phi;
};

struct emit {
    struct lower l; /* context, module, builder */
    const struct emit_target *target;
    const struct layout_kernel *layout;
    struct graph *g;
    unsigned lanes, chunks;
    unsigned done_count; /* PTX instructions so far */
    LLVMValueRef fn;
    LLVMMetadataRef scope; /* of its lines, or NULL */
    LLVMBuilderRef top;    /* places allocas */
    LLVMTypeRef i1, i8, i16, i32, i64, ptr;
    LLVMTypeRef mask_type; /* <lanes x i1> */
    LLVMValueRef iota32;   /* <0, 1, 2, ...> */
    /* Function arguments and what is loaded once. */
    LLVMValueRef block, launch, params, data, shared, local, local_stride;
    LLVMValueRef tid[3], ntid[3], nctaid[3], ctaid[3], threads;
    LLVMValueRef warp;       /* index of the current warp */
    LLVMValueRef zero_warp;  /* first linear thread: warp * 32 */
    LLVMBasicBlockRef ended; /* the warp has returned */
    LLVMBasicBlockRef done;  /* the warp has nothing more to do in this call */
    /* Barriers: by frames (emit_wait.c), else on fibers. */
    int resume;
    uint32_t frame_bytes;
    unsigned wait_count;
    /* Warps are taken out of block->ready one by one: a call may be held up
     * in a yield while another runs the rest. */
    int claims;
    LLVMValueRef frame, dispatch;
    LLVMValueRef barrier_result;    /* fibers: an alloca */
    LLVMValueRef addresses;         /* emit_check.c: an alloca */
    LLVMValueRef tensor;            /* tensor.c: likewise */
    LLVMValueRef area;              /* matrix.h: an alloca, on first use */
    LLVMValueRef texture;           /* struct abi_texture, likewise */
    struct emit_wait *waits;        /* by block */
    LLVMBasicBlockRef *test, *body; /* by block */
    struct emit_slot *mask_slot;    /* by block: the lanes that come or wait */
    struct emit_slot *alike_slot;   /* by block that others are alike to: the
                                     * lanes that it ran with */
    struct emit_slot *slot, *exit_slot, *phi_slot; /* by value */
    struct emit_known *known;                      /* by value */
    int at;                                        /* current block */
    unsigned line;                                 /* of the instruction */
    LLVMValueRef mask[EMIT_MAX_CHUNKS];
    int large;                  /* above EFFORT_FULL: see emit_slot.c */
    struct emit_slot lanes_now; /* large: the current block's mask */
    LLVMValueRef zeros;         /* large: a vector of them in memory */
    struct emit_dead dead;
    LLVMValueRef any[EMIT_MAX_CHUNKS]; /* lazily, for the current block */
    struct kiln_error *err;
    enum kiln_status status; /* sticky */
};

/* Emit one variant of g's kernel into module; rows as in g->rows.
 * *frame_bytes: raised to what its frames need; 0 stays where the kernel has
 * no barriers, UINT32_MAX is set where it needs fibers. */
enum kiln_status emit_kernel(LLVMContextRef ctx, LLVMModuleRef module,
                             const struct emit_target *target,
                             const struct layout_kernel *layout,
                             struct graph *g, const char *symbol, int flush,
                             enum effort effort, uint32_t *frame_bytes,
                             struct kiln_error *err);

/* --- slots (emit_slot.c) --- */
enum kiln_status emit_make_places(struct emit *e);
/* What the slot held is dead. */
void emit_poison(struct emit *e, const struct emit_slot *s);

/* --- control (emit_control.c) --- */
void emit_block(struct emit *e, int block);
/* Where control goes on the edge: its target, or where lanes may wait. */
LLVMBasicBlockRef emit_edge_target(struct emit *e,
                                   const struct graph_edge *edge);
/* Let other warps and blocks run. */
void emit_yield(struct emit *e);
/* Does the whole warp, as far as it exists, come to this block? */
int emit_is_whole(const struct emit *e, int block);
void emit_send_lanes(struct emit *e, const struct graph_edge *edge,
                     LLVMValueRef const *mask);
/* No slot holds anything, no lane waits anywhere. */
void emit_forget(struct emit *e);

/* --- values (emit_value.c) --- */
LLVMTypeRef emit_vec(const struct emit *e, LLVMTypeRef element);
LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar);
/* Zeros, for the lanes of a gather that load nothing. */
LLVMValueRef emit_blank(struct emit *e, LLVMTypeRef type);
LLVMValueRef emit_const(struct emit *e, unsigned bits, uint64_t value);
/* The scalar of a uniform value, or the base of chunk c. */
LLVMValueRef emit_base(struct emit *e, int value, unsigned c);
LLVMValueRef emit_vector(struct emit *e, int value, unsigned c);
/* Record a value made in the current block: by its own shape, from scalars
 * (one, or one a chunk) or vectors. Stores what other blocks use. */
void emit_define(struct emit *e, int value, LLVMValueRef const *made);
/* Source operand k: bits is the width wanted of an immediate. */
LLVMValueRef emit_operand_base(struct emit *e, const struct graph_insn *insn,
                               int k, unsigned c, unsigned bits);
LLVMValueRef emit_operand_vector(struct emit *e, const struct graph_insn *insn,
                                 int k, unsigned c, unsigned bits);
/* Element j of a source operand that may be a vector operand. */
struct graph_shape
emit_element_shape(struct emit *e, const struct graph_insn *insn, int k, int j);
LLVMValueRef emit_element_base(struct emit *e, const struct graph_insn *insn,
                               int k, int j, unsigned c, unsigned bits);
LLVMValueRef emit_element_vector(struct emit *e, const struct graph_insn *insn,
                                 int k, int j, unsigned c, unsigned bits);
/* The value id that destination operand k (element j) defines, or
 * GRAPH_NONE. */
int emit_dst(const struct graph_insn *insn, int k, int j);
/* Define destination k, j from one vector a chunk, whatever its shape. */
void emit_define_vectors(struct emit *e, int value, LLVMValueRef const *v);
/* An operand of a warp operation that is uniform in fact, as one scalar. */
LLVMValueRef emit_operand_any(struct emit *e, const struct graph_insn *insn,
                              int k, unsigned bits);
/* Width of an immediate at operand k. */
unsigned emit_operand_bits(const struct ptx_insn *p, int k);

/* --- masks --- */
LLVMValueRef emit_mask_any(struct emit *e, LLVMValueRef mask); /* i1 */
LLVMValueRef emit_any(struct emit *e, unsigned c); /* i1: chunk has lanes */
/* The active lanes of chunk c where p holds. Not an `and`: p may be poison
 * in other lanes, and a mask never. */
LLVMValueRef emit_among(struct emit *e, unsigned c, LLVMValueRef p);
LLVMValueRef emit_mask_bits(struct emit *e, LLVMValueRef mask); /* -> i32 */
LLVMValueRef emit_warp_bits(struct emit *e, LLVMValueRef const *masks);

/* --- instruction families; each returns through e->status --- */
void emit_load(struct emit *e, const struct graph_insn *insn);
void emit_store(struct emit *e, const struct graph_insn *insn);
void emit_atomic(struct emit *e, const struct graph_insn *insn);
void emit_shuffle(struct emit *e, const struct graph_insn *insn);
void emit_vote(struct emit *e, const struct graph_insn *insn);
void emit_match(struct emit *e, const struct graph_insn *insn);
void emit_redux(struct emit *e, const struct graph_insn *insn);
void emit_activemask(struct emit *e, const struct graph_insn *insn);
void emit_barrier(struct emit *e, const struct graph_insn *insn);
void emit_call(struct emit *e, const struct graph_insn *insn);
void emit_mov(struct emit *e, const struct graph_insn *insn);
void emit_cvta(struct emit *e, const struct graph_insn *insn);
void emit_isspacep(struct emit *e, const struct graph_insn *insn);
void emit_mma(struct emit *e, const struct graph_insn *insn);
void emit_cp_async(struct emit *e, const struct graph_insn *insn);
void emit_mbarrier(struct emit *e, const struct graph_insn *insn);
void emit_elect(struct emit *e, const struct graph_insn *insn);
/* In a cluster of one block: mapa, getctarank; createpolicy. */
void emit_cluster(struct emit *e, const struct graph_insn *insn);
void emit_wmma(struct emit *e, const struct graph_insn *insn);
void emit_ldmatrix(struct emit *e, const struct graph_insn *insn);
void emit_texture(struct emit *e, const struct graph_insn *insn);
void emit_movmatrix(struct emit *e, const struct graph_insn *insn);
void emit_insn(struct emit *e, const struct graph_insn *insn);

/* Special register, chunk c: scalar (uniform or base) or vector. */
LLVMValueRef emit_sreg_base(struct emit *e, const struct ptx_operand *o,
                            unsigned c, int line);
LLVMValueRef emit_sreg_vector(struct emit *e, const struct ptx_operand *o,
                              unsigned c, int line);
/* Address of a variable: offset in its space for .shared, else generic. */
LLVMValueRef emit_var_base(struct emit *e, const struct ptx_var *var,
                           int64_t add, unsigned bits);
LLVMValueRef emit_local_vector(struct emit *e, const struct ptx_var *var,
                               int64_t add, unsigned c);
/* Chunk c of a row of values, `offset` into memory that the engine reads or
 * writes for a warp. */
LLVMValueRef emit_row(struct emit *e, LLVMValueRef area, uint64_t offset,
                      unsigned c, unsigned bytes);

/* Addresses of a memory operand (emit_address.c). */
struct emit_address {
    struct graph_shape shape;
    LLVMValueRef ptr[EMIT_MAX_CHUNKS]; /* uniform: the first; strided: bases;
                                        * varying: vectors of pointers */
};
void emit_address(struct emit *e, const struct graph_insn *insn, int k,
                  struct emit_address *out);
/* The same in a space that is not the instruction's first. */
void emit_address_in(struct emit *e, const struct graph_insn *insn, int k,
                     enum ptx_space space, struct emit_address *out);
/* <lanes x ptr> of chunk c, whatever the shape. */
LLVMValueRef emit_address_vector(struct emit *e, const struct emit_address *a,
                                 unsigned c);

/* --- small tools --- */
void emit_refuse(struct emit *e, const struct ptx_insn *insn, const char *why);
LLVMBasicBlockRef emit_new_bb(struct emit *e, const char *name);
LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, unsigned offset,
                        LLVMTypeRef type);
void emit_set_field(struct emit *e, unsigned offset, LLVMValueRef v);
/* For LLVM alone: the processor keeps loads and stores in order. Vector
 * accesses with a mask cannot be marked volatile, so that two of these
 * around them keep them where they are: no instruction, but one that may
 * touch all memory. (A fence does not keep what LLVM sinks after it has
 * chosen instructions.) */
void emit_keep_order(struct emit *e);
/* What is called next has no lines: say which one it is called for. */
void emit_note_line(struct emit *e);
/* The same for the engine, which is always told. */
void emit_tell_line(struct emit *e);
/* Leave the kernel for good; lanes: a bit each. enum abi_fault and what it
 * says of the other two. */
void emit_fault(struct emit *e, uint32_t kind, LLVMValueRef lanes,
                LLVMValueRef detail);
/* Call through a pointer in the block struct: barrier, yield, fault. */
LLVMValueRef emit_call_engine(struct emit *e, unsigned offset,
                              LLVMTypeRef result, LLVMValueRef *args,
                              LLVMTypeRef *types, unsigned n);
/* An internal helper function of the module, made on first use. */
LLVMValueRef emit_helper(struct emit *e, const char *name, LLVMTypeRef type,
                         int *fresh);

#endif
