// Body of the variants of packet.h.  Needs RF_WIDTH 4 and RF_NAME (linalg/simd.h).
#include <math.h>
#include <stdbool.h>

#include "linalg/simd_body.h"
#include "sdf/packet.h"

enum { COLUMNS = RF_PACKET * RF_PACKET };  // vectors per packet

typedef struct work {
  rf_v4 best[COLUMNS];
  rf_m4 nearest[COLUMNS];
  rf_v4 z;
  const rf_packet *p;
} work;

RF_INLINE rf_v4 choose(rf_m4 mask, rf_v4 yes, rf_v4 no) {
  return (rf_v4)((mask & (rf_m4)yes) | (~mask & (rf_m4)no));
}

// Computes the squared distance from a side: vector (wx, wy, wz) from its begin, side (ex, ey, ez),
// the product of the two, inverse squared length.
RF_INLINE rf_v4 side_square(double wx, double wy, rf_v4 wz, double ex, double ey, double ez,
                            rf_v4 along, double inverse) {
  const rf_v4 t = rf_least4(rf_most4(along * rf_splat(inverse), rf_splat(0.0)), rf_splat(1.0));
  const rf_v4 dx = rf_splat(wx) - t * rf_splat(ex), dy = rf_splat(wy) - t * rf_splat(ey),
              dz = wz - t * rf_splat(ez);
  return dx * dx + dy * dy + dz * dz;
}

static void test_triangle(work *w, const rf_closest_triangle *t, int64_t at, unsigned active) {
  const double *ab = t->ab, *ac = t->ac, *n = t->normal, *u = t->u, *v = t->v;
  const double bc[3] = {ac[0] - ab[0], ac[1] - ab[1], ac[2] - ab[2]};
  const rf_v4 wz = w->z - rf_splat(t->a[2]), vz = wz - rf_splat(ab[2]);
  const rf_v4 hz = wz * rf_splat(n[2]), uz = wz * rf_splat(u[2]), vvz = wz * rf_splat(v[2]);
  const rf_v4 abz = wz * rf_splat(ab[2]), acz = wz * rf_splat(ac[2]), bcz = vz * rf_splat(bc[2]);
  const bool flat = t->one < 0.0;
  for (unsigned left = active; left; left &= left - 1) {
    const int column = __builtin_ctz(left);
    const double wx = w->p->x[column >> 2] - t->a[0], wy = w->p->y[column & 3] - t->a[1];
    const rf_v4 best = w->best[column];
    const rf_v4 height = hz + rf_splat(n[0] * wx + n[1] * wy);
    const rf_v4 above = height * height;
    // all points of the triangle are at least as far as its plane
    if (!flat && !rf_any4((rf_m4)(above < best))) continue;
    const rf_v4 a = uz + rf_splat(u[0] * wx + u[1] * wy), b = vvz + rf_splat(v[0] * wx + v[1] * wy);
    const rf_m4 inside = (rf_m4)(a >= 0.0) & (rf_m4)(b >= 0.0) & (rf_m4)(a + b <= t->one);
    const double vx = wx - ab[0], vy = wy - ab[1];
    const rf_v4 sab = side_square(wx, wy, wz, ab[0], ab[1], ab[2],
                                  abz + rf_splat(ab[0] * wx + ab[1] * wy), t->iab);
    const rf_v4 sac = side_square(wx, wy, wz, ac[0], ac[1], ac[2],
                                  acz + rf_splat(ac[0] * wx + ac[1] * wy), t->iac);
    const rf_v4 sbc = side_square(vx, vy, vz, bc[0], bc[1], bc[2],
                                  bcz + rf_splat(bc[0] * vx + bc[1] * vy), t->ibc);
    const rf_v4 square = choose(inside, above, rf_least4(rf_least4(sab, sac), sbc));
    const rf_m4 nearer = (rf_m4)(square < best);
    w->best[column] = rf_least4(square, best);
    w->nearest[column] = (nearer & (at - (rf_m4){0})) | (~nearer & w->nearest[column]);
  }
}

// Distances of coordinates from an interval.
RF_INLINE rf_v4 beside(rf_v4 x, double low, double high) {
  return rf_most4(rf_most4(rf_splat(low) - x, x - rf_splat(high)), rf_splat(0.0));
}

// Returns the columns with points that may be nearer to a box than to their nearest triangle so
// far.
RF_INLINE unsigned columns_near(const work *w, const double *box, unsigned active) {
  double dx[RF_PACKET], dy[RF_PACKET];
  const rf_v4 x = beside(rf_load4(w->p->x), box[0], box[3]),
              y = beside(rf_load4(w->p->y), box[1], box[4]), z = beside(w->z, box[2], box[5]);
  rf_store4(dx, x * x);
  rf_store4(dy, y * y);
  const rf_v4 zz = z * z;
  unsigned near = 0;
  for (unsigned left = active; left; left &= left - 1) {
    const int column = __builtin_ctz(left);
    if (rf_any4((rf_m4)(zz + rf_splat(dx[column >> 2] + dy[column & 3]) < w->best[column])))
      near |= 1u << column;
  }
  return near;
}

void RF_NAME(rf_packet)(const rf_closest *c, rf_packet *p) {
  const rf_bvh *b = &c->bvh;
  const double middle[3] = {0.5 * (p->x[0] + p->x[3]), 0.5 * (p->y[0] + p->y[3]),
                            0.5 * (p->z[0] + p->z[3])};
  work w = {.z = rf_load4(p->z), .p = p};
  const unsigned all = (1u << COLUMNS) - 1;
  for (int k = 0; k < COLUMNS; ++k) {
    w.best[k] = rf_splat(INFINITY);
    w.nearest[k] = (rf_m4){0};
  }
  for (int32_t s = 0; s < p->n_seeds; ++s)
    test_triangle(&w, &c->triangle[p->seed[s]], p->seed[s], all);

  struct {
    int32_t node;
    unsigned active;
  } stack[RF_BVH_STACK];
  int depth = 0;
  stack[depth].node = 0;
  stack[depth++].active = all;
  while (depth > 0) {
    --depth;
    const int32_t node = stack[depth].node;
    const unsigned active = columns_near(&w, b->box + 6 * (size_t)node, stack[depth].active);
    if (!active) continue;
    if (b->count[node] == 0) {
      const int32_t child = b->first[node];
      const bool second = rf_box_distance2(b->box + 6 * (size_t)child, middle) >
                          rf_box_distance2(b->box + 6 * (size_t)(child + 1), middle);
      stack[depth].node = second ? child : child + 1;
      stack[depth++].active = active;
      stack[depth].node = second ? child + 1 : child;
      stack[depth++].active = active;
      continue;
    }
    for (int32_t at = b->first[node]; at < b->first[node] + b->count[node]; ++at)
      test_triangle(&w, &c->triangle[at], at, active);
  }
  for (int k = 0; k < COLUMNS; ++k) {
    rf_store4(p->square + 4 * k, w.best[k]);
    memcpy(p->nearest + 4 * k, &w.nearest[k], sizeof w.nearest[k]);
  }
  // triangles near the far end of this packet are likely to be near the next one
  static const int seeds[RF_PACKET_SEEDS] = {3, 15, 51, 63};
  p->n_seeds = 0;
  for (int s = 0; s < RF_PACKET_SEEDS; ++s) {
    const int32_t at = (int32_t)p->nearest[seeds[s]];
    bool known = false;
    for (int32_t k = 0; k < p->n_seeds; ++k) known = known || p->seed[k] == at;
    if (!known) p->seed[p->n_seeds++] = at;
  }
}
