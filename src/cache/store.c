/* SPDX-License-Identifier: MIT
 *
 * The folder and its files. Everything is reached through a descriptor of a
 * folder that was checked once: ours, not writable by others, no symbolic
 * link. Names are hex digits that we compute; nothing read from a file
 * becomes a path.
 */
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cache/entry.h"

enum { TOUCH_EVERY = 3600 };

/* One warning a process; later ones are for those who ask for them. */
static _Atomic int warned;

int cache_warned(int by_another)
{
    if (by_another)
        atomic_store(&warned, 1);
    return atomic_load(&warned);
}

void store_complain(const struct cache *cache, const char *what, int error)
{
    enum log_level level = atomic_exchange(&warned, 1) ? LOG_INFO : LOG_WARN;

    log_line(level,
             "cache: %s: %s: %s (errno %d); going on without it. Set "
             "KILN_CACHE_DIR to a folder of yours, or KILN_CACHE_DISABLE=1",
             cache->dir ? cache->dir : "no folder", what, strerror(error),
             error);
}

void store_path(const struct hash *name, char path[STORE_PATH])
{
    char hex[HASH_HEX];

    hash_hex(name, hex);
    snprintf(path, STORE_PATH, "%.2s/%s", hex, hex);
}

int store_make(struct cache *cache, const char *folder)
{
    return mkdirat(cache->root, folder, 0700) && errno != EEXIST ? -1 : 0;
}

/* Missing parents of path, each 0700. */
static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* what is missing shows when it is opened */
        *slash = '/';
    }
}

/* Open a folder that is ours alone to write; make it if it is missing. */
static int open_folder(const struct cache *cache, int at, const char *path)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, path, flags);
    struct stat info;

    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(at, path, 0700) && errno != EEXIST) {
            store_complain(cache, "making the folder", errno);
            return -1;
        }
        fd = openat(at, path, flags);
    }
    if (fd < 0 || fstat(fd, &info)) {
        store_complain(cache,
                       errno == ELOOP || errno == ENOTDIR
                           ? "not a folder, or a symbolic link"
                           : "opening the folder",
                       errno);
    } else if (info.st_uid != geteuid()) {
        store_complain(cache, "belongs to another user", EPERM);
    } else if (info.st_mode & 022) {
        store_complain(cache, "writable by group or others", EPERM);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static void first_look(struct cache *cache)
{
    char *path = NULL;
    int dir = -1;

    if (!cache->dir) {
        store_complain(cache, "no KILN_CACHE_DIR, XDG_CACHE_HOME or HOME",
                       ENOENT);
        goto out;
    }
    path = kiln_strdup(cache->dir);
    if (!path)
        goto out;
    make_parents(path);
    dir = open_folder(cache, AT_FDCWD, path);
    if (dir >= 0)
        cache->root = open_folder(cache, dir, "v1");
out:
    if (dir >= 0)
        close(dir);
    kiln_release(path);
    atomic_store(&cache->state, cache->root >= 0 ? STORE_READY : STORE_OFF);
}

int store_ready(struct cache *cache)
{
    if (atomic_load(&cache->state) == STORE_UNSEEN) {
        pthread_mutex_lock(&cache->lock);
        if (atomic_load(&cache->state) == STORE_UNSEEN)
            first_look(cache);
        pthread_mutex_unlock(&cache->lock);
    }
    return atomic_load(&cache->state) == STORE_READY;
}

int store_set_aside(struct cache *cache, const struct hash *name,
                    uint64_t inode)
{
    char path[STORE_PATH], place[16];
    struct stat info;

    store_path(name, path);
    if (fstatat(cache->root, path, &info, AT_SYMLINK_NOFOLLOW))
        return -1;
    if (inode && info.st_ino != inode)
        return 0; /* another process has healed it already */
    snprintf(place, sizeof place, "bad/%x", name->bytes[0] >> 4);
    if (renameat(cache->root, path, cache->root, place)) {
        if (errno == ENOENT) {
            store_make(cache, "bad");
        } else { /* a folder in the way of a file, or the reverse */
            unlinkat(cache->root, place, 0);
            unlinkat(cache->root, place, AT_REMOVEDIR);
        }
        if (renameat(cache->root, path, cache->root, place))
            return -1;
    }
    usage_add(cache, name, -(int64_t)usage_charge((uint64_t)info.st_size), -1);
    return 0;
}

/* The whole file in private memory. */
static enum store_found load(int fd, const struct stat *info,
                             struct cache_entry *out, struct kiln_error *err)
{
    size_t size = (size_t)info->st_size, got = 0;

    if (!S_ISREG(info->st_mode) || info->st_uid != geteuid()) {
        kiln_fail(err, KILN_E_FORMAT, "not a regular file of this user");
        return STORE_BAD;
    }
    if (info->st_size < ENTRY_HEADER + HASH_SIZE ||
        (uint64_t)info->st_size > ENTRY_LARGEST) {
        kiln_fail(err, KILN_E_FORMAT, "%lld bytes long",
                  (long long)info->st_size);
        return STORE_BAD;
    }
    out->bytes = kiln_alloc(size);
    if (!out->bytes) {
        kiln_fail(err, KILN_E_MEMORY, "out of memory");
        return STORE_FAULT;
    }
    out->size = size;
    while (got < size) {
        ssize_t n = read(fd, out->bytes + got, size - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            kiln_fail(err, KILN_E_CACHE, "reading: %s", strerror(errno));
            return STORE_FAULT;
        }
        if (n == 0) {
            kiln_fail(err, KILN_E_FORMAT, "ended after %zu of %zu bytes", got,
                      size);
            return STORE_BAD;
        }
        got += (size_t)n;
    }
    return STORE_FOUND;
}

static enum store_found check(const struct cache_key *key,
                              const struct cache_entry *entry,
                              struct kiln_error *err)
{
    enum kiln_status st = entry_check(entry->bytes, entry->size, err);
    struct cursor fields;

    if (st)
        return st == KILN_E_FORMAT ? STORE_BAD : STORE_FAULT;
    fields = cache_entry_fields(entry);
    if (cursor_left(&fields) == key->fields.size &&
        !memcmp(fields.at, key->fields.bytes, key->fields.size))
        return STORE_FOUND;
    kiln_fail(err, KILN_E_FORMAT, "it is the entry of another key");
    return STORE_BAD;
}

/* The clock of eviction; nothing depends on it having worked. */
static void touch(int fd, const struct stat *info)
{
    if (time(NULL) - info->st_mtime > TOUCH_EVERY)
        (void)!futimens(fd, NULL);
}

enum store_found store_read(struct cache *cache, const struct hash *name,
                            const struct cache_key *key,
                            struct cache_entry *out, struct kiln_error *err)
{
    struct cache_entry entry = {0};
    enum store_found found;
    char path[STORE_PATH];
    struct stat info = {0};
    int fd;

    store_path(name, path);
    /* NONBLOCK: a FIFO in the place of an entry must not hold us up. */
    fd = openat(cache->root, path,
                O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ESTALE))
        return STORE_ABSENT;
    if (fd < 0 && errno != ELOOP && errno != ENXIO) {
        kiln_fail(err, KILN_E_CACHE, "opening: %s", strerror(errno));
        return STORE_FAULT;
    }
    if (fd < 0) {
        kiln_fail(err, KILN_E_FORMAT, "not a regular file of this user");
        found = STORE_BAD;
    } else if (fstat(fd, &info)) {
        kiln_fail(err, KILN_E_CACHE, "looking at it: %s", strerror(errno));
        found = STORE_FAULT;
    } else {
        found = load(fd, &info, &entry, err);
    }
    if (found == STORE_FOUND)
        found = check(key, &entry, err);
    if (found == STORE_FOUND) {
        touch(fd, &info);
        *out = entry;
    } else {
        cache_entry_fini(&entry);
    }
    if (fd >= 0)
        close(fd);
    if (found == STORE_BAD) {
        int kept = store_set_aside(cache, name, info.st_ino);

        atomic_fetch_add(&cache->bad, 1);
        log_line(LOG_WARN, "cache: %s/v1/%s: %s; %s, building it again",
                 cache->dir, path, err->text,
                 kept ? "cannot be moved" : "set aside");
    }
    return found;
}

