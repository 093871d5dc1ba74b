#include "world/frictional.h"

#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "contact/contact_state.h"
#include "linalg/dense_rt.h"
#include "linalg/vec3.h"

enum { BLOCK = RF_CONTACT_BLOCK };

static const double TOLERANCE = 1e-8;   // of the residual of friction
static const double UNSOLVED = 1e-3;    // residual above which forces count as not solved
static const double COMPLIANCE = 1e-3;  // c over the mean diagonal, if automatic
static const double LEAST_BUDGET_US = 5.0;
static const double ACROSS = 0.5;  // part of a motion across the normal that may close a gap

static rf_motion *stepped(const rf_frictional_body *b) {
  return b->whole ? b->whole : b->of->motion;
}

static rf_contact_sites *law_of(const rf_world *world, int32_t pair) {
  return rf_contact_law_sites_rt(&world->pair[pair]->contact->law);
}

// ---- free motions

// Bodies that were touched take the rates of a step in contact (dynamics/newmark.h), which do not
// carry the force of an impact into the next step.
static rf_status foresee_body(rf_frictional_body *b) {
  rf_motion *m = stepped(b);
  m->in_contact = b->touched;
  const rf_status st = rf_motion_linearize_rt(m, NULL, NULL, b->way);
  b->yields = st >= 0;
  if (!b->yields) memset(b->way, 0, (size_t)rf_dense_ld(m->n) * sizeof *b->way);
  return st == RF_ERR_SINGULAR ? RF_OK : st;
}

// Bound of the travel of any point of a body by a change of its coordinates.
static double travel_of(const rf_frictional *c, int32_t body, const double *change) {
  if (body < 0) return 0.0;
  const rf_system *system = c->body[body].of->motion->system;
  return system->operations->farthest(system, change);
}

// Bound of the travel in the free deformations of both bodies of a pair.
static double own_travel(const rf_frictional *c, int32_t pair) {
  const int32_t shell = c->shell_of[pair];
  double travel = shell < 0 ? 0.0 : travel_of(c, shell, c->body[shell].way);
  if (c->field >= 0) travel += travel_of(c, c->field, c->body[c->field].way);
  return travel;
}

// Distance of the points that the held body can meet from its reference point: that of its own
// points, or of those of the shell.
static double reach_of(const rf_frictional *c, const rf_point_tree *tree) {
  double arm[3];
  if (c->free.reach_m > 0.0) return c->free.reach_m;
  rf_body_reference_rt(c->held, arm);
  rf_vec3_sub(arm, tree->centre, arm);
  return rf_vec3_length(arm) + tree->extent;
}

rf_status rf_frictional_foresee_rt(void *self, rf_world *world, const rf_held_free *held) {
  rf_frictional *c = self;
  c->free = *held;
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    const rf_status st = foresee_body(&c->body[k]);
    if (st < 0) return st;
  }
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    rf_contact_search *s = &world->pair[k]->contact->search;
    s->alarm = c->margin_m + rf_vec3_length(held->way) +
               reach_of(c, s->tree) * rf_vec3_length(held->way + 3) + own_travel(c, k);
  }
  c->moved = false;
  return RF_OK;
}

// ---- sites

static bool bore(const rf_contact_sites *law, int32_t place) {
  const struct rf_contact_site_force *at = law->of + place;
  return at->cycle == law->cycle - 1 && rf_vec3_dot(at->force, at->force) > 0.0;
}

// Bounds for the points of a pair in the free motions.
typedef struct reaches {
  double own;     // travel by deformation
  double spread;  // displacement of the points from their places at rest
  bool turned;    // normals at rest are not those of the points
} reaches;

static reaches reaches_of(const rf_frictional *c, int32_t pair) {
  const int32_t shell = c->shell_of[pair];
  reaches out = {.own = own_travel(c, pair), .turned = shell >= 0};
  if (shell >= 0) out.spread = travel_of(c, shell, c->body[shell].of->motion->q);
  return out;
}

