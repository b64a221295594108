/* SPDX-License-Identifier: MIT
 *
 * kiln explain: which image of a file a device takes, and why each other one
 * is not taken; offline for any device and driver version.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/explain_target.h"
#include "tool/inspect.h"
#include "tool/tool.h"

const char explain_help[] =
    "usage: kiln explain FILE [--device sm_90|cpu|nvidia[:N]] [--driver 12.4]\n"
    "                    [--policy best|driver] [--kernel NAME] [--json]\n"
    "\n"
    "Says, entry by entry, what a load of FILE would take and why it would\n"
    "not take the others, what that costs, and what would help.\n"
    "\n"
    "  --device    sm_NN: a GPU that need not be here. cpu, nvidia[:N]: the\n"
    "              device as it is. Default: an NVIDIA device if one answers,\n"
    "              else cpu\n"
    "  --driver    CUDA version of the driver (of sm_NN: 13.0)\n"
    "  --policy    best: what Kiln loads. driver: what NVIDIA's driver does\n"
    "              with the whole container (measured on sm_90)\n"
    "  --json      the same for programs\n"
    "  --kernel    only containers that define it\n"
    "\n"
    "Honours CUDA_FORCE_PTX_JIT and CUDA_DISABLE_PTX_JIT.\n"
    "Exit status 0 when every load shown would work, 1 when one would not. A\n"
    "container that a program has and never loads (nvcc's device link leaves\n"
    "one without kernels) does not count.\n";

struct explain {
    const char *path, *device, *kernel;
    int driver; /* 12040; 0: not given */
    int json;
    struct kiln_target target;
    struct json out;
    size_t shown, failing;
    int too_old;        /* the driver does not know the device */
    char old[200];      /* said of that */
    int unused;         /* nothing in this container is ever asked for */
    unsigned char *has; /* which entries of the container define the kernel */
};

static int flag(const char *name)
{
    const char *v = getenv(name);

    return v && !strcmp(v, "1");
}

/* Before anything was written. */
static int refuse(struct explain *x, const struct kiln_error *err)
{
    print_plain(stderr, "kiln explain: %s\n", err->text);
    if (x->json) {
        json_begin(&x->out, NULL, '{');
        json_text(&x->out, "file", x->path);
        json_text(&x->out, "error", err->text);
        json_end(&x->out, '}');
        putchar('\n');
    }
    return EXIT_FAILED;
}

static int find_device(struct explain *x)
{
    struct kiln_open_options open = {
        .size = sizeof open, .device = x->device, .no_cache = 1};
    struct kiln_device device = {.size = sizeof device};
    struct kiln *kiln;
    struct kiln_error err;

    if (x->target.sm) {
        x->target.kind = KILN_DEVICE_NVIDIA;
        x->target.driver_version = x->driver ? x->driver : 13000;
        return EXIT_DONE;
    }
    if (kiln_open(&open, &kiln, &err))
        return refuse(x, &err);
    kiln_get_device(kiln, &device, NULL);
    kiln_close(kiln);
    x->target.kind = device.kind;
    x->target.sm = (unsigned)(device.major * 10 + device.minor);
    x->target.driver_version = x->driver ? x->driver : device.driver_version;
    return EXIT_DONE;
}

static int parse(int argc, char **argv, struct explain *x)
{
    int files = 0;

    for (int i = 1; i < argc; i++) {
        const char *v;

        if (!files && !strcmp(argv[i], "--")) {
            files = 1;
        } else if (files) {
            if (x->path)
                return usage("explain", "one FILE expected");
            x->path = argv[i];
        } else if ((v = option_value(argc, argv, &i, "--device"))) {
            int rc = explain_device(v, &x->target.sm);

            if (rc)
                return rc;
            x->device = v;
        } else if ((v = option_value(argc, argv, &i, "--driver"))) {
            if (explain_driver(v, &x->driver))
                return usage("explain", "--driver %s: a version as 12.4", v);
        } else if ((v = option_value(argc, argv, &i, "--policy"))) {
            if (strcmp(v, "best") && strcmp(v, "driver"))
                return usage("explain", "--policy %s: best or driver", v);
            x->target.policy =
                *v == 'd' ? KILN_POLICY_DRIVER : KILN_POLICY_BEST;
        } else if ((v = option_value(argc, argv, &i, "--kernel"))) {
            x->kernel = v;
        } else if (!strcmp(argv[i], "--json")) {
            x->json = 1;
        } else if (*argv[i] == '-' && argv[i][1]) {
            return usage("explain", "%s: no such option, or no value", argv[i]);
        } else if (x->path) {
            return usage("explain", "one FILE expected");
        } else {
            x->path = argv[i];
        }
    }
    return x->path ? 0 : usage("explain", "FILE expected");
}

