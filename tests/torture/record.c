/* Records what a process writes into files of one folder, and what it waits for the disk to take.

   Loaded with LD_PRELOAD. EVALSITE_TEST_RECORD_FOLDER: the folder; EVALSITE_TEST_RECORD: the record, which
   grows by one entry for each call, in order:  W name offset length\n bytes, T name length\n (the
   file is cut or filled up to this length), B name number\n and S name number\n (from B to S it waited
   for the disk, which then has all that was written to the file before B). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FILES 4096
#define LONGEST_NAME 128

static char names[MOST_FILES][LONGEST_NAME];
static int record = -1;

static void note(int fd, const char *path)
{
    const char *folder = getenv("EVALSITE_TEST_RECORD_FOLDER");
    if (fd < 0 || fd >= MOST_FILES)
        return;
    names[fd][0] = 0;
    if (!folder || !path || strncmp(path, folder, strlen(folder)) != 0)
        return;
    path += strlen(folder);
    while (*path == '/')
        path++;
    if (strlen(path) < LONGEST_NAME)
        strcpy(names[fd], path);
}

static int is_recorded(int fd)
{
    return fd >= 0 && fd < MOST_FILES && names[fd][0];
}

static void add(const char *head, const void *bytes, size_t length)
{
    static int (*real_open)(const char *, int, ...);
    struct iovec parts[2] = {{(void *)head, strlen(head)}, {(void *)bytes, length}};
    if (record < 0) {
        if (!real_open)
            real_open = dlsym(RTLD_NEXT, "open64");
        record = real_open(getenv("EVALSITE_TEST_RECORD"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    /* one call, so that entries of several processes never mix */
    if (writev(record, parts, length ? 2 : 1) < 0)
        abort();
}

static void add_write(int fd, const void *bytes, size_t length, off64_t offset)
{
    char head[LONGEST_NAME + 64];
    if (!is_recorded(fd))
        return;
    snprintf(head, sizeof head, "W %s %lld %zu\n", names[fd], (long long)offset, length);
    add(head, bytes, length);
}

#define OPEN(name)                                                   \
    int name(const char *path, int flags, ...)                       \
    {                                                                \
        static int (*real)(const char *, int, ...);                  \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        int mode = (flags & O_CREAT) ? va_arg(rest, int) : 0;        \
        va_end(rest);                                                \
        if (!real)                                                   \
            real = dlsym(RTLD_NEXT, #name);                          \
        int fd = real(path, flags, mode);                            \
        note(fd, path);                                              \
        return fd;                                                   \
    }
OPEN(open)
OPEN(open64)

int close(int fd)
{
    static int (*real)(int);
    if (!real)
        real = dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd < MOST_FILES)
        names[fd][0] = 0;
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "write");
    if (is_recorded(fd))
        add_write(fd, bytes, length, lseek64(fd, 0, SEEK_CUR));
    return real(fd, bytes, length);
}

#define PWRITE(name, type)                                                   \
    ssize_t name(int fd, const void *bytes, size_t length, type offset)      \
    {                                                                        \
        static ssize_t (*real)(int, const void *, size_t, type);             \
        if (!real)                                                           \
            real = dlsym(RTLD_NEXT, #name);                                  \
        add_write(fd, bytes, length, offset);                                \
        return real(fd, bytes, length, offset);                              \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, type)                                                       \
    int name(int fd, type length)                                                  \
    {                                                                              \
        static int (*real)(int, type);                                             \
        char head[LONGEST_NAME + 64];                                              \
        if (!real)                                                                 \
            real = dlsym(RTLD_NEXT, #name);                                        \
        if (is_recorded(fd)) {                                                     \
            snprintf(head, sizeof head, "T %s %lld\n", names[fd], (long long)length); \
            add(head, NULL, 0);                                                    \
        }                                                                          \
        return real(fd, length);                                                   \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

/* what is written while the disk works is not promised, so begin and end are noted */
#define SYNC(name)                                                                   \
    int name(int fd)                                                                 \
    {                                                                                \
        static int (*real)(int);                                                     \
        static int number;                                                           \
        char begin[LONGEST_NAME + 64], end[LONGEST_NAME + 64];                       \
        if (!real)                                                                   \
            real = dlsym(RTLD_NEXT, #name);                                          \
        if (!is_recorded(fd))                                                        \
            return real(fd);                                                         \
        int own = __sync_add_and_fetch(&number, 1);                                  \
        snprintf(begin, sizeof begin, "B %s %d-%d-" #name "\n", names[fd], getpid(), own); \
        snprintf(end, sizeof end, "S %s %d-%d-" #name "\n", names[fd], getpid(), own);     \
        add(begin, NULL, 0);                                                         \
        int answer = real(fd);                                                       \
        if (answer == 0)                                                             \
            add(end, NULL, 0);                                                       \
        return answer;                                                               \
    }
SYNC(fsync)
SYNC(fdatasync)
