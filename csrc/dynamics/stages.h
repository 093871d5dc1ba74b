// Tables of stages (scheme.h) of the form
//   (x, vel) = u^ + c (vel, acc),   u^ = (q^, v^) known.
#ifndef RF_DYNAMICS_STAGES_H
#define RF_DYNAMICS_STAGES_H

#include "dynamics/scheme.h"

// u^ = u + part times the change of a term, which is RF_STAGE_STEP.
static inline void rf_scheme_follow(double c, rf_stage_term of, double part, rf_stage *out) {
  out->velocity[RF_STAGE_CHANGE] = 1.0 / c;
  out->velocity[of] = -part / c;
  out->acceleration[RF_STAGE_CHANGE] = 1.0 / (c * c);
  out->acceleration[of] = -part / (c * c);
  out->acceleration[of + 1] = -part / c;
  out->acceleration[RF_STAGE_VELOCITY] = -1.0 / c;
}

// The same with the change of the first stage, at whose end this one begins.
static inline void rf_scheme_continue(double c, double part, rf_stage *out) {
  rf_scheme_follow(c, RF_STAGE_PART, part, out);
  out->velocity[RF_STAGE_PART] += 1.0 / c;
  out->acceleration[RF_STAGE_PART] += 1.0 / (c * c);
}

// u^ = u + c (v, M^-1 F): the trapezoidal rule over 2 c.  acc contains M^-1 F, which
// `carried` puts on the other side.
static inline void rf_scheme_trapezoidal(double c, rf_stage *out) {
  out->velocity[RF_STAGE_CHANGE] = 1.0 / c;
  out->velocity[RF_STAGE_VELOCITY] = -1.0;
  out->acceleration[RF_STAGE_CHANGE] = 1.0 / (c * c);
  out->acceleration[RF_STAGE_VELOCITY] = -2.0 / c;
  out->carried = 1.0;
}

#endif
