#include "mesh/voxelize.h"

#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"

// Enlargement of the overlap test in voxels: far above rounding (1e-12 at 2048), far below a voxel.
static const double WIDEN = 1e-9;

typedef rf_voxel_grid grid;

static uint64_t *row_of(const grid *g, uint64_t *bits, int32_t j, int32_t k) {
  return bits + ((size_t)k * (size_t)g->n + (size_t)j) * g->words;
}

static int count_bits(uint64_t w) { return __builtin_popcountll(w); }

// ---- marking ----------------------------------------------------------------

typedef struct marking {
  const grid *g;
  const rf_surface *surface;
  int32_t slab;             // planes per task
  const int64_t *slab_ptr;  // (tasks + 1)
  const int32_t *slab_triangles;
} marking;

// Converts to voxel coordinates; (0, 0, 0) is the low corner of the grid.
static void to_grid(const grid *g, const double *x, double *p) {
  for (int c = 0; c < 3; ++c) p[c] = (x[c] - g->centre[c]) / g->h + 0.5 * g->n;
}

// Computes the voxels i whose closed box [i, i + 1] meets [lo, hi], clipped to [first, last].
static void index_range(double lo, double hi, int32_t first, int32_t last, int32_t *from,
                        int32_t *to) {
  *from = (int32_t)fmax(first, fmin(ceil(lo - WIDEN) - 1.0, last));
  *to = (int32_t)fmin(last, fmax(floor(hi + WIDEN), first));
}

static void set_range(uint64_t *row, int32_t from, int32_t to) {
  for (int32_t w = from / 64; w <= to / 64; ++w) {
    uint64_t mask = ~UINT64_C(0);
    if (w == from / 64) mask &= ~UINT64_C(0) << (from % 64);
    if (w == to / 64) mask &= ~UINT64_C(0) >> (63 - to % 64);
    row[w] |= mask;
  }
}

// a . centre must lie in [lo, hi] for the box to overlap the triangle's projection on axis a.
typedef struct axis_test {
  double a[3], lo, hi;
} axis_test;

static axis_test make_axis(const double a[3], const double v[3][3]) {
  axis_test t = {.lo = INFINITY, .hi = -INFINITY};
  for (int m = 0; m < 3; ++m) {
    const double p = rf_vec3_dot(a, v[m]);
    t.lo = fmin(t.lo, p);
    t.hi = fmax(t.hi, p);
  }
  const double reach = (0.5 + WIDEN) * (fabs(a[0]) + fabs(a[1]) + fabs(a[2]));
  t.lo -= reach;
  t.hi += reach;
  for (int c = 0; c < 3; ++c) t.a[c] = a[c];
  return t;
}

// Marks voxels of planes [k_first, k_last]. The three axes of the box give the index ranges; the
// triangle's normal and the nine cross products of edges with axes each leave an interval of x in
// every row.
static void mark_triangle(const grid *g, const double v[3][3], int32_t k_first, int32_t k_last) {
  int32_t from[3], to[3];
  for (int c = 0; c < 3; ++c) {
    const double lo = fmin(v[0][c], fmin(v[1][c], v[2][c]));
    const double hi = fmax(v[0][c], fmax(v[1][c], v[2][c]));
    index_range(lo, hi, c == 2 ? k_first : 0, c == 2 ? k_last : g->n - 1, &from[c], &to[c]);
  }

  axis_test tests[10];
  double e[3][3];
  for (int m = 0; m < 3; ++m) {
    for (int c = 0; c < 3; ++c) e[m][c] = v[(m + 1) % 3][c] - v[m][c];
    tests[3 * m] = make_axis((const double[3]){0.0, -e[m][2], e[m][1]}, v);
    tests[3 * m + 1] = make_axis((const double[3]){e[m][2], 0.0, -e[m][0]}, v);
    tests[3 * m + 2] = make_axis((const double[3]){-e[m][1], e[m][0], 0.0}, v);
  }
  double normal[3];
  rf_vec3_cross(e[0], e[1], normal);
  tests[9] = make_axis(normal, v);

  for (int32_t k = from[2]; k <= to[2]; ++k)
    for (int32_t j = from[1]; j <= to[1]; ++j) {
      double lo = from[0] + 0.5, hi = to[0] + 0.5;
      for (int m = 0; m < 10 && lo <= hi; ++m) {
        const axis_test *t = &tests[m];
        const double rest = t->a[1] * (j + 0.5) + t->a[2] * (k + 0.5);
        if (t->a[0] == 0.0) {
          if (!(rest >= t->lo && rest <= t->hi)) hi = -INFINITY;
          continue;
        }
        const double p = (t->lo - rest) / t->a[0], q = (t->hi - rest) / t->a[0];
        lo = fmax(lo, fmin(p, q));
        hi = fmin(hi, fmax(p, q));
      }
      const double first = ceil(lo - 0.5), last = floor(hi - 0.5);
      if (first <= last) set_range(row_of(g, g->solid, j, k), (int32_t)first, (int32_t)last);
    }
}

