// Contact in steps with damping inside: with A = M + h/2 D and forces f at the touching nodes,
//     a' = a'_free + A^-1 f,   d = R^T (a' - a'_required)
// at each of them, R the normal and two tangents.  The rule requires d_n >= 0, and for d_t = 0 if
// the node sticks: f and d obey Signorini's and Coulomb's laws with the Delassus operator
// W = R^T A^-1 R (constraint/friction.h).  As A acts on all nodes, forces may push others into a
// body, which join the touching ones, some times.
//
// The forces of the step before, and then those of the solve before, begin a solve.
//
// Responses A^-1 e to unit forces at a node are solved for once, for the lengths of the factors
// (dynamics/prefactored.h).  W~ of a length between two of them is interpolated and exceeds W by at
// most 9/8.  Solves with W~ are therefore repeated, each with the difference W f - W~ f of the
// forces f of the one before: the error falls to about a ninth each time.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "constraint/friction.h"
#include "constraint/friction_poll.h"
#include "dynamics/collide.h"
#include "dynamics/prefactored.h"
#include "linalg/vec3.h"

enum { SOLVES = 5, ROUNDS = 30, FIRST = 32 };
static const double TOLERANCE = 1e-12, UNSOLVED = 1e-3;  // residuals of forces
// Changes of d by a round, over its size without forces: of the last one, and where it is too
// large.
static const double CLOSE = 1e-10, TOO_FAR = 1e-6;
static const double MOST_BYTES = 1e9;  // of the responses, unless a step needs more
enum { FEWEST_KEPT = 32 };
// Quotient of the lengths of two steps in turn, in contact: heavily damped modes, in which
// velocities change their sign from step to step, grow beyond it and let bodies sink
// (docs/time_integration.md).
static const double MOST_CHANGE = 2.0 * (1.0 + 1e-9);

// A node that touches a body.
typedef struct contact {
  rf_collide_body *body;
  int32_t node;  // among those that may touch
  rf_collide_point point;
  double arm[3];
  double frame[9];     // rows: normal, tangents
  double required[3];  // acceleration
} contact;

// Responses in steps of a length with a factor.
typedef struct responses {
  int32_t level;
  int32_t n_kept;  // nodes with one
  int32_t *kept;   // these nodes                                                        (n)
  double **of;     // A^-1 e of each node, NULL: not known; rows: unit forces    (n)(3, n, 3)
} responses;

struct rf_collide_inside {
  rf_simd simd;
  double usual_s;                // length of level 0
  rf_prefactored_levels levels;  // of the responses
  responses at[RF_PREFACTORED_FACTORS];
  const responses *between[2];  // those of this step
  double part[2];               // and their parts in W~
  int32_t most_kept;  // responses of all levels, beyond which those not needed are forgotten
  bool *found;        // touches, in this step                              (n_bodies, n)
  double *start;      // a'_free                                            (n_all, 3)
  double *vector;     // forces                                             (n_all, 3)
  double *solved;     // accelerations by them                              (n_all, 3)
  double *columns;    // accelerations by unit forces at a node                    (3, n_all, 3)
  int32_t n, most;    // contacts, and room for them
  contact *contact;   // (most)
  double *matrix;     // W                                                  (3 most, 3 most)
  double *free;       // d without forces, for W~                           (3 most)
  double *gap;        // W~ f + free                                        (3 most)
  double *mu;         // (most)
  double *force;      // in the frames                                      (3 most)
  double *solution;   // the next ones                                      (3 most)
  rf_contact_state *state;  // (most)
  rf_friction *solver;
};

// Forgets the responses of nodes that do not touch; n_bodies = 0: of all.
static void forget(const rf_collide_inside *in, responses *r, int32_t n_bodies, int32_t n) {
  int32_t left = 0;
  for (int32_t k = 0; k < r->n_kept; ++k) {
    const int32_t node = r->kept[k];
    bool touches = false;
    for (int64_t b = 0; b < n_bodies; ++b) touches |= in->found[b * n + node];
    if (touches) {
      r->kept[left++] = node;
    } else {
      rf_free(r->of[node]);
      r->of[node] = NULL;
    }
  }
  r->n_kept = left;
}

static void free_contacts(rf_collide_inside *in) {
  rf_free(in->contact);
  rf_free(in->matrix);
  rf_free(in->free);
  rf_free(in->gap);
  rf_free(in->mu);
  rf_free(in->force);
  rf_free(in->solution);
  rf_free(in->state);
  rf_friction_free(in->solver);
}

