/* SPDX-License-Identifier: MIT
 *
 * Every row of cpu/ptx/forms.def whose operands are registers becomes cases:
 * each choice of its modifiers and types that the parser takes for the
 * target. Compares, and the choices of video instructions, go many to a
 * kernel, since they differ little.
 *
 * Rows that touch memory or other lanes have cases elsewhere; `others` says
 * where, so that a row that nothing tests is noticed.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/ptx/ptx.h"
#include "fidelity.h"

enum { WORDS = 12, CHOICES = 24, OPERANDS = 8, TEXT = 160, NEWEST_SM = 90 };

struct row {
    enum ptx_op op;
    const char *mnemonic;
    int sm;
    const char *modifiers, *operands;
};
static const struct row rows[] = {
#define FORM(op, ptx, sm, modifiers, operands)                                 \
    {PTX_OP_##op, NULL, sm, modifiers, operands},
#include "cpu/ptx/forms.def"
#undef FORM
};

/* Rows that are not elementwise: who tests them, or why nobody does. */
static const struct {
    enum ptx_op op;
    int tested; /* 0: nothing to compare */
    const char *by;
} others[] = {
#define OTHER(op, tested, by) {PTX_OP_##op, tested, by},
#include "others.def"
#undef OTHER
};

int fid_apart;

/* --- a row taken apart --- */

struct word {
    char choices[CHOICES][32];
    unsigned count;
    int optional;
    int is_type;
    int merged; /* all choices in one kernel */
};

struct operand {
    char letter; /* of forms.def */
    char type;
    int is_written, is_optional, is_wider, has_pair;
};

struct plan {
    const struct row *row;
    struct word words[WORDS];
    unsigned word_count;
    struct operand operands[OPERANDS];
    unsigned operand_count;
    int choice[WORDS]; /* -1: left out */
    enum ptx_type types[6];
    unsigned type_count;
    int wide; /* registers of 64 bits where they may be wider */
    int with_optional;
    int emulated; /* of video instructions: those, or the others */
    struct fid_cases *all;
    unsigned made;
};

static enum ptx_type type_named(const char *text)
{
    for (int t = 1; t < PTX_TYPE_COUNT; t++)
        if (!strcmp(ptx_type_text((enum ptx_type)t), text))
            return (enum ptx_type)t;
    return PTX_NONE;
}

static int is_video(enum ptx_op op)
{
    return op >= PTX_OP_VADD && op <= PTX_OP_VSET;
}

static int split_words(struct plan *p)
{
    for (const char *at = p->row->modifiers; *at;) {
        size_t n = strcspn(at, " ");
        struct word *w = &p->words[p->word_count];
        const char *end = at + n;

        if (n && p->word_count == WORDS)
            return -1;
        if (n) {
            memset(w, 0, sizeof *w);
            at += *at == '^';
            if (end[-1] == '?') {
                w->optional = 1;
                end--;
            }
            while (at < end) {
                size_t k = strcspn(at, "| ?");

                if (w->count == CHOICES || k >= sizeof w->choices[0])
                    return -1;
                memcpy(w->choices[w->count], at, k);
                w->choices[w->count++][k] = 0;
                at += k + 1;
            }
            w->is_type = type_named(w->choices[0]) != PTX_NONE;
            if (!w->is_type &&
                (is_video(p->row->op) ||
                 ((p->row->op == PTX_OP_SETP || p->row->op == PTX_OP_SET) &&
                  strcmp(w->choices[0], "ftz"))))
                w->merged = 1;
            p->word_count++;
            at = end + w->optional;
        }
        at += *at == ' ';
    }
    return 0;
}

