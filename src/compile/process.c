/* SPDX-License-Identifier: MIT */
#include "compile/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

static int spawn(const char *const *argv, int out, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int rc;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    if (posix_spawn_file_actions_init(&actions))
        return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    /* A group of its own, so that its own children die with it. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                              POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    rc = posix_spawn(child, argv[0], &actions, &attributes,
                     (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Reads until the child closes its end. 0, or -1 past the deadline. */
static int collect(int fd, uint64_t deadline, struct buffer *output)
{
    char chunk[4096];

    for (;;) {
        struct pollfd wait = {fd, POLLIN, 0};
        uint64_t now = clock_ns();
        ssize_t n;

        if (now >= deadline)
            return -1;
        if (poll(&wait, 1, (int)((deadline - now) / 1000000 + 1)) < 1)
            continue;
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        if (output->size < PROCESS_OUTPUT_MAX)
            buffer_add(output, chunk, (size_t)n);
    }
}

enum kiln_status process_run(const char *const *argv, unsigned timeout_ms,
                             struct buffer *output, int *code,
                             struct kiln_error *err)
{
    uint64_t deadline = clock_ns() + (uint64_t)timeout_ms * 1000000;
    int ends[2], status = 0, rc, late;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC))
        return kiln_fail(err, KILN_E_OS, "%s: pipe: %s", argv[0],
                         strerror(errno));
    rc = spawn(argv, ends[1], &child);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        return kiln_fail(err, KILN_E_OS, "%s: cannot be started: %s", argv[0],
                         strerror(rc));
    }
    late = collect(ends[0], deadline, output);
    close(ends[0]);
    if (late)
        kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (late)
        return kiln_fail(err, KILN_E_TIMEOUT, "%s: killed after %u ms", argv[0],
                         timeout_ms);
    if (WIFSIGNALED(status))
        return kiln_fail(err, KILN_E_LAUNCH, "%s: ended by signal %d (%s)",
                         argv[0], WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    *code = WEXITSTATUS(status);
    return KILN_OK;
}
