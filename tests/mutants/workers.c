/* SPDX-License-Identifier: MIT
 *
 * Each worker takes the next number, writes the mutant where its parent sees
 * it, compiles it, and reports through a pipe. The parent looks at processor
 * time and memory, ends what takes too much, keeps what was a finding, and
 * starts another worker for one that ended.
 */
#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* Asked to stop: what is known is told. */
static volatile sig_atomic_t stopped;

static void stop_soon(int signal)
{
    (void)signal;
    stopped = 1;
}

enum {
    MOST_TEXT = 1 << 19,
    MOST_MEMORY_MB = 3072,
    LOOKS_A_SECOND = 10,
    MUTANTS_EACH = 2000, /* of one worker; then another goes on */
    RUN_EACH = 8         /* one of so many is run */
};
const char *const isa_names[3] = {"avx512", "avx2", "sse4.2"};

struct slot { /* shared by a worker and its parent */
    _Atomic uint64_t number;
    _Atomic uint64_t cpu_start; /* 0: between two mutants */
    struct report report;       /* what is known before it is compiled */
    uint32_t size;
    char text[MOST_TEXT];
};
struct shared {
    _Atomic uint64_t next, end;
    struct slot slots[];
};
struct pool {
    const struct options *o;
    const struct seeds *seeds;
    const char *build; /* of the driver, in a worker */
    struct shared *shared;
    pid_t pids[MOST_WORKERS];
    int killed[MOST_WORKERS]; /* why: enum outcome */
    int pipe[2];
    struct tally *tally;
    int failed; /* a worker could not begin */
};

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- the worker --- */

/* Most at the level that everybody uses and for all that the processor has. */
static void choose_target(struct report *r)
{
    const uint64_t h = (r->number * UINT64_C(0xd1342543de82ef95)) >> 40;

    r->isa = h % 10 < 7 ? 0 : h % 10 < 9 ? 1 : 2;
    r->level = h / 10 % 8 ? 4 : 0;
    r->hurried = h / 80 % 8 == 0;
}

static void work_on(struct pool *p, struct slot *s, uint64_t number)
{
    struct report r = {.number = number};
    struct attempt a = {0};
    struct buffer text = {0};
    uint64_t start;

    choose_target(&r);
    atomic_store(&s->number, number);
    s->size = 0;
    s->report = r;
    start = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    atomic_store(&s->cpu_start, start);
    r.changes = (uint8_t)mutant_make(p->seeds, number, &text);
    r.text_size = (uint32_t)text.size;
    s->report = r;
    if (text.size < MOST_TEXT) {
        memcpy(s->text, text.bytes, text.size);
        s->size = (uint32_t)text.size;
    }
    a.level = r.level;
    a.hurried = r.hurried;
    a.isa = isa_names[r.isa];
    a.build = number % RUN_EACH ? NULL : p->build;
    r.outcome = (uint16_t)mutant_compile(&text, &a);
    r.object_size = a.object_size;
    r.run = (uint8_t)a.run;
    memcpy(r.why, a.why, sizeof r.why);
    r.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    /* The parent keeps the text while this waits for room in the pipe. */
    if (write(p->pipe[1], &r, sizeof r) != sizeof r)
        _exit(1);
    if (r.outcome > REFUSED && p->o->keep) {
        char path[4096];
        struct kiln_error err;

        snprintf(path, sizeof path, "%s/%llu.ptx", p->o->keep,
                 (unsigned long long)number);
        if (file_write(path, text.bytes, text.size, &err))
            fprintf(stderr, "mutants: %s\n", err.text);
    }
    atomic_store(&s->cpu_start, 0);
    buffer_fini(&text);
}

static void work(struct pool *p, struct slot *s)
{
    signal(SIGTERM, SIG_DFL);
    setenv("KILN_JIT_THREADS", "1", 1);
    if (p->o->driver) {
        p->build = run_open(p->o->driver);
        if (!p->build) {
            fprintf(stderr, "mutants: %s is not the CPU driver\n",
                    p->o->driver);
            _exit(1);
        }
    }
    for (int i = 0; i < MUTANTS_EACH; i++) {
        const uint64_t number = atomic_fetch_add(&p->shared->next, 1);

        if (number >= atomic_load(&p->shared->end))
            _exit(0);
        work_on(p, s, number);
    }
    _exit(0);
}

/* --- the parent --- */

