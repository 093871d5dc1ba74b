// Worlds of spheres and pointshells for tests: one scene at a time, on stand-in reduced models.
//
// The reduced models are n springs side by side: M = 1, R = K q with a diagonal K.  All else is the
// real library, except the clock.
#include <string.h>

#include "base/alloc.h"
#include "base/clock_rt.h"
#include "base/run.h"
#include "contact/contact_state.h"
#include "contact/penalty_law.h"
#include "dynamics/newmark.h"
#include "linalg/dense_rt.h"
#include "no_collide.h"
#include "no_free_body.h"
#include "no_modes.h"
#include "sdf/field.h"
#include "world/world.h"

enum { MOST = 8, MOST_SPRINGS = 8 };

// The clock stands; each reading of the processor's time finds it later by so much.
static double processor_us, spent_us;

double rf_clock_us_rt(void) { return 0.0; }
double rf_processor_us_rt(void) { return processor_us += spent_us; }

// ---- springs

typedef struct springs {
  rf_system base;
  double stiffness[MOST_SPRINGS];
  _Alignas(64) double factor[MOST_SPRINGS * MOST_SPRINGS];
} springs;

static rf_status evaluate_rt(rf_system *s, const double *x, bool tangent, double *energy,
                             double *force) {
  (void)tangent, (void)energy;
  for (int i = 0; i < s->n; ++i) force[i] = ((springs *)s)->stiffness[i] * x[i];
  return RF_OK;
}

static rf_status balance_rt(rf_system *s, const double *x, const double *v, const double *w,
                            const double *force, const double *load, double *out) {
  (void)x, (void)v;
  for (int i = 0; i < s->n; ++i) out[i] = (w ? w[i] : 0.0) + force[i] - load[i];
  return RF_OK;
}

static rf_status factorize_rt(rf_system *base, double mass, double stiffness, double damping,
                              const double *added) {
  springs *s = (springs *)base;
  (void)damping;
  for (int i = 0; i < MOST_SPRINGS * MOST_SPRINGS; ++i) s->factor[i] = added ? added[i] : 0.0;
  for (int i = 0; i < base->n; ++i)
    s->factor[MOST_SPRINGS * i + i] += mass + stiffness * s->stiffness[i];
  return rf_dense_cholesky_rt(base->simd, base->n, s->factor, MOST_SPRINGS) ? RF_OK
                                                                            : RF_ERR_SINGULAR;
}

static rf_status solve_rt(rf_system *s, const double *b, double *x) {
  rf_dense_cholesky_solve_rt(s->simd, s->n, ((springs *)s)->factor, MOST_SPRINGS, b, x);
  return RF_OK;
}

static double farthest_rt(const rf_system *s, const double *x) {
  double most = 0.0;
  for (int i = 0; i < s->n; ++i) most = fmax(most, fabs(x[i]));
  return most;
}

static double rounding_rt(const rf_system *s, const double *x) {
  (void)s, (void)x;
  return 0.0;
}

static double stiffness_per_mass_rt(const rf_system *s) {
  return ((const springs *)s)->stiffness[0];
}

static const rf_system_operations OPERATIONS = {.evaluate = evaluate_rt,
                                                .balance = balance_rt,
                                                .factorize = factorize_rt,
                                                .solve = solve_rt,
                                                .farthest = farthest_rt,
                                                .rounding = rounding_rt,
                                                .stiffness_per_mass = stiffness_per_mass_rt};

static void release(rf_system *s) { rf_free(s); }

static rf_status copy(const rf_system *from, rf_system **out, rf_error *err) {
  springs *s = rf_alloc(1, sizeof *s);
  if (!s) return rf_fail(err, RF_ERR_MEMORY, "out of memory: springs");
  memcpy(s, from, sizeof *s);
  *out = &s->base;
  return RF_OK;
}

static const rf_system_life LIFE = {.release = release, .copy = copy};

