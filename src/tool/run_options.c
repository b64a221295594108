/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/run.h"
#include "tool/tool.h"

const char run_help[] =
    "usage: kiln run FILE KERNEL [options] ARG...\n"
    "\n"
    "Compiles FILE, loads it on a device, launches KERNEL and prints what the\n"
    "arguments ask for. Options and arguments may be mixed.\n"
    "\n"
    "  FILE     .cu, .ptx, or - for CUDA source on standard input; or device\n"
    "           code: .cubin, .fatbin, a program, library, object or archive\n"
    "  KERNEL   its name; a template instance as in C++: 'saxpy<float>',\n"
    "           'ns::k<int,4>'\n"
    "\n"
    "  --grid X[,Y[,Z]]     blocks (1)\n"
    "  --block X[,Y[,Z]]    threads a block (1)\n"
    "  --shared BYTES       dynamic shared memory a block (0)\n"
    "  --device cpu|nvidia[:N]\n"
    "                       default: an NVIDIA device if one answers, else "
    "cpu\n"
    "  --arch sm_90|compute_90\n"
    "  --maxreg N           cap on registers a thread\n"
    "  --jit KEY=VALUE      option of the driver's load: max-registers,\n"
    "                       threads-per-block, opt-level, debug, lineinfo,\n"
    "                       verbose, cache-mode, min-blocks-per-sm,\n"
    "                       max-threads\n"
    "  -D NAME[=VALUE]  -I FOLDER  --std=c++17  --option=TEXT\n"
    "                       for the compiler\n"
    "  --repeat N           N launches of the kernel in a row, on the same\n"
    "                       buffers; outputs are read after the last\n"
    "  --no-cache           look nothing up, keep nothing\n"
    "  --json               one JSON object on standard output\n"
    "\n"
    "ARG, one a kernel parameter, in order:\n"
    "  TYPE:VALUE           f32:2.0  i32:-5  u64:0xff\n"
    "                       (i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64)\n"
    "  TYPE[N]:INIT[:OUT]   a device buffer of N elements\n"
    "    INIT  zero, iota, const=V, rand[=SEED], @FILE (raw, or .npy)\n"
    "    OUT   head[=K], sum, @FILE (raw, or .npy)\n"
    "  bytes:HEX            a struct by value\n"
    "\n"
    "rand depends on seed and index alone: integers take all their values,\n"
    "floats are in [0, 1). A sum of integers is modulo 2^64.\n"
    "\n"
    "Environment: KILN_NVRTC (path of libnvrtc), KILN_COMPILER (nvrtc,\n"
    "clang), KILN_CLANG, KILN_CPU_DRIVER, KILN_NVIDIA_DRIVER, "
    "KILN_CACHE_DIR.\n";

/* 0x for hexadecimal; a leading 0 means nothing. */
static int base_of(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

static int whole(const char *text, unsigned long most, unsigned *out)
{
    unsigned long v;
    char *end;

    errno = 0;
    v = strtoul(text, &end, base_of(text));
    if (!isdigit((unsigned char)*text) || errno || *end || v > most)
        return -1;
    *out = (unsigned)v;
    return 0;
}

static int three(const char *text, unsigned out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        unsigned long v;
        char *end;

        errno = 0;
        v = strtoul(text, &end, base_of(text));
        if (!isdigit((unsigned char)*text) || errno || !v || v > 0xffffffffu)
            return -1;
        out[i] = (unsigned)v;
        if (!*end)
            return 0;
        if (*end != ',')
            return -1;
        text = end + 1;
    }
    return -1;
}

static int push(struct text_list *list, const char *option, const char *text)
{
    const char **larger =
        realloc((void *)list->items, (list->count + 1) * sizeof *larger);

    if (!larger)
        return usage("run", "out of memory");
    list->items = larger;
    if (!*text)
        return usage("run", "%s: its value is empty", option);
    larger[list->count++] = text;
    return 0;
}

static int add_jit(struct run_options *o, char *text)
{
    struct kiln_jit_option *larger;
    char *equals = strchr(text, '='), *end;
    long value;

    if (!equals)
        return usage("run", "--jit %s: KEY=VALUE expected", text);
    errno = 0;
    value = strtol(equals + 1, &end, 0);
    if (errno || end == equals + 1 || *end || value < -1000000000 ||
        value > 1000000000)
        return usage("run", "--jit %s: the value is a whole number", text);
    larger = realloc(o->jit, (o->jit_count + 1) * sizeof *larger);
    if (!larger)
        return usage("run", "out of memory");
    *equals = '\0';
    o->jit = larger;
    for (size_t i = 0; kiln_jit_key(i); i++)
        if (!strcmp(kiln_jit_key(i), text)) {
            larger[o->jit_count].key = text;
            larger[o->jit_count++].value = (int)value;
            return 0;
        }
    return usage("run", "--jit %s: no such key", text);
}

static int add_argument(struct run_options *o, const char *text)
{
    char why[256];
    struct argument *larger =
        realloc(o->arguments, (o->argument_count + 1) * sizeof *larger);

    if (!larger)
        return usage("run", "out of memory");
    o->arguments = larger;
    if (argument_parse(text, &larger[o->argument_count], why, sizeof why))
        return usage("run", "argument %zu: %s", o->argument_count + 1, why);
    o->argument_count++;
    return 0;
}

