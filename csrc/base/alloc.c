#if defined(__linux__)
#define _DEFAULT_SOURCE  // madvise
#endif

#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/redzone.h"

enum { ALIGNMENT = 64 };
// Blocks of at least LARGE bytes are placed on large pages where the system offers them: scattered
// reads, as in contact, then cause fewer page-table walks.
static const size_t PAGE = (size_t)1 << 21;
#if defined(__linux__)
static const size_t LARGE = (size_t)1 << 23;
// Blocks of at least MAPPED bytes are mapped: they are zero without a memset, and the threads that
// use them touch them first, in parallel.
static const size_t MAPPED = (size_t)1 << 26;
#endif

static _Atomic int64_t live_blocks, live_bytes, peak_bytes, calls;
static _Atomic int64_t calls_until_failure = -1;

// Precedes each block, aligned, and records its size.
typedef struct header {
  size_t bytes;
} header;

// Returns the size of a whole block: header, content, padding.
static size_t padded(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
}

#if defined(__linux__)
static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static char *mapped_block(size_t bytes) {
  const size_t whole = whole_pages(bytes);
  char *raw = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return NULL;
  // unmap the unaligned head and tail
  const size_t before = (PAGE - (uintptr_t)raw % PAGE) % PAGE;
  if (before > 0) munmap(raw, before);
  munmap(raw + before + whole, PAGE - before);
  return raw + before;
}
#endif

// Returns zeroed memory.
static char *raw_block(size_t bytes) {
#if defined(__linux__)
  if (bytes >= LARGE) {
    char *raw = bytes >= MAPPED ? mapped_block(bytes) : aligned_alloc(PAGE, whole_pages(bytes));
    if (!raw) return NULL;
#if defined(MADV_HUGEPAGE)
    // a hint: failure does not matter
    madvise(raw, bytes, MADV_HUGEPAGE);
#endif
    return bytes >= MAPPED ? raw : memset(raw, 0, bytes);
  }
#endif
  char *raw = aligned_alloc(ALIGNMENT, bytes);
  return raw ? memset(raw, 0, bytes) : NULL;
}

static void free_raw(char *raw, size_t bytes) {
#if defined(__linux__)
  if (bytes >= MAPPED) {
    munmap(raw, whole_pages(bytes));
    return;
  }
#endif
  (void)bytes;
  free(raw);
}

static int may_proceed(void) {
  atomic_fetch_add(&calls, 1);
  int64_t left = atomic_load(&calls_until_failure);
  while (left > 0 && !atomic_compare_exchange_weak(&calls_until_failure, &left, left - 1)) {
  }
  return left != 0;
}

void rf_alloc_account(int64_t blocks, int64_t bytes, int64_t highest_bytes) {
  atomic_fetch_add(&live_blocks, blocks);
  const int64_t highest = atomic_fetch_add(&live_bytes, bytes) + highest_bytes;
  int64_t peak = atomic_load(&peak_bytes);
  while (highest > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, highest)) {
  }
}

void *rf_alloc(size_t count, size_t size) {
  // the padding added below, up to whole large pages, must not overflow either
  if (size != 0 && count > (SIZE_MAX - 2 * PAGE) / size) return NULL;
  if (!may_proceed()) return NULL;

  const size_t bytes = count * size;
  char *raw = raw_block(padded(bytes));
  if (!raw) return NULL;
  ((header *)raw)->bytes = bytes;
  rf_redzone_close(raw + sizeof(header), ALIGNMENT - sizeof(header));
  rf_redzone_close(raw + ALIGNMENT + bytes, padded(bytes) - ALIGNMENT - bytes);

  rf_alloc_account(1, (int64_t)bytes, (int64_t)bytes);
  return raw + ALIGNMENT;
}

void rf_free(void *block) {
  if (!block) return;
  char *raw = (char *)block - ALIGNMENT;
  const size_t bytes = ((header *)raw)->bytes;
  rf_alloc_account(-1, -(int64_t)bytes, 0);
  rf_redzone_open(raw, padded(bytes));
  free_raw(raw, padded(bytes));
}

rf_alloc_counters rf_alloc_read_counters(void) {
  rf_alloc_counters c = {atomic_load(&live_blocks), atomic_load(&live_bytes),
                         atomic_load(&peak_bytes), atomic_load(&calls)};
  return c;
}

void rf_alloc_reset_peak(void) { atomic_store(&peak_bytes, atomic_load(&live_bytes)); }

void rf_alloc_fail_from(int64_t k) { atomic_store(&calls_until_failure, k); }
