/* SPDX-License-Identifier: MIT
 *
 * Host functions, on one thread of their own, which starts with the first of
 * them: a function that blocks must not take a core from the blocks.
 */
#include <signal.h>

#include "cpu/exec/engine.h"

static struct op *first;
static struct op *last;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int started;
static int ending;

static void *run(void *data)
{
    (void)data;
    engine_lock();
    while (first || !ending) {
        struct op *op = first;
        exec_host_fn *fn;
        void *arg;
        int status;

        if (!op) {
            pthread_cond_wait(&queued, &engine.lock);
            continue;
        }
        first = op->next_waiter;
        if (!first)
            last = NULL;
        fn = op->host;
        arg = op->host_data;
        engine_unlock();
        status = atomic_load(&op->stream->context->status);
        if (!status || op->host_always)
            fn(arg, (enum kiln_status)status);
        engine_lock();
        stream_finish(op->stream);
        stream_drain();
        /* wakes and frees, too */
        engine_unlock();
        engine_lock();
    }
    engine_unlock();
    return NULL;
}

void host_queue(struct op *op)
{
    op->next_waiter = NULL;
    if (last)
        last->next_waiter = op;
    else
        first = op;
    last = op;
    pthread_cond_signal(&queued);
}

void host_close(void)
{
    engine_lock();
    ending = 1;
    pthread_cond_signal(&queued);
    engine_unlock();
    if (started)
        pthread_join(thread, NULL);
    started = 0;
    ending = 0;
}

/* The thread must exist before anything is queued for it. */
static enum kiln_status start(struct kiln_error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    enum kiln_status st = KILN_OK;

    pthread_mutex_lock(&lock);
    if (!started) {
        sigset_t all;
        sigset_t old;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        started = !pthread_create(&thread, NULL, run, NULL);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (started)
            pthread_setname_np(thread, "kiln-host");
        else
            st = kiln_fail(err, KILN_E_OS,
                           "no thread for host functions can be started: %m");
    }
    pthread_mutex_unlock(&lock);
    return st;
}

enum kiln_status exec_host(struct exec_stream *stream, exec_host_fn *fn,
                           void *data, int always, struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);
    struct op *op;

    if (!st)
        st = start(err);
    if (st)
        return st;
    op = op_new(OP_HOST, 0, err);
    if (!op)
        return KILN_E_MEMORY;
    op->host = fn;
    op->host_data = data;
    op->host_always = always;
    return stream_submit(stream, op, err);
}
