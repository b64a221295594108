/* SPDX-License-Identifier: MIT
 *
 * What happened, for a person and for a program.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/json.h"
#include "tool/run.h"

static const char *cache_name(enum kiln_cache_state state)
{
    switch (state) {
    case KILN_CACHE_HIT:
        return "hit";
    case KILN_CACHE_MISS:
        return "miss";
    case KILN_CACHE_WAIT:
        return "wait";
    default:
        return "";
    }
}

static int by_start(const void *a, const void *b)
{
    const struct run_stage *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static size_t sorted(const struct run *run, struct run_stage to[RUN_STAGES])
{
    memcpy(to, run->stages, sizeof run->stages);
    qsort(to, run->stage_count, sizeof *to, by_start);
    return run->stage_count;
}

static double milliseconds(uint64_t ns)
{
    return (double)ns / 1e6;
}

static const char *what(const struct argument *a)
{
    return a->out == OUT_HEAD ? "head" : a->out == OUT_SUM ? "sum" : "file";
}

static void table_outputs(const struct run *run, FILE *to)
{
    for (size_t i = 0; i < run->output_count; i++) {
        const struct run_output *o = &run->outputs[i];
        const struct argument *a = &run->options.arguments[o->argument];

        fprintf(to, "argument %zu %s[%" PRIu64 "] ", o->argument + 1,
                a->type->name, a->count);
        if (a->out == OUT_FILE)
            fprintf(to, "to %s: %" PRIu64 " bytes\n", a->out_file,
                    argument_bytes(a));
        else
            fprintf(to, "%s: %s\n", what(a), o->text);
    }
}

void run_report_table(const struct run *run, FILE *to)
{
    struct kiln_device device = {.size = sizeof device};
    struct kiln_kernel_info info = {.size = sizeof info};
    struct run_stage stages[RUN_STAGES];
    size_t count = sorted(run, stages);

    kiln_get_device(run->kiln, &device, NULL);
    kiln_get_kernel(run->kernel, &info, NULL);
    fprintf(to, "device   %s, %s, capability %d.%d\n",
            device.kind == KILN_DEVICE_CPU ? "cpu" : "nvidia", device.name,
            device.major, device.minor);
    fprintf(to, "kernel   %s, %zu parameters, ", info.symbol,
            info.parameter_count);
    if (info.registers >= 0)
        fprintf(to, "%d registers, ", info.registers);
    fprintf(to, "%d bytes of static shared memory\n\n", info.static_shared);
    fprintf(to, "%-9s%10s  cache\n", "stage", "ms");
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%-9s%10.3f  %-5s%s%s\n", stages[i].name,
                milliseconds(stages[i].duration_ns),
                cache_name(stages[i].cache), *stages[i].text ? "  " : "",
                stages[i].text);
    if (run->repeats) {
        unsigned n = run->options.repeat - 1;

        fprintf(to,
                "repeat   %10.3f  median of %u more launches, least "
                "%.3f\n",
                run->repeats[n / 2], n, run->repeats[0]);
    }
    fputs("\n", to);
    table_outputs(run, to);
}

/* ---- JSON ------------------------------------------------------------- */

static void put_field(FILE *to, const char *name, const char *text)
{
    fprintf(to, "\"%s\": ", name);
    json_string(to, text);
}

static void json_device(const struct run *run, FILE *to)
{
    struct kiln_device d = {.size = sizeof d};

    if (!run->kiln || kiln_get_device(run->kiln, &d, NULL)) {
        fputs("  \"device\": null,\n", to);
        return;
    }
    fputs("  \"device\": {", to);
    put_field(to, "kind", d.kind == KILN_DEVICE_CPU ? "cpu" : "nvidia");
    fprintf(to, ", \"ordinal\": %d, ", d.ordinal);
    put_field(to, "name", d.name);
    fprintf(to, ", \"capability\": \"%d.%d\", ", d.major, d.minor);
    put_field(to, "driver", d.driver_file);
    fprintf(to, ", \"driver_version\": \"%d.%d\", ", d.driver_version / 1000,
            d.driver_version % 1000 / 10);
    put_field(to, "driver_text", d.driver_text);
    fputs("},\n", to);
}

static void json_image(const struct run *run, FILE *to)
{
    if (!run->image) {
        fputs("  \"image\": null,\n", to);
        return;
    }
    fputs("  \"image\": {", to);
    put_field(to, "kind",
              kiln_image_kind(run->image) == KILN_IMAGE_PTX ? "ptx" : "cubin");
    fputs(", ", to);
    put_field(to, "target", kiln_image_target(run->image));
    fputs(", ", to);
    put_field(to, "compiler", kiln_image_compiler(run->image));
    fputs(", ", to);
    put_field(to, "log", kiln_image_log(run->image));
    fputs("},\n", to);
}

