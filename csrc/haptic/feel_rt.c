#include "haptic/feel.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

static const double SLOWER_S = 0.02;

void rf_feel_add_rt(rf_feel *feel, double dt_s, const double force[3], bool touching,
                    bool saturated) {
  const double part = -expm1(-dt_s / SLOWER_S);
  double fast[3];
  memcpy(fast, force, sizeof fast);
  if (!feel->begun) memcpy(feel->slow[0], force, sizeof feel->slow[0]);
  feel->begun = true;
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 3; ++i) {
      feel->slow[k][i] += part * (fast[i] - feel->slow[k][i]);
      fast[i] -= feel->slow[k][i];
    }
  if (!touching) return;
  ++feel->touching;
  feel->saturated += saturated;
  feel->squares += rf_vec3_dot(fast, fast);
  feel->sum += rf_vec3_length(force);
}

double rf_feel_chatter_rt(const rf_feel *feel) {
  return feel->touching ? sqrt(feel->squares / (double)feel->touching) : 0.0;
}

double rf_feel_mean_rt(const rf_feel *feel) {
  return feel->touching ? feel->sum / (double)feel->touching : 0.0;
}