static int defines(const struct entry_symbols *of, const char *kernel)
{
    for (size_t i = 0; of->symbols && i < kiln_symbols_count(of->symbols);
         i++) {
        struct kiln_symbol s = {.size = sizeof s};

        kiln_symbols_get(of->symbols, i, &s, NULL);
        if (!strcmp(s.name, kernel) || !strcmp(s.text, kernel))
            return 1;
    }
    return 0;
}

/* In a load that works, images for other devices need no help. */
static int wants_help(const struct kiln_verdict *v, enum kiln_status load)
{
    return *v->fix && (load || !strcmp(v->reason, "damaged") ||
                       !strcmp(v->reason, "ptx-too-new"));
}

static void print_verdict(const struct kiln_verdict *v,
                          const struct kiln_entry *e, enum kiln_status load,
                          int unused)
{
    char target[32], version[32], what[80];
    int taken = !strcmp(v->reason, "taken");

    entry_target(e, target, sizeof target);
    entry_version(e, version, sizeof version);
    snprintf(what, sizeof what, "%s %s %s", e->kind_name, version, target);
    printf("  %3u  %-24s ", e->index, what);
    if (unused) {
        puts("no kernels, no variables");
        return;
    }
    if (taken)
        print_plain(stdout, "%s\n", v->text);
    else if (v->rank > 1)
        print_plain(stdout, "number %d in line: %s\n", v->rank, v->text);
    else
        print_plain(stdout, "%s at %s: %s\n", v->rank ? "fails" : "refused",
                    v->stage, v->text);
    if (v->unverified)
        printf("%32s(by NVIDIA's manual, not verified on a device)\n", "");
    if (*v->cost)
        print_plain(stdout, "%32scost: %s\n", "", v->cost);
    if (wants_help(v, load))
        print_plain(stdout, "%32shelp: %s\n", "", v->fix);
}

static void verdict_json(struct json *j, const struct kiln_verdict *v,
                         const struct kiln_entry *e)
{
    char target[32], version[32];

    entry_target(e, target, sizeof target);
    entry_version(e, version, sizeof version);
    json_begin(j, NULL, '{');
    json_number(j, "index", e->index);
    json_text(j, "kind", e->kind_name);
    json_text(j, "target", target);
    json_text(j, "version", version);
    json_signed(j, "rank", v->rank);
    json_text(j, "reason", v->reason);
    json_text(j, "stage", v->stage);
    json_text(j, "text", v->text);
    json_text(j, "cost", v->cost);
    json_text(j, "help", v->fix);
    json_signed(j, "unverified", v->unverified);
    json_end(j, '}');
}

static void begin_container(struct explain *x, const struct kiln_container *c,
                            size_t index)
{
    if (x->json) {
        json_begin(&x->out, NULL, '{');
        json_number(&x->out, "offset", c->offset);
        json_text(&x->out, "section", c->section);
        json_text(&x->out, "member", c->member);
        json_begin(&x->out, "entries", '[');
        return;
    }
    if (c->single)
        return;
    printf("container %zu at 0x%llx", index, (unsigned long long)c->offset);
    if (*c->section)
        print_plain(stdout, ", section %s", c->section);
    if (*c->member)
        print_plain(stdout, ", member %s", c->member);
    fputs(":\n", stdout);
}

static int ends_driver(const struct explain *x, const struct kiln_walk *walk)
{
    return x->target.policy == KILN_POLICY_DRIVER &&
           *kiln_walk_driver_hazard(walk);
}

