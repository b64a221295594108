/* SPDX-License-Identifier: MIT
 *
 * What generated code and the engine that runs it agree on. The code
 * generator reads the offsets below; the engine fills the structs. A change
 * here is a change of ABI_VERSION, which is part of every object's identity.
 *
 * A kernel is one function a variant:
 *
 *     void kernel(struct abi_block *block, uint32_t first, uint32_t end);
 *
 * which runs the warps first .. end-1 of one block, one after the other, each
 * to its end. A kernel without barriers is called once with all its warps.
 *
 * A kernel with barriers that can be resumed (OBJECT_KERNEL_RESUME) runs each
 * warp of block->ready until it ends or waits at a barrier; a waiting warp's
 * live values and what it waits for are in its frame, and the next call goes
 * on from there. Any other kernel with barriers is called once a warp, each
 * call on a fiber of its own, and block->barrier switches fibers.
 *
 * A kernel with loops that wait for memory to change (OBJECT_KERNEL_YIELD)
 * calls block->yield in them. Where it is not called once a warp, it takes the
 * warps that it runs out of block->ready one by one, so that while one call
 * is held up in a yield another can run the rest.
 */
#ifndef KILN_CPU_EXEC_ABI_H
#define KILN_CPU_EXEC_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    ABI_VERSION = 10,
    ABI_WARP = 32,
    ABI_MAX_THREADS = 1024,
    ABI_MAX_WARPS = 32,
    ABI_CLUSTER_BARRIER = 16, /* a cluster is one block */
    ABI_BARRIERS = 17,
    ABI_NAMED_BARRIERS = 16, /* those that PTX can name */
    ABI_NO_BARRIER = 1 << 30 /* added to a number that it cannot */
};

/* One launch; constant while it runs. */
struct abi_launch {
    const unsigned char *params; /* parameter block, param_bytes long,
                                  * readable 8 bytes past its end */
    unsigned char *data;         /* the module's global and constant
                                  * variables in this context */
    /* tid[d][t]: component d of the thread with linear index t; 1024 + 32
     * entries each, those past the block's last thread repeat in step
     * (t-th thread of an endless block), so that chunk loads stay in
     * bounds and tid.x stays contiguous. */
    const uint32_t *tid[3];
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t threads; /* block[0] * block[1] * block[2] */
    uint32_t warps;
    uint32_t static_shared;  /* bytes */
    uint32_t dynamic_shared; /* bytes */
    uint64_t grid_id;
    const uint32_t *envreg; /* 32 words */
    uint32_t workers;       /* %nsmid */
};

enum abi_barrier_kind {
    ABI_BARRIER_SYNC,
    ABI_BARRIER_ARRIVE, /* does not wait */
    ABI_BARRIER_POPC,   /* value: threads of this warp with a true predicate;
                         * the result is the sum over the block */
    ABI_BARRIER_AND,    /* value: 1 when true for every thread of the warp */
    ABI_BARRIER_OR,     /* value: 1 when true for any thread of the warp */
    ABI_BARRIER_WAIT    /* of the cluster: for all to come to where the warp
                         * has come before (ARRIVE) */
};

/* What a resumable warp keeps while others run; its values lie behind. */
struct abi_frame {
    uint32_t state;   /* 0: to start; ABI_ENDED; else the barrier's number */
    uint32_t barrier; /* what it waits for: as the barrier call's arguments */
    uint32_t threads;
    uint32_t kind;
    uint32_t value;
    uint32_t result; /* of a reduction, written by the engine */
    uint32_t unused[10];
};
#define ABI_ENDED UINT32_MAX

/* Why generated code gives up: block->fault(). */
enum abi_fault {
    ABI_FAULT_TRAP = 1, /* trap: CUDA_ERROR_LAUNCH_FAILED (719) */
    ABI_FAULT_ADDRESS,  /* free of what malloc has not given: 700 */
    ABI_FAULT_ASSERT,   /* 710 */
    ABI_FAULT_SYNC,     /* warp operation that this engine cannot run: 719
                         * with a log line */
    ABI_FAULT_STACK,    /* functions called too deep in each other: 719 */
    ABI_FAULT_TEXTURE,  /* detail is no texture or surface object */
    ABI_FAULT_BOUNDS,   /* a surface access with .trap outside it */
    ABI_FAULT_TENSOR,   /* detail is no tensor map that fits */
    ABI_FAULT_READ,     /* found by check(): 700 */
    ABI_FAULT_WRITE,
    ABI_FAULT_ALIGNMENT /* an address that is no multiple of the access's
                         * size: 716; with the size << ABI_FAULT_BITS */
};
#define ABI_FAULT_BITS 8
/* What check() is told beside the size: the access writes. */
#define ABI_CHECK_WRITE (UINT32_C(1) << 31)

