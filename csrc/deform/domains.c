#include "deform/domains.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"

// Largest ratio of paths along 26 neighbours to straight ways.
static const double DETOUR = 1.13;

// ---- the solid, and paths in it ----------------------------------------------------------

typedef struct solid {
  const rf_grid *grid;
  int32_t n;        // samples of the solid
  int32_t *index;   // of each sample of the grid in the solid; -1: none
  int32_t *sample;  // of the grid, for each of the solid             (n)
  double half;      // half a diagonal of a voxel, m
  // paths
  double *length;   // from the nearest seed, m                       (n)
  int32_t *label;   // of that seed; -1: none reaches it              (n)
  int32_t *heap;    // samples by length                              (n)
  int32_t *place;   // in the heap; -1: not in it                     (n)
  int32_t waiting;  // in the heap
} solid;

static void place_of(const rf_grid *g, int32_t sample, int32_t at[3]) {
  at[2] = sample % g->n[2];
  at[1] = sample / g->n[2] % g->n[1];
  at[0] = sample / g->n[2] / g->n[1];
}

static rf_status make_solid(const rf_grid *g, solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t count = (int64_t)g->n[0] * g->n[1] * g->n[2];
  if (!(count <= INT32_MAX))
    return rf_fail(err, RF_ERR_ARG, "a field of %lld samples is too large to be cut into domains",
                   (long long)count);
  s->grid = g;
  double square = 0.0;
  for (int c = 0; c < 3; ++c) square += g->spacing[c] * g->spacing[c];
  s->half = 0.5 * sqrt(square);
  RF_ALLOC(s->index, count);
  for (int64_t i = 0; i < count; ++i) s->index[i] = (double)g->values[i] <= s->half ? s->n++ : -1;
  if (s->n == 0) {
    st = rf_fail(err, RF_ERR_ARG, "the field has no inside to be cut into domains");
    goto done;
  }
  RF_ALLOC(s->sample, s->n);
  RF_ALLOC(s->length, s->n);
  RF_ALLOC(s->label, s->n);
  RF_ALLOC(s->heap, s->n);
  RF_ALLOC(s->place, s->n);
  for (int64_t i = 0; i < count; ++i)
    if (s->index[i] >= 0) s->sample[s->index[i]] = (int32_t)i;
done:
  return st;
}

static void free_solid(solid *s) {
  rf_free(s->index);
  rf_free(s->sample);
  rf_free(s->length);
  rf_free(s->label);
  rf_free(s->heap);
  rf_free(s->place);
}

static void forget_paths(solid *s) {
  s->waiting = 0;
  for (int32_t i = 0; i < s->n; ++i) {
    s->length[i] = INFINITY;
    s->label[i] = -1;
    s->place[i] = -1;
  }
}

static void put(solid *s, int32_t at, int32_t i) {
  s->heap[at] = i;
  s->place[i] = at;
}

// Moves sample i up the heap: its length became smaller, or it is new.
static void rise(solid *s, int32_t i) {
  if (s->place[i] < 0) put(s, s->waiting++, i);
  int32_t at = s->place[i];
  for (; at > 0 && s->length[s->heap[(at - 1) / 2]] > s->length[i]; at = (at - 1) / 2)
    put(s, at, s->heap[(at - 1) / 2]);
  put(s, at, i);
}

static int32_t take_nearest(solid *s) {
  const int32_t first = s->heap[0], moved = s->heap[--s->waiting];
  s->place[first] = -1;
  if (s->waiting == 0) return first;
  int32_t at = 0;
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= s->waiting) break;
    if (child + 1 < s->waiting && s->length[s->heap[child + 1]] < s->length[s->heap[child]])
      ++child;
    if (!(s->length[s->heap[child]] < s->length[moved])) break;
    put(s, at, s->heap[child]);
    at = child;
  }
  put(s, at, moved);
  return first;
}

static void start(solid *s, int32_t i, int32_t label) {
  if (!(s->length[i] > 0.0)) return;
  s->length[i] = 0.0;
  s->label[i] = label;
  rise(s, i);
}

