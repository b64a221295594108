/* SPDX-License-Identifier: MIT
 *
 * The limit on size: accounts of the 256 folders in one small file, and the
 * deletion of what was used longest ago. Nobody lists the whole store for
 * it: a call looks at a bounded number of entries, and what it lists it also
 * puts right in the accounts. Losing the accounts costs a few calls until
 * they are right again, nothing else.
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

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum {
    FOLDERS = 256,
    SEEN_MAX = 4096,   /* entries looked at in one call */
    UNKNOWN_MAX = 16,  /* folders whose account one call makes */
    LEFTOVER = 3600,   /* seconds */
    LOCK_TRIES = 20,   /* a millisecond each, for the accounts */
    LOCK_ACCOUNTS = 0, /* byte of the file that is locked for them */
    LOCK_EVICTOR = 1   /* byte locked by the one who deletes */
};

struct record {
    uint64_t bytes;
    uint32_t files;
    uint32_t known;
};

struct usage {
    char magic[8];
    uint64_t sum;
    struct record folder[FOLDERS];
};
_Static_assert(sizeof(struct usage) == 16 + 16 * FOLDERS, "as documented");

static const char usage_magic[8] = {'K', 'I', 'L', 'N', 'U', 'S', 'E', '1'};

struct victim {
    struct timespec used;
    uint64_t charge;
    uint8_t folder;
    char name[HASH_HEX];
};

uint64_t usage_charge(uint64_t size)
{
    return (size + 4095) & ~(uint64_t)4095;
}

static uint64_t sum_of(const struct usage *u)
{
    const unsigned char *p = (const unsigned char *)u->folder;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < sizeof u->folder; i += 8) {
        uint64_t v;

        memcpy(&v, p + i, 8);
        h = (h ^ v) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}

