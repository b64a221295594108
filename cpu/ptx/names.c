/* SPDX-License-Identifier: MIT
 *
 * The words of PTX: mnemonics, types, state spaces, modifiers and special
 * registers, from text to number and back.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

static const char *const op_texts[] = {
#define OP(name, text, open) [PTX_OP_##name] = text,
#include "cpu/ptx/opcodes.def"
#undef OP
};
static const unsigned char op_opens[] = {
#define OP(name, text, open) [PTX_OP_##name] = open,
#include "cpu/ptx/opcodes.def"
#undef OP
};
_Static_assert(sizeof op_opens == PTX_OP_COUNT, "one a mnemonic");

static const struct {
    const char *text;
    uint8_t bits;
    uint8_t cls;
} types[] = {
#define PTX_TYPE_ROW(name, text, bits, cls)                                    \
    [PTX_##name] = {text, bits, PTX_CLASS_##cls},
    PTX_TYPE_MAP(PTX_TYPE_ROW)
#undef PTX_TYPE_ROW
};
_Static_assert(PTX_TYPE_COUNT <= 64, "a form keeps its types in one word");

unsigned ptx_type_bits(enum ptx_type t)
{
    return t < PTX_TYPE_COUNT ? types[t].bits : 0;
}

enum ptx_type_class ptx_type_class(enum ptx_type t)
{
    return t < PTX_TYPE_COUNT ? types[t].cls : PTX_CLASS_NONE;
}

const char *ptx_type_text(enum ptx_type t)
{
    return t < PTX_TYPE_COUNT ? types[t].text : "";
}

const char *ptx_op_text(enum ptx_op op)
{
    return op < PTX_OP_COUNT ? op_texts[op] : "";
}

int op_is_open(enum ptx_op op)
{
    return op_opens[op];
}

static int same(const char *word, const char *text, size_t len)
{
    return word[0] == text[0] && strlen(word) == len &&
           memcmp(word, text, len) == 0;
}

enum ptx_type type_find(const char *text, size_t len)
{
    for (int i = 1; len && i < PTX_TYPE_COUNT; i++) {
        if (same(types[i].text, text, len))
            return (enum ptx_type)i;
    }
    return PTX_NONE;
}

int op_find(const char *text, size_t len)
{
    for (int i = 0; len && i < PTX_OP_COUNT; i++) {
        if (same(op_texts[i], text, len))
            return i;
    }
    return -1;
}

/* --- state spaces ------------------------------------------------------ */

static const struct {
    const char *text;
    enum ptx_space space;
} spaces[] = {{"const", PTX_SPACE_CONST},
              {"global", PTX_SPACE_GLOBAL},
              {"local", PTX_SPACE_LOCAL},
              {"param", PTX_SPACE_PARAM},
              {"shared", PTX_SPACE_SHARED},
              {"param::entry", PTX_SPACE_PARAM},
              {"param::func", PTX_SPACE_PARAM},
              {"shared::cta", PTX_SPACE_SHARED},
              {"shared::cluster", PTX_SPACE_SHARED},
              {"reg", PTX_SPACE_REG}};

enum ptx_space space_find(const char *text, size_t len)
{
    for (size_t i = 0; len && i < sizeof spaces / sizeof *spaces; i++) {
        if (same(spaces[i].text, text, len))
            return spaces[i].space;
    }
    return PTX_SPACE_GENERIC;
}

const char *space_text(enum ptx_space space)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (spaces[i].space == space)
            return spaces[i].text;
    }
    return "";
}

/* --- modifiers --------------------------------------------------------- */

static const char *const mod_texts[] = {
#define MOD(name, text) [PTX_MOD_##name] = text,
#include "cpu/ptx/modifiers.def"
#undef MOD
};

static const struct {
    const char *text;
    uint8_t value;
} cmps[] = {{"eq", PTX_CMP_EQ},   {"ne", PTX_CMP_NE},   {"lt", PTX_CMP_LT},
            {"le", PTX_CMP_LE},   {"gt", PTX_CMP_GT},   {"ge", PTX_CMP_GE},
            {"lo", PTX_CMP_LO},   {"ls", PTX_CMP_LS},   {"hi", PTX_CMP_HI},
            {"hs", PTX_CMP_HS},   {"equ", PTX_CMP_EQU}, {"neu", PTX_CMP_NEU},
            {"ltu", PTX_CMP_LTU}, {"leu", PTX_CMP_LEU}, {"gtu", PTX_CMP_GTU},
            {"geu", PTX_CMP_GEU}, {"num", PTX_CMP_NUM}, {"nan", PTX_CMP_NAN}},
  subs[] = {{"and", PTX_SUB_AND},        {"or", PTX_SUB_OR},
            {"xor", PTX_SUB_XOR},        {"add", PTX_SUB_ADD},
            {"min", PTX_SUB_MIN},        {"max", PTX_SUB_MAX},
            {"inc", PTX_SUB_INC},        {"dec", PTX_SUB_DEC},
            {"exch", PTX_SUB_EXCH},      {"cas", PTX_SUB_CAS},
            {"popc", PTX_SUB_POPC},      {"all", PTX_SUB_ALL},
            {"any", PTX_SUB_ANY},        {"uni", PTX_SUB_UNI},
            {"ballot", PTX_SUB_BALLOT},  {"up", PTX_SUB_SHFL_UP},
            {"down", PTX_SUB_SHFL_DOWN}, {"bfly", PTX_SUB_SHFL_BFLY},
            {"idx", PTX_SUB_SHFL_IDX}},
  rounds[] = {{"rn", PTX_ROUND_RN},   {"rz", PTX_ROUND_RZ},
              {"rm", PTX_ROUND_RM},   {"rp", PTX_ROUND_RP},
              {"rna", PTX_ROUND_RNA}, {"rs", PTX_ROUND_RS},
              {"rni", PTX_ROUND_RNI}, {"rzi", PTX_ROUND_RZI},
              {"rmi", PTX_ROUND_RMI}, {"rpi", PTX_ROUND_RPI}},
  vecs[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}};

