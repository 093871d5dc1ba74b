// With z = d h / 2 and s^2 = lambda h^2 - z^2 the solution consists of e^-z cos s, e^-z sin s / s
// and c_2 = (1 - e^-z (cos s + z sin s / s)) / (lambda h^2), entire functions of lambda.
#include "dynamics/exponential.h"

#include <math.h>

static const double SERIES = 1e-2;   // |s^2| below which sin s / s is summed
static const double INTEGRAL = 0.3;  // |lambda| h^2 below which c_2 is integrated
static const double PIECE = 4.0;     // z of a piece of that integral
enum { POINTS = 6, MOST_PIECES = 64 };

// Gauss-Legendre points and weights of [-1, 1]; the other half is symmetric.
static const double POINT[POINTS] = {
    0.125233408511468915472441369464, 0.367831498998180193752691536644,
    0.587317954286617447296702418941, 0.769902674194304687036893833213,
    0.904117256370474856678465866119, 0.981560634246719250690549090149};
static const double WEIGHT[POINTS] = {
    0.249147045813402785000562436043, 0.233492536538354808760849898925,
    0.203167426723065921749064455810, 0.160078328543346226334652529543,
    0.106939325995318430960254718194, 0.047175336386511827194615961485};

// cos s and sin s / s by s^2, for s^2 < 0 both times e^-z, with z - |s| known without cancellation
typedef struct waves {
  double cosine, sine;
} waves;

static waves waves_of(double square, double z, double less) {
  if (fabs(square) < SERIES) {
    const double damped = exp(-z), x = square;
    return (waves){
        damped * (1.0 - x / 2.0 * (1.0 - x / 12.0 * (1.0 - x / 30.0 * (1.0 - x / 56.0)))),
        damped * (1.0 - x / 6.0 * (1.0 - x / 20.0 * (1.0 - x / 42.0 * (1.0 - x / 72.0))))};
  }
  const double s = sqrt(fabs(square));
  if (square > 0.0) return (waves){exp(-z) * cos(s), exp(-z) * sin(s) / s};
  const double slow = exp(-less), fast = exp(-z - s);
  return (waves){0.5 * (slow + fast), 0.5 * (slow - fast) / s};
}

// z - |s| where s^2 = stiff - z^2 is negative
static double less_of(double stiff, double square, double z) {
  return square < 0.0 ? stiff / (z + sqrt(-square)) : 0.0;
}

static waves waves_at(double stiff, double z) {
  const double square = stiff - z * z;
  return waves_of(square, z, less_of(stiff, square, z));
}

// c_2 = integral of  t e^(-z t) sin(s t) / (s t) t  over t in (0, 1)
static double integrate(double stiff, double z) {
  const int pieces = 1 + (int)fmin(fabs(z) / PIECE, MOST_PIECES - 1.0);
  const double half = 0.5 / pieces;
  double sum = 0.0;
  for (int p = 0; p < pieces; ++p)
    for (int k = 0; k < 2 * POINTS; ++k) {
      const double x = k < POINTS ? POINT[k] : -POINT[k - POINTS];
      const double t = half * (2 * p + 1 + x);
      sum += half * WEIGHT[k % POINTS] * t * waves_at(stiff * t * t, z * t).sine;
    }
  return sum;
}

rf_exponential rf_exponential_mode_rt(double lambda, double alpha, double beta, double h) {
  const double d = alpha + beta * lambda, z = 0.5 * d * h, stiff = lambda * h * h;
  const waves at = waves_at(stiff, z);
  const double second =
      fabs(stiff) < INTEGRAL ? integrate(stiff, z) : (1.0 - at.cosine - z * at.sine) / stiff;
  return (rf_exponential){.of_v = {h * (at.sine + d * h * second), -stiff * second},
                          .of_a = {h * h * second, h * at.sine}};
}
