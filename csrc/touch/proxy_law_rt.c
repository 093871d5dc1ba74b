// The laws of one contact point with friction, in closed form but for an angle.
//
// In the frame (n, t1, t2) with the compliance W, a slipping contact has the force p (-1, mu e) on
// the body, e a unit vector in the tangential plane.  The normal condition gives
//     p = -d_n / (W_nn - mu W_nt.e),
// and e is along the slip s = d_t - (W f)_t.  The angle of e is found by Newton's method on the
// part of s across e.
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy.h"

enum { NEWTON = 24, DIRECTIONS = 16, HALVINGS = 60 };
static const double TURN = 0.5;       // largest step of Newton's method
static const double SETTLED = 1e-14;  // of the angle
typedef struct slip {
  double p, slope;                // normal force, and its change with the angle
  double along, across, turning;  // parts of the slip, and the change of that across
} slip;

static slip at_direction(const double c[9], double mu, const double d[3], const double e[2]) {
  const double across[2] = {-e[1], e[0]};
  const double coupled = mu * (c[1] * e[0] + c[2] * e[1]);
  const double with = fmax(c[0] - coupled, RF_TIP_JAMMED * c[0]);
  const bool free = c[0] - coupled > RF_TIP_JAMMED * c[0];
  slip out = {.p = -d[0] / with};
  out.slope = free ? out.p * mu * (c[1] * across[0] + c[2] * across[1]) / with : 0.0;
  double s[2], change[2];
  for (int i = 0; i < 2; ++i) {
    const double *row = c + 3 * (i + 1);
    const double per = -row[0] + mu * (row[1] * e[0] + row[2] * e[1]);
    s[i] = d[i + 1] - out.p * per;
    change[i] = -out.slope * per - out.p * mu * (row[1] * across[0] + row[2] * across[1]);
  }
  out.along = s[0] * e[0] + s[1] * e[1];
  out.across = s[0] * across[0] + s[1] * across[1];
  out.turning = change[0] * across[0] + change[1] * across[1] - out.along;
  return out;
}

// Turns e by the angle whose tangent is t.
static void turn(double t, double e[2]) {
  const double scale = 1.0 / sqrt(1.0 + t * t), x = e[0];
  e[0] = scale * (x - t * e[1]);
  e[1] = scale * (e[1] + t * x);
}

// Newton's method from e; false: it did not settle on a direction of the slip.
static bool settle(const double c[9], double mu, const double d[3], double e[2]) {
  for (int k = 0; k < NEWTON; ++k) {
    const slip now = at_direction(c, mu, d, e);
    double t = now.turning < 0.0 ? -now.across / now.turning : copysign(TURN, now.across);
    t = fmin(fmax(t, -TURN), TURN);
    turn(t, e);
    if (fabs(t) <= SETTLED) return now.along >= 0.0;
  }
  // rounding of large numbers: the step no longer shrinks
  const slip last = at_direction(c, mu, d, e);
  return last.along > 0.0 && fabs(last.across) <= 1e-9 * last.along;
}

// Bisects between two directions of a circle where the part across changes its sign.
static void bisect(const double c[9], double mu, const double d[3], double e[2]) {
  static const double STEP = 0.39269908169872414;  // 2 pi / DIRECTIONS
  const double begin = atan2(e[1], e[0]);
  double best = -INFINITY;
  for (int k = 0; k < DIRECTIONS; ++k) {
    double low = begin + k * STEP, high = low + STEP, one[2] = {cos(low), sin(low)};
    if (!(at_direction(c, mu, d, one).across > 0.0)) continue;
    one[0] = cos(high), one[1] = sin(high);
    if (at_direction(c, mu, d, one).across > 0.0) continue;
    for (int n = 0; n < HALVINGS; ++n) {
      const double half = 0.5 * (low + high);
      one[0] = cos(half), one[1] = sin(half);
      if (at_direction(c, mu, d, one).across > 0.0)
        low = half;
      else
        high = half;
    }
    const double along = at_direction(c, mu, d, one).along;
    if (along <= best) continue;
    best = along;
    memcpy(e, one, sizeof one);
  }
}

static bool unit(const double v[2], double e[2]) {
  const double length = sqrt(v[0] * v[0] + v[1] * v[1]);
  if (!(length > 0.0)) return false;
  e[0] = v[0] / length, e[1] = v[1] / length;
  return true;
}

rf_tip_state rf_tip_law_rt(const double c[9], const double inverse[9], double mu, const double d[3],
                           double f[3], double slip_m[3]) {
  memset(f, 0, 3 * sizeof *f);
  memset(slip_m, 0, 3 * sizeof *slip_m);
  if (!(d[0] < 0.0)) return RF_TIP_OPEN;
  for (int i = 0; i < 3; ++i) f[i] = rf_vec3_dot(inverse + 3 * i, d);
  if (f[1] * f[1] + f[2] * f[2] <= mu * mu * f[0] * f[0] && f[0] < 0.0) return RF_TIP_STICKS;
  double e[2] = {1.0, 0.0};
  if (mu > 0.0) {
    if (!unit(f + 1, e)) (void)unit(d + 1, e);
    const double first[2] = {e[0], e[1]};
    if (!settle(c, mu, d, e)) {
      memcpy(e, first, sizeof first);
      bisect(c, mu, d, e);
    }
  }
  const double p = at_direction(c, mu, d, e).p;
  f[0] = -p, f[1] = mu * p * e[0], f[2] = mu * p * e[1];
  // the normal part of the residual is rounding, or the bound of a jammed contact
  for (int i = 1; i < 3; ++i) slip_m[i] = d[i] - rf_vec3_dot(c + 3 * i, f);
  return RF_TIP_SLIPS;
}
