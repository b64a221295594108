/* SPDX-License-Identifier: MIT
 *
 * Kernels over their time limit, one after the other. A thread of the engine
 * stops them; the next context often lies where the last one did.
 */
#include <string.h>
#include <unistd.h>

#include "fixture.h"

static void endless(struct abi_block *block, uint32_t warp, uint32_t end)
{
    volatile uint32_t *flag = *PARAMS(block, uint32_t *);

    (void)warp;
    (void)end;
    while (!*flag)
        continue;
}

static void each_kernel_over_its_limit_is_stopped(void **state)
{
    uint32_t *flag = device_alloc(4);

    memset(flag, 0, 4);
    for (int i = 0; i < 20; i++) {
        struct fixture *f;

        fixture_setup(state);
        f = *state;
        launch(f->stream, endless, 2, 32, &flag, sizeof flag, 0);
        fails(f->stream, KILN_E_TIMEOUT, "has run for more than 0.02 s");
        fixture_teardown(state);
    }
    device_free(flag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kernel_over_its_limit_is_stopped),
    };

    setenv("KILN_CPU_TIME_LIMIT", "0.02", 1);
    alarm(200); /* a kernel that nobody stops would run for ever */
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