static unsigned slot_of(const char *text, size_t len)
{
    unsigned h = (unsigned)len;

    for (size_t i = 0; i < len; i++)
        h = h * 31 + (unsigned char)text[i];
    return (h ^ h >> 10) % NAME_SLOTS;
}

static unsigned find_slot(const struct names *names, const char *text,
                          size_t len)
{
    unsigned i = slot_of(text, len);

    while (names->slots[i]) {
        const struct name *n = &names->items[names->slots[i] - 1];

        if (n->len == len && memcmp(n->text, text, len) == 0)
            break;
        i = (i + 1) % NAME_SLOTS;
    }
    return i;
}

static struct name *add(struct names *names, const char *text)
{
    const size_t len = strlen(text);
    const unsigned i = find_slot(names, text, len);
    struct name *n;

    if (names->slots[i])
        return &names->items[names->slots[i] - 1];
    n = &names->items[names->count++];
    n->text = text;
    n->len = (uint8_t)len;
    n->mod = -1;
    names->slots[i] = (uint16_t)names->count;
    return n;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
_Static_assert(PTX_MOD_COUNT + COUNT(cmps) + COUNT(subs) + COUNT(rounds) +
                       COUNT(vecs) + COUNT(spaces) <=
                   MAX_NAMES,
               "names have room");
_Static_assert(MAX_NAMES <= 64 * NAME_WORDS, "a group has a bit a name");

/* The second layout of mma and wmma is another flag with the same text: its
 * name in the table ends in a quote, which no PTX text can. */
static const char *second_layout(int mod)
{
    return mod == PTX_MOD_B_ROW ? "row'" : mod == PTX_MOD_B_COL ? "col'" : NULL;
}

void names_init(struct names *names)
{
    memset(names, 0, sizeof *names);
    for (int i = 0; i < PTX_MOD_COUNT; i++) {
        const char *second = second_layout(i);

        add(names, second ? second : mod_texts[i])->mod = (int16_t)i;
    }
    for (size_t i = 0; i < COUNT(cmps); i++)
        add(names, cmps[i].text)->cmp = cmps[i].value;
    for (size_t i = 0; i < COUNT(subs); i++)
        add(names, subs[i].text)->sub = subs[i].value;
    for (size_t i = 0; i < COUNT(rounds); i++)
        add(names, rounds[i].text)->round = rounds[i].value;
    for (size_t i = 0; i < COUNT(vecs); i++)
        add(names, vecs[i].text)->vec = vecs[i].value;
    for (size_t i = 0; i < COUNT(spaces) - 1; i++)
        add(names, spaces[i].text)->space = (uint8_t)spaces[i].space;
}

int names_find(const struct names *names, const char *text, size_t len)
{
    return (int)names->slots[find_slot(names, text, len)] - 1;
}

/* --- special registers ------------------------------------------------- */

static const struct {
    const char *text;
    enum ptx_sreg sreg;
    uint8_t bits;
    uint8_t vector;
} sregs[] = {
    {"tid", PTX_SREG_TID, 32, 1},
    {"ntid", PTX_SREG_NTID, 32, 1},
    {"ctaid", PTX_SREG_CTAID, 32, 1},
    {"nctaid", PTX_SREG_NCTAID, 32, 1},
    {"laneid", PTX_SREG_LANEID, 32, 0},
    {"warpid", PTX_SREG_WARPID, 32, 0},
    {"nwarpid", PTX_SREG_NWARPID, 32, 0},
    {"smid", PTX_SREG_SMID, 32, 0},
    {"nsmid", PTX_SREG_NSMID, 32, 0},
    {"gridid", PTX_SREG_GRIDID, 64, 0},
    {"lanemask_eq", PTX_SREG_LANEMASK_EQ, 32, 0},
    {"lanemask_lt", PTX_SREG_LANEMASK_LT, 32, 0},
    {"lanemask_le", PTX_SREG_LANEMASK_LE, 32, 0},
    {"lanemask_gt", PTX_SREG_LANEMASK_GT, 32, 0},
    {"lanemask_ge", PTX_SREG_LANEMASK_GE, 32, 0},
    {"clock", PTX_SREG_CLOCK, 32, 0},
    {"clock_hi", PTX_SREG_CLOCK_HI, 32, 0},
    {"clock64", PTX_SREG_CLOCK64, 64, 0},
    {"globaltimer", PTX_SREG_GLOBALTIMER, 64, 0},
    {"globaltimer_lo", PTX_SREG_GLOBALTIMER_LO, 32, 0},
    {"globaltimer_hi", PTX_SREG_GLOBALTIMER_HI, 32, 0},
    {"dynamic_smem_size", PTX_SREG_DYNAMIC_SMEM_SIZE, 32, 0},
    {"total_smem_size", PTX_SREG_TOTAL_SMEM_SIZE, 32, 0},
    {"aggr_smem_size", PTX_SREG_AGGR_SMEM_SIZE, 32, 0},
    {"envreg", PTX_SREG_ENVREG, 32, 0},
    {"clusterid", PTX_SREG_CLUSTERID, 32, 1},
    {"nclusterid", PTX_SREG_NCLUSTERID, 32, 1},
    {"cluster_ctaid", PTX_SREG_CLUSTER_CTAID, 32, 1},
    {"cluster_nctaid", PTX_SREG_CLUSTER_NCTAID, 32, 1},
    {"cluster_ctarank", PTX_SREG_CLUSTER_CTARANK, 32, 0},
    {"cluster_nctarank", PTX_SREG_CLUSTER_NCTARANK, 32, 0},
    {"is_explicit_cluster", PTX_SREG_IS_EXPLICIT_CLUSTER, 1, 0},
    {"current_graph_exec", PTX_SREG_CURRENT_GRAPH_EXEC, 64, 0},
    {"reserved_smem_offset_begin", PTX_SREG_RESERVED_SMEM_BEGIN, 32, 0},
    {"reserved_smem_offset_end", PTX_SREG_RESERVED_SMEM_END, 32, 0},
    {"reserved_smem_offset_cap", PTX_SREG_RESERVED_SMEM_CAP, 32, 0},
    {"reserved_smem_offset_0", PTX_SREG_RESERVED_SMEM_0, 32, 0},
    {"reserved_smem_offset_1", PTX_SREG_RESERVED_SMEM_1, 32, 0},
    {"pm", PTX_SREG_PM, 32, 0},
    {"pm", PTX_SREG_PM_64, 64, 0},
};

unsigned sreg_bits(enum ptx_sreg sreg)
{
    for (size_t i = 0; i < COUNT(sregs); i++) {
        if (sregs[i].sreg == sreg)
            return sregs[i].bits;
    }
    return 0;
}

const char *sreg_text(enum ptx_sreg sreg)
{
    for (size_t i = 0; i < COUNT(sregs); i++) {
        if (sregs[i].sreg == sreg)
            return sregs[i].text;
    }
    return "";
}

int sreg_is_vector(enum ptx_sreg sreg)
{
    for (size_t i = 0; i < COUNT(sregs); i++) {
        if (sregs[i].sreg == sreg)
            return sregs[i].vector;
    }
    return 0;
}

int sreg_is_numbered(enum ptx_sreg sreg)
{
    return sreg == PTX_SREG_ENVREG || sreg == PTX_SREG_PM ||
           sreg == PTX_SREG_PM_64;
}

/* %envreg0 ... 31, %pm0 ... 7, %pm0_64 ... */
static enum ptx_sreg numbered(const char *text, size_t len, uint8_t *dim)
{
    unsigned n = 0;

