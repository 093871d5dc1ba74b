#include "world/multibody.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "contact/penalty_law.h"
#include "linalg/dense_rt.h"
#include "linalg/quat.h"
#include "world/broad.h"
#include "world/multibody_solve.h"

enum { CHUNK = 4 };  // pairs of a task

typedef struct shape {
  rf_multibody_shape is;
  double *each;           // copy of is.each
  rf_broad_sphere field;  // around the field at rest; a negative radius: there is none
  double thickness;       // of what the field holds, m
} shape;

typedef struct worker {
  rf_contact **contacts;  // by tree and field: shapes, then the ground; made when needed
} worker;

struct rf_multibody {
  rf_multibody_settings set;
  int32_t n_shapes, n_bodies;
  shape *shapes;               // (n_shapes)
  int32_t *shape_of;           // -1: none                                       (n_bodies)
  rf_multibody_node *nodes;    // (n_bodies)
  rf_pair_rows_frame *frames;  // (n_bodies)
  rf_broad_sphere *spheres;    // at the beginning of a step                     (n_bodies)
  rf_broad_sphere *swept;      // around all places in a step                    (n_bodies)
  double *speeds;              // bounds of the speed of any point, m/s          (n_bodies)
  double ground_thickness;     // m
  rf_broad broad;
  int32_t n_workers, worker_shapes;
  worker *workers;
  // candidates of a step, then those with points
  int32_t n_pairs, pair_room, n_active;
  rf_pair_rows *pairs;
  rf_pair_rows **active;      // (n_active)
  rf_multibody_node **moved;  // those with contact
  rf_multibody_side *sides;   // two a pair
  rf_multibody_report report;
};

// ---- create, add

static void free_workers(rf_multibody *c) {
  for (int32_t w = 0; w < c->n_workers; ++w) {
    const int64_t n = (int64_t)c->worker_shapes * (c->worker_shapes + 1);
    for (int64_t k = 0; c->workers[w].contacts && k < n; ++k)
      rf_contact_free(c->workers[w].contacts[k]);
    rf_free(c->workers[w].contacts);
  }
  rf_free(c->workers);
  c->workers = NULL;
  c->n_workers = 0;
}

void rf_multibody_free(rf_multibody *c) {
  if (!c) return;
  free_workers(c);
  for (int32_t i = 0; i < c->n_bodies; ++i) {
    rf_multibody_node_free(&c->nodes[i]);
    rf_free_body_free(c->nodes[i].body);
  }
  for (int32_t i = 0; i < c->n_shapes; ++i) rf_free(c->shapes[i].each);
  for (int32_t i = 0; i < c->pair_room; ++i) rf_pair_rows_free(&c->pairs[i]);
  rf_broad_free(&c->broad);
  void *const owned[] = {c->shapes, c->shape_of, c->nodes, c->frames, c->spheres, c->speeds,
                         c->pairs,  c->active,   c->moved, c->sides,  c->swept};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) rf_free(owned[i]);
  rf_free(c);
}

// Thickness of the least thick part: twice the depth of its deepest place.
static double thickness_of(const rf_field *field) {
  double least = INFINITY;
  for (int32_t i = 0; field && i < field->n_parts; ++i)
    least = fmin(least, 2.0 * rf_field_part_depth(&field->parts[i]));
  return least;
}

