// A contact in which all that is done takes as long as a test says.
//
// The traversal is the real one; tree and field are stand-ins that move the hands of a clock of
// their own.  A point is a height, and so is the pose; the field is the half-space below it.  Each
// node has `brood` children, itself included, all of them at its height; a level has one radius.
#include <string.h>

#include "base/alloc.h"
#include "base/clock_rt.h"
#include "contact/contact_state.h"
#include "contact/penalty_law.h"

typedef struct costs {
  double node_us, copy_us, contact_us, look_us, start_us;
} costs;

static struct {
  costs cost;
  double now_us;
  bool placed;       // the nodes whose spheres come next are paid for
  int64_t pause_in;  // nodes and contacts until the machine pauses; below 0: it does not
  double pause_us;
  double radius[RF_TREE_MAX_LEVELS];
  double place_error, radius_error;  // of distances and radii
} world;

static void take(double us, int32_t n) {
  world.now_us += us * n;
  if (world.pause_in < 0) return;
  world.pause_in -= n;
  if (world.pause_in < 0) world.now_us += world.pause_us;
}

double rf_clock_us_rt(void) {
  take(world.cost.look_us, 1);
  return world.now_us;
}

// ---- the field

void rf_field_distances_rt(const rf_field *f, int32_t n, const double *points, double *distance) {
  (void)f;
  take(world.cost.node_us, n);
  world.placed = true;
  for (int32_t k = 0; k < n; ++k) distance[k] = points[3 * k + 2] + world.place_error;
}

void rf_field_slopes_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                        double *gradient) {
  (void)f;
  for (int32_t k = 0; k < n; ++k) {
    distance[k] = points[3 * k + 2];
    memcpy(gradient + 3 * k, (double[]){0.0, 0.0, 1.0}, 3 * sizeof *gradient);
  }
}

void rf_field_prefetch_rt(const rf_field *f, const double p[3]) { (void)f, (void)p; }

double rf_field_slack_rt(const rf_field *f, double d, double radius) {
  (void)f;
  return d - radius;
}

// ---- the tree

double rf_point_tree_reach_rt(const rf_point_tree *t, const double *q) {
  (void)q;
  take(world.cost.start_us, 1);  // before the traversal, up to twice
  return t->extent;
}

rf_status rf_point_tree_check(const rf_point_tree *t, const double *q, rf_error *err) {
  (void)t, (void)q, (void)err;
  return RF_OK;
}

void rf_point_tree_pad_rt(const rf_point_tree *t, const double *q, double *row, double *bound) {
  (void)t, (void)q, (void)row, (void)bound;
}

void rf_point_tree_positions_rt(const rf_point_tree *t, int32_t n, const int32_t *place,
                                const double *row, double *positions) {
  (void)row;
  for (int32_t k = 0; k < n; ++k)
    memcpy(positions + 3 * k, t->rest + 3 * (size_t)place[k], 3 * sizeof *positions);
}

void rf_point_tree_normals_rt(const rf_point_tree *t, int32_t n, const int32_t *place,
                              const double *row, double *normals) {
  (void)t, (void)place, (void)row;
  take(world.cost.contact_us, n);
  for (int32_t k = 0; k < n; ++k)
    memcpy(normals + 3 * k, (double[]){0.0, 0.0, 1.0}, 3 * sizeof *normals);
}

void rf_point_tree_bounds_rt(const rf_point_tree *t, int32_t n, const int64_t *node,
                             const double *bound, double *radii) {
  (void)bound;
  if (!world.placed) take(world.cost.copy_us, n);
  world.placed = false;
  int32_t level = 0;
  while (node[0] >= t->node[level + 1]) ++level;
  for (int32_t k = 0; k < n; ++k) radii[k] = world.radius[level] + world.radius_error;
}

void rf_point_tree_project_rt(const rf_point_tree *t, int32_t place, const double f[3],
                              double *reduced) {
  (void)t, (void)place, (void)f, (void)reduced;
}

void rf_dense_add_products_rt(rf_simd simd, int32_t m, int32_t n, int32_t count, const double *a,
                              int32_t lda, const double *b, int32_t ld, double *out) {
  (void)simd, (void)m, (void)n, (void)count, (void)a, (void)lda, (void)b, (void)ld, (void)out;
}

// ---- no field here deforms

