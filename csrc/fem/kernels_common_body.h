// Template: included first by kernels_list_body.h, with LANES, TARGET and NAME(x) defined.  No
// include guard, on purpose.
//
// Vector types, gathering of element data and scattering of tangent blocks.

typedef double NAME(vec) __attribute__((vector_size(8 * LANES)));
typedef double NAME(loose) __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
#define VEC NAME(vec)
#define KERNEL static TARGET void
#define INLINE static inline __attribute__((always_inline)) TARGET void

// transposes LANES x LANES, y[lane][k] = x[k][lane], by interleaving single values, then pairs,
// then fours
INLINE NAME(transpose)(const VEC *x, VEC *y) {
#if LANES == 2
  y[0] = (VEC){x[0][0], x[1][0]};
  y[1] = (VEC){x[0][1], x[1][1]};
#elif LANES == 4
  VEC a[4];
  for (int r = 0; r < 4; r += 2) {
    a[r] = (VEC){x[r][0], x[r + 1][0], x[r][2], x[r + 1][2]};
    a[r + 1] = (VEC){x[r][1], x[r + 1][1], x[r][3], x[r + 1][3]};
  }
  for (int c = 0; c < 2; ++c) {
    y[c] = (VEC){a[c][0], a[c][1], a[c + 2][0], a[c + 2][1]};
    y[c + 2] = (VEC){a[c][2], a[c][3], a[c + 2][2], a[c + 2][3]};
  }
#else
  VEC a[8], b[8];
  for (int r = 0; r < 8; r += 2) {
    const VEC p = x[r], q = x[r + 1];
    a[r] = (VEC){p[0], q[0], p[2], q[2], p[4], q[4], p[6], q[6]};
    a[r + 1] = (VEC){p[1], q[1], p[3], q[3], p[5], q[5], p[7], q[7]};
  }
  for (int r = 0; r < 8; r += 4)
    for (int c = 0; c < 2; ++c) {
      const VEC p = a[r + c], q = a[r + c + 2];
      b[r + c] = (VEC){p[0], p[1], q[0], q[1], p[4], p[5], q[4], q[5]};
      b[r + c + 2] = (VEC){p[2], p[3], q[2], q[3], p[6], p[7], q[6], q[7]};
    }
  for (int c = 0; c < 4; ++c) {
    const VEC p = b[c], q = b[c + 4];
    y[c] = (VEC){p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3]};
    y[c + 4] = (VEC){p[4], p[5], p[6], p[7], q[4], q[5], q[6], q[7]};
  }
#endif
}

typedef int64_t NAME(mask) __attribute__((vector_size(8 * LANES)));

// Adds the block of a pair of each lane to its target, transposed if the target is.
INLINE NAME(add_blocks)(VEC *K, int pair, const rf_lane_targets *t) {
  const NAME(mask) turned = *(const NAME(mask) *)(t->turned + pair * LANES);
  double *to[LANES];
  for (int l = 0; l < LANES; ++l) to[l] = (double *)(intptr_t)t->to[pair * LANES + l];
  for (int i = 0; i < 3; ++i)
    for (int j = i + 1; j < 3; ++j) {
      const NAME(mask) swap = ((NAME(mask))K[3 * i + j] ^ (NAME(mask))K[3 * j + i]) & turned;
      K[3 * i + j] = (VEC)((NAME(mask))K[3 * i + j] ^ swap);
      K[3 * j + i] = (VEC)((NAME(mask))K[3 * j + i] ^ swap);
    }
  for (int k = 0; k < 8; k += LANES) {
    VEC y[LANES];
    NAME(transpose)(K + k, y);
    for (int l = 0; l < LANES; ++l) *(NAME(loose) *)(to[l] + k) += y[l];
  }
  for (int l = 0; l < LANES; ++l) to[l][8] += K[8][l];
}

typedef int32_t NAME(entries) __attribute__((vector_size(4 * LANES)));

KERNEL NAME(find)(const rf_solid *s, int32_t place, double *tangent, rf_lane_targets *t) {
  const int nodes = (int)s->mesh->type, pairs = nodes * (nodes + 1) / 2;
  const int32_t *upper = s->upper + rf_solid_upper_at(s, place, 0, 0);
  for (int k = 0; k < pairs * LANES; k += LANES) {
    NAME(entries) entries;
    memcpy(&entries, upper + k, sizeof entries);
    const NAME(mask) wide = __builtin_convertvector(entries, NAME(mask)), turned = wide < 0;
    const NAME(mask) entry = wide ^ turned;
    *(NAME(mask) *)(t->turned + k) = turned;
    // 72 bytes per block
    *(NAME(mask) *)(t->to + k) = (int64_t)(intptr_t)tangent + (entry << 6) + (entry << 3);
  }
}

// Gathers by component: to[k] = p[lane][k] of all lanes.
INLINE NAME(gather)(const double *const *p, int count, VEC *to) {
  for (int k = 0; k < count && count >= LANES; k += LANES) {
    // the last whole vector may overlap the previous one
    const int at = k + LANES <= count ? k : count - LANES;
    VEC x[LANES];
    for (int l = 0; l < LANES; ++l) x[l] = *(const NAME(loose) *)(p[l] + at);
    NAME(transpose)(x, to + at);
  }
  if (count >= LANES) return;
  for (int k = 0; k < count; ++k)
    for (int l = 0; l < LANES; ++l) to[k][l] = p[l][k];
}