/* 0, or -1 where an operand is neither register, predicate nor constant. */
static int split_operands(struct plan *p)
{
    const char *other = strstr(p->row->operands, " / ");

    for (const char *at = other ? other + 3 : p->row->operands; *at;) {
        struct operand *o = &p->operands[p->operand_count];

        if (p->operand_count == OPERANDS)
            return -1;
        memset(o, 0, sizeof *o);
        if (*at == '=') {
            o->is_written = 1;
            at++;
        }
        o->letter = *at++;
        if (!strchr("rRapixznZ", o->letter))
            return -1;
        if (o->letter != 'p' && o->letter != 'i')
            o->type = *at++;
        while (*at && *at != ' ') {
            if (*at == '~')
                o->is_wider = 1;
            if (*at == '?')
                o->is_optional = 1;
            if (*at == '|')
                o->has_pair = 1;
            at++;
        }
        p->operand_count++;
        at += *at == ' ';
    }
    return p->operand_count > 1 && p->operands[0].is_written ? 0 : -1;
}

static int is_other(enum ptx_op op)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].op == op)
            return 1;
    return 0;
}

/* --- operands -> registers --- */

static enum ptx_type operand_type(const struct plan *p, const struct operand *o)
{
    switch (o->type) {
    case 'u':
        return PTX_U32;
    case 's':
        return PTX_S32;
    case 'b':
        return PTX_B32;
    case 'f':
        return PTX_F32;
    case 'h':
        return PTX_B16;
    case 'y':
        return PTX_B8;
    case 'B':
        return PTX_B64;
    case 'q':
        return PTX_B128;
    case 'w':
        return ptx_type_bits(p->types[0]) == 16 ? PTX_B32 : PTX_B64;
    case 0:
        return PTX_PRED;
    default:
        return isdigit((unsigned char)o->type) ? p->types[o->type - '0']
                                               : PTX_NONE;
    }
}

static char kind_of_type(enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
        return 'h';
    case PTX_BF16:
        return 'g';
    case PTX_F32:
    case PTX_TF32:
        return 'f';
    case PTX_F64:
        return 'd';
    case PTX_F16X2:
        return 'H';
    case PTX_BF16X2:
        return 'G';
    case PTX_U16X2:
    case PTX_S16X2:
        return 'W';
    case PTX_F32X2:
        return 'F';
    case PTX_PRED:
        return 'p';
    default:
        break;
    }
    switch (ptx_type_bits(t)) {
    case 8:
        return 'c';
    case 16:
        return 'w';
    case 32:
        return 'i';
    case 64:
        return 'l';
    default:
        return 0;
    }
}

/* Source `n` of the sources: its kind of values. */
static char source_kind(const struct plan *p, const struct operand *o,
                        unsigned n)
{
    const enum ptx_type t = operand_type(p, o);
    const char kind = kind_of_type(t);

    switch (p->row->op) {
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_SZEXT:
        return n == 1 ? 's' : kind;
    case PTX_OP_SHF:
        return n == 2 ? 's' : kind;
    case PTX_OP_BMSK:
        return 's';
    case PTX_OP_BFE:
        return n ? 'q' : kind;
    case PTX_OP_BFI:
        return n > 1 ? 'q' : kind;
    case PTX_OP_PRMT:
        return n == 2 ? 'x' : kind;
    case PTX_OP_FNS:
        return n ? 'j' : kind;
    default:
        break;
    }
    if (p->wide && o->is_wider && ptx_type_class(t) != PTX_CLASS_FLOAT)
        return 'l';
    return kind;
}

/* --- bodies --- */

static void instruction_text(const struct plan *p, char *text)
{
    size_t n = (size_t)snprintf(text, TEXT, "%s", p->row->mnemonic);

    for (unsigned w = 0; w < p->word_count; w++)
        if (p->choice[w] >= 0)
            n += (size_t)snprintf(text + n, TEXT - n, ".%s",
                                  p->words[w].choices[p->choice[w]]);
}

/* The operands behind the destinations: ", %a0, %a1". `number`: of an
 * immediate; parts: of video instructions. */
static void sources_text(const struct plan *p, char *text, size_t size,
                         unsigned number, const char *const parts[2])
{
    size_t n = 0;
    unsigned s = 0;

    for (unsigned k = 0; k < p->operand_count; k++) {
        const struct operand *o = &p->operands[k];

        if (o->is_written || (o->is_optional && !p->with_optional))
            continue;
        if (o->letter == 'i')
            n += (size_t)snprintf(text + n, size - n, ", %u", number);
        else
            n += (size_t)snprintf(text + n, size - n, ", %%a%u%s", s,
                                  parts && s < 2 ? parts[s] : "");
        s += o->letter != 'i';
    }
}

