/* SPDX-License-Identifier: MIT
 *
 * Random numbers, and the tree that a program is written into.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

/* splitmix64 */
uint64_t random_bits(struct gen *g)
{
    uint64_t z = (g->state += 0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

unsigned below(struct gen *g, unsigned n)
{
    return (unsigned)(random_bits(g) % n);
}

int chance(struct gen *g, unsigned percent)
{
    return below(g, 100) < percent;
}

void *must_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p) {
        fprintf(stderr, "random: no memory\n");
        exit(2);
    }
    return p;
}

static struct node *node_add(struct gen *g)
{
    struct node *n = must_alloc(1, sizeof *n);

    n->parent = g->at;
    if (!g->at)
        g->program->root = n;
    else if (g->at->last)
        g->at->last = g->at->last->next = n;
    else
        g->at->first = g->at->last = n;
    return n;
}

void tree_say(struct gen *g, const char *text)
{
    struct node *n = node_add(g);
    const size_t size = strlen(text) + 1;

    n->text = must_alloc(size, 1);
    memcpy(n->text, text, size);
}

struct node *part_begin(struct gen *g)
{
    return g->at = node_add(g);
}

struct node *statement_begin(struct gen *g)
{
    struct node *n = part_begin(g);

    n->may_go = 1;
    return n;
}

void statement_end(struct gen *g)
{
    g->at = g->at->parent;
}

void tree_free(struct node *n)
{
    while (n) {
        struct node *next = n->next;

        tree_free(n->first);
        free(n->text);
        free(n);
        n = next;
    }
}
