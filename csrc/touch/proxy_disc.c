// A disc on a triangle, in closed form: the circle is cut at the sides, and each side adds the
// signed area between it, or the circle where it is outside, and the centre.
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_tables.h"

// Area and first moments.
typedef struct moments {
  double area, x, y;
} moments;

static void add_triangle(const double a[2], const double b[2], moments *m) {
  const double area = 0.5 * (a[0] * b[1] - a[1] * b[0]);
  m->area += area;
  m->x += area * (a[0] + b[0]) / 3.0;
  m->y += area * (a[1] + b[1]) / 3.0;
}

// Adds the sector between the directions of a and b, less than half a turn apart.
static void add_sector(const double a[2], const double b[2], double radius, moments *m) {
  const double la = hypot(a[0], a[1]), lb = hypot(b[0], b[1]);
  if (!(la > 0.0 && lb > 0.0)) return;
  const double turn = atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]);
  const double third = radius * radius * radius / 3.0;
  m->area += 0.5 * radius * radius * turn;
  m->x += third * (b[1] / lb - a[1] / la);
  m->y += third * (a[0] / la - b[0] / lb);
}

static void add_side(const double a[2], const double b[2], double radius, moments *m) {
  const double way[2] = {b[0] - a[0], b[1] - a[1]};
  const double square = way[0] * way[0] + way[1] * way[1], half = a[0] * way[0] + a[1] * way[1];
  const double rest = half * half - square * (a[0] * a[0] + a[1] * a[1] - radius * radius);
  const double root = rest > 0.0 ? sqrt(rest) : 0.0;
  const double begin = fmax((-half - root) / square, 0.0), end = fmin((-half + root) / square, 1.0);
  if (!(rest > 0.0 && begin < end)) {
    add_sector(a, b, radius, m);
    return;
  }
  double in[2], out[2];
  for (int i = 0; i < 2; ++i) {
    in[i] = a[i] + begin * way[i];
    out[i] = a[i] + end * way[i];
  }
  if (begin > 0.0) add_sector(a, in, radius, m);
  add_triangle(in, out, m);
  if (end < 1.0) add_sector(out, b, radius, m);
}

void rf_tip_disc_part(const double *const corner[3], const double normal[3], const double centre[3],
                      double radius_m, double integral[3]) {
  double u[3], v[3], to[3], p[3][2];
  moments m = {0};
  memset(integral, 0, 3 * sizeof *integral);
  rf_vec3_sub(centre, corner[0], to);
  const double away = rf_vec3_dot(to, normal);
  if (!(fabs(away) < radius_m)) return;
  const double radius = sqrt(radius_m * radius_m - away * away);
  rf_vec3_tangents(normal, u, v);
  for (int k = 0; k < 3; ++k) {
    rf_vec3_sub(corner[k], centre, to);
    p[k][0] = rf_vec3_dot(to, u);
    p[k][1] = rf_vec3_dot(to, v);
  }
  for (int k = 0; k < 3; ++k) add_side(p[k], p[(k + 1) % 3], radius, &m);
  const double twice =
      (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]);
  // the function of corner k is 1 there and 0 on the side from a to b
  for (int k = 0; k < 3; ++k) {
    const double *a = p[(k + 1) % 3], *b = p[(k + 2) % 3];
    const double value = a[0] * b[1] - a[1] * b[0];
    integral[k] = fmax(value * m.area + (a[1] - b[1]) * m.x + (b[0] - a[0]) * m.y, 0.0) / twice;
  }
}