/* block->service(): arguments -> result. */
enum abi_service {
    ABI_SERVICE_PRINTF = 1, /* format, packed arguments -> how many, or < 0 */
    ABI_SERVICE_ASSERT,     /* message, file, line, function, character size */
    ABI_SERVICE_MALLOC,     /* bytes -> address or 0 */
    ABI_SERVICE_FREE        /* address */
};

/* What a texture or surface instruction asks for: block->texture(). The fields
 * of the word that says so, lowest bits first. */
enum abi_texture_op {
    ABI_TEXTURE_TEX = 1,
    ABI_TEXTURE_TLD4,
    ABI_TEXTURE_TXQ,
    ABI_TEXTURE_SULD,   /* sizes and offsets in bytes */
    ABI_TEXTURE_SUST,   /* likewise */
    ABI_TEXTURE_SUST_P, /* by the surface's format */
    ABI_TEXTURE_SURED,
    ABI_TEXTURE_SUQ
};
enum abi_texture_geometry { /* layered ones: the first coordinate, a layer */
                            ABI_TEXTURE_1D,
                            ABI_TEXTURE_2D,
                            ABI_TEXTURE_3D,
                            ABI_TEXTURE_A1D,
                            ABI_TEXTURE_A2D,
                            ABI_TEXTURE_CUBE,
                            ABI_TEXTURE_ACUBE
};
enum abi_texture_bounds {
    ABI_TEXTURE_TRAP,
    ABI_TEXTURE_CLAMP,
    ABI_TEXTURE_ZERO
};
enum abi_texture_query {
    ABI_TEXTURE_WIDTH,
    ABI_TEXTURE_HEIGHT,
    ABI_TEXTURE_DEPTH,
    ABI_TEXTURE_LAYERS,
    ABI_TEXTURE_LEVELS,
    ABI_TEXTURE_SAMPLES
};
enum abi_texture_reduce {
    ABI_TEXTURE_ADD,
    ABI_TEXTURE_MIN_U,
    ABI_TEXTURE_MIN_S,
    ABI_TEXTURE_MAX_U,
    ABI_TEXTURE_MAX_S,
    ABI_TEXTURE_AND,
    ABI_TEXTURE_OR
};
struct abi_texture_word {
    uint32_t op : 4;
    uint32_t geometry : 4;
    uint32_t integer : 1;   /* coordinates */
    uint32_t offset : 1;    /* rows of offsets follow the coordinates */
    uint32_t component : 2; /* of tld4 */
    uint32_t bounds : 2;    /* of surfaces */
    uint32_t bytes : 6;     /* of a surface access: 1 to 16, a lane */
    uint32_t samples : 1;   /* sured.p: x counts samples */
    uint32_t what : 4;      /* a query or a reduction */
    uint32_t half : 1;      /* results as f16, two a word */
    uint32_t unused : 6;
};
_Static_assert(sizeof(struct abi_texture_word) == 4, "one word");

/* Its operands and results for all lanes, rows of 32: coordinates, then
 * offsets; the data of stores. out[4]: whether the texels were there. */
enum { ABI_TEXTURE_ROWS = 8, ABI_TEXTURE_RESULTS = 5 };
struct abi_texture {
    uint64_t object[ABI_WARP];
    uint32_t in[ABI_TEXTURE_ROWS][ABI_WARP];
    uint32_t data[4][ABI_WARP];
    uint32_t out[ABI_TEXTURE_RESULTS][ABI_WARP];
};

/* A copy between a tensor and shared memory: block->tensor(). */
enum abi_tensor_op {
    ABI_TENSOR_LOAD,
    ABI_TENSOR_STORE,
    ABI_TENSOR_ADD,
    ABI_TENSOR_MIN,
    ABI_TENSOR_MAX,
    ABI_TENSOR_INC,
    ABI_TENSOR_DEC,
    ABI_TENSOR_AND,
    ABI_TENSOR_OR,
    ABI_TENSOR_XOR,
    ABI_TENSOR_RANK = 16 /* as many times the dimensions is added */
};
struct abi_tensor {
    uint64_t map[ABI_WARP], shared[ABI_WARP]; /* addresses */
    int32_t at[5][ABI_WARP];
    uint32_t bytes[ABI_WARP]; /* made: of the box in shared memory */
};

