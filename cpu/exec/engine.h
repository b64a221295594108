/* SPDX-License-Identifier: MIT
 *
 * The engine's insides, shared by the files of cpu/exec only.
 *
 * One lock (engine.lock) guards streams, events, contexts, the list of active
 * grids and the slots. It is never held while a block, a copy, a host
 * function or a caller's release function runs. Block numbers are handed out
 * by an atomic ticket without it. Device memory and thread-index tables have
 * locks of their own, innermost, never held together.
 *
 *   thread ----takes----> slot ----joins----> grid (an op at a stream's head)
 *   worker or waiting     what a block        next block number, until
 *   application thread    needs to run        none is left
 */
#ifndef KILN_CPU_EXEC_ENGINE_H
#define KILN_CPU_EXEC_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpu/exec/exec.h"
#include "cpu/exec/fiber.h"
#include "cpu/exec/service.h"

enum {
    MAX_RUNNERS = 1024,
    EXTRA_SLOTS = 4,       /* for waiting threads when every slot is taken */
    RESIDENT = 32,         /* blocks a runner that may be under way, parked */
    LOCAL_GUARD = 1 << 20, /* inaccessible on either side of local memory */
    NAME_BYTES = 128
};

/* Around the shared memory of a block: any signed 32-bit offset. */
#define WINDOW_HALF  ((size_t)1 << 31)
#define WINDOW_STEP  (WINDOW_HALF + ((size_t)1 << 20))
#define WINDOW_BYTES (WINDOW_HALF + WINDOW_STEP)

/* ---- work ---- */

enum op_kind { OP_GRID, OP_RECORD, OP_WAIT, OP_HOST };

struct tid_table;

/* A kernel, a copy or a fill: numbered pieces that any slots run. */
struct grid {
    struct op *next; /* in engine.active */
    int listed;
    abi_kernel *function;
    uint32_t flags;
    unsigned runners; /* slots in it */
    uint64_t started; /* when the first piece was, where it is watched */
    /* written by every runner, so away from what they only read */
    char before[64];
    _Atomic uint64_t ticket; /* the next piece */
    char after[64];
    uint64_t total;
    _Atomic int stop; /* a fault: hand out no more */
    uint32_t shared;  /* bytes a block */
    uint32_t local;   /* bytes a thread */
    uint32_t frame;   /* bytes a warp; 0: its barriers need fibers */
    int cooperative;  /* all blocks must be under way at once */
    struct tid_table *tids;
    struct abi_launch launch;
    struct exec_copy copy;
    struct exec_fill fill;
    const struct object_code *code;
    char name[NAME_BYTES]; /* empty: not a kernel but a copy or a fill */
    void (*release)(void *owner);
    void *owner;
};

struct op {
    enum op_kind kind;
    struct op *next; /* in the stream, or in a list of finished ops */
    struct exec_stream *stream;
    uint64_t seq;
    /* OP_WAIT: until `other` has completed `other_seq` */
    struct exec_stream *other;
    uint64_t other_seq;
    struct op *next_waiter;
    struct exec_event *event; /* OP_RECORD */
    exec_host_fn *host;       /* OP_HOST */
    void *host_data;
    int host_always;
    void *snapshot;   /* source bytes of a copy, owned */
    struct grid grid; /* OP_GRID */
};

struct exec_context {
    _Atomic int status;      /* enum kiln_status of error */
    struct kiln_error error; /* written once, under the lock */
    struct exec_stream *streams;
    struct exec_stream *legacy;
    unsigned refs;
    struct buffer output; /* output.c: what kernels have printed */
    _Atomic int has_output;
    struct heap *heap; /* heap.c; NULL before the first malloc */
    _Atomic uint64_t heap_size;
};

struct exec_stream {
    struct exec_context *context;
    struct exec_stream *next, *prev; /* in the context */
    struct op *head, *tail;
    uint64_t submitted;
    _Atomic uint64_t completed;
    struct op *waiters; /* OP_WAITs of other streams */
    struct exec_stream *next_ready;
    unsigned flags;
    int priority;
    int started; /* the head op has begun */
    unsigned refs;
};

struct exec_event {
    struct exec_stream *stream; /* last recorded on, or NULL */
    uint64_t seq;
    uint64_t time;
    unsigned refs;
};

/* ---- slots ---- */

enum fault_source {
    FAULT_NONE,
    FAULT_SIGNAL,
    FAULT_CALL,
    FAULT_DEADLOCK,
    FAULT_BARRIER, /* address: a number that no barrier has */
    FAULT_MEMORY,
    FAULT_STOPPED
};

struct fault {
    enum fault_source source;
    int signal;
    int code;
    int is_write;
    uint32_t kind; /* FAULT_CALL: enum abi_fault */
    uint32_t warp;
    uint32_t fiber;   /* FAULT_SIGNAL: whose stack it was */
    uint64_t address; /* or detail: of a trap, the lanes */
    uintptr_t ip;     /* an instruction that it happened in */
};

