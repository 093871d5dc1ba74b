#include "touch/proxy.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "touch/proxy_state.h"

static void free_tip(void *self) {
  rf_tip *tip = self;
  if (!tip) return;
  // the first stage last: the others borrow from it
  for (rf_tip_stage *stage = tip->owns && tip->first ? tip->first->next : NULL; stage;) {
    rf_tip_stage *next = stage->next;
    rf_tip_tables_free(stage->tables);
    rf_free(stage);
    stage = next;
  }
  if (tip->owns && tip->first) rf_tip_tables_free(tip->first->tables);
  if (tip->owns) rf_free(tip->first);
  rf_free(tip);
}

static void forget_rt(void *self) {
  rf_tip *tip = self;
  memset(&tip->now, 0, sizeof tip->now);
  tip->now.triangle = -1;
  tip->now.released = (double)tip->stage->number + tip->blend;
  tip->felt = tip->now;
  tip->phase = RF_TIP_UNKNOWN;
  tip->searched = 0;
  tip->bound = INFINITY;
  tip->barred = tip->is_known = tip->turns = tip->fades = false;
  for (int i = 0; i < 3; ++i) tip->last[i] = NAN;
}

static rf_status copy_tip(const void *self, void **out, rf_error *err) {
  rf_tip *tip = rf_alloc(1, sizeof *tip);
  *out = tip;
  if (!tip) return rf_fail(err, RF_ERR_MEMORY, "out of memory: a contact of a tip");
  *tip = *(const rf_tip *)self;
  tip->owns = false;
  tip->time_s = 0.0;
  forget_rt(tip);
  return RF_OK;
}

static rf_status restore_tip(void *self, const void *from, rf_error *err) {
  rf_tip *to = self;
  const rf_tip own = *to;
  if (((const rf_tip *)from)->first != to->first)
    return rf_fail(err, RF_ERR_ARG, "the session touches another body than this one");
  *to = *(const rf_tip *)from;
  to->owns = own.owns;
  to->time_s = own.time_s;  // each session counts its own
  if (own.stage->number + own.blend <= to->stage->number + to->blend) return RF_OK;
  // supports that scripts have released since do not come back
  to->stage = own.stage;
  to->coming = own.coming;
  to->tables = own.tables;
  to->blend = own.blend;
  to->now.released = to->stage->number + to->blend;
  if (to->phase == RF_TIP_TOUCHING) rf_tip_soften_rt(to);
  return RF_OK;
}

// Turns the contact of the last cycle into the world.
static void answer(const rf_tip *tip, const rf_pose *hand, rf_touch_felt *out) {
  const double *turn = tip->pose.quaternion;
  const rf_tip_contact *now = &tip->felt;
  out->object = *hand;
  memcpy(out->anchor_m, hand->position_m, sizeof out->anchor_m);
  if (now->state == RF_TIP_INSIDE) out->flags |= RF_TOUCH_INSIDE;
  if (now->state == RF_TIP_OPEN || now->state == RF_TIP_INSIDE) return;
  rf_quat_rotate(turn, now->anchor, out->anchor_m);
  rf_quat_rotate(turn, now->slip, out->slip_m);
  rf_quat_rotate(turn, now->force, out->force_n);
  for (int i = 0; i < 3; ++i) {
    out->anchor_m[i] += tip->pose.position_m[i];
    out->force_n[i] = -out->force_n[i];
  }
  memcpy(out->object.position_m, out->anchor_m, sizeof out->anchor_m);
  out->depth_m = now->depth_m;
  out->stiffness_n_per_m = tip->stiffness;
  out->touching = 1;
  if (now->state == RF_TIP_SLIPS) {
    // friction may press a tip in
    out->stiffness_n_per_m = fmax(tip->stiffness, now->stiffness);
    out->flags |= RF_TOUCH_SLIPS;
  }
  if (now->deep) out->flags |= RF_TOUCH_DEEP;
}

static rf_status feel_rt(void *self, const rf_pose *hand, double dt_s, rf_touch_felt *out) {
  rf_tip *tip = self;
  const rf_pose seen = rf_pose_seen_from_rt(&tip->pose, hand);
  rf_tip_follow_rt(tip, dt_s);
  rf_tip_feel_rt(tip, seen.position_m);
  answer(tip, hand, out);
  return RF_OK;
}

