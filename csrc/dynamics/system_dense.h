// What systems of dense matrices have in common.  Their kinds differ in how they evaluate.
#ifndef RF_DYNAMICS_SYSTEM_DENSE_H
#define RF_DYNAMICS_SYSTEM_DENSE_H

#include "base/arena.h"
#include "dynamics/system.h"

// First member of such a system.  Rows of matrices have ld values.
typedef struct rf_dense_system {
  rf_system base;
  double *mass;         // M~                                      (r, ld)
  double *mass_factor;  // of M~, of explicit steps only           (r, ld)
  double *stiffness;    // K~(x)                                   (r, ld)
  double *damping;      // D~(x), with strain-rate damping only    (r, ld)
  double *factor;       // of implicit steps                       (r, ld)
  double *product;      // of a matrix with a vector               (ld)
} rf_dense_system;

// Takes the arrays of a system of r coordinates.
void rf_dense_system_layout(rf_dense_system *s, int32_t r, rf_system_steps steps, bool damping,
                            rf_arena *a);
// Copies the mass (r, r) and factors it where steps need that.  s->base is set.
RF_MUST_CHECK rf_status rf_dense_system_set_mass(rf_dense_system *s, const double *mass,
                                                 rf_error *err);

// Operations of system.h.  In a system with D, s->damping is that of the last evaluation.
rf_status rf_dense_system_balance_rt(rf_system *s, const double *x, const double *v,
                                     const double *w, const double *force, const double *load,
                                     double *out);
rf_status rf_dense_system_factorize_rt(rf_system *s, double mass, double stiffness, double damping,
                                       const double *added);
rf_status rf_dense_system_solve_rt(rf_system *s, const double *b, double *x);
void rf_dense_system_half_solve_rt(rf_system *s, int32_t ld, double *b);
rf_status rf_dense_system_mass_solve_rt(rf_system *s, const double *b, double *x);
rf_status rf_dense_system_multiply_rt(rf_system *s, const double *x, double *out);
double rf_dense_system_rounding_rt(const rf_system *s, const double *x);
double rf_dense_system_stiffness_per_mass_rt(const rf_system *s);
rf_system_dense rf_dense_system_matrices_rt(const rf_system *s);

// These, in a table of operations.
#define RF_DENSE_SYSTEM_OPERATIONS                                                      \
  .balance = rf_dense_system_balance_rt, .factorize = rf_dense_system_factorize_rt,     \
  .solve = rf_dense_system_solve_rt, .half_solve = rf_dense_system_half_solve_rt,       \
  .mass_solve = rf_dense_system_mass_solve_rt, .multiply = rf_dense_system_multiply_rt, \
  .rounding = rf_dense_system_rounding_rt,                                              \
  .stiffness_per_mass = rf_dense_system_stiffness_per_mass_rt,                          \
  .dense = rf_dense_system_matrices_rt

#endif
