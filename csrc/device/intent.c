#include "device/intent.h"

static void release(void *self) { rf_trajectory_free(self); }

static const rf_intent_table planned = {
    .name = "simulated hand", .at_rt = rf_trajectory_intended_rt, .release = release};

rf_intent rf_trajectory_intent(rf_trajectory *trajectory) {
  return (rf_intent){&planned, trajectory};
}
