/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum log_level limit = LOG_WARN;
static log_handler *custom;
static void *custom_data;
static atomic_int warned; /* of a KILN_LOG that is no level */

static const char *const names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

static void emit(enum log_level level, const char *text)
{
    log_handler *handler;
    void *data;

    pthread_mutex_lock(&lock);
    handler = custom;
    data = custom_data;
    pthread_mutex_unlock(&lock);
    if (handler)
        handler(data, level, text);
    else
        fprintf(stderr, "kiln: %s: %s\n", names[level], text);
}

static void read_limit(void)
{
    const char *wanted = env_get("KILN_LOG");
    char text[160];

    if (!wanted)
        return;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(wanted, names[i])) {
            limit = (enum log_level)i;
            return;
        }
    snprintf(text, sizeof text,
             "KILN_LOG=%.60s ignored: error, warn, info or debug expected",
             wanted);
    if (!atomic_load(&warned))
        emit(LOG_WARN, text);
    atomic_store(&warned, 1);
}

int log_level_warned(int already)
{
    if (already)
        atomic_store(&warned, 1);
    pthread_once(&once, read_limit);
    return atomic_load(&warned);
}

int log_wanted(enum log_level level)
{
    pthread_once(&once, read_limit);
    return level <= limit;
}

void log_set_handler(log_handler *handler, void *data)
{
    pthread_mutex_lock(&lock);
    custom = handler;
    custom_data = data;
    pthread_mutex_unlock(&lock);
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (!log_wanted(level))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    emit(level, text);
}