static int kinds_text(const struct plan *p, char *kinds)
{
    unsigned s = 0;

    for (unsigned k = 0; k < p->operand_count; k++) {
        const struct operand *o = &p->operands[k];
        char kind;

        if (o->is_written || o->letter == 'i' ||
            (o->is_optional && !p->with_optional))
            continue;
        kind = source_kind(p, o, s);
        if (!kind || s == FID_IN)
            return -1;
        kinds[s++] = kind;
    }
    kinds[s] = 0;
    return 0;
}

/* What the destination is: a register, and how it becomes words. */
struct result {
    const char *reg;
    const char *to_words;
    unsigned words;
};

static int result_of(const struct plan *p, struct result *r)
{
    static const struct result results[] = {
        {"%p0", "    selp.b32 %o0, 1, 0, %p0;\n", 1},
        {"%h0", "    cvt.u32.u16 %o0, %h0;\n", 1},
        {"%o0", "", 1},
        {"%d0", "    mov.b64 {%o0, %o1}, %d0;\n", 2},
    };
    const struct operand *o = &p->operands[0];
    const enum ptx_type t = operand_type(p, o);
    unsigned bits = ptx_type_bits(t);

    if (p->wide && o->is_wider && ptx_type_class(t) != PTX_CLASS_FLOAT)
        bits = 64;
    if (t == PTX_NONE || bits > 64)
        return -1;
    *r = results[bits == 1 ? 0 : bits == 16 ? 1 : bits <= 32 ? 2 : 3];
    return 0;
}

static char result_kind(const struct plan *p)
{
    const enum ptx_type t = operand_type(p, &p->operands[0]);
    const char kind = kind_of_type(t);

    if (p->row->op == PTX_OP_SET)
        return 0;
    return kind && strchr("hgfdHGF", kind) ? kind : 0;
}

/* How instructions with a carry are led in and out; 0 where none has one. */
static const char *carry_in(const struct plan *p)
{
    switch (p->row->op) {
    case PTX_OP_ADDC:
    case PTX_OP_MADC:
        return "    selp.b32 %t0, 1, 0, %a3;\n"
               "    add.cc.u32 %t0, %t0, 0xffffffff;\n";
    case PTX_OP_SUBC:
        return "    selp.b32 %t0, 1, 0, %a3;\n"
               "    sub.cc.u32 %t0, 0, %t0;\n";
    default:
        return "";
    }
}

static int has_word(const struct plan *p, const char *word)
{
    for (unsigned w = 0; w < p->word_count; w++)
        if (p->choice[w] >= 0 &&
            !strcmp(p->words[w].choices[p->choice[w]], word))
            return 1;
    return 0;
}

/* What the parser takes and NVIDIA's assembler does not. */
static int assembler_refuses(const struct plan *p)
{
    const enum ptx_type a = p->types[1];
    const enum ptx_type_class k = ptx_type_class(a);
    const int is_float = k == PTX_CLASS_FLOAT || k == PTX_CLASS_PACKED;

    if (is_video(p->row->op)) /* a third operand is for a second operation */
        return p->with_optional;
    if (p->row->op != PTX_OP_SET)
        return 0;
    if (is_float)
        return has_word(p, "ftz") && (a == PTX_F64 || a == PTX_BF16);
    if (has_word(p, "ftz"))
        return 1;
    if (has_word(p, "eq") || has_word(p, "ne"))
        return 0;
    return k == PTX_CLASS_BITS || (!has_word(p, "lt") && !has_word(p, "le") &&
                                   !has_word(p, "gt") && !has_word(p, "ge"));
}

/* Whether the parser takes this one instruction. */
static int takes(const struct plan *p, const char *kinds, const char *line)
{
    struct fid_case c = {.name = NULL, .words = 1};
    const struct fid_case *list[] = {&c};
    char *body = fid_format("    mov.u32 %%o0, 0;\n%s", line), *module;
    int ok;

    snprintf(c.kinds, sizeof c.kinds, "%s", kinds);
    c.body = body;
    module = fid_module(list, 1, FID_PLAIN);
    ok = !assembler_refuses(p) && fid_parses(module);
    free(module);
    free(body);
    return ok;
}

