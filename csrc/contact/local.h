// Local compliance of a shell: displacements of its points by forces there that the coordinates of
// a reduced model do not contain (static correction of truncated modes).
//
//   S = G - V V^T,  V = U L^-T,  L L^T = U^T K U             (m/N)
//
// G is K^-1 at the points, K the stiffness at rest, U the basis there.  With statics of the model,
// U (U^T K U)^-1 U^T f, the points of a model with the correction move by G f, as those of the
// solid.  K^(1/2) S K^(1/2) is the projector onto the complement of K^(1/2) U: S is positive
// semidefinite, and S has no part in the span of the basis.  The same holds for free solids, with
// G under inertia relief and U orthogonal to the rigid motions in the mass.  Without
// coordinates S = G: the shell of a solid that is always at rest.
//
// With a second order, forces g along directions of the points move them by 1/2 sum T_pqr g_q g_r
// more in these directions (green/second.h).
//
// Blocks S_pq (3, 3) are stored for pairs of carriers, one triangle, in single precision.  Carriers
// are the points, or nodes between which points interpolate: more arithmetic for less memory.  The
// diagonal is raised by a bound of the roundings of its row, so that S stays semidefinite.
#ifndef RF_CONTACT_LOCAL_H
#define RF_CONTACT_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/cubic.h"

typedef struct rf_contact_local {
  int32_t n_points, n_carriers, corners;
  int32_t *carrier;  // of each point                                    (n_points, corners)
  double *weight;    //                                                  (n_points, corners)
  float *entry;      // block of p and q <= p at 9 (p (p + 1) / 2 + q)
  double *lacking;   // trace of S_pp over that of G_pp, of each point   (n_points)
  // second order, NULL: none
  rf_cubic *second;   // T, of forces along the directions
  double *direction;  // of each point, in the frame of the body at rest  (n_points, 3)
} rf_contact_local;

// Writes the block of G of two nodes, row-major.
typedef void rf_contact_local_block_fn(const void *of, int32_t i, int32_t j, double block[9]);

typedef struct rf_contact_local_settings {
  int32_t n_nodes;  // with a block of G
  rf_contact_local_block_fn *block;
  const void *of;
  int32_t n_points, corners;
  const int32_t *node;   // of each point, among these                   (n_points, corners)
  const double *weight;  //                                              (n_points, corners)
  bool by_points;        // carriers are the points
  int32_t r;
  const double *basis;      // U at the nodes; NULL where r = 0          (n_nodes, 3, r)
  const double *stiffness;  // U^T K U, likewise                         (r, r)
} rf_contact_local_settings;

static inline int64_t rf_contact_local_entries(int32_t n_carriers) {
  return 9 * ((int64_t)n_carriers * (n_carriers + 1) / 2);
}

// RF_ERR_SINGULAR: U^T K U is not positive definite.  RF_ERR_ARG: the basis gives way more than the
// solid, so it belongs to another one.
RF_MUST_CHECK rf_status rf_contact_local_create(const rf_contact_local_settings *set,
                                                const rf_run *run, rf_contact_local **out,
                                                rf_error *err);
void rf_contact_local_free(rf_contact_local *l);  // NULL is fine

// Gives S a second order, which becomes its own, with the directions (n_points, 3).
RF_MUST_CHECK rf_status rf_contact_local_take_second(rf_contact_local *l, rf_cubic *second,
                                                     const double *direction, rf_error *err);

// Computes the displacements u (n_points, 3) of all points by n forces at points.
RF_MUST_CHECK rf_status rf_contact_local_displace(const rf_contact_local *l, int32_t n,
                                                  const int32_t *point, const double *force,
                                                  double *u, rf_error *err);

// Computes the displacement of point p by a force at point q, in the frame of the body at rest:
// block (3, 3), row-major.
void rf_contact_local_between_rt(const rf_contact_local *l, int32_t p, int32_t q, double block[9]);
// Computes the displacement of point p by a force at a carrier, likewise.
void rf_contact_local_by_carrier_rt(const rf_contact_local *l, int32_t p, int32_t carrier,
                                    double block[9]);
// out += S_pq f, of points.
void rf_contact_local_push_rt(const rf_contact_local *l, int32_t p, int32_t q,
                              const double force[3], double out[3]);
// Adds the displacement of carrier i by a force at carrier j.
void rf_contact_local_carry_rt(const rf_contact_local *l, int32_t i, int32_t j,
                               const double force[3], double out[3]);

#endif
