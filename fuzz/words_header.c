/* SPDX-License-Identifier: MIT
 *
 * libFuzzer's mutator for the head of PTX text.
 */
#include <string.h>

#include "fuzz/mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

static const char *const words[] = {
    ".version", ".target",  ".address_size",
    ".entry",   ".visible", ".func",
    ".param",   ".file",    "sm_90",
    "sm_90a",   "sm_100f",  "compute_80",
    "sm_",      "debug",    "texmode_independent",
    "8.0",      "7.8",      "999.999",
    "1000",     "32",       "64",
    ",",        ".",        "\n",
    " ",        "\t",       "//",
    "/*",       "*/",       "\"",
    "\\\"",     "\\",       "(",
    ")",        "{",        "}",
    "[",        "]",        ";",
    "k",        "$x%y",     "_Z1kPf",
    "\x01",     "\x7f",     "\xc3\xa9",
    ".maxntid", ".reqntid", ".align",
    ".b8",      ".u64",     ".ptr",
    "1234567"};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    return mutate_text(data, size, max_size, seed, words,
                       sizeof words / sizeof *words);
}
