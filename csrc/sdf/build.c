#include "sdf/build.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/closest.h"
#include "mesh/crossings.h"
#include "mesh/inside.h"
#include "mesh/orientation.h"
#include "sdf/build_open.h"
#include "sdf/build_union.h"
#include "sdf/isosurface.h"
#include "sdf/packet.h"

// Memory per triangle: its tree during construction, and queries in it.
static const double TREE_BYTES = 500.0;
static const double MOST_SHEETS = 0.5;  // share of the area: a surface of more sheets has no inside
// Memory per boundary piece: during assembly, or with the tree over it.
static const double PIECE_BYTES = 600.0;

// ---- distances at all samples -------------------------------------------------------

typedef enum sign_rule {
  SIGN_NONE,    // unsigned distances
  SIGN_NORMAL,  // by pseudonormals
  SIGN_LEVEL,   // negative where the sample was below a level before
  SIGN_DEEPER,  // signed samples (including -0 on hidden walls) may become lower, others are
                // unchanged
  SIGN_NEARER   // samples may move nearer to 0 and keep their signs
} sign_rule;

typedef struct filling {
  const rf_closest *closest;
  rf_packet_fn *packet;
  int32_t n[3], blocks[3];
  double origin[3], spacing[3];
  float *values;
  sign_rule rule;
  double turn;  // -1: the surface faces inwards
  double level;
  double far;           // packets with all coarse distances above this are interpolated
  const float *coarse;  // distances at every RF_FAST_STEP-th sample; NULL: all are exact
  int32_t coarse_n[3];
  double *distance;  // scratch for the rows of a task  (workers, 16, 4 blocks[2])
  int32_t *nearest;  // scratch of the same shape; -1: not known
} filling;

static double place_of(const filling *f, int axis, int32_t index) {
  return f->origin[axis] + f->spacing[axis] * index;
}

static size_t coarse_at(const filling *f, int32_t i, int32_t j, int32_t k) {
  return ((size_t)i * (size_t)f->coarse_n[1] + (size_t)j) * (size_t)f->coarse_n[2] + (size_t)k;
}

// Interpolates a packet between its coarse samples; false if it is too near for that.
static bool is_far(const filling *f, const int32_t at[3], double *square) {
  if (!f->coarse) return false;
  double v[8];
  for (int c = 0; c < 8; ++c) {
    v[c] = (double)f->coarse[coarse_at(f, at[0] + (c >> 2), at[1] + (c >> 1 & 1), at[2] + (c & 1))];
    if (!(v[c] > f->far)) return false;
  }
  for (int s = 0; s < RF_PACKET_PLACES; ++s) {
    const double x = 0.25 * (s >> 4), y = 0.25 * (s >> 2 & 3), z = 0.25 * (s & 3);
    double sum = 0.0;
    for (int c = 0; c < 8; ++c)
      sum += (c >> 2 ? x : 1.0 - x) * (c >> 1 & 1 ? y : 1.0 - y) * (c & 1 ? z : 1.0 - z) * v[c];
    square[s] = sum;
  }
  return true;
}

// Returns 1 outside, -1 inside.
static double sign_at(const filling *f, const double p[3], int32_t nearest) {
  rf_closest_place at;
  double way[3];
  if (nearest >= 0)
    rf_closest_of_triangle(f->closest, nearest, p, &at);
  else if (!rf_closest_find(f->closest, p, INFINITY, &at))
    return 1.0;
  rf_vec3_sub(p, at.place, way);
  return f->turn * rf_vec3_dot(way, at.normal) < 0.0 ? -1.0 : 1.0;
}

// Writes the samples of a row along z, whose distances are known.
static void write_row(const filling *f, int32_t i, int32_t j, const double *distance,
                      const int32_t *nearest) {
  float *to = f->values + ((size_t)i * (size_t)f->n[1] + (size_t)j) * (size_t)f->n[2];
  // far from the origin sample positions themselves are rounded
  const double far = fmax(fabs(f->origin[2]), fabs(place_of(f, 2, f->n[2])));
  const double apart = f->spacing[2] * (1.0 + 1e-9) + 1e-15 * far;
  double sign = 1.0;
  for (int32_t k = 0; k < f->n[2]; ++k) {
    if (f->rule == SIGN_DEEPER) {
      if (signbit(to[k])) to[k] = (float)fmin(-distance[k], (double)to[k]);
      continue;
    }
    if (f->rule == SIGN_NEARER) {
      to[k] = copysignf((float)fmin(distance[k], fabs((double)to[k])), to[k]);
      continue;
    }
    if (f->rule == SIGN_LEVEL)
      sign = (double)to[k] < f->level ? -1.0 : 1.0;
    else if (f->rule == SIGN_NORMAL && (k == 0 || !(distance[k] + distance[k - 1] > apart)))
      sign = sign_at(f, (double[]){place_of(f, 0, i), place_of(f, 1, j), place_of(f, 2, k)},
                     nearest[k]);
    to[k] = (float)(sign * distance[k]);
  }
}

