#include "world/frictional.h"

#include <math.h>
#include <string.h>

#include "linalg/dense_rt.h"
#include "linalg/quat.h"

enum { BLOCK = RF_CONTACT_BLOCK };

static const double ACROSS = 0.5;  // part of a motion across the normal that may close a gap

static bool bore(const rf_contact_sites *law, int32_t place) {
  const struct rf_contact_site_force *at = law->of + place;
  return at->cycle >= law->cycle - 1 && rf_vec3_dot(at->force, at->force) > 0.0;
}

// ---- travel in the free motions

// Bound of the travel of any point of a body by a change of its coordinates.
static double travel_by(const rf_frictional_body *b, const double *change) {
  if (b->n == 0) return 0.0;
  return b->of->motion->system->operations->farthest(b->of->motion->system, change);
}

// The same in the free deformations of both bodies of a pair.
static double own_travel(const rf_frictional *c, int32_t pair) {
  double travel = 0.0;
  for (int e = 0; e < 2; ++e) {
    const int32_t b = c->pair[pair].side[e];
    if (b >= 0) travel += travel_by(&c->body[b], c->body[b].way);
  }
  return travel;
}

double rf_frictional_alarm_rt(const rf_frictional *c, const rf_world *world, int32_t k) {
  const rf_pair *pair = world->pair[k];
  const rf_point_tree *t = pair->contact->search.tree;
  const rf_pose *pose = &pair->side[RF_PAIR_TREE].body->pose;
  double sum = c->margin_m + own_travel(c, k), centre[3], arm[3];
  rf_quat_rotate(pose->quaternion, t->centre, centre);
  for (int i = 0; i < 3; ++i) centre[i] += pose->position_m[i];
  for (int e = 0; e < 2; ++e) {
    const int32_t number = c->pair[k].side[e];
    const rf_frictional_body *b = &c->body[number < 0 ? 0 : number];
    if (number < 0 || !b->moves) continue;
    // places that a body can meet are its own points, or those of the shell
    rf_vec3_sub(b->centre, centre, arm);
    const bool known = number == c->held && c->reach_m > 0.0;
    const double reach = known ? c->reach_m : rf_vec3_length(arm) + t->extent;
    sum += rf_vec3_length(b->rigid) + reach * rf_vec3_length(b->rigid + 3);
  }
  return sum;
}

// ---- sites

// Free motions of a pair, in the frame of the shell.
typedef struct motions {
  double way[3], turn[3];  // of a place x of the field's body, seen from the shell's:
                           // way + turn x x
  double own;              // bound of the travel by deformation
  double spread;           // bound of the displacement of the points from their places at rest
  bool turned;             // normals at rest are not those of the points
} motions;

static motions motions_of(const rf_frictional *c, const rf_world *world, int32_t k) {
  const rf_pose *pose = &world->pair[k]->side[RF_PAIR_TREE].body->pose;
  motions m = {.own = own_travel(c, k)};
  for (int e = 0; e < 2; ++e) {
    const int32_t number = c->pair[k].side[e];
    const double sign = e == RF_PAIR_FIELD ? 1.0 : -1.0;
    const rf_frictional_body *b = &c->body[number < 0 ? 0 : number];
    double way[3], turn[3], arm[3], moved[3];
    if (number < 0 || !b->moves) continue;
    rf_vec3_sub(b->centre, pose->position_m, arm);
    rf_quat_rotate_back(pose->quaternion, arm, arm);
    rf_quat_rotate_back(pose->quaternion, b->rigid, way);
    rf_quat_rotate_back(pose->quaternion, b->rigid + 3, turn);
    rf_vec3_cross(turn, arm, moved);
    for (int i = 0; i < 3; ++i) {
      m.way[i] += sign * (way[i] - moved[i]);
      m.turn[i] += sign * turn[i];
    }
  }
  const int32_t shell = c->pair[k].side[RF_PAIR_TREE];
  if (shell >= 0 && c->body[shell].n > 0) {
    m.turned = true;
    m.spread = travel_by(&c->body[shell], c->body[shell].of->motion->q);
  }
  return m;
}