static void triangle_in_grid(const grid *g, const rf_surface *s, int32_t t, double v[3][3]) {
  for (int a = 0; a < 3; ++a)
    to_grid(g, s->vertices + 3 * (size_t)s->triangles[3 * (size_t)t + (size_t)a], v[a]);
}

// A task owns a slab of planes, so no two tasks write the same word.
static rf_status mark_slab(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const marking *m = context;
  const int32_t k_first = (int32_t)task * m->slab;
  const int32_t k_last = k_first + m->slab < m->g->n ? k_first + m->slab - 1 : m->g->n - 1;
  for (int64_t i = m->slab_ptr[task]; i < m->slab_ptr[task + 1]; ++i) {
    double v[3][3];
    triangle_in_grid(m->g, m->surface, m->slab_triangles[i], v);
    mark_triangle(m->g, (const double(*)[3])v, k_first, k_last);
  }
  return RF_OK;
}

// Computes the slabs [*from, *to] that triangle t may touch.
static void slabs_of(const marking *m, int32_t t, int32_t *from, int32_t *to) {
  double v[3][3];
  triangle_in_grid(m->g, m->surface, t, v);
  index_range(fmin(v[0][2], fmin(v[1][2], v[2][2])), fmax(v[0][2], fmax(v[1][2], v[2][2])), 0,
              m->g->n - 1, from, to);
  *from /= m->slab;
  *to /= m->slab;
}

static rf_status mark_surface(const grid *g, const rf_surface *surface, const rf_run *run,
                              rf_error *err) {
  rf_status st = RF_OK;
  int64_t *ptr = NULL, *next = NULL;
  int32_t *list = NULL;
  marking m = {.g = g, .surface = surface, .slab = (g->n + 127) / 128};
  const int32_t tasks = (g->n + m.slab - 1) / m.slab;

  // triangles of each slab, by counting sort
  RF_ALLOC(ptr, tasks + 1);
  RF_ALLOC(next, tasks);
  int32_t from, to;
  for (int32_t t = 0; t < surface->n_triangles; ++t) {
    slabs_of(&m, t, &from, &to);
    for (int32_t s = from; s <= to; ++s) ptr[s + 1] += 1;
  }
  for (int32_t s = 0; s < tasks; ++s) {
    ptr[s + 1] += ptr[s];
    next[s] = ptr[s];
  }
  RF_ALLOC(list, ptr[tasks]);
  for (int32_t t = 0; t < surface->n_triangles; ++t) {
    slabs_of(&m, t, &from, &to);
    for (int32_t s = from; s <= to; ++s) list[next[s]++] = t;
  }

  m.slab_ptr = ptr;
  m.slab_triangles = list;
  RF_TRY(rf_run_tasks(run, tasks, 1, mark_slab, &m, err));
done:
  rf_free(ptr);
  rf_free(next);
  rf_free(list);
  return st;
}

// ---- inside -----------------------------------------------------------------

typedef struct enclosing {
  const grid *g;
  const rf_inside *inside;
  int64_t *counts;  // touched, enclosed, doubtful voxels of a column of blocks  (columns, 3)
} enclosing;

