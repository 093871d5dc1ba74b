// Loaded before all else: calls of the C library fail when a test asks for it, of those that the
// package's core makes; those of Python and of others go through.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HANG = -1000 };

static char name[64];
static _Atomic int after, times, outcome, met;
static atomic_bool armed;

// From the call of that name after so many, so many times: `result` above 0 is the error, 0 to
// -999 how much of what is written is taken, times -1, and HANG waits until nothing is refused.
void refuse(const char *call, int first, int count, int result) {
  atomic_store(&armed, false);
  strncpy(name, call, sizeof name - 1);
  atomic_store(&after, first);
  atomic_store(&times, count);
  atomic_store(&outcome, result);
  atomic_store(&met, 0);
  atomic_store(&armed, true);
}

void refuse_nothing(void) { atomic_store(&armed, false); }

// calls that were
int refused(void) { return atomic_load(&met); }

static bool is_refused(const char *call, void *from) {
  Dl_info object;
  if (!atomic_load(&armed) || strcmp(call, name) != 0) return false;
  if (!dladdr(from, &object) || !strstr(object.dli_fname, "/_core.")) return false;
  if (atomic_fetch_sub(&after, 1) > 0 || atomic_fetch_sub(&times, 1) <= 0) return false;
  atomic_fetch_add(&met, 1);
  const struct timespec millisecond = {0, 1000000};
  while (atomic_load(&outcome) == HANG && atomic_load(&armed)) nanosleep(&millisecond, NULL);
  return atomic_load(&outcome) != HANG;
}

#define REAL(call) ((__typeof__(&call))dlsym(RTLD_NEXT, #call))
#define REFUSED(call) is_refused(#call, __builtin_return_address(0))
// calls that set errno, and those that return an error
#define FAILS(result, call, parameters, arguments)                         \
  result call parameters {                                                 \
    if (REFUSED(call)) return errno = atomic_load(&outcome), (result) - 1; \
    return REAL(call) arguments;                                           \
  }
#define TELLS(call, parameters, arguments)           \
  int call parameters {                              \
    if (REFUSED(call)) return atomic_load(&outcome); \
    return REAL(call) arguments;                     \
  }
// the number of bytes written may be limited
#define TAKES(call, parameters, arguments)                              \
  ssize_t call parameters {                                             \
    const int result = REFUSED(call) ? atomic_load(&outcome) : HANG;    \
    if (result > 0) return errno = result, -1;                          \
    if (result == 0) return 0;                                          \
    if (result != HANG && n > (size_t) - result) n = (size_t) - result; \
    return REAL(call) arguments;                                        \
  }

FAILS(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILS(int, getsockname, (int s, struct sockaddr *restrict to, socklen_t *restrict n), (s, to, n))
FAILS(ssize_t, recv, (int s, void *to, size_t n, int flags), (s, to, n, flags))
FAILS(ssize_t, recvfrom,
      (int s, void *restrict to, size_t n, int flags, struct sockaddr *restrict from,
       socklen_t *restrict length),
      (s, to, n, flags, from, length))
FAILS(int, mlockall, (int flags), (flags))
TAKES(send, (int s, const void *from, size_t n, int flags), (s, from, n, flags))
TAKES(write, (int file, const void *from, size_t n), (file, from, n))
TELLS(pthread_create,
      (pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
       void *(*function)(void *), void *restrict context),
      (thread, attributes, function, context))
TELLS(pthread_attr_init, (pthread_attr_t * attributes), (attributes))
TELLS(pthread_getattr_np, (pthread_t thread, pthread_attr_t *attributes), (thread, attributes))
TELLS(pthread_sigmask, (int how, const sigset_t *restrict set, sigset_t *restrict before),
      (how, set, before))
TELLS(clock_nanosleep,
      (clockid_t clock, int flags, const struct timespec *until, struct timespec *left),
      (clock, flags, until, left))

int fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (REFUSED(fcntl)) return errno = atomic_load(&outcome), -1;
  return REAL(fcntl)(file, command, argument);
}
