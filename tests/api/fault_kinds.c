/* SPDX-License-Identifier: MIT
 *
 * Every kind of access to every kind of place where there is nothing: each is
 * an error of the context that sticks, told with the kernel, its block, a
 * thread and the line, and the next context of the process works.
 *
 * The kernels are made from a table. Each thread has an address in %a; one of
 * them, a warp or a block is given a bad one. The last line of a body is the
 * one that is to fault.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

enum { BLOCKS = 3, THREADS = 64, BLOCK = 1, THREAD = 37, BYTES = 64 << 10 };

enum { READS = 1, WRITES = 2 };

struct family {
    const char *name;
    unsigned bytes; /* its address must be a multiple of it */
    int does;
    const char *body;
};

/* %a: 64 bits; %b: an address of shared memory, for copies from and to it. */
static const struct family global[] = {
    {"ld_u8", 1, READS, "ld.global.u8 %r1, [%a];"},
    {"ld_u16", 2, READS, "ld.global.u16 %h1, [%a];"},
    {"ld_u32", 4, READS, "ld.global.u32 %r1, [%a];"},
    {"ld_f64", 8, READS, "ld.global.f64 %d1, [%a];"},
    {"ld_v2", 8, READS, "ld.global.v2.u32 {%r1, %r2}, [%a];"},
    {"ld_v4", 16, READS, "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a];"},
    {"ld_nc", 4, READS, "ld.global.nc.u32 %r1, [%a];"},
    {"ldu", 4, READS, "ldu.global.u32 %r1, [%a];"},
    {"ld_volatile", 4, READS, "ld.volatile.global.u32 %r1, [%a];"},
    {"ld_acquire", 4, READS, "ld.acquire.gpu.global.u32 %r1, [%a];"},
    {"ld_generic", 4, READS, "ld.u32 %r1, [%a];"},
    {"ld_offset", 4, READS, "sub.s64 %a, %a, 20;\nld.global.u32 %r1, [%a+20];"},
    {"st_u8", 1, WRITES, "st.global.u8 [%a], %r1;"},
    {"st_u16", 2, WRITES, "st.global.u16 [%a], %h1;"},
    {"st_u32", 4, WRITES, "st.global.u32 [%a], %r1;"},
    {"st_f64", 8, WRITES, "st.global.f64 [%a], %d1;"},
    {"st_v2", 8, WRITES, "st.global.v2.u32 [%a], {%r1, %r2};"},
    {"st_v4", 16, WRITES, "st.global.v4.f32 [%a], {%f1, %f2, %f3, %f4};"},
    {"st_volatile", 4, WRITES, "st.volatile.global.u32 [%a], %r1;"},
    {"st_release", 4, WRITES, "st.release.gpu.global.u32 [%a], %r1;"},
    {"st_generic", 4, WRITES, "st.u32 [%a], %r1;"},
    {"st_tid", 4, WRITES, "st.global.u32 [%a], %t;"},
    {"atom_add", 4, WRITES, "atom.global.add.u32 %r1, [%a], 1;"},
    {"atom_add64", 8, WRITES, "atom.global.add.u64 %x1, [%a], 1;"},
    {"atom_cas", 4, WRITES, "atom.global.cas.b32 %r1, [%a], 1, 2;"},
    {"atom_cas16", 2, WRITES, "atom.global.cas.b16 %h1, [%a], %h2, %h2;"},
    {"atom_addf", 4, WRITES, "atom.global.add.f32 %f1, [%a], 0f3f800000;"},
    {"atom_generic", 4, WRITES, "atom.exch.b32 %r1, [%a], 7;"},
    {"red_add", 4, WRITES, "red.global.add.u32 [%a], 1;"},
    {"red_max", 4, WRITES, "red.global.max.s32 [%a], %t;"},
    {"cp_async", 16, READS, "cp.async.cg.shared.global [%b], [%a], 16;"},
    {"cp_async4", 4, READS, "cp.async.ca.shared.global [%b], [%a], 4, 3;"},
    {"cp_bulk", 16, READS,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%b], [%a], 16, [%m];"},
    {"cp_bulk_out", 16, WRITES,
     "cp.async.bulk.global.shared::cta.bulk_group [%a], [%b], 16;"},
    {"wmma_load", 1, READS,
     "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
     "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%a];"},
    {"wmma_store", 1, WRITES,
     "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%a], "
     "{%r1, %r2, %r3, %r4};"},
};