static void add_plain(struct plan *p)
{
    char text[TEXT], sources[TEXT], kinds[FID_IN + 1], line[2 * TEXT];
    struct result r;
    struct fid_case *c;
    const int carry_out = has_word(p, "cc");
    char *body;

    if (result_of(p, &r) || kinds_text(p, kinds))
        return;
    instruction_text(p, text);
    sources_text(p, sources, sizeof sources, 0, NULL);
    if (*carry_in(p)) { /* the carry is a fourth operand */
        while (strlen(kinds) < 3)
            strcat(kinds, "p");
        strcat(kinds, "p");
    }
    snprintf(line, sizeof line, "    %s %s%s;\n", text, r.reg, sources);
    if (!takes(p, kinds, line))
        return;
    body = fid_format("%s%s%s%s", carry_in(p), line, r.to_words,
                      !carry_out ? ""
                      : p->row->op == PTX_OP_SUB || p->row->op == PTX_OP_SUBC
                          ? "    subc.u32 %o2, 0, 0;\n"
                          : "    addc.u32 %o2, 0, 0;\n");
    if (carry_out && r.words == 1)
        memcpy(strstr(body, "%o2"), "%o1", 3);
    c = fid_add(p->all, p->row->mnemonic,
                fid_format("%s%s%s", text, p->wide ? " wide" : "",
                           p->with_optional ? " +" : ""),
                body, kinds, r.words + (unsigned)carry_out);
    c->result = result_kind(p);
    c->error = fid_approximation(c->name);
    p->made++;
}

/* --- many in one kernel --- */

/* Calls `each` for every choice of the merged words. */
static void merged(struct plan *p, unsigned w, FILE *body, unsigned *texts,
                   const char *kinds,
                   void each(struct plan *, FILE *, unsigned *, const char *))
{
    while (w < p->word_count && !p->words[w].merged)
        w++;
    if (w == p->word_count) {
        each(p, body, texts, kinds);
        return;
    }
    for (int i = p->words[w].optional ? -1 : 0; i < (int)p->words[w].count;
         i++) {
        p->choice[w] = i;
        merged(p, w + 1, body, texts, kinds, each);
    }
    p->choice[w] = -1;
}

/* Two bits a compare: p and q of setp; bits 10 and 26 of set, which tell true
 * from false in every type, per half of packed ones. All results of set ored
 * are the last word. */
static void one_compare(struct plan *p, FILE *f, unsigned *texts,
                        const char *kinds)
{
    char text[TEXT], sources[TEXT], line[2 * TEXT];
    const unsigned word = *texts / 16, at = *texts % 16 * 2;
    struct result r;
    const int setp = p->row->op == PTX_OP_SETP;
    /* A half has no second predicate. */
    const int pair = setp && kinds[0] != 'h' && kinds[0] != 'g';

    if (result_of(p, &r))
        return;
    instruction_text(p, text);
    sources_text(p, sources, sizeof sources, 0, NULL);
    snprintf(line, sizeof line, "    %s %s%s;\n", text,
             pair              ? "%p0|%p1"
             : setp            ? "%p0"
             : r.reg[1] == 'o' ? "%t0"
                               : r.reg,
             sources);
    if (!takes(p, kinds, line))
        return;
    fprintf(f, "%s", line);
    if (setp) {
        fprintf(f, "    selp.b32 %%t0, %u, 0, %%p0;\n", 1u << at);
        if (pair)
            fprintf(f,
                    "    selp.b32 %%t1, %u, 0, %%p1;\n"
                    "    or.b32 %%t0, %%t0, %%t1;\n",
                    2u << at);
    } else {
        if (r.reg[1] == 'h')
            fprintf(f, "    mov.b16 %%h1, 0;\n"
                       "    mov.b32 %%t0, {%%h0, %%h1};\n");
        fprintf(f,
                "    or.b32 %%o15, %%o15, %%t0;\n"
                "    shr.u32 %%t1, %%t0, 10;\n"
                "    and.b32 %%t1, %%t1, 1;\n"
                "    shr.u32 %%t0, %%t0, 25;\n"
                "    and.b32 %%t0, %%t0, 2;\n"
                "    or.b32 %%t0, %%t0, %%t1;\n"
                "    shl.b32 %%t0, %%t0, %u;\n",
                at);
    }
    fprintf(f, "    or.b32 %%o%u, %%o%u, %%t0;\n", word, word);
    ++*texts;
}