/* One block on one worker. */
struct abi_block {
    const struct abi_launch *launch;
    uint32_t ctaid[3];
    uint32_t worker; /* %smid */
    /* Base of the block's shared memory: the address space around it is
     * reserved and inaccessible from shared - 2^31 to shared + 2^31 + 64 KiB
     * but for the block's own bytes (rounded up to pages), so any signed
     * 32-bit offset faults or is right. */
    unsigned char *shared;
    /* Frames of .local memory: that of thread t is local + t * stride. */
    unsigned char *local;
    uint64_t local_stride;
    /* All warps that have not returned take part when threads is 0; else
     * that many threads (a multiple of 32). Returns the reduction. */
    uint32_t (*barrier)(struct abi_block *block, uint32_t warp, uint32_t id,
                        uint32_t threads, uint32_t kind, uint32_t value);
    /* Let other warps run, of this block and of others. */
    void (*yield)(struct abi_block *block, uint32_t warp);
    /* Does not return. detail: an address, or 0. Before, the line and the
     * lanes are set. */
    void (*fault)(struct abi_block *block, uint32_t warp, uint32_t kind,
                  uint64_t detail);
    /* Resumable kernels: frame of warp w at frames + w * stride, 64-byte
     * aligned; the warps to run, a bit each. */
    unsigned char *frames;
    uint64_t frame_stride;
    uint32_t ready;
    /* What the engine does for the lanes of mask: enum abi_service. args has
     * a row of 32 for each argument; results replace the first row. */
    void (*service)(struct abi_block *block, uint32_t warp, uint32_t kind,
                    uint32_t mask, uint64_t *args);
    void *engine;            /* the engine's own */
    uint32_t polls;          /* rounds of waiting loops, to yield after some */
    uint32_t warp;           /* that runs, for the sentence of a fault */
    uint64_t (*clock)(void); /* nanoseconds: %globaltimer */
    /* A texture or surface instruction for the lanes of mask; what: struct
     * abi_texture_word. */
    void (*texture)(struct abi_block *block, uint32_t warp, uint32_t what,
                    uint32_t mask, struct abi_texture *args);
    uint32_t lanes; /* at fault */
    uint32_t line;  /* of the PTX: of a fault, or of a call of a helper, which
                     * has no lines of its own */
    /* With KILN_CPU_CHECK, before an access of the lanes, whose addresses are
     * in a row of 32: does not return where one is wrong. */
    void (*check)(struct abi_block *block, uint32_t warp, uint32_t lanes,
                  const uint64_t *addresses, uint32_t what);
    /* A copy of a tensor's box; what: enum abi_tensor_op. */
    void (*tensor)(struct abi_block *block, uint32_t warp, uint32_t what,
                   uint32_t mask, struct abi_tensor *args);
};

typedef void abi_kernel(struct abi_block *block, uint32_t first, uint32_t end);

#define ABI_AT(type, field, offset)                                            \
    _Static_assert(offsetof(struct type, field) == (offset), #field)
ABI_AT(abi_launch, params, 0);
ABI_AT(abi_launch, data, 8);
ABI_AT(abi_launch, tid, 16);
ABI_AT(abi_launch, grid, 40);
ABI_AT(abi_launch, block, 52);
ABI_AT(abi_launch, threads, 64);
ABI_AT(abi_launch, warps, 68);
ABI_AT(abi_launch, static_shared, 72);
ABI_AT(abi_launch, dynamic_shared, 76);
ABI_AT(abi_launch, grid_id, 80);
ABI_AT(abi_launch, envreg, 88);
ABI_AT(abi_launch, workers, 96);
ABI_AT(abi_block, launch, 0);
ABI_AT(abi_block, ctaid, 8);
ABI_AT(abi_block, worker, 20);
ABI_AT(abi_block, shared, 24);
ABI_AT(abi_block, local, 32);
ABI_AT(abi_block, local_stride, 40);
ABI_AT(abi_block, barrier, 48);
ABI_AT(abi_block, yield, 56);
ABI_AT(abi_block, fault, 64);
ABI_AT(abi_block, frames, 72);
ABI_AT(abi_block, frame_stride, 80);
ABI_AT(abi_block, ready, 88);
ABI_AT(abi_block, service, 96);
ABI_AT(abi_block, polls, 112);
ABI_AT(abi_block, warp, 116);
ABI_AT(abi_block, clock, 120);
ABI_AT(abi_block, texture, 128);
ABI_AT(abi_block, lanes, 136);
ABI_AT(abi_block, line, 140);
ABI_AT(abi_block, check, 144);
ABI_AT(abi_block, tensor, 152);
ABI_AT(abi_texture, in, 256);
ABI_AT(abi_texture, data, 1280);
ABI_AT(abi_texture, out, 1792);
ABI_AT(abi_frame, state, 0);
ABI_AT(abi_frame, barrier, 4);
ABI_AT(abi_frame, threads, 8);
ABI_AT(abi_frame, kind, 12);
ABI_AT(abi_frame, value, 16);
ABI_AT(abi_frame, result, 20);
_Static_assert(sizeof(struct abi_frame) == 64, "values start aligned");
#undef ABI_AT

#endif
