// One body in the solve of all contacts.
#include "world/multibody_node.h"

#include <string.h>

#include "linalg/dense_rt.h"
#include "linalg/quat.h"
#include "linalg/vector.h"

enum { RIGID = RF_SLOT_RIGID, SHIFTS = 60 };
static const double GROWTH = 4.0;  // of a shift of the tangent, where it is indefinite

// Step of the deformation, linearized with the added stiffness; where the tangent is indefinite a
// multiple of the unit matrix joins that, which acts on the change within the step.
static rf_status linearize(rf_multibody_node *n) {
  const int32_t r = n->r, ld = n->size - RIGID;
  rf_motion *m = n->impact;
  double shift = 0.0;
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < ld; ++j)
      n->added[i * ld + j] = n->own[(RIGID + i) * n->size + RIGID + j];
  rf_status st = rf_motion_linearize_rt(m, NULL, n->added, n->corrected + RIGID);
  for (int k = 0; k < SHIFTS && st == RF_ERR_SINGULAR; ++k) {
    const double next = k == 0 ? 1.0 / (m->set.dt_s * m->set.dt_s) : GROWTH * shift;
    for (int32_t i = 0; i < r; ++i) n->added[i * (ld + 1)] += next - shift;
    shift = next;
    ++m->report.indefinite;
    st = rf_motion_linearize_rt(m, NULL, n->added, n->corrected + RIGID);
  }
  return st == RF_ERR_SINGULAR ? RF_ERR_DIVERGED : st;
}

// H of the rigid motion, M / h^2, in the world.
static void rigid_mass(const rf_free_body *b, double out[RIGID * RIGID]) {
  const double h = b->set.deformation.dt_s, by = 1.0 / (h * h);
  double half[9], row[3], turned[3];
  memset(out, 0, RIGID * RIGID * sizeof *out);
  for (int i = 0; i < 3; ++i) out[i * (RIGID + 1)] = by * b->set.mass;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) row[i] = b->set.inertia[3 * i + j];
    rf_quat_rotate(b->rigid.quaternion, row, turned);
    for (int i = 0; i < 3; ++i) half[3 * i + j] = turned[i];
  }
  for (int i = 0; i < 3; ++i) {
    rf_quat_rotate(b->rigid.quaternion, half + 3 * i, turned);
    for (int j = 0; j < 3; ++j) out[(3 + i) * RIGID + 3 + j] = by * turned[j];
  }
}

// Eliminates the reduced coordinates from the rigid block, and factors it.
static bool eliminate(rf_multibody_node *n) {
  const int32_t ld = n->size - RIGID;
  rigid_mass(n->body, n->rigid);
  for (int32_t j = 0; j < 6; ++j) {
    const double *coupled = n->own + j * n->size + RIGID;
    double *z = n->response + j * ld;
    if (rf_motion_solve_rt(n->impact, coupled, z) < 0) return false;
  }
  for (int32_t i = 0; i < 6; ++i)
    for (int32_t j = 0; j < 6; ++j) {
      const double *coupled = n->own + i * n->size + RIGID, *z = n->response + j * ld;
      double sum = n->own[i * n->size + j];
      for (int32_t k = 0; k < n->r; ++k) sum -= coupled[k] * z[k];
      n->rigid[i * RIGID + j] += sum;
    }
  return rf_dense_cholesky_rt(n->impact->system->simd, 6, n->rigid, RIGID);
}

// u is the displacement of a step without contact; the deformation counts from its present
// coordinates.
void rf_multibody_node_place_rt(rf_multibody_node *n, bool stays) {
  if (n->dimple) {
    rf_multibody_dimple_place_rt(n);
    return;
  }
  const rf_free_body *b = n->body;
  const double h = b->set.deformation.dt_s;
  double omega[3];
  memset(n->base, 0, (size_t)n->size * sizeof *n->base);
  rf_free_body_angular_velocity_rt(b, omega);
  for (int i = 0; i < 3; ++i) {
    n->base[i] = h * (b->rigid.momentum[i] / b->set.mass + h * b->set.gravity[i]);
    n->base[3 + i] = h * omega[i];
  }
  memset(n->change, 0, (size_t)n->size * sizeof *n->change);
  memset(n->inertia, 0, (size_t)n->size * sizeof *n->inertia);
  for (int i = 0; i < 3 && stays; ++i) {
    n->change[i] = -h * h * b->set.gravity[i];
    n->inertia[i] = -b->set.mass * b->set.gravity[i];
  }
  for (int32_t i = 0; i < n->size; ++i) n->displacement[i] = n->base[i] + n->change[i];
}

rf_status rf_multibody_node_begin_rt(rf_multibody_node *n, rf_pair_rows *const *pairs,
                                     double contact_damping) {
  if (n->dimple) return rf_multibody_dimple_begin_rt(n, pairs);
  const rf_motion *from = n->body->deformation;
  const size_t bytes = (size_t)n->size * sizeof(double);
  memset(n->own, 0, (size_t)n->size * bytes);
  memset(n->elastic, 0, bytes);
  for (int32_t k = 0; k < n->n_sides && pairs; ++k)
    rf_pair_rows_add_own_rt(pairs[n->sides[k].pair], n->sides[k].side, contact_damping, n->own,
                            n->size);
  rf_motion_follow_rt(n->impact, from);
  n->impact->report = from->report;
  n->impact->time_s = from->time_s;
  n->impact->displaced_m = 0.0;
  const rf_status st = linearize(n);
  if (st < 0) return st;
  for (int32_t i = 0; i < n->r; ++i) n->elastic[RIGID + i] = -n->impact->residual[i];
  return eliminate(n) ? RF_OK : RF_ERR_DIVERGED;
}

