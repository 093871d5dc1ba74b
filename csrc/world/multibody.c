#include "world/multibody.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/quat.h"
#include "linalg/vec3.h"
#include "world/multibody_search.h"
#include "world/multibody_solve.h"

enum { CHUNK = 4 };  // bodies of a task
enum { SIDES = 4 };  // of a pair: tree, field, and the dimples of both

struct rf_multibody {
  rf_multibody_settings set;
  int32_t n_shapes, n_bodies, n_fixed, n_dimples;
  int32_t n_stepped[2];           // bodies, and fixed shells, that have been in a step
  rf_multibody_bounded *shapes;   // (n_shapes)
  int32_t *shape_of;              // -1: none                                       (n_bodies)
  double *friction;               // coefficients                                   (n_bodies)
  rf_multibody_node *nodes;       // (n_bodies)
  rf_multibody_fixed *fixed;      // (n_fixed)
  rf_multibody_node *dimples;     // of bodies and fixed shells                     (n_dimples)
  rf_multibody_memory memory[2];  // of friction: in the last step; of the present one
  rf_multibody_search search;
  rf_multibody_joint joint;
  // candidates with points
  int32_t n_active, active_room;
  rf_pair_rows **active;      // (n_active)
  rf_multibody_side *sides;   // at most SIDES a pair
  rf_multibody_node **moved;  // those with contact           (n_bodies + n_dimples)
  rf_multibody_report report;
};

// ---- create, add

void rf_multibody_free(rf_multibody *c) {
  if (!c) return;
  for (int32_t i = 0; i < c->n_bodies; ++i) {
    rf_multibody_node_free(&c->nodes[i]);
    rf_free_body_free(c->nodes[i].body);
  }
  for (int32_t i = 0; i < c->n_dimples; ++i) rf_multibody_node_free(&c->dimples[i]);
  for (int32_t i = 0; i < c->n_shapes; ++i) rf_multibody_shape_free(&c->shapes[i]);
  rf_multibody_search_free(&c->search);
  rf_multibody_joint_free(&c->joint);
  for (int k = 0; k < 2; ++k) rf_multibody_memory_free(&c->memory[k]);
  void *const owned[] = {c->shapes,  c->shape_of, c->friction, c->nodes, c->fixed,
                         c->dimples, c->active,   c->sides,    c->moved};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) rf_free(owned[i]);
  rf_free(c);
}

static rf_status check_friction(const char *name, double mu, rf_error *err) {
  if (mu >= 0.0 && mu <= RF_MULTIBODY_MOST_FRICTION) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "%s must be a coefficient between 0 and %g, got %g", name,
                 RF_MULTIBODY_MOST_FRICTION, mu);
}

