/* SPDX-License-Identifier: MIT
 *
 * Kernels and variables of an entry, as they are shown.
 */
#include <string.h>

#include "tool/inspect.h"
#include "tool/tool.h"

static void print_kernel(const struct kiln_symbols *symbols, size_t index,
                         FILE *to)
{
    struct kiln_symbol s = {.size = sizeof s};
    const char *mark = ";";

    kiln_symbols_get(symbols, index, &s, NULL);
    fputs("         ", to);
    put_plain(to, s.text);
    if (strcmp(s.text, s.name)) {
        fputs(" [", to);
        put_plain(to, s.name);
        fputc(']', to);
    }
    fprintf(to, "\n             %zu parameters, %d bytes:", s.parameter_count,
            s.parameter_bytes);
    for (size_t i = 0; i < s.parameter_count; i++) {
        struct kiln_parameter p;

        if (!kiln_symbols_parameter(symbols, index, i, &p, NULL))
            fprintf(to, " %zu+%zu%s", p.offset, p.size,
                    p.pointer == 1   ? "*"
                    : p.pointer == 0 ? ""
                                     : "?");
    }
    if (s.registers >= 0) {
        fprintf(to, "%s %d registers", mark, s.registers);
        mark = ",";
    }
    if (s.static_shared >= 0) {
        fprintf(to, "%s shared %d, local %d", mark, s.static_shared,
                s.local_bytes);
        mark = ",";
    }
    if (s.max_threads)
        fprintf(to, "%s at most %d threads", mark, s.max_threads);
    fputc('\n', to);
}

void symbols_print(const struct entry_symbols *of, FILE *to)
{
    if (!of->symbols) {
        fputs("         ", to);
        put_plain(to, of->error.text);
        fputc('\n', to);
        return;
    }
    if (*kiln_symbols_damage(of->symbols)) {
        fputs("         damaged: ", to);
        put_plain(to, kiln_symbols_damage(of->symbols));
        fputc('\n', to);
    }
    if (kiln_symbols_toolkit(of->symbols))
        fprintf(to, "         made by CUDA %d.%d\n",
                kiln_symbols_toolkit(of->symbols) / 100,
                kiln_symbols_toolkit(of->symbols) % 100 / 10);
    for (size_t i = 0; i < kiln_symbols_count(of->symbols); i++)
        print_kernel(of->symbols, i, to);
    for (size_t i = 0; i < kiln_symbols_variable_count(of->symbols); i++) {
        struct kiln_variable v = {.size = sizeof v};

        kiln_symbols_variable(of->symbols, i, &v, NULL);
        fprintf(to, "         %s ", v.constant ? "constant" : "global");
        put_plain(to, v.name);
        fprintf(to, ", %llu bytes\n", (unsigned long long)v.bytes);
    }
}

static void kernel_json(const struct kiln_symbols *symbols, size_t index,
                        struct json *j)
{
    struct kiln_symbol s = {.size = sizeof s};

    kiln_symbols_get(symbols, index, &s, NULL);
    json_begin(j, NULL, '{');
    json_text(j, "name", s.name);
    json_text(j, "text", s.text);
    json_begin(j, "parameters", '[');
    for (size_t i = 0; i < s.parameter_count; i++) {
        struct kiln_parameter p;

        if (kiln_symbols_parameter(symbols, index, i, &p, NULL))
            continue;
        json_begin(j, NULL, '{');
        json_number(j, "offset", p.offset);
        json_number(j, "size", p.size);
        json_text(j, "pointer",
                  p.pointer == 1   ? "yes"
                  : p.pointer == 0 ? "no"
                                   : "unknown");
        json_end(j, '}');
    }
    json_end(j, ']');
    json_signed(j, "parameter_bytes", s.parameter_bytes);
    json_signed(j, "registers", s.registers);
    json_signed(j, "static_shared", s.static_shared);
    json_signed(j, "local_bytes", s.local_bytes);
    json_signed(j, "max_threads", s.max_threads);
    json_end(j, '}');
}

void symbols_json(const struct entry_symbols *of, struct json *j)
{
    if (!of->symbols) {
        json_text(j, "error", of->error.text);
        return;
    }
    if (*kiln_symbols_damage(of->symbols))
        json_text(j, "damage", kiln_symbols_damage(of->symbols));
    json_signed(j, "toolkit", kiln_symbols_toolkit(of->symbols));
    json_begin(j, "kernels", '[');
    for (size_t i = 0; i < kiln_symbols_count(of->symbols); i++)
        kernel_json(of->symbols, i, j);
    json_end(j, ']');
    json_begin(j, "variables", '[');
    for (size_t i = 0; i < kiln_symbols_variable_count(of->symbols); i++) {
        struct kiln_variable v = {.size = sizeof v};

        kiln_symbols_variable(of->symbols, i, &v, NULL);
        json_begin(j, NULL, '{');
        json_text(j, "name", v.name);
        json_number(j, "bytes", v.bytes);
        json_text(j, "space", v.constant ? "constant" : "global");
        json_end(j, '}');
    }
    json_end(j, ']');
}
