/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "runtime/cudart.h"

const struct abi_number abi_ours[] = {
#define X(name, number, text) {#name, (unsigned long)name},
#include "error.def"
#undef X
    ABI_NUMBERS{NULL, 0}};

int main(void)
{
    int bad = 0;
    int i = 0;

    for (; abi_ours[i].name && abi_toolkit[i].name; i++)
        if (strcmp(abi_ours[i].name, abi_toolkit[i].name) ||
            abi_ours[i].value != abi_toolkit[i].value) {
            printf("%s: %lu here, %lu in the toolkit\n", abi_ours[i].name,
                   abi_ours[i].value, abi_toolkit[i].value);
            bad = 1;
        }
    if (abi_ours[i].name || abi_toolkit[i].name)
        bad = 1;
    printf("%d numbers compared\n", i);
    return bad;
}
