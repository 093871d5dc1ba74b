// A haptic loop in which time passes as a test says.
//
// Cycles, couplings, limits and the loop are the real ones; the clock, sleep, the contact, which
// pushes with a constant force, or by a wall across x, and the device are stand-ins.  The hand
// moves along x at a constant velocity, which may turn once.
#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "haptic/loop.h"
#include "haptic/tick_state.h"

enum { MOST = 1 << 12 };

static struct {
  double now_us, processor_us, look_us, velocity, turn_s, push_n;
  double wall_m, wall_n_per_m;
  bool fresh;        // a new sample each cycle
  int64_t no_read;   // that fails, from 1; 0: none
  int64_t no_pose;   // that gives none
  int64_t no_write;  // that fails
  int64_t read;      // times
  uint64_t count;
  int64_t slept;               // times
  const double *overslept_us;  // each time
  int64_t n_overslept;
  int64_t searched;           // contact, times
  const double (*search)[2];  // duration of each search, and of that on a processor
  int64_t n_searches;
  int64_t written;           // to the device, times
  const double *writing_us;  // each time
  int64_t n_writings;
  double given_us[MOST];  // for the first searches
  rf_device_wrench last;  // written
  rf_device_table table;
  rf_device device;
  rf_loop loop;
  rf_tick_record ring[MOST], record[2];  // the second one for what follows a record
  // a body that is touched: a wall across x that pulls back along y; from these cycles on
  int64_t felt, stepped, forgotten, no_answer, answers_again, no_feeling;
  rf_command commands[RF_LOOP_COMMANDS];
  char value[1 << 15], newest[4 << 15];
} world;

double rf_clock_us_rt(void) { return world.now_us += world.look_us; }
double rf_processor_us_rt(void) { return world.processor_us; }

void rf_clock_sleep_until_rt(double us) {
  const int64_t k = world.slept++;
  world.now_us = us + (k < world.n_overslept ? world.overslept_us[k] : 0.0);
}

#include "haptic/loop_rt.c"

static void search(void) {
  const int64_t k = world.searched++;
  if (k >= world.n_searches) return;
  world.now_us += world.search[k][0];
  world.processor_us += world.search[k][1];
}

#define WHILE_CONTACT_IS_SEARCHED search
#define WHEN_GIVEN_TIME(us) \
  if (world.searched < MOST) world.given_us[world.searched] = us
static void find(const rf_pose *pose, rf_contact_result *out) {
  out->force_n[0] = world.push_n;
  out->torque_nm[0] = 0.01 * world.push_n;
  out->depth_m = fmax(pose->position_m[0] - world.wall_m, 0.0);
  if (!(out->depth_m > 0.0)) return;
  out->force_n[0] -= world.wall_n_per_m * out->depth_m;
  out->gradient[0] = -world.wall_n_per_m;
  out->touching = 1;
}

#define WHAT_CONTACT_FINDS(out) find(pose, out)
#include "no_contact.h"

// ---- the device

static rf_status read_hand(void *self, double time_s, rf_device_sample *out) {
  (void)self;
  memset(out, 0, sizeof *out);
  if (++world.read == world.no_read) return RF_ERR_DEVICE;
  out->pose.quaternion[0] = world.read == world.no_pose ? NAN : 1.0;
  out->pose.position_m[0] = world.velocity * fmin(time_s, 2.0 * world.turn_s - time_s);
  if (world.fresh || world.count == 0) ++world.count;
  out->count = world.count;
  return RF_OK;
}

static rf_status write_hand(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)self, (void)time_s;
  world.last = *wrench;
  const int64_t k = world.written++;
  if (k + 1 == world.no_write) return RF_ERR_DEVICE;
  if (k < world.n_writings) world.now_us += world.writing_us[k];
  return RF_OK;
}

// ---- a body that is touched

static rf_status feel_wall_rt(void *self, const rf_pose *hand, double dt_s, rf_touch_felt *out) {
  (void)self, (void)dt_s;
  const int64_t k = world.felt++;
  search();
  if (k >= world.no_feeling) return RF_ERR_DIVERGED;
  out->object = *hand;
  out->depth_m = fmax(hand->position_m[0] - world.wall_m, 0.0);
  out->object.position_m[0] -= out->depth_m;
  out->touching = out->depth_m > 0.0;
  out->stiffness_n_per_m = world.wall_n_per_m;
  out->force_n[0] = -world.wall_n_per_m * out->depth_m;
  out->force_n[1] = world.push_n;
  out->anchor_m[0] = world.wall_m;
  out->slip_m[1] = 1e-3 * (double)k;
  if (k >= world.no_answer && k < world.answers_again) out->flags |= RF_TOUCH_FAILED;
  if (out->depth_m > 1e-3) out->flags |= RF_TOUCH_DEEP | RF_TOUCH_SLIPS;
  return RF_OK;
}

