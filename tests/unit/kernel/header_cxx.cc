/* SPDX-License-Identifier: MIT
 *
 * The public header as a C++11 program sees it.
 */
#include "kiln/kiln.h"

int main(void)
{
    return kiln_version() == 0;
}
