// Systems of dense matrices.  Their kinds differ in how they evaluate.
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
  double *damping;      // D~(x), with strain-rate damping; all damping, inside  (r, ld)
  double *factor;       // of implicit steps, and of damping inside              (r, ld)
  double factor_s;      // length of the step of that factor, inside; 0: none
  double *product;      // of a matrix with a vector               (ld)
} rf_dense_system;

// Takes the arrays of a system of r coordinates.
void rf_system_dense_layout(rf_dense_system *s, int32_t r, rf_system_steps steps, bool damping,
                            rf_arena *a);  // damping: with D~, or damping inside
// Copies the mass (r, r) and factors it where steps need that.  s->base is set.
RF_MUST_CHECK rf_status rf_system_dense_set_mass(rf_dense_system *s, const double *mass,
                                                 rf_error *err);

// True if steps with this damping take it inside.
bool rf_system_dense_inside(const rf_system_damping *damping);
// Takes the damping inside, for K(0) in s->stiffness and D(0), or zero, in s->damping.
void rf_system_dense_take_inside(rf_dense_system *s, const rf_system_damping *damping);

// Operations of system.h.  In a system with D, s->damping is that of the last evaluation.
rf_status rf_system_dense_balance_rt(rf_system *s, const double *x, const double *v,
                                     const double *w, const double *force, const double *load,
                                     double *out);
rf_status rf_system_dense_factorize_rt(rf_system *s, double mass, double stiffness, double damping,
                                       const double *added);
rf_status rf_system_dense_solve_rt(rf_system *s, const double *b, double *x);
void rf_system_dense_half_solve_rt(rf_system *s, int32_t ld, double *b);
rf_status rf_system_dense_mass_solve_rt(rf_system *s, const double *b, double *x);
rf_status rf_system_dense_damp_rt(rf_system *s, const double *v, double *out);
rf_status rf_system_dense_damped_solve_rt(rf_system *s, double dt_s, const double *b, double *x);
rf_status rf_system_dense_multiply_rt(rf_system *s, const double *x, double *out);
double rf_system_dense_rounding_rt(const rf_system *s, const double *x);
double rf_system_dense_stiffness_per_mass_rt(const rf_system *s);
rf_system_dense rf_system_dense_matrices_rt(const rf_system *s);

// Their entries of a table of operations.
#define RF_SYSTEM_DENSE_OPERATIONS                                                          \
  .balance = rf_system_dense_balance_rt, .factorize = rf_system_dense_factorize_rt,         \
  .solve = rf_system_dense_solve_rt, .half_solve = rf_system_dense_half_solve_rt,           \
  .mass_solve = rf_system_dense_mass_solve_rt, .damp = rf_system_dense_damp_rt,             \
  .damped_solve = rf_system_dense_damped_solve_rt, .multiply = rf_system_dense_multiply_rt, \
  .rounding = rf_system_dense_rounding_rt,                                                  \
  .stiffness_per_mass = rf_system_dense_stiffness_per_mass_rt,                              \
  .dense = rf_system_dense_matrices_rt

#endif
