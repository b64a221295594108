/* SPDX-License-Identifier: MIT
 *
 * One builder a key, across threads and processes: a lock file a key, locked
 * with an open-file-description lock, which the kernel drops when its holder
 * dies. The name of the file tells a waiter how the holder ended: a finished
 * one has removed the name before it lets go, a dead one has not.
 *
 * A child that was forked while the lock was held keeps it alive; that is
 * what the bounds on waiting are for.
 */
#include "cache/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    FIRST_PAUSE_US = 500,
    LAST_PAUSE_US = 20000,
    LOOK_EVERY_MS = 100, /* at the holder's processor time */
    TASKS_MAX = 256
};

static void lock_path(const struct hash *name, char path[STORE_PATH])
{
    char hex[HASH_HEX];

    hash_hex(name, hex);
    snprintf(path, STORE_PATH, "flight/%s", hex);
}

/* 0, or errno: EAGAIN when it is held. */
static int try_lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (!fcntl(fd, F_OFD_SETLK, &whole))
        return 0;
    return errno == EACCES ? EAGAIN : errno;
}

static int has_name(int fd)
{
    struct stat info;

    return !fstat(fd, &info) && info.st_nlink > 0;
}

static void pause_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

/* A small file of /proc as text; its length. */
static size_t proc_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* Clock ticks that a process has used, its ended children's included. */
static uint64_t ticks_of(long pid)
{
    unsigned long long v[4] = {0};
    char path[64], text[1024], *p;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!proc_text(path, text, sizeof text))
        return 0;
    /* The name in parentheses may hold anything: count from its end. */
    p = strrchr(text, ')');
    if (!p || sscanf(p + 1,
                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                     "%llu %llu %llu %llu",
                     &v[0], &v[1], &v[2], &v[3]) != 4)
        return 0;
    return v[0] + v[1] + v[2] + v[3];
}

/* The same with its living children: the compiler may be one of them. */
static uint64_t progress_of(long pid)
{
    uint64_t sum = ticks_of(pid);
    struct dirent *task;
    char path[320], text[1024];
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    tasks = opendir(path);
    for (int i = 0; tasks && i < TASKS_MAX && (task = readdir(tasks)); i++) {
        char *p = text, *end;

        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%s/children", pid,
                 task->d_name);
        proc_text(path, text, sizeof text);
        for (long child; (child = strtol(p, &end, 10)) > 0; p = end)
            sum += ticks_of(child);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static long holder_of(int fd)
{
    char text[32] = {0};

    return pread(fd, text, sizeof text - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

/* Until the lock is ours (0), the name is gone (ENOENT), or patience is at
 * its end (ETIMEDOUT). */
static int wait_for(const struct cache *cache, int fd)
{
    uint64_t start = clock_ns(), moved = start, looked = start;
    uint64_t last = 0;
    long pause = FIRST_PAUSE_US;

    for (;;) {
        uint64_t now;
        int error;

        pause_us(pause);
        pause = pause * 2 < LAST_PAUSE_US ? pause * 2 : LAST_PAUSE_US;
        if (!has_name(fd))
            return ENOENT;
        error = try_lock(fd);
        if (error != EAGAIN)
            return error;
        now = clock_ns();
        if (now - looked >= LOOK_EVERY_MS * 1000000ull) {
            long pid = holder_of(fd);
            uint64_t ticks = pid > 0 ? progress_of(pid) : 0;

            if (ticks != last)
                moved = now;
            last = ticks;
            looked = now;
        }
        if (now - moved >= cache->stall_ms * 1000000ull ||
            now - start >= cache->wait_ms * 1000000ull)
            return ETIMEDOUT;
    }
}

static int open_lock(struct cache *cache, const struct hash *name)
{
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    char path[STORE_PATH];
    int fd;

    lock_path(name, path);
    fd = openat(cache->root, path, flags, 0600);
    if (fd < 0 && errno == ENOENT && !store_make(cache, "flight"))
        fd = openat(cache->root, path, flags, 0600);
    return fd;
}

enum flight_join flight_join(struct cache *cache, struct cache_flight *flight,
                             int *waited)
{
    int fd = open_lock(cache, &flight->name), error;
    char text[32];

    *waited = 0;
    if (fd < 0)
        return FLIGHT_NONE;
    error = try_lock(fd);
    if (error == EAGAIN) {
        *waited = 1;
        error = wait_for(cache, fd);
    }
    if (!error && has_name(fd)) {
        int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

        /* Only for the waiters' patience; a full disk may refuse it. */
        if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n)
            error = 0;
        flight->lock = fd;
        return FLIGHT_LEADER;
    }
    close(fd);
    if (!error || error == ENOENT)
        return FLIGHT_DONE;
    return error == ETIMEDOUT ? FLIGHT_STALLED : FLIGHT_NONE;
}

void flight_end(struct cache_flight *flight)
{
    char path[STORE_PATH];

    if (flight->lock < 0)
        return;
    lock_path(&flight->name, path);
    unlinkat(flight->cache->root, path, 0);
    close(flight->lock);
    flight->lock = -1;
}
