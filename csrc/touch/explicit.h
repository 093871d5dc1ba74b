// A solid in explicit steps that a rigid tool touches, moved by the hand (Z00 5.4).
//
// The tool goes from the last place of the hand to its present one, at constant velocity, while the
// solid makes its steps in contact with it (dynamics/collide.h).  The force of the last step on the
// tool, friction included, goes to the hand:
//     direct     the steps of a cycle are made in the cycle
//     delay      those of a period S of several cycles are made in a thread, which no cycle waits
//     stiffness  for; their forces are shown later (touch/explicit_display.h)
// Hands and states are exchanged by base/broadcast_rt.h.  In scripts, without the thread, cycles
// make the steps after their force was sent, and show the same.
//
// If no state comes for five periods, or 20 ms if that is longer, or the simulation has failed, the
// body does not answer (RF_TOUCH_FAILED).  A direct one that fails ends the session.
#ifndef RF_TOUCH_EXPLICIT_H
#define RF_TOUCH_EXPLICIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/broadcast_rt.h"
#include "dynamics/motion.h"
#include "render/touch.h"
#include "touch/explicit_display.h"
#include "touch/explicit_secant.h"

// The first is direct.
#define RF_EXPLICIT_WAYS(ROW) ROW(direct) ROW(delay) ROW(stiffness)

typedef enum rf_explicit_way {
#define RF_EXPLICIT_WAY(name) RF_EXPLICIT_##name,
  RF_EXPLICIT_WAYS(RF_EXPLICIT_WAY)
#undef RF_EXPLICIT_WAY
} rf_explicit_way;

typedef struct rf_explicit_settings {
  rf_motion *motion;  // borrowed: nothing else may step it
  rf_proxy *proxy;    // that it touches; borrowed: nothing else may move it
  rf_explicit_way way;
  double cycle_s;  // T
  int32_t cycles;  // of a period S; 1: direct
  int32_t steps;   // of the motion in a period
} rf_explicit_settings;

// The hand in a cycle.
typedef struct rf_explicit_hand {
  int64_t number;  // from 1 on
  int64_t jumps;   // times that it was moved without a way
  double time_s;
  rf_pose pose;
} rf_explicit_hand;

// Statistics of a body and its copies; any thread may read it.
typedef struct rf_explicit_report {
  _Atomic int64_t periods;  // made
  _Atomic int64_t late;     // of them, those that took longer than S, or began too late
  _Atomic int64_t stalls;   // times that a state did not come
  _Atomic double missed;    // part of the changes of force that the local stiffness did not foresee
  atomic_bool failed;       // the motion has failed, and rests
  atomic_bool taken;        // by a copy, which moves it
} rf_explicit_report;

typedef struct rf_explicit {
  rf_explicit_settings set;
  const rf_collide_body *tool;  // contact with it
  rf_explicit_report first;     // in the original, which all copies share
  rf_explicit_report *report;   // that of the first one
  double period_s, stall_s;
  int32_t fewest;  // states in contact, before a stiffness counts as measured
  rf_run *run;     // owned; one thread, which `stop` interrupts
  int64_t n_moved;
  size_t state_bytes;  // with the displacements
  // the simulation
  rf_explicit_hand reached;
  rf_explicit_state *last;  // owned; behind it displacements of the nodes that touch, m (n_moved)
  rf_explicit_secant secant;
  uint64_t nodes;  // mark of those that touched in the last state
  // cycles
  rf_explicit_hand hand;
  rf_explicit_display display;
  rf_explicit_state *known;  // owned; the newest one, likewise
  rf_explicit_state *spare;  // owned; room for the next one
  uint64_t taken;            // its number in the broadcast
  bool stalled;
  double due_s;  // time of the next period, without a thread
  // exchange
  rf_broadcast hands, states;
  void *hands_memory, *states_memory;
  struct rf_explicit_thread *thread;  // owned; NULL: none runs
  atomic_bool stop;
} rf_explicit;

// RF_ERR_ARG, naming it, if the motion has no contact with the proxy, or its steps do not fill a
// period.  A copy moves the same motion, and must be freed before the body and before another copy.
RF_MUST_CHECK rf_status rf_explicit_create(const rf_explicit_settings *set, rf_touch **out,
                                           rf_error *err);
// Mean lag of a force by its states, while the tool moves: 2 S, or zero if direct.
double rf_explicit_lag(const rf_explicit *x);

// Moves the tool to the newest hand, with the steps of a period; false: it is there already, or the
// motion has failed.
bool rf_explicit_serve_rt(rf_explicit *x);
// Functions of the interface.
rf_status rf_explicit_feel_rt(void *self, const rf_pose *hand, double dt_s, rf_touch_felt *out);
rf_status rf_explicit_step_rt(void *self, double dt_s);
void rf_explicit_forget_rt(void *self);
void rf_explicit_publish_rt(const void *self, double *out);
rf_status rf_explicit_start(void *self, int priority, int *refused, rf_error *err);
void rf_explicit_stop(void *self);

#endif
