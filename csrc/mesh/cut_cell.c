#include "mesh/cut_cell.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

static const double FLAT = 1e-8;        // smaller components of a normal count as zero
static const double ON_SURFACE = 1e-9;  // in sub-cells; smaller distances define no direction
static const double ROUNDING = 1e-9;    // rounding error of a filled fraction
static const double UNSURE = 0.1;       // deviation of winding numbers from integers near holes
static const double CREASE = 0.3;       // change of the normal between sub-cells at creases
enum { CREASE_DEPTH = 1 };              // subdivisions of sub-cells at creases
static const double BEYOND = 0.05;      // in sub-cells: distance past the mirror image of a centre
static const double BEHIND = 0.75;      // in sub-cells: distance past the surface, usually uncut
static const double TOUCH = 1e-9;       // relative enlargement of balls
static const double HALF_DIAGONAL = 0.86602540378443864676;

double rf_cube_below(const double n[3], double d) {
  double m[3] = {fabs(n[0]), fabs(n[1]), fabs(n[2])};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2 - i; ++j)
      if (m[j] > m[j + 1]) {
        const double t = m[j];
        m[j] = m[j + 1];
        m[j + 1] = t;
      }
  const double sum = m[0] + m[1] + m[2];
  for (int i = 0; i < 3; ++i) m[i] = m[i] < FLAT * sum ? 0.0 : m[i] / sum;
  // distance of the plane from the lowest corner; by symmetry only the smaller part is computed
  const double whole = 0.5 + d / sum;
  if (whole <= 0.0) return 0.0;
  if (whole >= 1.0) return 1.0;
  const double a = whole > 0.5 ? 1.0 - whole : whole, m12 = m[0] + m[1];
  double v;
  if (a < m[0]) {
    v = a * a * a / (6.0 * m[0] * m[1] * m[2]);
  } else if (a < m[1]) {
    v = (a * (a - m[0]) + m[0] * m[0] / 3.0) / (2.0 * m[1] * m[2]);
  } else if (a < fmin(m12, m[2])) {
    v = (a * a * (3.0 * m12 - a) + m[0] * m[0] * (m[0] - 3.0 * a) +
         m[1] * m[1] * (m[1] - 3.0 * a)) /
        (6.0 * m[0] * m[1] * m[2]);
  } else if (m[2] < m12) {
    v = a * a * (3.0 - 2.0 * a);
    for (int i = 0; i < 3; ++i) v += m[i] * m[i] * (m[i] - 3.0 * a);
    v /= 6.0 * m[0] * m[1] * m[2];
  } else {
    v = (2.0 * a - m12) / (2.0 * m[2]);
  }
  return whole > 0.5 ? 1.0 - v : v;
}

// A sub-cell; lengths in units of its edge.
typedef struct sub {
  double radius;     // of a surface-free ball around the centre
  double normal[3];  // unit, towards the nearest point of a surface that may cut it
  bool near, inside;
  short parent;  // union-find parent among sub-cells of the same sign
} sub;

typedef struct cell {
  const rf_closest *closest;
  const rf_winding *winding;
  double low[3];  // lowest corner, m
  double h;       // edge of a sub-cell, m
  sub sub[RF_CUT_SUBS];
} cell;

static void centre_of(const cell *c, int at, double x[3]) {
  const int place[3] = {at % RF_CUT_SUB, at / RF_CUT_SUB % RF_CUT_SUB,
                        at / (RF_CUT_SUB * RF_CUT_SUB)};
  for (int i = 0; i < 3; ++i) x[i] = c->low[i] + (place[i] + 0.5) * c->h;
}

// Computes the unit vector towards the nearest point of the surface.
static void unit_normal(const cell *c, const double x[3], const rf_closest_place *p, double n[3]) {
  double way[3];
  rf_vec3_sub(p->place, x, way);
  // on the surface that vector is zero: use the normal instead
  const double *along = p->distance > ON_SURFACE * c->h ? way : p->normal;
  const double length = rf_vec3_length(along);
  for (int i = 0; i < 3; ++i) n[i] = length > 0.0 ? along[i] / length : 0.0;
}

// Marks the sub-cell around x as one that the surface may enter.
static void set_near(cell *c, int at, const double x[3], const rf_closest_place *p) {
  sub *s = &c->sub[at];
  s->near = true;
  s->radius = p->distance / c->h;
  unit_normal(c, x, p, s->normal);
}

