// Signed distance to a deformed object, from its distance field at rest (B07 3.12).
//
// Proxies are some tens of points P of the object.  At q they are at p = P + U q, and the object
// around each is deformed by F = I + sum_j q_j grad U_j.  Each of the k proxies nearest to a place
// x pulls it back to X = P + F^-1 (x - p); the distance is the sum of the rest field's values there
// with the weights (3.16),
//     w_i = (1/d_i - 1/d_max) / W,   W = sum_j (1/d_j - 1/d_max),   d_i = |x - p_i| .
// The farthest of the k has weight zero, so that the value stays continuous where another proxy
// takes its place.  Where all k are equally far the limit depends on the direction, and weights are
// equal.  That is a line for k = 3, a point for k = 4, in general nowhere for k = 5; with k = 2 the
// value jumps half-way between two proxies, with k = 1 at each change of the nearest.
//
// There may be several domains, each with a rest field and proxies of its own; the distance is the
// smallest of theirs.  The rest field of a domain leaves out the other parts of the object, which
// would otherwise appear a second time, moved with this domain (3.12.1).
//
// Limits.  The value is an approximation, good where strain is small and slowly varying, and is no
// bound.  Under stretch it counts distances at rest.  Outside its box a rest field is only a lower
// bound, and drops at the side of the box: boxes need room for places that are pulled back.
//
// A large q can make F flat or inverted.  Its singular values, the smallest negative if F is
// inverted, are raised to RF_DEFORMED_FLATTEST before F is inverted.  The result is continuous in q
// as long as the negative value is also the smallest in magnitude, and distances between places
// grow at most by the inverse of that bound.
#ifndef RF_DEFORM_FIELD_H
#define RF_DEFORM_FIELD_H

#include <stdbool.h>

#include "base/status.h"
#include "linalg/simd.h"
#include "mesh/embed.h"
#include "model/reduced_model.h"
#include "sdf/field.h"

enum { RF_DEFORMED_MAX_K = 16, RF_DEFORMED_MAX_PROXIES = 1000 };
#define RF_DEFORMED_FLATTEST 0.1

typedef struct rf_deformed_field {
  int32_t r, k, n_proxies, n_domains;
  int32_t n_slots;         // proxies and places beside them: domains begin at multiples of 8
  const rf_field **field;  // of each domain at rest, borrowed              (n_domains)
  int32_t *first;          // proxies of domain d are first[d] to first[d+1] - 1  (n_domains + 1)
  int32_t *slot;           // of the first proxy of each domain            (n_domains + 1)
  double *rest;            // P, m                                         (n_proxies, 3)
  double *modes;           // rows of U and of grad U, d u_a / d X_b at 3 + 3 a + b
                           //                                              (n_proxies, r, 12)
  double safety;           // factor of culling, 1 or more
  rf_simd simd;            // instruction set of the search for neighbours
} rf_deformed_field;

typedef struct rf_deformed_settings {
  int32_t k;      // nearest proxies
  double safety;  // see rf_deformed_field_slack_rt
  rf_simd simd;   // instruction set of the search for neighbours
} rf_deformed_settings;

// Makes a field of the proxies of all domains, one domain after the other, given as points of the
// embedding; `first` as above.  Borrows the fields, copies all else.
RF_MUST_CHECK rf_status rf_deformed_field_create(int32_t n_domains, const rf_field *const *fields,
                                                 const int32_t *first, const rf_reduced *model,
                                                 const rf_mesh *mesh, const rf_embedding *embedding,
                                                 const double *points,
                                                 const rf_deformed_settings *set, const rf_run *run,
                                                 rf_deformed_field **out, rf_error *err);
void rf_deformed_field_free(rf_deformed_field *f);  // NULL is fine

// Proxies at some q.  Written once a cycle, by one thread at a time.
typedef struct rf_deformed_pose {
  double *place;  // x, y, z of p by slots                     (3, n_slots)
  double *map;    // columns of F^-1 and P - F^-1 p, padded    (n_proxies, 4, 4)
  bool usable;    // false: no q yet, or a q that gives no finite places
  int32_t flat;   // number of proxies whose F was flat or inverted
} rf_deformed_pose;

RF_MUST_CHECK rf_status rf_deformed_pose_create(const rf_deformed_field *f, rf_deformed_pose **out,
                                                rf_error *err);
void rf_deformed_pose_free(rf_deformed_pose *pose);  // NULL is fine

// Returns false, and leaves the pose unusable, where q puts a proxy beyond 1e100 m or nowhere.
bool rf_deformed_pose_update_rt(const rf_deformed_field *f, const double *q,
                                rf_deformed_pose *pose);

// Returns the distance at x, in the frame of the mesh; infinite for an unusable pose.  `nearest`:
// the proxy nearest to x in the domain that gave the value.
double rf_deformed_field_distance_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                     const double x[3], int32_t *nearest);
// Returns the same with its gradient, derivatives of the weights included.  At a proxy, where the
// function has a kink, the weights are taken as constant.
double rf_deformed_field_gradient_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                     const double x[3], double gradient[3], int32_t *nearest);
// The same for points (n, 3), bit for bit and cheaper, most of all for points near each other.
// `nearest` is nullable in the first.
void rf_deformed_field_distances_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                    int32_t n, const double *points, double *distance,
                                    int32_t *nearest);
void rf_deformed_field_gradients_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                    int32_t n, const double *points, double *distance,
                                    double *gradient, int32_t *nearest);
// The motion of the object at a place, as a weighted sum over its proxies: share times
// U + grad U (X - P), X the place pulled back by the proxy.
typedef struct rf_deformed_carriers {
  int32_t n, proxy[RF_DEFORMED_MAX_K];
  double share[RF_DEFORMED_MAX_K];   // sum to 1
  double arm[RF_DEFORMED_MAX_K][3];  // X - P, m
} rf_deformed_carriers;

// Gradients by the slopes of the rest fields (rf_field_slopes_rt), and the motion of the object at
// each place (n).  At constant weights the derivative of the distance by q is -U^T gradient, with U
// the sum over the carriers.
void rf_deformed_field_slopes_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                 int32_t n, const double *points, double *distance, double *slope,
                                 rf_deformed_carriers *carriers);
// Adds the reduced force U^T force of a force at a proxy.
void rf_deformed_field_push_rt(const rf_deformed_field *f, int32_t proxy, const double force[3],
                               double *reduced);
// The same for forces beside the proxy, by moments: the sum of the forces, then that of the
// products force arm^T, by rows.
void rf_deformed_field_push_moments_rt(const rf_deformed_field *f, int32_t proxy,
                                       const double moments[12], double *reduced);
// moments += share (force, force arm^T)
static inline void rf_deformed_moments_rt(double share, const double force[3], const double arm[3],
                                          double moments[12]) {
  for (int a = 0; a < 3; ++a) {
    moments[a] += share * force[a];
    for (int b = 0; b < 3; ++b) moments[3 + 3 * a + b] += share * force[a] * arm[b];
  }
}

// Culling: positive where d > safety R, taken to mean that no point within R of a place at distance
// d is inside.  Only the sign counts; the value does not bound how far the place may move.
double rf_deformed_field_slack_rt(const rf_deformed_field *f, double d, double R);

// Evaluates points (n, 3) at q, in parallel; gradient (n, 3) is nullable.
RF_MUST_CHECK rf_status rf_deformed_field_evaluate(const rf_deformed_field *f, const rf_run *run,
                                                   const double *q, int32_t n, const double *points,
                                                   double *distance, double *gradient,
                                                   int32_t *nearest, rf_error *err);

#endif
