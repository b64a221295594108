/* SPDX-License-Identifier: MIT
 *
 * Handles: what programs hold in the place of pointers to our objects. A
 * handle is the address of a slot in a fixed table, so that any value a
 * program passes, dead or invented, is recognised without touching memory
 * that is not ours.
 */
#ifndef KILN_CPU_API_HANDLE_H
#define KILN_CPU_API_HANDLE_H

enum handle_kind {
    HANDLE_NONE,
    HANDLE_CONTEXT,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_LIBRARY,
    HANDLE_KERNEL,
    HANDLE_LINK,
    HANDLE_POOL,
    HANDLE_ARRAY
};

/* A new handle for the object, or NULL when all are in use. */
void *handle_new(enum handle_kind kind, void *object);
/* The object, or NULL: not a handle, of another kind, or freed. */
void *handle_get(const void *handle, enum handle_kind kind);
/* Whether it is a live handle of the kind, even one with a NULL object. */
int handle_is(const void *handle, enum handle_kind kind);
/* Give a live handle another object; NULL makes handle_get fail. */
void handle_set(void *handle, void *object);
/* Accepts NULL. Slots are used again as late as possible. */
void handle_free(void *handle);

#endif