static rf_status check(const rf_multibody_settings *set, rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", set->dt_s);
  for (int i = 0; i < 3; ++i)
    if (!isfinite(set->gravity[i]))
      return rf_fail(err, RF_ERR_ARG, "gravity[%d] is %g; it must be finite", i, set->gravity[i]);
  if (!(isfinite(set->contact_damping) && set->contact_damping >= 1.0))
    return rf_fail(err, RF_ERR_ARG, "contact_damping must be finite and at least 1, got %g",
                   set->contact_damping);
  if (!(set->tolerance >= RF_MULTIBODY_LEAST_TOLERANCE && set->tolerance < 1.0))
    return rf_fail(err, RF_ERR_ARG,
                   "tol must be at least %g, which rounding allows, and below 1, got %g",
                   RF_MULTIBODY_LEAST_TOLERANCE, set->tolerance);
  if (!(set->least_work >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "least_work must be at least 0, got %g", set->least_work);
  if (!(set->most_iterations >= 1))
    return rf_fail(err, RF_ERR_ARG, "iterations must be at least 1, got %d", set->most_iterations);
  return check_friction("ground_friction", set->ground_friction, err);
}

rf_status rf_multibody_create(const rf_multibody_settings *set, rf_multibody **out, rf_error *err) {
  rf_multibody *c = NULL;
  *out = NULL;
  rf_status st = check(set, err);
  if (st < 0) return st;
  RF_ALLOC(c, 1);
  c->set = *set;
  c->search.ground_thickness = rf_multibody_shape_thickness(set->ground);
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

rf_status rf_multibody_add_shape(rf_multibody *c, const rf_multibody_shape *given, rf_error *err) {
  rf_status st = RF_OK;
  GROW(c->shapes, c->n_shapes);
  RF_TRY(rf_multibody_shape_create(given, &c->shapes[c->n_shapes], err));
  ++c->n_shapes;
done:
  return st;
}

static rf_status check_body(const rf_multibody *c, const rf_free_body *body, int32_t index,
                            rf_error *err) {
  const double dt_s = body->set.deformation.dt_s;
  if (!(fabs(dt_s - c->set.dt_s) <= 1e-12 * c->set.dt_s))
    return rf_fail(err, RF_ERR_ARG,
                   "body makes steps of %g s, the world of %g s; make the FreeBody with the dt of "
                   "the world",
                   dt_s, c->set.dt_s);
  if (!rf_scheme_takes_contact(body->deformation->set.scheme))
    return rf_fail(err, RF_ERR_ARG,
                   "the body has an explicit integrator; contact needs an implicit one");
  if (!(index >= -1 && index < c->n_shapes))
    return rf_fail(err, RF_ERR_ARG, "shape must be between -1 and %d, got %d", c->n_shapes - 1,
                   index);
  if (index < 0) return RF_OK;
  const rf_multibody_bounded *s = &c->shapes[index];
  const int32_t r = body->model->r, tree_r = rf_multibody_shape_tree_r(s);
  const int32_t field_r = rf_multibody_shape_field_r(s);
  if ((tree_r && tree_r != r) || (field_r && field_r != r))
    return rf_fail(err, RF_ERR_ARG,
                   "the body has %d coordinates, its tree %d and its field %d; make both of its "
                   "model, or rigid",
                   r, tree_r, field_r);
  return RF_OK;
}

// Prepares the dimple of a shape that has one, to be added to the list; number: of its body, or
// fixed shell.
static rf_status make_dimple(rf_multibody *c, int32_t shape, int32_t number, rf_multibody_node *out,
                             rf_error *err) {
  rf_status st = RF_OK;
  *out = (rf_multibody_node){.dimple_index = -1};
  if (shape < 0 || !c->shapes[shape].given.local) return st;
  GROW(c->dimples, c->n_dimples);
  GROW(c->moved, c->n_bodies + c->n_dimples);
  const rf_multibody_bounded *s = &c->shapes[shape];
  RF_TRY(rf_multibody_dimple_create(s->given.local, s->field.radius >= 0.0 ? s->given.tree : NULL,
                                    &out->dimple, err));
  out->dimple->of = number;
  out->dimple->damping = c->set.contact_damping;
  out->dimple_index = c->n_dimples;
done:
  return st;
}

rf_status rf_multibody_add(rf_multibody *c, const rf_free_body *body, int32_t index,
                           double friction, rf_error *err) {
  rf_status st = RF_OK;
  rf_free_body *mine = NULL;
  rf_multibody_node dimple = {0};
  const int32_t n = c->n_bodies;
  RF_TRY(check_body(c, body, index, err));
  RF_TRY(check_friction("friction", friction, err));
  GROW(c->shape_of, n);
  GROW(c->friction, n);
  GROW(c->nodes, n);
  RF_TRY(make_dimple(c, index, n, &dimple, err));
  GROW(c->moved, n + c->n_dimples + (dimple.dimple != NULL));
  RF_TRY(rf_free_body_copy(body, c->set.gravity, &mine, err));
  c->shape_of[n] = index;
  c->friction[n] = friction;
  c->nodes[n] = (rf_multibody_node){.body = mine, .dimple_index = dimple.dimple_index};
  c->n_bodies = n + 1;
  if (dimple.dimple) c->dimples[c->n_dimples++] = dimple;
  dimple = (rf_multibody_node){0};
done:
  rf_multibody_dimple_free(dimple.dimple);
  return st;
}

rf_status rf_multibody_add_fixed(rf_multibody *c, const rf_pose *pose, int32_t index,
                                 double friction, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_node dimple = {0};
  RF_TRY(check_friction("friction", friction, err));
  if (!(index >= 0 && index < c->n_shapes && c->shapes[index].given.local))
    return rf_fail(err, RF_ERR_ARG, "a fixed shell needs the shape of a local compliance");
  if (rf_multibody_shape_tree_r(&c->shapes[index]) || rf_multibody_shape_field_r(&c->shapes[index]))
    return rf_fail(err, RF_ERR_ARG, "tree and field of a fixed shell must be rigid");
  GROW(c->fixed, c->n_fixed);
  RF_TRY(make_dimple(c, index, rf_multibody_fixed_number(c->n_fixed), &dimple, err));
  c->fixed[c->n_fixed++] = (rf_multibody_fixed){*pose, .shape = index, .friction = friction,
                                                .dimple_index = dimple.dimple_index};
  c->dimples[c->n_dimples++] = dimple;
done:
  return st;
}

// ---- step

static rf_status reserve_active(rf_multibody *c, rf_error *err) {
  rf_status st = RF_OK;
  rf_pair_rows **active = NULL;
  rf_multibody_side *sides = NULL;
  const int32_t room = c->search.pair_room;
  if (room <= c->active_room) return st;
  RF_ALLOC(active, room);
  RF_ALLOC(sides, SIDES * (size_t)room);
  rf_free(c->active);
  rf_free(c->sides);
  c->active = active;
  c->sides = sides;
  c->active_room = room;
  active = NULL;
  sides = NULL;
done:
  rf_free(active);
  rf_free(sides);
  return st;
}

// True for a body, or a fixed shell, in its first step.
static bool is_new(const rf_multibody *c, int32_t number) {
  if (number >= 0) return number >= c->n_stepped[0];
  return number < -1 && rf_multibody_fixed_number(number) >= c->n_stepped[1];
}

static double thickness_of(const rf_multibody *c, int32_t field) {
  if (field == -1) return c->search.ground_thickness;
  const int32_t shape =
      field < 0 ? c->fixed[rf_multibody_fixed_number(field)].shape : c->shape_of[field];
  return c->shapes[shape].thickness;
}

// Notes the overlap of a pair if one of both is new.
static void note_overlap(rf_multibody *c, const rf_pair_rows *t) {
  const int32_t a = t->side[0].body, b = t->side[1].body;
  if (!is_new(c, a) && !is_new(c, b)) return;
  const rf_multibody_place *place = rf_multibody_search_place(&c->search, a);
  const double thickness = thickness_of(c, b);
  const double size = fmin(thickness, 2.0 * place->reach);
  // all points past the middle: at least half of it
  const bool passed = t->n_rows == 0 && t->n_passed > 0 && isfinite(thickness);
  const double depth = passed ? 0.5 * thickness : t->depth_m;
  // a single point without a field has no size
  if (!(size > 0.0 && depth > c->report.overlap * size)) return;
  c->report.overlap = depth / size;
  c->report.overlap_m = depth;
  c->report.overlap_body = a < 0 ? b : a;
  c->report.overlap_other = a < 0 ? a : b;
}

static void note_sunk(rf_multibody *c, const rf_pair_rows *t) {
  rf_multibody_report *r = &c->report;
  const double thickness = thickness_of(c, t->side[1].body);
  if (t->n_lost == 0 && !(t->sunk_m > 0.5 * thickness)) return;
  const int yields = t->dimple[0].yields ? 0 : 1;
  if (r->sunk++ > 0 && !(t->sunk_m > r->sunk_m)) return;
  r->sunk_shell = t->side[yields].body;
  r->sunk_other = t->side[1 - yields].body;
  r->sunk_m = t->sunk_m;
  memcpy(r->sunk_at, t->sunk_at, sizeof r->sunk_at);
  r->sunk_thickness_m = thickness;
}

// Notes a force beyond the points of a field that yields.
static void note_beyond(rf_multibody *c, const rf_pair_rows *t) {
  rf_multibody_report *r = &c->report;
  if (!t->beyond || r->beyond_shell != r->beyond_other) return;
  r->beyond_shell = t->side[1].body;
  r->beyond_other = t->side[0].body;
  memcpy(r->beyond_at, t->beyond_at, sizeof r->beyond_at);
}

// Node of a side of a pair, 2 and 3: of the dimples; NULL: none.
static rf_multibody_node *node_of(const rf_multibody *c, const rf_pair_rows *t, int side) {
  if (side >= 2) return t->dimple[side - 2].yields ? &c->dimples[t->dimple[side - 2].node] : NULL;
  return t->side[side].body >= 0 ? &c->nodes[t->side[side].body] : NULL;
}

// Gives a node with contact its part of the list of sides.
static rf_multibody_side *list_node(rf_multibody *c, rf_multibody_solve *s, rf_multibody_node *n,
                                    rf_multibody_side *next) {
  n->sides = next;
  next += n->n_sides;
  if (n->n_sides) c->moved[s->touching.n_nodes++] = n;
  n->n_sides = 0;
  return next;
}

// Lists the pairs with points, their bodies and dimples, and the sides of each of these.
static void list_active(rf_multibody *c, rf_multibody_solve *s) {
  rf_multibody_report *report = &c->report;
  c->n_active = 0;
  for (int32_t i = 0; i < c->n_bodies; ++i) c->nodes[i].n_sides = 0;
  for (int32_t i = 0; i < c->n_dimples; ++i) c->dimples[i].n_sides = 0;
  for (int32_t k = 0; k < c->search.n_pairs; ++k) {
    rf_pair_rows *t = &c->search.pairs[k];
    report->passed += t->n_passed;
    note_overlap(c, t);
    note_sunk(c, t);
    note_beyond(c, t);
    if (t->n_rows == 0) continue;
    c->active[c->n_active++] = t;
    report->points += t->n_rows;
    report->depth_m = fmax(report->depth_m, t->depth_m);
    for (int e = 0; e < SIDES; ++e) {
      rf_multibody_node *n = node_of(c, t, e);
      if (n) ++n->n_sides;
    }
  }
  report->pairs = c->n_active;
  s->touching.n_nodes = 0;
  rf_multibody_side *next = c->sides;
  for (int32_t i = 0; i < c->n_bodies; ++i) next = list_node(c, s, &c->nodes[i], next);
  for (int32_t i = 0; i < c->n_dimples; ++i) next = list_node(c, s, &c->dimples[i], next);
  for (int32_t k = 0; k < c->n_active; ++k)
    for (int e = 0; e < SIDES; ++e) {
      rf_multibody_node *n = node_of(c, c->active[k], e);
      if (n) n->sides[n->n_sides++] = (rf_multibody_side){k, e};
    }
  s->touching.nodes = c->moved;
  s->touching.pairs = c->active;
  s->touching.n_pairs = c->n_active;
  for (int32_t k = 0; k < c->n_active; ++k) s->friction |= c->active[k]->friction.mu > 0.0;
}

// Lists the points of the dimples that are loaded in this step; the others lose theirs.
static rf_status list_dimples(rf_multibody *c, rf_error *err) {
  rf_status st = RF_OK;
  for (int32_t i = 0; i < c->n_dimples; ++i) {
    rf_multibody_node *n = &c->dimples[i];
    if (n->n_sides)
      RF_TRY(rf_multibody_dimple_gather(n, c->active, err));
    else
      n->dimple->n_last = 0;
  }
done:
  return st;
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

static rf_status search(rf_multibody *c, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_search *s = &c->search;
  s->dt_s = c->set.dt_s;
  s->ground = c->set.ground;
  s->n_bodies = c->n_bodies;
  s->shapes = c->shapes;
  s->shape_of = c->shape_of;
  s->nodes = c->nodes;
  s->n_fixed = c->n_fixed;
  s->fixed = c->fixed;
  s->dimples = c->dimples;
  s->friction = c->friction;
  s->ground_friction = c->set.ground_friction;
  s->memory = &c->memory[0];
  RF_TRY(rf_multibody_search_broad(s, err));
  c->report.candidates = s->n_pairs;
  c->report.fastest = s->fastest;
  c->report.fastest_body = s->fastest_body;
  c->report.missed_shell = s->missed_shell;
  c->report.missed_body = s->missed_body;
  RF_TRY(reserve_active(c, err));
  RF_TRY(rf_multibody_search_narrow(s, run, err));
done:
  return st;
}

// Keeps the friction of this step for the next one.
static void remember(rf_multibody *c) {
  const rf_multibody_memory last = c->memory[0];
  rf_multibody_memory_record(&c->memory[1], c->n_active, c->active, c->nodes);
  c->memory[0] = c->memory[1];
  c->memory[1] = last;
}

rf_status rf_multibody_step(rf_multibody *c, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_solve solve = {.contact_damping = c->set.contact_damping,
                              .tolerance = c->set.tolerance,
                              .most_iterations = c->set.most_iterations,
                              .least_work = c->set.least_work,
                              .touching = {.all = c->nodes, .dimples = c->dimples},
                              .joint = &c->joint};
  forget_step(c);
  RF_TRY(search(c, run, err));
  list_active(c, &solve);
  RF_TRY(list_dimples(c, err));
  RF_TRY(rf_multibody_memory_reserve(&c->memory[1], c->n_active, c->active, err));
  RF_TRY(rf_multibody_solve_step(&solve, run, err));
  c->report.iterations = solve.iterations;
  c->report.residual = solve.left;
  c->report.unconverged += !(solve.left <= c->set.tolerance);
  RF_TRY(rf_run_tasks(run, (c->n_bodies + CHUNK - 1) / CHUNK, 0, fly_some, c, err));
  remember(c);
  ++c->report.steps;
  c->n_stepped[0] = c->n_bodies;
  c->n_stepped[1] = c->n_fixed;
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

int32_t rf_multibody_fixed_count(const rf_multibody *c) { return c->n_fixed; }

static const rf_multibody_dimple *dimple_of(const rf_multibody *c, int32_t number) {
  const int32_t dimple_index = number >= 0
                                   ? c->nodes[number].dimple_index
                                   : c->fixed[rf_multibody_fixed_number(number)].dimple_index;
  return dimple_index < 0 ? NULL : c->dimples[dimple_index].dimple;
}

const rf_contact_local *rf_multibody_local(const rf_multibody *c, int32_t number) {
  const rf_multibody_dimple *d = dimple_of(c, number);
  return d ? d->local : NULL;
}

void rf_multibody_dimple_displacements(const rf_multibody *c, int32_t number,
                                       double *displacement) {
  const rf_multibody_dimple *d = dimple_of(c, number);
  const rf_pair_dimple_forces last = rf_multibody_dimple_last_forces(d);
  for (int32_t i = 0; i < d->local->n_points; ++i)
    rf_pair_dimple_displacement_rt(&last, i, displacement + 3 * i);
}

double rf_multibody_dimple_energy(const rf_multibody *c, int32_t number) {
  const rf_multibody_dimple *d = dimple_of(c, number);
  double way[3], sum = 0.0;
  if (!d) return sum;
  const rf_pair_dimple_forces last = rf_multibody_dimple_last_forces(d);
  for (int32_t k = 0; k < last.n; ++k) {
    rf_pair_dimple_displacement_rt(&last, last.point[k], way);
    sum += 0.5 * rf_vec3_dot(last.force + 3 * (size_t)k, way);
  }
  return sum;
}

// Wrench on a fixed shell about its origin, from that on the body of the field about its centre at
// the beginning of the step.
static void turn_wrench(const rf_multibody *c, const rf_pair_rows *t, double wrench[6]) {
  const rf_pair_rows_frame *field = &rf_multibody_search_place(&c->search, t->side[1].body)->frame;
  const rf_pair_rows_frame *tree = &rf_multibody_search_place(&c->search, t->side[0].body)->frame;
  double arm[3], cross[3];
  rf_quat_rotate(field->pose.quaternion, field->centre, arm);
  for (int i = 0; i < 3; ++i) arm[i] += field->pose.position_m[i] - tree->pose.position_m[i];
  rf_vec3_cross(arm, t->applied, cross);
  for (int i = 0; i < 3; ++i) {
    wrench[i] = -t->applied[i];
    wrench[3 + i] = -t->applied[3 + i] - cross[i];
  }
}

rf_multibody_pair rf_multibody_pair_at(const rf_multibody *c, int32_t index) {
  const rf_pair_rows *t = c->active[index];
  rf_multibody_pair p = {.tree = t->side[0].body,
                         .field = t->side[1].body,
                         .points = t->n_rows,
                         .depth_m = t->depth_m};
  if (t->side[0].size)
    memcpy(p.wrench, t->applied, sizeof p.wrench);
  else
    turn_wrench(c, t, p.wrench);
  return p;
}