// True if a point may close its gap, or come near: by its motion along the inward normal of the
// shell, which is about the direction of the gap, and in part across it.
static bool may_touch(const rf_frictional *c, const rf_point_tree *t, int32_t place, double gap,
                      const motions *m) {
  const double *normal = t->normal + 3 * (size_t)place;
  double way[3];
  rf_vec3_cross(m->turn, t->rest + 3 * (size_t)place, way);
  for (int i = 0; i < 3; ++i) way[i] += m->way[i];
  const double length = rf_vec3_length(way) + m->spread * rf_vec3_length(m->turn);
  const double along = m->turned ? length : fmax(rf_vec3_dot(normal, way), 0.0) + ACROSS * length;
  return gap <= c->margin_m + m->own + along;
}

void rf_frictional_choose_rt(rf_frictional *c, const rf_world *world) {
  rf_sites_begin_rt(&c->sites);
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    const rf_contact_search *s = &world->pair[k]->contact->search;
    const rf_point_tree *t = s->tree;
    const motions m = motions_of(c, world, k);
    for (int32_t i = 0; i < s->touching; ++i) {
      const int32_t place = s->touch_place[i];
      if (!may_touch(c, t, place, s->touch_distance[i], &m)) continue;
      rf_site site = {.pair = k, .place = place, .gap = s->touch_distance[i]};
      site.axis = rf_sites_axis_rt(t->normal + 3 * (size_t)place);
      site.bore = bore(rf_frictional_law_rt(world, k), place);
      rf_vec3_sub(t->rest + 3 * (size_t)place, t->centre, site.rest);
      site.out = rf_vec3_length(site.rest) / t->extent;
      rf_sites_offer_rt(&c->sites, &site);
    }
  }
}

// The sites take the place of the points that the search of each pair has found.
static void keep_sites(const rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < world->n_pairs; ++k) world->pair[k]->contact->search.touching = 0;
  for (int32_t i = 0; i < c->sites.n; ++i) {
    const rf_site *site = &c->sites.site[i];
    rf_contact_search *s = &world->pair[site->pair]->contact->search;
    s->touch_place[s->touching] = site->place;
    s->touch_distance[s->touching++] = site->gap;
  }
}

// ---- rows

// Axes n, t1, t2: t1 is the coordinate axis farthest from n, made orthogonal.
static void put_axes(const double n[3], double out[9]) {
  int32_t least = 0;
  memcpy(out, n, 3 * sizeof *out);
  for (int32_t i = 1; i < 3; ++i)
    if (fabs(n[i]) < fabs(n[least])) least = i;
  double *t = out + 3;
  for (int32_t i = 0; i < 3; ++i) t[i] = (i == least ? 1.0 : 0.0) - n[least] * n[i];
  const double length = rf_vec3_length(t);
  for (int32_t i = 0; i < 3; ++i) t[i] /= length;
  rf_vec3_cross(n, t, out + 6);
}

// Enters a vector of n coordinates from `first` on in a column; returns its product with `way`.
static double put_column(rf_frictional *c, int32_t first, int32_t n, double sign,
                         const double *from, const double *way, int32_t column) {
  double sum = 0.0;
  for (int32_t j = 0; j < n; ++j) {
    c->levers[(size_t)(first + j) * (size_t)c->ld + (size_t)column] = sign * from[j];
    sum += from[j] * way[j];
  }
  return sign * sum;
}

// A point of a pair: its place in the world, and axes there.
typedef struct contact_point {
  int32_t pair;
  rf_contact *contact;
  const rf_contact_points *points;
  int32_t k;           // number among the points
  const double *pose;  // quaternion of the shell's body
  double place[3];     // in the world
} contact_point;