// True if no sample of the packet can change.
static bool is_settled(const filling *f, const int32_t at[3]) {
  if (f->rule != SIGN_DEEPER) return false;
  int32_t to[3];
  for (int c = 0; c < 3; ++c) {
    const int32_t behind = RF_PACKET * (at[c] + 1);
    to[c] = behind < f->n[c] ? behind : f->n[c];
  }
  for (int32_t i = RF_PACKET * at[0]; i < to[0]; ++i)
    for (int32_t j = RF_PACKET * at[1]; j < to[1]; ++j) {
      const float *row = f->values + ((size_t)i * (size_t)f->n[1] + (size_t)j) * (size_t)f->n[2];
      for (int32_t k = RF_PACKET * at[2]; k < to[2]; ++k)
        if (signbit(row[k])) return false;
    }
  return true;
}

static rf_status fill_columns(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const filling *f = context;
  const int32_t bi = (int32_t)(task / f->blocks[1]), bj = (int32_t)(task % f->blocks[1]);
  const int32_t row = RF_PACKET * f->blocks[2];
  double *distance = f->distance + (size_t)worker * 16 * (size_t)row;
  int32_t *nearest = f->nearest + (size_t)worker * 16 * (size_t)row;
  rf_packet p = {.n_seeds = 0};
  // positions continue beyond the last sample
  for (int a = 0; a < RF_PACKET; ++a) {
    p.x[a] = place_of(f, 0, RF_PACKET * bi + a);
    p.y[a] = place_of(f, 1, RF_PACKET * bj + a);
  }
  for (int32_t bk = 0; bk < f->blocks[2]; ++bk) {
    if (is_settled(f, (int32_t[]){bi, bj, bk})) continue;
    const bool far = is_far(f, (int32_t[]){bi, bj, bk}, p.square);
    for (int a = 0; a < RF_PACKET; ++a) p.z[a] = place_of(f, 2, RF_PACKET * bk + a);
    if (!far) f->packet(f->closest, &p);
    for (int s = 0; s < RF_PACKET_PLACES; ++s) {
      const size_t to = (size_t)(s >> 2) * (size_t)row + (size_t)(RF_PACKET * bk + (s & 3));
      distance[to] = far ? p.square[s] : sqrt(p.square[s]);
      nearest[to] = far ? -1 : (int32_t)p.nearest[s];
    }
  }
  for (int a = 0; a < 16; ++a) {
    const int32_t i = RF_PACKET * bi + (a >> 2), j = RF_PACKET * bj + (a & 3);
    if (i < f->n[0] && j < f->n[1])
      write_row(f, i, j, distance + (size_t)a * (size_t)row, nearest + (size_t)a * (size_t)row);
  }
  return RF_OK;
}

// Fills f->values; all of f except the scratch memory must be set.
static rf_status fill_exact(filling *f, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  f->packet = rf_packet_best();
  for (int c = 0; c < 3; ++c) f->blocks[c] = (f->n[c] + RF_PACKET - 1) / RF_PACKET;
  const size_t scratch = (size_t)run->threads * 16 * RF_PACKET * (size_t)f->blocks[2];
  RF_ALLOC(f->distance, scratch);
  RF_ALLOC(f->nearest, scratch);
  RF_TRY(rf_run_tasks(run, (int64_t)f->blocks[0] * f->blocks[1], 1, fill_columns, f, err));
done:
  rf_free(f->distance);
  rf_free(f->nearest);
  f->distance = NULL;
  f->nearest = NULL;
  return st;
}

