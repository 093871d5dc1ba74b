// Driver libraries, loaded when a device is opened: the package is built and runs without them.
//
// They stay loaded: drivers may leave threads behind.
#ifndef RF_DEVICE_LIBRARY_H
#define RF_DEVICE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { RF_LIBRARY_MOST_NAMES = 4, RF_LIBRARY_NAME = 512 };

// Paths, or names that the system searches for, tried in this order.
typedef struct rf_library_names {
  int32_t n;
  char name[RF_LIBRARY_MOST_NAMES][RF_LIBRARY_NAME];
} rf_library_names;

// A required function of the library, and the offset of its pointer in a struct.
typedef struct rf_library_symbol {
  const char *name;
  size_t offset;
} rf_library_symbol;

// Loads the first library that has all functions.  RF_ERR_DEVICE, with the system's message for
// each: no library of `maker` is usable.
RF_MUST_CHECK rf_status rf_library_load(const rf_library_names *names, const char *maker, int32_t n,
                                        const rf_library_symbol *symbols, void *functions,
                                        rf_error *err);

#endif
