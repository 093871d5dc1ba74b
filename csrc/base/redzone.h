// Poisoned bytes inside a block of memory: builds with the address sanitizer report access to them,
// in other builds the functions do nothing.
#ifndef RF_BASE_REDZONE_H
#define RF_BASE_REDZONE_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define RF_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RF_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef RF_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>

enum { RF_REDZONE = 64 };  // bytes between two pieces; a multiple of the alignment

static inline void rf_redzone_close(void *from, size_t bytes) {
  ASAN_POISON_MEMORY_REGION(from, bytes);
}
static inline void rf_redzone_open(void *from, size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(from, bytes);
}
#else
enum { RF_REDZONE = 0 };

static inline void rf_redzone_close(void *from, size_t bytes) { (void)from, (void)bytes; }
static inline void rf_redzone_open(void *from, size_t bytes) { (void)from, (void)bytes; }
#endif

#endif
