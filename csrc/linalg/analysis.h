// Symbolic analysis of sparse matrices by CHOLMOD, with its memory counted by base/alloc.h.
#ifndef RF_LINALG_ANALYSIS_H
#define RF_LINALG_ANALYSIS_H

#include <cholmod.h>
#include <stdbool.h>
#include <stdint.h>

#include "linalg/csc.h"

// CHOLMOD's allocator is a process-wide setting (SuiteSparse_config) and is left alone for the sake
// of other users.  Its own counts are passed to base/alloc.h after every call that may change them.
typedef struct rf_analysis {
  cholmod_common common;
  bool started;
  int64_t blocks, bytes;  // passed on so far
} rf_analysis;

void rf_analysis_start(rf_analysis *a);
void rf_analysis_finish(rf_analysis *a);  // also of one that was not started
void rf_analysis_account(rf_analysis *a);

// Analyses the pattern of a lower triangle with an ordering: CHOLMOD_METIS, CHOLMOD_AMD, or
// CHOLMOD_GIVEN with a permutation (n).  NULL: failed, see the status of CHOLMOD.
cholmod_factor *rf_analysis_run(rf_analysis *a, const rf_csc *lower, int ordering,
                                const int32_t *given);

// The same with METIS, or with AMD if CHOLMOD was built without METIS or METIS fails twice; the
// factor has the ordering taken.  A SIGTERM during METIS is lost in the main thread, as METIS takes
// it for an error of its own; in another thread METIS crashes.
cholmod_factor *rf_analysis_run_metis(rf_analysis *a, const rf_csc *lower);

#endif
