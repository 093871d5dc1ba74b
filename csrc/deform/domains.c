#include "deform/domains.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"
#include "deform/paths.h"
#include "deform/sweep.h"

// Largest ratio of paths along 26 neighbours to straight ways.
static const double DETOUR = 1.13;

// The point farthest along paths; unreached points come first.
static int32_t farthest(const rf_deformed_solid *s, int32_t n, const int32_t *at) {
  int32_t best = 0;
  for (int32_t p = 1; p < n; ++p)
    if (s->length[at[p]] > s->length[at[best]]) best = p;
  return best;
}

// Labels all samples of the solid, from labels of points or from points chosen as seeds.
static rf_status spread_labels(rf_deformed_solid *s, int32_t n, const int32_t *at,
                               const int32_t *label, int32_t n_domains, const rf_run *run,
                               rf_error *err) {
  rf_status st = RF_OK;
  rf_deformed_solid_forget(s);
  if (label) {
    for (int32_t p = 0; p < n; ++p) rf_deformed_solid_start(s, at[p], label[p]);
    RF_TRY(rf_deformed_solid_follow(s, INFINITY, run, err));
    goto done;
  }
  rf_deformed_solid_start(s, at[0], 0);
  RF_TRY(rf_deformed_solid_follow(s, INFINITY, run, err));
  const int32_t first = farthest(s, n, at);
  rf_deformed_solid_forget(s);
  for (int32_t d = 0; d < n_domains; ++d) {
    const int32_t p = d == 0 ? first : farthest(s, n, at);
    if (!(s->length[at[p]] > 0.0)) {
      st = rf_fail(err, RF_ERR_ARG,
                   "the proxies have only %d different positions, too few for %d domains", (int)d,
                   (int)n_domains);
      goto done;
    }
    rf_deformed_solid_start(s, at[p], d);
    RF_TRY(rf_deformed_solid_follow(s, INFINITY, run, err));
  }
done:
  return st;
}

// Low and high corner of the samples of a domain; of the whole solid where `in` is NULL.
static void bound(const rf_deformed_solid *s, const uint8_t *in, int32_t low[3], int32_t high[3]) {
  for (int c = 0; c < 3; ++c) {
    low[c] = INT32_MAX;
    high[c] = -1;
  }
  for (int32_t i = 0; i < s->n; ++i) {
    if (in && !in[i]) continue;
    int32_t at[3];
    rf_deformed_sample_place(s->grid, s->sample[i], at);
    for (int c = 0; c < 3; ++c) {
      if (at[c] < low[c]) low[c] = at[c];
      if (at[c] > high[c]) high[c] = at[c];
    }
  }
}

// Sets in[i] for samples of the solid within `overlap` of those of a label.
static rf_status grow(rf_deformed_solid *s, const int32_t *label, int32_t of, double overlap,
                      uint8_t *in, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_deformed_solid_forget(s);
  for (int32_t i = 0; i < s->n; ++i) {
    if (label[i] != of) continue;
    int32_t to[26];
    double way[26];
    bool border = false;
    const int count = rf_deformed_solid_neighbours(s, i, to, way);
    for (int k = 0; k < count; ++k) border |= label[to[k]] != of;
    if (border)
      rf_deformed_solid_start(s, i, of);
    else
      s->length[i] = 0.0;
  }
  RF_TRY(rf_deformed_solid_follow(s, overlap, run, err));
  for (int32_t i = 0; i < s->n; ++i) in[i] = s->length[i] < INFINITY || label[i] < 0;
done:
  return st;
}

static rf_status cut_one(const rf_deformed_solid *s, const uint8_t *in, rf_deformed_domain *d,
                         rf_deformed_lines *l, const rf_run *run, rf_error *err) {
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
    RF_TRY(rf_deformed_square_distances(d->n, steps, own, l, run, err));
    RF_TRY(rf_deformed_square_distances(d->n, steps, other, l, run, err));
  }
done:
  rf_free(own);
  rf_free(other);
  return st;
}

static double default_overlap(const rf_deformed_solid *s) {
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
  rf_deformed_solid s = {0};
  rf_deformed_lines l = {0};
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

  RF_TRY(rf_deformed_solid_make(grid, &s, err));
  RF_ALLOC(made, 1);
  made->n_domains = n_domains;
  made->n_points = n_points;
  made->overlap = overlap >= 0.0 ? overlap : default_overlap(&s);
  RF_ALLOC(made->label, n_points);
  RF_ALLOC(made->domain, n_domains);
  int32_t longest = 0;
  for (int c = 0; c < 3; ++c)
    if (grid->n[c] > longest) longest = grid->n[c];
  RF_TRY(rf_deformed_lines_create(&l, longest, err));
  RF_ALLOC(at, n_points);
  for (int32_t p = 0; p < n_points; ++p) {
    RF_TRY(rf_run_progress(run, -1, -1, err));
    at[p] = rf_deformed_solid_nearest(&s, points + 3 * (size_t)p);
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
  rf_deformed_solid_free(&s);
  rf_deformed_lines_free(&l);
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
