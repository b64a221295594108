/* SPDX-License-Identifier: MIT
 *
 * From rows of the matrix to files: a container (or raw image) each, and an
 * index with what src/walk predicts for a device.
 *
 *     walk_make sm_90|cpu ROWS UNITS FOLDER
 *
 * FOLDER/index.txt: number | images | switches | prediction of policy driver
 * | of policy best | what each image returns. Words of a row are explained in
 * tests/unit/walk/nvidia-sm90.txt; besides: ,lz4 ,zstd compress, ,shared=N
 * ,const=N ,undefvar are PTX that uses this much or an undefined variable,
 * ,gib=N is a global variable of that many GiB in PTX, and in a cubin (elf:g90)
 * the size of its section alone; ,gibsym=N that of its symbol, ,gibseg=N of its
 * segment, ,giball=N of all three; PTX ,uses reads it, and so does elf:h90.
 * lto:90 is an entry labelled as LTO IR; ,nvvm with its magic, ,real with what
 * nvcc makes. { } { } are containers one behind the other. Switches: README.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "image/fatbin.h"
#include "kiln/image.h"

enum { IMAGES_MAX = 16, SHARED_MOST = 232448, CONST_MOST = 65536 };
#define GIB ((uint64_t)1 << 30)

struct image {
    struct buffer bytes;
    struct fatbin_item item;
    int value;
    int fails; /* CUresult of the compiler for it; 0: it assembles */
    long kind, sm, flags, major, minor; /* to be put into the header; -1 */
    int container;
    uint64_t global_bytes; /* of a variable that is too large for some */
};

struct row {
    char text[1024], images_text[1024], switches[64];
    int number, raw;
    struct image images[IMAGES_MAX];
    size_t count;
    int containers;
    int wrapped, by_library, filled;
    struct kiln_target target;
};

static void die(const char *what, const char *why) __attribute__((noreturn));

static void die(const char *what, const char *why)
{
    fprintf(stderr, "walk_make: %s: %s\n", what, why);
    exit(2);
}

/* The text behind ",key=" (or ",key") in a token, or NULL. */
static const char *modifier(const char *token, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = token; (p = strchr(p, ','));) {
        p++;
        if (!strncmp(p, key, n) && (p[n] == '=' || p[n] == ',' || !p[n]))
            return p[n] == '=' ? p + n + 1 : p + n;
    }
    return NULL;
}

static long number(const char *token, const char *key)
{
    const char *text = modifier(token, key);

    return text ? strtol(text, NULL, 0) : -1;
}

static void ptx_text(struct image *image, const char *token, const char *target,
                     const char *version)
{
    struct buffer *b = &image->bytes;
    long shared = number(token, "shared"), constant = number(token, "const");
    int undef = modifier(token, "undef") != NULL;
    int undefvar = modifier(token, "undefvar") != NULL;
    int uses = modifier(token, "uses") != NULL;
    int bad = modifier(token, "bad") != NULL;
    long gib = number(token, "gib");

    buffer_printf(b, ".version %s\n.target %s\n.address_size 64\n", version,
                  target);
    if (undef)
        buffer_text(b, ".extern .func f0();\n");
    if (undefvar)
        buffer_text(b, ".extern .global .align 4 .u32 g0;\n");
    if (shared > 0)
        buffer_printf(b, ".shared .align 4 .b8 s[%ld];\n", shared);
    if (constant > 0)
        buffer_printf(b, ".const .align 4 .b8 c[%ld];\n", constant);
    if (gib > 0)
        buffer_printf(b, ".visible .global .align 4 .b8 g[%llu];\n",
                      (unsigned long long)gib * GIB);
    buffer_printf(b,
                  ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %%r<4>;\n"
                  ".reg .b64 %%rd<4>;\nld.param.u64 %%rd1, [p];\n"
                  "cvta.to.global.u64 %%rd2, %%rd1;\nmov.u32 %%r1, %d;\n",
                  image->value);
    if (bad)
        buffer_text(b, "mov.u32 %r2 %r1;\n");
    if (undef)
        buffer_text(b, "call.uni f0;\n");
    if (undefvar)
        buffer_text(b, "ld.global.u32 %r2, [g0];\nadd.u32 %r1, %r1, %r2;\n");
    if (uses)
        buffer_text(b, "ld.global.u32 %r2, [g];\nadd.u32 %r1, %r1, %r2;\n");
    if (shared > 0)
        buffer_text(b, "st.shared.u32 [s], %r1;\nld.shared.u32 %r1, [s];\n");
    if (constant > 0)
        buffer_text(b, "ld.const.u32 %r2, [c];\nadd.u32 %r1, %r1, %r2;\n");
    buffer_text(b, "st.global.u32 [%rd2], %r1;\nret;\n}\n");
    if (bad || undef || shared > SHARED_MOST || constant > CONST_MOST)
        image->fails = 218;
    image->global_bytes = gib > 0 ? (uint64_t)gib * GIB : 0;
}

