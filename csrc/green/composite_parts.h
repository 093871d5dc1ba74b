// One block of a composite body: condensed loads, energy, gradient, tangent (composite.h).
#ifndef RF_GREEN_COMPOSITE_PARTS_H
#define RF_GREEN_COMPOSITE_PARTS_H

#include "base/run.h"
#include "green/composite.h"

enum { RF_COMPOSITE_TURN = 9 };  // entries of R

// A block at displacements of the outer nodes.
typedef struct rf_composite_state {
  double turn[9];            // R
  double change[9];          // R - 1, of small rotations with all digits
  double shift[3];           // mean x - mean X, m
  double *d, *y, *h, *p;     // (n_outer, 3)
  double *B, *X;             // of the tangent                     (n_outer, 3, 3)
  double M[9];               // its symmetric part
  double potential, strain;  // energies, J
  double rounding;           // bound of the error of D d by rounding, N
  // Condensed loads of inner nodes; `linear` is NULL without any.
  double *linear;                                 // L^T           (9, 3 n_outer)
  double quadratic[81], moment[9], resultant[3];  // Q, N, f
  double *load;  // f of the inner nodes, in the world  (n_inner, 3)
} rf_composite_state;

RF_MUST_CHECK rf_status rf_composite_state_create(const rf_composite *c,
                                                  const rf_composite_block *block,
                                                  const double *force, const rf_run *run,
                                                  rf_composite_state *s, rf_error *err);
void rf_composite_state_free(rf_composite_state *s);

// Computes the frame, energies and gradient at v (all outer nodes, 3); false: the frame is not
// unique.
bool rf_composite_place(const rf_composite_block *block, const double *v, rf_composite_state *s);
// Computes the rotation w of the frame, in it, by a step of the outer nodes, after linearizing.
void rf_composite_turn_of(const rf_composite_block *block, const rf_composite_state *s,
                          const double *step, double w[3]);
// Sets the rotation of the frame, and gradient and tangent with it fixed.
void rf_composite_fix_frame(const rf_composite_block *block, const double *v, const double turn[9],
                            rf_composite_state *s);
// Computes what the tangent consists of, after rf_composite_place.
void rf_composite_linearize(const rf_composite_block *block, bool definite, rf_composite_state *s);
// Computes the 3 x 3 block of the tangent, in the world, of two outer nodes of the block.
void rf_composite_entry(const rf_composite_block *block, const rf_composite_state *s, int32_t i,
                        int32_t j, double out[9]);
// Computes displacements of the inner nodes in u (n_nodes, 3).
RF_MUST_CHECK rf_status rf_composite_recover(const rf_composite *c, const rf_composite_block *block,
                                             const rf_composite_state *s, const rf_run *run,
                                             double *u, rf_error *err);

#endif