// Marks the sub-cells of the block of `width`^3 that begins at `place`. `known` is a lower bound
// for the distance of its centre from the surface, m.
static bool mark_block(cell *c, const int place[3], int width, double known) {
  double x[3];
  for (int i = 0; i < 3; ++i) x[i] = c->low[i] + (place[i] + 0.5 * width) * c->h;
  const double reach = HALF_DIAGONAL * width * c->h * (1.0 + TOUCH);
  rf_closest_place p;
  if (known >= reach || !rf_closest_find(c->closest, x, reach, &p)) return false;
  const int stride[3] = {1, RF_CUT_SUB, RF_CUT_SUB * RF_CUT_SUB};
  if (width == 1) {
    set_near(c, place[0] + place[1] * stride[1] + place[2] * stride[2], x, &p);
    return true;
  }
  const int next = width / 2;
  for (int k = 0; k < 8; ++k) {
    const int at[3] = {place[0] + (k & 1) * next, place[1] + (k >> 1 & 1) * next,
                       place[2] + (k >> 2) * next};
    if (!mark_block(c, at, next, p.distance - 0.5 * reach) && next == 1) {
      const int one = at[0] + at[1] * stride[1] + at[2] * stride[2];
      c->sub[one].radius = HALF_DIAGONAL;
    }
  }
  return true;
}

static int root_of(cell *c, int at) {
  while (c->sub[at].parent != at) at = c->sub[at].parent = c->sub[c->sub[at].parent].parent;
  return at;
}

// Joins sub-cells without surface between them, whose signs agree: far ones, and those with
// overlapping balls.
static void join(cell *c, int a, int b, double way) {
  const sub *s = &c->sub[a], *t = &c->sub[b];
  const bool free = !s->near && !t->near && way <= 1.0;
  if (!free && !(s->radius + t->radius > way * (1.0 + TOUCH))) return;
  const int from = root_of(c, a), to = root_of(c, b);
  c->sub[from > to ? from : to].parent = (short)(from > to ? to : from);
}

static void join_all(cell *c) {
  static const double WAY[4] = {0.0, 1.0, 1.4142135623730951455, 1.7320508075688773};
  for (int at = 0; at < RF_CUT_SUBS; ++at) c->sub[at].parent = (short)at;
  const int n = RF_CUT_SUB;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        // 13 of the 26 neighbours, to visit each pair once
        for (int d = 14; d < 27; ++d) {
          const int a = i + d % 3 - 1, b = j + d / 3 % 3 - 1, e = k + d / 9 - 1;
          if (a < 0 || b < 0 || a >= n || b >= n || e >= n) continue;
          const int steps = (a != i) + (b != j) + (e != k);
          join(c, (k * n + j) * n + i, (e * n + b) * n + a, WAY[steps]);
        }
}

static void find_signs(cell *c) {
  short seed[RF_CUT_SUBS] = {0};
  double w[RF_CUT_SUBS] = {0}, x[3];
  join_all(c);
  for (int at = 0; at < RF_CUT_SUBS; ++at) {
    const int root = root_of(c, at);
    if (root == at || c->sub[at].radius > c->sub[seed[root]].radius) seed[root] = (short)at;
  }
  for (int at = 0; at < RF_CUT_SUBS; ++at) {
    const int root = root_of(c, at);
    if (root == at) {
      centre_of(c, seed[at], x);
      w[at] = rf_winding_at(c->winding, x);
    }
    double own = w[root];
    if (fabs(own - round(own)) > UNSURE && at != seed[root]) {
      centre_of(c, at, x);
      own = rf_winding_at(c->winding, x);
    }
    c->sub[at].inside = own > RF_WINDING_INSIDE;
  }
}

// True if the sign changes behind the nearest point of the surface: by the sub-cell there or, if it
// has the same sign, by the winding number past the mirror image of the centre.
static bool separates(const cell *c, int at) {
  const sub *s = &c->sub[at];
  double x[3], y[3];
  int other = 0;
  bool in_cell = true;
  centre_of(c, at, x);
  for (int i = 2; i >= 0; --i) {
    const double place = floor((x[i] - c->low[i]) / c->h + s->normal[i] * (s->radius + BEHIND));
    in_cell = in_cell && place >= 0.0 && place < RF_CUT_SUB;
    other = other * RF_CUT_SUB + (in_cell ? (int)place : 0);
    y[i] = x[i] + s->normal[i] * (2.0 * s->radius + BEYOND) * c->h;
  }
  if (in_cell && c->sub[other].inside != s->inside) return true;
  return (rf_winding_at(c->winding, y) > RF_WINDING_INSIDE) != s->inside;
}