/* An entry labelled as LTO IR. */
static void read_lto(struct image *image, const char *token, const char *units)
{
    char path[4096];
    struct kiln_error err;

    image->item.kind = FATBIN_LTO;
    image->item.major = 1;
    image->item.sm = (uint32_t)atoi(token + 4);
    if (modifier(token, "real")) {
        image->item.minor = 65;
        image->item.options = "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ";
        snprintf(path, sizeof path, "%s/lto90.nvvm", units);
        if (file_read(path, 0, &image->bytes, &err))
            die(path, err.text);
        return;
    }
    if (modifier(token, "nvvm"))
        buffer_text(&image->bytes, "\xed\x43\x4e\x7f");
    buffer_text(&image->bytes, "LTO IR would stand here, were it linked.");
}

enum { GROW_SECTION = 1, GROW_SYMBOL = 2, GROW_SEGMENT = 4 };

/* The one variable of 4096 bytes, of another size. */
static void grow_globals(struct buffer *b, int what, uint64_t size)
{
    Elf64_Ehdr h;
    Elf64_Shdr s;
    Elf64_Sym symbol;
    Elf64_Phdr p;
    int grown = 0;

    memcpy(&h, b->bytes, sizeof h);
    for (unsigned i = 0; i < h.e_shnum; i++) {
        unsigned char *at = b->bytes + h.e_shoff + i * sizeof s;

        memcpy(&s, at, sizeof s);
        for (uint64_t k = 0;
             s.sh_type == SHT_SYMTAB && (k + 1) * sizeof symbol <= s.sh_size;
             k++) {
            unsigned char *entry = b->bytes + s.sh_offset + k * sizeof symbol;

            memcpy(&symbol, entry, sizeof symbol);
            if (what & GROW_SYMBOL && symbol.st_size == 4096) {
                symbol.st_size = size;
                memcpy(entry, &symbol, sizeof symbol);
                grown |= GROW_SYMBOL;
            }
        }
        if (what & GROW_SECTION && s.sh_type == SHT_NOBITS &&
            s.sh_size == 4096) {
            s.sh_size = size;
            memcpy(at, &s, sizeof s);
            grown |= GROW_SECTION;
        }
    }
    for (unsigned i = 0; i < h.e_phnum; i++) {
        unsigned char *at = b->bytes + h.e_phoff + i * sizeof p;

        memcpy(&p, at, sizeof p);
        if (what & GROW_SEGMENT && p.p_memsz == 4096) {
            p.p_memsz = size;
            memcpy(at, &p, sizeof p);
            grown |= GROW_SEGMENT;
        }
    }
    if (grown != what)
        die("gib", "the cubin has no global variables");
}

static void grow(struct image *image, const char *token)
{
    static const struct {
        const char *word;
        int what;
    } words[] = {{"gib", GROW_SECTION},
                 {"gibsym", GROW_SYMBOL},
                 {"gibseg", GROW_SEGMENT},
                 {"giball", GROW_SECTION | GROW_SYMBOL | GROW_SEGMENT}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        long n = number(token, words[i].word);

        if (n <= 0)
            continue;
        grow_globals(&image->bytes, words[i].what, (uint64_t)n * GIB);
        if (words[i].what & GROW_SYMBOL)
            image->global_bytes = (uint64_t)n * GIB;
    }
}

