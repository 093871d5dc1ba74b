// Libraries of drivers, which are looked for when a device is opened: the package is built and
// runs without them.
//
// Once loaded they stay: drivers may leave threads behind.
#ifndef RF_DEVICE_LIBRARY_H
#define RF_DEVICE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { RF_LIBRARY_MOST_NAMES = 4, RF_LIBRARY_NAME = 512 };

// Paths, or names that the system looks for in its own places; in this order.
typedef struct rf_library_names {
  int32_t n;
  char name[RF_LIBRARY_MOST_NAMES][RF_LIBRARY_NAME];
} rf_library_names;

// A function that the library must have, and where its address goes in a struct of such.
typedef struct rf_library_symbol {
  const char *name;
  size_t offset;
} rf_library_symbol;

// Loads the first library that has all functions.  RF_ERR_DEVICE with what the system says of each:
// no library of `maker` can be used.
RF_MUST_CHECK rf_status rf_library_load(const rf_library_names *names, const char *maker, int32_t n,
                                        const rf_library_symbol *symbols, void *functions,
                                        rf_error *err);

#endif
