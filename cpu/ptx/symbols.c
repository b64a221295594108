/* SPDX-License-Identifier: MIT
 *
 * Names and scopes. One table of symbols serves the whole parse; what a name
 * stands for is a stack of bindings on its symbol, so that opening a scope
 * costs nothing and closing one undoes exactly its declarations.
 *
 * `.reg .b32 %r<29>` is one binding on the prefix "%r"; a register of it
 * comes to be when it is first used.
 *
 * Scopes are flattened: a name that a nested scope declares again gets a
 * number appended, so that a printed function needs no scopes.
 */
#include <string.h>
#include <sys/auxv.h>

#include "cpu/ptx/parse.h"

/* Collisions must not be for the author of the text to choose. */
static uint64_t seed_of(const struct parser *p)
{
    const unsigned char *random = NULL;
    uint64_t seed = (uintptr_t)p;
    const unsigned long at_random = getauxval(AT_RANDOM);

    memcpy(&random, &at_random, sizeof random);
    if (random)
        memcpy(&seed, random, sizeof seed);
    return seed | 1;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const __uint128_t m = (__uint128_t)a * b;

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_of(uint64_t seed, const char *text, size_t len)
{
    uint64_t h = seed ^ len;
    uint64_t word = 0;

    for (; len >= 8; text += 8, len -= 8) {
        memcpy(&word, text, 8);
        h = mix(h ^ word, UINT64_C(0x9e3779b97f4a7c15) ^ seed);
    }
    word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)(unsigned char)text[i] << (8 * i);
    return mix(h ^ word, UINT64_C(0xd6e8feb86659fd93) ^ seed);
}

uint64_t symbol_hash(struct parser *p, const char *text, size_t len)
{
    if (!p->symbols.seed)
        p->symbols.seed = seed_of(p);
    return hash_of(p->symbols.seed, text, len);
}

static int grow(struct parser *p)
{
    struct symbols *t = &p->symbols;
    const size_t cap = t->cap ? t->cap * 2 : 1024;
    struct symbol **slots =
        arena_array(&p->scratch, cap, sizeof(struct symbol *));

    if (!slots)
        return 0;
    for (size_t i = 0; i < t->cap; i++) {
        struct symbol *s = t->slots[i];

        if (s) {
            size_t k = s->hash & (cap - 1);

            while (slots[k])
                k = (k + 1) & (cap - 1);
            slots[k] = s;
        }
    }
    t->slots = slots;
    t->cap = cap;
    return 1;
}

/* How many digits end the name: "%r12" 2, "%r012" 2, "%r" 0. */
static size_t digits_of(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && text[len - 1 - n] >= '0' && text[len - 1 - n] <= '9')
        n++;
    while (n > 1 && text[len - n] == '0')
        n--;
    return n == len ? 0 : n;
}

struct symbol *symbol_get(struct parser *p, const char *text, size_t len)
{
    struct symbols *t = &p->symbols;
    struct symbol *s;
    uint64_t hash;
    size_t i;

    if (t->count * 2 >= t->cap && !grow(p))
        return NULL;
    hash = symbol_hash(p, text, len);
    for (i = hash & (t->cap - 1); (s = t->slots[i]);
         i = (i + 1) & (t->cap - 1)) {
        if (s->hash == hash && s->len == len && memcmp(s->name, text, len) == 0)
            return s;
    }
    s = arena_alloc(&p->scratch, sizeof *s);
    if (!s || !(s->name = arena_strndup(p->arena, text, len)))
        return NULL;
    s->len = len;
    s->hash = hash;
    t->slots[i] = s;
    t->count++;
    return s;
}

/* --- scopes ------------------------------------------------------------ */

enum kiln_status scope_open(struct parser *p)
{
    if (p->depth >= MAX_DEPTH)
        return ptx_fatal(p, p->lx.token.line,
                         "scopes nested deeper than %d levels", MAX_DEPTH);
    p->depth++;
    memset(&p->scopes[p->depth], 0, sizeof p->scopes[0]);
    return KILN_OK;
}

static struct binding **stack_of(struct symbol *s, enum binding_kind kind)
{
    return kind == BIND_LABEL   ? &s->label
           : kind == BIND_RANGE ? &s->range
                                : &s->bind;
}

static void label_set(struct parser *p, const struct pending *use,
                      uint32_t index)
{
    if (use->slot)
        *use->slot = index;
    else
        p->func->insns[use->insn].operands[use->operand].label = index;
}

/* Uses whose label this scope declares are settled, the others wait for the
 * scope around it; those left when the function ends are errors. */
static enum kiln_status settle(struct parser *p)
{
    struct scope *scope = &p->scopes[p->depth];
    struct scope *outer = p->depth > 1 ? scope - 1 : NULL;

