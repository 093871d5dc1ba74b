#include "deform/paths.h"

#include <math.h>

#include "base/alloc.h"

rf_status rf_deformed_solid_make(const rf_grid *g, rf_deformed_solid *s, rf_error *err) {
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

void rf_deformed_solid_free(rf_deformed_solid *s) {
  rf_free(s->index);
  rf_free(s->sample);
  rf_free(s->length);
  rf_free(s->label);
  rf_free(s->heap);
  rf_free(s->place);
}

void rf_deformed_solid_forget(rf_deformed_solid *s) {
  s->waiting = 0;
  for (int32_t i = 0; i < s->n; ++i) {
    s->length[i] = INFINITY;
    s->label[i] = -1;
    s->place[i] = -1;
  }
}

static void put(rf_deformed_solid *s, int32_t at, int32_t i) {
  s->heap[at] = i;
  s->place[i] = at;
}

// Moves sample i up the heap: its length became smaller, or it is new.
static void rise(rf_deformed_solid *s, int32_t i) {
  if (s->place[i] < 0) put(s, s->waiting++, i);
  int32_t at = s->place[i];
  for (; at > 0 && s->length[s->heap[(at - 1) / 2]] > s->length[i]; at = (at - 1) / 2)
    put(s, at, s->heap[(at - 1) / 2]);
  put(s, at, i);
}

static int32_t take_nearest(rf_deformed_solid *s) {
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

void rf_deformed_solid_start(rf_deformed_solid *s, int32_t i, int32_t label) {
  if (!(s->length[i] > 0.0)) return;
  s->length[i] = 0.0;
  s->label[i] = label;
  rise(s, i);
}

int rf_deformed_solid_neighbours(const rf_deformed_solid *s, int32_t i, int32_t to[26],
                                 double way[26]) {
  const rf_grid *g = s->grid;
  int32_t at[3];
  int count = 0;
  rf_deformed_sample_place(g, s->sample[i], at);
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

rf_status rf_deformed_solid_follow(rf_deformed_solid *s, double limit, const rf_run *run,
                                   rf_error *err) {
  rf_status st = RF_OK;
  for (int64_t steps = 0; s->waiting > 0; ++steps) {
    if (steps % 65536 == 0) RF_TRY(rf_run_progress(run, -1, -1, err));
    const int32_t i = take_nearest(s);
    int32_t to[26];
    double way[26];
    const int count = rf_deformed_solid_neighbours(s, i, to, way);
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

int32_t rf_deformed_solid_nearest(const rf_deformed_solid *s, const double p[3]) {
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