static void read_ptx(struct image *image, const char *token)
{
    char arch[16], version[16], target[32];
    unsigned major, minor;

    if (sscanf(token, "ptx:%15[^:]:%15[0-9.]", arch, version) != 2 ||
        sscanf(version, "%u.%u", &major, &minor) != 2)
        die(token, "ptx:ARCH:VERSION expected");
    snprintf(target, sizeof target, "sm_%s", arch);
    image->item.kind = FATBIN_PTX;
    image->item.major = (uint16_t)major;
    image->item.minor = (uint16_t)minor;
    image->item.sm = (uint32_t)atoi(arch);
    image->item.variant = strchr(arch, 'a') ? 'a' : strchr(arch, 'f') ? 'f' : 0;
    ptx_text(image, token, target, version);
}

static void read_elf(struct image *image, const char *token, const char *units)
{
    char name[16], path[4096];
    struct kiln_error err;

    if (sscanf(token, "elf:%15[a-z0-9]", name) != 1)
        die(token, "elf:NAME expected");
    snprintf(path, sizeof path, "%s/%s.cubin", units, name);
    if (file_read(path, 0, &image->bytes, &err))
        die(path, err.text);
    image->item.kind = FATBIN_ELF;
    image->item.major = 1;
    image->item.minor = 8;
    image->item.sm = (uint32_t)atoi(name + 1);
    image->item.variant = strchr(name + 1, 'a')   ? 'a'
                          : strchr(name + 1, 'f') ? 'f'
                                                  : 0;
    image->item.flags = image->item.sm >= 100 ? FATBIN_COMPAT : 0;
    image->value = (int)image->item.sm +
                   (*name == 'd'                 ? 2000
                    : *name == 'r'               ? 3000
                    : *name == 'm'               ? 4000
                    : *name == 'g'               ? 5000
                    : *name == 'h'               ? 6000
                    : *name == 'i'               ? 7000
                    : *name == 'j'               ? 8000
                    : *name == 'w'               ? 9000
                    : image->item.variant == 'f' ? 1600
                                                 : 1000) +
                   (image->item.variant == 'a' ? 500 : 0);
    image->global_bytes = *name == 'i' || *name == 'j' ? 2 * GIB
                          : *name == 'w'               ? 512 * GIB
                                                       : 0;
}

static void read_image(struct row *row, const char *token, const char *units)
{
    struct image *image = &row->images[row->count++];
    const char *version = modifier(token, "hv");
    long n;

    if (row->count > IMAGES_MAX)
        die(row->text, "too many images");
    image->value = 100 + (int)row->count;
    image->container = row->containers - 1;
    if (!strncmp(token, "ptx:", 4))
        read_ptx(image, token);
    else if (!strncmp(token, "lto:", 4))
        read_lto(image, token, units);
    else
        read_elf(image, token, units);
    if (image->item.kind == FATBIN_ELF)
        grow(image, token);
    n = number(token, "trunc");
    if (n >= 0 && (size_t)n < image->bytes.size) {
        image->bytes.size = (size_t)n;
        if (image->item.kind == FATBIN_PTX)
            image->fails = 218;
    }
    n = number(token, "flip");
    if (n >= 0 && (size_t)n < image->bytes.size)
        image->bytes.bytes[n] ^= 0xff;
    image->kind = number(token, "hk");
    image->sm = number(token, "ha");
    image->flags = number(token, "hf");
    image->major = image->minor = -1;
    if (version)
        sscanf(version, "%ld.%ld", &image->major, &image->minor);
    image->item.packing = modifier(token, "lz4")    ? FATBIN_PACKED_LZ4
                          : modifier(token, "zstd") ? FATBIN_PACKED_ZSTD
                                                    : FATBIN_PLAIN;
    image->item.payload = image->bytes.bytes ? image->bytes.bytes : (void *)"";
    image->item.size = image->bytes.size;
}

static void put16(unsigned char *at, long v)
{
    uint16_t word = (uint16_t)v;

    if (v >= 0)
        memcpy(at, &word, sizeof word);
}

/* The header as the row wants it; flags keep the packing. */
static void relabel(unsigned char *header, const struct image *image)
{
    uint32_t sm = (uint32_t)image->sm;
    uint64_t flags;

    put16(header, image->kind);
    put16(header + 24, image->minor);
    put16(header + 26, image->major);
    if (image->sm >= 0)
        memcpy(header + 28, &sm, sizeof sm);
    if (image->flags >= 0) {
        memcpy(&flags, header + 40, sizeof flags);
        flags = (flags & (FATBIN_LZ4 | FATBIN_ZSTD)) | (uint64_t)image->flags;
        memcpy(header + 40, &flags, sizeof flags);
    }
}