static rf_status step_rt(void *self, double dt_s) {
  (void)dt_s;
  rf_tip_slide_rt(self);
  return RF_OK;
}

static void publish_rt(const void *self, double *out) {
  const rf_tip_contact *now = &((const rf_tip *)self)->felt;
  out[0] = (double)now->state;
  out[1] = (double)now->triangle;
  memcpy(out + 2, now->weight, sizeof now->weight);
  memcpy(out + 5, now->force, sizeof now->force);
  out[8] = now->released;
}

const rf_touch_kind rf_tip_kind = {.name = "tip",
                                   .feel_rt = feel_rt,
                                   .step_rt = step_rt,
                                   .forget_rt = forget_rt,
                                   .publish_rt = publish_rt,
                                   .copy = copy_tip,
                                   .restore = restore_tip,
                                   .release = free_tip};

rf_status rf_tip_create(const rf_tip_settings *set, const rf_run *run, rf_touch **out,
                        rf_error *err) {
  rf_status st = RF_OK;
  rf_tip *tip = NULL;
  *out = NULL;
  if (!(set->radius_m >= 0.0 && isfinite(set->radius_m)))
    return rf_fail(err, RF_ERR_ARG, "radius must be finite and not negative, got %g",
                   set->radius_m);
  if (!(set->friction >= 0.0 && isfinite(set->friction)))
    return rf_fail(err, RF_ERR_ARG, "friction must be finite and not negative, got %g",
                   set->friction);
  if (!(set->max_depth_m >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "max_depth must be positive, got %g", set->max_depth_m);
  if (set->green->rigid)
    return rf_fail(err, RF_ERR_ARG,
                   "the solid of green has no fixed nodes, so it would evade the tool: name some");
  RF_ALLOC(tip, 1);
  tip->owns = true;
  tip->mu = set->friction;
  tip->pose = set->pose;
  RF_TRY(rf_pose_check(&set->pose, err));
  RF_ALLOC(tip->first, 1);
  RF_TRY(rf_tip_tables_create(set, run, &tip->first->tables, err));
  tip->stage = tip->first;
  tip->tables = tip->first->tables;
  tip->max_depth_m = set->max_depth_m > 0.0 ? set->max_depth_m : RF_TIP_PRESS * tip->tables->size_m;
  forget_rt(tip);
  st = rf_touch_create(&rf_tip_kind, tip, RF_TIP_COORDINATES, 0.0, out, err);
  tip = NULL;
done:
  free_tip(tip);
  return st;
}

static rf_tip_stage *newest_of(const rf_touch *touch) {
  rf_tip_stage *stage = ((const rf_tip *)touch->self)->first;
  for (rf_tip_stage *next; (next = stage->next);) stage = next;
  return stage;
}

rf_status rf_tip_prepare_release(const rf_touch *touch, const rf_green *green,
                                 const double *position, const rf_run *run, rf_tip_stage **out,
                                 rf_error *err) {
  rf_status st = RF_OK;
  rf_tip_stage *stage = NULL;
  *out = NULL;
  RF_ALLOC(stage, 1);
  RF_TRY(rf_tip_tables_again(newest_of(touch)->tables, green, position, run, &stage->tables, err));
  *out = stage;
  stage = NULL;
done:
  rf_free(stage);
  return st;
}

void rf_tip_release(rf_touch *touch, rf_tip_stage *stage, double at_s) {
  rf_tip_stage *newest = newest_of(touch);
  stage->number = newest->number + 1;
  stage->at_s = at_s;
  // released last: a cycle that sees the stage sees all of it
  atomic_store_explicit(&newest->next, stage, memory_order_release);
  rf_tip_follow_rt(touch->self, 0.0);  // in scripts at once
}

const rf_tip_contact *rf_tip_now(const rf_touch *touch) {
  return &((const rf_tip *)touch->self)->felt;
}

void rf_tip_felt(const rf_touch *touch, rf_touch_felt *out) {
  const rf_tip *tip = touch->self;
  rf_pose hand = tip->pose;
  rf_quat_rotate(tip->pose.quaternion, tip->last, hand.position_m);
  for (int i = 0; i < 3; ++i) hand.position_m[i] += tip->pose.position_m[i];
  memset(out, 0, sizeof *out);
  answer(tip, &hand, out);
}

bool rf_tip_is_searching(const rf_touch *touch) {
  return ((const rf_tip *)touch->self)->phase == RF_TIP_UNKNOWN;
}

double rf_tip_max_depth(const rf_touch *touch) {
  return ((const rf_tip *)touch->self)->max_depth_m;
}

const int32_t *rf_tip_places(const rf_touch *touch, int32_t *n) {
  const rf_tip_tables *t = newest_of(touch)->tables;
  *n = t->n_vertices;
  return t->place;
}

int32_t rf_tip_triangles(const rf_touch *touch) { return newest_of(touch)->tables->n_triangles; }

int32_t rf_tip_rows(const rf_touch *touch) {
  return rf_green_rows(newest_of(touch)->tables->green);
}

double rf_tip_mean_nodes(const rf_touch *touch) {
  const rf_tip_tables *t = newest_of(touch)->tables;
  int32_t used = 0;
  for (int32_t v = 0; v < t->n_vertices; ++v) used += t->fan_first[v + 1] > t->fan_first[v];
  return (double)t->disc_first[t->n_vertices] / used;
}

void rf_tip_compliance_rt(const rf_touch *touch, int32_t triangle, const double weight[3],
                          double compliance[9]) {
  rf_tip_compliance_now_rt(touch->self, triangle, weight, compliance);
}

// u += the displacements by a force about a point of a triangle.
static rf_status add_displacement(const rf_tip_tables *t, int32_t triangle, const double weight[3],
                                  const double force[3], double *u, rf_error *err) {
  rf_status st = RF_OK;
  int32_t disc[6];
  int32_t *place = NULL, n = 0;
  double part[6], *share = NULL, *load = NULL;
  RF_ALLOC(share, t->green->count);  // of each place: discs have places in common
  RF_ALLOC(place, t->green->count);
  RF_ALLOC(load, 3 * (int64_t)t->green->count);
  rf_tip_discs_at_rt(t, triangle, weight, disc, part);
  for (int k = 0; k < 6; ++k)
    for (int64_t j = t->disc_first[disc[k]]; j < t->disc_first[disc[k] + 1]; ++j)
      share[t->disc_place[j]] += part[k] * t->disc_share[j];
  for (int32_t k = 0; k < t->green->count; ++k) {
    if (share[k] == 0.0) continue;
    for (int i = 0; i < 3; ++i) load[3 * (int64_t)n + i] = share[k] * force[i];
    place[n++] = k;
  }
  rf_green_add_rt(t->green, n, place, load, u);
done:
  rf_free(share);
  rf_free(place);
  rf_free(load);
  return st;
}

// Returns the next stage if a field of `rows` rows has room for its places.
static const rf_tip_stage *next_within(const rf_tip_stage *stage, int32_t rows) {
  const rf_tip_stage *next = stage->next;
  return next && rf_green_rows(next->tables->green) <= rows ? next : NULL;
}

rf_status rf_tip_displacement(const rf_touch *touch, double released, int32_t triangle,
                              const double weight[3], const double force[3], int32_t rows,
                              double *u, rf_error *err) {
  rf_status st = RF_OK;
  const rf_tip_stage *stage = ((const rf_tip *)touch->self)->first, *coming;
  while ((coming = next_within(stage, rows)) && coming->number <= released) stage = coming;
  const double blend = coming ? fmin(fmax(released - stage->number, 0.0), 1.0) : 0.0;
  memset(u, 0, 3 * (size_t)rows * sizeof *u);
  if (!(blend > 0.0)) return add_displacement(stage->tables, triangle, weight, force, u, err);
  // each stage has its part of the force, and both move the disc alike
  const rf_tip_tables *const tables[2] = {stage->tables, coming->tables};
  double c[2][9], stiffness[2][9], both[9], moved[3];
  for (int k = 0; k < 2; ++k) rf_tip_compliance_of_rt(tables[k], triangle, weight, c[k]);
  rf_tip_blend_rt(c[0], c[1], blend, stiffness, both);
  for (int i = 0; i < 3; ++i) moved[i] = rf_vec3_dot(both + 3 * i, force);
  for (int k = 0; k < 2; ++k) {
    double part[3];
    for (int i = 0; i < 3; ++i)
      part[i] = (k == 0 ? 1.0 - blend : blend) * rf_vec3_dot(stiffness[k] + 3 * i, moved);
    RF_TRY(add_displacement(tables[k], triangle, weight, part, u, err));
  }
done:
  return st;
}
