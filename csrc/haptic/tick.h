// One cycle of a haptic simulation (B07 figure 4.2), the same for all callers: the thread at 1 kHz,
// scripts that step, tests.
//
//   read the device -> manipulandum (workspace) -> missed cycles are made up for
//   -> contact at the simulation object's pose -> virtual coupling moves that object
//   -> safety limits -> force on the hand
//   -> the contact's reduced forces drive the deformable objects.
//
// The simulation object is the one with the distance field; its frame is the pose of the contact,
// its grasp point that of the contact.  There may be several contacts, each with a shell of its
// own, at rest or deforming, all with the same field object and the same grasp point.
//
// With `coupled` the object's motion and the steps of all deforming bodies are solved for together
// (world/coupled.h).  In a split cycle, as in B07, the object moves against fixed shells, which
// then step under the forces from before that motion.
//
// The force on the hand is -k e, e from the object to the manipulandum, as in B07 4.9, while the
// object gets a saturated force: a moving object then does more work on the hand than the coupling
// takes from the object.  With `saturated` the hand gets the opposite of the force on the object,
// after saturation and relief.
//
// Instead of contacts and a coupling a tick may have a body that answers the hand directly
// (render/touch.h).  The simulation object is then the tool that this body holds back.
//
// A tick owns all that it changes and borrows constant data.  Cycles do not allocate and call only
// the clock and the device.
#ifndef RF_HAPTIC_TICK_H
#define RF_HAPTIC_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "contact/contact.h"
#include "device/device.h"
#include "dynamics/free_body.h"
#include "haptic/passivity.h"
#include "haptic/safety.h"
#include "render/dynamic_coupling.h"
#include "render/touch.h"
#include "render/virtual_coupling.h"
#include "render/workspace.h"

enum { RF_TICK_MOST_CONTACTS = 16 };

typedef struct rf_tick_settings {
  double dt_s;                    // length of a cycle
  double budget_us;               // computing time in a cycle; 0: contacts keep their own budgets
  bool dynamic;                   // uses `dynamics`; false: `coupling`
  bool coupled;                   // object and bodies in one solve (world/coupled.h)
  bool saturated;                 // the hand gets the opposite of the force on the object
  bool suited;                    // adapts contacts with an automatic stiffness to the coupling
  rf_coupling_settings coupling;  // static coupling
  rf_dynamic_settings dynamics;   // dynamic coupling
  rf_workspace_settings workspace;
  rf_safety_settings safety;
  rf_passivity_settings passivity;
} rf_tick_settings;

// Record of one cycle.
typedef struct rf_tick_record {
  int64_t tick;
  double time_s;      // scheduled time since the beginning
  double late_us;     // delay of its beginning, set by the loop
  double compute_us;  // time of computing, without the device; with missed cycles made up for
  // Processor time in compute_us; the rest went to other processes.  An upper bound: it includes
  // the processor time of writing to the device.
  double processor_us;
  double device_us;  // time of reading and writing
  double contact_us, coupling_us, deform_us;
  double publish_us;  // time of publishing the snapshot of the cycle before, set by the loop
  double device_position[3], device_quaternion[4];  // of the handle, in the frame of the device
  double hand_position[3], hand_quaternion[4];      // the manipulandum, grasp point, in the world
  double object_position[3], object_quaternion[4];  // the simulation object, grasp point
  double contact_force[3], contact_torque[3];       // on the simulation object, in the world
  double force[3], torque[3];  // on the hand, in the frame of the device, as sent
  double depth_m;              // deepest penetration, also of missed cycles made up for
  double share;                // share of the coupling that acted
  double energy_j;             // energy given to the hand so far
  int32_t visited, touching;   // visited nodes, touching points, of all contacts
  int32_t level;               // smallest over contacts of the deepest level rendered
  int32_t rank;
  uint32_t buttons;
  uint32_t flags;  // RF_SAFETY_* and RF_TICK_*
} rf_tick_record;

enum {
  RF_TICK_LIMITED = 1 << 8,  // the motion was limited: largest speed, or depth limiter
  RF_TICK_CLUTCHED = 1 << 9,
  RF_TICK_DEVICE_FAILED = 1 << 10,
  // coupling or deformation is not finite, or a body is too far (rf_motion_far_rt)
  RF_TICK_DIVERGED = 1 << 11,
  RF_TICK_SPLIT = 1 << 12,       // a coupled cycle was split: its matrix was not positive definite
  RF_TICK_TOO_DEEP = 1 << 13,    // contact is deeper than the coupling allows
  RF_TICK_SATURATED = 1 << 14,   // the object got less than the linear spring force
  RF_TICK_SHORTENED = 1 << 15,   // an increment of a body was shortened (dynamics/newton.h)
  RF_TICK_MADE_UP = 1 << 16,     // cycles missed before it were made up for
  RF_TICK_UNSOLVED = 1 << 17,    // forces of friction do not meet the tolerance
  RF_TICK_SLIPPING = 1 << 18,    // the hand slides over a touched body
  RF_TICK_UNANSWERED = 1 << 19,  // a touched body does not answer: forces fade out
  RF_TICK_CROWDED = 1 << 20,     // more points of shells with a local compliance touch than sites
  RF_TICK_INSIDE = 1 << 21       // the hand is inside of a touched body without a side: no force
};

