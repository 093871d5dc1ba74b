// Sums of fields in REAL, a tile of nodes at a time: the sums stay in registers, and the fields are
// read once, in order.  Included by control_body.h for each type; no include guard, on purpose.

typedef REAL TILE(vector) __attribute__((vector_size(8 * RF_WIDTH)));

enum {
  TILE(nodes) = RF_CONTROL_TILE_BYTES / sizeof(REAL),
  TILE(lanes) = 8 * RF_WIDTH / sizeof(REAL),
  TILE(parts) = 3 * RF_CONTROL_TILE_BYTES / (8 * RF_WIDTH)
};

RF_INLINE void TILE(sum_fields)(int32_t n, const REAL *field, const REAL *c, REAL *out) {
  TILE(vector) sum[TILE(parts)] = {{0}};
  for (int32_t k = 0; k < n; ++k, field += 3 * TILE(nodes)) {
    const TILE(vector) factor = c[k] - (TILE(vector)){0};
    for (int p = 0; p < (int)TILE(parts); ++p) {
      TILE(vector) v;
      memcpy(&v, field + p * (int)TILE(lanes), sizeof v);
      sum[p] += factor * v;
    }
  }
  memcpy(out, sum, sizeof sum);
}

// u = R u' + (R - 1)(X - c) + x_c - c
RF_INLINE void TILE(turn_tile)(const double *R, const double shift[3], const REAL *u,
                               const double *arm, double *out) {
  enum { N = TILE(nodes) };
  for (int i = 0; i < 3; ++i) {
    const double a = R[3 * i], b = R[3 * i + 1], c = R[3 * i + 2], t = shift[i];
    const double x = a - (i == 0), y = b - (i == 1), z = c - (i == 2);
    for (int k = 0; k < N; ++k)
      out[i * N + k] = a * (double)u[k] + b * (double)u[N + k] + c * (double)u[2 * N + k] +
                       x * arm[k] + y * arm[N + k] + z * arm[2 * N + k] + t;
  }
}

void COMBINE(const rf_control *control, const rf_control_state *state, double *u) {
  enum { N = TILE(nodes) };
  REAL c[RF_CONTROL_MOST_FIELDS], sum[3 * N];
  double shift[3], out[3 * N];
  for (int32_t k = 0; k < control->n_fields; ++k) c[k] = (REAL)state->coefficient[k];
  for (int i = 0; i < 3; ++i) shift[i] = state->place[i] - control->centre[i];
  const REAL *field = control->fields;
  const double *arm = control->arm;
  for (int32_t first = 0; first < control->n_surface; first += N) {
    const int32_t left = control->n_surface - first, count = left < N ? left : N;
    TILE(sum_fields)(control->n_fields, field, c, sum);
    TILE(turn_tile)(state->turn, shift, sum, arm, out);
    for (int32_t k = 0; k < count; ++k)
      for (int i = 0; i < 3; ++i) u[3 * (int64_t)(first + k) + i] = out[i * N + k];
    field += 3 * (int64_t)N * control->n_fields;
    arm += 3 * N;
  }
}