    for (struct pending *u = scope->pending, *after; u; u = after) {
        const struct binding *b = u->symbol->label;

        after = u->next;
        if (b && b->depth == p->depth) {
            label_set(p, u, b->index);
        } else if (outer) {
            u->next = outer->pending;
            outer->pending = u;
        } else {
            enum kiln_status st = ptx_error(
                p, u->line, "Undefined label '%.100s'", u->symbol->name);

            if (st)
                return st;
        }
    }
    return KILN_OK;
}

enum kiln_status scope_close(struct parser *p)
{
    enum kiln_status st = settle(p);

    for (struct binding *b = p->scopes[p->depth].bindings; b; b = b->next)
        *stack_of(b->symbol, b->kind) = b->outer;
    p->scopes[p->depth].bindings = NULL;
    p->depth--;
    return st;
}

struct binding *bind_new(struct parser *p, struct symbol *s,
                         enum binding_kind kind)
{
    struct binding **stack = stack_of(s, kind);
    struct binding *b = arena_alloc(&p->scratch, sizeof *b);

    if (!b)
        return NULL;
    b->kind = kind;
    b->depth = p->depth;
    b->symbol = s;
    b->outer = *stack;
    *stack = b;
    b->next = p->scopes[p->depth].bindings;
    p->scopes[p->depth].bindings = b;
    if (kind != BIND_LABEL && kind != BIND_RANGE) {
        const size_t digits = digits_of(s->name, s->len);

        if (digits) {
            struct symbol *prefix = symbol_get(p, s->name, s->len - digits);

            if (!prefix)
                return NULL;
            prefix->also_exact = 1;
        }
    }
    return b;
}

/* --- flat names -------------------------------------------------------- */

const struct symbol *symbol_prefix(struct parser *p, const struct symbol *s)
{
    const size_t digits = digits_of(s->name, s->len);

    return digits ? symbol_get(p, s->name, s->len - digits) : NULL;
}

/* Whether a family of this function may own the name. */
static int in_family(struct parser *p, const struct symbol *s)
{
    const struct symbol *prefix = symbol_prefix(p, s);

    return prefix && prefix->range_owner == p->func_id;
}

/* Owner 0 is nobody, 1 the module, 2 and up one function each. */
static int taken(struct parser *p, const struct symbol *s)
{
    return s->owner == 1 || s->owner == p->func_id || in_family(p, s);
}

static void own(struct parser *p, struct symbol *s)
{
    const size_t digits = digits_of(s->name, s->len);

    s->owner = p->func_id;
    if (digits) {
        struct symbol *prefix = symbol_get(p, s->name, s->len - digits);

        if (prefix)
            prefix->also_exact = 1;
    }
}

const char *symbol_unique(struct parser *p, struct symbol *s)
{
    struct symbol *other = s;

    if (s->copies_owner != p->func_id) {
        s->copies_owner = p->func_id;
        s->copies = 0;
    }
    while (taken(p, other)) {
        const char *text =
            arena_printf(&p->scratch, "%s$%u", s->name, ++s->copies);

        if (!text || !(other = symbol_get(p, text, strlen(text))))
            return NULL;
    }
    own(p, other);
    return other->name;
}

/* --- registers --------------------------------------------------------- */

static enum kiln_status reg_add(struct parser *p, const char *name,
                                enum ptx_type type, uint8_t vec,
                                uint32_t *index)
{
    struct ptx_func *f = p->func;
    struct ptx_reg *regs =
        arena_grow(p->arena, f->regs, f->reg_count, &p->reg_cap, sizeof *regs);

    if (!regs || !name)
        return ptx_no_memory(p);
    if (f->reg_count >= INT32_MAX)
        return ptx_fatal(p, p->lx.token.line, "too many registers");
    f->regs = regs;
    regs[f->reg_count].name = name;
    regs[f->reg_count].type = type;
    regs[f->reg_count].vec = vec;
    *index = (uint32_t)f->reg_count++;
    return KILN_OK;
}

static enum kiln_status duplicate(struct parser *p, const struct symbol *s)
{
    return ptx_error(p, p->lx.token.line,
                     "Duplicate definition of variable '%.100s'", s->name);
}

enum kiln_status declare_reg(struct parser *p, struct symbol *s,
                             enum ptx_type type, uint8_t vec, uint32_t *index)
{
    enum kiln_status st;
    struct binding *b;

    if (s->bind && s->bind->depth == p->depth)
        return duplicate(p, s);
    st = reg_add(p, symbol_unique(p, s), type, vec, index);
    if (st)
        return st;
    b = bind_new(p, s, BIND_REG);
    if (!b)
        return ptx_no_memory(p);
    b->index = *index;
    return KILN_OK;
}

enum kiln_status declare_range(struct parser *p, struct symbol *prefix,
                               enum ptx_type type, uint8_t vec, uint64_t count)
{
    struct range *r = arena_alloc(&p->scratch, sizeof *r);
    struct binding *b;