// Gathers the voxels of a block that do not meet the surface.
static void block_of(const grid *g, int32_t x, int32_t y, int32_t z, rf_inside_block *b) {
  const int32_t at[3] = {x, y, z};
  for (int c = 0; c < 3; ++c) {
    b->step[c] = g->h;
    b->origin[c] = g->centre[c] + (at[c] + 0.5 - 0.5 * g->n) * g->h;
  }
  const uint64_t valid = (size_t)x / 64 + 1 == g->words ? g->last >> (x % 64) & 255 : 255;
  for (int k = 0; k < RF_INSIDE_BLOCK; ++k) {
    b->ask[k] = 0;
    for (int j = 0; j < RF_INSIDE_BLOCK && y + j < g->n && z + k < g->n; ++j)
      b->ask[k] |= (~row_of(g, g->solid, y + j, z + k)[x / 64] >> (x % 64) & valid) << (8 * j);
    b->open[k] = b->ask[k];
  }
}

static void add_block(const grid *g, int32_t x, int32_t y, int32_t z, const rf_inside_block *b) {
  for (int k = 0; k < RF_INSIDE_BLOCK && z + k < g->n; ++k)
    for (int j = 0; j < RF_INSIDE_BLOCK && y + j < g->n; ++j)
      row_of(g, g->solid, y + j, z + k)[x / 64] |= (b->inside[k] >> (8 * j) & 255) << (x % 64);
}

// A task owns a column of blocks along x, so no two tasks write the same word.
static rf_status enclose_column(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const enclosing *e = context;
  const grid *g = e->g;
  const int32_t blocks = (g->n + RF_INSIDE_BLOCK - 1) / RF_INSIDE_BLOCK;
  const int32_t y = RF_INSIDE_BLOCK * (int32_t)(task % blocks),
                z = RF_INSIDE_BLOCK * (int32_t)(task / blocks);
  int64_t *count = e->counts + 3 * task;
  for (int32_t k = z; k < g->n && k < z + RF_INSIDE_BLOCK; ++k)
    for (int32_t j = y; j < g->n && j < y + RF_INSIDE_BLOCK; ++j)
      for (size_t w = 0; w < g->words; ++w) count[0] += count_bits(row_of(g, g->solid, j, k)[w]);
  for (int32_t x = 0; x < g->n; x += RF_INSIDE_BLOCK) {
    rf_inside_block b;
    block_of(g, x, y, z, &b);
    rf_inside_decide(e->inside, &b);
    add_block(g, x, y, z, &b);
    for (int k = 0; k < RF_INSIDE_BLOCK; ++k) count[1] += count_bits(b.inside[k]);
    count[2] += rf_inside_doubts(&b);
  }
  return RF_OK;
}

rf_status rf_voxel_grid_enclose(const grid *g, const rf_inside *inside, const rf_run *run,
                                rf_voxel_report *report, rf_error *err) {
  rf_status st = RF_OK;
  enclosing e = {.g = g, .inside = inside};
  const int64_t blocks = (g->n + RF_INSIDE_BLOCK - 1) / RF_INSIDE_BLOCK;
  *report = (rf_voxel_report){.sheets = rf_inside_sheets(inside)};
  RF_ALLOC(e.counts, 3 * blocks * blocks);
  RF_TRY(rf_run_tasks(run, blocks * blocks, 0, enclose_column, &e, err));
  for (int64_t i = 0; i < blocks * blocks; ++i) {
    report->n_touched += e.counts[3 * i];
    report->n_enclosed += e.counts[3 * i + 1];
    report->n_doubtful += e.counts[3 * i + 2];
  }
done:
  rf_free(e.counts);
  return st;
}

// ---- filling ----------------------------------------------------------------

// Spread seeds through runs of free bits, upwards and downwards, 64 voxels at a time.
static uint64_t spread_up(uint64_t seed, uint64_t open) {
  for (int s = 1; s < 64; s *= 2) {
    seed |= open & (seed << s);
    open &= open << s;
  }
  return seed;
}

static uint64_t spread_down(uint64_t seed, uint64_t open) {
  for (int s = 1; s < 64; s *= 2) {
    seed |= open & (seed >> s);
    open &= open >> s;
  }
  return seed;
}

static uint64_t open_word(const grid *g, const uint64_t *solid_row, size_t w) {
  return ~solid_row[w] & (w + 1 == g->words ? g->last : ~UINT64_C(0));
}

// Lists the rows beside row (j, k); *count of the four exist.
static void neighbours(const grid *g, int32_t row, int32_t out[4], int *count) {
  const int32_t n = g->n, j = row % n, k = row / n;
  *count = 0;
  if (j > 0) out[(*count)++] = row - 1;
  if (j + 1 < n) out[(*count)++] = row + 1;
  if (k > 0) out[(*count)++] = row - n;
  if (k + 1 < n) out[(*count)++] = row + n;
}

