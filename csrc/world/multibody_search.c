#include "world/multibody_search.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "contact/penalty_law.h"
#include "linalg/dense_rt.h"
#include "linalg/quat.h"

enum { CHUNK = 4 };  // pairs of a task

// ---- memory

void rf_multibody_search_free(rf_multibody_search *s) {
  for (int32_t w = 0; w < s->n_workers; ++w) rf_multibody_contacts_free(&s->workers[w]);
  for (int32_t i = 0; i < s->pair_room; ++i) rf_pair_rows_free(&s->pairs[i]);
  rf_broad_free(&s->broad);
  rf_free(s->places);
  rf_free(s->swept);
  rf_free(s->pairs);
  rf_free(s->workers);
  *s = (rf_multibody_search){0};
}

static rf_status reserve_bodies(rf_multibody_search *s, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_place *places = NULL;
  rf_broad_sphere *swept = NULL;
  const int32_t n = s->n_bodies + s->n_fixed, room = n + n / 2;
  if (n <= s->body_room) return st;
  RF_ALLOC(places, room);
  RF_ALLOC(swept, room);
  rf_free(s->places);
  rf_free(s->swept);
  s->places = places;
  s->swept = swept;
  s->body_room = room;
  places = NULL;
  swept = NULL;
done:
  rf_free(places);
  rf_free(swept);
  return st;
}

static rf_status reserve_pairs(rf_multibody_search *s, int32_t count, rf_error *err) {
  rf_status st = RF_OK;
  rf_pair_rows *pairs = NULL;
  if (count <= s->pair_room) return st;
  const int32_t room = count + count / 2;
  RF_ALLOC(pairs, room);
  if (s->pair_room) memcpy(pairs, s->pairs, (size_t)s->pair_room * sizeof *pairs);
  rf_free(s->pairs);
  s->pairs = pairs;
  s->pair_room = room;
done:
  return st;
}

static rf_status reserve_workers(rf_multibody_search *s, int32_t threads, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_contacts *workers = NULL;
  if (threads <= s->n_workers) return st;
  RF_ALLOC(workers, threads);
  if (s->n_workers) memcpy(workers, s->workers, (size_t)s->n_workers * sizeof *workers);
  rf_free(s->workers);
  s->workers = workers;
  s->n_workers = threads;
done:
  return st;
}

// ---- broad phase

// Places are numbered by bodies, then by fixed shells.
static const rf_multibody_fixed *fixed_at(const rf_multibody_search *s, int32_t place) {
  return place < s->n_bodies ? NULL : &s->fixed[place - s->n_bodies];
}

static int32_t number_of(const rf_multibody_search *s, int32_t place) {
  return place < s->n_bodies ? place : rf_multibody_fixed_number(place - s->n_bodies);
}

static const rf_multibody_bounded *shape_of(const rf_multibody_search *s, int32_t place) {
  const rf_multibody_fixed *fixed = fixed_at(s, place);
  return &s->shapes[fixed ? fixed->shape : s->shape_of[place]];
}

static double friction_of(const rf_multibody_search *s, int32_t place) {
  const rf_multibody_fixed *fixed = fixed_at(s, place);
  return fixed ? fixed->friction : s->friction[place];
}

// Forces of the last step on a shell with a dimple.
static int32_t dimple_of(const rf_multibody_search *s, int32_t place) {
  const rf_multibody_fixed *fixed = fixed_at(s, place);
  return fixed ? fixed->dimple_index : s->nodes[place].dimple_index;
}

static rf_pair_dimple_forces last_forces_of(const rf_multibody_search *s, int32_t dimple) {
  const rf_pair_dimple_forces none = {0};
  return dimple < 0 ? none : rf_multibody_dimple_last_forces(s->dimples[dimple].dimple);
}

