// Loaded before all else: counts, thread by thread, calls that a real-time thread may not make, and
// has the kernel count each system call of the haptic thread that is not on its list.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 512 };

static _Atomic int used;
static struct {
  _Atomic int tid;
  _Atomic long count;
} slot[THREADS];
static _Thread_local int mine = -1;

static void note(void) {
  if (mine < 0) {
    mine = atomic_fetch_add(&used, 1) % THREADS;
    atomic_store(&slot[mine].tid, (int)syscall(SYS_gettid));
  }
  atomic_fetch_add(&slot[mine].count, 1);
}

// calls of a thread so far
long interposed_count(int tid) {
  for (int k = 0; k < THREADS; ++k)
    if (atomic_load(&slot[k].tid) == tid) return atomic_load(&slot[k].count);
  return 0;
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t n) { return note(), __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return note(), __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return note(), __libc_realloc(p, n); }
void *aligned_alloc(size_t step, size_t n) { return note(), __libc_memalign(step, n); }
void free(void *p) {
  note();
  __libc_free(p);
}

#define WRAP(result, name, parameters, arguments)                    \
  result name parameters {                                           \
    static result(*real) parameters;                                 \
    if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
    note();                                                          \
    return real arguments;                                           \
  }
WRAP(int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
WRAP(int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
WRAP(int, pthread_cond_signal, (pthread_cond_t * c), (c))
WRAP(ssize_t, write, (int file, const void *data, size_t n), (file, data, n))
WRAP(ssize_t, read, (int file, void *data, size_t n), (file, data, n))

// ---- system calls -----------------------------------------------------------------------

enum { CALLS = 1024, NOT_YET = 1 };

static _Atomic long refused[CALLS];  // by number; the last one: any other
static _Atomic int watch_device;     // 0: not watched; 1: without sockets; 2: with them
static _Atomic int watched = NOT_YET;

// the call is not made; what it seems to return is anything
static void count_refused(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  const int number = info->si_syscall;
  atomic_fetch_add(&refused[number >= 0 && number < CALLS ? number : CALLS - 1], 1);
}

// 0, or why not; from then on, and for this thread alone
static int refuse_calls(bool sockets) {
  static const int allowed[] = {SYS_clock_nanosleep, SYS_clock_gettime, SYS_rt_sigreturn, SYS_exit,
                                SYS_recvfrom,        SYS_sendto};
  enum { ALL = sizeof allowed / sizeof *allowed };
  const int n = sockets ? ALL : ALL - 2;
  struct sock_filter code[ALL + 3];
  code[0] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int k = 0; k < n; ++k)
    code[1 + k] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[k],
                                               (unsigned char)(n - k), 0);
  code[1 + n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  code[2 + n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {(unsigned short)(n + 3), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

// The haptic thread is watched from its next sleep on, for good: the process must end while it
// runs.
void interposed_watch(int sockets) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = count_refused;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, NULL);
  atomic_store(&watch_device, sockets ? 2 : 1);
}

// NOT_YET; 0: it is watched; else, negative, why it is not
int interposed_watched(void) { return atomic_load(&watched); }

long interposed_refused(int number) {
  return atomic_load(&refused[number >= 0 && number < CALLS ? number : CALLS - 1]);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *left) {
  static int (*real)(clockid_t, int, const struct timespec *, struct timespec *);
  static _Thread_local bool asked;
  if (!real)
    real = (int (*)(clockid_t, int, const struct timespec *, struct timespec *))dlsym(
        RTLD_NEXT, "clock_nanosleep");
  const int device = atomic_load(&watch_device);
  char name[16] = "";
  if (device && !asked && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "rf-haptic") == 0) {
    asked = true;
    atomic_store(&watched, -refuse_calls(device == 2));
  }
  return real(clock, flags, time, left);
}
