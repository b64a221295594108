/* SPDX-License-Identifier: MIT
 *
 * What the parser's files share: the state of one parse, the table of
 * symbols, and the shape of a mnemonic. Nothing here outlives ptx_parse;
 * what does lives in the caller's arena.
 */
#ifndef KILN_CPU_PTX_PARSE_H
#define KILN_CPU_PTX_PARSE_H

#include "cpu/ptx/lexer.h"
#include "cpu/ptx/ptx.h"

enum {
    MAX_DEPTH = 64,  /* of { } and of expressions */
    MAX_ERRORS = 20, /* then the parse gives up */
    MAX_NAMES = 400, /* modifiers and choices */
    NAME_SLOTS = 1024,
    NAME_WORDS = 7,
    FORM_GROUPS = 20,
    MAX_OPERANDS = PTX_MAX_OPERANDS
};

/* --- names.c: what a text between dots may mean ------------------------ */

struct name { /* one text; several meanings at once are possible */
    const char *text;
    uint8_t len;
    uint8_t sub, cmp, round, space, vec;
    int16_t mod; /* -1: no flag */
};
struct names {
    struct name items[MAX_NAMES];
    unsigned count;
    uint16_t slots[NAME_SLOTS];
};
void names_init(struct names *names);
/* Index into items, or -1. */
int names_find(const struct names *names, const char *text, size_t len);
/* PTX_NONE, when it is no type. */
enum ptx_type type_find(const char *text, size_t len);
int op_find(const char *text, size_t len); /* -1: none */
enum ptx_space space_find(const char *text, size_t len);
const char *space_text(enum ptx_space space);
/* Special registers: %tid and kin; sreg_bits is 32, 64 or 1. */
enum ptx_sreg sreg_find(const char *text, size_t len, uint8_t *dim);
unsigned sreg_bits(enum ptx_sreg sreg);
int sreg_is_vector(enum ptx_sreg sreg);
int sreg_is_numbered(enum ptx_sreg sreg);  /* %envreg3: dim is 3 */
const char *sreg_text(enum ptx_sreg sreg); /* without the % */
int op_is_open(enum ptx_op op);

/* --- shape.c: a mnemonic with its modifiers ---------------------------- */

/* One row of forms.def, compiled when a module first uses the mnemonic. */
struct form {
    const char *operands; /* as in forms.def */
    uint64_t groups[FORM_GROUPS][NAME_WORDS];
    uint64_t types[PTX_MAX_TYPES];
    uint32_t first; /* groups that must come first */
    uint8_t required[FORM_GROUPS];
    uint8_t type_required[PTX_MAX_TYPES];
    uint8_t group_count;
    uint8_t type_count;
    uint16_t ptx; /* 60: PTX ISA 6.0 */
    uint16_t sm;
    const struct form *next; /* of the same mnemonic */
};
enum { SHAPE_FORMS = 6 };
struct shape {
    const char *text;
    size_t len;
    uint64_t hash;
    enum ptx_op op;
    struct ptx_insn fields; /* op, types, modifiers, text: ready to copy */
    const struct form *forms[SHAPE_FORMS]; /* those that the text fits */
    unsigned form_count;
    uint8_t open;   /* operands are not checked */
    uint8_t broken; /* reported already */
};

/* --- symbols.c --------------------------------------------------------- */

enum binding_kind {
    BIND_REG,
    BIND_RANGE,
    BIND_VAR,
    BIND_FUNC,
    BIND_TABLE,
    BIND_LABEL
};
struct range { /* .reg .b32 %r<29> */
    enum ptx_type type;
    uint8_t vec;
    uint8_t later; /* not the first family of its prefix in the function */
    uint64_t count;
    uint32_t *map; /* number -> index + 1, for those used */
    size_t map_size;
};
struct binding {
    enum binding_kind kind;
    unsigned depth;
    struct symbol *symbol;
    struct binding *outer; /* shadowed by this one */
    struct binding *next;  /* of the same scope */
    union {
        uint32_t index; /* REG, LABEL */
        struct range *range;
        struct ptx_var *var;
        struct ptx_func *func;
        struct ptx_table *table;
    };
};
struct symbol {
    const char *name; /* NUL-terminated, in the caller's arena */
    size_t len;
    uint64_t hash;
    struct binding *bind;  /* innermost variable, register, function, table */
    struct binding *range; /* innermost family of registers */
    struct binding *label;
    /* Which function has used the name already, so that nested scopes that
     * declare it again get another name in the flat program. */
    unsigned owner, range_owner;
    unsigned copies, copies_owner;
    uint8_t also_exact; /* a name of prefix + digits is declared as well */
};
struct symbols {
    struct symbol **slots;
    size_t cap, count;
    uint64_t seed;
};

struct pending { /* a use of a label, resolved when its scope ends */
    struct pending *next;
    struct symbol *symbol;
    unsigned line;
    uint32_t *slot; /* of a table; else: */
    size_t insn;
    unsigned operand;
};
struct scope {
    struct binding *bindings;
    struct pending *pending;
};

/* --- the parse --------------------------------------------------------- */

struct parser {
    struct lexer lx;
    struct arena *arena;
    struct arena scratch; /* freed when the parse ends */
    struct ptx_module *module;
    struct buffer *log;
    struct kiln_error *err;
    enum kiln_status status; /* of the first error */
    unsigned errors;
    size_t text_size;

