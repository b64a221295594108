/* SPDX-License-Identifier: MIT
 *
 * Devices, as processes to ask. One that dies or hangs is started again for
 * the next question.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

enum { HANGS_MS = 120000, DESCRIPTORS = 64 };

static void device_start(struct device *d)
{
    int to[2], from[2];
    pid_t child;

    fflush(stdout);
    if (pipe(to) || pipe(from) || (child = fork()) < 0) {
        fprintf(stderr, "random: cannot start %s: %s\n", d->name,
                strerror(errno));
        exit(2);
    }
    if (!child) {
        for (int fd = 3; fd < 3 + DESCRIPTORS; fd++) /* other devices' */
            if (fd != to[0] && fd != from[1])
                close(fd);
        serve(d->name, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    d->to = to[1];
    d->from = from[0];
    d->process = child;
}

/* Its exit status, or 128 and the signal's number. */
static int end(struct device *d)
{
    int status = 0;

    close(d->to);
    close(d->from);
    waitpid((pid_t)d->process, &status, 0);
    d->process = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void device_stop(struct device *d)
{
    if (d->process)
        end(d);
}

void device_ask(struct device *d, const struct program *p, const char *text,
                int with_image)
{
    struct request q = {.size = (uint32_t)strlen(text),
                        .with_image = with_image,
                        .n = (uint32_t)(p->seed % 97),
                        .start =
                            p->edition == 1 ? IMAGE_START_1 : IMAGE_START_2};
    const char *parts[] = {(const char *)&q, text};
    const size_t sizes[] = {sizeof q, q.size};

    memcpy(q.launches, p->launches, sizeof q.launches);
    if (!d->process)
        device_start(d);
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < sizes[i];) {
            const ssize_t n = write(d->to, parts[i] + at, sizes[i] - at);

            if (n <= 0)
                return; /* the reply will say so */
            at += (size_t)n;
        }
}

/* 0, or -1 at the end, or 1 where nothing came for long. */
static int read_all(int from, void *bytes, size_t size)
{
    char *at = bytes;

    while (size) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        ssize_t n;

        if (poll(&ready, 1, HANGS_MS) == 0)
            return 1;
        n = read(from, at, size);
        if (n <= 0)
            return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

void device_reply(struct device *d, struct reply *r)
{
    int bad = read_all(d->from, r, sizeof *r);

    if (!bad) {
        r->image = NULL;
        if (r->words) {
            r->image = must_alloc(r->words, 4);
            bad = read_all(d->from, r->image, r->words * 4);
        }
    }
    if (!bad && r->outcome != DEVICE_DIED)
        return;
    if (bad) {
        memset(r, 0, sizeof *r);
        r->outcome = bad > 0 ? DEVICE_HANGS : DEVICE_DIED;
    }
    if (bad > 0) {
        snprintf(r->why, sizeof r->why, "no answer in %d s", HANGS_MS / 1000);
        kill((pid_t)d->process, SIGKILL);
    }
    {
        const int status = end(d);

        if (status == 77)
            exit(77); /* a driver without a compiler, which it has said */
        if (bad < 0)
            snprintf(r->why, sizeof r->why, "the process ended: status %d",
                     status);
    }
}