// The same, with distances above `band` interpolated; INFINITY: none.
static rf_status fill(filling *f, double band, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  float *coarse = NULL;
  if (band == INFINITY) return fill_exact(f, run, err);
  filling few = *f;
  few.rule = SIGN_NONE;
  for (int c = 0; c < 3; ++c) {
    few.n[c] = f->coarse_n[c] = (f->n[c] + RF_FAST_STEP - 1) / RF_FAST_STEP + 1;
    few.spacing[c] = RF_FAST_STEP * f->spacing[c];
  }
  RF_ALLOC(coarse, (size_t)few.n[0] * (size_t)few.n[1] * (size_t)few.n[2]);
  few.values = coarse;
  rf_run_part first = {run, 0, 1, 5}, second = {run, 1, 5, 5};
  const rf_run one = rf_run_of_part(&first), two = rf_run_of_part(&second);
  RF_TRY(fill_exact(&few, &one, err));
  // distances in a cell are at least that of its nearest corner less half its diagonal
  f->coarse = coarse;
  f->far = band + 0.5 * rf_vec3_length(few.spacing) * (1.0 + 1e-6);
  RF_TRY(fill_exact(f, &two, err));
done:
  f->coarse = NULL;
  rf_free(coarse);
  return st;
}

// ---- consistency of signs -------------------------------------------------------------

typedef struct checking {
  const rf_grid *grid;
  bool whole;  // the surface lies inside the box, so its sides are outside the surface
  atomic_bool wrong;
} checking;

static rf_status check_slab(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  checking *s = context;
  const rf_grid *g = s->grid;
  const int32_t i = (int32_t)task;
  const size_t ny = (size_t)g->n[1], nz = (size_t)g->n[2];
  bool wrong = false;
  for (int32_t j = 0; j < g->n[1]; ++j) {
    const float *row = g->values + ((size_t)i * ny + (size_t)j) * nz;
    const bool side = i == 0 || j == 0 || i == g->n[0] - 1 || j == g->n[1] - 1;
    for (int32_t k = 0; s->whole && k < g->n[2]; k += side ? 1 : g->n[2] - 1)
      wrong = wrong || row[k] < 0.0F;
    for (int axis = 0; axis < 2; ++axis) {
      if (axis == 0 ? i + 1 == g->n[0] : j + 1 == g->n[1]) continue;
      const float *next = row + (axis == 0 ? ny * nz : nz);
      const float apart = (float)(g->spacing[axis] * (1.0 + 1e-5));
      for (int32_t k = 0; k < g->n[2]; ++k)
        wrong |= (row[k] < 0.0F) != (next[k] < 0.0F) && fabsf(row[k] - next[k]) > apart;
    }
  }
  if (wrong) atomic_store(&s->wrong, true);
  return RF_OK;
}

// ---- signs by windings ----------------------------------------------------------------
//
// A plane x = constant through samples cuts the triangles of a closed surface in closed, directed
// polygons.  A row of samples in the plane crosses these, and each crossing changes the number of
// windings by one.  A vertex on the plane, or a corner on the row, counts as below it, and the cut
// of a side is computed from its ends in the same order for both its triangles: so every polygon
// closes, and every row ends with winding number zero.

typedef struct winding {
  const rf_surface *surface;
  rf_grid *grid;
  int32_t *change;  // change of the winding number in front of each sample of a plane   (workers,
                    // n1, n2 + 1)
} winding;

// Computes y and z of the cut of a side by the plane.
static void cut_side(const double *a, const double *b, double x, double out[2]) {
  for (int c = 0; c < 3; ++c) {
    if (a[c] == b[c]) continue;
    if (a[c] > b[c]) {
      const double *t = a;
      a = b;
      b = t;
    }
    break;
  }
  const double t = (x - a[0]) / (b[0] - a[0]);
  for (int c = 0; c < 2; ++c) out[c] = a[1 + c] + t * (b[1 + c] - a[1 + c]);
}

// Adds a directed piece of a polygon to the rows that it crosses.
static void cross_rows(const rf_grid *g, const double from[2], const double to[2],
                       int32_t *change) {
  const bool up = from[0] < to[0];
  const double *low = up ? from : to, *high = up ? to : from;
  const double first = fmax((low[0] - g->origin[1]) * g->inverse[1] - 1.0, 0.0);
  for (int32_t j = first < g->n[1] ? (int32_t)first : g->n[1]; j < g->n[1]; ++j) {
    const double y = g->origin[1] + g->spacing[1] * j;
    if (!(low[0] <= y)) continue;
    if (!(high[0] > y)) break;
    const double z = low[1] + (y - low[0]) / (high[0] - low[0]) * (high[1] - low[1]);
    const double t = fmax((z - g->origin[2]) * g->inverse[2] + 1.0, 0.0);
    const int32_t k = t < g->n[2] ? (int32_t)t : g->n[2];
    change[(size_t)j * ((size_t)g->n[2] + 1) + (size_t)k] += up ? 1 : -1;
  }
}

