/* SPDX-License-Identifier: MIT
 *
 * What the counting driver saw.
 */
#ifndef KILN_TESTS_FAKE_DRIVER_H
#define KILN_TESTS_FAKE_DRIVER_H

struct fake {
    int inits;
    int retains;
    int loads;
    int unloads;
    int launches;
    int device;        /* of the last launch */
    int fail_load;     /* CUresult for the next loads */
    const void *code;  /* of the last load */
    unsigned shape[6]; /* grid, block of the last launch */
    unsigned shared;
    void *stream;
    char variable[16]; /* what "variable" stands for */
};

typedef struct fake *fake_record_fn(void);

#endif
