// Size of the strains of a displacement.
#include <math.h>

#include "fem/fem.h"

enum { HALVINGS = 60 };

// |E|^2 of E = (factor (G + G^T) + factor^2 G^T G) / 2.
static double strain_at(const double *G, double factor) {
  double sum = 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double square = G[i] * G[j] + G[3 + i] * G[3 + j] + G[6 + i] * G[6 + j];
      const double e = 0.5 * factor * (G[3 * i + j] + G[3 * j + i] + factor * square);
      sum += e * e;
    }
  return sum;
}

// Returns the factor, at most `most`, that gives this strain.
static double factor_at(const double *G, double strain, double most) {
  double low = 0.0, high = most;
  if (!(strain_at(G, most) > strain * strain)) return most;
  for (int k = 0; k < HALVINGS; ++k) {
    const double middle = 0.5 * (low + high);
    *(strain_at(G, middle) > strain * strain ? &high : &low) = middle;
  }
  return high;
}

double rf_solid_strain_factor(const rf_solid *s, const double *u, double strain) {
  const int nodes = (int)s->mesh->type;
  double factor = INFINITY;
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const int32_t *corner = s->mesh->elements + (int64_t)nodes * e;
    const double *gradient = rf_solid_gradient(s, e);
    for (int g = 0; g < rf_solid_points(s, e); ++g) {
      double G[9] = {0}, largest = 0.0;
      for (int a = 0; a < nodes; ++a, gradient += 3)
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) G[3 * i + j] += u[3 * (int64_t)corner[a] + i] * gradient[j];
      for (int i = 0; i < 9; ++i) largest = fmax(largest, fabs(G[i]));
      if (!(largest > 0.0)) continue;
      // a pure shear has the strain 4 at most at this factor; a rotation has none
      const double most = fmin(factor, 4.0 * (1.0 + strain) / largest);
      factor = factor_at(G, strain, most);
    }
  }
  return factor;
}
