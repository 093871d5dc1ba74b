#include "green/columns.h"

#include "base/alloc.h"
#include "base/run.h"
#include "green/node.h"

struct rf_green_columns {
  const rf_solid *solid;
  const int32_t *node;
  int32_t *ptr;  // shares of each place  (count + 1)
  rf_green_share *share;
  rf_fronts_inverse *inverse;
  const double *rigid;  // R of a free solid  (RF_RIGID, n, 3); NULL: held
  double *balance;      // Q                  (RF_RIGID, n, 3)
};

// Fills the shares of all places.
static rf_status find_shares(rf_green_columns *c, int32_t count, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(c->ptr, (int64_t)count + 1);
  for (int32_t i = 0; i < count; ++i)
    c->ptr[i + 1] = c->ptr[i] + rf_green_shares(c->solid, c->node[i], NULL);
  RF_ALLOC(c->share, c->ptr[count]);
  for (int32_t i = 0; i < count; ++i) rf_green_shares(c->solid, c->node[i], c->share + c->ptr[i]);
done:
  return st;
}

// Computes Q of a free solid.
static rf_status balance(rf_green_columns *c, const rf_modes_solid *modes, const rf_run *run,
                         rf_error *err) {
  rf_status st = RF_OK;
  const rf_eigen_problem *k = &rf_modes_solid_system(modes)->operators;
  const int64_t n = k->n;
  double *mass = NULL;
  RF_ALLOC(mass, RF_RIGID * n);
  RF_ALLOC(c->balance, RF_RIGID * n);
  RF_TRY(k->mass(k->context, run, RF_RIGID, c->rigid, mass, err));
  RF_TRY(rf_cholesky_solve(rf_modes_solid_factor(modes), run, RF_RIGID, mass, c->balance, err));
  double inner[RF_RIGID][RF_RIGID];
  for (int a = 0; a < RF_RIGID; ++a)
    for (int b = 0; b < RF_RIGID; ++b) {
      inner[a][b] = 0.0;
      for (int64_t i = 0; i < n; ++i) inner[a][b] += mass[a * n + i] * c->balance[b * n + i];
    }
  for (int a = 0; a < RF_RIGID; ++a)
    for (int b = 0; b < RF_RIGID; ++b)
      for (int64_t i = 0; i < n; ++i)
        c->balance[b * n + i] -= 0.5 * inner[a][b] * c->rigid[a * n + i];
done:
  rf_free(mass);
  return st;
}

rf_status rf_green_columns_create(const rf_solid *solid, const rf_modes_solid *modes,
                                  const rf_run *run, int32_t count, const int32_t *node,
                                  rf_green_columns **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_green_columns *c = NULL;
  int32_t *unknown = NULL;
  *out = NULL;
  RF_ALLOC(c, 1);
  c->solid = solid;
  c->node = node;
  c->rigid = rf_modes_solid_rigid(modes);
  if (c->rigid) RF_TRY(balance(c, modes, run, err));
  RF_TRY(find_shares(c, count, err));
  const int32_t shares = c->ptr[count];
  RF_ALLOC(unknown, 3 * (int64_t)shares);
  for (int32_t i = 0; i < 3 * shares; ++i) unknown[i] = c->share[i / 3].unknown + i % 3;
  RF_TRY(rf_cholesky_inverse_create(rf_modes_solid_factor(modes), 3 * shares, unknown, run->threads,
                                    &c->inverse, err));
  *out = c;
  c = NULL;
done:
  rf_free(unknown);
  rf_green_columns_free(c);
  return st;
}

void rf_green_columns_free(rf_green_columns *c) {
  if (!c) return;
  rf_fronts_inverse_free(c->inverse);
  rf_free(c->balance);
  rf_free(c->ptr);
  rf_free(c->share);
  rf_free(c);
}

int32_t rf_green_columns_position(const rf_green_columns *c, int32_t place) {
  int32_t first = INT32_MAX;
  for (int32_t p = c->ptr[place]; p < c->ptr[place + 1]; ++p)
    for (int d = 0; d < 3; ++d) {
      const int32_t at = rf_fronts_inverse_position(c->inverse, c->share[p].unknown + d);
      if (at < first) first = at;
    }
  return first;
}

const double *rf_green_columns_point(const rf_green_columns *c, int32_t place) {
  return c->solid->mesh->nodes + 3 * (int64_t)c->node[place];
}

void rf_green_columns_solve(const rf_green_columns *c, int worker, int32_t some,
                            const int32_t *place, int32_t from) {
  rf_fronts_inverse_begin(c->inverse, worker, 3 * some);
  for (int32_t k = 0; k < some; ++k)
    for (int32_t p = c->ptr[place[k]]; p < c->ptr[place[k] + 1]; ++p)
      for (int d = 0; d < 3; ++d)
        rf_fronts_inverse_add(c->inverse, worker, 3 * k + d, c->share[p].unknown + d,
                              c->share[p].weight);
  rf_fronts_inverse_solve(c->inverse, worker, from);
}

// Returns a rigid motion, or Q, at a place along an axis.
static double at_place(const rf_green_columns *c, const double *field, int32_t place, int axis) {
  double sum = 0.0;
  for (int32_t p = c->ptr[place]; p < c->ptr[place + 1]; ++p)
    sum += c->share[p].weight * field[c->share[p].unknown + axis];
  return sum;
}

void rf_green_columns_block(const rf_green_columns *c, int worker, int32_t place, int32_t k,
                            int32_t column, double block[9]) {
  const int64_t n = 3 * (int64_t)c->solid->n_free;
  int64_t stride;
  for (int i = 0; i < 9; ++i) block[i] = 0.0;
  for (int32_t p = c->ptr[place]; p < c->ptr[place + 1]; ++p)
    for (int i = 0; i < 3; ++i) {
      const double *row =
          rf_fronts_inverse_row(c->inverse, worker, c->share[p].unknown + i, &stride);
      for (int j = 0; j < 3; ++j) {
        const int32_t q = 3 * k + j;
        block[3 * i + j] +=
            c->share[p].weight * row[q / RF_PANEL_WIDTH * stride + q % RF_PANEL_WIDTH];
      }
    }
  for (int a = 0; c->rigid && a < RF_RIGID; ++a) {
    const double *balance = c->balance + a * n, *rigid = c->rigid + a * n;
    for (int i = 0; i < 9; ++i)
      block[i] -= at_place(c, balance, place, i / 3) * at_place(c, rigid, column, i % 3) +
                  at_place(c, rigid, place, i / 3) * at_place(c, balance, column, i % 3);
  }
}

void rf_green_columns_rigid(const rf_green_columns *c, int32_t k, int32_t place, double out[3]) {
  const double *motion = c->rigid + 3 * (int64_t)k * c->solid->n_free;
  for (int i = 0; i < 3; ++i) out[i] = at_place(c, motion, place, i);
}