static rf_status step_wall_rt(void *self, double dt_s) {
  (void)self, (void)dt_s;
  ++world.stepped;
  return RF_OK;
}

static void forget_wall_rt(void *self) {
  (void)self;
  ++world.forgotten;
}

static void publish_wall_rt(const void *self, double *out) {
  (void)self;
  out[0] = (double)world.felt;
  out[1] = (double)world.stepped;
}

static rf_status copy_wall(const void *self, void **out, rf_error *err) {
  (void)err;
  *out = (void *)(uintptr_t)self;
  return RF_OK;
}

static void free_wall(void *self) { (void)self; }

static const rf_touch_kind wall = {.name = "wall",
                                   .feel_rt = feel_wall_rt,
                                   .step_rt = step_wall_rt,
                                   .forget_rt = forget_wall_rt,
                                   .publish_rt = publish_wall_rt,
                                   .copy = copy_wall,
                                   .release = free_wall};

// ---- what a test does

// Springs of the coupling: 500 N/m, 1 N m; a mass of 0.02 kg, 1e-5 kg m^2 and these dampers.
int world_begin(double dt_s, double velocity, double silent_s, int fresh, double viscosity,
                double torsion, int32_t n_contacts, double budget_us, double ramp_s) {
  rf_tick_settings set = {.dt_s = dt_s, .dynamic = true, .budget_us = budget_us};
  rf_error err = {0};
  set.coupling = (rf_coupling_settings){.stiffness_n_per_m = 500.0,
                                        .torsion_nm = 1.0,
                                        .max_force_n = INFINITY,
                                        .max_torque_nm = INFINITY,
                                        .max_depth_m = INFINITY,
                                        .max_step_m = INFINITY,
                                        .max_turn_rad = INFINITY,
                                        .degenerate = 1e-3};
  set.dynamics = (rf_dynamic_settings){set.coupling, 0.02, 1e-5, viscosity, torsion, dt_s, 1};
  set.workspace = (rf_workspace_settings){.scale = 1.0, .force_scale = 1.0, .absolute = true};
  set.workspace.alignment[0] = set.workspace.start.quaternion[0] = 1.0;
  set.safety = (rf_safety_settings){INFINITY, INFINITY, INFINITY, INFINITY, ramp_s, silent_s};
  const rf_tick_contact contact[2] = {{NULL, NULL}};
  if (n_contacts > 2) return 0;
  memset(&world, 0, sizeof world);
  world.velocity = velocity;
  world.turn_s = world.wall_m = INFINITY;
  world.fresh = fresh != 0;
  world.table.read_rt = read_hand;
  world.table.write_rt = write_hand;
  world.device.table = &world.table;
  world.no_answer = world.no_feeling = INT64_MAX;
  const rf_touch touch = {&wall, &world, 2, 0.0};
  const rf_status st = n_contacts > 0
                           ? rf_tick_create(&set, n_contacts, contact, NULL, &world.loop.tick, &err)
                           : rf_tick_create_touch(&set, &touch, &world.loop.tick, &err);
  if (st < 0) return 0;
  world.loop.device = &world.device;
  world.loop.period_us = 1e6 * dt_s;
  world.loop.value = world.value;
  if (rf_snapshot_layout_create(world.loop.tick, &world.loop.layout, &err) < 0) return 0;
  const size_t bytes = world.loop.layout.bytes;
  if (bytes > sizeof world.value || rf_broadcast_bytes_rt(bytes) > sizeof world.newest) return 0;
  rf_broadcast_begin_rt(&world.loop.newest, bytes, world.newest);
  world.loop.recorded = rf_record_layout_of(world.loop.tick);
  if (world.loop.recorded.bytes > sizeof world.record) return 0;
  world.loop.record = (char *)world.record;
  rf_ring_begin_rt(&world.loop.records, sizeof(rf_tick_record), MOST, world.ring);
  rf_ring_begin_rt(&world.loop.commands, sizeof(rf_command), RF_LOOP_COMMANDS, world.commands);
  return 1;
}

// Contact pushes along x, and cycles come by the clock.
void world_push(double push_n, double pause_s) {
  world.push_n = push_n;
  rf_tick_pace_rt(world.loop.tick, pause_s);
}