static void build_container(const struct row *row, int container,
                            struct buffer *out)
{
    struct fatbin_item items[IMAGES_MAX];
    const struct image *of[IMAGES_MAX];
    struct buffer one = {0};
    struct fatbin_entry e;
    struct fatbin fatbin;
    struct kiln_error err;
    uint64_t at[IMAGES_MAX] = {0};
    size_t count = 0;
    int more = 1;

    for (size_t i = 0; i < row->count; i++)
        if (row->images[i].container == container) {
            of[count] = &row->images[i];
            items[count++] = row->images[i].item;
        }
    if (fatbin_write(items, count, &one, &err) ||
        fatbin_open(one.bytes, one.size, &fatbin, &err))
        die(row->text, err.text);
    for (size_t i = 0; i < count; i++) {
        if (fatbin_next(&fatbin, &e, &more, &err) || !more)
            die(row->text, err.text);
        at[i] = e.offset;
    }
    for (size_t i = 0; i < count; i++)
        relabel(one.bytes + at[i], of[i]);
    buffer_add(out, one.bytes, one.size);
    buffer_fini(&one);
}

static void build(const struct row *row, struct buffer *out)
{
    if (row->raw)
        buffer_add(out, row->images[0].bytes.bytes, row->images[0].bytes.size);
    for (int i = 0; i < row->containers; i++)
        build_container(row, i, out);
}

static void read_switches(struct row *row)
{
    char copy[64];

    snprintf(copy, sizeof copy, "%s", row->switches);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
        if (!strcmp(w, "force=1"))
            row->target.force_ptx = 1;
        else if (!strcmp(w, "disable=1"))
            row->target.disable_jit = 1;
        else if (!strncmp(w, "target=", 7))
            row->target.jit_for = (unsigned)strtoul(w + 7, NULL, 10);
        else if (!strcmp(w, "fallback=0"))
            row->target.prefer_ptx = 1;
        else if (!strncmp(w, "wrap=", 5))
            row->wrapped = 1;
        else if (!strcmp(w, "lib=1"))
            row->by_library = 1;
        else if (!strcmp(w, "fill=1"))
            row->filled = 1;
}

/* What a driver says of the image that it took, or 0. */
static int fails(const struct row *row, const struct image *image)
{
    if (image->fails)
        return image->fails;
    return image->global_bytes > (row->filled ? GIB : row->target.memory) ? 2
                                                                          : 0;
}

/* "#2", the second image runs, or the CUresult. */
static void predict_driver(const struct row *row, const struct kiln_file *file,
                           char *text, size_t size)
{
    struct kiln_target target = row->target;
    struct kiln_walk *walk;
    struct kiln_error err;
    long chosen;
    int result;

    target.policy = KILN_POLICY_DRIVER;
    if (kiln_walk_new(file, 0, &target, &walk, &err))
        die(row->text, err.text);
    chosen = kiln_walk_chosen(walk);
    result = kiln_status_cuda(kiln_walk_status(walk));
    if (!result)
        result = fails(row, &row->images[chosen]);
    /* Of a wrapper only a library call takes what is in it. */
    if (row->wrapped && !row->by_library)
        result = 200;
    if (result)
        snprintf(text, size, "%d", result);
    else
        snprintf(text, size, "#%ld", chosen + 1);
    kiln_walk_free(walk);
}

/* The best that loads, of the first container that has one; "-" where there
 * is none. */
static void predict_best(const struct row *row, const struct kiln_file *file,
                         char *text, size_t size)
{
    struct kiln_target target = row->target;
    size_t first = 0;

    target.policy = KILN_POLICY_BEST;
    snprintf(text, size, "-");
    for (size_t c = 0; c < kiln_file_container_count(file); c++) {
        struct kiln_walk *walk;
        struct kiln_error err;
        int best = 0;

        if (kiln_walk_new(file, c, &target, &walk, &err))
            die(row->text, err.text);
        for (size_t i = 0; i < kiln_walk_count(walk); i++) {
            struct kiln_verdict v = {.size = sizeof v};

            kiln_walk_verdict(walk, i, &v, NULL);
            if (v.rank && !fails(row, &row->images[first + i]) &&
                (!best || v.rank < best)) {
                best = v.rank;
                snprintf(text, size, "#%zu", first + i + 1);
            }
        }
        first += kiln_walk_count(walk);
        kiln_walk_free(walk);
        if (best)
            return;
    }
}