// True if a point may close its gap, or come near: by its motion seen from the field, along the
// inward normal of the shell, which is about the direction of the gap, and in part across it.
static bool may_touch(const rf_frictional *c, const rf_contact_search *s, int32_t place, double gap,
                      const reaches *by) {
  const double *rest = s->tree->rest + 3 * (size_t)place;
  const double *normal = s->tree->normal + 3 * (size_t)place;
  double arm[3], way[3];
  rf_vec3_sub(rest, s->frame.grasp, arm);
  rf_vec3_cross(c->free.way + 3, arm, way);
  for (int i = 0; i < 3; ++i) way[i] += c->free.way[i];
  const double length = rf_vec3_length(way) + by->spread * rf_vec3_length(c->free.way + 3);
  const double along = by->turned ? length : fmax(rf_vec3_dot(normal, way), 0.0) + ACROSS * length;
  return gap <= c->margin_m + by->own + along;
}

static void choose_sites(rf_frictional *c, const rf_world *world) {
  rf_sites_begin_rt(&c->sites);
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    const rf_contact_search *s = &world->pair[k]->contact->search;
    const rf_point_tree *t = s->tree;
    const reaches by = reaches_of(c, k);
    for (int32_t i = 0; i < s->touching; ++i) {
      const int32_t place = s->touch_place[i];
      if (!may_touch(c, s, place, s->touch_distance[i], &by)) continue;
      rf_site site = {.pair = k, .place = place, .gap = s->touch_distance[i]};
      site.axis = rf_sites_axis_rt(t->normal + 3 * (size_t)place);
      site.bore = bore(law_of(world, k), place);
      rf_vec3_sub(t->rest + 3 * (size_t)place, t->centre, site.rest);
      rf_sites_offer_rt(&c->sites, &site);
    }
  }
}

// The sites take the place of the points that the search of each pair has found.
static void keep_sites(const rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < world->n_pairs; ++k) world->pair[k]->contact->search.touching = 0;
  for (int32_t i = 0; i < c->sites.n; ++i) {
    const rf_site *site = &c->sites.site[i];
    rf_contact_search *s = &world->pair[site->pair]->contact->search;
    s->touch_place[s->touching] = site->place;
    s->touch_distance[s->touching++] = site->gap;
  }
}

// ---- rows

// Axes n, t1, t2: t1 is the coordinate axis farthest from n, made orthogonal.
static void put_axes(const double n[3], double out[9]) {
  int32_t least = 0;
  memcpy(out, n, 3 * sizeof *out);
  for (int32_t i = 1; i < 3; ++i)
    if (fabs(n[i]) < fabs(n[least])) least = i;
  double *t = out + 3;
  for (int32_t i = 0; i < 3; ++i) t[i] = (i == least ? 1.0 : 0.0) - n[least] * n[i];
  const double length = rf_vec3_length(t);
  for (int32_t i = 0; i < 3; ++i) t[i] /= length;
  rf_vec3_cross(n, t, out + 6);
}

// Enters a vector of n coordinates from `first` on in a column.
static void put_column(rf_frictional *c, int32_t first, int32_t n, double factor,
                       const double *from, int32_t column) {
  for (int32_t j = 0; j < n; ++j)
    c->levers[(size_t)(first + j) * (size_t)c->ld + (size_t)column] += factor * from[j];
}

// Zero room for a vector of the coordinates of a body.
static double *begin_local(rf_frictional *c, int32_t body) {
  memset(c->local, 0, (size_t)rf_dense_ld(c->body[body].of->motion->n) * sizeof *c->local);
  return c->local;
}

// Enters that vector; returns the displacement by the free motion of the body.
static double put_local(rf_frictional *c, int32_t body, double sign, int32_t column) {
  const rf_frictional_body *b = &c->body[body];
  double sum = 0.0;
  put_column(c, b->first, b->of->motion->n, sign, c->local, column);
  for (int32_t j = 0; j < b->of->motion->n; ++j) sum += c->local[j] * b->way[j];
  return sign * sum;
}