void rf_collide_inside_free(rf_collide_inside *in) {
  if (!in) return;
  for (int k = 0; k < RF_PREFACTORED_FACTORS; ++k) {
    forget(in, in->at + k, 0, 0);
    rf_free(in->at[k].kept);
    rf_free(in->at[k].of);
  }
  free_contacts(in);
  rf_free(in->found);
  rf_free(in->start);
  rf_free(in->vector);
  rf_free(in->solved);
  rf_free(in->columns);
  rf_free(in);
}

// Makes room for more contacts, which are kept.
static rf_status grow(rf_collide_inside *in, int32_t most, rf_error *err) {
  rf_status st = RF_OK;
  rf_collide_inside to = {0};
  RF_ALLOC(to.contact, most);
  RF_ALLOC(to.matrix, 9 * (int64_t)most * most);
  RF_ALLOC(to.free, 3 * (int64_t)most);
  RF_ALLOC(to.gap, 3 * (int64_t)most);
  RF_ALLOC(to.mu, most);
  RF_ALLOC(to.force, 3 * (int64_t)most);
  RF_ALLOC(to.solution, 3 * (int64_t)most);
  RF_ALLOC(to.state, most);
  const rf_friction_settings set = {.most = most, .simd = in->simd};
  RF_TRY(rf_friction_create(&set, &to.solver, err));
  if (in->n > 0) {
    memcpy(to.contact, in->contact, (size_t)in->n * sizeof *to.contact);
    memcpy(to.force, in->force, 3 * (size_t)in->n * sizeof *to.force);
    memcpy(to.state, in->state, (size_t)in->n * sizeof *to.state);
  }
  free_contacts(in);
  in->contact = to.contact;
  in->matrix = to.matrix;
  in->free = to.free;
  in->gap = to.gap;
  in->mu = to.mu;
  in->force = to.force;
  in->solution = to.solution;
  in->state = to.state;
  in->solver = to.solver;
  in->most = most;
  return st;
done:
  free_contacts(&to);
  return st;
}

// Begins a contact with the force of the step before at its node, unless others have it.
static void begin(const rf_collide *c, int32_t which, int32_t node) {
  const rf_collide_inside *in = c->inside;
  const double *frame = in->contact[in->n].frame;
  double *force = in->force + 3 * (int64_t)in->n;
  bool alone = true;
  for (int64_t b = 0; b < c->n_bodies; ++b) alone &= b == which || !in->found[b * c->n + node];
  for (int r = 0; r < 3; ++r)
    force[r] = alone ? c->mass[node] * rf_vec3_dot(frame + 3 * r, c->by_contact + 3 * node) : 0.0;
}

// Appends the nodes inside of a body that are not contacts of it yet.
static rf_status search(rf_collide *c, int32_t which, const rf_collide_motion *m, rf_error *err) {
  rf_collide_inside *in = c->inside;
  rf_collide_body *body = c->body + which;
  bool *found = in->found + (int64_t)which * c->n;
  rf_collide_measure_rt(c, body, m);
  for (int32_t i = 0; i < c->n; ++i) {
    contact one = {.body = body, .node = i};
    double change[3];
    if (found[i] || !(c->distance[i] <= 0.0)) continue;
    if (!rf_collide_examine_rt(c, body, i, m, &one.point, one.arm)) continue;
    // the target of a place counts also where the rule does not push: other forces may pull the
    // node
    if (!body->proxy->rule->require_rt(&one.point, change) && !body->proxy->rule->ahead) continue;
    if (in->n == RF_FRICTION_MOST)
      return rf_fail(err, RF_ERR_ARG,
                     "contact: more than %d nodes touch (the last one body %d), too many for "
                     "damping inside of the step: make a simulation with implicit_damping=False, "
                     "a coarser mesh or smaller bodies; the state before this step is kept",
                     RF_FRICTION_MOST, (int)which);
    const int32_t more = 2 * in->most < RF_FRICTION_MOST ? 2 * in->most : RF_FRICTION_MOST;
    const rf_status st = in->n < in->most ? RF_OK : grow(in, more, err);
    if (st < 0) return st;
    for (int k = 0; k < 3; ++k) one.required[k] = one.point.free[k] + change[k];
    memcpy(one.frame, one.point.normal, sizeof one.point.normal);
    rf_vec3_tangents(one.frame, one.frame + 3, one.frame + 6);
    found[i] = true;
    in->contact[in->n] = one;
    begin(c, which, i);
    ++in->n;
  }
  return RF_OK;
}

