/* SPDX-License-Identifier: MIT
 *
 * What kernels print, kept until the host waits for them, as on a GPU. Where
 * a GPU overwrites what its buffer has no room for, a full one is written
 * out at once here: nothing is lost.
 */
#include <pthread.h>
#include <stdio.h>

#include "cpu/exec/engine.h"

enum { FULL = 1 << 20 };

/* One lock for all contexts: it orders what goes to stdout, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_out(struct exec_context *context)
{
    struct buffer *b = &context->output;

    if (!b->size)
        return;
    fwrite(b->bytes, 1, b->size, stdout);
    fflush(stdout);
    b->size = 0;
}

void output_add(struct exec_context *context, const void *bytes, size_t n)
{
    if (!n)
        return;
    pthread_mutex_lock(&lock);
    buffer_add(&context->output, bytes, n);
    if (context->output.bad) { /* no room: what is there, then this */
        write_out(context);
        fwrite(bytes, 1, n, stdout);
        context->output.bad = 0;
    } else if (context->output.size >= FULL) {
        write_out(context);
    }
    atomic_store_explicit(&context->has_output, context->output.size != 0,
                          memory_order_release);
    pthread_mutex_unlock(&lock);
}

void output_flush(struct exec_context *context)
{
    if (!atomic_load_explicit(&context->has_output, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    write_out(context);
    atomic_store_explicit(&context->has_output, 0, memory_order_release);
    pthread_mutex_unlock(&lock);
}

void output_free(struct exec_context *context)
{
    output_flush(context);
    buffer_fini(&context->output);
}