// Lets the outside flow into one row; true if it gained voxels.
static bool flow(const grid *g, uint64_t *outside, int32_t row) {
  const uint64_t *solid = g->solid + (size_t)row * g->words;
  uint64_t *own = outside + (size_t)row * g->words;
  int32_t beside[4];
  int count;
  neighbours(g, row, beside, &count);

  bool gained = false;
  uint64_t carry = 0;
  for (size_t w = 0; w < g->words; ++w) {
    const uint64_t open = open_word(g, solid, w);
    // beyond the border everything is outside
    uint64_t seed = own[w] | carry;
    if (count < 4) seed = open;
    if (w == 0) seed |= 1;
    if (w + 1 == g->words) seed |= g->last ^ (g->last >> 1);
    for (int b = 0; b < count; ++b) seed |= outside[(size_t)beside[b] * g->words + w];
    seed = spread_up(seed & open, open);
    gained |= seed != own[w];
    own[w] = seed;
    carry = seed >> 63;
  }
  carry = 0;
  for (size_t w = g->words; w-- > 0;) {
    const uint64_t open = open_word(g, solid, w);
    const uint64_t seed = spread_down((own[w] | carry) & open, open);
    gained |= seed != own[w];
    own[w] = seed;
    carry = seed << 63;
  }
  return gained;
}

// Fills everything that the outside does not reach.
rf_status rf_voxel_grid_fill(const grid *g, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  uint64_t *outside = NULL;
  int32_t *queue = NULL;
  uint8_t *waiting = NULL;
  const int32_t rows = g->n * g->n;
  RF_ALLOC(outside, (size_t)rows * g->words);
  RF_ALLOC(queue, rows);
  RF_ALLOC(waiting, rows);

  // ring of rows to visit; each is in it at most once, so it cannot overflow
  for (int32_t r = 0; r < rows; ++r) {
    queue[r] = r;
    waiting[r] = 1;
  }
  int64_t head = 0, tail = rows;
  while (head < tail) {
    if (head % 65536 == 0) RF_TRY(rf_run_progress(run, -1, -1, err));
    const int32_t r = queue[head++ % rows];
    waiting[r] = 0;
    if (!flow(g, outside, r)) continue;
    int32_t beside[4];
    int count;
    neighbours(g, r, beside, &count);
    for (int b = 0; b < count; ++b) {
      if (waiting[beside[b]]) continue;
      waiting[beside[b]] = 1;
      queue[tail++ % rows] = beside[b];
    }
  }
  for (int32_t r = 0; r < rows; ++r)
    for (size_t w = 0; w < g->words; ++w) {
      const size_t at = (size_t)r * g->words + w;
      g->solid[at] = ~outside[at] & (w + 1 == g->words ? g->last : ~UINT64_C(0));
    }
done:
  rf_free(outside);
  rf_free(queue);
  rf_free(waiting);
  return st;
}

// ---- the mesh ---------------------------------------------------------------

// Returns the nodes of row (j, k), word w: a node exists if one of its eight voxels does.  Words
// must be requested in ascending order, with *carry zero at first.
static uint64_t node_word(const grid *g, int32_t j, int32_t k, size_t w, uint64_t *carry) {
  uint64_t voxels = 0;
  if (w < g->words)
    for (int32_t dk = -1; dk <= 0; ++dk)
      for (int32_t dj = -1; dj <= 0; ++dj)
        if (j + dj >= 0 && j + dj < g->n && k + dk >= 0 && k + dk < g->n)
          voxels |= row_of(g, g->solid, j + dj, k + dk)[w];
  const uint64_t nodes = voxels | (voxels << 1) | *carry;
  *carry = voxels >> 63;
  return nodes;
}

typedef struct meshing {
  const grid *g;
  int64_t *node_ptr;     // first node of each row of nodes       ((n + 1) (n + 1) + 1)
  int64_t *element_ptr;  // first element of each row of voxels   (n n + 1)
  rf_mesh *mesh;
} meshing;