// Neighbours of a sample in the solid, and the distances to them.
static int neighbours(const solid *s, int32_t i, int32_t to[26], double way[26]) {
  const rf_grid *g = s->grid;
  int32_t at[3];
  int count = 0;
  place_of(g, s->sample[i], at);
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c) {
        const int32_t x = at[0] + a, y = at[1] + b, z = at[2] + c;
        if ((a == 0 && b == 0 && c == 0) || x < 0 || x >= g->n[0] || y < 0 || y >= g->n[1] ||
            z < 0 || z >= g->n[2])
          continue;
        const int32_t other = s->index[((int64_t)x * g->n[1] + y) * g->n[2] + z];
        if (other < 0) continue;
        const double u = a * g->spacing[0], v = b * g->spacing[1], w = c * g->spacing[2];
        way[count] = sqrt(u * u + v * v + w * w);
        to[count++] = other;
      }
  return count;
}

// Follows shortest paths from all queued samples, up to a length (Dijkstra).
static rf_status follow(solid *s, double limit, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  for (int64_t steps = 0; s->waiting > 0; ++steps) {
    if (steps % 65536 == 0) RF_TRY(rf_run_progress(run, -1, -1, err));
    const int32_t i = take_nearest(s);
    int32_t to[26];
    double way[26];
    const int count = neighbours(s, i, to, way);
    for (int k = 0; k < count; ++k) {
      const double length = s->length[i] + way[k];
      if (!(length <= limit && length < s->length[to[k]])) continue;
      s->length[to[k]] = length;
      s->label[to[k]] = s->label[i];
      rise(s, to[k]);
    }
  }
done:
  return st;
}

// Nearest sample of the solid; of equally near ones the lowest.
static int32_t nearest_sample(const solid *s, const double p[3]) {
  const rf_grid *g = s->grid;
  const double *h = g->spacing;
  int32_t at[3];
  for (int c = 0; c < 3; ++c) {
    const double t = floor((p[c] - g->origin[c]) / h[c] + 0.5);
    at[c] = t > 0.0 ? (t < g->n[c] - 1 ? (int32_t)t : g->n[c] - 1) : 0;
  }
  // growing boxes around the place, until all outside the box is farther
  for (int32_t w = 1;; w *= 2) {
    int32_t low[3], high[3], best = -1;
    bool all = true;
    for (int c = 0; c < 3; ++c) {
      low[c] = at[c] > w ? at[c] - w : 0;
      high[c] = at[c] < g->n[c] - 1 - w ? at[c] + w : g->n[c] - 1;
      all &= low[c] == 0 && high[c] == g->n[c] - 1;
    }
    double least = INFINITY;
    for (int32_t x = low[0]; x <= high[0]; ++x)
      for (int32_t y = low[1]; y <= high[1]; ++y)
        for (int32_t z = low[2]; z <= high[2]; ++z) {
          const int32_t i = s->index[((int64_t)x * g->n[1] + y) * g->n[2] + z];
          if (i < 0) continue;
          const double u = (g->origin[0] + x * h[0] - p[0]) / s->half;
          const double v = (g->origin[1] + y * h[1] - p[1]) / s->half;
          const double t = (g->origin[2] + z * h[2] - p[2]) / s->half;
          const double square = u * u + v * v + t * t;
          if (!(square < least || best < 0)) continue;
          least = square;
          best = i;
        }
    const double beside = w * fmin(h[0], fmin(h[1], h[2]));
    if (best >= 0 && (all || sqrt(least) * s->half <= beside)) return best;
  }
}

// The point farthest along paths; unreached points come first.
static int32_t farthest(const solid *s, int32_t n, const int32_t *at) {
  int32_t best = 0;
  for (int32_t p = 1; p < n; ++p)
    if (s->length[at[p]] > s->length[at[best]]) best = p;
  return best;
}