static void clear_column(rf_frictional *c, int32_t column) {
  for (int32_t j = 0; j < c->rank; ++j) c->levers[(size_t)j * (size_t)c->ld + (size_t)column] = 0.0;
}

// Enters the rows of a point as row i, unless it stays open by the margin in the free motions.
static bool put_rows(rf_frictional *c, int32_t i, int32_t pair, rf_contact *contact,
                     const rf_contact_points *points, int32_t k) {
  const rf_contact_frame *frame = &contact->search.frame;
  const int32_t shell = c->shell_of[pair];
  double *axes = c->axes + 9 * i, arm[3], rigid[6], opening = points->gap[k];
  put_axes(points->gradient + 3 * k, axes);
  rf_vec3_sub(points->position + 3 * k, frame->grasp, arm);
  for (int32_t e = 0; e < 3; ++e) {
    const double *a = axes + 3 * e;
    const int32_t column = 3 * i + e;
    memcpy(rigid, a, 3 * sizeof *rigid);
    rf_vec3_cross(arm, a, rigid + 3);
    for (int j = 0; j < 6; ++j) opening -= rigid[j] * c->free.way[j];
    put_column(c, 0, 6, -1.0, rigid, column);
    if (shell >= 0) {
      rf_point_tree_project_rt(contact->search.tree, points->place[k], a, begin_local(c, shell));
      opening += put_local(c, shell, 1.0, column);
    }
    if (c->field >= 0) {
      rf_contact_carry_rt(&contact->wrench, frame, &points->carriers[k], a,
                          begin_local(c, c->field));
      opening += put_local(c, c->field, -1.0, column);
    }
    if (e == 0 && opening > c->margin_m) {
      clear_column(c, column);
      return false;
    }
  }
  return true;
}

// Enters the rows of all sites; those that stay open are left out.
static void put_sites(rf_frictional *c, const rf_world *world) {
  rf_contact_points points;
  int32_t n = 0;
  for (int32_t pair = 0; pair < world->n_pairs; ++pair) {
    rf_contact *contact = world->pair[pair]->contact;
    // nothing yields to a given motion
    if (c->moved && c->shell_of[pair] < 0 && c->field < 0) continue;
    for (int32_t first = 0; first < contact->search.touching; first += BLOCK) {
      rf_contact_search_points_rt(&contact->search, first, &points);
      for (int32_t k = 0; k < points.n; ++k) {
        const double *normal = points.normal + 3 * k;
        if (rf_vec3_dot(points.gradient + 3 * k, normal) < RF_CONTACT_PASSED) continue;
        if (!put_rows(c, n, pair, contact, &points, k)) continue;
        const int32_t place = points.place[k];
        c->site[n] =
            (rf_frictional_site){pair, place, points.gap[k], bore(law_of(world, pair), place)};
        ++n;
      }
    }
  }
  c->n_sites = n;
}

// Lower triangular root of the compliance of the held body; directions that do not yield are zero.
static void root_of(const double from[36], double out[36]) {
  memset(out, 0, 36 * sizeof *out);
  for (int j = 0; j < 6; ++j) {
    double pivot = from[7 * j];
    for (int k = 0; k < j; ++k) pivot -= out[6 * j + k] * out[6 * j + k];
    if (!(pivot > 1e-14 * from[7 * j])) continue;
    out[7 * j] = sqrt(pivot);
    for (int i = j + 1; i < 6; ++i) {
      double sum = from[6 * i + j];
      for (int k = 0; k < j; ++k) sum -= out[6 * i + k] * out[6 * j + k];
      out[6 * i + j] = sum / out[7 * j];
    }
  }
}

