// Body of the variants of repel.h.  Needs RF_WIDTH 4 and RF_NAME (linalg/simd.h).
//
// Most points in the neighbouring cells are out of reach: a distance test rejects them, four at a
// time, and only the rest is processed.  Contraction of products and sums is off, so all variants
// give the same bits.
#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")
#endif
#include <stdbool.h>

#include "linalg/simd_body.h"
#include "pointshell/repel.h"

enum { NEAR = 256 };  // points within reach processed at once

typedef struct sum {
  const rf_repel_points *p;
  int32_t self;
  rf_v4 place[3], normal[3];  // position and normal of the point, in all lanes
  rf_v4 force[3], stiffness;  // sums per lane
  double tie;                 // force between coincident points
} sum;

RF_INLINE unsigned bits4(rf_m4 mask) {
#ifdef __AVX__
  return (unsigned)__builtin_ia32_movmskpd256((rf_v4)mask);
#else
  return (mask[0] ? 1u : 0) | (mask[1] ? 2u : 0) | (mask[2] ? 4u : 0) | (mask[3] ? 8u : 0);
#endif
}

typedef int32_t rf_i4 __attribute__((vector_size(16)));

// The set lanes of a mask, lowest first.
static const rf_i4 LANES[16] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0},
                                {2, 0, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 2, 0},
                                {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0},
                                {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};

RF_INLINE rf_v4 only(rf_m4 mask, rf_v4 x) { return (rf_v4)(mask & (rf_m4)x); }

// Adds the forces of four points within reach, given by their positions.
RF_INLINE void add_four(sum *s, const int32_t *near) {
  const double inverse = 1.0 / s->p->reach;
  rf_v4 x[4], n[4];
  for (int i = 0; i < 4; ++i) {
    x[i] = rf_load4(s->p->point + 8 * (size_t)near[i]);
    n[i] = rf_load4(s->p->point + 8 * (size_t)near[i] + 4);
  }
  rf_transpose4(x);
  rf_transpose4(n);
  rf_v4 d[3];
  for (int a = 0; a < 3; ++a) d[a] = s->place[a] - x[a];
  const rf_v4 square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  // no force across a thin part, a reduced one across an acute edge
  const rf_v4 turn = s->normal[0] * n[0] + s->normal[1] * n[1] + s->normal[2] * n[2];
  const rf_m4 self = (rf_m4){near[0], near[1], near[2], near[3]} == (int64_t)s->self;
  const rf_m4 in = (rf_m4)(turn > RF_SAME_SIDE) & ~self;
  const rf_v4 side = rf_least4(1.0 - turn * (1.0 / RF_SAME_SIDE), rf_splat(1.0));
  const rf_v4 distance = rf_root4(square), t = distance * inverse;
  const rf_v4 push = side * (t * t * (2.0 * t - 3.0) + 1.0);
  s->stiffness += only(in, side * (6.0 * inverse) * t * (1.0 - t));
  const rf_m4 apart = in & (rf_m4)(square > 0.0);
  const rf_v4 part = only(apart, push / distance);
  for (int a = 0; a < 3; ++a) s->force[a] += part * d[a];
  // of two coincident points the one with the higher number moves
  for (unsigned same = bits4(in & ~apart); same; same &= same - 1) {
    const int i = __builtin_ctz(same);
    if (s->p->item[s->self] > s->p->item[near[i]]) s->tie += push[i];
  }
}

static void add_near(sum *s, int count, int32_t *near) {
  // padding with the point itself adds nothing
  for (int i = count; i % 4 != 0; ++i) near[i] = s->self;
  for (int i = 0; i < count; i += 4) add_four(s, near + i);
}

double RF_NAME(rf_repel)(const rf_repel_points *p, int32_t self, double force[3]) {
  sum s = {.p = p, .self = self};
  for (int a = 0; a < 3; ++a) {
    s.place[a] = rf_splat(p->point[8 * (size_t)self + (size_t)a]);
    s.normal[a] = rf_splat(p->point[8 * (size_t)self + 4 + (size_t)a]);
  }
  const rf_v4 reach2 = rf_splat(p->reach * p->reach);
  int32_t near[NEAR + 4];
  int count = 0;
  for (int32_t r = 0; r < p->n_runs; ++r)
    for (int32_t k = p->run[r].begin; k < p->run[r].end; k += 4) {
      const rf_v4 x = s.place[0] - rf_load4(p->at[0] + k), y = s.place[1] - rf_load4(p->at[1] + k),
                  z = s.place[2] - rf_load4(p->at[2] + k);
      unsigned in = bits4((rf_m4)(x * x + y * y + z * z < reach2));
      if (p->run[r].end - k < 4) in &= (1u << (p->run[r].end - k)) - 1;
      // branch-free: nearness is not predictable
      const rf_i4 some = LANES[in] + k;
      memcpy(near + count, &some, sizeof some);
      count += __builtin_popcount(in);
      if (count < NEAR - 3) continue;
      add_near(&s, count, near);
      count = 0;
    }
  add_near(&s, count, near);
  for (int a = 0; a < 3; ++a) {
    const rf_v4 f = s.force[a];
    force[a] = (f[0] + f[1]) + (f[2] + f[3]);
  }
  force[p->item[self] % 3] += s.tie;
  return 0.5 * ((s.stiffness[0] + s.stiffness[1]) + (s.stiffness[2] + s.stiffness[3]));
}