/* %b: 32 bits, the address; %a: of global memory, a good one. */
static const struct family shared[] = {
    {"s_ld_u8", 1, READS, "ld.shared.u8 %r1, [%b];"},
    {"s_ld_u32", 4, READS, "ld.shared.u32 %r1, [%b];"},
    {"s_ld_v4", 16, READS, "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%b];"},
    {"s_ld_offset", 4, READS,
     "sub.u32 %b, %b, 40;\nld.shared.u32 %r1, [%b+40];"},
    {"s_ld_volatile", 4, READS, "ld.volatile.shared.u32 %r1, [%b];"},
    {"s_ld_generic", 4, READS,
     "cvt.s64.s32 %x1, %b;\nmov.u64 %x2, tile;\ncvta.shared.u64 %x2, %x2;\n"
     "add.s64 %x1, %x1, %x2;\nld.u32 %r1, [%x1];"},
    {"s_st_u8", 1, WRITES, "st.shared.u8 [%b], %r1;"},
    {"s_st_u32", 4, WRITES, "st.shared.u32 [%b], %r1;"},
    {"s_st_v2", 8, WRITES, "st.shared.v2.u32 [%b], {%r1, %r2};"},
    {"s_atom", 4, WRITES, "atom.shared.add.u32 %r1, [%b], 1;"},
    {"s_atom_cas", 8, WRITES, "atom.shared.cas.b64 %x1, [%b], 1, 2;"},
    {"s_red_max", 4, WRITES, "red.shared.max.u32 [%b], %t;"},
    {"s_cp_async", 16, WRITES, "cp.async.cg.shared.global [%b], [%a], 16;"},
    {"s_cp_bulk", 16, WRITES,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%b], [%a], 16, [%m];"},
    {"s_cp_bulk_bar", 8, WRITES,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%m], [%a], 16, [%b];"},
    {"s_ldmatrix", 16, READS,
     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%b];"},
    {"s_stmatrix", 16, WRITES,
     "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%b], {%r1, %r2, %r3, %r4};"},
    {"s_mbar_init", 8, WRITES, "mbarrier.init.shared.b64 [%b], 1;"},
    {"s_mbar_arrive", 8, WRITES, "mbarrier.arrive.shared.b64 %x1, [%b];"},
    {"s_mbar_test", 8, READS, "mbarrier.test_wait.shared.b64 %p, [%b], %x1;"},
    {"s_wmma_load", 1, READS,
     "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 "
     "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%b];"},
};

static const char head[] = ".version 8.0\n"
                           ".target sm_90\n"
                           ".address_size 64\n"
                           ".const .align 16 .b8 bank[8192];\n";

/* Who: LANE, one thread; WARP, its whole warp at one address; ROW, its warp,
 * at addresses one behind the other. */
enum who { LANE, WARP, ROW, WHO };
static const char *const who_name[WHO] = {"lane", "warp", "row"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static char text[1 << 18];
static size_t text_size;
static unsigned text_line;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    char *at = text + text_size;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(at, sizeof text - text_size, format, args);
    va_end(args);
    if (n < 0 || text_size + (size_t)n >= sizeof text) {
        printf("FAIL the kernels do not fit\n");
        exit(1);
    }
    text_size += (size_t)n;
    for (; *at; at++)
        text_line += *at == '\n';
}

