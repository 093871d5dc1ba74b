#define _GNU_SOURCE  // RTLD_DEFAULT, dladdr
#include "linalg/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "linalg/process_lock.h"
#include "linalg/simd.h"
#if RF_SIMD_X86
#include <cpuid.h>
#endif

// Names of the BLAS begin with it, as those of the OpenBLAS of a wheel; setup.py sets it.
#ifndef RF_BLAS_PREFIX
#define RF_BLAS_PREFIX ""
#endif

// OpenBLAS calls are looked up, not linked: another BLAS (reference, MKL, BLIS)
// has none of them and the package still works with it.
typedef char *(*text_fn)(void);
typedef int (*get_int_fn)(void);
typedef void (*set_int_fn)(int);
typedef void (*void_fn)(void);

#define FIND(name) dlsym(RTLD_DEFAULT, RF_BLAS_PREFIX name)

// ISO C forbids casting an object pointer to a function pointer; POSIX requires it to work
#define FIND_FUNCTION(variable, name)               \
  do {                                              \
    void *found_ = FIND(name);                      \
    memcpy(&(variable), &found_, sizeof(variable)); \
  } while (0)

// guarded by RF_LOCK_BLAS_THREADS
static int serial_depth;
static int threads_before;
static pid_t counted_in;  // process in which serial_depth was counted

static _Thread_local int own_depth;  // share of this thread in serial_depth

// A forked child has one thread only: sections that other threads of its parent had begun have
// ended.
static void forget_lost_threads(set_int_fn set) {
  const pid_t here = getpid();
  if (counted_in == here) return;
  counted_in = here;
  if (serial_depth > own_depth && own_depth == 0) set(threads_before);
  serial_depth = own_depth;
}

void rf_blas_serial_begin(void) {
  get_int_fn get = NULL;
  set_int_fn set = NULL;
  FIND_FUNCTION(get, "openblas_get_num_threads");
  FIND_FUNCTION(set, "openblas_set_num_threads");
  if (!get || !set) return;
  rf_process_lock_take(RF_LOCK_BLAS_THREADS);
  forget_lost_threads(set);
  ++own_depth;
  if (serial_depth++ == 0) {
    threads_before = get();
    set(1);
  }
  rf_process_lock_give(RF_LOCK_BLAS_THREADS);
}

void rf_blas_serial_end(void) {
  get_int_fn get = NULL;
  set_int_fn set = NULL;
  FIND_FUNCTION(get, "openblas_get_num_threads");
  FIND_FUNCTION(set, "openblas_set_num_threads");
  if (!get || !set) return;
  rf_process_lock_take(RF_LOCK_BLAS_THREADS);
  forget_lost_threads(set);
  --own_depth;
  // a count set by other code meanwhile is kept
  if (--serial_depth == 0 && get() == 1) set(threads_before);
  rf_process_lock_give(RF_LOCK_BLAS_THREADS);
}

// Returns the OpenBLAS family that fits the instruction sets of this processor.
static const char *deserved_family(void) {
#if RF_SIMD_X86
  if (rf_simd_available(RF_SIMD_AVX512)) return "SkylakeX";
  unsigned a, b, c, d;
  if (rf_simd_available(RF_SIMD_AVX2) && __get_cpuid(0, &a, &b, &c, &d))
    return b == signature_AMD_ebx ? "Zen" : "Haswell";
#endif
  return "";
}

// Widest vectors used by kernels; matrix products take 1.3 to 2.5 times as long with the next
// narrower ones.
typedef enum vectors {
  VECTORS_UNKNOWN,
  VECTORS_SSE,
  VECTORS_AVX,
  VECTORS_AVX2,
  VECTORS_AVX512
} vectors;

static const char *vectors_name(vectors v) {
  static const char *const name[] = {"", "SSE", "AVX", "AVX2", "AVX-512"};
  return name[v];
}

