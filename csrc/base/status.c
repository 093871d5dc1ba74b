#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

rf_status rf_fail(rf_error *err, rf_status status, const char *format, ...) {
  if (err) {
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->status = status;
  }
  return status;
}