// Gathers the components of node a of each lane.
INLINE NAME(gather_node)(const rf_solid *s, const int32_t *places, int nodes, int a,
                         const double *x, VEC *to) {
  const double *p[LANES];
  for (int l = 0; l < LANES; ++l)
    p[l] = x + 3 * (int64_t)s->corners[(int64_t)places[l] * nodes + a];
  NAME(gather)(p, 3, to);
}

// Gathers x_a - x_0 for the nodes a >= 1 of each lane, which removes translations before rounding.
INLINE NAME(gather_differences)(const rf_solid *s, const int32_t *places, int nodes,
                                const double *x, VEC *to) {
  VEC x0[3] = {{0}};
  NAME(gather_node)(s, places, nodes, 0, x, x0);
  for (int a = 1; a < nodes; ++a, to += 3) {
    NAME(gather_node)(s, places, nodes, a, x, to);
    for (int i = 0; i < 3; ++i) to[i] -= x0[i];
  }
}

// Kernels get their number of points as a constant: from the solid or, if elements differ, from the
// batch.
enum { NAME(of_solid) = 0, NAME(of_batch) = -1 };
#define OF_SOLID NAME(of_solid)
#define OF_BATCH NAME(of_batch)

static inline TARGET int NAME(count_points)(const int points, const rf_solid *s,
                                            const int32_t *places) {
  if (points > 0) return points;
  if (points == OF_SOLID || !s->n_points) return s->n_gauss;
  int most = 0;
  for (int l = 0; l < LANES; ++l)
    most = s->n_points[places[l]] > most ? s->n_points[places[l]] : most;
  return most;
}

// Gathers tables of different lengths: beyond its last point a lane repeats that point with zero
// volume.  Lanes often share a table.
INLINE NAME(gather_own_tables)(const rf_solid *s, const int32_t *places, int nodes, int point,
                               VEC *g, VEC *volume) {
  const double *p[LANES];
  bool one = true;
  for (int l = 0; l < LANES; ++l) {
    const int64_t first = rf_solid_first_at(s, places[l]);
    const int32_t count = rf_solid_points_at(s, places[l]);
    const int64_t at = first + (point < count ? point : count - 1);
    p[l] = s->gradient + at * nodes * 3;
    (*volume)[l] = point < count ? s->volume[at] : 0.0;
    one &= p[l] == p[0];
  }
  if (!one) {
    NAME(gather)(p, 3 * nodes, g);
    return;
  }
  for (int k = 0; k < 3 * nodes; ++k) g[k] = (VEC){0} + p[0][k];
}

INLINE NAME(gather_tables)(const int points, const rf_solid *s, const int32_t *places, int nodes,
                           int point, VEC *g, VEC *volume) {
  if (points == OF_BATCH) {
    NAME(gather_own_tables)(s, places, nodes, point, g, volume);
    return;
  }
  if (s->congruent) {
    const double *p = s->gradient + point * nodes * 3;
    for (int k = 0; k < 3 * nodes; ++k) g[k] = (VEC){0} + p[k];
    *volume = (VEC){0} + s->volume[point];
    return;
  }
  const double *p[LANES];
  for (int l = 0; l < LANES; ++l) {
    p[l] = s->gradient + ((int64_t)places[l] * s->n_gauss + point) * nodes * 3;
    (*volume)[l] = s->volume[(int64_t)places[l] * s->n_gauss + point];
  }
  NAME(gather)(p, 3 * nodes, g);
}

INLINE NAME(gather_parameters)(const rf_solid *s, const int32_t *places, int count, VEC *to) {
  const double *p[LANES];
  for (int l = 0; l < LANES; ++l) {
    // a single material needs no lookup
    const int32_t k = s->n_materials == 1 ? 0 : s->element_material[s->visit[places[l]]];
    p[l] = s->material[k].parameter;
  }
  NAME(gather)(p, count, to);
}

// Computes G_ij = sum_a (u_a - u_0)_i g_a,j.
INLINE NAME(displacement_gradient)(int nodes, const VEC *d, const VEC *g, VEC *G) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      VEC sum = d[i] * g[3 + j];
      for (int a = 2; a < nodes; ++a) sum += d[3 * (a - 1) + i] * g[3 * a + j];
      G[3 * i + j] = sum;
    }
}

// S g for S in the order xx yy zz yz zx xy
#define SYM_APPLY(S, g, out)                                        \
  do {                                                              \
    (out)[0] = (S)[0] * (g)[0] + (S)[5] * (g)[1] + (S)[4] * (g)[2]; \
    (out)[1] = (S)[5] * (g)[0] + (S)[1] * (g)[1] + (S)[3] * (g)[2]; \
    (out)[2] = (S)[4] * (g)[0] + (S)[3] * (g)[1] + (S)[2] * (g)[2]; \
  } while (0)
