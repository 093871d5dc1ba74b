// Private state of a tick; for the files of the tick only.
#ifndef RF_HAPTIC_TICK_STATE_H
#define RF_HAPTIC_TICK_STATE_H

#include <string.h>

#include "base/clock_rt.h"
#include "haptic/tick.h"
#include "render/depth_limit.h"
#include "world/world.h"

struct rf_cycle;

// Stages of a cycle between the hand and the force, and after it.
typedef struct rf_tick_answer {
  rf_status (*contact_rt)(struct rf_cycle *c);  // forces of contact
  rf_status (*object_rt)(struct rf_cycle *c);   // moves the object
  rf_status (*bodies_rt)(struct rf_cycle *c);   // makes the step of the bodies
} rf_tick_answer;

struct rf_tick {
  rf_tick_settings set;
  const rf_tick_answer *answer;
  rf_world *world;  // pair k is contact k, its first body the shell of it
  rf_body *object;  // the simulation object, held by the coupling at the grasp point
  rf_touch *touch;  // owned; NULL: contacts and a coupling
  rf_touch_felt felt;

  int64_t ticks;
  double last_s;              // time of the last cycle; negative: none since opening
  double pause_us;            // clock time between two forces that counts as a pause
  double limited_us;          // clock time of the last force; negative: as last_s
  rf_dynamic_state coupling;  // velocities: dynamic coupling only
  rf_coupling_free free;      // motion without contact, of worlds that make its forces
  rf_depth_limit limit;
  rf_workspace_state workspace;
  rf_safety_state safety;
  rf_passivity_state passivity;
  bool deforms;     // a body has a simulation
  double rest_us;   // running estimate of the time of a cycle without contact
  double cycle_us;  // processor time of the last cycle
};

// Values that stages hand on to the next ones.
typedef struct rf_cycle {
  rf_tick *t;
  const rf_device *device;
  double time_s, elapsed_s;  // scheduled time; time since the last cycle
  double step_s;             // time in which the hand moved from `before`: without missed cycles
  rf_tick_record *out;
  double lap_us, processor_us;  // clock at the end of the last stage; processor time after reading
  double processor_begun_us;    // processor time after reading and missed cycles
  double made_up_us;            // time of missed cycles
  int32_t made_up;              // their number
  double forces_us;             // time in which a world made the forces of contact
  rf_device_sample sample;
  rf_pose before;  // manipulandum of the last cycle, or the last missed one
  rf_coupling_load load;
  rf_coupling_report report;
  rf_device_wrench wrench;  // on the hand, in the frame of the device
} rf_cycle;

// Returns the time since the last lap.
static inline double rf_cycle_lap_rt(rf_cycle *c) {
  const double now_us = rf_clock_us_rt(), spent_us = now_us - c->lap_us;
  c->lap_us = now_us;
  return spent_us;
}

// Returns the body with the shell of contact k.
static inline const rf_body *rf_tick_shell_rt(const rf_tick *t, int32_t k) {
  return t->world->pair[k]->side[RF_PAIR_TREE].body;
}

// First contact with the shell of a body; -1: it has none.
static inline int32_t rf_tick_contact_of_rt(const rf_tick *t, const rf_body *body) {
  for (int32_t k = 0; k < t->world->n_pairs; ++k)
    if (rf_tick_shell_rt(t, k) == body) return k;
  return -1;
}

static inline double rf_tick_most_depth(const rf_tick *t) {
  return t->set.dynamic ? t->set.dynamics.spring.max_depth_m : t->set.coupling.max_depth_m;
}

static inline void rf_tick_put_pose(const rf_pose *pose, double position[3], double quaternion[4]) {
  memcpy(position, pose->position_m, sizeof pose->position_m);
  memcpy(quaternion, pose->quaternion, sizeof pose->quaternion);
}

// Computes the motion of the object without contact, t->free; depth and clearance are those of the
// last search.
rf_status rf_tick_free_rt(rf_cycle *c);

// Stages of a cycle, in their order.
rf_status rf_stage_read_rt(rf_cycle *c);     // the device: pose of the hand, elapsed time
rf_status rf_stage_hand_rt(rf_cycle *c);     // workspace: manipulandum
rf_status rf_stage_missed_rt(rf_cycle *c);   // the next and the last stage of missed cycles
rf_status rf_stage_contact_rt(rf_cycle *c);  // contact_rt of the answer
rf_status rf_stage_object_rt(rf_cycle *c);   // object_rt of the answer
rf_status rf_stage_limit_rt(rf_cycle *c);    // safety limits of the force on the hand
rf_status rf_stage_write_rt(rf_cycle *c);    // the device: force
rf_status rf_stage_bodies_rt(rf_cycle *c);   // bodies_rt of the answer

extern const rf_tick_answer rf_tick_coupled;  // contacts and a coupling
extern const rf_tick_answer rf_tick_touched;  // a body that the hand touches
rf_status rf_tick_contact_rt(rf_cycle *c);

#endif
