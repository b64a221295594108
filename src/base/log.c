/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum log_level limit = LOG_WARN;
static log_handler *custom;
static void *custom_data;

static const char *const names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

static void read_limit(void)
{
    const char *wanted = env_get("KILN_LOG");

    for (unsigned i = 0; wanted && i < sizeof names / sizeof *names; i++)
        if (!strcmp(wanted, names[i]))
            limit = (enum log_level)i;
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
    log_handler *handler;
    void *data;
    va_list args;

    if (!log_wanted(level))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    handler = custom;
    data = custom_data;
    pthread_mutex_unlock(&lock);
    if (handler)
        handler(data, level, text);
    else
        fprintf(stderr, "kiln: %s: %s\n", names[level], text);
}