// Computes the response of a node, unless it is known.
static rf_status respond(const rf_collide *c, rf_system *s, responses *to, int32_t node) {
  rf_collide_inside *in = c->inside;
  const double h = ldexp(in->usual_s, to->level);
  rf_error *err = s->err;
  rf_status st = RF_OK;
  double *response = NULL;
  if (to->of[node]) return st;
  RF_TRY(rf_run_poll(s->run, s->err));
  RF_ALLOC(response, 9 * (int64_t)c->n);
  RF_TRY(s->operations->damped_response(s, h, 3 * c->node[node], in->columns));
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t i = 0; i < c->n; ++i)
      memcpy(response + 3 * (k * c->n + i), in->columns + 3 * (k * c->n_all + (int64_t)c->node[i]),
             3 * sizeof *response);
  to->of[node] = response;
  to->kept[to->n_kept++] = node;
  response = NULL;
done:
  rf_free(response);
  return st;
}

// Forgets responses if those that the contacts need besides would be too many: those of levels that
// this step does not use, and then those of nodes that do not touch.
static void make_room(const rf_collide *c, const responses *const used[2]) {
  rf_collide_inside *in = c->inside;
  int64_t more = 0;
  for (int i = 0; i < 2; ++i)
    for (int32_t k = 0; used[i] && k < in->n; ++k) more += used[i]->of[in->contact[k].node] == NULL;
  for (int turn = 0; turn < 2; ++turn) {
    int64_t kept = more;
    for (int k = 0; k < RF_PREFACTORED_FACTORS; ++k) kept += in->at[k].n_kept;
    if (kept <= in->most_kept) return;
    for (int k = 0; k < RF_PREFACTORED_FACTORS; ++k) {
      const bool needed = in->at + k == used[0] || in->at + k == used[1];
      if (turn == 1 || !needed) forget(in, in->at + k, needed ? c->n_bodies : 0, c->n);
    }
  }
}

// Makes a level the one of its place.
static responses *place_of(rf_collide_inside *in, int32_t level) {
  bool fresh;
  responses *to = in->at + rf_prefactored_take(&in->levels, level, &fresh);
  if (fresh) forget(in, to, 0, 0);
  to->level = level;
  return to;
}

// Provides the responses of a level, and of the next one unless it is not needed, for the contacts.
static rf_status provide(const rf_collide *c, rf_system *s, int32_t level, bool one) {
  rf_collide_inside *in = c->inside;
  rf_status st = RF_OK;
  responses *const of[2] = {place_of(in, level), one ? NULL : place_of(in, level + 1)};
  for (int i = 0; i < 2; ++i) in->between[i] = of[i];
  make_room(c, in->between);
  for (int i = 0; i < 2 && of[i]; ++i)
    for (int32_t k = 0; k < in->n; ++k) RF_TRY(respond(c, s, of[i], in->contact[k].node));
done:
  return st;
}

// Adds d without forces and by the accelerations `by`, of all nodes; NULL: these are zero.
static void measure(const rf_collide *c, const double *by, double *d) {
  const rf_collide_inside *in = c->inside;
  for (int64_t k = 0; k < in->n; ++k) {
    const contact *one = in->contact + k;
    const int64_t at = 3 * (int64_t)c->node[one->node];
    double short_of[3];
    rf_vec3_sub(in->start + at, one->required, short_of);
    for (int i = 0; by && i < 3; ++i) short_of[i] += by[at + i];
    for (int r = 0; r < 3; ++r) d[3 * k + r] += rf_vec3_dot(one->frame + 3 * r, short_of);
  }
}

// Fills W~, symmetric to the bit.
static void fill(const rf_collide *c) {
  const rf_collide_inside *in = c->inside;
  const int64_t length = 3 * (int64_t)in->n;
  for (int64_t q = 0; q < in->n; ++q) {
    const contact *b = in->contact + q;
    in->mu[q] = b->body->proxy->friction;
    for (int64_t p = q; p < in->n; ++p) {
      const contact *a = in->contact + p;
      double by[9] = {0}, along[9], block[9] = {0};
      for (int i = 0; i < 2 && in->part[i] > 0.0; ++i)
        for (int64_t k = 0; k < 9; ++k)
          by[k] += in->part[i] * in->between[i]->of[b->node][3 * (k / 3 * c->n + a->node) + k % 3];
      rf_mat3_abt(by, a->frame, along);
      for (int r = 0; r < 3; ++r)
        for (int j = 0; j < 3; ++j)
          for (int k = 0; k < 3; ++k) block[3 * r + j] += b->frame[3 * r + k] * along[3 * k + j];
      for (int64_t r = 0; r < 3; ++r)
        for (int64_t j = 0; j < 3; ++j) {
          const double other = p == q ? block[3 * j + r] : block[3 * r + j];
          const double value = 0.5 * (block[3 * r + j] + other);
          in->matrix[(3 * q + r) * length + 3 * p + j] = value;
          in->matrix[(3 * p + j) * length + 3 * q + r] = value;
        }
    }
  }
}