// Stores each row's count one entry later, for the prefix sum.
static rf_status count_plane(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const meshing *m = context;
  const grid *g = m->g;
  const int32_t k = (int32_t)task;
  for (int32_t j = 0; j <= g->n; ++j) {
    int64_t nodes = 0, voxels = 0;
    uint64_t carry = 0;
    for (size_t w = 0; w <= g->words; ++w) nodes += count_bits(node_word(g, j, k, w, &carry));
    m->node_ptr[(int64_t)k * (g->n + 1) + j + 1] = nodes;
    if (j == g->n || k == g->n) continue;
    for (size_t w = 0; w < g->words; ++w) voxels += count_bits(row_of(g, g->solid, j, k)[w]);
    m->element_ptr[(int64_t)k * g->n + j + 1] = voxels;
  }
  return RF_OK;
}

static void place_nodes(const meshing *m, int32_t j, int32_t k) {
  const grid *g = m->g;
  double *x = m->mesh->nodes + 3 * (size_t)m->node_ptr[(int64_t)k * (g->n + 1) + j];
  uint64_t carry = 0;
  for (size_t w = 0; w <= g->words; ++w)
    for (uint64_t bits = node_word(g, j, k, w, &carry); bits; bits &= bits - 1) {
      const int32_t at[3] = {(int32_t)(64 * w) + __builtin_ctzll(bits), j, k};
      for (int c = 0; c < 3; ++c) *x++ = g->centre[c] + (at[c] - 0.5 * g->n) * g->h;
    }
}

