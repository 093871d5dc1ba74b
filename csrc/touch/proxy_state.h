// Private state of the contact of a tip; for the files proxy*.c only.
#ifndef RF_TOUCH_PROXY_STATE_H
#define RF_TOUCH_PROXY_STATE_H

#include <stdatomic.h>

#include "touch/proxy_tables.h"

// Way of the anchor in a cycle over that of the tip, at most.
#define RF_TIP_FOLLOW 1.5

// Knowledge of the place of the tip.
typedef enum rf_tip_phase {
  RF_TIP_UNKNOWN,  // all triangles are searched for the nearest one, some in each cycle
  RF_TIP_OUTSIDE,
  RF_TIP_TOUCHING
} rf_tip_phase;

// Compliance of the body between two releases.
typedef struct rf_tip_stage {
  rf_tip_tables *tables;                // owned; surface and grid are those of the first stage
  int32_t number;                       // of releases before it
  double at_s;                          // time of the cycles from which on it may begin
  _Atomic(struct rf_tip_stage *) next;  // set once; NULL: there is none yet
} rf_tip_stage;

typedef struct rf_tip {
  rf_tip_stage *first;
  bool owns;                           // all stages; copies borrow them
  const rf_tip_stage *stage, *coming;  // present one; one that is being taken up, nullable
  const rf_tip_tables *tables;         // of the present stage
  double blend, time_s;                // part of the coming one that counts; time of the cycles
  double mu, max_depth_m;
  rf_pose pose;

  rf_tip_phase phase;
  rf_tip_contact now;
  rf_tip_contact felt;  // that of the last force: the anchor slips after it
  int32_t searched;     // triangles, in the phase RF_TIP_UNKNOWN
  rf_tip_place nearest;
  bool barred;      // began inside: no force until it has been outside
  bool rests;       // the tip, while it touches
  bool turns;       // the normal of the contact, to `goal`
  bool fades;       // the contact has ended: its force falls to zero
  double goal[3];   // normal where the anchor would be
  double bound;     // of the force, N: after a leap it grows with the way of the tip only
  double fall;      // of a force that fades, N in a cycle at rest
  double way;       // of the tip in the last cycle, m; infinite in the first one
  double last[3];   // tip in the last cycle, in the frame of the body
  bool is_known;    // there was a cycle without a search that continues
  double known[3];  // tip in the last one of them

  // at the anchor; in the frame of rows n and two tangents
  double frame[9], compliance[9], inverse[9];
  double stiffness;  // largest eigenvalue of the inverse, N/m
} rf_tip;

// Computes the inverses of two compliances, and the inverse of their mean with the weight `blend`
// of the second.
void rf_tip_blend_rt(const double before[9], const double after[9], double blend,
                     double stiffness[2][9], double compliance[9]);
// Takes up stages whose time has come, `dt_s` after the last cycle.
void rf_tip_follow_rt(rf_tip *tip, double dt_s);
// Present compliance of the disc about a point of a triangle, m/N.
void rf_tip_compliance_now_rt(const rf_tip *tip, int32_t triangle, const double weight[3],
                              double compliance[9]);
// Takes the tip to a place in the frame of the body; sets tip->now.
void rf_tip_feel_rt(rf_tip *tip, const double point[3]);
// Presses a tip without friction, which is inside: moves the anchor and sets tip->now.  `next`: the
// place next to the point on the way from the anchor over the surface.
void rf_tip_smooth_rt(rf_tip *tip, const double point[3], const rf_tip_place *next);
// Solves for the force at the anchor.
void rf_tip_press_rt(rf_tip *tip, const double point[3]);
// Computes the direction of the force without friction that the faces at an edge or a corner share;
// false: there is none.  `valley`: the surface is sharply concave where the tip presses it.
bool rf_tip_hold_rt(const rf_tip *tip, const rf_tip_place *place, double normal[3], bool *valley);
// Limits a move of the anchor that would change the force at once, and lets the force of a contact
// that has ended fade; `before`: the contact before it.
void rf_tip_turn_rt(rf_tip *tip, const rf_tip_contact *before);
// Lets the force of a contact that has ended fall; false: it is zero.
bool rf_tip_fade_rt(rf_tip *tip);
// Presses a tip whose contact begins, and bounds its force where it would leap.
void rf_tip_begin_rt(rf_tip *tip, const double point[3]);
// Greatest change of the size of the force with the way of the tip in this cycle, N.
double rf_tip_change_rt(const rf_tip *tip);
// Moves the anchor where it slips.
void rf_tip_slide_rt(rf_tip *tip);
// Computes the compliance at the anchor, in its frame.
void rf_tip_soften_rt(rf_tip *tip);
// The anchor is this place from now on; normal: in place of that of the surface, nullable.
void rf_tip_anchor_rt(rf_tip *tip, const rf_tip_place *place, const double *normal);
extern const rf_touch_kind rf_tip_kind;

#endif