// V^T = L^-1 H^T, or root^T H^T for the held body; bodies that do not yield have zeros.
static void put_halves(rf_frictional *c) {
  const size_t ld = (size_t)c->ld;
  double root[36];
  memcpy(c->halves, c->levers, (size_t)c->rank * ld * sizeof *c->halves);
  root_of(c->free.compliance, root);
  for (int j = 0; j < 6; ++j) {
    double *to = c->halves + (size_t)j * ld;
    memset(to, 0, ld * sizeof *to);
    for (int i = j; i < 6; ++i)
      for (size_t k = 0; k < ld; ++k) to[k] += root[6 * i + j] * c->levers[(size_t)i * ld + k];
  }
  for (int32_t b = 0; b < c->n_bodies; ++b) {
    double *rows = c->halves + (size_t)c->body[b].first * ld;
    if (c->body[b].yields)
      rf_motion_half_solve_rt(stepped(&c->body[b]), c->ld, rows);
    else
      memset(rows, 0, (size_t)c->body[b].of->motion->n * ld * sizeof *rows);
  }
}

// Sets W of the solver; returns c.
static rf_status put_matrix(rf_frictional *c, double *compliance) {
  const int32_t m = c->n_sites, rank = c->rank;
  double trace = 0.0;
  for (int32_t j = 0; j < rank; ++j)
    for (int32_t k = 0; k < 3 * m; ++k) {
      const double v = c->halves[(size_t)j * (size_t)c->ld + (size_t)k];
      c->factor[(size_t)k * (size_t)rank + (size_t)j] = v;
      trace += v * v;
    }
  *compliance = c->compliance > 0.0 ? c->compliance : COMPLIANCE * trace / (3.0 * m);
  return rf_friction_set_factor_rt(c->solver, m, rank, c->factor, *compliance);
}

// Displacements at the sites without contact, from H y.
static void put_free(rf_frictional *c, const rf_world *world, double compliance) {
  const size_t ld = (size_t)c->ld;
  memset(c->gap, 0, ld * sizeof *c->gap);
  for (int32_t j = 0; j < 6; ++j)
    for (size_t k = 0; k < ld; ++k) c->gap[k] += c->free.way[j] * c->levers[(size_t)j * ld + k];
  for (int32_t b = 0; b < c->n_bodies; ++b) {
    const rf_frictional_body *body = &c->body[b];
    for (int32_t j = 0; j < body->of->motion->n; ++j) {
      const double *row = c->levers + (size_t)(body->first + j) * ld;
      for (size_t k = 0; k < ld; ++k) c->gap[k] += body->way[j] * row[k];
    }
  }
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    const rf_contact_sites *law = law_of(world, site->pair);
    c->mu[i] = law->mu;
    for (int k = 0; k < 3; ++k)
      c->start[3 * i + k] =
          site->bore ? rf_vec3_dot(law->of[site->place].force, c->axes + 9 * i + 3 * k) : 0.0;
    c->gap[3 * i] += site->gap;
    c->gap[3 * i + 1] -= compliance * c->start[3 * i + 1];
    c->gap[3 * i + 2] -= compliance * c->start[3 * i + 2];
  }
}

// ---- results

static void add_loads(rf_frictional *c, double wrench[6]) {
  const size_t ld = (size_t)c->ld;
  const int32_t n = 3 * c->n_sites;
  for (int32_t j = 0; j < 6; ++j) {
    wrench[j] = 0.0;
    for (int32_t k = 0; k < n; ++k)
      wrench[j] += c->levers[(size_t)j * ld + (size_t)k] * c->forces[k];
  }
  for (int32_t b = 0; b < c->n_bodies; ++b) {
    rf_frictional_body *body = &c->body[b];
    for (int32_t j = 0; j < body->of->motion->n; ++j) {
      const double *row = c->levers + (size_t)(body->first + j) * ld;
      body->force[j] = 0.0;
      for (int32_t k = 0; k < n; ++k) body->force[j] += row[k] * c->forces[k];
    }
  }
}