static rf_status make_motion(int32_t n, const double *stiffness, double dt_s, const double *q,
                             rf_motion **out, rf_error *err) {
  rf_newmark_settings own = {.beta = 0.25, .gamma = 0.5};
  const rf_motion_settings set = {.scheme = &rf_scheme_newmark,
                                  .own = &own,
                                  .dt_s = dt_s,
                                  .newton_max = 1,
                                  .line_search = true};
  springs *s = rf_alloc(1, sizeof *s);
  if (!s) return rf_fail(err, RF_ERR_MEMORY, "out of memory: springs");
  s->base = (rf_system){.operations = &OPERATIONS,
                        .life = &LIFE,
                        .n = n,
                        .ld = MOST_SPRINGS,
                        .length_m = 1.0,
                        .simd = RF_SIMD_PLAIN};
  memcpy(s->stiffness, stiffness, (size_t)n * sizeof *stiffness);
  rf_status st = rf_motion_create(&s->base, &set, NULL, out, err);
  return st < 0 || !q ? st : rf_motion_reset(*out, NULL, q, NULL, NULL, err);
}

// ---- a scene

static struct {
  rf_point_tree *tree;
  rf_field *field;
  rf_contact *contact;
  rf_world *world;
  rf_body *body[MOST];
  rf_pair *pair[MOST];
  rf_error err;
} scene;

const char *scene_error(void) { return scene.err.text; }

void scene_end(void) {
  rf_world_free(scene.world);
  rf_contact_free(scene.contact);
  rf_field_free(scene.field);
  rf_point_tree_free(scene.tree);
  memset(&scene, 0, sizeof scene);
}

// A shell of n points of r coordinates, a sphere about the origin, and their contact.
static rf_status make_contact(int32_t n, const double *points, const double *normals, int32_t r,
                              const double *motion, double radius, double stiffness,
                              const double *grasp) {
  rf_error *err = &scene.err;
  rf_status st = RF_OK;
  int32_t *levels = NULL;
  double *tilt = NULL;
  const rf_field_part ball = {.shape = RF_SHAPE_SPHERE, .radius = radius};
  rf_contact_settings set = {.cold_ratio = 0.5, .along_normal = true};
  const rf_penalty_law_settings law = {.stiffness_n_per_m = stiffness};
  const rf_run run = {.threads = 1};
  memcpy(set.grasp_m, grasp, sizeof set.grasp_m);
  RF_ALLOC(levels, n);
  RF_ALLOC(tilt, 3 * n * r);
  RF_TRY(rf_point_tree_create(n, points, normals, levels, r, r ? motion : NULL, r ? tilt : NULL,
                              RF_SIMD_PLAIN, &run, &scene.tree, err));
  RF_TRY(rf_field_create(1, &ball, &scene.field, err));
  const rf_contact_distance distance = {.field = scene.field};
  RF_TRY(
      rf_contact_create(scene.tree, &distance, "penalty", &law, &set, NULL, &scene.contact, err));
done:
  rf_free(levels);
  rf_free(tilt);
  return st;
}

int scene_begin(int32_t n, const double *points, const double *normals, int32_t r,
                const double *motion, double radius, double stiffness, const double *grasp,
                double dt_s, int32_t bodies, int32_t pairs) {
  const rf_world_settings set = {.dt_s = dt_s, .most_bodies = bodies, .most_pairs = pairs};
  scene_end();
  rf_status st = make_contact(n, points, normals, r, motion, radius, stiffness, grasp);
  if (st >= 0) st = rf_world_create(&set, &scene.world, &scene.err);
  return (int)st;
}

static rf_pose pose_of(const double *values) {
  rf_pose pose;
  memcpy(pose.position_m, values, sizeof pose.position_m);
  memcpy(pose.quaternion, values + 3, sizeof pose.quaternion);
  return pose;
}

// springs: 0: no motion.
int scene_body(const char *kind, const double *pose, const double *reference, int32_t springs,
               const double *stiffness, double dt_s, const double *q, int implicit) {
  rf_motion *motion = NULL;
  rf_body *body;
  rf_status st = RF_OK;
  if (springs) st = make_motion(springs, stiffness, dt_s, q, &motion, &scene.err);
  rf_body_settings set = {
      .kind = kind, .name = "the simulation", .pose = pose_of(pose), .implicit = implicit != 0};
  set.motion = motion;
  memcpy(set.reference_m, reference, sizeof set.reference_m);
  if (st >= 0) st = rf_world_add_body(scene.world, &set, &body, &scene.err);
  if (st >= 0) scene.body[scene.world->n_bodies - 1] = body;
  rf_motion_free(motion);
  return (int)st;
}

int scene_pair(int32_t tree, int32_t field) {
  rf_pair *pair;
  const rf_status st = rf_world_add_pair(scene.world, scene.contact, scene.body[tree],
                                         scene.body[field], &pair, &scene.err);
  if (st >= 0) scene.pair[scene.world->n_pairs - 1] = pair;
  return (int)st;
}