    struct names names;
    struct symbols symbols;
    struct scope scopes[MAX_DEPTH + 2];
    unsigned depth;
    const struct form *forms[PTX_OP_COUNT];
    uint8_t forms_known[PTX_OP_COUNT];
    struct shape **shapes;
    size_t shape_cap, shape_count;

    size_t var_cap, func_cap;
    uint64_t init_bytes; /* taken by initialisers so far */
    uint64_t map_entries;
    int late_names; /* the module has names that a function used before */

    /* The function being read. */
    struct ptx_func *func;
    unsigned func_id, last_func_id;
    size_t reg_cap, insn_cap, label_cap, local_cap, table_cap;
};

/* Note an error and go on (KILN_OK), until there are too many. */
enum kiln_status ptx_error(struct parser *p, unsigned line, const char *format,
                           ...) __attribute__((format(printf, 3, 4), cold));
enum kiln_status ptx_unsupported(struct parser *p, unsigned line,
                                 const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* An error that ends the parse: what follows makes no sense. */
enum kiln_status ptx_fatal(struct parser *p, unsigned line, const char *format,
                           ...) __attribute__((format(printf, 3, 4), cold));
enum kiln_status ptx_no_memory(struct parser *p) __attribute__((cold));
/* "syntax error near 'x': expected y". */
enum kiln_status ptx_expected(struct parser *p, const char *what)
    __attribute__((cold));

static inline int at(const struct parser *p, int kind)
{
    return p->lx.token.kind == kind;
}
static inline void next(struct parser *p)
{
    lexer_next(&p->lx);
}
int token_is(const struct token *t, const char *text);
int at_text(const struct parser *p, const char *text);
int at_directive(const struct parser *p, const char *text);
/* Take the token if it is this one. */
int accept(struct parser *p, int kind);
enum kiln_status expect(struct parser *p, int kind, const char *what);
/* A constant that fits; for sizes, alignments, counts. */
enum kiln_status expect_u64(struct parser *p, const char *what,
                            uint64_t *value);

/* symbols.c */
uint64_t symbol_hash(struct parser *p, const char *text, size_t len);
struct symbol *symbol_get(struct parser *p, const char *text, size_t len);
enum kiln_status scope_open(struct parser *p);
enum kiln_status scope_close(struct parser *p);
struct binding *bind_new(struct parser *p, struct symbol *s,
                         enum binding_kind kind);
/* A name that no other thing of the flat function has. */
const char *symbol_unique(struct parser *p, struct symbol *s);
/* The name without the digits it ends in; NULL: it ends in none. */
const struct symbol *symbol_prefix(struct parser *p, const struct symbol *s);
enum kiln_status declare_reg(struct parser *p, struct symbol *s,
                             enum ptx_type type, uint8_t vec, uint32_t *index);
enum kiln_status declare_range(struct parser *p, struct symbol *prefix,
                               enum ptx_type type, uint8_t vec, uint64_t count);
/* What a name stands for: REG with index, VAR, FUNC, TABLE. found is 0 when
 * it is unknown. */
struct found {
    int found;
    enum binding_kind kind;
    uint32_t index;
    const struct binding *binding;
};
enum kiln_status symbol_lookup(struct parser *p, const char *text, size_t len,
                               struct found *found);
enum kiln_status label_use(struct parser *p, struct symbol *s, unsigned line,
                           uint32_t *slot, size_t insn, unsigned operand);

/* shape.c */
enum kiln_status shape_get(struct parser *p, const char *text, size_t len,
                           unsigned line, const struct shape **shape);
enum kiln_status forms_compile(struct parser *p, enum ptx_op op,
                               const struct form **first);

/* expr.c: a constant expression. Its value is an integer or a float. */
struct constant {
    enum ptx_operand_kind kind; /* INT or FLOAT */
    int is_f32;
    int is_unsigned;
    uint64_t bits;
};
enum kiln_status parse_constant(struct parser *p, struct constant *value);
int at_constant(const struct parser *p);

/* operand.c */
enum kiln_status parse_operand(struct parser *p, struct ptx_operand *o,
                               size_t insn, unsigned index);

/* call.c */
enum kiln_status parse_call(struct parser *p, struct ptx_insn *insn,
                            size_t index);
enum kiln_status parse_table(struct parser *p, struct symbol *name);

/* rename.c: before the module owns a name; when the text has ended */
void rename_note(struct parser *p, const struct symbol *s);
enum kiln_status rename_late(struct parser *p);

/* declare.c */
struct linkage {
    uint8_t is_extern, is_visible, is_weak;
    uint8_t is_managed, is_unified;
};
int at_space(const struct parser *p, enum ptx_space *space);
enum kiln_status parse_registers(struct parser *p);
enum kiln_status parse_variables(struct parser *p, enum ptx_space space,
                                 const struct linkage *linkage);
enum kiln_status parse_parameter(struct parser *p, struct ptx_var *var,
                                 int anonymous, int is_entry);

/* init.c */
enum kiln_status parse_initialiser(struct parser *p, struct ptx_var *var,
                                   int open, const uint64_t *dims,
                                   unsigned dim_count);

/* func.c, body.c */
enum kiln_status parse_function(struct parser *p, const struct linkage *linkage,
                                int is_entry);
enum kiln_status parse_prototype(struct parser *p, struct ptx_func *func);
enum kiln_status parse_body(struct parser *p);

/* skip.c: debugging directives */
enum kiln_status skip_debug(struct parser *p, int *skipped);

/* check.c */
enum kiln_status check_insn(struct parser *p, struct ptx_insn *insn,
                            const struct shape *shape);

#endif