// Radius around the centre of a tree, or a field's own, that holds the field too, which reaches
// `more` beyond its place at rest; radius: of the points, negative: there are none.
static double radius_with_field(const rf_multibody_bounded *h, const double centre[3],
                                double radius, double more) {
  double arm[3];
  if (h->field.radius < 0.0) return radius;
  rf_vec3_sub(h->field.centre, centre, arm);
  return fmax(radius, h->field.radius + more + rf_vec3_length(arm));
}

static void place_fixed(rf_multibody_search *s, int32_t place) {
  const rf_multibody_fixed *fixed = fixed_at(s, place);
  const rf_point_tree *t = shape_of(s, place)->given.tree;
  rf_multibody_place *p = &s->places[place];
  *p = (rf_multibody_place){.frame = {.pose = fixed->pose}};
  p->reach = rf_point_tree_reach_rt(t, NULL);
  p->sphere.radius = radius_with_field(shape_of(s, place), t->centre, p->reach, 0.0);
  rf_quat_rotate(fixed->pose.quaternion, t->centre, p->sphere.centre);
  for (int k = 0; k < 3; ++k) p->sphere.centre[k] += fixed->pose.position_m[k];
  const rf_pair_dimple_forces last = last_forces_of(s, fixed->dimple_index);
  p->sphere.radius += rf_pair_dimple_deepest_rt(&last);
  s->swept[place] = p->sphere;
}

// Frame, and spheres around all that can touch, by the bounds of the tree and of the model.
static void place_body(rf_multibody_search *c, int32_t i) {
  const rf_free_body *b = c->nodes[i].body;
  const double *q = b->deformation->q;
  rf_multibody_place *p = &c->places[i];
  rf_pair_rows_frame *f = &p->frame;
  rf_broad_sphere *s = &p->sphere;
  double arm[3], omega[3];
  memcpy(f->centre, b->set.centre, sizeof f->centre);
  memcpy(f->pose.quaternion, b->rigid.quaternion, sizeof f->pose.quaternion);
  rf_quat_rotate(b->rigid.quaternion, b->set.centre, arm);
  rf_vec3_sub(b->rigid.position, arm, f->pose.position_m);
  s->radius = p->reach = -1.0;
  c->swept[i] = *s;
  if (c->shape_of[i] < 0) return;
  const rf_multibody_bounded *h = shape_of(c, i);
  const rf_point_tree *t = h->given.tree;
  const double *centre = t ? t->centre : h->field.centre;
  if (t) s->radius = p->reach = rf_point_tree_reach_rt(t, t->r ? q : NULL);
  double more = 0.0;
  if (h->given.deformed)
    more = b->deformation->system->operations->farthest(b->deformation->system, q);
  s->radius = radius_with_field(h, centre, s->radius, more);
  rf_vec3_sub(centre, b->set.centre, arm);
  rf_free_body_angular_velocity_rt(b, omega);
  p->turning = rf_vec3_length(omega) * (rf_vec3_length(arm) + s->radius);
  p->speed = rf_vec3_length(b->rigid.momentum) / b->set.mass + p->turning;
  rf_quat_rotate(b->rigid.quaternion, centre, s->centre);
  for (int k = 0; k < 3; ++k) s->centre[k] += f->pose.position_m[k];
  const rf_pair_dimple_forces last = last_forces_of(c, c->nodes[i].dimple_index);
  s->radius += rf_pair_dimple_deepest_rt(&last);
  c->swept[i] = *s;
  if (s->radius >= 0.0) c->swept[i].radius += p->speed * c->dt_s;
}

static rf_pair_rows_side side_of(const rf_multibody_search *s, int32_t place, int32_t r) {
  if (place >= s->n_bodies) return (rf_pair_rows_side){number_of(s, place), 0, 0};
  return (rf_pair_rows_side){place, r, RF_SLOT_RIGID + rf_dense_ld(r)};
}