// Labels all samples of the solid, from labels of points or from points chosen as seeds.
static rf_status spread_labels(solid *s, int32_t n, const int32_t *at, const int32_t *label,
                               int32_t n_domains, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  forget_paths(s);
  if (label) {
    for (int32_t p = 0; p < n; ++p) start(s, at[p], label[p]);
    RF_TRY(follow(s, INFINITY, run, err));
    goto done;
  }
  start(s, at[0], 0);
  RF_TRY(follow(s, INFINITY, run, err));
  const int32_t first = farthest(s, n, at);
  forget_paths(s);
  for (int32_t d = 0; d < n_domains; ++d) {
    const int32_t p = d == 0 ? first : farthest(s, n, at);
    if (!(s->length[at[p]] > 0.0)) {
      st = rf_fail(err, RF_ERR_ARG, "the proxies are in %d places only: too few for %d domains",
                   (int)d, (int)n_domains);
      goto done;
    }
    start(s, at[p], d);
    RF_TRY(follow(s, INFINITY, run, err));
  }
done:
  return st;
}

// ---- straight distances --------------------------------------------------------------------

typedef struct line {
  double *value, *out, *border;  // (longest side), borders one more
  int32_t *lowest;
} line;

// out[p] = min over q of value[q] + (spacing (p - q))^2: the lower envelope of parabolas
// (Felzenszwalb and Huttenlocher 2012)
static void sweep_line(int32_t n, double spacing, line *l) {
  const double h2 = spacing * spacing;
  int32_t k = -1;
  for (int32_t q = 0; q < n; ++q) {
    if (!(l->value[q] < INFINITY)) continue;
    double border = -INFINITY;
    for (; k >= 0; --k) {
      const int32_t v = l->lowest[k];
      border = 0.5 * (q + v) + 0.5 * (l->value[q] - l->value[v]) / (h2 * (q - v));
      if (border > l->border[k]) break;
    }
    if (k < 0) border = -INFINITY;
    l->lowest[++k] = q;
    l->border[k] = border;
  }
  if (k < 0) return;
  l->border[k + 1] = INFINITY;
  for (int32_t p = 0, at = 0; p < n; ++p) {
    while (l->border[at + 1] < p) ++at;
    const double way = spacing * (p - l->lowest[at]);
    l->out[p] = l->value[l->lowest[at]] + way * way;
  }
  for (int32_t p = 0; p < n; ++p) l->value[p] = l->out[p];
}

// Squares of distances, in squares of the unit of `spacing`, to the samples that are 0; all others
// are infinite on entry.
static rf_status square_distances(const int32_t n[3], const double spacing[3], float *square,
                                  line *l, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t stride[3] = {(int64_t)n[1] * n[2], n[2], 1};
  for (int axis = 2; axis >= 0; --axis) {
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    for (int32_t i = 0; i < n[a]; ++i) {
      if (i % 16 == 0) RF_TRY(rf_run_progress(run, -1, -1, err));
      for (int32_t j = 0; j < n[b]; ++j) {
        float *first = square + i * stride[a] + j * stride[b];
        for (int32_t p = 0; p < n[axis]; ++p) l->value[p] = first[p * stride[axis]];
        sweep_line(n[axis], spacing[axis], l);
        for (int32_t p = 0; p < n[axis]; ++p) first[p * stride[axis]] = (float)l->value[p];
      }
    }
  }
done:
  return st;
}

// ---- one domain --------------------------------------------------------------------------

// Low and high corner of the samples of a domain; of the whole solid where `in` is NULL.
static void bound(const solid *s, const uint8_t *in, int32_t low[3], int32_t high[3]) {
  for (int c = 0; c < 3; ++c) {
    low[c] = INT32_MAX;
    high[c] = -1;
  }
  for (int32_t i = 0; i < s->n; ++i) {
    if (in && !in[i]) continue;
    int32_t at[3];
    place_of(s->grid, s->sample[i], at);
    for (int c = 0; c < 3; ++c) {
      if (at[c] < low[c]) low[c] = at[c];
      if (at[c] > high[c]) high[c] = at[c];
    }
  }
}