// Curvature of the surface around a sub-cell, from the gradients of the signed distance there and
// in its neighbours.
typedef struct bend {
  double change;  // largest difference between gradients of neighbours
  double sum;     // sum of principal curvatures, per edge of a sub-cell, positive if convex
} bend;

static bend bend_at(const cell *c, int at) {
  static const int STRIDE[3] = {1, RF_CUT_SUB, RF_CUT_SUB * RF_CUT_SUB};
  const sub *s = &c->sub[at];
  bend b = {0};
  for (int i = 0; i < 3; ++i) {
    const int place = at / STRIDE[i] % RF_CUT_SUB;
    double along = 0.0;
    int count = 0;
    for (int side = -1; side <= 1; side += 2) {
      if (place + side < 0 || place + side >= RF_CUT_SUB) continue;
      const sub *t = s + side * STRIDE[i];
      if (!t->near) continue;
      double change[3];
      for (int k = 0; k < 3; ++k)
        change[k] =
            (t->inside ? t->normal[k] : -t->normal[k]) - (s->inside ? s->normal[k] : -s->normal[k]);
      b.change = fmax(b.change, rf_vec3_length(change));
      along += side * change[i];
      ++count;
    }
    if (count > 0) b.sum += along / count;
  }
  return b;
}

// Returns the filled part of the cube of `width` around x.  The surface lies in direction n at
// distance d, both in sub-cells: one plane cuts the cube, or one plane each of eight parts.
static double fill_cube(const cell *c, const double x[3], double width, const double n[3], double d,
                        bool inside, int depth) {
  if (depth == 0) {
    const double below = rf_cube_below(n, d / width);
    return inside ? below : 1.0 - below;
  }
  const double step = 0.25 * width, way = 0.5 * HALF_DIAGONAL * width;
  double sum = 0.0;
  for (int k = 0; k < 8; ++k) {
    double y[3], normal[3];
    for (int i = 0; i < 3; ++i) y[i] = x[i] + (k >> i & 1 ? step : -step) * c->h;
    rf_closest_place p;
    if (!rf_closest_find(c->closest, y, way * (1.0 + TOUCH) * c->h, &p)) {
      // a surface-free ball around y contains x: same sign
      sum += inside ? 1.0 : 0.0;
      continue;
    }
    const bool same = p.distance / c->h + d > way * (1.0 + TOUCH);
    const bool in = same ? inside : rf_winding_at(c->winding, y) > RF_WINDING_INSIDE;
    unit_normal(c, y, &p, normal);
    sum += fill_cube(c, y, 0.5 * width, normal, p.distance / c->h, in, depth - 1);
  }
  return 0.125 * sum;
}

bool rf_cut_fractions(const rf_closest *closest, const rf_winding *winding, const double centre[3],
                      double edge, double fraction[RF_CUT_SUBS]) {
  const int origin[3] = {0, 0, 0};
  cell c = {.closest = closest, .winding = winding, .h = edge / RF_CUT_SUB};
  for (int i = 0; i < 3; ++i) c.low[i] = centre[i] - 0.5 * edge;
  for (int at = 0; at < RF_CUT_SUBS; ++at) c.sub[at].radius = 0.5;
  if (!mark_block(&c, origin, RF_CUT_SUB, 0.0)) return false;
  find_signs(&c);
  for (int at = 0; at < RF_CUT_SUBS; ++at) {
    const sub *s = &c.sub[at];
    fraction[at] = s->inside ? 1.0 : 0.0;
    if (!s->near || !separates(&c, at)) continue;
    const bend b = bend_at(&c, at);
    if (b.change > CREASE) {
      double x[3];
      centre_of(&c, at, x);
      fraction[at] = fill_cube(&c, x, 1.0, s->normal, s->radius, s->inside, CREASE_DEPTH);
    } else {
      // mean distance of the surface from its tangent plane over the section of the sub-cell
      const double outward = s->inside ? 1.0 : -1.0, gap = b.sum / 24.0;
      const double d = s->inside ? s->radius - gap : -s->radius - gap;
      const double n[3] = {outward * s->normal[0], outward * s->normal[1], outward * s->normal[2]};
      fraction[at] = rf_cube_below(n, d);
    }
    // rounding errors from planes along a face of the sub-cell
    if (fraction[at] < ROUNDING) fraction[at] = 0.0;
    if (fraction[at] > 1.0 - ROUNDING) fraction[at] = 1.0;
  }
  return true;
}
