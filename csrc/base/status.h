// Status of every call that can fail, and its error text.
//
// 0 is success, negative is failure; outputs are then undefined unless a function says
// otherwise.  Offline code explains a failure in the caller's rf_error; real-time code
// (`_rt.c`) returns a status only.
// The library never prints or exits and installs no signal handler.
#ifndef RF_BASE_STATUS_H
#define RF_BASE_STATUS_H

typedef enum rf_status {
  RF_OK = 0,
  RF_ERR_ARG = -1,             // an argument is out of its documented range
  RF_ERR_MEMORY = -2,          // memory is exhausted
  RF_ERR_SINGULAR = -3,        // a matrix is singular or not positive definite
  RF_ERR_NO_CONVERGENCE = -4,  // an iteration did not converge
  RF_ERR_INTERRUPTED = -5,     // the progress callback asked to stop
  RF_ERR_MESH = -6,            // a mesh is unusable (inverted, degenerate, free ...)
  RF_ERR_DIVERGED = -7,  // a simulation became non-finite or left the range allowed for its size
  RF_ERR_INTERNAL = -8,  // a bug in this library
  RF_ERR_DEVICE = -9     // a device is missing or has failed
} rf_status;

#if defined(__GNUC__)
#define RF_MUST_CHECK __attribute__((warn_unused_result))
#define RF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RF_MUST_CHECK
#define RF_PRINTF(fmt, args)
#endif

// Execution of long calls (base/run.h). Incomplete here: real-time code includes this header and
// must not use it.
typedef struct rf_run rf_run;

// Text of the last failure.  Zero-initialise; belongs to the caller.
typedef struct rf_error {
  rf_status status;
  char text[512];
} rf_error;

// Stores status and text (err may be NULL) and returns the status, so that a failing branch is one
// line: `return rf_fail(err, RF_ERR_ARG, "...", ...)`.
rf_status rf_fail(rf_error *err, rf_status status, const char *format, ...) RF_PRINTF(3, 4);

#endif