static void json_stages(const struct run *run, FILE *to)
{
    struct run_stage stages[RUN_STAGES];
    size_t count = sorted(run, stages);

    fputs("  \"stages\": [", to);
    for (size_t i = 0; i < count; i++) {
        const struct run_stage *s = &stages[i];

        fputs(i ? ",\n    {" : "\n    {", to);
        put_field(to, "name", s->name);
        fprintf(to, ", \"ms\": %.6f", milliseconds(s->duration_ns));
        if (s->cache != KILN_CACHE_NONE) {
            fputs(", ", to);
            put_field(to, "cache", cache_name(s->cache));
        }
        if (*s->text) {
            fputs(", ", to);
            put_field(to, "text", s->text);
        }
        fputc('}', to);
    }
    fputs("],\n", to);
}

static void json_kernel(const struct run *run, FILE *to)
{
    struct kiln_kernel_info info = {.size = sizeof info};

    if (!run->kernel || kiln_get_kernel(run->kernel, &info, NULL)) {
        fputs("  \"kernel\": null,\n", to);
        return;
    }
    fputs("  \"kernel\": {", to);
    put_field(to, "name", run->options.kernel);
    fputs(", ", to);
    put_field(to, "symbol", info.symbol);
    fputs(", \"parameters\": [", to);
    for (size_t i = 0; i < info.parameter_count; i++) {
        struct kiln_parameter p;

        if (kiln_get_parameter(run->kernel, i, &p, NULL))
            break;
        fprintf(to, "%s{\"offset\": %zu, \"size\": %zu, \"pointer\": %s}",
                i ? ", " : "", p.offset, p.size,
                p.pointer == 1   ? "true"
                : p.pointer == 0 ? "false"
                                 : "null");
    }
    fputs("], \"registers\": ", to);
    if (info.registers >= 0)
        fprintf(to, "%d", info.registers);
    else
        fputs("null", to);
    fprintf(to, ", \"static_shared\": %d, \"max_threads\": %d},\n",
            info.static_shared, info.max_threads);
}

/* Values separated by spaces; JSON has no word for those that are no
 * numbers, they become strings. */
static void put_values(FILE *to, const char *text)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        int number = isfinite(strtod(p, NULL));

        fprintf(to, number ? "%s%.*s" : "%s\"%.*s\"", p == text ? "" : ", ",
                (int)n, p);
        p += n;
        p += *p == ' ';
    }
}

static void json_outputs(const struct run *run, FILE *to)
{
    fputs("  \"outputs\": [", to);
    for (size_t i = 0; i < run->output_count; i++) {
        const struct run_output *o = &run->outputs[i];
        const struct argument *a = &run->options.arguments[o->argument];

        fprintf(to,
                "%s\n    {\"argument\": %zu, \"type\": \"%s\", "
                "\"count\": %" PRIu64 ", \"%s\": ",
                i ? "," : "", o->argument + 1, a->type->name, a->count,
                what(a));
        if (a->out == OUT_FILE) {
            json_string(to, a->out_file);
        } else {
            fputs(a->out == OUT_HEAD ? "[" : "", to);
            put_values(to, o->text);
            fputs(a->out == OUT_HEAD ? "]" : "", to);
        }
        fputc('}', to);
    }
    fputs("]", to);
}

void run_report_json(const struct run *run, enum kiln_status status, FILE *to)
{
    fputs("{\n", to);
    fputs("  ", to);
    put_field(to, "file", run->options.file);
    fputs(",\n", to);
    json_device(run, to);
    json_image(run, to);
    json_stages(run, to);
    json_kernel(run, to);
    if (status) {
        fputs("  \"error\": {", to);
        put_field(to, "status", kiln_status_name(status));
        fputs(", ", to);
        put_field(to, "stage", run->step);
        fputs(", ", to);
        put_field(to, "text", run->error.text);
        fputs(", ", to);
        put_field(to, "log", run->kiln ? kiln_log(run->kiln) : "");
        fputs("}\n}\n", to);
        return;
    }
    if (run->repeats)
        fprintf(to,
                "  \"repeat\": {\"launches\": %u, \"least_ms\": %.6f, "
                "\"median_ms\": %.6f},\n",
                run->options.repeat, run->repeats[0],
                run->repeats[(run->options.repeat - 1) / 2]);
    json_outputs(run, to);
    fputs("\n}\n", to);
}
