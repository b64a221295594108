/* SPDX-License-Identifier: MIT
 *
 * JIT options. What is refused and how sizes are reported is as measured on
 * NVIDIA's driver, save that a block of 0 threads is refused where that one
 * divides by it.
 */
#include "cpu/api/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Registers a thread has at least, and at most. */
enum { REGISTERS_MIN = 24, REGISTERS_MAX = 255 };

static unsigned value_u32(void *const *value)
{
    unsigned v;

    /* The caller may have written only the low half of the pointer. */
    memcpy(&v, value, sizeof v);
    return v;
}

static void store_u32(void **value, unsigned v)
{
    *value = (void *)(uintptr_t)v;
}

static int target_known(unsigned target)
{
    unsigned base = target & 0xffff;
    unsigned flags = target & ~0xffffu;

    static const unsigned char known[] = {30, 32, 35,  37,  50,  52,  53,  60,
                                          61, 62, 70,  72,  75,  80,  86,  87,
                                          89, 90, 100, 101, 103, 110, 120, 121};

    if (flags && flags != CU_COMPUTE_ACCELERATED_TARGET_BASE &&
        flags != CU_COMPUTE_FAMILY_TARGET_BASE)
        return 0;
    for (size_t i = 0; i < sizeof known; i++)
        if (known[i] == base)
            return 1;
    return 0;
}

static CUresult set_target(unsigned target, struct load_options *o)
{
    o->target_zero = target == 0;
    if (target && !target_known(target))
        return CUDA_ERROR_INVALID_VALUE;
    o->target = target & 0xffff;
    return CUDA_SUCCESS;
}

static CUresult set_one(CUjit_option option, void **value,
                        struct load_options *o)
{
    unsigned v = value_u32(value);

    switch (option) {
    case CU_JIT_MAX_REGISTERS:
        o->maxreg = v;
        return v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_THREADS_PER_BLOCK:
        /* Out: the threads compiled for. */
        store_u32(value, v > 1024 ? 1024 : v);
        return v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_WALL_TIME:
        o->wall_time = value;
        return CUDA_SUCCESS;
    case CU_JIT_INFO_LOG_BUFFER:
        o->info_log.buffer = *value;
        return *value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        o->info_log.size = v;
        o->info_log.out = value;
        return CUDA_SUCCESS;
    case CU_JIT_ERROR_LOG_BUFFER:
        o->error_log.buffer = *value;
        return *value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        o->error_log.size = v;
        o->error_log.out = value;
        return CUDA_SUCCESS;
    case CU_JIT_OPTIMIZATION_LEVEL:
        o->level = v < 4 ? v : 4;
        o->level_given = 1;
        return CUDA_SUCCESS;
    case CU_JIT_TARGET:
        return set_target(v, o);
    case CU_JIT_GENERATE_DEBUG_INFO:
        o->debug = v != 0;
        return CUDA_SUCCESS;
    case CU_JIT_LOG_VERBOSE:
        o->verbose = v != 0;
        return CUDA_SUCCESS;
    case CU_JIT_GENERATE_LINE_INFO:
        o->lineinfo = v != 0;
        return CUDA_SUCCESS;
    case CU_JIT_NEW_SM3X_OPT:
        o->sm3x = v != 0;
        return CUDA_SUCCESS;
    case CU_JIT_OVERRIDE_DIRECTIVE_VALUES:
        o->override_directives = v != 0;
        return CUDA_SUCCESS;
    case CU_JIT_GLOBAL_SYMBOL_NAMES:
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
        /* Host addresses for the module's undefined symbols: not done. */
        return CUDA_ERROR_INVALID_VALUE;
    default:
        /* The rest steers what this device does not have (caches, clusters,
         * fallback strategies) or NVVM, and changes nothing. */
        return CUDA_SUCCESS;
    }
}

CUresult options_read(unsigned count, const CUjit_option *options,
                      void **values, struct load_options *out)
{
    unsigned char seen[CU_JIT_NUM_OPTIONS] = {0};

    memset(out, 0, sizeof *out);
    out->level = 4;
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] >= CU_JIT_NUM_OPTIONS)
            return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        /* Of two the first one counts, but the second is checked too. */
        struct load_options unused = {0};
        int again = seen[options[i]];
        CUresult result =
            set_one(options[i], &values[i], again ? &unused : out);

        if (result)
            return result;
        seen[options[i]] = 1;
    }
    if ((out->error_log.buffer && !out->error_log.out) ||
        (out->info_log.buffer && !out->info_log.out) ||
        (seen[CU_JIT_TARGET] && seen[CU_JIT_THREADS_PER_BLOCK]))
        return CUDA_ERROR_INVALID_VALUE;
    if (out->maxreg > REGISTERS_MAX) {
        options_info(out,
                     "warning : Too big maxrregcount value "
                     "specified %d, will be ignored",
                     (int)out->maxreg);
        out->maxreg = 0;
    } else if (out->maxreg && out->maxreg < REGISTERS_MIN) {
        options_info(out,
                     "warning : adjusting per thread register "
                     "count of %u to lower bound of %d",
                     out->maxreg, REGISTERS_MIN);
        out->maxreg = REGISTERS_MIN;
    }
    return CUDA_SUCCESS;
}

void options_error(struct load_options *o, const char *text)
{
    size_t n = strlen(text);

    buffer_text(&o->errors, text);
    if (n && text[n - 1] != '\n')
        buffer_u8(&o->errors, '\n');
}

void options_info(struct load_options *o, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    buffer_printf(&o->infos, "%s\n", line);
}

/* The size that comes back is that of the text without its NUL, or the whole
 * buffer's when the text was cut; a buffer of one byte holds no text. */
static void write_log(const struct log_target *t, const struct buffer *text)
{
    size_t n = text->size;

    if (!t->out)
        return;
    if (!t->buffer || t->size < 2 || !n) {
        if (t->buffer && t->size)
            t->buffer[0] = 0;
        store_u32(t->out, 0);
        return;
    }
    if (n < t->size) {
        memcpy(t->buffer, text->bytes, n);
        t->buffer[n] = 0;
        store_u32(t->out, (unsigned)n);
        return;
    }
    memcpy(t->buffer, text->bytes, t->size - 1);
    t->buffer[t->size - 1] = 0;
    store_u32(t->out, t->size);
}

void options_write_logs(struct load_options *o)
{
    write_log(&o->error_log, &o->errors);
    write_log(&o->info_log, &o->infos);
}

void options_wall_time(struct load_options *o, uint64_t ns)
{
    float ms = (float)((double)ns / 1e6);

    if (o->wall_time)
        memcpy(o->wall_time, &ms, sizeof ms);
}

void options_fini(struct load_options *o)
{
    buffer_fini(&o->errors);
    buffer_fini(&o->infos);
}
