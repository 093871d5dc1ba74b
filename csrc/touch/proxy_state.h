// Private state of the contact of a tip; for the files proxy*.c only.
#ifndef RF_TOUCH_PROXY_STATE_H
#define RF_TOUCH_PROXY_STATE_H

#include "touch/proxy_tables.h"

// Knowledge of the place of the tip.
typedef enum rf_tip_phase {
  RF_TIP_UNKNOWN,  // all triangles are searched for the nearest one, some in each cycle
  RF_TIP_OUTSIDE,
  RF_TIP_TOUCHING
} rf_tip_phase;

typedef struct rf_tip {
  rf_tip_tables *tables;
  bool owns;  // the tables; copies borrow them
  double mu, max_depth_m;
  rf_pose pose;

  rf_tip_phase phase;
  rf_tip_contact now;
  rf_tip_contact felt;  // that of the last force: the anchor slips after it
  int32_t searched;     // triangles, in the phase RF_TIP_UNKNOWN
  rf_tip_place nearest;
  bool has_last;
  bool rests;      // the tip, while it touches
  double last[3];  // tip in the last cycle, in the frame of the body

  // at the anchor; in the frame of rows n and two tangents
  double frame[9], compliance[9], inverse[9];
  double stiffness;  // largest eigenvalue of the inverse, N/m
} rf_tip;

// Takes the tip to a place in the frame of the body; sets tip->now.
void rf_tip_feel_rt(rf_tip *tip, const double point[3]);
// Moves the anchor where it slips.
void rf_tip_slide_rt(rf_tip *tip);
// The anchor is this place from now on; normal: in place of that of the surface, nullable.
void rf_tip_anchor_rt(rf_tip *tip, const rf_tip_place *place, const double *normal);
extern const rf_touch_kind rf_tip_kind;

#endif