// Notes the forces in the states of the points; the touching points of a contact are its sites with
// a force from now on.
static void keep_forces(rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < world->n_pairs; ++k) world->pair[k]->contact->search.touching = 0;
  for (int32_t b = 0; b < c->n_bodies; ++b) c->body[b].touched = false;
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    rf_contact_search *s = &world->pair[site->pair]->contact->search;
    rf_contact_sites *law = law_of(world, site->pair);
    struct rf_contact_site_force *at = law->of + site->place;
    const double *f = c->forces + 3 * i, *axes = c->axes + 9 * i;
    const int32_t of[2] = {c->shell_of[site->pair], c->field};
    if (!(f[0] > 0.0)) continue;
    at->cycle = law->cycle;
    for (int j = 0; j < 3; ++j)
      at->force[j] = f[0] * axes[j] + f[1] * axes[3 + j] + f[2] * axes[6 + j];
    s->touch_place[s->touching] = site->place;
    s->touch_distance[s->touching++] = site->gap;
    for (int e = 0; e < 2; ++e)
      if (of[e] >= 0) c->body[of[e]].touched = true;
  }
  world->found.touching = 0;
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    world->pair[k]->found.touching = world->pair[k]->contact->search.touching;
    world->found.touching += world->pair[k]->found.touching;
  }
}

static rf_status solve(rf_frictional *c, rf_world *world, double end_us) {
  double compliance = 0.0;
  rf_friction_report report;
  rf_friction_limits limits = {.tolerance = TOLERANCE, .budget_us = c->budget_us};
  put_halves(c);
  if (put_matrix(c, &compliance) < 0) return RF_ERR_DIVERGED;
  put_free(c, world, compliance);
  if (isfinite(end_us)) {
    const double left_us = end_us - rf_processor_us_rt();
    limits.budget_us = fmax(fmin(left_us, c->budget_us), LEAST_BUDGET_US);
  }
  const rf_status st = rf_friction_solve_rt(c->solver, c->gap, c->mu, c->start, &limits, c->forces,
                                            NULL, NULL, &report);
  if (st < 0) return RF_ERR_DIVERGED;
  world->found.unsolved |= report.end == RF_FRICTION_INFEASIBLE || report.residual > UNSOLVED;
  return RF_OK;
}

rf_status rf_frictional_constrain_rt(void *self, rf_world *world, const double *move, double end_us,
                                     double wrench[6]) {
  rf_frictional *c = self;
  if (move) {
    c->moved = true;
    memcpy(c->free.way, move, sizeof c->free.way);
    memset(c->free.compliance, 0, sizeof c->free.compliance);
  } else {
    choose_sites(c, world);
  }
  keep_sites(c, world);
  c->ld = rf_dense_ld(3 * c->sites.n);
  memset(c->levers, 0, (size_t)c->rank * (size_t)c->ld * sizeof *c->levers);
  put_sites(c, world);
  const rf_status st = c->n_sites > 0 ? solve(c, world, end_us) : RF_OK;
  if (st < 0) return st;
  add_loads(c, wrench);
  keep_forces(c, world);
  world->joint = true;
  return RF_OK;
}

// ---- steps

static rf_status finish_body(rf_frictional_body *b) {
  rf_motion *m = b->of->motion;
  if (b->yields && !b->whole) return rf_motion_finish_rt(m, b->force);
  m->in_contact = b->touched;
  return rf_motion_step_rt(m, b->force, b->of->steps);
}

rf_status rf_frictional_finish_rt(void *self, rf_world *world, const double move[6]) {
  rf_frictional *c = self;
  rf_status st = RF_OK;
  (void)world, (void)move;
  for (int32_t k = 0; k < c->n_bodies && st >= 0; ++k) st = finish_body(&c->body[k]);
  return st;
}

void rf_frictional_prepare_rt(void *self) {
  rf_frictional *c = self;
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    rf_frictional_body *b = &c->body[k];
    if (b->whole) rf_motion_follow_rt(b->whole, b->of->motion);
    rf_motion_prepare_rt(stepped(b));
  }
}

void rf_frictional_reset_rt(void *self) {
  rf_frictional *c = self;
  for (int32_t k = 0; k < c->n_bodies; ++k) c->body[k].touched = false;
  rf_sites_reset_rt(&c->sites, c->sites.most, c->sites.least_spacing);
}