void rf_multibody_node_gather_rt(const rf_multibody_node *n, rf_pair_rows *const *pairs,
                                 double *slot) {
  if (n->dimple) {
    rf_multibody_dimple_gather_rt(n, pairs, slot);
    return;
  }
  for (int32_t k = 0; k < n->n_sides; ++k) {
    const rf_pair_rows *t = pairs[n->sides[k].pair];
    const int side = n->sides[k].side;
    const double *from = t->applied + (side ? t->side[0].size : 0);
    for (int32_t i = 0; i < t->side[side].size; ++i) slot[i] += from[i];
  }
}

double rf_multibody_node_weigh_rt(const rf_multibody_node *n, const double *r) {
  if (n->dimple) return rf_multibody_dimple_weigh_rt(n, r);
  const rf_free_body *b = n->body;
  const double h = b->set.deformation.dt_s;
  double turned[3], sum = rf_vec3_dot(r, r) / b->set.mass;
  rf_quat_rotate_back(b->rigid.quaternion, r + 3, turned);
  for (int i = 0; i < 3; ++i) sum += turned[i] * rf_vec3_dot(b->inverse_inertia + 3 * i, turned);
  // the basis is mass-orthonormal, and damping and stiffness only add to the mass
  return h * h * (sum + rf_dot_padded(n->size - RIGID, r + RIGID, r + RIGID));
}

void rf_multibody_node_correct_rt(rf_multibody_node *n, const double *r, double *z) {
  if (n->dimple) {
    rf_multibody_dimple_correct_rt(n, r, z);
    return;
  }
  const int32_t ld = n->size - RIGID;
  _Alignas(64) double rigid[RIGID] = {0.0};
  // of a reduced model, which cannot fail
  if (rf_motion_solve_rt(n->impact, r + RIGID, z + RIGID) < 0) return;
  for (int32_t i = 0; i < 6; ++i) {
    const double *coupled = n->own + i * n->size + RIGID;
    rigid[i] = r[i];
    for (int32_t k = 0; k < n->r; ++k) rigid[i] -= coupled[k] * z[RIGID + k];
  }
  rf_dense_cholesky_solve_rt(n->impact->system->simd, 6, n->rigid, RIGID, rigid, rigid);
  memcpy(z, rigid, sizeof rigid);
  for (int32_t j = 0; j < 6; ++j)
    for (int32_t k = 0; k < n->r; ++k) z[RIGID + k] -= n->response[j * ld + k] * rigid[j];
}

void rf_multibody_node_take_own_rt(const rf_multibody_node *n, const double *x, double *y) {
  if (n->dimple) {
    rf_multibody_dimple_take_own_rt(n->dimple, x, y);
    return;
  }
  for (int32_t i = 0; i < n->size; ++i)
    y[i] -= rf_dot_padded(n->size, n->own + (size_t)i * (size_t)n->size, x);
}

// own (reduced part) times a vector
static void multiply_own(const rf_multibody_node *n, const double *x, double *out) {
  for (int32_t i = 0; i < n->r; ++i) {
    const double *row = n->own + (RIGID + i) * n->size + RIGID;
    out[i] = 0.0;
    for (int32_t j = 0; j < n->r; ++j) out[i] += row[j] * x[j];
  }
}

// Removes the acceleration by contact, which a step without contact must not inherit.
static rf_status release(rf_multibody_node *n, const double *before, const double *more) {
  rf_motion *m = n->impact;
  double *force = n->corrected + RIGID, *change = n->product + RIGID;
  for (int32_t i = 0; i < n->r; ++i) change[i] = m->q[i] - before[i];
  multiply_own(n, change, force);
  for (int32_t i = 0; i < n->r; ++i) force[i] = more[i] - force[i];
  rf_status st = m->system->operations->factorize(m->system, 1.0, 0.0, 0.0, NULL);
  if (st >= 0) st = m->system->operations->solve(m->system, force, force);
  for (int32_t i = 0; i < n->r && st >= 0; ++i) m->qddot[i] -= force[i];
  return st;
}

rf_status rf_multibody_node_finish_rt(rf_multibody_node *n) {
  if (n->dimple) {
    rf_multibody_dimple_finish_rt(n);
    return RF_OK;
  }
  rf_free_body *b = n->body;
  rf_motion *m = n->impact, *own = b->deformation;
  double *more = n->image + RIGID;
  multiply_own(n, n->change + RIGID, more);
  for (int32_t i = 0; i < n->r; ++i) more[i] += n->force[RIGID + i];
  m->bounded = true;
  rf_status st = rf_motion_finish_rt(m, more);
  m->bounded = false;
  if (st >= 0) st = release(n, own->q, more);
  own->displaced_m = m->displaced_m;
  if (st < 0) return st;
  if (!rf_free_body_move_rt(b, n->force)) return RF_ERR_DIVERGED;
  rf_motion_follow_rt(own, m);
  own->report = m->report;
  own->time_s = m->time_s;
  return RF_OK;
}