static void place_elements(const meshing *m, int32_t j, int32_t k) {
  const grid *g = m->g;
  const uint64_t *voxels = row_of(g, g->solid, j, k);
  int32_t *element = m->mesh->elements + 8 * (size_t)m->element_ptr[(int64_t)k * g->n + j];
  // the four rows of nodes around this row of voxels, in VTK's order of the x = 0 face
  static const int32_t BESIDE[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  static const int LOW[4] = {0, 3, 4, 7}, HIGH[4] = {1, 2, 5, 6};
  int64_t before[4];
  uint64_t carry[4] = {0};
  for (int r = 0; r < 4; ++r)
    before[r] = m->node_ptr[(int64_t)(k + BESIDE[r][1]) * (g->n + 1) + j + BESIDE[r][0]];
  for (size_t w = 0; w < g->words; ++w) {
    uint64_t nodes[4];
    for (int r = 0; r < 4; ++r)
      nodes[r] = node_word(g, j + BESIDE[r][0], k + BESIDE[r][1], w, &carry[r]);
    for (uint64_t bits = voxels[w]; bits; bits &= bits - 1) {
      const uint64_t below = (bits & -bits) - 1;
      for (int r = 0; r < 4; ++r) {
        // the node at the voxel's other end exists too and is the next one
        const int64_t node = before[r] + count_bits(nodes[r] & below);
        element[LOW[r]] = (int32_t)node;
        element[HIGH[r]] = (int32_t)node + 1;
      }
      element += 8;
    }
    for (int r = 0; r < 4; ++r) before[r] += count_bits(nodes[r]);
  }
}

static rf_status place_plane(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const meshing *m = context;
  for (int32_t j = 0; j <= m->g->n; ++j) {
    place_nodes(m, j, (int32_t)task);
    if (j < m->g->n && task < m->g->n) place_elements(m, j, (int32_t)task);
  }
  return RF_OK;
}

static rf_status make_mesh(const grid *g, const rf_run *run, rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  meshing m = {.g = g};
  const int64_t node_rows = (int64_t)(g->n + 1) * (g->n + 1), rows = (int64_t)g->n * g->n;
  RF_ALLOC(m.node_ptr, node_rows + 1);
  RF_ALLOC(m.element_ptr, rows + 1);
  RF_TRY(rf_run_tasks(run, g->n + 1, 0, count_plane, &m, err));
  for (int64_t r = 0; r < node_rows; ++r) m.node_ptr[r + 1] += m.node_ptr[r];
  for (int64_t r = 0; r < rows; ++r) m.element_ptr[r + 1] += m.element_ptr[r];

  const int64_t nodes = m.node_ptr[node_rows], elements = m.element_ptr[rows];
  if (!(nodes <= RF_MESH_MAX_NODES && elements <= INT32_MAX)) {
    st = rf_fail(err, RF_ERR_ARG,
                 "%lld voxels with %lld nodes are too many, at most %d nodes are allowed: choose a "
                 "smaller resolution",
                 (long long)elements, (long long)nodes, (int)RF_MESH_MAX_NODES);
    goto done;
  }
  RF_TRY(rf_mesh_allocate(RF_HEX8, (int32_t)nodes, (int32_t)elements, &m.mesh, err));
  RF_TRY(rf_run_tasks(run, g->n + 1, 0, place_plane, &m, err));
  *out = m.mesh;
  m.mesh = NULL;
done:
  rf_mesh_free(m.mesh);
  rf_free(m.node_ptr);
  rf_free(m.element_ptr);
  return st;
}

// ---- the whole --------------------------------------------------------------

static rf_status lay_grid(const rf_surface *surface, const rf_voxel_settings *set, grid *g,
                          rf_error *err) {
  const int32_t n = set->resolution;
  if (!(n >= 1)) return rf_fail(err, RF_ERR_ARG, "resolution must be 1 or more, got %d", (int)n);
  if (!(n <= RF_VOXEL_MAX_RESOLUTION))
    return rf_fail(
        err, RF_ERR_ARG, "resolution must be at most %d, got %d: its grid would need %.3g GiB",
        RF_VOXEL_MAX_RESOLUTION, (int)n, (double)n * n * ceil(n / 64.0) * 8.0 / (1 << 30));
  if (!(isfinite(set->expand) && set->expand >= 1.0))
    return rf_fail(err, RF_ERR_ARG,
                   "expand must be 1 or more, got %g: the grid must hold the surface", set->expand);

  double lo[3], hi[3], longest = 0.0, farthest = 0.0;
  rf_surface_bounds(surface, lo, hi);
  for (int c = 0; c < 3; ++c) {
    g->centre[c] = 0.5 * lo[c] + 0.5 * hi[c];
    longest = fmax(longest, hi[c] - lo[c]);
    farthest = fmax(farthest, fmax(fabs(lo[c]), fabs(hi[c])));
  }
  g->n = n;
  g->words = ((size_t)n + 63) / 64;
  g->last = ~UINT64_C(0) >> (64 * g->words - (size_t)n);
  g->h = set->expand * longest / n;
  if (longest == 0.0)
    return rf_fail(err, RF_ERR_MESH,
                   "all vertices of the surface are at the same place: it has no size");
  // edges must be equal to rounding, and volumes must not under- or overflow
  if (!(g->h >= 1e-10 * farthest))
    return rf_fail(
        err, RF_ERR_MESH,
        "voxels of %.3g m cannot be distinguished at coordinates of %.3g m: move the surface "
        "nearer to the origin",
        g->h, farthest);
  if (!(g->h > 1e-90 && g->h < 1e90))
    return rf_fail(err, RF_ERR_MESH, "voxels of %.3g m are beyond the range of numbers", g->h);
  return RF_OK;
}

rf_status rf_voxel_grid_create(const rf_surface *surface, const rf_voxel_settings *set,
                               const rf_run *run, rf_voxel_grid *out, rf_error *err) {
  rf_status st = RF_OK;
  grid g = {0};
  *out = g;
  RF_TRY(rf_surface_check(surface, err));
  RF_TRY(lay_grid(surface, set, &g, err));
  RF_ALLOC(g.solid, (size_t)g.n * (size_t)g.n * g.words);
  RF_TRY(mark_surface(&g, surface, run, err));
  *out = g;
  g.solid = NULL;
done:
  rf_voxel_grid_free(&g);
  return st;
}

void rf_voxel_grid_free(rf_voxel_grid *g) {
  rf_free(g->solid);
  g->solid = NULL;
}

rf_status rf_voxelize(const rf_surface *surface, const rf_voxel_settings *set, const rf_run *run,
                      rf_mesh **out, rf_voxel_report *report, rf_error *err) {
  rf_status st = RF_OK;
  grid g = {0};
  rf_inside *inside = NULL;
  rf_voxel_report made = {0};
  *out = NULL;
  RF_TRY(rf_voxel_grid_create(surface, set, run, &g, err));
  if (set->fill) {
    RF_TRY(rf_inside_create(surface, run, &inside, err));
    RF_TRY(rf_voxel_grid_enclose(&g, inside, run, &made, err));
  }
  RF_TRY(make_mesh(&g, run, out, err));
  if (report) *report = made;
done:
  rf_inside_free(inside);
  rf_voxel_grid_free(&g);
  return st;
}
