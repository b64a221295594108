/* SPDX-License-Identifier: MIT
 *
 * A whole program: tables, functions, one kernel, and how it is launched.
 *
 * The kernel's memory is an image of ACC_WORDS words that all threads change
 * and a row of each thread. At the end each kind of register becomes a word of
 * each thread, behind the rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static void launches_make(struct gen *g)
{
    static const unsigned whole[] = {32, 64, 96, 128, 256};
    static const unsigned shapes[][3] = {{8, 8, 1},  {5, 7, 1},  {32, 4, 1},
                                         {3, 5, 2},  {16, 2, 4}, {64, 3, 1},
                                         {1, 33, 1}, {4, 4, 4},  {2, 50, 1}};

    for (int i = 0; i < LAUNCHES; i++) {
        struct launch *l = &g->program->launches[i];

        l->grid[0] = 1 + below(g, 3);
        l->grid[1] = g->dims > 1 ? 1 + below(g, 2) : 1;
        l->grid[2] = 1;
        l->block[0] = i ? 1 + below(g, THREADS_MOST) : whole[below(g, 5)];
        l->block[1] = l->block[2] = 1;
        if (g->dims > 1) {
            const unsigned shape = below(g, 9);

            memcpy(l->block, shapes[shape], sizeof l->block);
        }
    }
}

static void kinds_choose(struct gen *g)
{
    static const struct {
        const char *letters;
        unsigned percent;
    } groups[] = {{"d", 55}, {"h", 35},  {"f", 55},
                  {"g", 15}, {"xy", 15}, {"bz", 10}};

    strcpy(g->kinds, "rpw");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (chance(g, groups[i].percent))
            strcat(g->kinds, groups[i].letters);
    if (strchr(g->kinds, 'b') && !strchr(g->kinds, 'f'))
        strcat(g->kinds, "f");
}

static void threads_name(struct gen *g)
{
    say(g, "ld.param.u64 %%out, [out];\nld.param.u64 %%in, [in];\n"
           "ld.param.u32 %%n, [n];\nmov.u32 %%lane, %%laneid;\n"
           "mov.u32 %%own, %%tid.x;\nmov.u32 %%nt, %%ntid.x;\n"
           "mov.u32 %%cta, %%ctaid.x;\nmov.u32 %%total, %%nctaid.x;");
    if (g->dims > 1)
        say(g, "mov.u32 #r0, %%tid.y;\nmov.u32 #r1, %%ntid.y;\n"
               "mov.u32 #r2, %%tid.z;\nmad.lo.u32 #r0, #r2, #r1, #r0;\n"
               "mad.lo.u32 %%own, #r0, %%nt, %%own;\n"
               "mul.lo.u32 %%nt, %%nt, #r1;\nmov.u32 #r3, %%ntid.z;\n"
               "mul.lo.u32 %%nt, %%nt, #r3;\nmov.u32 #r4, %%ctaid.y;\n"
               "mov.u32 #r5, %%nctaid.x;\n"
               "mad.lo.u32 %%cta, #r4, #r5, %%cta;\n"
               "mov.u32 #r6, %%nctaid.y;\nmul.lo.u32 %%total, %%total, #r6;\n"
               "mul.lo.u32 %%total, %%total, %%nt;");
    else
        say(g, "mul.lo.u32 %%total, %%total, %%nt;");
    say(g,
        "add.u32 %%all, %%nt, 31;\nand.b32 %%all, %%all, 0xffffffe0;\n"
        "mad.lo.u32 %%gid, %%cta, %%nt, %%own;\n"
        "mad.wide.u32 %%row, %%gid, %d, %%out;\nadd.u64 %%row, %%row, %d;",
        ROW_WORDS * 4, ACC_WORDS * 4);
    say(g,
        "and.b32 #r0, %%gid, %d;\nmad.wide.u32 #d0, #r0, 4, %%in;\n"
        "ld.global.u32 %%r0, [#d0];\nld.param.b16 #h0, [s+6];\n"
        "cvt.u32.u16 #r1, #h0;\nadd.u32 %%r0, %%r0, #r1;",
        IN_WORDS - 1);
}

/* %m0: the lanes of the warp that there are. */
static void lanes_name(struct gen *g)
{
    g->scope.mask = g->masks++;
    say(g, "and.b32 #r0, %%own, 0xffffffe0;\nsub.u32 #r0, %%nt, #r0;\n"
           "min.u32 #r0, #r0, 32;\nbmsk.clamp.b32 %%m0, 0, #r0;");
}

