/* SPDX-License-Identifier: MIT
 *
 * A mnemonic with all its modifiers is a shape: `ld.global.v4.f32`. A module
 * uses few of them many times, so each text is taken apart once, matched
 * against the rows of forms.def, and found by its text ever after.
 *
 * Modifiers are a set: their order does not matter, save that types keep
 * theirs (cvt.f32.s32) and that the second layout of mma is told from the
 * first.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* forms.def: FORM(mnemonic, ptx, sm, "modifiers", "operands") */
static const struct row {
    enum ptx_op op;
    uint16_t ptx, sm;
    const char *modifiers;
    const char *operands;
} rows[] = {
#define FORM(op, ptx, sm, modifiers, operands)                                 \
    {PTX_OP_##op, ptx, sm, modifiers, operands},
#include "cpu/ptx/forms.def"
#undef FORM
};

/* --- rows -> forms ----------------------------------------------------- */

/* One word of a row, "rn|rz|rm?": all types or all other names. Returns 0
 * when the row names something that does not exist. */
static int compile_word(struct parser *p, struct form *form, const char *word,
                        size_t len)
{
    const int optional = word[len - 1] == '?';
    const int first = *word == '^';
    const char *end = word + len - optional;
    uint64_t *group = form->groups[form->group_count];
    uint64_t mask = 0;
    unsigned others = 0;

    for (const char *a = word + first; a < end;) {
        const char *bar = memchr(a, '|', (size_t)(end - a));
        const size_t n = (size_t)((bar ? bar : end) - a);
        const enum ptx_type type = type_find(a, n);
        const int name = names_find(&p->names, a, n);

        if (type)
            mask |= UINT64_C(1) << type;
        else if (name >= 0)
            group[name / 64] |= UINT64_C(1) << (name % 64);
        else
            return 0;
        others += !type;
        a += n + 1;
    }
    if (mask && others)
        return 0;
    if (mask && form->type_count < PTX_MAX_TYPES) {
        form->types[form->type_count] = mask;
        form->type_required[form->type_count++] = !optional;
        return 1;
    }
    if (mask || form->group_count == FORM_GROUPS - 1)
        return 0;
    form->first |= (uint32_t)first << form->group_count;
    form->required[form->group_count++] = !optional;
    return 1;
}

static const struct form *compile(struct parser *p, const struct row *row)
{
    struct form *form = arena_alloc(&p->scratch, sizeof *form);

    if (!form)
        return NULL;
    form->operands = row->operands;
    form->ptx = row->ptx;
    form->sm = row->sm;
    for (const char *w = row->modifiers; *w;) {
        const size_t n = strcspn(w, " ");

        if (n && !compile_word(p, form, w, n)) {
            ptx_fatal(p, 0, "the row '%s' of '%s' is wrong at '%s'",
                      row->modifiers, ptx_op_text(row->op), w);
            return NULL;
        }
        w += n;
        w += *w == ' ';
    }
    return form;
}

enum kiln_status forms_compile(struct parser *p, enum ptx_op op,
                               const struct form **first)
{
    const struct form **link = &p->forms[op];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op == op && !p->forms_known[op]) {
            const struct form *form = compile(p, &rows[i]);

            if (!form)
                return p->status ? p->status : ptx_no_memory(p);
            *link = form;
            link = (const struct form **)(uintptr_t)&form->next;
        }
    }
    p->forms_known[op] = 1;
    *first = p->forms[op];
    return KILN_OK;
}

/* --- text -> words ----------------------------------------------------- */

struct words {
    int names[FORM_GROUPS];
    unsigned name_count;
    int starts_with_type;
    enum ptx_type types[PTX_MAX_TYPES];
    unsigned type_count;
};

static void set_fields(struct ptx_insn *insn, const struct name *n)
{
    const int compares = insn->op == PTX_OP_SETP || insn->op == PTX_OP_SET ||
                         insn->op == PTX_OP_VSET || insn->op == PTX_OP_VSET2 ||
                         insn->op == PTX_OP_VSET4;

    if (compares && n->cmp) {
        insn->cmp = n->cmp;
        return;
    }
    if (n->mod >= 0)
        insn->mods[n->mod / 64] |= UINT64_C(1) << (n->mod % 64);
    /* mma: .popc counts what .and or .xor gives */
    if (n->sub && !(insn->sub && n->sub == PTX_SUB_POPC))
        insn->sub = n->sub;
    if (n->round)
        insn->round = n->round;
    if (n->vec)
        insn->vec = n->vec;
    if (n->space && !insn->space)
        insn->space = n->space;
    else if (n->space)
        insn->space2 = n->space;
}

