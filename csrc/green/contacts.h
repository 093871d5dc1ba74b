// Contacts that come and go one at a time, in real time: the compliance C = G_cc of the held
// directions, and its inverse S, both dense.
//
// A contact prescribes the displacement of a node, or of a node along a normal: three rows or one.
// To add rows with the couplings B and the own block D, the inverse of [C B; B^T D] is, with X = S
// B and E = (D - B^T X)^-1,
//     [S + X E X^T, -X E; -E X^T, E],
// and to remove rows r, S becomes S - S_:r S_rr^-1 S_r:.  Both take one pass over S.  A factor
// takes rotations in sequence to remove rows, which is slower; the rounding that an inverse
// collects is removed by refinement in every solution, f += S (d - C f).
//
// Memory is allocated when the contacts are created; the rest is real-time code.
#ifndef RF_GREEN_CONTACTS_H
#define RF_GREEN_CONTACTS_H

#include "green/green.h"

enum { RF_GREEN_MOST_CONTACTS = 256 };

typedef struct rf_green_contacts rf_green_contacts;

// Creates no contacts, with room for `most`, 1 to RF_GREEN_MOST_CONTACTS, of a solid with some
// supports released (indices in g->releasable, distinct).  G must outlive them.  RF_ERR_SINGULAR:
// the supports that are left do not hold the solid.
RF_MUST_CHECK rf_status rf_green_contacts_create(const rf_green *g, const rf_run *run, int32_t most,
                                                 int32_t n_released, const int32_t *released,
                                                 rf_green_contacts **out, rf_error *err);
void rf_green_contacts_free(rf_green_contacts *c);  // NULL is allowed

int32_t rf_green_contacts_count(const rf_green_contacts *c);
// Returns the place of contact k, in the order of addition.
int32_t rf_green_contacts_place(const rf_green_contacts *c, int32_t k);
// Returns the index of the contact at a place, or -1.
int32_t rf_green_contacts_find(const rf_green_contacts *c, int32_t place);

// Returns the part by which blocks of packed Green's functions are softer; 0: exact.
double rf_green_contacts_lift(const rf_green_contacts *c);

// Adds a contact at a place that has none, with a unit normal or NULL.  RF_ERR_ARG: no room.
// RF_ERR_SINGULAR: the direction moves as those held before; nothing has changed.
RF_MUST_CHECK rf_status rf_green_contacts_add_rt(rf_green_contacts *c, int32_t place,
                                                 const double *normal);
// The same, not in real time: where the error of packed Green's functions makes C indefinite, they
// are lifted, until no contact is left.  C and S are computed anew for each lift tried, in n^3
// operations for n rows.
RF_MUST_CHECK rf_status rf_green_contacts_add(rf_green_contacts *c, int32_t place,
                                              const double *normal);
// Removes contact k; those after it move up.  Where rounding has spoiled S, it is computed anew
// from C, in n^3 operations for n rows.
void rf_green_contacts_remove_rt(rf_green_contacts *c, int32_t k);

// Solves for the forces (count, 3) that give the contacts these displacements (count, 3), or their
// normal parts, with S computed anew if refinement fails.  RF_ERR_SINGULAR: C is too near to
// singular.  RF_ERR_ARG: forces are not finite. After an error they are zero.
RF_MUST_CHECK rf_status rf_green_contacts_solve_rt(rf_green_contacts *c, const double *displacement,
                                                   double *force);

#endif
