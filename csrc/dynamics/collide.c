#include "dynamics/collide.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/fem.h"
#include "fem/mass_solve.h"

#define ROW(name) &rf_collide_##name,
static const rf_collide_rule *const RULES[] = {RF_COLLIDE_RULES(ROW)};
#undef ROW
#define NAME(name) " or \"" #name "\""  // the first " or" is left out

static const double FASTEST = 1e100;  // m/s and rad/s: squares stay finite

rf_status rf_proxy_create(const rf_field *field, const char *rule, double friction, rf_proxy **out,
                          rf_error *err) {
  rf_status st = RF_OK;
  const rf_collide_rule *found = NULL;
  rf_proxy *p = NULL;
  *out = NULL;
  for (size_t i = 0; i < sizeof RULES / sizeof *RULES; ++i)
    if (strcmp(RULES[i]->name, rule) == 0) found = RULES[i];
  if (!found)
    return rf_fail(err, RF_ERR_ARG, "rule must be%s, got \"%.40s\"", &(RF_COLLIDE_RULES(NAME))[3],
                   rule);
  if (!(isfinite(friction) && friction >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "friction must be finite and at least 0, got %g", friction);
  RF_ALLOC(p, 1);
  *p = (rf_proxy){.field = field, .rule = found, .friction = friction, .pose.quaternion = {1.0}};
  *out = p;
done:
  return st;
}

void rf_proxy_free(rf_proxy *proxy) { rf_free(proxy); }

static rf_status check_rate(const double rate[3], const char *name, rf_error *err) {
  for (int i = 0; i < 3; ++i)
    if (!(fabs(rate[i]) < FASTEST))
      return rf_fail(err, RF_ERR_ARG, "%s[%d] must be below %g, got %g", name, i, FASTEST, rate[i]);
  return RF_OK;
}

rf_status rf_proxy_move(rf_proxy *proxy, const rf_pose *pose, const double velocity_m_s[3],
                        const double spin_rad_s[3], rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(rf_pose_check(pose, err));
  RF_TRY(check_rate(velocity_m_s, "velocity", err));
  RF_TRY(check_rate(spin_rad_s, "angular_velocity", err));
  memcpy(proxy->pose.position_m, pose->position_m, sizeof pose->position_m);
  rf_quat_normalize(pose->quaternion, proxy->pose.quaternion);
  memcpy(proxy->velocity_m_s, velocity_m_s, sizeof proxy->velocity_m_s);
  memcpy(proxy->spin_rad_s, spin_rad_s, sizeof proxy->spin_rad_s);
  ++proxy->moves;
done:
  return st;
}

rf_status rf_collide_create(const rf_collide_settings *set, const rf_system *system, double usual_s,
                            rf_collide **out, rf_error *err) {
  const rf_solid *solid = set->solid;
  rf_status st = RF_OK;
  rf_collide *c = NULL;
  *out = NULL;
  if (system->model != solid || !system->explicit_steps)
    return rf_fail(err, RF_ERR_ARG, "contact is for explicit steps of a Solid");
  if (!rf_solid_steps_lumped(solid))
    return rf_fail(err, RF_ERR_ARG,
                   "contact of a RigidProxy is for whole cells, but the mesh has cells that its "
                   "surface cuts, whose nodes lie outside of the body: take a mesh of tetrahedra: "
                   "tetrahedralize(surface), or graded_tets(surface), which needs no other package "
                   "and has steps");
  if (!(set->stable_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "contact needs a positive stable step, got %g", set->stable_s);
  RF_TRY(rf_constraints_require_free(solid->mesh->constraints, set->n, set->node, err));
  for (int32_t i = 0; i < set->n; ++i)
    if (solid->free_of[set->node[i]] < 0)
      return rf_fail(err, RF_ERR_ARG, "node %d is fixed and cannot touch", set->node[i]);
  RF_ALLOC(c, 1);
  c->alpha = set->alpha;
  c->stable_s = set->stable_s;
  c->n = set->n;
  c->n_all = solid->mesh->n_nodes;
  c->constraints = solid->mesh->constraints;
  RF_ALLOC(c->node, c->n);
  RF_ALLOC(c->rest, 3 * (int64_t)c->n);
  RF_ALLOC(c->mass, c->n);
  RF_ALLOC(c->place, 3 * (int64_t)c->n);
  RF_ALLOC(c->distance, c->n);
  RF_ALLOC(c->by_contact, 3 * (int64_t)c->n);
  RF_ALLOC(c->next_by_contact, 3 * (int64_t)c->n);
  RF_ALLOC(c->adjusted, 3 * c->n_all);
  RF_ALLOC(c->body, set->n_proxies);
  c->n_bodies = set->n_proxies;
  for (int32_t i = 0; i < c->n_bodies; ++i) {
    c->body[i].proxy = set->proxy[i];
    for (int k = 0; k < 2; ++k) {
      rf_collide_step *one = k ? &c->body[i].next : &c->body[i].last;
      RF_ALLOC(one->touching, c->n);
      RF_ALLOC(one->force, 3 * (int64_t)c->n);
    }
  }
  for (int64_t i = 0; i < c->n; ++i) {
    c->node[i] = set->node[i];
    c->mass[i] = solid->lumped[set->node[i]];
    memcpy(c->rest + 3 * i, solid->mesh->nodes + 3 * (int64_t)set->node[i], 3 * sizeof *c->rest);
  }
  c->damped =
      set->alpha > 0.0 || system->damping_stiff > 0.0 || system->own_damping || system->inside;
  if (system->inside) {
    RF_ALLOC(c->spread, 3 * c->n_all);
    RF_ALLOC(c->next_spread, 3 * c->n_all);
    RF_TRY(rf_collide_inside_create(c, system, usual_s, err));
  }
  *out = c;
  c = NULL;
done:
  rf_collide_free(c);
  return st;
}

void rf_collide_free(rf_collide *c) {
  if (!c) return;
  rf_free(c->node);
  rf_free(c->rest);
  rf_free(c->mass);
  rf_free(c->place);
  rf_free(c->distance);
  rf_free(c->by_contact);
  rf_free(c->next_by_contact);
  rf_free(c->spread);
  rf_free(c->next_spread);
  rf_free(c->adjusted);
  for (int32_t i = 0; i < c->n_bodies; ++i) {
    rf_collide_body *b = c->body + i;
    rf_free(b->last.touching);
    rf_free(b->last.force);
    rf_free(b->next.touching);
    rf_free(b->next.force);
  }
  rf_free(c->body);
  rf_collide_inside_free(c->inside);
  rf_free(c);
}

void rf_collide_reset(rf_collide *c) {
  c->last_s = 0.0;
  c->n_unsolved = 0;
  c->n_joint = 0;
  memset(c->by_contact, 0, 3 * (size_t)c->n * sizeof *c->by_contact);
  if (c->spread) memset(c->spread, 0, 3 * (size_t)c->n_all * sizeof *c->spread);
  for (int32_t i = 0; i < c->n_bodies; ++i) {
    rf_collide_body *b = c->body + i;
    b->moves = b->proxy->moves;
    b->since_s = 0.0;
    b->last.pose = b->proxy->pose;
    b->last.n_touching = b->last.n_sliding = 0;
    b->last.depth_m = 0.0;
    for (int k = 0; k < 3; ++k)
      b->last.total[k] = b->last.pushed[k] = b->last.torque[k] = b->carried[k] = b->impulse[k] =
          0.0;
  }
}

void rf_collide_recall(rf_collide *c, const double *state) {
  c->last_s = *state++;
  for (int32_t i = 0; i < c->n_bodies; ++i, state += 4) {
    c->body[i].since_s = state[0];
    memcpy(c->body[i].carried, state + 1, sizeof c->body[i].carried);
  }
  memcpy(c->by_contact, state, 3 * (size_t)c->n * sizeof *state);
  if (c->spread) memcpy(c->spread, state + 3 * c->n, 3 * (size_t)c->n_all * sizeof *state);
}

void rf_collide_remember(const rf_collide *c, double *state) {
  *state++ = c->last_s;
  for (int32_t i = 0; i < c->n_bodies; ++i, state += 4) {
    const rf_collide_body *b = c->body + i;
    // since a move that no step has seen no time has passed
    state[0] = b->moves == b->proxy->moves ? b->since_s : 0.0;
    memcpy(state + 1, b->carried, sizeof b->carried);
  }
  memcpy(state, c->by_contact, 3 * (size_t)c->n * sizeof *state);
  if (c->spread) memcpy(state + 3 * c->n, c->spread, 3 * (size_t)c->n_all * sizeof *state);
}
