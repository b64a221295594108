/* SPDX-License-Identifier: MIT */
#include "mutants.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"

/* Larger ones take longer than what they show is worth. */
enum { MOST_INSNS = 500 };

static int add(struct seeds *s, const char *name, const struct ptx_module *m)
{
    struct seed *items;

    if (s->count == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 64;

        items = kiln_array(s->items, cap, sizeof *items);
        if (!items)
            return -1;
        s->items = items;
        s->cap = cap;
    }
    s->items[s->count] = (struct seed){.name = kiln_strdup(name)};
    ptx_print(m, &s->items[s->count].text);
    return s->items[s->count++].text.bad ? -1 : 0;
}

/* Whether f may call g, itself or by others. */
static void mark(const struct ptx_func *f, const struct ptx_module *m,
                 unsigned char *wanted)
{
    for (size_t i = 0; i < m->func_count; i++) {
        const struct ptx_func *g = m->funcs[i];
        int uses = 0;

        if (wanted[i] || g->is_entry)
            continue;
        for (size_t k = 0; k < f->insn_count && !uses; k++) {
            const struct ptx_insn *p = &f->insns[k];

            uses = p->call && (p->call->target.func == g ||
                               p->call->target.kind != PTX_OPERAND_FUNC);
            for (unsigned o = 0; o < p->operand_count; o++)
                uses |= p->operands[o].kind == PTX_OPERAND_FUNC &&
                        p->operands[o].func == g;
        }
        for (size_t k = 0; k < f->table_count && !uses; k++)
            for (size_t n = 0; n < f->tables[k]->func_count; n++)
                uses |= f->tables[k]->funcs[n] == g;
        if (uses) {
            wanted[i] = 1;
            mark(g, m, wanted);
        }
    }
}

/* One kernel with the functions that it may call. */
static int add_kernel(struct seeds *s, const char *name, struct arena *arena,
                      const struct ptx_module *m, size_t kernel)
{
    struct ptx_module alone = *m;
    unsigned char *wanted = arena_alloc(arena, m->func_count);
    size_t insns = m->funcs[kernel]->insn_count;

    alone.funcs = arena_array(arena, m->func_count, sizeof *alone.funcs);
    alone.func_count = 0;
    if (!wanted || !alone.funcs)
        return -1;
    wanted[kernel] = 1;
    mark(m->funcs[kernel], m, wanted);
    for (size_t i = 0; i < m->func_count; i++) {
        /* Initialisers may hold the address of any. */
        if (!wanted[i] && m->funcs[i]->is_entry)
            continue;
        alone.funcs[alone.func_count++] = m->funcs[i];
        insns += m->funcs[i]->insn_count;
    }
    return insns > MOST_INSNS ? 0 : add(s, name, &alone);
}

static int add_file(struct seeds *s, const char *path)
{
    struct arena arena = {0};
    struct buffer text = {0};
    struct ptx_module *m;
    int bad = file_read(path, 0, &text, NULL) ? -1 : 0;

    if (!bad &&
        !ptx_parse(buffer_str(&text), text.size, &arena, &m, NULL, NULL))
        for (size_t i = 0; !bad && i < m->func_count; i++)
            if (m->funcs[i]->is_entry && m->funcs[i]->has_body)
                bad = add_kernel(s, path, &arena, m, i);
    buffer_fini(&text);
    arena_fini(&arena);
    return bad;
}

/* What is beside the PTX of a folder: sources, expectations. */
static int may_be_ptx(const struct dirent *d)
{
    static const char *const others[] = {".c",   ".h",      ".cu", ".sh",
                                         ".txt", ".expect", ".py"};
    const char *dot = strrchr(d->d_name, '.');

    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
        if (!strcmp(dot, others[i]))
            return 0;
    return d->d_name[0] != '.';
}

static int add_folder(struct seeds *s, const char *path)
{
    struct dirent **names = NULL;
    int bad = 0, count = scandir(path, &names, may_be_ptx, alphasort);

    for (int i = 0; i < count; i++) {
        char file[4096];

        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        bad |= add_file(s, file);
        free(names[i]);
    }
    free(names);
    return bad;
}

int seeds_add(struct seeds *s, const char *path)
{
    const size_t before = s->count;
    struct stat st;
    int bad;

    if (stat(path, &st) || s->group_count == MOST_GROUPS)
        return -1;
    bad = S_ISDIR(st.st_mode) ? add_folder(s, path) : add_file(s, path);
    if (s->count > before) {
        s->groups[s->group_count++] = before;
        s->groups[s->group_count] = s->count;
    }
    return bad;
}

void seeds_fini(struct seeds *s)
{
    for (size_t i = 0; i < s->count; i++) {
        kiln_release((char *)(uintptr_t)s->items[i].name);
        buffer_fini(&s->items[i].text);
    }
    kiln_release(s->items);
}