// A contact, and its bodies.
typedef struct rf_tick_contact {
  const rf_contact *contact;
  // with the shell: deforming at its place, free, or at rest (both NULL)
  const rf_motion *shell;
  const rf_free_body *free;   // the same one is the same body in all contacts
  const rf_free_body *field;  // with the field; NULL: it is on the held object, unless
  bool grounded;              // it is at rest in the world
} rf_tick_contact;

typedef struct rf_tick rf_tick;

// Checks all settings but those of the coupling.
RF_MUST_CHECK rf_status rf_tick_check(const rf_tick_settings *set, rf_error *err);
// Copies contacts, and simulations with their states; borrows trees, fields and models.  `field`:
// simulation of the field object, nullable.  Steps of simulations must divide the cycle, those of
// free bodies be a cycle; bodies that are too far (rf_motion_far_rt) are rejected.  Free bodies and
// grounded contacts need friction (world/frictional.h); the field of the first contact is held.
RF_MUST_CHECK rf_status rf_tick_create(const rf_tick_settings *set, int32_t n_contacts,
                                       const rf_tick_contact *contacts, const rf_motion *field,
                                       rf_tick **out, rf_error *err);
// The same for a hand that touches a body without a coupling; copies the body.
RF_MUST_CHECK rf_status rf_tick_create_touch(const rf_tick_settings *set, const rf_touch *touch,
                                             rf_tick **out, rf_error *err);
void rf_tick_free(rf_tick *tick);  // NULL is fine

// Runs a cycle at the scheduled `time_s`.  The last one may be several periods ago: the cycles in
// between, at most 64, are then made up for without a force, at poses of the hand between the last
// one and this one.  That takes half a period, or an eighth of a longer delay, and half of the time
// left until the delay counts as a pause (rf_tick_pace_rt), at most; after a pause there is none.
// After RF_ERR_DEVICE or RF_ERR_DIVERGED no more cycles may run; a zero force was sent to the
// device, if it could be written to.
RF_MUST_CHECK rf_status rf_tick_run_rt(rf_tick *tick, const rf_device *device, double time_s,
                                       rf_tick_record *record);

// Prepares for a device that has just been opened: forces begin at zero and fade in.  The hand
// takes up the object where it was left, as after a clutch: the coupling is relaxed, and the
// workspace is shifted by the motion of the hand in between.
void rf_tick_begin_rt(rf_tick *tick);
// Sets the longest time between two forces: a force sent later than `pause_s` after the last one,
// because the process or the machine was paused, is zero, and forces fade in from there.  INFINITY:
// a script makes the cycles, at any speed.
void rf_tick_pace_rt(rf_tick *tick, double pause_s);
// Makes forces fade in or out.
void rf_tick_enable_rt(rf_tick *tick, bool enabled);
// Returns true once the forces have faded out.
bool rf_tick_faded_rt(const rf_tick *tick);
// Lowers the limits of force and torque in the settings to these.
void rf_tick_limit_rt(rf_tick *tick, double max_force_n, double max_torque_nm);
// Moves the manipulandum and the simulation object to the start of the workspace.
void rf_tick_recentre_rt(rf_tick *tick);
// Changes the coupling between cycles; the settings must be checked.  Without a coupling: nothing.
void rf_tick_set_coupling_rt(rf_tick *tick, const rf_tick_settings *set);

// Returns the simulation of contact k, or of the field object (k < 0); NULL: none.
const rf_motion *rf_tick_simulation(const rf_tick *tick, int32_t k);
// Returns the touched body, and its last answer; NULL: the tick has contacts.
const rf_touch *rf_tick_touch(const rf_tick *tick);
const rf_touch_felt *rf_tick_felt_rt(const rf_tick *tick);
// Returns the free body with the shell of contact k; NULL: the shell is on another kind of body.
const rf_free_body *rf_tick_free_body(const rf_tick *tick, int32_t k);
// Writes the name of that simulation, for messages.
enum { RF_TICK_NAME = 48 };
void rf_tick_name(int32_t k, char name[RF_TICK_NAME]);

#endif
