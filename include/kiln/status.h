/* SPDX-License-Identifier: MIT
 *
 * Everything that can go wrong in Kiln, in one table, and the error that
 * carries it. Compiles as C99, C11 and C++11.
 */
#ifndef KILN_STATUS_H
#define KILN_STATUS_H

/*
 * X(name, CUresult, cudaError_t, text)
 *
 * name      KILN_<name> is the status that code inside Kiln returns.
 * CUresult  what the driver API edge answers for it.
 * cudaError what the runtime API edge answers for it.
 * text      a short fixed text; the sentence with the facts is in kiln_error.
 *
 * The driver's numbers are those that NVIDIA's driver gives for the same
 * input where that was measured.
 */
#define KILN_STATUS_MAP(X)                                                     \
    X(OK, 0, 0, "no error")                                                    \
    X(E_INVALID, 1, 1, "invalid value")                                        \
    X(E_MEMORY, 2, 2, "out of memory")                                         \
    X(E_NOT_INITIALIZED, 3, 3, "not initialized")                              \
    X(E_NO_DRIVER, 100, 35, "no CUDA driver")                                  \
    X(E_NO_DEVICE, 100, 100, "no such device")                                 \
    X(E_INVALID_DEVICE, 101, 101, "invalid device")                            \
    X(E_IMAGE, 200, 200, "not an image")                                       \
    X(E_NO_CONTEXT, 201, 201, "no current context")                            \
    X(E_NO_BINARY, 209, 209, "no image for this device")                       \
    X(E_PTX, 218, 218, "PTX does not assemble")                                \
    X(E_JIT_COMPILER, 221, 221, "no PTX compiler")                             \
    X(E_PTX_VERSION, 222, 222, "PTX newer than the driver")                    \
    X(E_JIT_DISABLED, 223, 223, "JIT compilation disabled")                    \
    X(E_SOURCE, 300, 300, "invalid image source")                              \
    X(E_FILE, 301, 301, "file not found")                                      \
    X(E_SYMBOL, 302, 302, "undefined symbol")                                  \
    X(E_OS, 304, 304, "operating system call failed")                          \
    X(E_HANDLE, 400, 400, "invalid handle")                                    \
    X(E_NOT_FOUND, 500, 500, "name not found")                                 \
    X(E_NOT_READY, 600, 600, "not ready")                                      \
    X(E_ADDRESS, 700, 700, "illegal address")                                  \
    X(E_RESOURCES, 701, 701, "out of launch resources")                        \
    X(E_ASSERT, 710, 710, "device-side assertion")                             \
    X(E_ALIGNMENT, 716, 716, "misaligned address")                             \
    X(E_LAUNCH, 719, 719, "launch failed")                                     \
    X(E_NOT_PERMITTED, 800, 800, "not permitted")                              \
    X(E_NOT_SUPPORTED, 801, 801, "not supported")                              \
    X(E_COMPILE, 999, 999, "source does not compile")                          \
    X(E_NO_COMPILER, 999, 999, "no CUDA C++ compiler")                         \
    X(E_ARGUMENT, 1, 1, "kernel argument does not fit")                        \
    X(E_FORMAT, 200, 200, "malformed data")                                    \
    X(E_TIMEOUT, 702, 702, "time-out")                                         \
    X(E_CACHE, 999, 999, "cache fault")                                        \
    X(E_INTERNAL, 999, 999, "internal fault")                                  \
    X(E_UNKNOWN, 999, 999, "unknown error")

enum kiln_status {
#define KILN_STATUS_ENUM(name, cu, rt, text) KILN_##name,
    KILN_STATUS_MAP(KILN_STATUS_ENUM)
#undef KILN_STATUS_ENUM
        KILN_STATUS_COUNT
};

/* A status with its sentence: subject, place, found, expected. Caller's
 * storage, no allocation; text is always NUL-terminated. */
struct kiln_error {
    enum kiln_status status;
    char text[252];
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

const char *kiln_status_name(enum kiln_status status); /* "KILN_E_PTX" */
const char *kiln_status_text(enum kiln_status status);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