// Turns the forces of a contact into the world.
static void force_of(const rf_collide_inside *in, int64_t k, double force[3]) {
  const double *f = in->force + 3 * k, *frame = in->contact[k].frame;
  for (int i = 0; i < 3; ++i)
    force[i] = f[0] * frame[i] + f[1] * frame[3 + i] + f[2] * frame[6 + i];
}

// Solves once with W~, and for the accelerations of all nodes by the forces.
static rf_status solve_once(rf_collide *c, rf_system *s, const rf_collide_motion *m) {
  rf_collide_inside *in = c->inside;
  rf_friction_poll asked = {.run = s->run, .err = s->err};
  const rf_friction_limits limits = {.tolerance = TOLERANCE,
                                     .budget_us = INFINITY,
                                     .sweeps = true,
                                     .stop = rf_friction_poll_stop,
                                     .context = &asked};
  rf_friction_report report;
  // numbers of a motion that diverges are not finite
  if (rf_friction_solve_rt(in->solver, in->free, in->mu, in->force, &limits, in->solution, in->gap,
                           in->state, &report) < 0)
    return RF_ERR_DIVERGED;
  if (asked.st < 0) return asked.st;
  c->unsolved = report.end == RF_FRICTION_INFEASIBLE || !(report.residual <= UNSOLVED);
  memcpy(in->force, in->solution, 3 * (size_t)in->n * sizeof *in->force);
  memset(in->vector, 0, 3 * (size_t)c->n_all * sizeof *in->vector);
  for (int32_t k = 0; k < in->n; ++k) {
    double force[3];
    force_of(in, k, force);
    for (int64_t i = 0; i < 3; ++i)
      in->vector[3 * (int64_t)c->node[in->contact[k].node] + i] += force[i];
  }
  return s->operations->damped_solve(s, m->h, in->vector, in->solved);
}

// The larger of two numbers, NaN if one is.
static double larger(double most, double x) { return isnan(most) || x <= most ? most : x; }

// Adds what W~ leaves out of d to its part without forces; returns the largest such change.
static double correct(const rf_collide *c) {
  rf_collide_inside *in = c->inside;
  double most = 0.0;
  for (int64_t k = 0; k < 3 * in->n; ++k) in->gap[k] = -in->gap[k];
  measure(c, in->solved, in->gap);
  for (int64_t k = 0; k < 3 * in->n; ++k) {
    in->free[k] += in->gap[k];
    most = larger(most, fabs(in->gap[k]));
  }
  return most;
}

// Solves for the forces, and changes the accelerations.
static rf_status solve(rf_collide *c, rf_system *s, const rf_collide_motion *m) {
  rf_collide_inside *in = c->inside;
  rf_status st = RF_OK;
  double size = 0.0;
  const int32_t level = rf_prefactored_split(in->usual_s, m->h, in->part);
  const bool exact = in->part[1] == 0.0;
  RF_TRY(provide(c, s, level, exact));
  fill(c);
  if (rf_friction_set_matrix_rt(in->solver, in->n, in->matrix) < 0) return RF_ERR_DIVERGED;
  memset(in->free, 0, 3 * (size_t)in->n * sizeof *in->free);
  measure(c, NULL, in->free);
  for (int64_t k = 0; k < 3 * in->n; ++k) size = larger(size, fabs(in->free[k]));
  for (int k = 0;; ++k) {
    RF_TRY(solve_once(c, s, m));
    if (exact) break;
    const double change = correct(c);
    if (change <= CLOSE * size) break;
    if (k < ROUNDS) continue;
    c->unsolved |= !(change <= TOO_FAR * size);
    break;
  }
  for (int64_t i = 0; i < 3 * c->n_all; ++i) m->after[i] = in->start[i] + in->solved[i];
done:
  return st;
}

