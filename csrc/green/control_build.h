// The parts of making control elements: the held solid, its responses and the series.
#ifndef RF_GREEN_CONTROL_BUILD_H
#define RF_GREEN_CONTROL_BUILD_H

#include "base/run.h"
#include "fem/fem.h"
#include "green/control.h"
#include "linalg/cholesky.h"

enum {
  RF_CONTROL_RADIUS_TERMS = 6,  // of the series from which its radius is estimated
  RF_CONTROL_LANES = 4,         // series side by side in the kernel of forces
  RF_CONTROL_PATHS = 8          // series at a time, a multiple of these
};

typedef struct rf_control_build {
  const rf_solid *solid;
  const rf_control_settings *set;
  const rf_run *run;
  rf_control *control;
  rf_solid held;   // the solid with all control nodes fixed
  double *blocks;  // of K                           (graph.ptr[n], 3, 3)
  rf_cholesky *factor;
  double *load, *part;    // of one block of solves: over all nodes, and over the free ones
  const int32_t **nodes;  // of each group                  (n_groups)
  double *surface;        // fields at the surface          (n_fields, 3 n_surface)
} rf_control_build;

// True for three nodes or more that do not lie on one line.
bool rf_control_spans_plane(const rf_mesh *mesh, int32_t count, const int32_t *nodes);

// Checks the handles, makes the groups, and factors A.  Releases nothing after a failure.
RF_MUST_CHECK rf_status rf_control_build_begin(rf_control_build *b, rf_error *err);
void rf_control_build_end(rf_control_build *b);

// Sets the nodes of all groups in u (n_nodes, 3) by parameters (n_parameters).
void rf_control_prescribe(const rf_control_build *b, const double *parameters, double *u);
// Solves A u = -B b - load at the free nodes of `count` fields at most RF_CHOLESKY_BLOCK, whose
// control nodes are set and whose others are zero; load (count, n_nodes, 3), nullable.
RF_MUST_CHECK rf_status rf_control_respond(const rf_control_build *b, int count, const double *load,
                                           double *u, rf_error *err);
// Sets the number of control nodes and their mean place.
void rf_control_find_centre(rf_control *c);
// Sets the inverse of the inertia of the control nodes, one unit of mass a node.
void rf_control_make_inertia(rf_control *c);

// Computes P^T f (n_parameters) of nodal forces f (n_nodes, 3).
void rf_control_gather(const rf_control_build *b, const double *force, double *forces);
// Copies a field to the nodes of the surface, (3 n_surface).
void rf_control_sample(const rf_control_build *b, const double *u, double *to);

// Computes the forces f_n of the terms u_1 .. u_(n-1): all of R in e^n but K u_n.  Each of them,
// and f_n, has RF_CONTROL_LANES paths side by side, (n_nodes, 3, RF_CONTROL_LANES).
void rf_control_series_force(const rf_solid *solid, int n, const double *const *u, double *force);
// Adds the fields of products and what belongs to the series.
RF_MUST_CHECK rf_status rf_control_build_series(rf_control_build *b, rf_error *err);

#endif