// place: of the field, -1: the ground.
static void set_dimples(const rf_multibody_search *s, int32_t tree, int32_t field,
                        rf_pair_rows *t) {
  t->dimple_damping = 1.0;
  for (int k = 0; k < 2; ++k) {
    rf_pair_dimple *d = &t->dimple[k];
    const int32_t place = k ? field : tree;
    d->node = place < 0 ? -1 : dimple_of(s, place);
    d->yields = d->node >= 0;
    d->corners = k ? RF_DIMPLE_CORNERS : 1;
    if (d->yields) t->dimple_damping = s->dimples[d->node].dimple->damping;
  }
}

// Adds the contact of the points of one body with the field of another, if they have them.
static void add_pair(rf_multibody_search *s, int32_t tree, int32_t field) {
  const rf_multibody_bounded *a = shape_of(s, tree);
  if (!a->given.tree) return;
  rf_pair_rows *t = &s->pairs[s->n_pairs];
  const double other = field < 0 ? s->ground_friction : friction_of(s, field);
  t->friction.mu = sqrt(friction_of(s, tree) * other);
  t->side[0] = side_of(s, tree, a->given.tree->r);
  set_dimples(s, tree, field, t);
  if (field < 0) {
    t->side[1] = (rf_pair_rows_side){-1, 0, 0};
  } else {
    const rf_multibody_bounded *b = shape_of(s, field);
    if (b->field.radius < 0.0) return;
    t->side[1] = side_of(s, field, rf_multibody_shape_field_r(b));
  }
  ++s->n_pairs;
}

static bool near_ground(const rf_multibody_search *s, const rf_broad_sphere *sphere) {
  if (!s->ground || sphere->radius < 0.0) return false;
  const double d = rf_field_distance_rt(s->ground, sphere->centre);
  return !(d > sphere->radius && rf_field_slack_rt(s->ground, d, sphere->radius) > 0.0);
}

// Notes how far the points of a body, or fixed ones past another body, may move in a step through
// what is `thickness` thick.
static void note_fast(rf_multibody_search *s, int32_t tree, int32_t body, double speed,
                      double thickness) {
  const double ratio = speed * s->dt_s / thickness;
  if (shape_of(s, tree)->given.tree == NULL || !(ratio > s->fastest)) return;
  s->fastest = ratio;
  s->fastest_body = body;
}

static void velocity_of(const rf_multibody_search *s, int32_t place, double out[3]) {
  const rf_free_body *b = fixed_at(s, place) ? NULL : s->nodes[place].body;
  for (int i = 0; i < 3; ++i) out[i] = b ? b->rigid.momentum[i] / b->set.mass : 0.0;
}

// Notes the relative speed of two bodies that may meet in the step; `offset` leads from the centre
// of the first sphere to that of the second.  Of bodies whose spheres overlap any direction counts:
// one may be inside of the other.
static void note_pair(rf_multibody_search *s, const rf_broad_pair *p, const double offset[3],
                      bool overlap) {
  const rf_multibody_place *from = &s->places[p->first], *to = &s->places[p->second];
  const rf_multibody_bounded *a = shape_of(s, p->first), *b = shape_of(s, p->second);
  const double turning = from->turning + to->turning;
  double velocity[3], other[3];
  velocity_of(s, p->first, velocity);
  velocity_of(s, p->second, other);
  rf_vec3_sub(velocity, other, velocity);
  if (!overlap) {
    const double length = rf_vec3_length(offset);
    const double gap = length - from->sphere.radius - to->sphere.radius;
    if ((rf_vec3_dot(velocity, offset) / length + turning) * s->dt_s < gap) return;
  }
  const double speed = rf_vec3_length(velocity) + turning;
  if (b->field.radius >= 0.0) note_fast(s, p->first, p->first, speed, b->thickness);
  const int32_t moves = fixed_at(s, p->second) ? p->first : p->second;
  if (a->field.radius >= 0.0) note_fast(s, p->second, moves, speed, a->thickness);
}