    if (prefix->range && prefix->range->depth == p->depth)
        return duplicate(p, prefix);
    if (!r || !(b = bind_new(p, prefix, BIND_RANGE)))
        return ptx_no_memory(p);
    r->type = type;
    r->vec = vec;
    r->count = count;
    b->range = r;
    if (prefix->range_owner == p->func_id)
        r->later = prefix->also_exact = 1;
    prefix->range_owner = p->func_id;
    return KILN_OK;
}

/* The register `number` of a family, made when it is new. Families used
 * sparsely, `%r<999999999>`, would need too large a map: then the name itself
 * is bound, as if it had been declared alone. */
static enum kiln_status range_reg(struct parser *p, struct binding *family,
                                  uint64_t number, const char *text, size_t len,
                                  uint32_t *index)
{
    struct range *r = family->range;
    struct symbol *s = NULL;
    const char *name;
    enum kiln_status st;

    if (number >= r->map_size) {
        size_t size = r->map_size ? r->map_size * 2 : 64;
        uint32_t *map;

        while (size <= number)
            size *= 2;
        p->map_entries += size;
        if (p->map_entries > 4 * (uint64_t)p->text_size + 65536)
            return ptx_fatal(p, p->lx.token.line,
                             "register '%.*s' of a family too sparsely used",
                             (int)(len < 100 ? len : 100), text);
        map = arena_array(&p->scratch, size, sizeof *map);
        if (!map)
            return ptx_no_memory(p);
        if (r->map_size)
            memcpy(map, r->map, r->map_size * sizeof *map);
        r->map = map;
        r->map_size = size;
    }
    if (r->map[number]) {
        *index = r->map[number] - 1;
        return KILN_OK;
    }
    if (family->symbol->also_exact) {
        s = symbol_get(p, text, len);
        if (!s)
            return ptx_no_memory(p);
        /* The first family of its prefix has its names to itself, unless
         * another thing was declared by that name. */
        if (!r->later && s->owner != p->func_id && s->owner != 1) {
            s->owner = p->func_id;
            name = s->name;
        } else {
            name = symbol_unique(p, s);
        }
    } else {
        name = arena_strndup(p->arena, text, len);
    }
    st = reg_add(p, name, r->type, r->vec, index);
    if (st)
        return st;
    r->map[number] = *index + 1;
    return KILN_OK;
}

/* The innermost family that has the number. */
static struct binding *family_of(struct parser *p, const char *text, size_t len,
                                 uint64_t *number, enum kiln_status *st)
{
    const size_t digits = digits_of(text, len);
    struct symbol *prefix;
    uint64_t n = 0;

    *st = KILN_OK;
    if (!digits || digits > 9)
        return NULL;
    prefix = symbol_get(p, text, len - digits);
    if (!prefix) {
        *st = ptx_no_memory(p);
        return NULL;
    }
    if (!prefix->range)
        return NULL;
    for (size_t i = len - digits; i < len; i++)
        n = n * 10 + (uint64_t)(text[i] - '0');
    *number = n;
    for (struct binding *b = prefix->range; b; b = b->outer) {
        if (n < b->range->count)
            return b;
    }
    return NULL;
}

enum kiln_status symbol_lookup(struct parser *p, const char *text, size_t len,
                               struct found *found)
{
    uint64_t number = 0;
    enum kiln_status st;
    struct binding *family = family_of(p, text, len, &number, &st);
    const struct symbol *s;

    memset(found, 0, sizeof *found);
    if (st)
        return st;
    if (family && !family->symbol->also_exact) {
        found->found = 1;
        found->kind = BIND_REG;
        return range_reg(p, family, number, text, len, &found->index);
    }
    s = symbol_get(p, text, len);
    if (!s)
        return ptx_no_memory(p);
    if (family && (!s->bind || s->bind->depth < family->depth)) {
        found->found = 1;
        found->kind = BIND_REG;
        return range_reg(p, family, number, text, len, &found->index);
    }
    if (!s->bind)
        return KILN_OK;
    found->found = 1;
    found->kind = s->bind->kind;
    found->binding = s->bind;
    if (s->bind->kind == BIND_REG)
        found->index = s->bind->index;
    return KILN_OK;
}

enum kiln_status label_use(struct parser *p, struct symbol *s, unsigned line,
                           uint32_t *slot, size_t insn, unsigned operand)
{
    struct pending *u = arena_alloc(&p->scratch, sizeof *u);

    if (!u)
        return ptx_no_memory(p);
    u->symbol = s;
    u->line = line;
    u->slot = slot;
    u->insn = insn;
    u->operand = operand;
    u->next = p->scopes[p->depth].pending;
    p->scopes[p->depth].pending = u;
    return KILN_OK;
}
