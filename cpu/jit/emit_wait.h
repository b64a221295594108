/* SPDX-License-Identifier: MIT
 *
 * Resumable barriers: a warp that waits stores what is live into its frame
 * and leaves the function; a later call comes back behind the barrier.
 */
#ifndef KILN_CPU_JIT_EMIT_WAIT_H
#define KILN_CPU_JIT_EMIT_WAIT_H

#include "cpu/jit/emit.h"

/* Find what is live at each barrier; sets e->resume and e->frame_bytes, or
 * leaves e->resume 0 where frames would be too large: then the kernel needs
 * fibers. After the slots were made. */
enum kiln_status wait_plan(struct emit *e);
/* Per warp: its frame, and the switch on its state. */
void wait_start_warp(struct emit *e, LLVMBasicBlockRef fresh);
/* At the end of block b, whose last instruction is a barrier. */
void wait_leave(struct emit *e, int block);
/* The frame's header, for the barrier's arguments. */
void wait_set_header(struct emit *e, LLVMValueRef id, LLVMValueRef threads,
                     uint32_t kind, LLVMValueRef value);
LLVMValueRef wait_result(struct emit *e);
/* The warp has ended: mark its frame, go to the next. */
void wait_end_warp(struct emit *e);

#endif