static void mix(struct gen *g, const char *hash, const char *value)
{
    say(g, "mad.lo.u32 %s, %s, 0x9e3779b1, %s;", hash, hash, value);
}

static void mix_half(struct gen *g, const char *hash, char kind,
                     const char *value)
{
    const char *t = temp(g, 'r');

    if (kind != 'h')
        value = settled(g, kind, value);
    say(g, "cvt.u32.u16 %s, %s;", t, value);
    mix(g, hash, t);
}

static void mix_register(struct gen *g, const char *hash, char kind,
                         const char *name)
{
    const char *t = temp(g, 'r'), *high = temp(g, 'r');
    const char part = kind == 'y' ? 'x' : 'b';
    const char *low_half = temp(g, part), *high_half = temp(g, part);

    switch (kind) {
    case 'p':
        say(g, "selp.b32 %s, 1, 2, %s;", t, name);
        mix(g, hash, t);
        break;
    case 'f':
        say(g, "mov.b32 %s, %s;", t, settled(g, 'f', name));
        mix(g, hash, t);
        break;
    case 'd':
    case 'g':
        if (kind == 'g')
            name = settled(g, 'g', name);
        say(g, "mov.b64 {%s, %s}, %s;", t, high, name);
        mix(g, hash, t);
        mix(g, hash, high);
        break;
    case 'h':
    case 'x':
    case 'b':
        mix_half(g, hash, kind, name);
        break;
    case 'y':
    case 'z':
        say(g, "mov.b32 {%s, %s}, %s;", low_half, high_half, name);
        mix_half(g, hash, part, low_half);
        mix_half(g, hash, part, high_half);
        break;
    default:
        mix(g, hash, name);
    }
}

/* All threads' first words, then all second ones. */
static void result_store(struct gen *g, const char *hash)
{
    say(g,
        "st.global.u32 [%%row], %s;\n"
        "mad.wide.u32 %%row, %%total, 4, %%row;",
        hash);
}

static void local_hash(struct gen *g, const char *hash)
{
    say(g,
        "mov.u64 #d0, loc;\nmov.u32 #r1, 0;\nL%d:\n"
        "ld.local.u32 #r2, [#d0];\nmad.lo.u32 %s, %s, 0x9e3779b1, #r2;\n"
        "add.u64 #d0, #d0, 4;\nadd.u32 #r1, #r1, 1;\n"
        "setp.lt.u32 #p3, #r1, %d;\n@#p3 bra L%d;",
        g->labels, hash, hash, LOCAL_BYTES / 4, g->labels);
    g->labels++;
}

static void results_store(struct gen *g)
{
    say(g,
        "mad.wide.u32 %%row, %%total, %d, %%out;\n"
        "mad.wide.u32 %%row, %%gid, 4, %%row;\nadd.u64 %%row, %%row, %d;",
        ROW_WORDS * 4, ACC_WORDS * 4);
    for (const char *kind = g->kinds; *kind; kind++) {
        const char *hash = temp(g, 'r');

        say(g, "mov.u32 %s, 0;", hash);
        for (int i = 0; i < kind_count(*kind); i++) {
            char name[16];

            snprintf(name, sizeof name, "%%%c%d", *kind, i);
            mix_register(g, hash, *kind, name);
        }
        result_store(g, hash);
    }
    if (g->has_local) {
        const char *hash = temp(g, 'r');

        say(g, "mov.u32 %s, 0;", hash);
        local_hash(g, hash);
        result_store(g, hash);
    }
}

