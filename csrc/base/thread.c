#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for pthread_setname_np
#endif

#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>

enum { STACK = 8 << 20 };

static int create(pthread_t *thread, int priority, void *(*function)(void *), void *context) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return error;
  pthread_attr_setstacksize(&attributes, STACK);
  if (priority > 0) {
    const struct sched_param parameter = {.sched_priority = priority};
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameter);
  }
  error = pthread_create(thread, &attributes, function, context);
  pthread_attr_destroy(&attributes);
  return error;
}

int rf_thread_start(pthread_t *thread, int priority, const char *name, void *(*function)(void *),
                    void *context) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t others, before;
  sigfillset(&others);
  for (size_t k = 0; k < sizeof own / sizeof *own; ++k) sigdelset(&others, own[k]);
  int error = pthread_sigmask(SIG_BLOCK, &others, &before);
  if (error) return error;
  error = create(thread, priority, function, context);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
#if defined(__linux__)
  if (!error) (void)pthread_setname_np(*thread, name);
#else
  (void)name;
#endif
  return error;
}
