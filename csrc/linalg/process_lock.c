#include "linalg/process_lock.h"

#include <pthread.h>

static pthread_mutex_t locks[RF_LOCK_COUNT] = {PTHREAD_MUTEX_INITIALIZER,
                                               PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;

static void before_fork(void) {
  for (int k = 0; k < RF_LOCK_COUNT; ++k) pthread_mutex_lock(&locks[k]);
}

static void after_fork(void) {
  for (int k = RF_LOCK_COUNT - 1; k >= 0; --k) pthread_mutex_unlock(&locks[k]);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

void rf_process_lock_take(rf_process_lock lock) {
  pthread_once(&forks_watched, watch_forks);
  pthread_mutex_lock(&locks[lock]);
}

void rf_process_lock_give(rf_process_lock lock) { pthread_mutex_unlock(&locks[lock]); }