static int lock_byte(int fd, off_t byte, int tries)
{
    struct flock one = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    while (fcntl(fd, F_OFD_SETLK, &one)) {
        struct timespec pause = {0, 1000000};

        if ((errno != EAGAIN && errno != EACCES) || --tries <= 0)
            return -1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void unlock_byte(int fd, off_t byte)
{
    struct flock one = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    fcntl(fd, F_OFD_SETLK, &one);
}

static int usage_open(struct cache *cache)
{
    return openat(cache->root, "usage",
                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* The accounts, under their lock; unknown all, when they make no sense. */
static int usage_load(int fd, struct usage *u)
{
    if (lock_byte(fd, LOCK_ACCOUNTS, LOCK_TRIES))
        return -1;
    if (pread(fd, u, sizeof *u, 0) != sizeof *u ||
        memcmp(u->magic, usage_magic, sizeof usage_magic) ||
        u->sum != sum_of(u))
        memset(u, 0, sizeof *u);
    return 0;
}

static void usage_store(int fd, struct usage *u)
{
    memcpy(u->magic, usage_magic, sizeof usage_magic);
    u->sum = sum_of(u);
    (void)!pwrite(fd, u, sizeof *u, 0);
    unlock_byte(fd, LOCK_ACCOUNTS);
}

static uint64_t total_of(const struct usage *u)
{
    uint64_t total = 0;

    for (int i = 0; i < FOLDERS; i++)
        if (__builtin_add_overflow(total, u->folder[i].bytes, &total))
            return UINT64_MAX;
    return total;
}

static int is_entry(const char *name, int folder)
{
    char start[3];

    snprintf(start, sizeof start, "%02x", (unsigned)folder & 255);
    return strlen(name) == HASH_HEX - 1 && !memcmp(name, start, 2) &&
           strspn(name, "0123456789abcdef") == HASH_HEX - 1;
}

/* List one folder: its true account and, where wanted, its entries. */
static size_t list_folder(struct cache *cache, int folder,
                          struct record *record, struct victim *victims,
                          size_t count)
{
    struct dirent *file;
    char name[3];
    DIR *dir;
    int fd;

    *record = (struct record){.known = 1};
    snprintf(name, sizeof name, "%02x", (unsigned)folder & 255);
    fd = openat(cache->root, name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return count;
    }
    while ((file = readdir(dir))) {
        struct stat info;

        if (!is_entry(file->d_name, folder) ||
            fstatat(fd, file->d_name, &info, AT_SYMLINK_NOFOLLOW))
            continue;
        record->files++;
        record->bytes += usage_charge((uint64_t)info.st_size);
        if (victims && count < SEEN_MAX) {
            struct victim *v = &victims[count++];

            v->used = info.st_mtim;
            v->charge = usage_charge((uint64_t)info.st_size);
            v->folder = (uint8_t)folder;
            memcpy(v->name, file->d_name, HASH_HEX);
        }
    }
    closedir(dir);
    return count;
}

static void change(struct record *r, int64_t bytes, int files)
{
    uint64_t down = bytes < 0 ? (uint64_t)-bytes : 0;

    if (bytes > 0)
        r->bytes += (uint64_t)bytes;
    else
        r->bytes -= down < r->bytes ? down : r->bytes;
    if (files > 0)
        r->files += (uint32_t)files;
    else if (files < 0 && r->files)
        r->files--;
}

void usage_add(struct cache *cache, const struct hash *name, int64_t bytes,
               int files)
{
    int own = name->bytes[0], made = 0;
    size_t seen = 0;
    struct usage u;
    int fd = usage_open(cache);

    if (fd < 0)
        return;
    if (!usage_load(fd, &u)) {
        if (u.folder[own].known)
            change(&u.folder[own], bytes, files);
        /* Our own change is in the listing already when the account of our
         * folder is made here. */
        for (int i = 0; i < FOLDERS; i++) {
            int folder = (own + i) % FOLDERS;

            if (u.folder[folder].known)
                continue;
            if (made++ >= UNKNOWN_MAX || seen > SEEN_MAX)
                break;
            list_folder(cache, folder, &u.folder[folder], NULL, 0);
            seen += u.folder[folder].files;
        }
        usage_store(fd, &u);
    }
    close(fd);
}

/* Old files of tmp/, and lock files that nobody holds. */
static void sweep(struct cache *cache, const char *folder, int locked)
{
    time_t now = time(NULL);
    struct dirent *file;
    struct stat info;
    DIR *dir;
    int fd = openat(cache->root, folder,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (int i = 0; i < SEEN_MAX && (file = readdir(dir)); i++) {
        int held = -1;

        if (file->d_name[0] == '.' ||
            fstatat(fd, file->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(info.st_mode) || now - info.st_mtime < LEFTOVER)
            continue;
        if (locked) {
            held = openat(fd, file->d_name,
                          O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
            if (held < 0)
                continue;
        }
        if (!locked || !lock_byte(held, 0, 1))
            unlinkat(fd, file->d_name, 0);
        if (held >= 0)
            close(held);
    }
    closedir(dir);
}

static int older(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Delete the oldest until `over` bytes are gone. */
static void delete_oldest(struct cache *cache, struct victim *victims,
                          size_t count, uint64_t over,
                          struct record gone[FOLDERS])
{
    uint64_t freed = 0, files = 0;
    char path[STORE_PATH];

    qsort(victims, count, sizeof *victims, older);
    for (size_t i = 0; i < count && freed < over; i++) {
        const struct victim *v = &victims[i];

        snprintf(path, sizeof path, "%.2s/%s", v->name, v->name);
        if (unlinkat(cache->root, path, 0))
            continue;
        gone[v->folder].bytes += v->charge;
        gone[v->folder].files++;
        freed += v->charge;
        files++;
    }
    atomic_fetch_add(&cache->evictions, files);
    log_line(LOG_INFO, "cache: %s: deleted %llu entries, %llu bytes",
             cache->dir, (unsigned long long)files, (unsigned long long)freed);
}

/* By the one evictor: list from a place that moves on, delete, account. */
static void evict(struct cache *cache, int fd, struct victim *victims)
{
    struct record seen[FOLDERS] = {0}, gone[FOLDERS] = {0};
    uint64_t mark = cache->limit - cache->limit / 10, total;
    int start = (int)(clock_ns() / 1000 % FOLDERS);
    size_t count = 0;
    struct usage u;

    for (int i = 0; i < FOLDERS && count < SEEN_MAX; i++) {
        int folder = (start + i) % FOLDERS;

        count = list_folder(cache, folder, &seen[folder], victims, count);
    }
    if (usage_load(fd, &u))
        return;
    for (int i = 0; i < FOLDERS; i++)
        if (seen[i].known)
            u.folder[i] = seen[i];
    total = total_of(&u);
    usage_store(fd, &u);
    if (total <= cache->limit)
        return;
    delete_oldest(cache, victims, count, total - mark, gone);
    if (usage_load(fd, &u))
        return;
    for (int i = 0; i < FOLDERS; i++) {
        change(&u.folder[i], -(int64_t)gone[i].bytes, 0);
        u.folder[i].files -= gone[i].files < u.folder[i].files
                                 ? gone[i].files
                                 : u.folder[i].files;
    }
    usage_store(fd, &u);
}

void store_tidy(struct cache *cache)
{
    struct victim *victims = NULL;
    uint64_t total;
    struct usage u;
    int fd;

    if (!atomic_exchange(&cache->swept, 1)) {
        sweep(cache, "tmp", 0);
        sweep(cache, "flight", 1);
    }
    fd = usage_open(cache);
    if (fd < 0)
        return;
    if (usage_load(fd, &u))
        goto out;
    total = total_of(&u);
    unlock_byte(fd, LOCK_ACCOUNTS);
    if (total <= cache->limit || lock_byte(fd, LOCK_EVICTOR, 1))
        goto out;
    victims = kiln_array(NULL, SEEN_MAX, sizeof *victims);
    if (victims)
        evict(cache, fd, victims);
out:
    kiln_release(victims);
    close(fd);
}
