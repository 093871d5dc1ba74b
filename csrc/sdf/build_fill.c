#include "sdf/build_fill.h"

#include <math.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

static double place_of(const rf_grid_filling *f, int axis, int32_t index) {
  return f->origin[axis] + f->spacing[axis] * (index + (axis < 2 ? f->start[axis] : 0));
}

static size_t coarse_at(const rf_grid_filling *f, int32_t i, int32_t j, int32_t k) {
  return ((size_t)i * (size_t)f->coarse_n[1] + (size_t)j) * (size_t)f->coarse_n[2] + (size_t)k;
}

// Interpolates a packet between its coarse samples; false if it is too near for that.
static bool is_far(const rf_grid_filling *f, const int32_t at[3], double *square) {
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
static double sign_at(const rf_grid_filling *f, const double p[3], int32_t nearest) {
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
static void write_row(const rf_grid_filling *f, int32_t i, int32_t j, const double *distance,
                      const int32_t *nearest) {
  float *to = f->values + ((size_t)i * (size_t)f->n[1] + (size_t)j) * (size_t)f->n[2];
  // far from the origin sample positions themselves are rounded
  const double far = fmax(fabs(f->origin[2]), fabs(place_of(f, 2, f->n[2])));
  const double apart = f->spacing[2] * (1.0 + 1e-9) + 1e-15 * far;
  double sign = 1.0;
  for (int32_t k = 0; k < f->n[2]; ++k) {
    if (f->rule == RF_SIGN_DEEPER) {
      if (signbit(to[k])) to[k] = (float)fmin(-distance[k], (double)to[k]);
      continue;
    }
    if (f->rule == RF_SIGN_NEARER) {
      to[k] = copysignf((float)fmin(distance[k], fabs((double)to[k])), to[k]);
      continue;
    }
    if (f->rule == RF_SIGN_LEVEL)
      sign = (double)to[k] < f->level ? -1.0 : 1.0;
    else if (f->rule == RF_SIGN_NORMAL && (k == 0 || !(distance[k] + distance[k - 1] > apart)))
      sign = sign_at(f, (double[]){place_of(f, 0, i), place_of(f, 1, j), place_of(f, 2, k)},
                     nearest[k]);
    to[k] = (float)(sign * distance[k]);
  }
}

// True if no sample of the packet can change.
static bool is_settled(const rf_grid_filling *f, const int32_t at[3]) {
  if (f->rule != RF_SIGN_DEEPER) return false;
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
  const rf_grid_filling *f = context;
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

rf_status rf_grid_fill_here(rf_grid_filling *f, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  f->packet = rf_packet_of(f->simd);
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

static rf_status fill(rf_grid_filling *f, const rf_run *run, rf_error *err) {
  if (f->elsewhere) return f->elsewhere(f->elsewhere_context, f, run, err);
  return rf_grid_fill_here(f, run, err);
}

rf_status rf_grid_fill(rf_grid_filling *f, double band, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  float *coarse = NULL;
  if (band == INFINITY) return fill(f, run, err);
  rf_grid_filling few = *f;
  few.rule = RF_SIGN_NONE;
  for (int c = 0; c < 3; ++c) {
    few.n[c] = f->coarse_n[c] = (f->n[c] + RF_FAST_STEP - 1) / RF_FAST_STEP + 1;
    few.spacing[c] = RF_FAST_STEP * f->spacing[c];
  }
  RF_ALLOC(coarse, (size_t)few.n[0] * (size_t)few.n[1] * (size_t)few.n[2]);
  few.values = coarse;
  rf_run_part first = {run, 0, 1, 5}, second = {run, 1, 5, 5};
  const rf_run one = rf_run_of_part(&first), two = rf_run_of_part(&second);
  RF_TRY(fill(&few, &one, err));
  // distances in a cell are at least that of its nearest corner less half its diagonal
  f->coarse = coarse;
  f->far = band + 0.5 * rf_vec3_length(few.spacing) * (1.0 + 1e-6);
  RF_TRY(fill(f, &two, err));
done:
  f->coarse = NULL;
  rf_free(coarse);
  return st;
}