static void end_container(struct explain *x, const struct kiln_walk *walk)
{
    const char *hazard = kiln_walk_driver_hazard(walk);
    const char *prediction = kiln_walk_prediction(walk);

    if (x->unused)
        prediction = "never loaded: nothing in it can be asked for; nvcc's "
                     "device link leaves it, and the program does not register "
                     "it";
    else if (x->too_old)
        prediction = x->old;
    else if (ends_driver(x, walk))
        prediction = "this load will crash or hang in NVIDIA's driver";
    if (!x->json) {
        print_plain(stdout, "  %s\n", prediction);
        if (*hazard)
            print_plain(stdout,
                        "  NVIDIA's driver, given the whole container, crashes "
                        "or hangs: %s; libkiln refuses to hand it over, and "
                        "with policy best gives the driver one checked image "
                        "alone\n",
                        hazard);
        return;
    }
    json_end(&x->out, ']');
    json_signed(&x->out, "chosen", kiln_walk_chosen(walk));
    json_text(&x->out, "status", kiln_status_name(kiln_walk_status(walk)));
    json_text(&x->out, "text", kiln_walk_text(walk));
    json_text(&x->out, "prediction", prediction);
    json_text(&x->out, "driver_hazard", hazard);
    json_signed(&x->out, "unused", x->unused);
    json_end(&x->out, '}');
}

/* The image that is taken may lack the kernel. Kiln goes on to the next in
 * line that has it, a driver does not. Whether the kernel is found. */
static int kernel_found(const struct explain *x, const struct kiln_walk *walk)
{
    long chosen = kiln_walk_chosen(walk);
    struct kiln_verdict v = {.size = sizeof v};
    int best = 0;

    if (!x->has || kiln_walk_status(walk) || chosen < 0)
        return 1;
    for (size_t i = 0; i < kiln_walk_count(walk); i++) {
        kiln_walk_verdict(walk, i, &v, NULL);
        if (x->has[i] && (long)v.entry == chosen)
            return 1;
        if (x->has[i] && v.rank > 1 && (!best || v.rank < best))
            best = v.rank;
    }
    if (x->target.policy == KILN_POLICY_DRIVER)
        best = 0;
    if (!x->json && best)
        print_plain(
            stdout,
            "  that image has no kernel %s: number %d in line is loaded for "
            "it\n",
            x->kernel, best);
    else if (!x->json)
        print_plain(stdout,
                    "  that image has no kernel %s: it will not be found\n",
                    x->kernel);
    return best > 0;
}

static int explain_container(struct explain *x, const struct kiln_file *file,
                             size_t index)
{
    struct kiln_container c = {.size = sizeof c};
    struct kiln_walk *walk;
    struct kiln_error err;

    kiln_file_container(file, index, &c, NULL);
    if (kiln_walk_new(file, index, &x->target, &walk, &err)) {
        print_plain(stderr, "kiln explain: %s\n", err.text);
        return EXIT_FAILED;
    }
    x->unused = container_unused(file, index);
    begin_container(x, &c, index);
    for (size_t i = 0; i < kiln_walk_count(walk); i++) {
        struct kiln_verdict v = {.size = sizeof v};
        struct kiln_entry e = {.size = sizeof e};
        char text[300];

        kiln_walk_verdict(walk, i, &v, NULL);
        kiln_file_entry(file, v.entry, &e, NULL);
        explain_toolkit(file, &x->target, &v, text, sizeof text);
        if (x->json)
            verdict_json(&x->out, &v, &e);
        else
            print_verdict(&v, &e, kiln_walk_status(walk), x->unused);
    }
    if (*c.damage)
        print_plain(stderr, "kiln explain: container %zu: %s\n", index,
                    c.damage);
    end_container(x, walk);
    x->shown++;
    if (!x->unused)
        x->failing += kiln_walk_status(walk) || x->too_old ||
                      ends_driver(x, walk) || !kernel_found(x, walk) ||
                      (*c.damage && x->target.policy == KILN_POLICY_DRIVER);
    kiln_walk_free(walk);
    return EXIT_DONE;
}

/* Whether one of its entries defines the kernel; each entry is asked. */
static int wanted(struct explain *x, const struct kiln_file *file, size_t index,
                  struct symbol_stream *stream)
{
    struct kiln_container c = {.size = sizeof c};
    unsigned char *larger;
    int found = 0;

