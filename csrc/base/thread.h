// Threads of sessions: named, with a priority, and without the signals of the program.
#ifndef RF_BASE_THREAD_H
#define RF_BASE_THREAD_H

#include <pthread.h>

// Starts a thread; returns 0 or errno.  priority > 0: real-time, an error if refused.  name: as
// tools show it, of at most 15 characters.
//
// Signals are blocked in it from its beginning, as handlers would delay its cycles; the program's
// threads take them.  Faults of the thread itself are delivered as usual.
int rf_thread_start(pthread_t *thread, int priority, const char *name, void *(*function)(void *),
                    void *context);

#endif
