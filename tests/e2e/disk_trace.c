/* Notes every change a process makes to files under a directory, in order, with what it writes.
 *
 * Preloaded into a process (LD_PRELOAD); DISK_TRACE_DIRECTORY says which files, DISK_TRACE_FILE where
 * the notes go. disk_trace.py reads them and makes up what a power failure could have left. Calls on
 * those files are made one at a time, so that the notes are in the order of what happened.
 *
 * A note is a header (below) followed by the file's name and the data:
 *   C created    W written at an offset    T cut to a length    S synced (also a directory)
 *   F not synced: the call failed    U removed
 *
 * With DISK_TRACE_FAIL_EVERY=N, every Nth sync of a file fails as a broken disk's would, once there is
 * a file called `told`: before that, the process is still making its files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS 4096

struct header {
    uint32_t operation, name_length;
    uint64_t offset, data_length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notes = -1;
static char directory[PATH_MAX];
static char *names[DESCRIPTORS];
static long fail_every, syncs;
static int telling;

static int (*real_open)(const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_close)(int);

__attribute__((constructor)) static void begin(void)
{
    const char *where = getenv("DISK_TRACE_DIRECTORY"), *file = getenv("DISK_TRACE_FILE");
    const char *every = getenv("DISK_TRACE_FAIL_EVERY");

    real_open = dlsym(RTLD_NEXT, "open");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_close = dlsym(RTLD_NEXT, "close");
    fail_every = every == NULL ? 0 : atol(every);
    if (where != NULL && file != NULL) {
        strncpy(directory, where, sizeof directory - 1);
        notes = real_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

static int watched(const char *path)
{
    return notes >= 0 && strncmp(path, directory, strlen(directory)) == 0;
}

static const char *name_of(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS ? names[descriptor] : NULL;
}

static void put(const void *data, size_t length)
{
    while (length > 0) {
        ssize_t done = real_write(notes, data, length);
        if (done <= 0)
            abort(); /* half a trace would prove nothing */
        data = (const char *)data + done;
        length -= (size_t)done;
    }
}

static void note(char operation, const char *name, uint64_t offset, const void *data, size_t length)
{
    struct header header = {(uint32_t)operation, (uint32_t)strlen(name), offset, length};

    put(&header, sizeof header);
    put(name, header.name_length);
    put(data, length);
}

static int opened(const char *path, int flags, mode_t mode)
{
    int descriptor, is_new, kept;

    if (!watched(path))
        return real_open(path, flags, mode);
    pthread_mutex_lock(&lock);
    is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    descriptor = real_open(path, flags, mode);
    kept = errno;
    if (descriptor >= 0 && descriptor < DESCRIPTORS) {
        free(names[descriptor]);
        names[descriptor] = strdup(path);
        telling |= strcmp(path + strlen(path) - 4, "told") == 0;
        if (is_new)
            note('C', path, 0, NULL, 0);
        else if (flags & O_TRUNC)
            note('T', path, 0, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    errno = kept;
    return descriptor;
}

#define OPEN(NAME)                                        \
    int NAME(const char *path, int flags, ...)            \
    {                                                     \
        va_list more;                                     \
        va_start(more, flags);                            \
        mode_t mode = (mode_t)va_arg(more, int);          \
        va_end(more);                                     \
        return opened(path, flags, mode);                 \
    }
OPEN(open)
OPEN(open64)

int close(int descriptor)
{
    if (name_of(descriptor) != NULL) {
        pthread_mutex_lock(&lock);
        free(names[descriptor]);
        names[descriptor] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return real_close(descriptor);
}

/* Makes the call and, if it succeeded, the note. */
#define CALL(RESULT, EXPRESSION, SUCCEEDED, NOTE) \
    do {                                          \
        int kept;                                 \
        pthread_mutex_lock(&lock);                \
        RESULT = EXPRESSION;                      \
        kept = errno;                             \
        if (SUCCEEDED)                            \
            NOTE;                                 \
        pthread_mutex_unlock(&lock);              \
        errno = kept;                             \
    } while (0)

ssize_t write(int descriptor, const void *data, size_t length)
{
    const char *name = name_of(descriptor);
    ssize_t done;

    if (name == NULL)
        return real_write(descriptor, data, length);
    /* Where it went is known afterwards, also for files that are appended to. */
    CALL(done, real_write(descriptor, data, length), done > 0,
         note('W', name, (uint64_t)(lseek(descriptor, 0, SEEK_CUR) - done), data, (size_t)done));
    return done;
}

static ssize_t placed(int descriptor, const void *data, size_t length, off_t offset)
{
    const char *name = name_of(descriptor);
    ssize_t done;

    if (name == NULL)
        return real_pwrite(descriptor, data, length, offset);
    CALL(done, real_pwrite(descriptor, data, length, offset), done > 0,
         note('W', name, (uint64_t)offset, data, (size_t)done));
    return done;
}

ssize_t pwrite(int d, const void *data, size_t length, off_t offset)
{
    return placed(d, data, length, offset);
}

ssize_t pwrite64(int d, const void *data, size_t length, off_t offset)
{
    return placed(d, data, length, offset);
}

static int cut(int descriptor, off_t length)
{
    const char *name = name_of(descriptor);
    int result;

    if (name == NULL)
        return real_ftruncate(descriptor, length);
    CALL(result, real_ftruncate(descriptor, length), result == 0,
         note('T', name, (uint64_t)length, NULL, 0));
    return result;
}

int ftruncate(int descriptor, off_t length)
{
    return cut(descriptor, length);
}

int ftruncate64(int descriptor, off_t length)
{
    return cut(descriptor, length);
}

static int fails(const char *name)
{
    return fail_every > 0 && telling && strcmp(name, directory) != 0 && ++syncs % fail_every == 0;
}

static int synced(int descriptor, int (*sync)(int))
{
    const char *name = name_of(descriptor);
    int result;

    if (name == NULL)
        return sync(descriptor);
    if (fails(name)) {
        CALL(result, -1, 1, note('F', name, 0, NULL, 0));
        errno = EIO;
        return result;
    }
    CALL(result, sync(descriptor), result == 0, note('S', name, 0, NULL, 0));
    return result;
}

int fsync(int descriptor)
{
    return synced(descriptor, real_fsync);
}

int fdatasync(int descriptor)
{
    return synced(descriptor, real_fdatasync);
}

int unlink(const char *path)
{
    int result;

    if (!watched(path))
        return real_unlink(path);
    CALL(result, real_unlink(path), result == 0, note('U', path, 0, NULL, 0));
    return result;
}