static rf_status sign_plane(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const winding *w = context;
  const rf_grid *g = w->grid;
  const rf_surface *s = w->surface;
  const size_t ny = (size_t)g->n[1], nz = (size_t)g->n[2];
  int32_t *change = w->change + (size_t)worker * ny * (nz + 1);
  memset(change, 0, ny * (nz + 1) * sizeof *change);
  const double x = g->origin[0] + g->spacing[0] * (double)task;
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const double *corner[3];
    bool above[3];
    for (int c = 0; c < 3; ++c) {
      corner[c] = s->vertices + 3 * (size_t)s->triangles[3 * (size_t)t + (size_t)c];
      above[c] = corner[c][0] > x;
    }
    if (above[0] == above[1] && above[1] == above[2]) continue;
    double from[2] = {0.0, 0.0}, to[2] = {0.0, 0.0};
    for (int c = 0; c < 3; ++c) {
      const int d = (c + 1) % 3;
      if (!above[c] && above[d]) cut_side(corner[c], corner[d], x, from);
      if (above[c] && !above[d]) cut_side(corner[c], corner[d], x, to);
    }
    if (from[0] != to[0]) cross_rows(g, from, to, change);
  }
  for (size_t j = 0; j < ny; ++j) {
    float *row = g->values + ((size_t)task * ny + j) * nz;
    int32_t windings = 0;
    for (size_t k = 0; k < nz; ++k) {
      windings += change[j * (nz + 1) + k];
      row[k] = windings != 0 ? -fabsf(row[k]) : fabsf(row[k]);
    }
  }
  return RF_OK;
}

// Determines if signs by pseudonormals contradict each other.
static rf_status check_signs(rf_grid *g, bool whole, const rf_run *run, bool *wrong,
                             rf_error *err) {
  const rf_run quiet = {run->threads, NULL, NULL};
  checking check = {.grid = g, .whole = whole};
  const rf_status st = rf_run_tasks(&quiet, g->n[0], 0, check_slab, &check, err);
  *wrong = check.wrong;
  return st;
}

static rf_status sign_by_windings(const rf_surface *s, rf_grid *g, const rf_run *run,
                                  rf_error *err) {
  rf_status st = RF_OK;
  const rf_run quiet = {run->threads, NULL, NULL};
  winding w = {.surface = s, .grid = g};
  RF_ALLOC(w.change, (size_t)run->threads * (size_t)g->n[1] * ((size_t)g->n[2] + 1));
  RF_TRY(rf_run_tasks(&quiet, g->n[0], 0, sign_plane, &w, err));
done:
  rf_free(w.change);
  return st;
}

// ---- depths ---------------------------------------------------------------------------

// Corrects signs by winding numbers where pseudonormals fail or parts of the surface are hidden in
// others; inner samples get their depth below the boundary of the union.  suspected: parts may be
// hidden although none cross; room: pieces of the boundary that fit into memory.
static rf_status settle_inside(const rf_surface *s, filling *f, rf_grid *g, bool suspected,
                               bool whole, double band, int64_t room, const rf_run *run,
                               rf_field_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_union_boundary around = {0};
  rf_closest *closest = NULL;
  bool parts = false;
  const double least = fmin(fmin(f->spacing[0], f->spacing[1]), f->spacing[2]);
  if (!report->crossing) RF_TRY(check_signs(g, whole, run, &report->crossing, err));
  RF_TRY(rf_union_has_parts(s, f->closest, &parts, err));
  if (!report->crossing && !parts && !suspected) return RF_OK;
  RF_TRY(rf_union_boundary_create(s, f->closest, RF_UNION_PIECE * least, RF_UNION_GAP * least, room,
                                  run, &around, err));
  const bool hidden = around.n_hidden > 0 && around.n_triangles > 0;
  report->crossing = report->crossing || hidden;
  if (report->crossing) RF_TRY(sign_by_windings(s, g, run, err));
  if (!hidden) goto done;
  report->n_hidden = around.n_hidden;
  report->depth_error = RF_UNION_PIECE * least;
  const rf_surface boundary = {3 * around.n_triangles, around.n_triangles, around.vertices,
                               around.triangles};
  RF_TRY(rf_closest_create(&boundary, run, &closest, err));
  f->closest = closest;
  f->rule = SIGN_DEEPER;
  RF_TRY(fill(f, band, run, err));
done:
  rf_closest_free(closest);
  rf_union_boundary_free(&around);
  return st;
}