/* Returns the line that is to fault. */
static unsigned add_kernel(const struct family *f, int is_shared, enum who who)
{
    unsigned line;

    add(".visible .entry %s_%s(.param .u64 good, .param .u64 bad)\n"
        "{\n"
        "    .reg .pred %%p;\n"
        "    .reg .b16 %%h<5>;\n"
        "    .reg .b32 %%r<10>, %%t, %%c, %%b, %%m;\n"
        "    .reg .f32 %%f<5>;\n"
        "    .reg .f64 %%d<3>;\n"
        "    .reg .b64 %%a, %%x<5>;\n"
        "    .shared .align 16 .b8 tile[8192];\n"
        "    ld.param.u64 %%x1, [good];\n"
        "    ld.param.u64 %%x2, [bad];\n"
        "    mov.u32 %%t, %%tid.x;\n"
        "    mov.u32 %%c, %%ctaid.x;\n",
        f->name, who_name[who]);
    if (who == LANE)
        add("    mad.lo.u32 %%c, %%c, 64, %%t;\n"
            "    setp.eq.u32 %%p, %%c, %d;\n",
            BLOCK * THREADS + THREAD);
    else
        add("    shl.b32 %%c, %%c, 1;\n"
            "    shr.u32 %%r1, %%t, 5;\n"
            "    add.u32 %%c, %%c, %%r1;\n"
            "    setp.eq.u32 %%p, %%c, %d;\n",
            BLOCK * THREADS / 32 + THREAD / 32);
    /* what is given in .shared is bad; each warp's own place is good */
    add("    mov.u32 %%b, tile;\n"
        "    mov.u32 %%m, tile;\n"
        "    add.u32 %%m, %%m, 4096;\n"
        "    mbarrier.init.shared.b64 [%%m], 1;\n"
        "    selp.b64 %%a, %s, %%x1, %%p;\n",
        is_shared ? "%x1" : "%x2");
    if (is_shared)
        add("    cvt.u32.u64 %%r1, %%x2;\n"
            "    selp.b32 %%b, %%r1, %%b, %%p;\n");
    /* for a copy both addresses are multiples of 16 */
    if (who == ROW)
        add("    mul.wide.u32 %%x3, %%t, %u;\n"
            "    add.s64 %%a, %%a, %%x3;\n",
            strstr(f->name, "cp_") ? 16 : f->bytes);
    if (who == ROW && is_shared)
        add("    and.b32 %%r1, %%t, 31;\n"
            "    mad.lo.u32 %%b, %%r1, %u, %%b;\n",
            f->bytes);
    add("    mov.u32 %%r1, %%t;\n"
        "    mov.b32 {%%h1, %%h2}, %%t;\n"
        "    mov.u32 %%r2, 0;\n"
        "    mov.u32 %%r3, 0;\n"
        "    mov.u32 %%r4, 0;\n"
        "    mov.f32 %%f1, 0f00000000;\n"
        "    mov.f32 %%f2, %%f1;\n"
        "    mov.f32 %%f3, %%f1;\n"
        "    mov.f32 %%f4, %%f1;\n"
        "    mov.f64 %%d1, 0d0000000000000000;\n"
        "%s\n",
        f->body);
    line = text_line - 1;
    /* what was loaded is used */
    add("    mov.u32 %%c, %%ctaid.x;\n"
        "    mad.lo.u32 %%c, %%c, %d, %%t;\n"
        "    mul.wide.u32 %%x3, %%c, 4;\n"
        "    ld.param.u64 %%x2, [good];\n"
        "    add.s64 %%x3, %%x3, %%x2;\n"
        "    cvt.u32.u16 %%c, %%h1;\n"
        "    add.u32 %%r1, %%r1, %%c;\n"
        "    cvt.u32.u64 %%c, %%x1;\n"
        "    add.u32 %%r1, %%r1, %%c;\n"
        "    cvt.rzi.u32.f32 %%c, %%f1;\n"
        "    add.u32 %%r1, %%r1, %%c;\n"
        "    cvt.rzi.u32.f64 %%c, %%d1;\n"
        "    add.u32 %%r1, %%r1, %%c;\n"
        "@%%p add.u32 %%r1, %%r1, 5;\n"
        "    st.global.u32 [%%x3+32768], %%r1;\n"
        "    ret;\n"
        "}\n",
        THREADS);
    return line;
}