struct barrier {
    uint32_t waiting;  /* warps, a bit each */
    uint32_t arrived;  /* warps */
    uint32_t members;  /* of the cluster's: which warps arrived */
    uint32_t expected; /* warps; 0: all that live */
    uint32_t kind;
    uint32_t value;
};

/* What it takes to run one block at a time. A thread owns it while it runs
 * pieces of one grid. */
struct slot {
    struct abi_block block;
    struct op *op; /* NULL: free */
    struct slot *next_parked;
    int parked; /* its block has yielded; no thread runs it */
    pid_t tid;
    uint32_t index;
    int leaving;         /* under the lock: it will run no more pieces of op */
    uint64_t next, last; /* the chunk: pieces to run */
    /* read by the signal handler on this thread */
    volatile int in_kernel;
    volatile uint32_t current; /* the running fiber */
    int serving; /* a call of the kernel, of which block.lanes and .line tell */
    struct fault fault;
    /* barriers: one bit a warp */
    uint32_t ready, live, busy, pending;
    uint32_t handed;  /* warps put into block.ready, not yet looked at */
    uint32_t held;    /* warps in a yield */
    uint32_t yielded; /* fibers in one */
    uint32_t turn;    /* those to go on in this round */
    int by_warp;      /* fibers run one warp each, else fiber 0 whole blocks */
    struct barrier barriers[ABI_BARRIERS];
    uint32_t results[ABI_MAX_WARPS];
    struct fiber base; /* the owning thread's own stack */
    struct fiber fibers[ABI_MAX_WARPS];
    uint32_t fiber_count;
    unsigned char *window; /* of its own, around block.shared */
    size_t shared_size;    /* accessible bytes at block.shared */
    unsigned char *local_map;
    size_t local_size;
    size_t frames_size;                  /* accessible bytes at block.frames */
    struct buffer format, fetched, text; /* service.c */
};

struct engine {
    pthread_mutex_t lock;
    _Atomic int open;
    unsigned runners;
    unsigned slot_count; /* ever used */
    unsigned slot_max;
    unsigned running;    /* slots that a thread is in */
    struct slot *parked; /* those left for a while, longest first */
    unsigned turns;      /* of parked slots before a new block is begun */
    _Atomic unsigned parked_count;
    struct slot *slots;
    pthread_t *workers;
    unsigned worker_count;
    int stopping;
    int watching;      /* kernels have a time limit (watch.c) */
    int forked;        /* this is a child without worker threads */
    struct op *active; /* grids with pieces left, oldest first */
    _Atomic unsigned active_count;
    struct exec_stream *ready; /* streams to advance */
    struct op *finished;       /* to be freed after the lock */
    unsigned wake_workers;     /* to be woken after the lock */
    int wake_waiters;
    _Atomic uint32_t work_seq, done_seq; /* futexes */
    _Atomic unsigned sleeping;           /* workers on work_seq */
    _Atomic unsigned spinning;
    _Atomic unsigned waiting; /* threads on done_seq */
    unsigned char *window;    /* shared memory of all slots */
    size_t window_size;
};
extern struct engine engine;

/* ---- open.c ---- */
/* Fails before exec_open, and in a forked child. */
enum kiln_status engine_ready(struct kiln_error *err);

/* ---- pool.c ---- */
/* A worker thread's main; data is its slot's index. */
void *pool_worker(void *data);
void engine_lock(void);
/* Unlock, then do what must not be done under the lock. */
void engine_unlock(void);
/* Under the lock: more pieces to run. */
void pool_list(struct op *op);
/* Wait, helping, until stream has completed seq. Not under the lock. */
void pool_wait(struct exec_stream *stream, uint64_t seq);
/* Under the lock: no more pieces of any grid of the context. */
void pool_stop(struct exec_context *context);
/* After it, not under the lock: returns when no slot but self runs pieces of
 * the context any more; those that do not stop by themselves are broken off,
 * since they may wait for what will never come. */
void pool_break_off(struct exec_context *context, struct slot *self);

/* ---- run.c ---- */
enum kiln_status slot_prepare(struct slot *slot, const struct op *op,
                              struct kiln_error *err);
/* Run pieces until there are none, or a time slice is over, or (until not
 * NULL) that stream has completed until_seq. */
void slot_run(struct slot *slot, const struct exec_stream *until,
              uint64_t until_seq);
void slot_free_memory(struct slot *slot);

/* One more fiber. */
enum kiln_status slot_add_fiber(struct slot *slot, struct kiln_error *err);
/* Forget what its fibers were doing. */
void slot_abandon(struct slot *slot);

/* On a fiber: leave the kernel for good; slot->fault says why. */
void fault_landing(struct slot *slot) __attribute__((noreturn));
/* On a fiber: give the block up, since its grid was stopped. */
void fault_stopped(struct slot *slot) __attribute__((noreturn));

/* ---- barrier.c: on fibers ---- */
/* From here on a fault, or a kick, is the kernel's. Looks for a stop after
 * it: a kick before it was ignored. */