// ---- cavities of offset surfaces --------------------------------------------------------

// A run of adjacent samples of a row that are all above the level.
typedef struct stretch {
  int32_t row, from, to, root;
} stretch;

static int32_t root_of(stretch *s, int32_t i) {
  while (s[i].root != i) {
    s[i].root = s[s[i].root].root;
    i = s[i].root;
  }
  return i;
}

// The lower number becomes the root.
static void join(stretch *s, int32_t a, int32_t b) {
  a = root_of(s, a), b = root_of(s, b);
  if (a < b)
    s[b].root = a;
  else
    s[a].root = b;
}

static int32_t stretches_of(const rf_grid *g, float level, int32_t row, int32_t count,
                            stretch *out) {
  const float *v = g->values + (size_t)row * (size_t)g->n[2];
  bool before = false;
  for (int32_t k = 0; k < g->n[2]; ++k) {
    const bool above = v[k] >= level;
    if (above && !before) {
      if (out) out[count] = (stretch){row, k, k, count};
      ++count;
    }
    if (above && out) out[count - 1].to = k + 1;
    before = above;
  }
  return count;
}

// Sets samples at or above the level to 0 unless they are connected to the sides of the box.
static rf_status fill_cavities(rf_grid *g, double at, int32_t *n_filled, rf_error *err) {
  rf_status st = RF_OK;
  stretch *s = NULL;
  int32_t *first = NULL;  // first stretch of each row, and of the row after the last
  const float level = (float)at;
  const int32_t rows = g->n[0] * g->n[1], ny = g->n[1];
  int32_t count = 0;
  *n_filled = 0;
  RF_ALLOC(first, (size_t)rows + 1);
  for (int32_t r = 0; r < rows; ++r) {
    first[r] = count;
    count = stretches_of(g, level, r, count, NULL);
  }
  first[rows] = count;
  RF_ALLOC(s, count);
  int32_t outside = -1;
  for (int32_t r = 0; r < rows; ++r) {
    stretches_of(g, level, r, first[r], s);
    const int32_t i = r / ny, j = r % ny;
    const bool side = i == 0 || j == 0 || i == g->n[0] - 1 || j == ny - 1;
    for (int32_t a = first[r]; a < first[r + 1]; ++a)
      if (side || s[a].from == 0 || s[a].to == g->n[2]) {
        if (outside < 0) outside = a;
        join(s, outside, a);
      }
    for (int axis = 0; axis < 2; ++axis) {
      if (axis == 0 ? i == 0 : j == 0) continue;
      const int32_t q = r - (axis == 0 ? ny : 1);
      int32_t b = first[q];
      for (int32_t a = first[r]; a < first[r + 1]; ++a) {
        while (b < first[q + 1] && s[b].to <= s[a].from) ++b;
        for (int32_t c = b; c < first[q + 1] && s[c].from < s[a].to; ++c) join(s, a, c);
      }
    }
  }
  const int32_t reached = outside < 0 ? -1 : root_of(s, outside);
  for (int32_t a = 0; a < count; ++a) {
    if (root_of(s, a) == reached) continue;
    *n_filled += s[a].root == a;
    memset(g->values + (size_t)s[a].row * (size_t)g->n[2] + (size_t)s[a].from, 0,
           (size_t)(s[a].to - s[a].from) * sizeof *g->values);
  }
done:
  rf_free(s);
  rf_free(first);
  return st;
}

// ---- inside of open surfaces -------------------------------------------------------------