/* --- what the driver says --- */

static FILE *said;

static void listen(void)
{
    said = tmpfile();
    fflush(stderr);
    if (!said || dup2(fileno(said), 2) < 0) {
        printf("FAIL no file for the log\n");
        exit(1);
    }
}

/* What it has said since the last time. */
static const char *hear(void)
{
    static char line[4096];
    static long at;
    size_t n;

    fseek(said, at, SEEK_SET);
    n = fread(line, 1, sizeof line - 1, said);
    line[n] = 0;
    fseek(said, 0, SEEK_END);
    at = ftell(said);
    return line;
}

/* --- places --- */

struct places {
    CUdeviceptr good, freed, end, bank, unmapped, small;
};

static void make_places(CUmodule m, struct places *p)
{
    void *map;

    OK(cuMemAlloc_v2(&p->good, BYTES));
    p->end = p->good + BYTES;
    OK(cuMemAlloc_v2(&p->freed, BYTES));
    OK(cuMemFree_v2(p->freed));
    OK(cuMemAlloc_v2(&p->small, 100));
    OK(cuModuleGetGlobal_v2(&p->bank, NULL, m, "bank"));
    map = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(map, BYTES);
    p->unmapped = (CUdeviceptr)(uintptr_t)map;
}

enum place {
    NOWHERE, /* a good one */
    NIL,
    LOW,
    FREED,
    END,
    BEFORE,
    UNMAPPED,
    NOT_CANONICAL,
    KERNEL,
    BANK, /* constant: can be read */
    ODD,  /* not aligned */
    NEAR, /* behind the end, but on its page */
    PLACES
};
static const char *const place_name[PLACES] = {
    "nowhere",        "null",     "low",        "freed",
    "behind the end", "before",   "unmapped",   "not canonical",
    "kernel's",       "constant", "misaligned", "near the end"};

static CUdeviceptr place_of(const struct places *p, enum place place,
                            unsigned bytes)
{
    switch (place) {
    case NIL:
        return 0;
    case LOW:
        return 4096;
    case FREED:
        return p->freed;
    case END:
        return p->end;
    case BEFORE:
        return p->good - 4096;
    case UNMAPPED:
        return p->unmapped;
    case NOT_CANONICAL:
        return (CUdeviceptr)1 << 62;
    case KERNEL:
        return ~(CUdeviceptr)0 << 47;
    case BANK:
        return p->bank;
    case ODD:
        return p->good + bytes / 2;
    case NEAR:
        return p->small + 112;
    default:
        return p->good;
    }
}

/* Offsets of the static shared memory, which starts at 0 and ends a page. */
static CUdeviceptr shared_place(enum place place, unsigned bytes)
{
    switch (place) {
    case FREED:
        return 8192 + 4096;
    case END:
        return 8192;
    case BEFORE:
        return (uint32_t)-4096;
    case UNMAPPED:
        return INT32_MAX - 4095;
    case KERNEL:
        return (uint32_t)1 << 31;
    case ODD:
        return bytes / 2;
    case NEAR: /* static shared memory is a whole number of pages */
    default:
        return 0;
    }
}

/* --- one fault --- */

static int checks; /* KILN_CPU_CHECK */

static void check_words(const char *what, const char *name, unsigned line,
                        enum who who, int is_misaligned)
{
    char place[64], kernel[160];
    const char *heard = hear();

    snprintf(kernel, sizeof kernel, "kernel %s, block (%d,0,0), thread", name,
             BLOCK);
    snprintf(place, sizeof place, "PTX line %u:", line);
    CHECK_SAYS(strstr(heard, kernel) && strstr(heard, place),
               "%s, %s: wanted \"%s...\" and \"%s\" in: %s", name, what, kernel,
               place, heard);
    snprintf(place, sizeof place, "thread (%d,0,0)", THREAD);
    if ((is_misaligned || checks) && who == LANE)
        CHECK_SAYS(strstr(heard, place) != NULL, "%s, %s: wanted %s in: %s",
                   name, what, place, heard);
}

