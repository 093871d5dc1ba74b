#include "sdf/build.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/closest.h"
#include "mesh/crossings.h"
#include "mesh/inside.h"
#include "mesh/orientation.h"
#include "sdf/build_fill.h"
#include "sdf/build_open.h"
#include "sdf/build_signs.h"
#include "sdf/build_union.h"
#include "sdf/isosurface.h"

// Memory per triangle: its tree during construction, and queries in it.
static const double TREE_BYTES = 500.0;
static const double MOST_SHEETS = 0.5;  // share of the area: a surface of more sheets has no inside
// Memory per boundary piece: during assembly, or with the tree over it.
static const double PIECE_BYTES = 600.0;

// Sets the surface from which distances are computed next, and its tree.
static void measure_from(rf_grid_filling *f, const rf_surface *s, const rf_closest *closest) {
  f->surface = s;
  f->closest = closest;
}

// ---- depths ---------------------------------------------------------------------------

// Corrects signs by winding numbers where pseudonormals fail or parts of the surface are hidden in
// others; inner samples get their depth below the boundary of the union.  suspected: parts may be
// hidden although none cross; room: pieces of the boundary that fit into memory.
static rf_status settle_inside(const rf_surface *s, rf_grid_filling *f, rf_grid *g, bool suspected,
                               bool whole, double band, int64_t room, const rf_run *run,
                               rf_field_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_union_boundary around = {0};
  rf_closest *closest = NULL;
  bool parts = false;
  const double least = fmin(fmin(f->spacing[0], f->spacing[1]), f->spacing[2]);
  if (!report->crossing) RF_TRY(rf_grid_signs_contradict(g, whole, run, &report->crossing, err));
  RF_TRY(rf_union_has_parts(s, f->closest, &parts, err));
  if (!report->crossing && !parts && !suspected) return RF_OK;
  RF_TRY(rf_union_boundary_create(s, f->closest, RF_UNION_PIECE * least, RF_UNION_GAP * least, room,
                                  run, &around, err));
  const bool hidden = around.n_hidden > 0 && around.n_triangles > 0;
  report->crossing = report->crossing || hidden;
  if (report->crossing) RF_TRY(rf_grid_sign_by_windings(s, g, run, err));
  if (!hidden) goto done;
  report->n_hidden = around.n_hidden;
  report->depth_error = RF_UNION_PIECE * least;
  const rf_surface boundary = {3 * around.n_triangles, around.n_triangles, around.vertices,
                               around.triangles};
  RF_TRY(rf_closest_create(&boundary, run, &closest, err));
  measure_from(f, &boundary, closest);
  f->rule = RF_SIGN_DEEPER;
  RF_TRY(rf_grid_fill(f, band, run, err));
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
static rf_status by_windings(const rf_surface *s, rf_grid_filling *f, rf_grid *g, double band,
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
    measure_from(f, &outer, walls);
  }
  f->rule = RF_SIGN_NONE;
  RF_TRY(rf_grid_fill(f, band, &first, err));
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
  measure_from(f, &lid, closest);
  f->rule = RF_SIGN_NEARER;
  RF_TRY(rf_grid_fill(f, band, &second, err));
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
static rf_status by_offset(const rf_surface *s, rf_grid_filling *f, rf_grid *g, double band,
                           bool whole, const rf_run *run, rf_field_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_isosurface iso = {0};
  rf_closest *closest = NULL;
  // rounded like the samples
  const double offset = (double)(float)report->offset;
  rf_run_part parts[3] = {{run, 0, 2, 10}, {run, 2, 3, 10}, {run, 3, 10, 10}};
  const rf_run first = rf_run_of_part(&parts[0]), second = rf_run_of_part(&parts[1]),
               third = rf_run_of_part(&parts[2]);
  // distances far above the offset only need to be known as far
  f->rule = report->closed && !report->crossing ? RF_SIGN_NORMAL : RF_SIGN_NONE;
  RF_TRY(rf_grid_fill(f, offset + rf_vec3_length(f->spacing), &first, err));
  if (report->closed) {
    if (!report->crossing) RF_TRY(rf_grid_signs_contradict(g, whole, run, &report->crossing, err));
    if (report->crossing) RF_TRY(rf_grid_sign_by_windings(s, g, run, err));
  } else {
    RF_TRY(fill_cavities(g, offset, &report->n_removed, err));
  }
  RF_TRY(rf_isosurface_create(g->n, g->origin, g->spacing, g->values, offset, &second, &iso, err));
  const rf_surface around = rf_isosurface_view(&iso);
  RF_TRY(rf_closest_create(&around, run, &closest, err));
  measure_from(f, &around, closest);
  f->rule = RF_SIGN_LEVEL;
  f->level = offset;
  RF_TRY(rf_grid_fill(f, band, &third, err));
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

  rf_grid_filling f = {.elsewhere = set->elsewhere,
                       .elsewhere_context = set->elsewhere_context,
                       .values = g->values,
                       .turn = report->turned ? -1.0 : 1.0};
  measure_from(&f, s, closest);
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
    f.rule = report->crossing ? RF_SIGN_NONE : RF_SIGN_NORMAL;
    RF_TRY(rf_grid_fill(&f, report->band, &first, err));
    RF_TRY(settle_inside(s, &f, g, meet || !measures.manifold, whole, report->band,
                         room_for_pieces(n, s, set), &second, report, err));
    RF_TRY(rf_run_progress(run, 100, 100, err));
  } else if (set->automatic || set->offset == 0.0) {
    RF_TRY(by_windings(s, &f, g, report->band, run, report, &found, err));
    measure_from(&f, s, closest);
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
