/* SPDX-License-Identifier: MIT
 *
 * A driver that is too old is refused, with both versions told. Run with
 * KILN_DRIVER naming the counting driver and FAKE_VERSION=11080.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/api.h"

int main(void)
{
    int count = 7;
    int version = 7;
    cudaError_t e = cudaGetDeviceCount(&count);
    const char *text = cudaGetErrorString(e);

    printf("%s: %s\n", cudaGetErrorName(e), text);
    if (e != cudaErrorInsufficientDriver || count != 0)
        return 1;
    if (!strstr(text, "11.8") || !strstr(text, "12.0"))
        return 1;
    if (cudaDriverGetVersion(&version) || version != 0)
        return 1;
    return 0;
}
