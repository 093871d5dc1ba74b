// Points with normals that move with a reduced model, for drawing, picking and contact.
//
// A point X with normal N moves to x = X + U_X q; its normal takes the direction of n = N + (sum_j
// q_j grad U_j(X)) N = N + T q, the normal pushed forward by the deformation gradient (B07 2.12.1,
// 3.6.2). That is exact for rotations and accurate for rotation with small strain, but not under
// shear.  A scaled normal keeps its direction.
//
// Rows of U and T are stored point by point, so the cost is proportional to the number of evaluated
// points, independent of the mesh (B07 2.12.2: adaptive u = U q).
#ifndef RF_MODEL_SKIN_H
#define RF_MODEL_SKIN_H

#include "mesh/embed.h"
#include "model/reduced_model.h"

typedef struct rf_skin {
  int32_t n_points, r;
  double *rest;    // X, m                        (n_points, 3)
  double *normal;  // N, unit vectors; NULL: none (n_points, 3)
  double *motion;  // U at the points             (n_points, 3, r)
  double *tilt;    // T; NULL without normals     (n_points, 3, r)
} rf_skin;

// Creates a skin; normals nullable.  `embedding` is that of `points` in `mesh`, the mesh of the
// model.
RF_MUST_CHECK rf_status rf_skin_create(const rf_reduced *model, const rf_mesh *mesh,
                                       const rf_embedding *embedding, const double *points,
                                       const double *normals, const rf_run *run, rf_skin **out,
                                       rf_error *err);
void rf_skin_free(rf_skin *skin);  // NULL is allowed

// Compute position and unit normal of one point.
void rf_skin_position_rt(const rf_skin *skin, int32_t point, const double *q, double position[3]);
void rf_skin_normal_rt(const rf_skin *skin, int32_t point, const double *q, double normal[3]);

// Evaluates `count` points, or all in order if `which` is NULL; each output is nullable.
RF_MUST_CHECK rf_status rf_skin_evaluate(const rf_skin *skin, const rf_run *run, const double *q,
                                         int32_t count, const int32_t *which, double *positions,
                                         double *normals, rf_error *err);

// Computes f~ = sum over the points of U_X^T f_X, for `count` forces (count, 3).
void rf_skin_project_rt(const rf_skin *skin, int32_t count, const int32_t *which,
                        const double *forces, double *reduced);

#endif