/* Whether NVIDIA's emulation of a scalar video instruction computes something
 * else than the ISA says: it saturates, compares and shifts what 32 bits are
 * left of the result, as signed numbers. */
static int is_emulated(const char *text)
{
    const char *words = strchr(text, '.');

    return words[-1] != '2' && words[-1] != '4' &&
           (strstr(words, ".sat") || strstr(words, ".min") ||
            strstr(words, ".max") || strstr(words, ".shr"));
}

static void one_video(struct plan *p, FILE *f, unsigned *texts,
                      const char *kinds)
{
    static const char *const parts[][2] = {
        {"", ""}, {".b0", ".b3"}, {".b2", ".h1"}, {".h0", ".b1"}, {".h1", ""}};
    char text[TEXT], sources[TEXT], line[2 * TEXT];
    instruction_text(p, text);
    if (is_emulated(text) != p->emulated)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sources_text(p, sources, sizeof sources, 0, parts[i]);
        snprintf(line, sizeof line, "    %s %%t0%s;\n", text, sources);
        if (!takes(p, kinds, line))
            continue;
        fprintf(f, "%s    mad.lo.u32 %%o%d, %%o%d, 0x9e3779b1, %%t0;\n", line,
                (int)(*texts % 4), (int)(*texts % 4));
        ++*texts;
    }
}

/* Each video instruction by itself, to see which of a mixed sum differs. */
static void one_apart(struct plan *p, FILE *f, unsigned *texts,
                      const char *kinds)
{
    char text[TEXT], sources[TEXT], line[2 * TEXT];

    (void)f;
    instruction_text(p, text);
    sources_text(p, sources, sizeof sources, 0, NULL);
    snprintf(line, sizeof line, "    %s %%o0%s;\n", text, sources);
    if (takes(p, kinds, line))
        fid_add(p->all, p->row->mnemonic,
                fid_format("%s%s", text, p->with_optional ? " +" : ""),
                fid_format("%s", line), kinds, 1);
    ++*texts;
}

static void add_merged(struct plan *p)
{
    char kinds[FID_IN + 1], text[TEXT], *made = NULL, *body;
    const int compares = !is_video(p->row->op);
    const unsigned slots = compares ? FID_WORDS : 4;
    unsigned texts = 0, words;
    struct fid_case *c;
    size_t size;
    FILE *f;

    if (kinds_text(p, kinds))
        return;
    if (!compares && fid_apart) {
        merged(p, 0, NULL, &texts, kinds, one_apart);
        return;
    }
    if (!(f = open_memstream(&made, &size)))
        return;
    for (unsigned i = 0; i < slots; i++)
        fprintf(f, "    mov.u32 %%o%u, 0;\n", i);
    merged(p, 0, f, &texts, kinds, compares ? one_compare : one_video);
    words = (texts + 15) / 16;
    if (!compares)
        words = texts < 4 ? texts : 4;
    if (p->row->op == PTX_OP_SET)
        fprintf(f, "    mov.b32 %%o%u, %%o15;\n", words++);
    fclose(f);
    body = made;
    if (!texts || words > FID_WORDS) {
        free(body);
        return;
    }
    instruction_text(p, text); /* without the merged words */
    c = fid_add(
        p->all, p->row->mnemonic,
        fid_format("%s%s, %u %s%s%s", text,
                   !compares && kinds[2] ? " onto c" : "", texts,
                   is_video(p->row->op) ? "ways"
                   : strchr(p->row->operands, ' ') &&
                           p->row->operands[strlen(p->row->operands) - 1] == 'p'
                       ? "compares with a predicate"
                       : "compares",
                   p->emulated ? ", emulated" : "",
                   p->with_optional ? " +" : ""),
        body, kinds, words);
    c->texts = texts;
    p->made++;
}