static rf_status check(const rf_multibody_settings *set, rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", set->dt_s);
  for (int i = 0; i < 3; ++i)
    if (!isfinite(set->gravity[i]))
      return rf_fail(err, RF_ERR_ARG, "gravity[%d] is %g; it must be finite", i, set->gravity[i]);
  if (!(isfinite(set->damped) && set->damped >= 1.0))
    return rf_fail(err, RF_ERR_ARG, "contact_damping must be finite and at least 1, got %g",
                   set->damped);
  if (!(set->tolerance > 0.0 && set->tolerance < 1.0))
    return rf_fail(err, RF_ERR_ARG, "tol must be above 0 and below 1, got %g", set->tolerance);
  if (!(set->least_work >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "least_work must be at least 0, got %g", set->least_work);
  if (!(set->most_iterations >= 1))
    return rf_fail(err, RF_ERR_ARG, "iterations must be at least 1, got %d", set->most_iterations);
  return RF_OK;
}

rf_status rf_multibody_create(const rf_multibody_settings *set, rf_multibody **out, rf_error *err) {
  rf_multibody *c = NULL;
  *out = NULL;
  rf_status st = check(set, err);
  if (st < 0) return st;
  RF_ALLOC(c, 1);
  c->set = *set;
  c->ground_thickness = thickness_of(set->ground);
  *out = c;
done:
  return st;
}

// Returns an array with room for one more entry: itself, or a copy with twice the room in its
// place.  NULL, and the array stays: out of memory.
static void *grown(void *array, int32_t count, size_t size, rf_error *err) {
  if (count & (count - 1)) return array;  // no power of two: there is room
  char *more = rf_alloc(count ? 2 * (size_t)count : 1, size);
  if (!more) {
    (void)rf_fail(err, RF_ERR_MEMORY, "out of memory: a world of %d entries", (int)count + 1);
    return NULL;
  }
  if (count) memcpy(more, array, (size_t)count * size);
  rf_free(array);
  return more;
}

// Makes room for one more entry, or leaves through `done:`.
#define GROW(array, count)                                      \
  do {                                                          \
    void *more = grown((array), (count), sizeof *(array), err); \
    if (!more) {                                                \
      st = RF_ERR_MEMORY;                                       \
      goto done;                                                \
    }                                                           \
    (array) = more;                                             \
  } while (0)

// Sphere around some fields at rest.
static rf_status bound_fields(int32_t n, const rf_field *const *fields, rf_broad_sphere *sphere,
                              rf_error *err) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  double half[3];
  for (int32_t k = 0; k < n; ++k) {
    double from[3], to[3];
    rf_field_bounds(fields[k], 0.0, from, to);
    if (!(from[0] <= to[0])) continue;  // encloses nothing
    for (int i = 0; i < 3; ++i) {
      low[i] = fmin(low[i], from[i]);
      high[i] = fmax(high[i], to[i]);
    }
  }
  if (!(low[0] <= high[0])) return RF_OK;
  for (int i = 0; i < 3; ++i) {
    if (!(isfinite(low[i]) && isfinite(high[i])))
      return rf_fail(
          err, RF_ERR_ARG,
          "the field of a body is unbounded along axis %d; a plane can be the ground of a "
          "World",
          i);
    sphere->centre[i] = 0.5 * (low[i] + high[i]);
    half[i] = 0.5 * (high[i] - low[i]);
  }
  sphere->radius = rf_vec3_length(half);
  return RF_OK;
}