// Computes signed distances in the grid; *found false: the surface has no inside.
static rf_status by_windings(const rf_surface *s, filling *f, rf_grid *g, double band,
                             const rf_run *run, rf_field_report *report, bool *found,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_inside *inside = NULL;
  rf_open_signs signs = {0};
  rf_isosurface cap = {0};
  rf_closest *walls = NULL, *closest = NULL;
  int32_t *triangles = NULL;
  rf_surface outer = *s;
  rf_run_part parts[2] = {{run, 0, 80, 100}, {run, 80, 100, 100}};
  const rf_run first = rf_run_of_part(&parts[0]), second = rf_run_of_part(&parts[1]);
  *found = false;
  RF_TRY(rf_inside_create(s, run, &inside, err));
  report->sheets = rf_inside_sheets(inside);
  if (!(report->sheets < MOST_SHEETS)) goto done;
  RF_ALLOC(triangles, 3 * (size_t)s->n_triangles);
  RF_TRY(rf_open_walls_find(inside, s, run, triangles, &outer.n_triangles, err));
  if (outer.n_triangles == 0) goto done;
  outer.triangles = triangles;
  report->n_hidden = s->n_triangles - outer.n_triangles;
  if (report->n_hidden > 0) {
    RF_TRY(rf_closest_create(&outer, run, &walls, err));
    f->closest = walls;
  }
  f->rule = SIGN_NONE;
  RF_TRY(fill(f, band, &first, err));
  RF_TRY(rf_open_signs_find(inside, g, run, &signs, err));
  if (signs.n_inside == 0) goto done;
  *found = report->capped = true;
  report->n_inside = signs.n_inside;
  report->n_doubtful = signs.n_doubtful;
  const size_t samples = (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2];
  for (size_t i = 0; i < samples; ++i) g->values[i] = copysignf(g->values[i], signs.below[i]);

  RF_TRY(rf_open_cap_create(g, &signs, f->closest, run, &cap, err));
  report->n_cap = cap.n_triangles;
  if (cap.n_triangles == 0) goto done;
  report->depth_error = fmax(f->spacing[0], fmax(f->spacing[1], f->spacing[2]));
  const rf_surface lid = rf_isosurface_view(&cap);
  RF_TRY(rf_closest_create(&lid, run, &closest, err));
  f->closest = closest;
  f->rule = SIGN_NEARER;
  RF_TRY(fill(f, band, &second, err));
done:
  if (!*found) report->n_hidden = 0;
  rf_free(triangles);
  rf_closest_free(walls);
  rf_closest_free(closest);
  rf_isosurface_free(&cap);
  rf_open_signs_free(&signs);
  rf_inside_free(inside);
  return st;
}

// ---- complete construction ------------------------------------------------------------

static rf_status place_box(const rf_surface *s, const rf_field_settings *set, double low[3],
                           double high[3], double spacing[3], rf_error *err) {
  double from[3], to[3], longest = 0.0;
  rf_surface_bounds(s, from, to);
  for (int c = 0; c < 3; ++c) longest = fmax(longest, to[c] - from[c]);
  if (!(longest > 0.0))
    return rf_fail(err, RF_ERR_MESH,
                   "the surface has no extent: all its vertices are at one place");
  // float32 samples, and squares of areas, must not overflow
  if (!(longest < 1e30 && longest > 1e-30))
    return rf_fail(err, RF_ERR_ARG, "the surface is %g m long; possible are 1e-30 to 1e30 m",
                   longest);
  if (set->fitted && !(isfinite(set->expand) && set->expand >= 1.0))
    return rf_fail(err, RF_ERR_ARG, "expand must be finite and at least 1, got %g", set->expand);
  for (int c = 0; c < 3; ++c) {
    if (!(set->resolution[c] >= 1))
      return rf_fail(err, RF_ERR_ARG, "resolution must be at least 1, got %d",
                     (int)set->resolution[c]);
    low[c] = set->low[c], high[c] = set->high[c];
    if (set->fitted) {
      low[c] = 0.5 * (from[c] + to[c]) - 0.5 * set->expand * longest;
      high[c] = low[c] + set->expand * longest;
    }
    if (!(isfinite(low[c]) && isfinite(high[c]) && low[c] < high[c]))
      return rf_fail(err, RF_ERR_ARG, "box[0, %d] must be below box[1, %d], got %g and %g", c, c,
                     low[c], high[c]);
    spacing[c] = (high[c] - low[c]) / set->resolution[c];
  }
  return RF_OK;
}

// Estimates the memory.  open: winding numbers of the samples are stored for a while.
static double bytes_needed(const int32_t n[3], const rf_surface *s, bool open) {
  const double samples = (double)n[0] * n[1] * n[2];
  // coarse samples, iso-surface and its tree: estimated by the number of voxels in the sides of the
  // box, which usual surfaces do not exceed by much
  const double faces = (double)n[0] * n[1] + (double)n[1] * n[2] + (double)n[2] * n[0];
  return (open ? 8.1 : 4.1) * samples + 2000.0 * faces + TREE_BYTES * (double)s->n_triangles;
}

// Returns the number of boundary pieces that fit into the remaining memory.
static int64_t room_for_pieces(const int32_t n[3], const rf_surface *s,
                               const rf_field_settings *set) {
  const double left = (set->memory - bytes_needed(n, s, false)) / PIECE_BYTES;
  return set->memory > 0.0 && left < (double)INT64_MAX / 2 ? (int64_t)fmax(left, 0.0) : INT64_MAX;
}