static inline void slot_enter_kernel(struct slot *slot)
{
    slot->in_kernel = 1;
    if (__builtin_expect(
            atomic_load_explicit(&slot->op->grid.stop, memory_order_relaxed),
            0))
        fault_stopped(slot);
}
/* The first bit of mask after `at`, going round. mask is not 0. */
static inline uint32_t next_after(uint32_t mask, uint32_t at)
{
    const uint32_t later = mask & ~(((uint32_t)2 << at) - 1);

    return (uint32_t)__builtin_ctz(later ? later : mask);
}
void barrier_reset(struct slot *slot, uint32_t warps);
void barrier_exit(struct slot *slot, uint32_t warp);
/* A warp arrives: 1 when it may go on, its result in slot->results. */
int barrier_arrive(struct slot *slot, uint32_t warp, uint32_t id,
                   uint32_t threads, uint32_t kind, uint32_t value);
/* A warp has ended; what that completes becomes ready. */
void barrier_leave(struct slot *slot, uint32_t warp);
void barrier_deadlock(struct slot *slot);
uint32_t barrier_wait(struct abi_block *block, uint32_t warp, uint32_t id,
                      uint32_t threads, uint32_t kind, uint32_t value);
/* Leave the running fiber for the next ready one, or for the base. */
void barrier_next(struct slot *slot, uint32_t warp);
/* What the warps wait for, for a deadlock's sentence. */
void barrier_describe(const struct slot *slot, char *text, size_t size);

/* ---- yield.c: on fibers ---- */
void yield_warp(struct abi_block *block, uint32_t warp);
void yield_help(struct slot *slot);
void yield_leave(struct slot *slot);

/* ---- resume.c ---- */
/* A block from start to end; on fiber 0. */
void resume_block(struct slot *slot);
/* Call the kernel for the ready warps, and see what they did. */
void resume_ready(struct slot *slot);
enum kiln_status resume_prepare(struct slot *slot, uint32_t bytes,
                                uint32_t warps, struct kiln_error *err);
void resume_free(struct slot *slot);

/* ---- fault.c ---- */
enum kiln_status fault_install(struct kiln_error *err);
void fault_uninstall(void);
/* This thread runs kernels in slot from here on (NULL: no longer). */
void fault_enter(struct slot *slot);
void fault_call(struct abi_block *block, uint32_t warp, uint32_t kind,
                uint64_t detail) __attribute__((noreturn));
/* Break off what slot's thread runs, if it runs a kernel. */
void fault_kick(const struct slot *slot);
/* The sentence for slot->fault. */
void fault_report(const struct slot *slot, struct kiln_error *err);

/* ---- texture.c: on fibers, in the kernel ---- */
void texture_call(struct abi_block *block, uint32_t warp, uint32_t what,
                  uint32_t mask, struct abi_texture *args);
/* tensor.c */
void tensor_call(struct abi_block *block, uint32_t warp, uint32_t what,
                 uint32_t mask, struct abi_tensor *args);

/* ---- stream.c, under the lock ---- */
void stream_drain(void);
void stream_finish(struct exec_stream *stream);
void stream_unref(struct exec_stream *stream);
void context_fail(struct exec_context *context, const struct kiln_error *why);
enum kiln_status context_error(const struct exec_context *context,
                               struct kiln_error *err);
/* A zeroed op with `extra` bytes behind it, aligned to 16. */
struct op *op_new(enum op_kind kind, size_t extra, struct kiln_error *err);
void *op_extra(struct op *op);
void op_free(struct op *op);
/* Queue it at the end of stream; takes the lock; owns op from here on. */
enum kiln_status stream_submit(struct exec_stream *stream, struct op *op,
                               struct kiln_error *err);

/* ---- watch.c ---- */
/* Called with all signals but faults blocked. */
void watch_open(void);
void watch_close(void);

/* ---- host.c ---- */
void host_queue(struct op *op); /* under the lock */
void host_close(void);

/* ---- event.c ---- */
void event_reached(struct op *op);
void event_unref(struct exec_event *event);

/* ---- tid.c ---- */
struct tid_table *tid_get(const uint32_t block[3]);
void tid_put(struct tid_table *table);
const uint32_t *tid_column(const struct tid_table *table, int d);
void tid_close(void);

/* ---- check.c ---- */
void check_access(struct abi_block *block, uint32_t warp, uint32_t lanes,
                  const uint64_t *addresses, uint32_t what);

/* ---- constant.c ---- */
/* Where to write what lies at `to`: elsewhere if that is constant. */
void *constant_writable(void *to);
/* What lies there is freed. */
void constant_forget(uint64_t base, uint64_t size);

/* ---- memory.c ---- */
enum kiln_status memory_open(struct kiln_error *err);
void memory_close(void);
/* "; ulimit -v is ... KiB", or "" where address space has no limit. */
const char *memory_limit_text(char *text, size_t size);

#endif