static void once(const struct family *f, int is_shared, enum who who,
                 enum place place, unsigned line)
{
    const int is_odd = place == ODD;
    const int is_fine =
        place == NOWHERE || (place == BANK && f->does == READS) ||
        (place == NEAR && (!checks || is_shared || strstr(f->name, "wmma")));
    const CUresult wanted = is_fine  ? CUDA_SUCCESS
                            : is_odd ? CUDA_ERROR_MISALIGNED_ADDRESS
                                     : CUDA_ERROR_ILLEGAL_ADDRESS;
    CUdeviceptr good, bad;
    void *args[] = {&good, &bad};
    struct places places;
    CUcontext context;
    char name[80];
    CUfunction function;
    CUresult found;
    CUmodule m;

    if (is_odd && f->bytes < 2)
        return;
    snprintf(name, sizeof name, "%s_%s", f->name, who_name[who]);
    if (cuCtxCreate_v2(&context, 0, 0) || cuModuleLoadData(&m, text) ||
        cuModuleGetFunction(&function, m, name)) {
        CHECK_SAYS(0, "%s: no context or kernel after a fault", name);
        exit(1);
    }
    make_places(m, &places);
    good = places.good;
    bad = is_shared ? shared_place(place, f->bytes)
                    : place_of(&places, place, f->bytes);
    hear();
    OK(cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args,
                      NULL));
    found = cuCtxSynchronize();
    CHECK_SAYS(found == wanted, "%s, %s: %d, wanted %d", name,
               place_name[place], (int)found, (int)wanted);
    if (!is_fine) {
        check_words(place_name[place], name, line, who, is_odd);
        IS(cuMemAlloc_v2(&good, 4), wanted);
        IS(cuCtxSynchronize(), wanted);
    }
    OK(cuCtxDestroy_v2(context));
}

static void all_of(const struct family *list, size_t count, int is_shared,
                   unsigned lines[][WHO])
{
    for (size_t i = 0; i < count; i++)
        for (int who = 0; who < WHO; who++)
            for (int place = 0; place < PLACES; place++) {
                /* the places that matter for all, the others for some */
                if (who != LANE && place != NOWHERE && place != END &&
                    place != ODD && place != NEAR)
                    continue;
                if (is_shared &&
                    (place == NIL || place == LOW || place == NOT_CANONICAL ||
                     place == BANK || place == NEAR))
                    continue;
                if (!lines[i][who])
                    continue;
                once(&list[i], is_shared, (enum who)who, (enum place)place,
                     lines[i][who]);
            }
}

int main(void)
{
    static unsigned lines[2][64][WHO];
    CUcontext context;
    CUmodule m;

    checks = getenv("KILN_CPU_CHECK") != NULL;
    setenv("KILN_LOG", "info", 1);
    context = test_start();
    if (!is_kiln) {
        printf("skip one process cannot go on after a fault on a GPU\n");
        return 77;
    }
    test_need_compiler();
    text_line = 1;
    add("%s", head);
    for (int who = 0; who < WHO; who++) {
        for (size_t i = 0; i < COUNT(global); i++)
            if (who != LANE || !strstr(global[i].name, "wmma"))
                lines[0][i][who] = add_kernel(&global[i], 0, (enum who)who);
        for (size_t i = 0; i < COUNT(shared); i++)
            if (who != LANE || !strstr(shared[i].name, "wmma"))
                lines[1][i][who] = add_kernel(&shared[i], 1, (enum who)who);
    }
    test_function(text, "ld_u8_warp", &m);
    OK(cuCtxDestroy_v2(context));
    listen();
    all_of(global, COUNT(global), 0, lines[0]);
    all_of(shared, COUNT(shared), 1, lines[1]);
    return test_end();
}
