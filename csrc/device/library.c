#include "device/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool find_all(void *library, int32_t n, const rf_library_symbol *symbols, void *functions) {
  for (int32_t k = 0; k < n; ++k) {
    void *address = dlsym(library, symbols[k].name);
    if (!address) return false;
    // ISO C has no conversion from object to function pointers; POSIX gives both one representation
    memcpy((char *)functions + symbols[k].offset, &address, sizeof address);
  }
  return true;
}

rf_status rf_library_load(const rf_library_names *names, const char *maker, int32_t n,
                          const rf_library_symbol *symbols, void *functions, rf_error *err) {
  char said[400] = "";
  size_t used = 0;
  for (int32_t i = 0; i < names->n; ++i) {
    void *library = dlopen(names->name[i], RTLD_NOW | RTLD_LOCAL);
    if (library && find_all(library, n, symbols, functions)) return RF_OK;
    const char *text = dlerror();
    if (used < sizeof said)
      used += (size_t)snprintf(said + used, sizeof said - used, "%s%s", i ? "; " : "",
                               text ? text : names->name[i]);
    if (library) dlclose(library);
  }
  return rf_fail(err, RF_ERR_DEVICE, "no library of %s could be loaded: %s", maker, said);
}