// Sets in[i] for samples of the solid within `overlap` of those of a label.
static rf_status grow(solid *s, const int32_t *label, int32_t of, double overlap, uint8_t *in,
                      const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  forget_paths(s);
  for (int32_t i = 0; i < s->n; ++i) {
    if (label[i] != of) continue;
    int32_t to[26];
    double way[26];
    bool border = false;
    const int count = neighbours(s, i, to, way);
    for (int k = 0; k < count; ++k) border |= label[to[k]] != of;
    if (border)
      start(s, i, of);
    else
      s->length[i] = 0.0;
  }
  RF_TRY(follow(s, overlap, run, err));
  for (int32_t i = 0; i < s->n; ++i) in[i] = s->length[i] < INFINITY || label[i] < 0;
done:
  return st;
}

static rf_status cut_one(const solid *s, const uint8_t *in, rf_deformed_domain *d, line *l,
                         const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const rf_grid *g = s->grid;
  float *own = NULL, *other = NULL;
  int32_t low[3], high[3], all_low[3], all_high[3];
  // in units of s: squares in metres may overflow float32
  const double steps[3] = {g->spacing[0] / s->half, g->spacing[1] / s->half,
                           g->spacing[2] / s->half};
  bound(s, in, low, high);
  bound(s, NULL, all_low, all_high);
  int64_t count = 1;
  for (int c = 0; c < 3; ++c) {
    // as much margin as the whole has; at least two samples beyond the cut
    const int32_t below = all_low[c] > 2 ? all_low[c] : 2;
    const int32_t above = g->n[c] - 1 - all_high[c] > 2 ? g->n[c] - 1 - all_high[c] : 2;
    d->from[c] = low[c] > below ? low[c] - below : 0;
    const int32_t last = high[c] + above < g->n[c] - 1 ? high[c] + above : g->n[c] - 1;
    d->n[c] = last - d->from[c] + 1;
    count *= d->n[c];
  }
  RF_ALLOC(own, count);
  RF_ALLOC(other, count);
  RF_ALLOC(d->values, count);

  int64_t at = 0;
  for (int pass = 0; pass < 2; ++pass) {
    at = 0;
    for (int32_t x = 0; x < d->n[0]; ++x)
      for (int32_t y = 0; y < d->n[1]; ++y)
        for (int32_t z = 0; z < d->n[2]; ++z, ++at) {
          const int64_t sample =
              ((int64_t)(d->from[0] + x) * g->n[1] + d->from[1] + y) * g->n[2] + d->from[2] + z;
          const int32_t i = s->index[sample];
          const bool mine = i >= 0 && in[i];
          if (pass == 0) {
            own[at] = mine ? 0.0f : INFINITY;
            other[at] = i >= 0 && !mine ? 0.0f : INFINITY;
            continue;
          }
          const double beyond = s->half * (sqrt((double)(mine ? other[at] : own[at])) - 1.0);
          const double side = mine ? -fmax(beyond, 0.0) : beyond;
          d->values[at] = (float)fmax((double)g->values[sample], side);
        }
    if (pass == 1) break;
    RF_TRY(square_distances(d->n, steps, own, l, run, err));
    RF_TRY(square_distances(d->n, steps, other, l, run, err));
  }
done:
  rf_free(own);
  rf_free(other);
  return st;
}

// ---- the whole ----------------------------------------------------------------------------

static double default_overlap(const solid *s) {
  double depth = 0.0, longest = 0.0;
  int32_t low[3], high[3];
  for (int32_t i = 0; i < s->n; ++i) depth = fmax(depth, -(double)s->grid->values[s->sample[i]]);
  bound(s, NULL, low, high);
  for (int c = 0; c < 3; ++c) longest = fmax(longest, (high[c] - low[c]) * s->grid->spacing[c]);
  return fmin(DETOUR * (depth + 2.0 * s->half), fmax(0.1 * longest, 4.0 * s->half));
}