    if (!x->kernel)
        return 1;
    kiln_file_container(file, index, &c, NULL);
    larger = realloc(x->has, c.count + 1);
    if (larger)
        x->has = larger;
    for (size_t i = 0; i < c.count; i++) {
        int has = defines(symbols_next(stream), x->kernel);

        found |= has;
        if (larger)
            larger[i] = (unsigned char)has;
    }
    if (!larger) {
        free(x->has);
        x->has = NULL;
    }
    return found;
}

static void heading(struct explain *x, const struct kiln_file *file)
{
    const struct kiln_target *t = &x->target;
    const char *policy = t->policy == KILN_POLICY_DRIVER ? "driver" : "best";

    if (x->json) {
        json_begin(&x->out, NULL, '{');
        json_text(&x->out, "file", x->path);
        json_text(&x->out, "looks", kiln_file_looks(file));
        json_text(&x->out, "device",
                  t->kind == KILN_DEVICE_CPU ? "cpu" : "nvidia");
        json_number(&x->out, "sm", t->sm);
        json_signed(&x->out, "driver", t->driver_version);
        json_text(&x->out, "policy", policy);
        json_signed(&x->out, "driver_knows_device", !x->too_old);
        json_begin(&x->out, "containers", '[');
        return;
    }
    print_plain(stdout, "%s: %s, %llu bytes\n", x->path, kiln_file_looks(file),
                (unsigned long long)kiln_file_size(file));
    printf("device %ssm_%u, driver of CUDA %d.%d, policy %s\n",
           t->kind == KILN_DEVICE_CPU ? "cpu, as " : "", t->sm,
           t->driver_version / 1000, t->driver_version % 1000 / 10, policy);
    if (x->too_old)
        puts("(which devices that driver knows is by NVIDIA's manual, not "
             "verified)");
    if (t->force_ptx || t->disable_jit)
        printf("set in the environment:%s%s\n",
               t->force_ptx ? " CUDA_FORCE_PTX_JIT" : "",
               t->disable_jit ? " CUDA_DISABLE_PTX_JIT" : "");
    if (t->policy == KILN_POLICY_DRIVER && t->kind == KILN_DEVICE_NVIDIA &&
        t->sm != 90)
        puts("(what the driver does was measured on sm_90 with driver 580; for "
             "other devices it is by NVIDIA's manual, not verified)");
}

static int explain_file(struct explain *x, const struct kiln_file *file)
{
    struct symbol_stream *stream = x->kernel ? symbols_start(file) : NULL;
    int rc = EXIT_DONE;

    if (x->kernel && !stream) {
        print_plain(stderr, "kiln explain: %s: no memory for its kernels\n",
                    x->path);
        return EXIT_FAILED;
    }

    heading(x, file);
    for (size_t i = 0; !rc && i < kiln_file_container_count(file); i++)
        if (wanted(x, file, i, stream))
            rc = explain_container(x, file, i);
    if (x->json)
        puts("]}");
    symbols_end(stream);
    free(x->has);
    if (!rc && !x->shown) {
        print_plain(stderr,
                    "kiln explain: %s: no container with a kernel %s "
                    "(kiln inspect --kernels)\n",
                    x->path, x->kernel ? x->kernel : "");
        rc = EXIT_FAILED;
    }
    return rc || x->failing ? EXIT_FAILED : EXIT_DONE;
}

int explain_main(int argc, char **argv)
{
    struct explain x = {.target = {.size = sizeof x.target}, .out.to = stdout};
    struct kiln_file *file;
    struct kiln_error err;
    int rc = parse(argc, argv, &x);

    if (rc)
        return rc;
    x.target.force_ptx = flag("CUDA_FORCE_PTX_JIT");
    x.target.disable_jit = flag("CUDA_DISABLE_PTX_JIT");
    if (kiln_file_open(x.path, &file, &err))
        return refuse(&x, &err);
    for (size_t i = 0; i < kiln_file_note_count(file); i++)
        print_plain(stderr, "kiln explain: %s: %s; searched all the same\n",
                    x.path, kiln_file_note(file, i));
    rc = find_device(&x);
    if (!rc) {
        x.too_old = explain_too_old(&x.target, x.old, sizeof x.old);
        rc = explain_file(&x, file);
    }
    kiln_file_close(file);
    return rc;
}