static int start_worker(struct pool *p, unsigned i)
{
    p->shared->slots[i].cpu_start = 0;
    p->killed[i] = 0;
    fflush(stdout);
    p->pids[i] = fork();
    if (p->pids[i] == 0) {
        close(p->pipe[0]);
        work(p, &p->shared->slots[i]);
    }
    return p->pids[i] > 0 ? 0 : -1;
}

static void keep(struct pool *p, const struct slot *s)
{
    char path[4096];
    struct kiln_error err;

    if (!p->o->keep)
        return;
    snprintf(path, sizeof path, "%s/%llu.ptx", p->o->keep,
             (unsigned long long)s->number);
    if (file_write(path, s->text, s->size, &err))
        fprintf(stderr, "mutants: %s\n", err.text);
}

/* A worker that ended in the middle of a mutant. */
static void lost(struct pool *p, unsigned i, int status)
{
    struct slot *s = &p->shared->slots[i];
    struct report r = s->report;

    r.outcome = (uint16_t)(p->killed[i] ? p->killed[i] : CRASHED);
    if (WIFSIGNALED(status))
        snprintf(r.why, sizeof r.why, "signal %d", WTERMSIG(status));
    else
        snprintf(r.why, sizeof r.why, "exit status %d", WEXITSTATUS(status));
    keep(p, s);
    tally_add(p->tally, &r);
}

static unsigned long memory_mb(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    f = fopen(path, "r");
    if (f && fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages >> 8;
}

static void look_at(struct pool *p, unsigned i)
{
    struct slot *s = &p->shared->slots[i];
    const uint64_t start = atomic_load(&s->cpu_start);
    clockid_t clock;

    if (!start || p->killed[i] || clock_getcpuclockid(p->pids[i], &clock))
        return;
    if (cpu_ns(clock) > start + p->o->cpu_seconds * 1000000000)
        p->killed[i] = HUNG;
    else if (memory_mb(p->pids[i]) > MOST_MEMORY_MB)
        p->killed[i] = GREW;
    if (p->killed[i])
        kill(p->pids[i], SIGKILL);
}

/* Takes in what workers that ended left; returns how many are at work. */
static unsigned collect(struct pool *p)
{
    unsigned alive = 0;

    for (unsigned i = 0; i < p->o->workers; i++) {
        int status;

        if (!p->pids[i])
            continue;
        if (waitpid(p->pids[i], &status, WNOHANG) != p->pids[i]) {
            look_at(p, i);
            alive++;
            continue;
        }
        p->pids[i] = 0;
        if (atomic_load(&p->shared->slots[i].cpu_start))
            lost(p, i, status);
        else if (status) /* it could not begin; others would not either */
            p->failed = 1;
        if (p->failed)
            continue;
        if (atomic_load(&p->shared->next) < atomic_load(&p->shared->end) &&
            !start_worker(p, i))
            alive++;
    }
    return alive;
}

static void drain(struct pool *p, int ms)
{
    struct pollfd fd = {.fd = p->pipe[0], .events = POLLIN};
    struct report r;

    if (poll(&fd, 1, ms) <= 0)
        return;
    while (read(p->pipe[0], &r, sizeof r) == sizeof r)
        tally_add(p->tally, &r);
}

static int set_up(struct pool *p)
{
    const size_t size = sizeof *p->shared + p->o->workers * sizeof(struct slot);

    p->shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    p->tally = tally_new();
    if (p->shared == MAP_FAILED || !p->tally || pipe(p->pipe) ||
        fcntl(p->pipe[0], F_SETFL, O_NONBLOCK)) {
        perror("mutants");
        return -1;
    }
    p->shared->next = p->o->first;
    p->shared->end = p->o->first + p->o->count;
    return 0;
}

int workers_run(const struct options *o, const struct seeds *seeds)
{
    static struct pool p;
    const uint64_t start = clock_ns();
    const uint64_t stop = start + o->seconds * 1000000000;

    p.o = o;
    p.seeds = seeds;
    if (set_up(&p))
        return 1;
    signal(SIGTERM, stop_soon);
    printf("%zu seeds\n", seeds->count);
    for (unsigned i = 0; i < o->workers; i++)
        if (start_worker(&p, i))
            return 1;
    while (collect(&p)) {
        drain(&p, 1000 / LOOKS_A_SECOND);
        if (stopped || (o->seconds && clock_ns() > stop))
            atomic_store(&p.shared->end, 0);
    }
    drain(&p, 0);
    return tally_print(p.tally, (double)(clock_ns() - start) / 1e9) != 0 ||
           p.failed;
}