rf_status rf_deformed_domains_cut(const rf_grid *grid, int32_t n_points, const double *points,
                                  const int32_t *label, int32_t n_domains, double overlap,
                                  const rf_run *run, rf_deformed_domains **out, rf_error *err) {
  rf_status st = RF_OK;
  solid s = {0};
  line l = {0};
  rf_deformed_domains *made = NULL;
  int32_t *at = NULL, *labels = NULL;
  uint8_t *in = NULL;
  *out = NULL;
  if (!(n_points >= 1)) return rf_fail(err, RF_ERR_ARG, "there are no proxies");
  if (!(n_domains >= 1 && n_domains <= n_points))
    return rf_fail(err, RF_ERR_ARG,
                   "domains must be between 1 and %d, the number of proxies, "
                   "got %d",
                   (int)n_points, (int)n_domains);
  if (!(overlap < INFINITY))
    return rf_fail(err, RF_ERR_ARG, "overlap must be finite, got %g m", overlap);
  for (int32_t p = 0; label && p < n_points; ++p)
    if (!(label[p] >= 0 && label[p] < n_domains))
      return rf_fail(err, RF_ERR_ARG, "label %d is %d; allowed are 0 to %d", (int)p, (int)label[p],
                     (int)n_domains - 1);

  RF_TRY(make_solid(grid, &s, err));
  RF_ALLOC(made, 1);
  made->n_domains = n_domains;
  made->n_points = n_points;
  made->overlap = overlap >= 0.0 ? overlap : default_overlap(&s);
  RF_ALLOC(made->label, n_points);
  RF_ALLOC(made->domain, n_domains);
  int32_t longest = 0;
  for (int c = 0; c < 3; ++c)
    if (grid->n[c] > longest) longest = grid->n[c];
  RF_ALLOC(l.value, longest);
  RF_ALLOC(l.out, longest);
  RF_ALLOC(l.border, longest + 1);
  RF_ALLOC(l.lowest, longest);
  RF_ALLOC(at, n_points);
  for (int32_t p = 0; p < n_points; ++p) {
    RF_TRY(rf_run_progress(run, -1, -1, err));
    at[p] = nearest_sample(&s, points + 3 * (size_t)p);
  }

  RF_TRY(spread_labels(&s, n_points, at, label, n_domains, run, err));
  RF_ALLOC(labels, s.n);
  RF_ALLOC(in, s.n);
  for (int32_t i = 0; i < s.n; ++i) labels[i] = s.label[i];
  for (int32_t p = 0; p < n_points; ++p)
    made->label[p] = label ? label[p] : labels[at[p]] < 0 ? 0 : labels[at[p]];
  for (int32_t d = 0; d < n_domains; ++d) {
    RF_TRY(rf_run_progress(run, d, n_domains, err));
    RF_TRY(grow(&s, labels, d, made->overlap, in, run, err));
    RF_ALLOC(made->domain[d].member, n_points);
    int32_t members = 0;
    for (int32_t p = 0; p < n_points; ++p) {
      made->domain[d].member[p] = in[at[p]] || made->label[p] == d;
      members += made->domain[d].member[p];
    }
    if (members == 0) {
      st = rf_fail(err, RF_ERR_ARG, "domain %d has no proxies; each needs one or more", (int)d);
      goto done;
    }
    RF_TRY(cut_one(&s, in, &made->domain[d], &l, run, err));
  }
  RF_TRY(rf_run_progress(run, n_domains, n_domains, err));
  *out = made;
  made = NULL;
done:
  free_solid(&s);
  rf_free(l.value);
  rf_free(l.out);
  rf_free(l.border);
  rf_free(l.lowest);
  rf_free(at);
  rf_free(labels);
  rf_free(in);
  rf_deformed_domains_free(made);
  return st;
}

void rf_deformed_domains_free(rf_deformed_domains *domains) {
  if (!domains) return;
  for (int32_t d = 0; domains->domain && d < domains->n_domains; ++d) {
    rf_free(domains->domain[d].values);
    rf_free(domains->domain[d].member);
  }
  rf_free(domains->domain);
  rf_free(domains->label);
  rf_free(domains);
}