static void predict(const struct row *row, const struct buffer *image,
                    char driver[16], char best[16])
{
    struct kiln_file *file;
    struct kiln_error err;

    if (kiln_file_open_bytes(row->images_text, image->bytes, image->size, &file,
                             &err)) {
        snprintf(driver, 16, "200");
        snprintf(best, 16, "-");
        return;
    }
    predict_driver(row, file, driver, 16);
    predict_best(row, file, best, 16);
    kiln_file_close(file);
}

static void write_row(const struct row *row, const char *folder, FILE *index)
{
    struct buffer out = {0};
    struct kiln_error err;
    char path[4096], driver[16], best[16];

    build(row, &out);
    predict(row, &out, driver, best);
    snprintf(path, sizeof path, "%s/%d.img", folder, row->number);
    if (file_write(path, out.bytes, out.size, &err))
        die(path, err.text);
    fprintf(index, "%d | %s | %s | %s | %s | ", row->number, row->images_text,
            row->switches, driver, best);
    for (size_t i = 0; i < row->count; i++)
        fprintf(index, "%s%d", i ? "," : "", row->images[i].value);
    fputc('\n', index);
    buffer_fini(&out);
}

static void read_row(struct row *row, char *line, const char *units)
{
    char images[1024], *save = NULL;

    snprintf(row->text, sizeof row->text, "%s", line);
    if (sscanf(line, "%d | %1023[^|] | %63[^|\n]", &row->number, images,
               row->switches) != 3)
        die(line, "number | images | switches expected");
    while (*images && images[strlen(images) - 1] == ' ')
        images[strlen(images) - 1] = '\0';
    while (*row->switches && row->switches[strlen(row->switches) - 1] == ' ')
        row->switches[strlen(row->switches) - 1] = '\0';
    snprintf(row->images_text, sizeof row->images_text, "%s", images);
    row->raw = *images != '{';
    for (char *t = strtok_r(images, " ", &save); t;
         t = strtok_r(NULL, " ", &save))
        if (*t == '{')
            row->containers++;
        else if (*t != '}')
            read_image(row, t, units);
    read_switches(row);
}

/* The CPU device is asked what it is; of a GPU that need not be here it is
 * enough that none has more memory than 256 GiB. */
static struct kiln_target device(const char *name)
{
    struct kiln_target target = {.size = sizeof target,
                                 .kind = KILN_DEVICE_NVIDIA,
                                 .driver_version = 13000,
                                 .memory = 256 * GIB};
    struct kiln_open_options open = {
        .size = sizeof open, .device = "cpu", .no_cache = 1};
    struct kiln *kiln;
    struct kiln_error err;

    if (strcmp(name, "cpu")) {
        target.sm = (unsigned)strtoul(name + 3, NULL, 10);
        return target;
    }
    if (kiln_open(&open, &kiln, &err))
        die(name, err.text);
    kiln_get_target(kiln, &target, NULL);
    kiln_close(kiln);
    return target;
}

int main(int argc, char **argv)
{
    struct kiln_target target;
    char line[1024], path[4096];
    FILE *rows, *index;
    int count = 0;

    if (argc != 5)
        die("usage", "walk_make sm_90|cpu ROWS UNITS FOLDER");
    target = device(argv[1]);
    rows = fopen(argv[2], "r");
    snprintf(path, sizeof path, "%s/index.txt", argv[4]);
    index = fopen(path, "w");
    if (!rows || !index)
        die(rows ? path : argv[2], "cannot be opened");
    while (fgets(line, sizeof line, rows)) {
        static struct row row;

        if (*line == '#' || *line == '\n')
            continue;
        memset(&row, 0, sizeof row);
        row.target = target;
        read_row(&row, line, argv[3]);
        write_row(&row, argv[4], index);
        for (size_t i = 0; i < row.count; i++)
            buffer_fini(&row.images[i].bytes);
        count++;
    }
    fclose(rows);
    if (fclose(index))
        die(path, "cannot be written");
    printf("%d rows\n", count);
    return count ? 0 : 1;
}