static void kernel_make(struct gen *g)
{
    const int dynamic = chance(g, 30);
    struct node *declarations;

    if (g->has_shared && dynamic)
        say(g, ".extern .shared .align 16 .b8 cells[];");
    say(g, ".visible .entry k(.param .u64 out, .param .u64 in,\n"
           "    .param .u32 n, .param .align 8 .b8 s[16])");
    say(g, "{");
    declarations = part_begin(g);
    statement_end(g);
    threads_name(g);
    start_registers(g);
    if (g->has_shared) {
        lanes_name(g);
        if (!dynamic)
            say(g, ".shared .align 16 .b8 cells[%d];", THREADS_MOST * 16);
        say(g, ".shared .align 4 .b8 lanes[%d];", THREADS_MOST * 4);
        shared_start(g);
    }
    if (g->has_local)
        local_start(g);
    while (g->budget > 0)
        statements(g, 4);
    results_store(g);
    say(g, "ret;\n}");
    g->at = declarations;
    declare_registers(g);
    say(g, ".reg .b32 %%own, %%lane, %%nt, %%cta, %%gid, %%n, %%all, %%total;\n"
           ".reg .b64 %%out, %%in, %%row;");
}

void program_make(struct program *p, uint64_t seed, int edition)
{
    struct gen g = {.state = seed * 0x2545f4914f6cdd1d + 1, .program = p};

    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->edition = g.edition = edition;
    part_begin(&g);
    g.scope =
        (struct scope){.uniform = 1, .mask = -1, .leave = -1, .again = -1};
    g.plain = chance(&g, 40);
    g.dims = chance(&g, 25) ? 3 : 1;
    g.has_shared = !g.plain;
    g.exits = !g.plain && chance(&g, 25);
    g.has_local = chance(&g, 25);
    g.directed = chance(&g, 15);
    kinds_choose(&g);
    launches_make(&g);
    say(&g, ".version 8.3\n.target sm_90\n.address_size 64");
    memory_declare(&g);
    functions_make(&g);
    if (edition == 1)
        g.budget = 2 + (int)below(&g, 8);
    else
        g.budget = (g.plain ? 2 : 3) + (int)below(&g, 7);
    kernel_make(&g);
    names_free();
}

void program_free(struct program *p)
{
    tree_free(p->root);
    p->root = NULL;
}

static void print(FILE *f, const struct node *n)
{
    for (; n; n = n->next) {
        if (n->gone)
            continue;
        if (n->text)
            fprintf(f, "%s\n", n->text);
        print(f, n->first);
    }
}

char *program_text(const struct program *p)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (f) {
        print(f, p->root);
        fclose(f);
    }
    if (!text) {
        fprintf(stderr, "random: no memory\n");
        exit(2);
    }
    return text;
}

size_t program_image_words(const struct launch *l)
{
    const size_t threads = (size_t)l->grid[0] * l->grid[1] * l->grid[2] *
                           l->block[0] * l->block[1] * l->block[2];

    return ACC_WORDS + threads * (ROW_WORDS + RESULTS);
}

/* Random words, small numbers, and floats of all sorts among them. */
void input_fill(uint32_t *words)
{
    static const uint32_t floats[] = {0x3f800000, 0x7f800000, 0x00000001,
                                      0x80000000, 0x7f7fffff, 0xc2280000,
                                      0x3c003c00, 0x7fc00000};
    struct gen g = {.state = 4};

    for (int i = 0; i < IN_WORDS; i++) {
        const uint64_t bits = random_bits(&g);

        words[i] = (uint32_t)bits;
        if ((bits >> 40) % 4 == 0)
            words[i] %= 64;
        else if ((bits >> 40) % 4 == 1)
            words[i] = floats[bits % 8];
        else if ((bits >> 40) % 4 == 2)
            words[i] = 0x3f000000 | (words[i] & 0x80ffffff);
    }
}
