/* Makes a disk hang. While the file $HANGS_WHILE exists, each call that opens or writes a file whose path contains
 * $HANGS waits. A waiting call makes a file "$HANGS_WHILE-NAME", in which NAME is the name of the hanging file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void hang(const char *path) {
    const char *part = getenv("HANGS"), *marker = getenv("HANGS_WHILE");
    if (!part || !marker || !strstr(path, part) || access(marker, F_OK) != 0)
        return;
    char says[4096];
    snprintf(says, sizeof says, "%s-%s", marker, strrchr(path, '/') + 1);
    syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, says, O_CREAT | O_WRONLY, 0600));
    while (access(marker, F_OK) == 0)
        usleep(1000);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        hang(path);
    }
    return syscall(SYS_write, fd, bytes, count);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    va_end(rest);
    hang(path);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