/* lop3: the table is a constant; all of them, mixed. */
static void add_tables(struct plan *p)
{
    char kinds[FID_IN + 1], text[TEXT], sources[TEXT], *body = NULL;
    const int with_predicate = p->operands[0].has_pair;
    struct fid_case *c;
    size_t size;
    FILE *f;

    if (kinds_text(p, kinds) || !(f = open_memstream(&body, &size)))
        return;
    instruction_text(p, text);
    fprintf(f, "    mov.u32 %%o0, 0;\n    mov.u32 %%o1, 0;\n");
    for (unsigned i = 0; i < 256; i += with_predicate ? 9 : 1) {
        sources_text(p, sources, sizeof sources, i, NULL);
        fprintf(f, "    %s %%t0%s%s;\n", text, with_predicate ? "|%p0" : "",
                sources);
        if (with_predicate)
            fprintf(f, "    selp.b32 %%t1, 1, 0, %%p0;\n"
                       "    shl.b32 %%o1, %%o1, 1;\n"
                       "    or.b32 %%o1, %%o1, %%t1;\n");
        fprintf(f, "    mad.lo.u32 %%o0, %%o0, 0x9e3779b1, %%t0;\n");
    }
    fclose(f);
    c = fid_add(p->all, p->row->mnemonic, fid_format("%s, all tables", text),
                body, kinds, 2);
    c->texts = with_predicate ? 29 : 256;
    p->made++;
}

/* --- all choices --- */

static void choose(struct plan *p, unsigned w)
{
    int any_merged = 0;

    for (; w < p->word_count && p->words[w].merged; w++)
        p->choice[w] = -1;
    if (w < p->word_count) {
        const unsigned types = p->type_count;

        for (int i = p->words[w].optional ? -1 : 0; i < (int)p->words[w].count;
             i++) {
            p->choice[w] = i;
            p->type_count = types;
            if (p->words[w].is_type && i >= 0 && types < 6)
                p->types[p->type_count++] = type_named(p->words[w].choices[i]);
            choose(p, w + 1);
        }
        p->type_count = types;
        return;
    }
    for (unsigned i = 0; i < p->word_count; i++)
        any_merged |= p->words[i].merged;
    if (p->row->op == PTX_OP_LOP3)
        add_tables(p);
    else if (any_merged) {
        add_merged(p);
        p->emulated = 1;
        if (is_video(p->row->op))
            add_merged(p);
        p->emulated = 0;
    } else
        add_plain(p);
}

static int wants_wide(const struct plan *p)
{
    int integers = 1;

    for (unsigned w = 0; w < p->word_count; w++)
        if (p->words[w].is_type &&
            ptx_type_class(type_named(p->words[w].choices[0])) ==
                PTX_CLASS_FLOAT)
            integers = 0;
    return p->row->op == PTX_OP_CVT && integers && p->operands[0].is_wider;
}

void fid_forms(struct fid_cases *all)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan p = {.all = all};
        struct row row = rows[i];
        int optional = 0;

        row.mnemonic = ptx_op_text(row.op);
        p.row = &row;
        if (row.sm > NEWEST_SM || is_other(row.op) || split_words(&p) ||
            split_operands(&p))
            continue;
        for (unsigned k = 0; k < p.operand_count; k++)
            optional |= p.operands[k].is_optional;
        for (p.with_optional = 0; p.with_optional <= optional;
             p.with_optional++)
            for (p.wide = 0; p.wide <= wants_wide(&p); p.wide++) {
                p.type_count = 0;
                choose(&p, 0);
            }
    }
}

int fid_untested(void)
{
    int missing = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan p = {.row = &rows[i]};

        /* What needs a newer device than the answers' is not asked. */
        if (rows[i].sm > NEWEST_SM || is_other(rows[i].op) ||
            (!split_words(&p) && !split_operands(&p)))
            continue;
        printf("nothing tests: %s %s, %s\n", ptx_op_text(rows[i].op),
               rows[i].modifiers, rows[i].operands);
        missing++;
    }
    return missing;
}