// There is a wall of that stiffness, and the hand turns at that time.
void world_wall(double at_m, double n_per_m, double turn_s) {
  world.wall_m = at_m;
  world.wall_n_per_m = n_per_m;
  world.turn_s = turn_s;
}

// The coupling is static, with this damping and largest motion in a cycle.
void world_static(double damping, double max_step_m) {
  rf_tick_settings set = world.loop.tick->set;
  set.dynamic = false;
  set.coupling.damping = damping;
  set.coupling.max_step_m = max_step_m;
  rf_tick_set_coupling_rt(world.loop.tick, &set);
}

// The passivity controller works, with this damper.
void world_control(double allowance_j, double damping_n_s_per_m) {
  world.loop.tick->set.passivity = (rf_passivity_settings){
      .control = true, .allowance_j = allowance_j, .max_damping_n_s_per_m = damping_n_s_per_m};
}

void world_end(void) {
  rf_snapshot_layout_free(&world.loop.layout);
  rf_tick_free(world.loop.tick);
}

static int64_t records(rf_tick_record *out) {
  return (int64_t)rf_ring_read_rt(&world.loop.records, MOST, out);
}

// A run whose k-th sleep is too long by overslept_us[k]; how many records.
int64_t world_run(int64_t ticks, int64_t n, const double *overslept_us, rf_tick_record *out) {
  world.overslept_us = overslept_us;
  world.n_overslept = n;
  world.loop.most_ticks = ticks;
  return rf_loop_run_rt(&world.loop) < 0 ? -1 : records(out);
}

// Cycles in a device's own thread, the k-th interval_us[k] after the one before.
int64_t world_called(int64_t n, const double *interval_us, rf_tick_record *out) {
  for (int64_t k = 0; k < n; ++k) {
    world.now_us += interval_us[k];
    if (rf_loop_called_rt(&world.loop) < 0) return -1;
  }
  return records(out);
}

// From now on the k-th search of contact takes us[k][0], of which us[k][1] on a processor.
void world_search(int64_t n, const double (*us)[2]) {
  world.search = us;
  world.n_searches = n;
}

// From now on the k-th write takes us[k].
void world_write(int64_t n, const double *us) {
  world.writing_us = us;
  world.n_writings = n;
}

// Of these numbers are the read that fails, the read without a pose and the write that fails.
void world_break(int64_t read, int64_t pose, int64_t write) {
  world.no_read = read;
  world.no_pose = pose;
  world.no_write = write;
}

// The touched body does not answer from feeling `from` until `until`, and fails at `fail`.
void world_unanswered(int64_t from, int64_t until, int64_t fail) {
  world.no_answer = from;
  world.answers_again = until;
  world.no_feeling = fail;
}

int64_t world_felt(void) { return world.felt; }
int64_t world_stepped(void) { return world.stepped; }
int64_t world_forgotten(void) { return world.forgotten; }
double world_stiffest(void) { return atomic_load(&world.loop.stiffest_n_per_m); }
void world_recentre(void) { rf_tick_recentre_rt(world.loop.tick); }
// Anchor, slip and coordinates in the newest snapshot, and anchor and slip in the last record.
int world_touch(double out[14]) {
  const rf_snapshot_layout *layout = &world.loop.layout;
  memcpy(out + 8, (const char *)world.record + world.loop.recorded.touched_at, 6 * sizeof *out);
  for (int32_t k = 0; k < layout->n; ++k)
    if (strcmp(layout->field[k].name, "touch.anchor") == 0) {
      memcpy(out, world.value + layout->field[k].offset, 8 * sizeof *out);
      return layout->field[k + 2].offset == layout->field[k].offset + 6 * sizeof *out;
    }
  return 0;
}

// The device has been closed and is open again.
void world_reopen(void) { rf_tick_begin_rt(world.loop.tick); }

// Force along x that was written last.
double world_last(void) { return world.last.force_n[0]; }

// From now on it takes so long to read the clock.
void world_look(double us) { world.look_us = us; }

double world_given(int64_t search) { return world.given_us[search]; }

int64_t world_skipped(void) { return atomic_load(&world.loop.skipped); }
int64_t world_made_up(void) { return atomic_load(&world.loop.made_up); }
int64_t world_paused(void) { return atomic_load(&world.loop.paused); }
int64_t world_over(void) { return atomic_load(&world.loop.over); }
int64_t world_interrupted(void) { return atomic_load(&world.loop.interrupted); }
