// One cycle of a haptic simulation (B07 figure 4.2), the same for all callers: the thread at 1 kHz,
// scripts that step, tests.
//
//   read the device -> manipulandum (workspace) -> contact at the simulation object's pose
//   -> virtual coupling moves that object -> the coupling's force goes, through the limits of
//   safety, to the hand -> the contact's reduced forces drive the deformable objects.
//
// The simulation object is the one with the distance field; its frame is the pose of the contact,
// its grasp point that of the contact.  There may be several contacts, each with a shell of its
// own, at rest or deforming, all with the same field object and the same grasp point.
//
// With `coupled` the object's motion and the steps of all that deforms are solved for together
// (haptic/coupled.h).  Split, as in B07, the object is moved against shells that stand still, which
// then step under the forces of before that motion.
//
// Contacts with an automatic stiffness get that which suits the coupling.
//
// The hand feels -k e, e the way of the object to the manipulandum, as in B07 4.9, while on the
// object acts at most the force at which the coupling saturates: work that a moving object does on
// the hand is then larger than what it takes from the object.  With `saturated` the hand feels the
// opposite of what acts on the object, after saturation and relief.
//
// A tick owns everything that it changes, and only borrows what is constant.  It allocates nothing
// and calls nothing but the clock and the device.
#ifndef RF_HAPTIC_TICK_H
#define RF_HAPTIC_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "contact/penalty.h"
#include "coupling/dynamic_coupling.h"
#include "coupling/virtual_coupling.h"
#include "coupling/workspace.h"
#include "device/device.h"
#include "haptic/coupled.h"
#include "haptic/passivity.h"
#include "haptic/safety.h"
#include "dynamics/motion.h"

enum { RF_TICK_MOST_CONTACTS = RF_COUPLED_MOST_PARTS };

typedef struct rf_tick_settings {
  double dt_s;                    // of a cycle
  double budget_us;               // of computing in a cycle; 0: contacts stop as they were made to
  bool dynamic;                   // which of the two couplings
  bool coupled;                   // object and shell in one solve (haptic/coupled.h)
  bool saturated;                 // the hand feels what acts on the object (see above)
  bool suited;                    // contacts with an automatic stiffness follow the coupling
  rf_coupling_settings coupling;  // static
  rf_dynamic_settings dynamics;   // dynamic
  rf_workspace_settings workspace;
  rf_safety_settings safety;
  rf_passivity_settings passivity;
} rf_tick_settings;

// Record of one cycle.
typedef struct rf_tick_record {
  int64_t tick;
  double time_s;      // by the schedule, since the beginning
  double late_us;     // delay of its beginning; set by the loop
  double compute_us;  // without the device
  // Part of that on a processor; the rest belongs to other processes.  An upper bound: processor
  // time of writing to the device is included.
  double processor_us;
  double device_us;  // reading and writing
  double contact_us, coupling_us, deform_us;
  double device_position[3], device_quaternion[4];  // of the handle, in the frame of the device
  double hand_position[3], hand_quaternion[4];      // the manipulandum, grasp point, in the world
  double object_position[3], object_quaternion[4];  // the simulation object, grasp point
  double contact_force[3], contact_torque[3];       // on the simulation object, in the world
  double force[3], torque[3];  // on the hand, in the frame of the device, as it went out
  double depth_m;              // deepest penetration
  double share;                // of the coupling that acted
  double energy_j;             // given to the hand so far
  int32_t visited, touching;   // nodes and points, of all contacts
  int32_t level;               // lowest of the deepest levels rendered
  int32_t rank;
  uint32_t buttons;
  uint32_t flags;  // RF_SAFETY_* and RF_TICK_*
} rf_tick_record;

enum {
  RF_TICK_LIMITED = 1 << 8,  // a largest speed cut the motion
  RF_TICK_CLUTCHED = 1 << 9,
  RF_TICK_DEVICE_FAILED = 1 << 10,
  // coupling or deformation left the finite numbers, or a body went too far (rf_motion_far_rt)
  RF_TICK_DIVERGED = 1 << 11,
  RF_TICK_SPLIT = 1 << 12,      // a coupled cycle was split: its matrix was not positive definite
  RF_TICK_TOO_DEEP = 1 << 13,   // contact was deeper than the coupling allows
  RF_TICK_SATURATED = 1 << 14,  // less than the whole spring acted on the object
  RF_TICK_SHORTENED = 1 << 15   // an increment of a body was shortened (dynamics/newton.h)
};

// A contact, and the simulation of its shell (nullable: it stays at rest).
typedef struct rf_tick_contact {
  const rf_penalty *penalty;
  const rf_motion *shell;
} rf_tick_contact;

typedef struct rf_tick rf_tick;

// Copies contacts and simulations, with the states of these; trees, fields and models are
// borrowed.  `field`: simulation of the object with the field, nullable.  Steps of simulations must
// divide the cycle, and their bodies not be too far (rf_motion_far_rt).
RF_MUST_CHECK rf_status rf_tick_create(const rf_tick_settings *set, int32_t n_contacts,
                                       const rf_tick_contact *contacts, const rf_motion *field,
                                       rf_tick **out, rf_error *err);
void rf_tick_free(rf_tick *tick);  // NULL is fine

// Runs a cycle at `time_s` by the schedule.  The last one may be several periods ago: the hand's
// velocity and the device's silence use the elapsed time, couplings and simulations the step of one
// period.  After RF_ERR_DEVICE or RF_ERR_DIVERGED it must not go on; the device was set to zero, if
// it could be written to.
RF_MUST_CHECK rf_status rf_tick_run_rt(rf_tick *tick, const rf_device *device, double time_s,
                                       rf_tick_record *record);

// The device has just been opened: it renders nothing, wherever the hand has gone since it was
// closed, and forces fade in.  The hand takes the object up where that was left, as after a clutch:
// the coupling is relaxed, and the workspace is moved by what the hand moved in between.
void rf_tick_begin_rt(rf_tick *tick);
// Cycles come by the clock from now on: a force that would go out later than `pause_s` after the
// last one, because the process or the machine was paused between the two or within a cycle, is
// zero, and forces fade in from there.  INFINITY: a script makes cycles, as slowly as it likes.
void rf_tick_pace_rt(rf_tick *tick, double pause_s);
// Forces fade in or out; whether they have faded out.
void rf_tick_enable_rt(rf_tick *tick, bool enabled);
bool rf_tick_faded_rt(const rf_tick *tick);
// No more than this to the device, whatever the settings allow.
void rf_tick_limit_rt(rf_tick *tick, double max_force_n, double max_torque_nm);
// The manipulandum and the simulation object are where the workspace begins.
void rf_tick_recentre_rt(rf_tick *tick);
// Between cycles; settings that are checked already.
void rf_tick_set_coupling_rt(rf_tick *tick, const rf_tick_settings *set);

// Record, then the coordinates of all simulations, contact by contact, the field's object last.
size_t rf_tick_snapshot_bytes_rt(const rf_tick *tick);
void rf_tick_snapshot_rt(const rf_tick *tick, const rf_tick_record *record, char *out);

// Simulations as they are now, of contact k, and of the field's object (k < 0); NULL: none.
const rf_motion *rf_tick_simulation(const rf_tick *tick, int32_t k);
// Their names, for messages.
enum { RF_TICK_NAME = 48 };
void rf_tick_name(int32_t k, char name[RF_TICK_NAME]);

#endif