rf_status rf_deformed_pose_create(const rf_deformed_field *f, rf_deformed_pose **out,
                                  rf_error *err) {
  (void)f, (void)out, (void)err;
  return RF_ERR_ARG;
}
void rf_deformed_pose_free(rf_deformed_pose *pose) { (void)pose; }
bool rf_deformed_pose_update_rt(const rf_deformed_field *f, const double *q,
                                rf_deformed_pose *pose) {
  (void)f, (void)q, (void)pose;
  return false;
}
void rf_deformed_field_distances_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                    int32_t n, const double *points, double *distance,
                                    int32_t *proxy) {
  (void)f, (void)pose, (void)n, (void)points, (void)distance, (void)proxy;
}
void rf_deformed_field_slopes_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                 int32_t n, const double *points, double *distance, double *slope,
                                 rf_deformed_carriers *carriers) {
  (void)f, (void)pose, (void)n, (void)points, (void)distance, (void)slope, (void)carriers;
}
void rf_deformed_field_push_moments_rt(const rf_deformed_field *f, int32_t proxy,
                                       const double moments[12], double *reduced) {
  (void)f, (void)proxy, (void)moments, (void)reduced;
}
double rf_deformed_field_slack_rt(const rf_deformed_field *f, double distance, double radius) {
  (void)f, (void)distance, (void)radius;
  return 0.0;
}

// ---- what tests call; one world at a time

static rf_point_tree tree;
static rf_contact *contact;

void world_end(void) {
  rf_contact_free(contact);
  rf_free(tree.count);
  rf_free(tree.node);
  rf_free(tree.child);
  rf_free(tree.rest);
  rf_free(tree.point);
  contact = NULL;
  memset(&tree, 0, sizeof tree);
}

// heights of the points of level 0 (n), radii of levels (n_levels)
int world_begin(int32_t n, const double *heights, int32_t n_levels, const double *radii,
                int32_t brood, double budget_us, double cold_ratio, int coherence) {
  world_end();
  memset(&world, 0, sizeof world);
  memcpy(world.radius, radii, (size_t)n_levels * sizeof *radii);
  world.pause_in = -1;
  tree.count = rf_alloc((size_t)n_levels, sizeof *tree.count);
  tree.node = rf_alloc((size_t)n_levels + 1, sizeof *tree.node);
  if (!tree.count || !tree.node) return 0;
  tree.n_levels = n_levels;
  tree.extent = 100.0;
  tree.bound = 8;  // of a rigid shell: 1, padded
  tree.n_points = n;
  for (int32_t j = 0; j < n_levels; ++j) {
    tree.count[j] = j > 0 ? brood * tree.count[j - 1] : n;
    tree.node[j + 1] = tree.node[j] + tree.count[j];
    tree.n_points = tree.count[j];
  }
  tree.child = rf_alloc((size_t)(tree.node[n_levels - 1] + n_levels - 1), sizeof *tree.child);
  tree.rest = rf_alloc(3 * (size_t)tree.n_points, sizeof *tree.rest);
  tree.point = rf_alloc((size_t)tree.n_points, sizeof *tree.point);
  if (!tree.child || !tree.rest || !tree.point) return 0;
  for (int32_t p = 0; p < n; ++p) tree.rest[3 * p + 2] = heights[p];
  for (int32_t j = 0; j + 1 < n_levels; ++j)
    for (int32_t p = 0; p <= tree.count[j]; ++p) {
      const int32_t first = tree.count[j] + (brood - 1) * p;
      tree.child[j + tree.node[j] + p] = first;
      for (int32_t k = first; p < tree.count[j] && k < first + brood - 1; ++k)
        tree.rest[3 * k + 2] = tree.rest[3 * p + 2];
    }
  const rf_contact_distance distance = {.field = (const rf_field *)&world};
  const rf_penalty_law_settings law = {.stiffness_n_per_m = 1.0};
  const rf_contact_settings set = {
      .warm_nodes = 1, .cold_ratio = cold_ratio, .budget_us = budget_us, .coherence = coherence};
  rf_error err = {0};
  return rf_contact_create(&tree, &distance, "penalty", &law, &set, NULL, &contact, &err) == RF_OK;
}

// The message that refuses a law of that name for the tree of the world; empty: it is known.
const char *world_refuses_law(const char *name) {
  static rf_error err;
  const rf_contact_distance distance = {.field = (const rf_field *)&world};
  const rf_penalty_law_settings law = {.stiffness_n_per_m = 1.0};
  const rf_contact_settings set = {.cold_ratio = 1.0};
  rf_contact *other = NULL;
  memset(&err, 0, sizeof err);
  const rf_status st = rf_contact_create(&tree, &distance, name, &law, &set, NULL, &other, &err);
  const bool sane = st == RF_OK ? other != NULL : st == RF_ERR_ARG && !other;
  rf_contact_free(other);
  return sane ? err.text : "status and contact disagree";
}

// ---- a law that counts

static struct {
  int32_t begun, asked, kept;
} count;

static void begin_rt(void *self) {
  (void)self;
  ++count.begun;
}

static void respond_rt(void *self, const rf_contact_points *points, bool keep,
                       rf_contact_rows *rows) {
  (void)self;
  rows->n = 0;
  count.asked += points->n;
  if (keep) count.kept += points->n;
}