static void find_ground(rf_multibody_search *s, int32_t i) {
  if (!near_ground(s, &s->swept[i])) return;
  note_fast(s, i, i, s->places[i].speed, s->ground_thickness);
  if (near_ground(s, &s->places[i].sphere)) add_pair(s, i, -1);
}

// Notes a fixed shell that gives a body no force, as that has no field, or neither of them.
static void note_missed(rf_multibody_search *s, const rf_broad_pair *p) {
  if (p->second < s->n_bodies || s->missed_shell) return;
  if (shape_of(s, p->first)->field.radius >= 0.0) return;
  if (shape_of(s, p->first)->given.tree && shape_of(s, p->second)->field.radius >= 0.0) return;
  s->missed_shell = number_of(s, p->second);
  s->missed_body = p->first;
}

static void find_pair(rf_multibody_search *s, const rf_broad_pair *p) {
  const rf_broad_sphere *a = &s->places[p->first].sphere, *b = &s->places[p->second].sphere;
  double offset[3];
  if (p->first >= s->n_bodies) return;  // both never move
  rf_vec3_sub(b->centre, a->centre, offset);
  const bool overlap = rf_vec3_length(offset) <= a->radius + b->radius;
  note_pair(s, p, offset, overlap);
  if (!overlap) return;
  note_missed(s, p);
  add_pair(s, p->first, p->second);
  add_pair(s, p->second, p->first);
}

rf_status rf_multibody_search_broad(rf_multibody_search *s, rf_error *err) {
  rf_status st = RF_OK;
  s->n_pairs = 0;
  RF_TRY(reserve_bodies(s, err));
  for (int32_t i = 0; i < s->n_bodies; ++i) place_body(s, i);
  for (int32_t i = 0; i < s->n_fixed; ++i) place_fixed(s, s->n_bodies + i);
  RF_TRY(rf_broad_search(&s->broad, s->n_bodies + s->n_fixed, s->swept, err));
  RF_TRY(reserve_pairs(s, 2 * s->broad.n_pairs + s->n_bodies, err));
  for (int32_t i = 0; i < s->n_bodies; ++i) find_ground(s, i);
  for (int32_t k = 0; k < s->broad.n_pairs; ++k) find_pair(s, &s->broad.pairs[k]);
done:
  return st;
}

// ---- narrow phase

// Index of a side of a pair among the places.
static int32_t place_of(const rf_multibody_search *s, int32_t number) {
  return (int32_t)(rf_multibody_search_place(s, number) - s->places);
}

// The contact of a pair in the memory of a worker.
static rf_status contact_of(const rf_multibody_search *s, rf_multibody_contacts *w,
                            const rf_pair_rows *t, rf_contact **out, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t tree = (int32_t)(shape_of(s, place_of(s, t->side[0].body)) - s->shapes);
  const int32_t place = t->side[1].body == -1 ? -1 : place_of(s, t->side[1].body);
  const int32_t field = place < 0 ? -1 : (int32_t)(shape_of(s, place) - s->shapes);
  const rf_multibody_bounded *a = &s->shapes[tree];
  rf_contact_distance distance = {.field = s->ground};
  rf_contact_settings set = {.cold_ratio = 1.0, .conservative = true, .stateless = true};
  rf_multibody_contact *e;
  if (field >= 0) {
    const rf_multibody_bounded *b = &s->shapes[field];
    distance = (rf_contact_distance){.field = b->given.field, .deformed = b->given.deformed};
    memcpy(set.grasp_m, s->places[place].frame.centre, sizeof set.grasp_m);
  }
  const rf_penalty_law_settings law = {.stiffness_n_per_m = a->given.stiffness, .each = a->each};
  RF_TRY(rf_multibody_contacts_find(w, tree, field, &e, err));
  if (e->contact) {
    double grasp[3];
    rf_contact_grasp(e->contact, grasp);
    *out = e->contact;
    if (memcmp(grasp, set.grasp_m, sizeof grasp) == 0) return RF_OK;
    // bodies of one shape with another centre
    rf_contact_free(e->contact);
    e->contact = NULL;
  }
  RF_TRY(
      rf_contact_create(a->given.tree, &distance, "penalty", &law, &set, NULL, &e->contact, err));
  *out = e->contact;
done:
  return st;
}

