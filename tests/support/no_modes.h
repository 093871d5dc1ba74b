// In place of exact modes (dynamics/modal_subspace.h), for tests of motions without any.
#ifndef NO_MODES_H
#define NO_MODES_H

#include "dynamics/modal_subspace.h"

rf_status rf_modal_subspace_create(rf_system *system, const rf_run *run, int32_t s,
                                   rf_subspace_modes modes, rf_modal_subspace **out,
                                   rf_error *err) {
  (void)system, (void)run, (void)s, (void)modes;
  *out = NULL;
  return rf_fail(err, RF_ERR_INTERNAL, "there are no exact modes here");
}
void rf_modal_subspace_free(rf_modal_subspace *s) { (void)s; }
void rf_modal_subspace_take(rf_modal_subspace *s, const double *from) { (void)s, (void)from; }
void rf_modal_subspace_give(const rf_modal_subspace *s, double *to) { (void)s, (void)to; }

#endif