// Enters the row of an axis, given in the frame of the shell and in the world; returns the
// displacement along it in the free motions.
static double put_row(rf_frictional *c, const contact_point *p, const double local[3],
                      const double a[3], int32_t column) {
  const rf_contact_frame *frame = &p->contact->search.frame;
  double sum = 0.0, arm[3], rigid[6];
  for (int role = 0; role < 2; ++role) {
    const int32_t number = c->pair[p->pair].side[role];
    const double sign = role == RF_PAIR_TREE ? 1.0 : -1.0;
    if (number < 0) continue;
    const rf_frictional_body *b = &c->body[number];
    if (b->moves) {
      memcpy(rigid, a, 3 * sizeof *rigid);
      rf_vec3_sub(p->place, b->centre, arm);
      rf_vec3_cross(arm, a, rigid + 3);
      sum += put_column(c, b->first, 6, sign, rigid, b->rigid, column);
    }
    const bool deforms = role == RF_PAIR_TREE ? p->contact->search.tree->r > 0
                                              : p->contact->search.distance.deformed != NULL;
    if (b->n == 0 || !deforms) continue;
    memset(c->local, 0, (size_t)rf_dense_ld(b->n) * sizeof *c->local);
    if (role == RF_PAIR_TREE)
      rf_point_tree_project_rt(p->contact->search.tree, p->points->place[p->k], local, c->local);
    else
      rf_contact_carry_rt(&p->contact->wrench, frame, &p->points->carriers[p->k], local, c->local);
    sum += put_column(c, rf_frictional_deformation_rt(b), b->n, sign, c->local, b->way, column);
  }
  return sum;
}

static void clear_column(rf_frictional *c, int32_t column) {
  for (int32_t j = 0; j < c->rank; ++j) c->levers[(size_t)j * (size_t)c->ld + (size_t)column] = 0.0;
}

// Enters the rows of a point as site i, unless it stays open by the margin in the free motions.
static bool put_site(rf_frictional *c, int32_t i, const contact_point *p) {
  double local[9], *axes = c->axes + 9 * i, opening = p->points->gap[p->k];
  put_axes(p->points->gradient + 3 * p->k, local);
  for (int32_t e = 0; e < 3; ++e) {
    const int32_t column = 3 * i + e;
    rf_quat_rotate(p->pose, local + 3 * e, axes + 3 * e);
    const double way = put_row(c, p, local + 3 * e, axes + 3 * e, column);
    if (e == 0 && opening + way > c->margin_m) {
      clear_column(c, column);
      return false;
    }
  }
  return true;
}

// False if nothing of a pair yields to a given motion of the held body.
static bool yields(const rf_frictional *c, int32_t pair) {
  for (int e = 0; e < 2; ++e) {
    const int32_t b = c->pair[pair].side[e];
    if (b >= 0 && (b != c->held || c->body[b].n > 0)) return true;
  }
  return false;
}

static void put_pair(rf_frictional *c, const rf_world *world, int32_t k) {
  const rf_pose *pose = &world->pair[k]->side[RF_PAIR_TREE].body->pose;
  rf_contact *contact = world->pair[k]->contact;
  rf_contact_points points;
  contact_point p = {.pair = k, .contact = contact, .points = &points, .pose = pose->quaternion};
  for (int32_t first = 0; first < contact->search.touching; first += BLOCK) {
    rf_contact_search_points_rt(&contact->search, first, &points);
    for (p.k = 0; p.k < points.n; ++p.k) {
      const double *normal = points.normal + 3 * p.k;
      const int32_t place = points.place[p.k];
      if (rf_vec3_dot(points.gradient + 3 * p.k, normal) < RF_CONTACT_PASSED) continue;
      rf_quat_rotate(p.pose, points.position + 3 * p.k, p.place);
      for (int i = 0; i < 3; ++i) p.place[i] += pose->position_m[i];
      if (!put_site(c, c->n_sites, &p)) continue;
      c->site[c->n_sites++] = (rf_frictional_site){k, place, points.gap[p.k],
                                                   bore(rf_frictional_law_rt(world, k), place)};
    }
  }
}

void rf_frictional_rows_rt(rf_frictional *c, rf_world *world) {
  keep_sites(c, world);
  c->n_sites = 0;
  c->ld = rf_dense_ld(3 * c->sites.n);
  memset(c->levers, 0, (size_t)c->rank * (size_t)c->ld * sizeof *c->levers);
  for (int32_t k = 0; k < world->n_pairs; ++k)
    if (!c->moved || yields(c, k)) put_pair(c, world, k);
}