/* Flags that ptxas lets stand twice. */
static int may_repeat(int mod)
{
    switch (mod) {
    case PTX_MOD_SYNC:
    case PTX_MOD_UNI:
    case PTX_MOD_SAT:
    case PTX_MOD_SATFINITE:
    case PTX_MOD_RELU:
    case PTX_MOD_CC:
    case PTX_MOD_APPROX:
    case PTX_MOD_NAN_:
    case PTX_MOD_SHIFTAMT:
        return 1;
    default:
        return 0;
    }
}

static enum kiln_status add_name(struct parser *p, struct shape *shape,
                                 struct words *w, int name, unsigned line)
{
    const char *text = p->names.items[name].text;

    for (unsigned i = 0; i < w->name_count; i++) {
        const int old = p->names.items[w->names[i]].mod;
        const int mod = p->names.items[name].mod;

        if ((mod == PTX_MOD_ROW || mod == PTX_MOD_COL) &&
            (old == PTX_MOD_ROW || old == PTX_MOD_COL)) {
            name =
                names_find(&p->names, mod == PTX_MOD_ROW ? "row'" : "col'", 4);
            continue;
        }
        if (w->names[i] == name && may_repeat(p->names.items[name].mod))
            return KILN_OK;
        if (w->names[i] == name && !shape->open) {
            shape->broken = 1;
            return ptx_error(p, line, "Multiple '.%s' modifiers for '%s'", text,
                             ptx_op_text(shape->op));
        }
    }
    if (w->name_count == FORM_GROUPS) {
        shape->broken = 1;
        return ptx_error(p, line, "Too many modifiers for instruction '%s'",
                         ptx_op_text(shape->op));
    }
    w->names[w->name_count++] = name;
    set_fields(&shape->fields, &p->names.items[name]);
    return KILN_OK;
}

static enum kiln_status add_word(struct parser *p, struct shape *shape,
                                 struct words *w, const char *text, size_t len,
                                 unsigned line)
{
    const enum ptx_type type = type_find(text, len);
    const int name = names_find(&p->names, text, len);

    if (type && !w->name_count)
        w->starts_with_type = 1;
    if (type && w->type_count < PTX_MAX_TYPES) {
        w->types[w->type_count++] = type;
        return KILN_OK;
    }
    if (type && !shape->open) {
        shape->broken = 1;
        return ptx_error(p, line, "Too many types for instruction '%s'",
                         ptx_op_text(shape->op));
    }
    if (name >= 0)
        return add_name(p, shape, w, name, line);
    if (shape->open)
        return KILN_OK;
    shape->broken = 1;
    return ptx_error(p, line, "Unknown modifier '.%.*s'",
                     (int)(len < 60 ? len : 60), text);
}

static enum kiln_status take_apart(struct parser *p, struct shape *shape,
                                   struct words *w, unsigned line)
{
    const char *text = shape->text;
    const char *end = text + shape->len;
    const char *dot = memchr(text, '.', shape->len);
    const int op = op_find(text, (size_t)((dot ? dot : end) - text));
    enum kiln_status st = KILN_OK;

    if (op < 0) {
        shape->broken = 1;
        return ptx_error(p, line, "Not a name of any known instruction: '%.*s'",
                         (int)(dot ? dot - text : (long)shape->len), text);
    }
    shape->op = (enum ptx_op)op;
    shape->open = (uint8_t)op_is_open(shape->op);
    shape->fields.op = shape->op;
    shape->fields.vec = 1;
    shape->fields.guard = -1;
    shape->fields.text = shape->text;
    while (dot && !st) {
        const char *word = dot + 1;

        dot = memchr(word, '.', (size_t)(end - word));
        st = add_word(p, shape, w, word, (size_t)((dot ? dot : end) - word),
                      line);
    }
    shape->fields.type_count = (uint8_t)w->type_count;
    for (unsigned i = 0; i < w->type_count; i++)
        shape->fields.types[i] = w->types[i];
    return st;
}

/* --- words against forms ----------------------------------------------- */

/* Why a form does not fit; the furthest reason of all forms is reported. */
struct misfit {
    int rank;
    const char *what;
    const char *word;
};

static void misfit(struct misfit *why, int rank, const char *what,
                   const char *word)
{
    if (rank > why->rank) {
        why->rank = rank;
        why->what = what;
        why->word = word;
    }
}

static int types_fit(const struct form *f, const struct words *w)
{
    unsigned used = 0;

    for (unsigned i = 0; i < f->type_count; i++) {
        if (used < w->type_count && f->types[i] >> w->types[used] & 1)
            used++;
        else if (f->type_required[i])
            return 0;
    }
    return used == w->type_count;
}

