// Real-time functions of the kind "free" (body/body.h).
#ifndef RF_BODY_FREE_H
#define RF_BODY_FREE_H

#include "body/body.h"

// Sets the pose from the state of the free body.
void rf_body_free_follow_rt(rf_body *body);
void rf_body_free_foresee_rt(const rf_body *body, double way[6], double compliance[36]);
RF_MUST_CHECK rf_status rf_body_free_move_rt(rf_body *body, const double wrench[6]);
RF_MUST_CHECK rf_status rf_body_free_step_rt(rf_body *body);

#endif