// Rejects fields that exceed the memory before they are tried.
static rf_status check_memory(const int32_t n[3], const rf_surface *s, bool open,
                              const rf_field_settings *set, rf_error *err) {
  const double need = bytes_needed(n, s, open);
  if (set->memory > 0.0 && need > set->memory)
    return rf_fail(
        err, RF_ERR_MEMORY,
        "a field of %d x %d x %d samples needs %.1f GB of memory, %.1f GB are available; "
        "choose a lower resolution",
        (int)n[0], (int)n[1], (int)n[2], 1e-9 * need, 1e-9 * set->memory);
  return RF_OK;
}

static rf_status check_room(const rf_surface *s, const rf_grid *g, double offset,
                            const rf_field_settings *set, rf_error *err) {
  double from[3], to[3];
  rf_surface_bounds(s, from, to);
  for (int c = 0; c < 3; ++c) {
    const double room = fmin(from[c] - g->origin[c], g->corner[c] - to[c]);
    if (room >= offset + g->spacing[c]) continue;
    return rf_fail(
        err, RF_ERR_ARG,
        "the box leaves %g m around the surface along %c; the offset of %g m and a voxel "
        "need %g m: %s",
        room, "xyz"[c], offset, offset + g->spacing[c],
        set->fitted ? "make expand larger" : "make the box larger");
  }
  return RF_OK;
}

// Computes distances from the surface around the soup, or around the solid.
static rf_status by_offset(const rf_surface *s, filling *f, rf_grid *g, double band, bool whole,
                           const rf_run *run, rf_field_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_isosurface iso = {0};
  rf_closest *closest = NULL;
  // rounded like the samples
  const double offset = (double)(float)report->offset;
  rf_run_part parts[3] = {{run, 0, 2, 10}, {run, 2, 3, 10}, {run, 3, 10, 10}};
  const rf_run first = rf_run_of_part(&parts[0]), second = rf_run_of_part(&parts[1]),
               third = rf_run_of_part(&parts[2]);
  // distances far above the offset only need to be known as far
  f->rule = report->closed && !report->crossing ? SIGN_NORMAL : SIGN_NONE;
  RF_TRY(fill(f, offset + rf_vec3_length(f->spacing), &first, err));
  if (report->closed) {
    if (!report->crossing) RF_TRY(check_signs(g, whole, run, &report->crossing, err));
    if (report->crossing) RF_TRY(sign_by_windings(s, g, run, err));
  } else {
    RF_TRY(fill_cavities(g, offset, &report->n_removed, err));
  }
  RF_TRY(rf_isosurface_create(g->n, g->origin, g->spacing, g->values, offset, &second, &iso, err));
  const rf_surface around = rf_isosurface_view(&iso);
  RF_TRY(rf_closest_create(&around, run, &closest, err));
  f->closest = closest;
  f->rule = SIGN_LEVEL;
  f->level = offset;
  RF_TRY(fill(f, band, &third, err));
done:
  rf_closest_free(closest);
  rf_isosurface_free(&iso);
  return st;
}

// Reverses some triangles in a copy; *triangles: the new array.
static rf_status reverse_some(rf_surface *s, const uint8_t *reversed, int32_t **triangles,
                              rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(*triangles, 3 * (size_t)s->n_triangles);
  for (size_t t = 0; t < (size_t)s->n_triangles; ++t)
    for (size_t k = 0; k < 3; ++k)
      (*triangles)[3 * t + k] = s->triangles[3 * t + (reversed[t] && k > 0 ? 3 - k : k)];
  s->triangles = *triangles;
done:
  return st;
}

// Reverses triangles and parts that face another way than the others; surfaces that face inward as
// a whole stay unchanged.
static rf_status mend(rf_surface *s, int32_t **triangles, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  uint8_t *reversed = NULL;
  int32_t count = 0;
  RF_ALLOC(reversed, s->n_triangles);
  RF_TRY(rf_orientation_find(s, run, reversed, err));
  for (int32_t t = 0; t < s->n_triangles; ++t) count += reversed[t];
  if (count > 0 && count < s->n_triangles) RF_TRY(reverse_some(s, reversed, triangles, err));
done:
  rf_free(reversed);
  return st;
}

static rf_status check_offset(const rf_field_settings *set, const rf_field_report *report,
                              const double spacing[3], rf_error *err) {
  if (report->closed || report->offset >= 0.5 * rf_vec3_length(spacing)) return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "offset is %g m; around a surface that encloses no volume it must be at least "
                 "half the diagonal of a voxel, %g m: make it larger, or the resolution higher",
                 set->automatic ? report->offset : set->offset, 0.5 * rf_vec3_length(spacing));
}