static rf_status check_shape(const rf_multibody_shape *s, rf_error *err) {
  if (s->field && s->deformed)
    return rf_fail(err, RF_ERR_ARG, "a body has one field: at rest, or one that deforms");
  if (!s->tree) return RF_OK;
  if (!(isfinite(s->stiffness) && s->stiffness > 0.0))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and positive, got %g", s->stiffness);
  for (int32_t k = 0; s->each && k < s->tree->n_points; ++k)
    if (!(isfinite(s->each[k]) && s->each[k] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "stiffness[%d] must be finite and positive, got %g", k,
                     s->each[k]);
  return RF_OK;
}

rf_status rf_multibody_add_shape(rf_multibody *c, const rf_multibody_shape *given, rf_error *err) {
  rf_status st = RF_OK;
  shape s = {.is = *given, .field = {.radius = -1.0}, .thickness = INFINITY};
  const rf_field *const *fields =
      given->deformed ? (const rf_field *const *)given->deformed->field : &given->field;
  const int32_t n = given->deformed ? given->deformed->n_domains : given->field != NULL;
  s.is.each = NULL;
  RF_TRY(check_shape(given, err));
  RF_TRY(bound_fields(n, fields, &s.field, err));
  for (int32_t k = 0; k < n; ++k) s.thickness = fmin(s.thickness, thickness_of(fields[k]));
  if (given->tree && given->each) {
    RF_ALLOC(s.each, given->tree->n_points);
    memcpy(s.each, given->each, (size_t)given->tree->n_points * sizeof *s.each);
    s.is.each = s.each;
  }
  GROW(c->shapes, c->n_shapes);
  c->shapes[c->n_shapes++] = s;
  s.each = NULL;
done:
  rf_free(s.each);
  return st;
}

// Coordinates of the tree and the field of a shape that deform, or 0.
static int32_t tree_r(const shape *s) { return s->is.tree ? s->is.tree->r : 0; }
static int32_t field_r(const shape *s) { return s->is.deformed ? s->is.deformed->r : 0; }

static rf_status check_body(const rf_multibody *c, const rf_free_body *body, int32_t index,
                            rf_error *err) {
  const double dt_s = body->set.deformation.dt_s;
  if (!(fabs(dt_s - c->set.dt_s) <= 1e-12 * c->set.dt_s))
    return rf_fail(err, RF_ERR_ARG, "the body makes steps of %g s, the world of %g s", dt_s,
                   c->set.dt_s);
  if (!rf_scheme_takes_contact(body->deformation->set.scheme))
    return rf_fail(err, RF_ERR_ARG, "the body has an explicit integrator; contact needs another");
  if (!(index >= -1 && index < c->n_shapes))
    return rf_fail(err, RF_ERR_ARG, "shape must be between -1 and %d, got %d", c->n_shapes - 1,
                   index);
  if (index < 0) return RF_OK;
  const shape *s = &c->shapes[index];
  const int32_t r = body->model->r;
  if ((tree_r(s) && tree_r(s) != r) || (field_r(s) && field_r(s) != r))
    return rf_fail(err, RF_ERR_ARG,
                   "the body has %d coordinates, its tree %d and its field %d; make both of its "
                   "model, or rigid",
                   r, tree_r(s), field_r(s));
  return RF_OK;
}

static rf_status copy_body(const rf_multibody *c, const rf_free_body *from, rf_free_body **out,
                           rf_error *err) {
  rf_free_body_settings set = from->set;
  const rf_motion *m = from->deformation;
  rf_free_body *b = NULL;
  memcpy(set.gravity, c->set.gravity, sizeof set.gravity);
  rf_status st = rf_free_body_create(from->model, from->nodes, &set, &b, err);
  if (st >= 0)
    st = rf_free_body_restore(b, &from->rigid, m->q, m->qdot, m->qddot, m->report.steps, err);
  if (st >= 0)
    *out = b;
  else
    rf_free_body_free(b);
  return st;
}

rf_status rf_multibody_add(rf_multibody *c, const rf_free_body *body, int32_t index,
                           rf_error *err) {
  rf_status st = RF_OK;
  rf_free_body *mine = NULL;
  const int32_t n = c->n_bodies;
  RF_TRY(check_body(c, body, index, err));
  GROW(c->shape_of, n);
  GROW(c->nodes, n);
  GROW(c->frames, n);
  GROW(c->spheres, n);
  GROW(c->swept, n);
  GROW(c->speeds, n);
  GROW(c->moved, n);
  RF_TRY(copy_body(c, body, &mine, err));
  c->shape_of[n] = index;
  c->nodes[n] = (rf_multibody_node){.body = mine};
  c->n_bodies = n + 1;
done:
  return st;
}

// ---- search

// Frame, and spheres around all that can touch, by the bounds of the tree and of the model.
static void place_body(rf_multibody *c, int32_t i) {
  const rf_free_body *b = c->nodes[i].body;
  const double *q = b->deformation->q;
  rf_pair_rows_frame *f = &c->frames[i];
  rf_broad_sphere *s = &c->spheres[i];
  double arm[3], omega[3];
  memcpy(f->centre, b->set.centre, sizeof f->centre);
  memcpy(f->pose.quaternion, b->rigid.quaternion, sizeof f->pose.quaternion);
  rf_quat_rotate(b->rigid.quaternion, b->set.centre, arm);
  rf_vec3_sub(b->rigid.position, arm, f->pose.position_m);
  s->radius = -1.0;
  c->swept[i] = *s;
  if (c->shape_of[i] < 0) return;
  const shape *h = &c->shapes[c->shape_of[i]];
  const rf_point_tree *t = h->is.tree;
  const double *centre = t ? t->centre : h->field.centre;
  if (t) s->radius = rf_point_tree_reach_rt(t, t->r ? q : NULL);
  if (h->field.radius >= 0.0) {
    double reach = h->field.radius;
    if (h->is.deformed)
      reach += b->deformation->system->operations->farthest(b->deformation->system, q);
    rf_vec3_sub(h->field.centre, centre, arm);
    s->radius = fmax(s->radius, reach + rf_vec3_length(arm));
  }
  rf_vec3_sub(centre, b->set.centre, arm);
  rf_free_body_angular_velocity_rt(b, omega);
  c->speeds[i] = rf_vec3_length(omega) * (rf_vec3_length(arm) + s->radius);
  rf_quat_rotate(b->rigid.quaternion, centre, s->centre);
  for (int k = 0; k < 3; ++k) s->centre[k] += f->pose.position_m[k];
  c->swept[i] = *s;
  if (s->radius < 0.0) return;
  const double speed = rf_vec3_length(b->rigid.momentum) / b->set.mass + c->speeds[i];
  c->swept[i].radius += speed * c->set.dt_s;
}

static rf_status reserve_pairs(rf_multibody *c, int32_t count, rf_error *err) {
  rf_status st = RF_OK;
  rf_pair_rows *pairs = NULL;
  rf_pair_rows **active = NULL;
  rf_multibody_side *sides = NULL;
  if (count <= c->pair_room) return st;
  const int32_t room = count + count / 2;
  RF_ALLOC(pairs, room);
  RF_ALLOC(active, room);
  RF_ALLOC(sides, 2 * (size_t)room);
  if (c->pair_room) memcpy(pairs, c->pairs, (size_t)c->pair_room * sizeof *pairs);
  rf_free(c->pairs);
  rf_free(c->active);
  rf_free(c->sides);
  c->pairs = pairs;
  c->active = active;
  c->sides = sides;
  c->pair_room = room;
  pairs = NULL;
  active = NULL;
  sides = NULL;
done:
  rf_free(pairs);
  rf_free(active);
  rf_free(sides);
  return st;
}

static rf_pair_rows_side side_of(int32_t body, int32_t r) {
  return (rf_pair_rows_side){body, r, RF_SLOT_RIGID + rf_dense_ld(r)};
}

// Adds the contact of the points of one body with the field of another, if they have them.
static void add_pair(rf_multibody *c, int32_t tree, int32_t field) {
  const shape *a = &c->shapes[c->shape_of[tree]];
  if (!a->is.tree) return;
  rf_pair_rows *t = &c->pairs[c->n_pairs];
  t->side[0] = side_of(tree, a->is.tree->r);
  if (field < 0) {
    t->side[1] = (rf_pair_rows_side){-1, 0, 0};
  } else {
    const shape *b = &c->shapes[c->shape_of[field]];
    if (b->field.radius < 0.0) return;
    t->side[1] = side_of(field, field_r(b));
  }
  ++c->n_pairs;
}

static bool near_ground(const rf_multibody *c, const rf_broad_sphere *s) {
  if (!c->set.ground || s->radius < 0.0) return false;
  const double d = rf_field_distance_rt(c->set.ground, s->centre);
  return !(d > s->radius && rf_field_slack_rt(c->set.ground, d, s->radius) > 0.0);
}

// Notes how far the points of a body may move, in a step, through what is `thickness` thick.
static void note_fast(rf_multibody *c, int32_t tree, double speed, double thickness) {
  const double ratio = speed * c->set.dt_s / thickness;
  if (c->shapes[c->shape_of[tree]].is.tree == NULL || !(ratio > c->report.fastest)) return;
  c->report.fastest = ratio;
  c->report.fastest_body = tree;
}

static bool overlap(const rf_multibody *c, const rf_broad_pair *p) {
  const rf_broad_sphere *a = &c->spheres[p->first], *b = &c->spheres[p->second];
  double way[3];
  rf_vec3_sub(b->centre, a->centre, way);
  return rf_vec3_length(way) <= a->radius + b->radius;
}

// Notes the relative speed of two bodies that may meet in the step.  Of bodies that have met any
// direction counts: one may be inside of the other.
static void note_pair(rf_multibody *c, const rf_broad_pair *p, bool met) {
  const rf_multibody_node *first = &c->nodes[p->first], *second = &c->nodes[p->second];
  const shape *a = &c->shapes[c->shape_of[p->first]], *b = &c->shapes[c->shape_of[p->second]];
  const double turning = c->speeds[p->first] + c->speeds[p->second];
  double velocity[3], way[3];
  for (int i = 0; i < 3; ++i)
    velocity[i] = first->body->rigid.momentum[i] / first->body->set.mass -
                  second->body->rigid.momentum[i] / second->body->set.mass;
  if (!met) {
    rf_vec3_sub(c->spheres[p->second].centre, c->spheres[p->first].centre, way);
    const double length = rf_vec3_length(way);
    const double gap = length - c->spheres[p->first].radius - c->spheres[p->second].radius;
    if ((rf_vec3_dot(velocity, way) / length + turning) * c->set.dt_s < gap) return;
  }
  const double speed = rf_vec3_length(velocity) + turning;
  if (b->field.radius >= 0.0) note_fast(c, p->first, speed, b->thickness);
  if (a->field.radius >= 0.0) note_fast(c, p->second, speed, a->thickness);
}

static void find_grounded(rf_multibody *c, int32_t i) {
  if (!near_ground(c, &c->swept[i])) return;
  const rf_free_body *b = c->nodes[i].body;
  const double speed = rf_vec3_length(b->rigid.momentum) / b->set.mass + c->speeds[i];
  note_fast(c, i, speed, c->ground_thickness);
  if (near_ground(c, &c->spheres[i])) add_pair(c, i, -1);
}

static rf_status find_candidates(rf_multibody *c, rf_error *err) {
  rf_status st = RF_OK;
  for (int32_t i = 0; i < c->n_bodies; ++i) place_body(c, i);
  RF_TRY(rf_broad_search(&c->broad, c->n_bodies, c->swept, err));
  RF_TRY(reserve_pairs(c, 2 * c->broad.n_pairs + c->n_bodies, err));
  c->n_pairs = 0;
  for (int32_t i = 0; i < c->n_bodies; ++i) find_grounded(c, i);
  for (int32_t k = 0; k < c->broad.n_pairs; ++k) {
    const rf_broad_pair *p = &c->broad.pairs[k];
    const bool met = overlap(c, p);
    note_pair(c, p, met);
    if (!met) continue;
    add_pair(c, p->first, p->second);
    add_pair(c, p->second, p->first);
  }
  c->report.candidates = c->n_pairs;
done:
  return st;
}

static rf_status reserve_workers(rf_multibody *c, int threads, rf_error *err) {
  rf_status st = RF_OK;
  if (c->n_workers >= threads && c->worker_shapes == c->n_shapes) return st;
  free_workers(c);
  c->worker_shapes = c->n_shapes;
  RF_ALLOC(c->workers, threads);
  c->n_workers = threads;
  for (int w = 0; w < threads; ++w)
    RF_ALLOC(c->workers[w].contacts, (size_t)c->n_shapes * ((size_t)c->n_shapes + 1));
done:
  if (st < 0) free_workers(c);
  return st;
}

// The contact of a pair in the memory of a worker.
static rf_status contact_of(rf_multibody *c, worker *w, const rf_pair_rows *t, rf_contact **out,
                            rf_error *err) {
  const int32_t tree = c->shape_of[t->side[0].body];
  const int32_t field = t->side[1].body < 0 ? c->n_shapes : c->shape_of[t->side[1].body];
  rf_contact **slot = &w->contacts[(size_t)tree * ((size_t)c->n_shapes + 1) + (size_t)field];
  const shape *s = &c->shapes[tree];
  rf_contact_distance distance = {.field = c->set.ground};
  rf_contact_settings set = {.cold_ratio = 1.0, .conservative = true, .stateless = true};
  if (field < c->n_shapes) {
    const shape *f = &c->shapes[field];
    distance = (rf_contact_distance){.field = f->is.field, .deformed = f->is.deformed};
    memcpy(set.grasp_m, c->frames[t->side[1].body].centre, sizeof set.grasp_m);
  }
  const rf_penalty_law_settings law = {.stiffness_n_per_m = s->is.stiffness, .each = s->each};
  if (*slot) {
    double grasp[3];
    rf_contact_grasp(*slot, grasp);
    *out = *slot;
    if (memcmp(grasp, set.grasp_m, sizeof grasp) == 0) return RF_OK;
    // bodies of one shape with another centre
    rf_contact_free(*slot);
    *slot = NULL;
  }
  const rf_status st =
      rf_contact_create(s->is.tree, &distance, "penalty", &law, &set, NULL, slot, err);
  *out = *slot;
  return st;
}

static rf_status evaluate(rf_multibody *c, worker *w, rf_pair_rows *t, rf_error *err) {
  static const rf_pair_rows_frame world = {.pose = {.quaternion = {1.0}}};
  const rf_pair_rows_frame *tree = &c->frames[t->side[0].body];
  const rf_pair_rows_frame *field = t->side[1].body < 0 ? &world : &c->frames[t->side[1].body];
  const double *q = t->side[0].r ? c->nodes[t->side[0].body].body->deformation->q : NULL;
  rf_contact *contact;
  rf_contact_result found;
  const rf_pose pose = rf_pose_seen_from_rt(&tree->pose, &field->pose);
  rf_status st = RF_OK;
  RF_TRY(contact_of(c, w, t, &contact, err));
  t->n_rows = t->n_passed = 0;
  if (t->side[1].r)
    st = rf_contact_deform_field_rt(contact, c->nodes[t->side[1].body].body->deformation->q);
  // without coherence and state: earlier cycles of the same contact leave no trace
  if (st >= 0) st = rf_contact_evaluate_rt(contact, &pose, q, -1, &found, NULL, NULL, NULL);
  if (st < 0)
    return rf_fail(err, RF_ERR_DIVERGED,
                   "body %d is too far out, or deformed too much, for "
                   "contact; try a smaller dt",
                   t->side[0].body);
  if (found.touching == 0) return RF_OK;
  RF_TRY(rf_pair_rows_reserve(t, found.touching, err));
  rf_pair_rows_fill_rt(t, tree, contact);
done:
  return st;
}

static rf_status evaluate_some(void *context, int64_t task, int w, rf_error *err) {
  rf_multibody *c = context;
  const int32_t first = (int32_t)task * CHUNK;
  const int32_t end = c->n_pairs - first < CHUNK ? c->n_pairs : first + CHUNK;
  rf_status st = RF_OK;
  for (int32_t i = first; i < end && st >= 0; ++i)
    st = evaluate(c, &c->workers[w], &c->pairs[i], err);
  return st;
}

// ---- step

// Lists the pairs with points, their bodies, and the sides of each body.
static void list_active(rf_multibody *c, rf_multibody_solve *s) {
  rf_multibody_report *report = &c->report;
  c->n_active = 0;
  for (int32_t i = 0; i < c->n_bodies; ++i) c->nodes[i].n_sides = 0;
  for (int32_t k = 0; k < c->n_pairs; ++k) {
    rf_pair_rows *t = &c->pairs[k];
    report->passed += t->n_passed;
    if (t->n_rows == 0) continue;
    c->active[c->n_active++] = t;
    report->points += t->n_rows;
    report->depth_m = fmax(report->depth_m, t->depth_m);
    for (int e = 0; e < 2; ++e)
      if (t->side[e].body >= 0) ++c->nodes[t->side[e].body].n_sides;
  }
  report->pairs = c->n_active;
  s->n_nodes = 0;
  rf_multibody_side *next = c->sides;
  for (int32_t i = 0; i < c->n_bodies; ++i) {
    rf_multibody_node *n = &c->nodes[i];
    n->sides = next;
    next += n->n_sides;
    if (n->n_sides) c->moved[s->n_nodes++] = n;
    n->n_sides = 0;
  }
  for (int32_t k = 0; k < c->n_active; ++k)
    for (int e = 0; e < 2; ++e)
      if (c->active[k]->side[e].body >= 0) {
        rf_multibody_node *n = &c->nodes[c->active[k]->side[e].body];
        n->sides[n->n_sides++] = (rf_multibody_side){k, e};
      }
  s->nodes = c->moved;
  s->pairs = c->active;
  s->n_pairs = c->n_active;
}

// Steps of the bodies without contact.
static rf_status fly_some(void *context, int64_t task, int w, rf_error *err) {
  (void)w;
  const rf_multibody *c = context;
  const int32_t first = (int32_t)task * CHUNK;
  const int32_t end = c->n_bodies - first < CHUNK ? c->n_bodies : first + CHUNK;
  for (int32_t i = first; i < end; ++i) {
    rf_free_body *b = c->nodes[i].body;
    if (c->nodes[i].n_sides) continue;
    const rf_status st = rf_free_body_step_rt(b, 0, NULL, 1);
    if (st >= 0) continue;
    rf_error inner = {0};
    (void)rf_motion_explain(b->deformation, "the deformation", "smaller velocities", &inner);
    return rf_fail(err, st, "body %d: %.400s", (int)i, inner.text);
  }
  return RF_OK;
}

// Clears what is reported of the last step.
static void forget_step(rf_multibody *c) {
  rf_multibody_report *r = &c->report;
  c->n_active = 0;
  r->candidates = r->pairs = r->iterations = 0;
  r->points = r->passed = 0;
  r->depth_m = r->residual = 0.0;
}

rf_status rf_multibody_step(rf_multibody *c, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_solve solve = {.damped = c->set.damped,
                              .tolerance = c->set.tolerance,
                              .most_iterations = c->set.most_iterations,
                              .least_work = c->set.least_work,
                              .all = c->nodes};
  forget_step(c);
  RF_TRY(find_candidates(c, err));
  RF_TRY(reserve_workers(c, run->threads, err));
  RF_TRY(rf_run_tasks(run, (c->n_pairs + CHUNK - 1) / CHUNK, 0, evaluate_some, c, err));
  list_active(c, &solve);
  RF_TRY(rf_multibody_solve_step(&solve, run, err));
  c->report.iterations = solve.iterations;
  c->report.residual = solve.left;
  c->report.unconverged += !(solve.left <= c->set.tolerance);
  RF_TRY(rf_run_tasks(run, (c->n_bodies + CHUNK - 1) / CHUNK, 0, fly_some, c, err));
  ++c->report.steps;
done:
  if (st < 0) forget_step(c);
  return st;
}

// ---- results

int32_t rf_multibody_count(const rf_multibody *c) { return c->n_bodies; }
rf_free_body *rf_multibody_body(const rf_multibody *c, int32_t index) {
  return c->nodes[index].body;
}
const rf_multibody_report *rf_multibody_reported(const rf_multibody *c) { return &c->report; }
int32_t rf_multibody_pairs(const rf_multibody *c) { return c->n_active; }

rf_multibody_pair rf_multibody_pair_at(const rf_multibody *c, int32_t index) {
  const rf_pair_rows *t = c->active[index];
  rf_multibody_pair p = {.tree = t->side[0].body,
                         .field = t->side[1].body,
                         .points = t->n_rows,
                         .depth_m = t->depth_m};
  memcpy(p.wrench, t->applied, sizeof p.wrench);
  return p;
}