// Returns the vectors of an OpenBLAS family; families of other architectures are unknown.
static vectors family_vectors(const char *core) {
  static const struct {
    const char *core;
    vectors vectors;
  } known[] = {{"Katmai", VECTORS_SSE},        {"Coppermine", VECTORS_SSE},
               {"Northwood", VECTORS_SSE},     {"Banias", VECTORS_SSE},
               {"Prescott", VECTORS_SSE},      {"Core2", VECTORS_SSE},
               {"Penryn", VECTORS_SSE},        {"Dunnington", VECTORS_SSE},
               {"Nehalem", VECTORS_SSE},       {"Athlon", VECTORS_SSE},
               {"Opteron", VECTORS_SSE},       {"Opteron_SSE3", VECTORS_SSE},
               {"Barcelona", VECTORS_SSE},     {"Bobcat", VECTORS_SSE},
               {"Atom", VECTORS_SSE},          {"Nano", VECTORS_SSE},
               {"Sandybridge", VECTORS_AVX},   {"Bulldozer", VECTORS_AVX},
               {"Piledriver", VECTORS_AVX},    {"Steamroller", VECTORS_AVX},
               {"Excavator", VECTORS_AVX2},    {"Haswell", VECTORS_AVX2},
               {"Zen", VECTORS_AVX2},          {"SkylakeX", VECTORS_AVX512},
               {"Cooperlake", VECTORS_AVX512}, {"SapphireRapids", VECTORS_AVX512}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (strcasecmp(core, known[i].core) == 0) return known[i].vectors;
  return VECTORS_UNKNOWN;
}

// True if the family uses narrower vectors than this processor has.
static int is_fallback(const char *core) {
  const vectors used = family_vectors(core);
  return used != VECTORS_UNKNOWN && used < family_vectors(deserved_family());
}

static void copy_text(char *to, size_t size, const char *from) {
  snprintf(to, size, "%s", from ? from : "");
}

void rf_blas_describe(rf_blas_description *out) {
  memset(out, 0, sizeof *out);
  text_fn core = NULL, config = NULL;
  get_int_fn threads = NULL;
  FIND_FUNCTION(core, "openblas_get_corename");
  FIND_FUNCTION(config, "openblas_get_config");
  FIND_FUNCTION(threads, "openblas_get_num_threads");
  copy_text(out->core, sizeof out->core, core ? core() : "unknown");
  copy_text(out->config, sizeof out->config, config ? config() : NULL);
  copy_text(out->best, sizeof out->best, deserved_family());
  copy_text(out->core_vectors, sizeof out->core_vectors, vectors_name(family_vectors(out->core)));
  copy_text(out->best_vectors, sizeof out->best_vectors, vectors_name(family_vectors(out->best)));
  out->fallback = is_fallback(out->core);
  out->threads = threads ? threads() : 0;
  Dl_info info;
  void *symbol = FIND("openblas_get_corename");
  if (!symbol) symbol = FIND("dgemm_");
  if (symbol && dladdr(symbol, &info) != 0)
    copy_text(out->library, sizeof out->library, info.dli_fname);
}

int rf_blas_choose_kernels(void) {
  text_fn core = NULL;
  void_fn quit = NULL, init = NULL;
  FIND_FUNCTION(core, "openblas_get_corename");
  FIND_FUNCTION(quit, "gotoblas_dynamic_quit");
  FIND_FUNCTION(init, "gotoblas_dynamic_init");
  const char *best = deserved_family();
  if (!core || !quit || !init || !*best) return 0;  // without run-time kernel selection
  if (!is_fallback(core())) return 0;
  // the kernels in use were requested by name
  const char *chosen = getenv("OPENBLAS_CORETYPE");
  if (chosen && strcasecmp(chosen, core()) == 0) return 0;
  if (!chosen) setenv("OPENBLAS_CORETYPE", best, 1);
  char before[64];
  copy_text(before, sizeof before, core());
  quit();
  init();
  if (!chosen) unsetenv("OPENBLAS_CORETYPE");
  return strcasecmp(before, core()) != 0;
}