int scene_solve(const char *name) { return (int)rf_world_solve_by(scene.world, name, &scene.err); }

int scene_ask(int32_t pair, int blocks) {
  return (int)rf_pair_ask(scene.pair[pair], (rf_pair_blocks)blocks, &scene.err);
}

void scene_place(int32_t body, const double *pose) { scene.body[body]->pose = pose_of(pose); }
void scene_hold(int32_t body, const double *pose) {
  const rf_pose at = pose_of(pose);
  rf_body_hold_rt(scene.body[body], &at);
}

// Coordinates of a body without a motion.
void scene_shape(int32_t body, const double *q) { scene.body[body]->shape = q; }

int scene_search(void) { return (int)rf_world_search_rt(scene.world, NULL); }

// Divides a time among the pairs, of which each takes `each_us`; writes what they got.
int scene_search_within(double left_us, double begun_us, double each_us, double *given) {
  const rf_world_budget budget = {left_us, begun_us};
  processor_us = begun_us;
  spent_us = each_us;
  const rf_status st = rf_world_search_rt(scene.world, &budget);
  for (int32_t k = 0; k < scene.world->n_pairs; ++k)
    given[k] = scene.pair[k]->contact->set.budget_us;
  return (int)st;
}

void scene_load(void) { rf_world_load_rt(scene.world); }
int scene_condense(int32_t held, double *wrench, double *gradient) {
  return (int)rf_world_condense_rt(scene.world, scene.body[held], false, wrench, gradient);
}
int scene_step(const double *move) { return (int)rf_world_step_rt(scene.world, move); }

// ---- results

double scene_depth(void) { return scene.world->found.depth_m; }
int scene_joint(void) { return scene.world->joint; }

static void put(int32_t n, const double *from, double *to) {
  if (from) memcpy(to, from, (size_t)n * sizeof *to);
}

// Of a side of a pair; r: of its reduced force.
int scene_side(int32_t k, int role, double *wrench, double *gradient, int32_t r, double *reduced) {
  const rf_pair *pair = scene.pair[k];
  put(6, pair->side[role].wrench, wrench);
  put(r, pair->side[role].reduced, reduced);
  rf_pair_gradient_rt(pair, (rf_pair_role)role, gradient);
  return pair->found.touching;
}

void scene_touching(int32_t k, int32_t *point, double *positions, double *gaps, double *normals,
                    double *forces) {
  rf_contact_touch block[RF_CONTACT_BLOCK];
  int32_t n;
  for (int32_t first = 0; (n = rf_pair_touches_rt(scene.pair[k], first, block)) > 0; first += n)
    for (int32_t i = 0; i < n; ++i) {
      const size_t at = (size_t)(first + i);
      point[at] = block[i].point;
      gaps[at] = block[i].gap_m;
      memcpy(positions + 3 * at, block[i].position, sizeof block[i].position);
      memcpy(normals + 3 * at, block[i].normal, sizeof block[i].normal);
      memcpy(forces + 3 * at, block[i].force, sizeof block[i].force);
    }
}

// Blocks, of a shell and a field of up to 2 coordinates: 8 values a row.
void scene_blocks(int32_t k, double *object, double *mixed, double *shell) {
  const rf_contact_blocks *b = &scene.pair[k]->blocks;
  put(64, b->object, object);
  put(64, b->mixed, mixed);
  put(64, b->shell, shell);
}

void scene_load_of(int32_t body, int32_t r, double *wrench, double *gradient, double *reduced,
                   double *added) {
  const rf_body *b = scene.body[body];
  put(6, b->wrench, wrench);
  put(36, b->gradient, gradient);
  put(r, b->reduced, reduced);
  put(64, b->added, added);
}

void scene_state(int32_t body, double *q, double *qdot, double *pose) {
  const rf_body *b = scene.body[body];
  if (b->motion) put(b->motion->n, b->motion->q, q);
  if (b->motion) put(b->motion->n, b->motion->qdot, qdot);
  put(3, b->pose.position_m, pose);
  put(4, b->pose.quaternion, pose + 3);
}

void scene_fail_from(int64_t k) { rf_alloc_fail_from(k); }
int64_t scene_blocks_alive(void) { return rf_alloc_read_counters().live_blocks; }
