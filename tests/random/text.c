/* SPDX-License-Identifier: MIT
 *
 * Lines of PTX with choices and operands left to chance. They are drawn here,
 * in the order of the text, and never in the arguments of a call, whose order
 * is the compiler's: the same seed must give the same program everywhere.
 *
 *     {a|b}   one of these
 *     $r      an operand of that kind (gen.h); $=r a register of it; $u one
 *             that is the same in the whole block
 *     $c      an amount of a shift; $i 0 to 255; $k -3 to 3
 *     $P      a predicate or its opposite; $G a guard, or nothing
 *     #r0     a new register of a kind, the same for the same number
 *     @       the result, in lines of ops.def
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

enum { LINES = 1024, NEW = 8 };

/* A text that grows at its end. */
struct line {
    char text[LINES];
    size_t size;
};

static void add(struct line *l, const char *text, size_t size)
{
    if (l->size + size >= sizeof l->text) {
        fprintf(stderr, "random: a line is too long: %s\n", l->text);
        exit(2);
    }
    memcpy(l->text + l->size, text, size);
    l->size += size;
    l->text[l->size] = 0;
}

static void add_text(struct line *l, const char *text)
{
    add(l, text, strlen(text));
}

/* These first, so that nothing is drawn for a choice that is not taken. Braces
 * of vectors hold no bar. */
static void choose(struct gen *g, const char *from, struct line *to)
{
    to->size = 0;
    to->text[0] = 0;
    while (*from) {
        const char *end = *from == '{' ? strchr(from, '}') : NULL;
        unsigned count = 1, taken;

        if (!end || !memchr(from, '|', (size_t)(end - from))) {
            add(to, from++, 1);
            continue;
        }
        for (const char *c = from; c < end; c++)
            count += *c == '|';
        taken = below(g, count);
        for (from++; taken; from++)
            taken -= *from == '|';
        add(to, from, strcspn(from, "|}"));
        from = end + 1;
    }
}

static void put_operand(struct gen *g, char kind, struct line *to)
{
    char number[16];

    switch (kind) {
    case 'c':
        if (chance(g, 40)) {
            add_text(to, variable(g, 'r'));
        } else {
            const unsigned most = chance(g, 80) ? 32 : 70;

            snprintf(number, sizeof number, "%u", below(g, most));
            add_text(to, number);
        }
        break;
    case 'i':
        snprintf(number, sizeof number, "%u", below(g, 256));
        add_text(to, number);
        break;
    case 'k':
        snprintf(number, sizeof number, "%d", (int)below(g, 7) - 3);
        add_text(to, number);
        break;
    case 'u':
        add_text(to, uniform_operand(g));
        break;
    case 'P':
        add_text(to, predicate(g));
        break;
    case 'G':
        add_text(to, guard(g));
        break;
    default:
        add_text(to, operand(g, kind));
    }
}

/* `result`: what @ is; NULL where @ is only a guard's. */
static void put(struct gen *g, const char *from, const char *result,
                struct line *to)
{
    int numbers[128][NEW];

    memset(numbers, -1, sizeof numbers);
    to->size = 0;
    to->text[0] = 0;
    for (; *from; from++) {
        if (*from == '@' && result) {
            add_text(to, result);
        } else if (*from == '$' && from[1] == '=') {
            from += 2;
            add_text(to, variable(g, *from));
        } else if (*from == '$') {
            put_operand(g, *++from, to);
        } else if (*from == '#') {
            int *number =
                &numbers[(unsigned char)from[1] & 127][(from[2] - '0') % NEW];
            char name[24];

            if (*number < 0)
                *number = g->temps++;
            snprintf(name, sizeof name, "%%t%c%d", from[1], *number);
            add_text(to, name);
            from += 2;
        } else {
            add(to, from, 1);
        }
    }
}

void say(struct gen *g, const char *format, ...)
{
    struct line chosen, line;
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (!text) {
        fprintf(stderr, "random: no memory\n");
        exit(2);
    }
    choose(g, text, &chosen);
    put(g, chosen.text, NULL, &line);
    free(text);
    tree_say(g, line.text);
}

/* The last of the lines, which alone writes the result, may get a guard. */
void say_operation(struct gen *g, const char *text, const char *result,
                   int guarded)
{
    struct line chosen, whole, line;
    const char *last;

    choose(g, text, &chosen);
    last = strrchr(chosen.text, '\n');
    last = last ? last + 1 : chosen.text;
    whole.size = 0;
    whole.text[0] = 0;
    add(&whole, chosen.text, (size_t)(last - chosen.text));
    if (guarded)
        add_text(&whole, "$G");
    add_text(&whole, last);
    put(g, whole.text, result, &line);
    tree_say(g, line.text);
}