enum option_id {
    GRID,
    BLOCK,
    SHARED,
    DEVICE,
    ARCH,
    MAXREG,
    JIT,
    DEFINE,
    FOLDER,
    STANDARD,
    OPTION,
    REPEAT,
    NO_CACHE,
    JSON
};

static const struct option_row {
    const char *name;
    enum option_id id;
    int has_value;
} rows[] = {
    {"--grid", GRID, 1},         {"--block", BLOCK, 1},
    {"--shared", SHARED, 1},     {"--device", DEVICE, 1},
    {"--arch", ARCH, 1},         {"--maxreg", MAXREG, 1},
    {"--jit", JIT, 1},           {"--define", DEFINE, 1},
    {"--include", FOLDER, 1},    {"--std", STANDARD, 1},
    {"--option", OPTION, 1},     {"--repeat", REPEAT, 1},
    {"--no-cache", NO_CACHE, 0}, {"--json", JSON, 0},
};

static int apply(struct run_options *o, enum option_id id, char *value)
{
    unsigned n = 0;

    switch (id) {
    case GRID:
        return three(value, o->shape.grid)
                   ? usage("run",
                           "--grid %s: X[,Y[,Z]] expected, each from "
                           "1 up",
                           value)
                   : 0;
    case BLOCK:
        return three(value, o->shape.block)
                   ? usage("run",
                           "--block %s: X[,Y[,Z]] expected, each from "
                           "1 up",
                           value)
                   : 0;
    case SHARED:
        return whole(value, 0xffffffffu, &o->shape.shared)
                   ? usage("run", "--shared %s: a number of bytes expected",
                           value)
                   : 0;
    case MAXREG:
        if (whole(value, 255, &n) || !n)
            return usage("run", "--maxreg %s: 1 to 255 expected", value);
        o->max_registers = (int)n;
        return 0;
    case REPEAT:
        return whole(value, 1000000, &o->repeat) || !o->repeat
                   ? usage("run", "--repeat %s: 1 to 1000000 expected", value)
                   : 0;
    case DEVICE:
        if (strcmp(value, "cpu") && strcmp(value, "nvidia") &&
            (strncmp(value, "nvidia:", 7) || whole(value + 7, 1023, &n)))
            return usage("run",
                         "--device %s: cpu, nvidia or nvidia:N "
                         "expected",
                         value);
        o->device = value;
        return 0;
    case ARCH:
        if (!*value)
            return usage("run", "--arch: its value is empty");
        o->arch = value;
        return 0;
    case STANDARD:
        if (!*value)
            return usage("run", "--std: its value is empty");
        o->standard = value;
        return 0;
    case JIT:
        return add_jit(o, value);
    case DEFINE:
        return push(&o->defines, "-D", value);
    case FOLDER:
        return push(&o->folders, "-I", value);
    case OPTION:
        return push(&o->extra, "--option", value);
    case NO_CACHE:
        o->no_cache = 1;
        return 0;
    case JSON:
        o->json = 1;
        return 0;
    }
    return 0;
}

/* An option at argv[*i]; its value behind '=' or in the next text, for -D
 * and -I also in the same text. */
static int take_option(struct run_options *o, int argc, char **argv, int *i)
{
    char *text = argv[*i];
    char *value = NULL;
    const struct option_row *row = NULL;
    size_t n = strcspn(text, "=");

    if (text[1] == 'D' || text[1] == 'I') {
        value = text[2] ? text + 2 : NULL;
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (rows[k].id == (text[1] == 'D' ? DEFINE : FOLDER))
                row = &rows[k];
    } else {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (strlen(rows[k].name) == n && !memcmp(rows[k].name, text, n))
                row = &rows[k];
        value = text[n] ? text + n + 1 : NULL;
    }
    if (!row)
        return usage("run", "no option %s", text);
    if (!row->has_value && value)
        return usage("run", "%s takes no value", row->name);
    if (row->has_value && !value) {
        if (*i + 1 >= argc)
            return usage("run", "%s: its value is missing", text);
        value = argv[++*i];
    }
    return apply(o, row->id, value);
}

int run_options_parse(int argc, char **argv, struct run_options *out)
{
    struct run_options *o = out;
    int options = 1, rc = 0;

    memset(o, 0, sizeof *o);
    o->repeat = 1;
    for (int i = 1; i < argc && !rc; i++) {
        char *text = argv[i];

        if (options && !strcmp(text, "--"))
            options = 0;
        else if (options && text[0] == '-' && text[1])
            rc = take_option(o, argc, argv, &i);
        else if (!o->file)
            o->file = text;
        else if (!o->kernel)
            o->kernel = text;
        else
            rc = add_argument(o, text);
    }
    if (!rc && !o->kernel)
        rc = usage("run", "%s is missing", o->file ? "KERNEL" : "FILE");
    return rc;
}

void run_options_fini(struct run_options *o)
{
    for (size_t i = 0; i < o->argument_count; i++)
        argument_fini(&o->arguments[i]);
    free(o->arguments);
    free(o->jit);
    free((void *)o->defines.items);
    free((void *)o->folders.items);
    free((void *)o->extra.items);
    memset(o, 0, sizeof *o);
}