static rf_status evaluate(rf_multibody_search *s, rf_multibody_contacts *w, rf_pair_rows *t,
                          rf_error *err) {
  static const rf_pair_rows_frame world = {.pose = {.quaternion = {1.0}}};
  const int32_t a = place_of(s, t->side[0].body), b = t->side[1].body;
  const rf_pair_rows_frame *tree = &s->places[a].frame;
  const rf_pair_rows_frame *field = b == -1 ? &world : &rf_multibody_search_place(s, b)->frame;
  const double *q = t->side[0].r ? s->nodes[a].body->deformation->q : NULL;
  rf_contact *contact;
  rf_contact_result found;
  const rf_pose pose = rf_pose_seen_from_rt(&tree->pose, &field->pose);
  rf_status st = RF_OK;
  RF_TRY(contact_of(s, w, t, &contact, err));
  t->n_rows = t->n_passed = t->n_lost = 0;
  t->depth_m = t->sunk_m = 0.0;
  if (t->side[1].r) st = rf_contact_deform_field_rt(contact, s->nodes[b].body->deformation->q);
  // without coherence and state: earlier cycles of the same contact leave no trace
  if (st >= 0) st = rf_contact_evaluate_rt(contact, &pose, q, -1, &found, NULL, NULL, NULL);
  if (st < 0)
    return rf_fail(err, RF_ERR_DIVERGED,
                   "body %d is too far out, or deformed too much, for "
                   "contact; try a smaller dt",
                   a < s->n_bodies ? a : b);
  rf_pair_rows_dimples dimples = {
      .last = {last_forces_of(s, t->dimple[0].node), last_forces_of(s, t->dimple[1].node)}};
  if (t->dimple[1].yields && !t->dimple[0].yields)
    dimples.held = rf_multibody_memory_places(s->memory, t, &dimples.n_held);
  const int32_t most = found.touching + dimples.last[0].n + dimples.n_held;
  if (most == 0) return RF_OK;
  if (t->dimple[1].yields)
    dimples.field_shell = rf_multibody_dimple_shell(s->dimples[t->dimple[1].node].dimple);
  RF_TRY(rf_pair_rows_reserve(t, most, err));
  rf_pair_rows_fill_rt(t, tree, &dimples, contact);
  if (t->friction.mu > 0.0) rf_multibody_memory_recall(s->memory, t);
done:
  return st;
}

static rf_status evaluate_some(void *context, int64_t task, int w, rf_error *err) {
  rf_multibody_search *s = context;
  const int32_t first = (int32_t)task * CHUNK;
  const int32_t end = s->n_pairs - first < CHUNK ? s->n_pairs : first + CHUNK;
  rf_status st = RF_OK;
  for (int32_t i = first; i < end && st >= 0; ++i)
    st = evaluate(s, &s->workers[w], &s->pairs[i], err);
  return st;
}

// Moves the points of shells that yield as fields to the coordinates of their bodies.
static void move_shells(rf_multibody_search *s) {
  for (int32_t k = 0; k < s->n_pairs; ++k) {
    const rf_pair_rows *t = &s->pairs[k];
    // a body with several pairs is moved several times
    if (t->dimple[1].yields && t->side[1].r)
      rf_multibody_dimple_deform_rt(s->dimples[t->dimple[1].node].dimple,
                                    s->nodes[t->side[1].body].body->deformation->q);
  }
}

rf_status rf_multibody_search_narrow(rf_multibody_search *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(reserve_workers(s, run->threads, err));
  move_shells(s);
  RF_TRY(rf_run_tasks(run, (s->n_pairs + CHUNK - 1) / CHUNK, 0, evaluate_some, s, err));
done:
  return st;
}