/* A file of our own below tmp/, written whole. 0 or errno. */
static int write_temporary(struct cache *cache, const void *bytes, size_t size,
                           char name[STORE_PATH])
{
    static _Atomic unsigned counter;
    const unsigned char *p = bytes;
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    unsigned long long salt = 0;
    int error = 0, fd;

    if (getrandom(&salt, sizeof salt, GRND_NONBLOCK) < 0)
        salt = (unsigned long long)time(NULL);
    snprintf(name, STORE_PATH, "tmp/%ld.%u.%016llx", (long)getpid(),
             atomic_fetch_add(&counter, 1), salt);
    fd = openat(cache->root, name, flags, 0600);
    if (fd < 0 && errno == ENOENT && !store_make(cache, "tmp"))
        fd = openat(cache->root, name, flags, 0600);
    if (fd < 0)
        return errno;
    while (size && !error) {
        ssize_t n = write(fd, p, size);

        if (n > 0) {
            p += n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            error = n ? errno : EIO;
        }
    }
    if (!error && cache->durable && fsync(fd))
        error = errno;
    if (close(fd) && !error)
        error = errno;
    if (error)
        unlinkat(cache->root, name, 0);
    return error;
}

/* Give the temporary file its name without replacing another. 0, EEXIST or
 * errno. */
static int name_it(int root, const char *from, const char *to)
{
    if (!renameat2(root, from, root, to, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (linkat(root, from, root, to, 0))
        return errno;
    unlinkat(root, from, 0);
    return 0;
}

static void sync_folder(struct cache *cache, const char *path)
{
    char folder[3] = {path[0], path[1], 0};
    int fd = openat(cache->root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
}

int store_publish(struct cache *cache, const struct hash *name,
                  const void *bytes, size_t size, int replace)
{
    char temporary[STORE_PATH], path[STORE_PATH], folder[3];
    int64_t charge = (int64_t)usage_charge(size);
    struct stat old;
    int error = write_temporary(cache, bytes, size, temporary), files = 1;

    if (error)
        return error;
    store_path(name, path);
    memcpy(folder, path, 2);
    folder[2] = 0;
    error = name_it(cache->root, temporary, path);
    if (error == ENOENT)
        error = store_make(cache, folder)
                    ? errno
                    : name_it(cache->root, temporary, path);
    if (error == EEXIST && replace) {
        if (!fstatat(cache->root, path, &old, AT_SYMLINK_NOFOLLOW)) {
            charge -= (int64_t)usage_charge((uint64_t)old.st_size);
            files = 0;
        }
        error = renameat(cache->root, temporary, cache->root, path) ? errno : 0;
    }
    if (error)
        unlinkat(cache->root, temporary, 0);
    if (error == EEXIST)
        return 0;
    if (!error) {
        if (cache->durable)
            sync_folder(cache, path);
        usage_add(cache, name, charge, files);
    }
    return error;
}
