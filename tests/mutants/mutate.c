/* SPDX-License-Identifier: MIT
 *
 * A mutant of a number: a seed, and changes of it one after the other. What
 * the parser refuses of them is taken back.
 */
#include "mutants.h"

/* Of one mutant; tries before a change is given up. */
enum { MOST_CHANGES = 12, TRIES = 8, MOST_TEXT = 1 << 18, SHORT = 2000 };

/* Of code six, of flow three, of data two in eleven. */
static change_fn *choose(struct rng *r)
{
    const uint32_t kind = rng_below(r, 11);
    const struct change *items = kind < 6   ? changes_code
                                 : kind < 9 ? changes_flow
                                            : changes_data;
    const size_t count = kind < 6   ? changes_code_count
                         : kind < 9 ? changes_flow_count
                                    : changes_data_count;
    unsigned total = 0;
    uint32_t pick;

    for (size_t i = 0; i < count; i++)
        total += items[i].weight;
    pick = rng_below(r, total);
    while (pick >= items->weight)
        pick -= (items++)->weight;
    return items->apply;
}

/* Functions with a body, the kernel more often than those it calls. */
static struct ptx_func *choose_function(struct ptx_module *m, struct rng *r)
{
    struct ptx_func *found = NULL;
    unsigned total = 0;

    for (size_t i = 0; i < m->func_count; i++) {
        const unsigned weight =
            m->funcs[i]->has_body ? m->funcs[i]->is_entry ? 3 : 1 : 0;

        total += weight;
        if (weight && rng_below(r, total) < weight)
            found = m->funcs[i];
    }
    return found;
}

/* text changed, in *out; 0 when there is nothing to change so. */
static int change(const struct buffer *text, const struct buffer *other,
                  struct rng *r, struct buffer *out)
{
    struct arena arena = {0};
    struct mutant mu = {.arena = &arena, .r = r};
    struct ptx_module *from;
    int done = 0;

    if (!ptx_parse(buffer_str(text), text->size, &arena, &mu.m, NULL, NULL))
        mu.f = choose_function(mu.m, r);
    if (mu.f && rng_below(r, 8) == 0 &&
        !ptx_parse(buffer_str(other), other->size, &arena, &from, NULL, NULL))
        mu.other = from;
    if (mu.f)
        done = choose(r)(&mu);
    if (done)
        ptx_print(mu.m, out);
    arena_fini(&arena);
    return done && !out->bad && out->size < MOST_TEXT;
}

static int is_taken(const struct buffer *text)
{
    struct arena arena = {0};
    struct ptx_module *m;
    const int taken =
        !ptx_parse(buffer_str(text), text->size, &arena, &m, NULL, NULL);

    arena_fini(&arena);
    return taken;
}

/* Each group as often as any other, each seed of a group too, but for long
 * ones: what they take is in proportion to their length, at the least, and
 * they say no more than short ones. */
static const struct seed *choose_seed(const struct seeds *s, struct rng *r)
{
    const struct seed *seed = NULL;

    for (int i = 0; i < 8; i++) {
        const size_t g = rng_below(r, (uint32_t)s->group_count);
        const size_t first = s->groups[g];

        seed = &s->items[first +
                         rng_below(r, (uint32_t)(s->groups[g + 1] - first))];
        if (rng_below(r, (uint32_t)seed->text.size) < SHORT &&
            rng_below(r, (uint32_t)seed->text.size) < SHORT)
            break;
    }
    return seed;
}

unsigned mutant_make(const struct seeds *seeds, uint64_t number,
                     struct buffer *out)
{
    struct rng r = {number * UINT64_C(0x9e3779b97f4a7c15)};
    const struct seed *seed;
    unsigned wanted, done = 0;

    for (int i = 0; i < 4; i++)
        rng_below(&r, 2);
    seed = choose_seed(seeds, &r);
    wanted = 1 + rng_below(&r, 1 + rng_below(&r, MOST_CHANGES));
    out->size = 0;
    buffer_add(out, seed->text.bytes, seed->text.size);
    for (unsigned i = 0; i < wanted; i++) {
        for (int tries = 0; tries < TRIES; tries++) {
            const struct buffer *other = &choose_seed(seeds, &r)->text;
            struct buffer next = {0};

            if (change(out, other, &r, &next) && is_taken(&next)) {
                buffer_fini(out);
                *out = next;
                done++;
                break;
            }
            buffer_fini(&next);
        }
    }
    return done;
}