// Refuses a step of a length too far from that of the last one, in contact.
static rf_status check_change(const rf_collide *c, double h, rf_error *err) {
  if (c->ratio <= MOST_CHANGE && c->ratio * MOST_CHANGE >= 1.0) return RF_OK;
  for (int64_t i = 0; i < 3 * (int64_t)c->n; ++i)
    if (c->by_contact[i] != 0.0)
      return rf_fail(err, RF_ERR_ARG,
                     "dt is %g s after a step of %g s in contact; with damping inside of the step, "
                     "successive steps in contact may differ by a factor of 2 at most, as bodies "
                     "would sink: make steps of lengths between them, or a simulation with "
                     "implicit_damping=False; the state before this step is kept",
                     h, c->last_s);
  return RF_OK;
}

static rf_status settle(rf_collide *c, rf_system *s, const rf_collide_motion *m) {
  rf_collide_inside *in = c->inside;
  rf_status st = RF_OK;
  RF_TRY(check_change(c, m->h, s->err));
  in->n = 0;
  c->unsolved = false;
  memset(in->found, 0, (size_t)c->n_bodies * (size_t)c->n * sizeof *in->found);
  memcpy(in->start, m->after, 3 * (size_t)c->n_all * sizeof *in->start);
  for (int k = 0;; ++k) {
    const int32_t before = in->n;
    for (int32_t b = 0; b < c->n_bodies; ++b) RF_TRY(search(c, b, m, s->err));
    if (in->n == before) break;
    if (k == SOLVES) {  // their forces are not known
      c->unsolved = true;
      in->n = before;
      break;
    }
    RF_TRY(solve(c, s, m));
  }
  c->n_joint = in->n;
  if (in->n > 0)
    memcpy(c->next_spread, in->solved, 3 * (size_t)c->n_all * sizeof *in->solved);
  else
    memset(c->next_spread, 0, 3 * (size_t)c->n_all * sizeof *in->solved);
  for (int32_t k = 0; k < in->n; ++k) {
    const contact *one = in->contact + k;
    double force[3];
    if (in->force[3 * (int64_t)k] == 0.0) continue;
    force_of(in, k, force);
    rf_collide_push_rt(c, one->body, one->node, &one->point, one->arm, force,
                       in->state[k] == RF_CONTACT_SLIPS);
  }
done:
  return st;
}

rf_status rf_collide_prepare(rf_collide *c, rf_system *s, double h) {
  rf_collide_inside *in = c->inside;
  rf_status st = RF_OK;
  if (!in) return st;
  double part[2];
  const int32_t level = rf_prefactored_split(in->usual_s, h, part);
  if (part[1] != 0.0) return RF_ERR_INTERNAL;  // a length without a factor
  if (c->n > in->most_kept)
    return rf_fail(
        s->err, RF_ERR_ARG,
        "contact: the responses of %d nodes that may touch, with damping inside of the "
        "step, need more memory than those of %d, %g GB, and solving for them "
        "during the session would stop it: take implicit_damping=False or a coarser mesh",
        (int)c->n, (int)in->most_kept, 1e-9 * MOST_BYTES);
  responses *to = place_of(in, level);
  for (int k = 0; k < RF_PREFACTORED_FACTORS; ++k)
    if (in->at + k != to) forget(in, in->at + k, 0, 0);
  for (int32_t i = 0; i < c->n; ++i) RF_TRY(respond(c, s, to, i));
done:
  return st;
}

rf_status rf_collide_inside_create(rf_collide *c, const rf_system *system, double usual_s,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_collide_inside *in = NULL;
  if (!system->operations->damped_response) return RF_ERR_INTERNAL;
  RF_ALLOC(in, 1);
  in->simd = system->simd;
  in->usual_s = usual_s;
  c->inside = in;
  c->settle = settle;
  for (int k = 0; k < RF_PREFACTORED_FACTORS; ++k) {
    RF_ALLOC(in->at[k].kept, c->n);
    RF_ALLOC(in->at[k].of, c->n);
  }
  RF_ALLOC(in->found, (int64_t)c->n_bodies * c->n);
  RF_ALLOC(in->start, 3 * c->n_all);
  RF_ALLOC(in->vector, 3 * c->n_all);
  RF_ALLOC(in->solved, 3 * c->n_all);
  RF_ALLOC(in->columns, 9 * c->n_all);
  const double bytes = 9.0 * sizeof(double) * fmax(c->n, 1);
  in->most_kept = (int32_t)fmin(fmax(FEWEST_KEPT, MOST_BYTES / bytes), 1e9);
  RF_TRY(grow(in, FIRST, err));
done:
  return st;  // the owner frees what was made
}