rf_status rf_grid_from_surface(const rf_surface *surface, const rf_field_settings *set,
                               const rf_run *run, rf_grid **out, rf_field_report *report,
                               rf_error *err) {
  rf_status st = RF_OK;
  rf_surface mended = *surface;
  const rf_surface *s = &mended;
  int32_t *triangles = NULL;
  rf_grid *g = NULL;
  rf_closest *closest = NULL;
  rf_surface_report measures;
  double low[3], high[3], spacing[3];
  int32_t n[3];
  *out = NULL;
  *report = (rf_field_report){0};
  RF_TRY(rf_surface_check(s, err));
  RF_TRY(place_box(s, set, low, high, spacing, err));
  for (int c = 0; c < 3; ++c)
    n[c] = set->resolution[c] < INT32_MAX ? set->resolution[c] + 1 : INT32_MAX;
  RF_TRY(check_memory(n, s, false, set, err));
  if (!(set->automatic || (isfinite(set->offset) && set->offset >= 0.0))) {
    st = rf_fail(err, RF_ERR_ARG, "offset must be finite and not negative, got %g", set->offset);
    goto done;
  }
  RF_TRY(mend(&mended, &triangles, run, err));
  RF_TRY(rf_surface_measure(s, &measures, err));
  report->closed = measures.closed && measures.volume != 0.0;
  report->turned = report->closed && measures.volume < 0.0;
  RF_TRY(check_memory(n, s, !report->closed, set, err));
  RF_TRY(rf_grid_allocate(n, low, spacing, &g, err));
  RF_TRY(rf_closest_create(s, run, &closest, err));
  bool meet = false, found = false;
  if (report->closed) RF_TRY(rf_crossings_any(s, closest, run, &meet, &report->crossing, err));

  filling f = {.closest = closest, .values = g->values, .turn = report->turned ? -1.0 : 1.0};
  double largest = 0.0;
  bool whole = true;
  double from[3], to[3];
  rf_surface_bounds(s, from, to);
  for (int c = 0; c < 3; ++c) {
    f.n[c] = g->n[c];
    f.origin[c] = g->origin[c];
    f.spacing[c] = g->spacing[c];
    largest = fmax(largest, g->spacing[c]);
    whole = whole && from[c] > g->origin[c] && to[c] < g->corner[c];
  }
  report->band = set->exact ? INFINITY : RF_FAST_BAND * largest;
  report->error = set->exact ? 0.0 : 0.5 * RF_FAST_STEP * rf_vec3_length(g->spacing) * (1 + 1e-6);
  if (report->closed && (set->automatic || set->offset == 0.0)) {
    rf_run_part parts[2] = {{run, 0, 80, 100}, {run, 80, 100, 100}};
    const rf_run first = rf_run_of_part(&parts[0]), second = rf_run_of_part(&parts[1]);
    f.rule = report->crossing ? SIGN_NONE : SIGN_NORMAL;
    RF_TRY(fill(&f, report->band, &first, err));
    RF_TRY(settle_inside(s, &f, g, meet || !measures.manifold, whole, report->band,
                         room_for_pieces(n, s, set), &second, report, err));
    RF_TRY(rf_run_progress(run, 100, 100, err));
  } else if (set->automatic || set->offset == 0.0) {
    RF_TRY(by_windings(s, &f, g, report->band, run, report, &found, err));
    f.closest = closest;
    RF_TRY(rf_run_progress(run, 100, 100, err));
  }
  if (!found && !set->automatic && set->offset == 0.0 && !report->closed) {
    st = rf_fail(err, RF_ERR_MESH,
                 "the surface is not closed, so it has no inside; pass offset=None, or an offset "
                 "above 0: the object is then the region within that distance of the surface");
    goto done;
  }
  if (!found && !(report->closed && (set->automatic || set->offset == 0.0))) {
    report->offset = set->automatic ? RF_SOUP_OFFSET * largest : set->offset;
    RF_TRY(check_offset(set, report, g->spacing, err));
    RF_TRY(check_room(s, g, report->offset, set, err));
    RF_TRY(by_offset(s, &f, g, report->band, whole, run, report, err));
  }
  RF_TRY(rf_grid_seal(g, report->error + report->depth_error, run, err));
  *out = g;
  g = NULL;
done:
  rf_closest_free(closest);
  rf_grid_free(g);
  rf_free(triangles);
  return st;
}