    if (len > 6 && len <= 8 && memcmp(text, "envreg", 6) == 0) {
        for (size_t i = 6; i < len; i++) {
            if (text[i] < '0' || text[i] > '9')
                return PTX_SREG_NONE;
            n = n * 10 + (unsigned)(text[i] - '0');
        }
        *dim = (uint8_t)n;
        return n < 32 ? PTX_SREG_ENVREG : PTX_SREG_NONE;
    }
    if (len < 3 || text[0] != 'p' || text[1] != 'm' || text[2] < '0' ||
        text[2] > '7')
        return PTX_SREG_NONE;
    *dim = (uint8_t)(text[2] - '0');
    if (len == 3)
        return PTX_SREG_PM;
    return len == 6 && memcmp(text + 3, "_64", 3) == 0 ? PTX_SREG_PM_64
                                                       : PTX_SREG_NONE;
}

enum ptx_sreg sreg_find(const char *text, size_t len, uint8_t *dim)
{
    *dim = 0;
    if (len < 2 || *text != '%')
        return PTX_SREG_NONE;
    text++;
    len--;
    for (size_t i = 0; i < COUNT(sregs); i++) {
        if (same(sregs[i].text, text, len) && !sreg_is_numbered(sregs[i].sreg))
            return sregs[i].sreg;
    }
    return numbered(text, len, dim);
}