static int names_fit(const struct parser *p, const struct form *f,
                     const struct words *w, struct misfit *why)
{
    uint8_t seen[FORM_GROUPS] = {0};

    for (unsigned i = 0; i < w->name_count; i++) {
        const int n = w->names[i];
        unsigned g = 0;

        while (g < f->group_count &&
               (seen[g] || !(f->groups[g][n / 64] >> (n % 64) & 1)))
            g++;
        if (g == f->group_count) {
            misfit(why, 2, "Illegal modifier", p->names.items[n].text);
            return 0;
        }
        if (f->first >> g & 1 && (i || w->starts_with_type)) {
            misfit(why, 2, "Misplaced modifier", p->names.items[n].text);
            return 0;
        }
        seen[g] = 1;
    }
    for (unsigned g = 0; g < f->group_count; g++) {
        if (f->required[g] && !seen[g]) {
            misfit(why, 3, "Missing modifier", NULL);
            return 0;
        }
    }
    return 1;
}

static enum kiln_status no_form(struct parser *p, struct shape *shape,
                                const struct misfit *why, unsigned line)
{
    const char *op = ptx_op_text(shape->op);

    shape->broken = 1;
    if (why->rank < 2)
        return ptx_error(
            p, line, "Unexpected instruction types specified for '%s': '%.80s'",
            op, shape->text);
    if (why->word)
        return ptx_error(p, line, "%s '.%s' for instruction '%s': '%.80s'",
                         why->what, why->word, op, shape->text);
    return ptx_error(p, line, "%s for instruction '%s': '%.80s'", why->what, op,
                     shape->text);
}

static int has_target(const struct ptx_module *m, const struct form *f)
{
    return m->target >= f->sm % FORM_ARCH &&
           (f->sm < FORM_ARCH || m->target_suffix);
}

/* The row's oldest PTX version and SM. */
static enum kiln_status too_old(struct parser *p, struct shape *shape,
                                const struct form *f, unsigned line)
{
    shape->broken = 1;
    if (p->module->version < f->ptx)
        return ptx_error(p, line,
                         "Feature '%.80s' requires PTX ISA .version %d.%d or "
                         "later; found %u.%u",
                         shape->text, f->ptx / 10, f->ptx % 10,
                         p->module->version / 10, p->module->version % 10);
    return ptx_error(p, line,
                     "Instruction '%.80s' requires .target sm_%d%s or higher; "
                     "found sm_%u%.1s",
                     shape->text, f->sm % FORM_ARCH,
                     f->sm < FORM_ARCH ? "" : "a", p->module->target,
                     &p->module->target_suffix);
}

static enum kiln_status match(struct parser *p, struct shape *shape,
                              const struct words *w, unsigned line)
{
    struct misfit why = {0, NULL, NULL};
    const struct form *old = NULL;
    const struct form *f;
    enum kiln_status st = forms_compile(p, shape->op, &f);

    for (; !st && f; f = f->next) {
        if (!types_fit(f, w) || !names_fit(p, f, w, &why))
            continue;
        if (p->module->version < f->ptx || !has_target(p->module, f))
            old = f;
        else if (shape->form_count < SHAPE_FORMS)
            shape->forms[shape->form_count++] = f;
    }
    if (st || shape->form_count)
        return st;
    return old ? too_old(p, shape, old, line) : no_form(p, shape, &why, line);
}

static int grow(struct parser *p)
{
    const size_t cap = p->shape_cap ? p->shape_cap * 2 : 256;
    struct shape **slots =
        arena_array(&p->scratch, cap, sizeof(struct shape *));

    if (!slots)
        return 0;
    for (size_t i = 0; i < p->shape_cap; i++) {
        if (p->shapes[i]) {
            size_t k = p->shapes[i]->hash & (cap - 1);

            while (slots[k])
                k = (k + 1) & (cap - 1);
            slots[k] = p->shapes[i];
        }
    }
    p->shapes = slots;
    p->shape_cap = cap;
    return 1;
}

enum kiln_status shape_get(struct parser *p, const char *text, size_t len,
                           unsigned line, const struct shape **out)
{
    struct words w = {0};
    const uint64_t hash = symbol_hash(p, text, len);
    struct shape *shape;
    enum kiln_status st;
    size_t i;

    if (p->shape_count * 2 >= p->shape_cap && !grow(p))
        return ptx_no_memory(p);
    for (i = hash & (p->shape_cap - 1); (shape = p->shapes[i]);
         i = (i + 1) & (p->shape_cap - 1)) {
        if (shape->hash == hash && shape->len == len &&
            memcmp(shape->text, text, len) == 0) {
            *out = shape;
            return KILN_OK;
        }
    }
    shape = arena_alloc(&p->scratch, sizeof *shape);
    if (!shape || !(shape->text = arena_strndup(p->arena, text, len)))
        return ptx_no_memory(p);
    shape->len = len;
    shape->hash = hash;
    p->shapes[i] = shape;
    p->shape_count++;
    *out = shape;
    st = take_apart(p, shape, &w, line);
    if (st || shape->broken || shape->open)
        return st;
    return match(p, shape, &w, line);
}
