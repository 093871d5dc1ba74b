#include "body/body.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "body/kinds.h"
#include "dynamics/newmark.h"
#include "linalg/dense_rt.h"

#define ROW(name) &rf_body_##name##_kind,
static const rf_body_kind *const KINDS[] = {RF_BODY_KINDS(ROW)};
#undef ROW

static const rf_body_kind *find(const char *name) {
  for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; ++k)
    if (strcmp(KINDS[k]->name, name) == 0) return KINDS[k];
  return NULL;
}

// Copies the motion with its state, and counts its steps in one of the world.
static rf_status copy_motion(const rf_body_settings *set, double dt_s, rf_body *body,
                             rf_error *err) {
  const rf_motion *from = set->motion;
  const double ratio = dt_s / from->set.dt_s, whole = round(ratio);
  if (!(whole >= 1.0 && whole < 1e6 && fabs(ratio - whole) < 1e-6 * whole))
    return rf_fail(
        err, RF_ERR_ARG,
        "a simulation has steps of %g s, which must divide a cycle of %g s into whole steps",
        from->set.dt_s, dt_s);
  body->steps = (int64_t)whole;
  const rf_status st = rf_motion_clone(from, NULL, &body->motion, err);
  if (st < 0) return st;
  // its first step would fail, after contact forces from this state
  const double displaced = from->system->operations->farthest(from->system, from->q);
  if (rf_motion_far_rt(from, displaced))
    return rf_fail(err, RF_ERR_ARG,
                   "%s displaces its body by up to %.3g m, more than %g times its length of %.3g "
                   "m: reset it",
                   set->name ? set->name : "a simulation", displaced, RF_MOTION_FARTHEST,
                   from->system->length_m);
  body->motion->bounded = true;
  return RF_OK;
}

static rf_status make_room(bool implicit, rf_body *body, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t ld = rf_dense_ld(body->motion->n);
  RF_ALLOC(body->reduced, ld);
  if (!implicit) return st;
  RF_ALLOC(body->added, ld * ld);
  RF_ALLOC(body->scratch, 2 * ld);
done:
  return st;
}

static rf_status check(const rf_body_settings *set, double dt_s, rf_error *err) {
  if (!(isfinite(dt_s) && dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be positive and finite, got %g", dt_s);
  for (int i = 0; i < 3; ++i)
    if (!(fabs(set->reference_m[i]) < RF_POSE_FARTHEST))
      return rf_fail(err, RF_ERR_ARG, "reference[%d] is %g, too far from the origin", i,
                     set->reference_m[i]);
  return rf_pose_check(&set->pose, err);
}

rf_status rf_body_create(const rf_body_settings *set, double dt_s, rf_body **out, rf_error *err) {
  rf_body *body = NULL;
  *out = NULL;
  rf_status st = check(set, dt_s, err);
  if (st < 0) return st;
  const rf_body_kind *kind = find(set->kind);
  if (!kind) return rf_fail(err, RF_ERR_ARG, "there is no kind of body named %s", set->kind);
  RF_ALLOC(body, 1);
  body->kind = kind;
  body->pose = set->pose;
  memcpy(body->reference_m, set->reference_m, sizeof body->reference_m);
  if (set->borrowed) {
    body->motion = set->borrowed;
    body->borrows = true;
    body->steps = 1;
  } else if (set->motion) {
    RF_TRY(copy_motion(set, dt_s, body, err));
  }
  RF_TRY(kind->create(set, body, err));
  if (body->motion) RF_TRY(make_room(set->implicit, body, err));
  *out = body;
  body = NULL;
done:
  rf_body_free(body);
  return st;
}

rf_status rf_body_whole_step(const rf_body *body, double dt_s, rf_motion **out, rf_error *err) {
  rf_newmark_settings newmark = {.beta = 0.5, .gamma = 1.0};
  *out = NULL;
  if (!body->motion || body->steps == 1) return RF_OK;
  rf_motion_settings set = body->motion->set;
  set.scheme = &rf_scheme_newmark;
  set.own = &newmark;
  set.dt_s = dt_s;
  return rf_motion_clone(body->motion, &set, out, err);
}

void rf_body_free(rf_body *body) {
  if (!body) return;
  if (body->kind->release) body->kind->release(body);
  if (!body->borrows) rf_motion_free(body->motion);
  rf_free(body->reduced);
  rf_free(body->added);
  rf_free(body->scratch);
  rf_free(body);
}
