// A damped oscillator under a constant force, m x'' + b x' + k x = F, advanced exactly.
#ifndef RF_DEVICE_OSCILLATOR_H
#define RF_DEVICE_OSCILLATOR_H

typedef struct rf_oscillator {
  double mass, damping, stiffness;  // kg, N s/m, N/m; or kg m^2, N m s, N m
} rf_oscillator;

// Advances x and v by the time h.  A stiffness of zero is allowed.
void rf_oscillator_step_rt(const rf_oscillator *o, double h, double force, double *x, double *v);

#endif
