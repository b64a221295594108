/* SPDX-License-Identifier: MIT
 *
 * What the loader's test loads: code that needs each kind of section and
 * relocation. Compiled alone, in several code models.
 */
#include <stddef.h>

#include "cpu/exec/abi.h"

void *memcpy(void *to, const void *from, size_t n);
float exp2f(float x);
int unheard_of(int x);

static const char *const words[] = {"zero", "one", "two", "three"};
static int counters[4] = {10, 20, 30, 40};
static int zeros[1000];
void *(*address_of_memcpy)(void *, const void *, size_t) = memcpy;

const char *word(unsigned i)
{
    return words[i & 3];
}

int count(unsigned i)
{
    zeros[i] += counters[i & 3]++;
    return zeros[i];
}

float call_outside(float x, char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    address_of_memcpy(to, from, n);
    return exp2f(x) + 1;
}

int choose(int x)
{
    switch (x) { /* a jump table in .rodata */
    case 0:
        return 7;
    case 1:
        return count(0);
    case 2:
        return 31;
    case 3:
        return (int)(size_t)word(1)[0];
    case 4:
        return 77;
    case 5:
        return 5 * count(1);
    default:
        return -1;
    }
}

void kernel(struct abi_block *block, uint32_t first, uint32_t end)
{
    block->ctaid[0] = first + end;
}

#ifdef WITH_UNDEFINED
int use(int x)
{
    return unheard_of(x) + 1;
}
#endif
#ifdef WITH_THREAD_LOCAL
_Thread_local int mine;
int *where(void)
{
    return &mine;
}
#endif