// Gives the contact a law that counts, without the functions that a law may leave out, but for
// `begin` if asked.
void world_count(int begins) {
  static const rf_contact_law_rt with_rt = {.begin = begin_rt, .respond = respond_rt};
  static const rf_contact_law_rt without_rt = {.respond = respond_rt};
  static const rf_contact_law_kind with = {.rt = &with_rt};
  static const rf_contact_law_kind without = {.rt = &without_rt};
  rf_contact_law_free(&contact->law);
  contact->law = (rf_contact_law){.kind = begins ? &with : &without};
  memset(&count, 0, sizeof count);
  rf_contact_suit_coupling_rt(contact, 1.0);
  rf_contact_reset(contact);
}

static rf_contact_sites *sites_rt(void *self) {
  static rf_contact_sites sites = {.solved = true};
  (void)self;
  return &sites;
}

// Gives the contact a law whose forces a world makes.
void world_solve(void) {
  static const rf_contact_law_rt rt = {.respond = respond_rt, .sites = sites_rt};
  static const rf_contact_law_kind kind = {.rt = &rt};
  rf_contact_law_free(&contact->law);
  contact->law = (rf_contact_law){.kind = &kind};
  rf_contact_reset(contact);
}

// Keeps some of the touching points alone, as the world does of those that bear a force.
void world_touch(int32_t n, const int32_t *place) {
  contact->search.touching = n;
  memcpy(contact->search.touch_place, place, (size_t)n * sizeof *place);
}

void world_touching(int32_t *place) {
  memcpy(place, contact->search.touch_place, (size_t)contact->search.touching * sizeof *place);
}

// Evaluates at a height, and asks for the first points; counts: of all so far.
int world_counted(double height, int all_of, int stateless, int32_t counts[3]) {
  const rf_pose pose = {.position_m = {0.0, 0.0, height}, .quaternion = {1.0, 0.0, 0.0, 0.0}};
  rf_contact_result found;
  rf_contact_touch touches[RF_CONTACT_BLOCK];
  contact->set.stateless = stateless;
  const rf_status st =
      rf_contact_evaluate_rt(contact, &pose, NULL, all_of, &found, NULL, NULL, NULL);
  if (st >= 0) (void)rf_contact_touches_rt(contact, 0, touches);
  memcpy(counts, &count, sizeof count);
  return st;
}

// A law with an array by place and a state for each point, and a copy of it: 1 if both have their
// own memory with the same values.
int world_keeps_states(void) {
  typedef struct {
    const double *each;
    int32_t *state;
  } law;
  static const rf_setting settings[] = {RF_SETTING(law, "each", each, ARRAY, 0), {0}};
  static const rf_contact_law_rt rt = {.respond = respond_rt};
  static const rf_contact_law_kind kind = {.rt = &rt,
                                           .settings = settings,
                                           .settings_bytes = sizeof(law),
                                           .state_bytes = sizeof(int32_t),
                                           .state_offset = offsetof(law, state)};
  double each[3] = {1.0, 2.0, 3.0};
  int32_t point[3] = {2, 0, 1};
  const rf_point_tree three = {.n_points = 3, .point = point};
  rf_contact_law one, two;
  rf_error err = {0};
  if (rf_contact_law_create(&kind, &(law){each, NULL}, &three, &one, &err) < 0) return 0;
  law *a = one.self;
  int good = a->each != each;
  for (int32_t k = 0; k < 3; ++k) good &= a->each[k] == each[point[k]] && a->state[k] == 0;
  for (int32_t k = 0; k < 3; ++k) a->state[k] = k + 1;
  if (rf_contact_law_copy(&one, &two, &err) < 0) return 0;
  law *b = two.self;
  good &= a->each != b->each && a->state != b->state;
  memset(a->state, 0, 3 * sizeof *a->state);
  rf_contact_law_free(&one);
  for (int32_t k = 0; k < 3; ++k) good &= b->each[k] == each[point[k]] && b->state[k] == k + 1;
  rf_contact_law_free(&two);
  return good;
}

void world_costs(double node_us, double copy_us, double contact_us, double look_us,
                 double start_us) {
  world.cost = (costs){node_us, copy_us, contact_us, look_us, start_us};
}

// The machine pauses once, after so many nodes, contacts and readings of the clock.
void world_pause(int64_t after, double us) {
  world.pause_in = after;
  world.pause_us = us;
}

int world_cycle(double height, rf_contact_result *out) {
  const rf_pose pose = {.position_m = {0.0, 0.0, height}, .quaternion = {1.0, 0.0, 0.0, 0.0}};
  world.placed = false;
  return rf_contact_evaluate_rt(contact, &pose, NULL, -1, out, NULL, NULL, NULL);
}

void world_ask_clearance(int asked) { rf_contact_ask_clearance_rt(contact, asked); }

// Of the next cycles, as rounding may make them.
void world_errors(double place, double radius) {
  world.place_error = place;
  world.radius_error = radius;
}

double world_margin(void) { return contact->search.margin; }
double world_node_us(void) { return contact->budget.node_us; }
double world_contact_us(void) { return contact->budget.contact_us; }
