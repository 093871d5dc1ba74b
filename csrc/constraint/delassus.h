// The Delassus operator W = sum of H C H^T: displacements at contacts by forces there.
#ifndef RF_CONSTRAINT_DELASSUS_H
#define RF_CONSTRAINT_DELASSUS_H

#include <stdint.h>

#include "base/status.h"

// One body: the rows of `directions` are the displacements at the contacts by its coordinates, and
// by duality its forces by those of the contacts; `compliance` is symmetric.
typedef struct rf_delassus_body {
  int32_t coordinates;
  const double *directions;  // H                                          (rows, coordinates)
  const double *compliance;  // C, displacement of the coordinates by force  (coordinates, same)
} rf_delassus_body;

// Adds H C H^T of a body to w (rows, rows), symmetric to the bit.
RF_MUST_CHECK rf_status rf_delassus_add(const rf_delassus_body *body, int32_t rows, double *w,
                                        rf_error *err);

#endif
