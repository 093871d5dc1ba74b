// Green's functions of a solid some of whose supports were released for good.
//
// With the static modes Phi of the released supports a, S_aa = L L^T (green.h):
//
//   G' = [ G 0 ] + A A^T,   A^T = L^-1 [ Phi_a^T  1 ]
//        [ 0 0 ]
//
// The supports are places of their own, behind the others.  Those that are left, b, have
//
//   Phi_b' = [ Phi_b - Phi_a X ],   S_bb' = S_bb - S_ba X,   X = S_aa^-1 S_ab,
//            [      - X        ]
//
// so that they may be released later.  S_bb' has the rounding errors of S_bb, and those of S_aa
// with the factors X^2, large for levers.  Pivots count as zero if they are small beside f_b' =
// f_b + X^2 f_a; at first f is the diagonal of S.  Entries of G are borrowed, exact or packed: a
// release costs memory for A alone, 24 bytes for each support and each direction of a place.
#ifndef RF_GREEN_RELEASED_H
#define RF_GREEN_RELEASED_H

#include "green/green.h"

// Creates Green's functions without some supports: indices in g->releasable, distinct, at least
// one.  `g`, or what it borrows from, outlives them.  RF_ERR_SINGULAR: those that are left do not
// hold the solid.
RF_MUST_CHECK rf_status rf_green_released_create(const rf_green *g, const rf_run *run, int32_t n,
                                                 const int32_t *released, rf_green **out,
                                                 rf_error *err);
// The same of arrays: of a file.  `set` has all nodes; those beyond the entries of `g` were
// released; modes, support, `firm` and `added` are filled by the caller.
RF_MUST_CHECK rf_status rf_green_released_allocate(const rf_green *g, const rf_green_settings *set,
                                                   rf_green **out, rf_error *err);

#endif
