#include "world/frictional.h"

#include <math.h>
#include <string.h>

#include "linalg/dense_rt.h"
#include "linalg/quat.h"

enum { BLOCK = RF_CONTACT_BLOCK, NARROWINGS = 4 };

static const double SAME = 0.999;  // product of directions that are taken for one
static const double NARROWER = 0.2;
static const double ACROSS = 0.5;  // part of a motion across the normal that may close a gap

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

// Bound of the displacement of the points of a shell from their places at rest.
static double spread_of(const rf_frictional *c, int32_t pair) {
  const int32_t shell = c->pair[pair].side[RF_PAIR_TREE];
  if (shell < 0 || c->body[shell].n == 0) return 0.0;
  return travel_by(&c->body[shell], c->body[shell].of->motion->q);
}

double rf_frictional_alarm_rt(const rf_frictional *c, const rf_world *world, int32_t k) {
  const rf_pair *pair = world->pair[k];
  const rf_point_tree *t = pair->contact->search.tree;
  const rf_pose *pose = &pair->side[RF_PAIR_TREE].body->pose;
  const double spread = spread_of(c, k);
  double sum = c->margin_m + own_travel(c, k) + c->pair[k].through_m, centre[3], arm[3];
  rf_quat_rotate(pose->quaternion, t->centre, centre);
  for (int i = 0; i < 3; ++i) centre[i] += pose->position_m[i];
  for (int e = 0; e < 2; ++e) {
    const int32_t number = c->pair[k].side[e];
    const rf_frictional_body *b = &c->body[number < 0 ? 0 : number];
    if (number < 0 || !b->moves) continue;
    // contact is at points of the shell: the reach is that to the farthest one
    rf_vec3_sub(b->centre, centre, arm);
    const bool known = number == c->held && c->reach_m > 0.0;
    const double reach = (known ? c->reach_m : rf_vec3_length(arm) + t->extent) + spread;
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
  double spread;           // spread_of
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
  m.turned = shell >= 0 && c->body[shell].n > 0;
  m.spread = spread_of(c, k);
  return m;
}

// Returns how far a point may come, and the margin: by its motion along the inward normal of the
// shell, which is about the direction of the gap, and in part across it.
static double reach_of(const rf_point_tree *t, int32_t place, double margin_m, const motions *m) {
  const double *normal = t->normal + 3 * (size_t)place;
  double way[3];
  rf_vec3_cross(m->turn, t->rest + 3 * (size_t)place, way);
  for (int i = 0; i < 3; ++i) way[i] += m->way[i];
  const double length = rf_vec3_length(way) + m->spread * rf_vec3_length(m->turn);
  const double along = m->turned ? length : fmax(rf_vec3_dot(normal, way), 0.0) + ACROSS * length;
  return margin_m + m->own + along;
}

// Counts the points of pair k that may come to touch, and offers them; to NULL: no more than that.
// part: of the reach of a bent pair.
static int32_t offer(rf_sites *to, const rf_frictional *c, const rf_world *world, int32_t k,
                     double part) {
  const rf_contact_search *s = &world->pair[k]->contact->search;
  const rf_point_tree *t = s->tree;
  const bool bent = rf_frictional_bent_rt(c, k);
  const rf_contact_sites *law = rf_frictional_law_rt(world, k);
  const double *gap = bent ? c->pair[k].gap : s->touch_distance;
  const motions m = motions_of(c, world, k);
  int32_t n = 0;
  for (int32_t i = 0; i < s->touching; ++i) {
    const int32_t place = s->touch_place[i];
    const bool bore = rf_frictional_bore_rt(law, place);
    const double reach = (bent ? part : 1.0) * reach_of(t, place, c->margin_m, &m);
    if (!(gap[i] <= reach) && !(bent && bore)) continue;
    ++n;
    if (!to) continue;
    rf_site site = {.pair = k, .place = place, .gap = gap[i]};
    site.axis = rf_sites_axis_rt(t->normal + 3 * (size_t)place);
    site.bent = bent;
    site.bore = bore;
    rf_vec3_sub(t->rest + 3 * (size_t)place, t->centre, site.rest);
    site.out = rf_vec3_length(site.rest) / t->extent;
    rf_sites_offer_rt(to, &site);
  }
  return n;
}

// Counts the points of all pairs that are bent, or of all others.
static int32_t count(const rf_frictional *c, const rf_world *world, bool bent, double part) {
  int32_t n = 0;
  for (int32_t k = 0; k < world->n_pairs; ++k)
    if (rf_frictional_bent_rt(c, k) == bent) n += offer(NULL, c, world, k, part);
  return n;
}

// Gaps of bent shells are those with the dimple, and free motions are far longer than the true ones
// under a tool that is pressed in.  So the part of their reach that counts is the largest one with
// sites for all their points, and also those beside a site, which have less of its dimple; 0 if
// there is none.  Half of the sites are theirs, and those that other pairs leave; if that is too
// few, all but a quarter.  The sites of other pairs share cells, which grow.
static double part_of(const rf_frictional *c, const rf_world *world, bool *enough, bool *all) {
  const int32_t most = c->sites.most, plain = count(c, world, false, 1.0);
  const int32_t left = most - plain, half = most / 2, last = plain < most / 4 ? plain : most / 4;
  const int32_t room = left > half ? left : half;
  double part = 1.0;
  for (int tries = 0; tries <= NARROWINGS; ++tries) {
    if (tries == NARROWINGS) part = 0.0;
    const int32_t n = count(c, world, true, part);
    *enough = n <= (tries == NARROWINGS ? most - last : room);
    *all = n <= left;
    if (*enough) break;
    part *= NARROWER;
  }
  return part;
}

void rf_frictional_choose_rt(rf_frictional *c, rf_world *world) {
  bool bent = false, enough = false, all = false;
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    if (!rf_frictional_bent_rt(c, k)) continue;
    bent = true;
    rf_frictional_dimple_gaps_rt(c, world, k);
  }
  const double part = bent ? part_of(c, world, &enough, &all) : 1.0;
  world->found.crowded = bent && !enough;
  if (all) c->sites.spacing = c->sites.least_spacing;
  c->sites.fine = enough;
  rf_sites_begin_rt(&c->sites);
  for (int32_t k = 0; k < world->n_pairs; ++k) (void)offer(&c->sites, c, world, k, part);
  for (int32_t k = 0; k < world->n_pairs; ++k) rf_frictional_note_others_rt(c, world, k);
}

static bool solves(const rf_frictional *c, int32_t pair) {
  return !c->moved || rf_frictional_yields_rt(c, pair);
}

// The sites take the place of the points that the search of each pair has found.
static void keep_sites(const rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < world->n_pairs; ++k)
    if (solves(c, k)) world->pair[k]->contact->search.touching = 0;
  for (int32_t i = 0; i < c->sites.n; ++i) {
    const rf_site *site = &c->sites.site[i];
    rf_contact_search *s = &world->pair[site->pair]->contact->search;
    if (!solves(c, site->pair)) continue;
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

// Displacements along an axis.
typedef struct displacement {
  double free, last;  // in the free motions, and by those of the last step
} displacement;

// Enters a vector of n coordinates from `first` on in a column, and adds its products.
static void put_column(rf_frictional *c, int32_t first, int32_t n, double sign, const double *from,
                       const double *way, const double *last, int32_t column, displacement *sum) {
  for (int32_t j = 0; j < n; ++j) {
    c->levers[(size_t)(first + j) * (size_t)c->ld + (size_t)column] = sign * from[j];
    sum->free += sign * from[j] * way[j];
    sum->last += sign * from[j] * last[j];
  }
}

// A point of a pair: its place in the world, and axes there.
typedef struct contact_point {
  int32_t pair;
  rf_contact *contact;
  const rf_contact_points *points;
  int32_t k;           // number among the points
  const double *pose;  // quaternion of the shell's body
  double place[3];     // in the world
  // of the block, where the dimple of the last step leads: the dimple, directions there, and the
  // gaps of the linearization without it
  double dimple[3 * BLOCK], direction[3 * BLOCK], gap[BLOCK];
} contact_point;

// Enters the row of an axis, given in the frame of the shell and in the world; returns the
// displacements along it.
static displacement put_row(rf_frictional *c, const contact_point *p, const double local[3],
                            const double a[3], int32_t column) {
  const rf_contact_frame *frame = &p->contact->search.frame;
  displacement sum = {0.0, 0.0};
  double arm[3], rigid[6];
  for (int role = 0; role < 2; ++role) {
    const int32_t number = c->pair[p->pair].side[role];
    const double sign = role == RF_PAIR_TREE ? 1.0 : -1.0;
    if (number < 0) continue;
    const rf_frictional_body *b = &c->body[number];
    if (b->moves) {
      memcpy(rigid, a, 3 * sizeof *rigid);
      rf_vec3_sub(p->place, b->centre, arm);
      rf_vec3_cross(arm, a, rigid + 3);
      put_column(c, b->first, 6, sign, rigid, b->rigid, b->last_rigid, column, &sum);
    }
    const bool deforms = role == RF_PAIR_TREE ? p->contact->search.tree->r > 0
                                              : p->contact->search.distance.deformed != NULL;
    if (b->n == 0 || !deforms) continue;
    memset(c->local, 0, (size_t)rf_dense_ld(b->n) * sizeof *c->local);
    if (role == RF_PAIR_TREE)
      rf_point_tree_project_rt(p->contact->search.tree, p->points->place[p->k], local, c->local);
    else
      rf_contact_carry_rt(&p->contact->wrench, frame, &p->points->carriers[p->k], local, c->local);
    put_column(c, rf_frictional_deformation_rt(b), b->n, sign, c->local, b->way, b->last_way,
               column, &sum);
  }
  return sum;
}

// A site whose rows are entered for the direction at the beginning of the step.
typedef struct entry {
  int32_t k;              // number among the points of the block
  double axes[9];         // in the frame of the shell
  displacement along[3];  // along them
  displacement normal;    // along the direction
  double gap;             // of the linearization where nothing moves
} entry;

static void put_entry(rf_frictional *c, int32_t site, const contact_point *p, entry *e) {
  e->k = p->k;
  e->gap = p->gap[p->k];
  put_axes(p->direction + 3 * p->k, e->axes);
  for (int32_t a = 0; a < 3; ++a) {
    double *axis = c->axes + 9 * site + 3 * a;
    rf_quat_rotate(p->pose, e->axes + 3 * a, axis);
    e->along[a] = put_row(c, p, e->axes + 3 * a, axis, 3 * site + a);
    e->along[a].last += rf_vec3_dot(e->axes + 3 * a, p->dimple + 3 * p->k);
  }
  e->normal = e->along[0];
}

// Turns the axes and rows of a site to another direction.
static void turn(rf_frictional *c, int32_t site, const double pose[4], const double normal[3],
                 entry *e) {
  double axes[9], r[9];
  put_axes(normal, axes);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r[3 * i + j] = rf_vec3_dot(axes + 3 * i, e->axes + 3 * j);
  for (int32_t j = 0; j < c->rank; ++j) {
    double *row = c->levers + (size_t)j * (size_t)c->ld + 3 * (size_t)site, old[3];
    memcpy(old, row, sizeof old);
    for (int i = 0; i < 3; ++i) row[i] = rf_vec3_dot(r + 3 * i, old);
  }
  for (int i = 0; i < 9; i += 3) rf_quat_rotate(pose, axes + i, c->axes + 9 * site + i);
  e->normal = (displacement){0.0, 0.0};
  for (int i = 0; i < 3; ++i) {
    e->normal.free += r[i] * e->along[i].free;
    e->normal.last += r[i] * e->along[i].last;
  }
}

// Gaps and directions of n sites, from number `first` on, at the end of the motions of the last
// step.  A site takes them where the direction agrees better with the shell, and the gap where it
// stays the same; a point that would pass through a thin part keeps both of the beginning.
static void look_ahead(rf_frictional *c, const contact_point *p, int32_t first, int32_t n,
                       entry *entries) {
  double position[3 * BLOCK], normal[3 * BLOCK], gap[BLOCK], gradient[3 * BLOCK];
  for (int32_t i = 0; i < n; ++i) {
    const entry *e = &entries[i];
    memcpy(normal + 3 * i, p->points->normal + 3 * e->k, 3 * sizeof *normal);
    for (int a = 0; a < 3; ++a)
      position[3 * i + a] = p->points->position[3 * e->k + a] + e->along[0].last * e->axes[a] +
                            e->along[1].last * e->axes[3 + a] + e->along[2].last * e->axes[6 + a];
  }
  rf_contact_search_ahead_rt(&p->contact->search, n, position, normal, gap, gradient);
  for (int32_t i = 0; i < n; ++i) {
    entry *e = &entries[i];
    const double *now = gradient + 3 * i;
    const double agrees = rf_vec3_dot(now, normal + 3 * i);
    if (agrees < RF_CONTACT_PASSED) continue;
    if (agrees > rf_vec3_dot(e->axes, normal + 3 * i))
      turn(c, first + i, p->pose, now, e);
    else if (rf_vec3_dot(now, e->axes) < SAME)
      continue;
    e->gap = gap[i] - e->normal.last;
  }
}

static void move_site(rf_frictional *c, int32_t from, int32_t to) {
  for (int32_t j = 0; j < c->rank; ++j) {
    double *row = c->levers + (size_t)j * (size_t)c->ld;
    memcpy(row + 3 * to, row + 3 * from, 3 * sizeof *row);
  }
  memcpy(c->axes + 9 * to, c->axes + 9 * from, 9 * sizeof *c->axes);
}

static void clear_site(rf_frictional *c, int32_t site) {
  for (int32_t j = 0; j < c->rank; ++j)
    memset(c->levers + (size_t)j * (size_t)c->ld + 3 * (size_t)site, 0, 3 * sizeof *c->levers);
}

bool rf_frictional_yields_rt(const rf_frictional *c, int32_t pair) {
  if (c->pair[pair].dimple) return true;
  for (int e = 0; e < 2; ++e) {
    const int32_t b = c->pair[pair].side[e];
    if (b >= 0 && (b != c->held || c->body[b].n > 0)) return true;
  }
  return false;
}

// Turns the dimple of an entry to the axes of its site, the last one entered.
static void put_dimple(const rf_frictional *c, const contact_point *p, const entry *e,
                       rf_frictional_site *site) {
  double dimple[3];
  rf_quat_rotate(p->pose, p->dimple + 3 * e->k, dimple);
  for (int a = 0; a < 3; ++a)
    site->dimple[a] = rf_vec3_dot(c->axes + 9 * (c->n_sites - 1) + 3 * a, dimple);
}

// Moves the points of a block by the dimple of the last step.
static void bend(rf_frictional *c, const rf_world *world, contact_point *p) {
  const rf_contact_points *points = p->points;
  rf_frictional_pair *pair = &c->pair[p->pair];
  double place[3 * BLOCK];
  const size_t size = 3 * (size_t)points->n * sizeof *place;
  memset(p->dimple, 0, size);
  memcpy(p->direction, points->gradient, size);
  memcpy(p->gap, points->gap, (size_t)points->n * sizeof *p->gap);
  if (!rf_frictional_bent_rt(c, p->pair)) return;
  for (int32_t k = 0; k < points->n; ++k) {
    double *dimple = p->dimple + 3 * k;
    rf_frictional_dimple_rt(c, world, p->pair, points->place[k], dimple);
    for (int i = 0; i < 3; ++i) place[3 * k + i] = points->position[3 * k + i] + dimple[i];
    if (rf_vec3_dot(points->gradient + 3 * k, points->normal + 3 * k) < 0.0)
      pair->through_m = fmax(pair->through_m, rf_vec3_length(dimple));
  }
  rf_contact_search_ahead_rt(&p->contact->search, points->n, place, points->normal, p->gap,
                             p->direction);
  if (p->contact->search.along_normal) memcpy(p->direction, points->normal, size);
  for (int32_t k = 0; k < points->n; ++k)
    p->gap[k] -= rf_vec3_dot(p->direction + 3 * k, p->dimple + 3 * k);
}

// Notes a point that has passed the middle of a thin part with its dimple: a force that vanishes
// with it is no solution.
static void note_passed(rf_frictional *c, rf_world *world, const contact_point *p) {
  rf_frictional_pair *pair = &c->pair[p->pair];
  if (!rf_frictional_bent_rt(c, p->pair)) return;
  const double moved = rf_vec3_dot(p->direction + 3 * p->k, p->dimple + 3 * p->k);
  pair->depth_m = fmax(pair->depth_m, -(p->gap[p->k] + moved));
  world->found.unsolved |=
      rf_frictional_bore_rt(rf_frictional_law_rt(world, p->pair), p->points->place[p->k]);
}

// Enters the sites of a block, but of those that stay open by the margin in the free motions.
static void put_block(rf_frictional *c, rf_world *world, contact_point *p) {
  const rf_contact_points *points = p->points;
  const double *place = world->pair[p->pair]->side[RF_PAIR_TREE].body->pose.position_m;
  const rf_contact_sites *law = rf_frictional_law_rt(world, p->pair);
  const int32_t first = c->n_sites;
  double world_place[3 * BLOCK];
  entry entries[BLOCK];
  int32_t n = 0;
  bend(c, world, p);
  for (p->k = 0; p->k < points->n; ++p->k) {
    const double *normal = points->normal + 3 * p->k;
    if (rf_vec3_dot(p->direction + 3 * p->k, normal) < RF_CONTACT_PASSED) {
      note_passed(c, world, p);
      continue;
    }
    for (int i = 0; i < 3; ++i)
      p->place[i] = points->position[3 * p->k + i] + p->dimple[3 * p->k + i];
    rf_quat_rotate(p->pose, p->place, p->place);
    for (int i = 0; i < 3; ++i) world_place[3 * n + i] = p->place[i] += place[i];
    put_entry(c, first + n, p, &entries[n]);
    ++n;
  }
  if (!p->contact->search.along_normal) look_ahead(c, p, first, n, entries);
  for (int32_t i = 0; i < n; ++i) {
    const entry *e = &entries[i];
    const int32_t at = points->place[e->k];
    if (e->gap + e->normal.free > c->margin_m) continue;
    if (c->n_sites != first + i) move_site(c, first + i, c->n_sites);
    rf_frictional_site *site = &c->site[c->n_sites++];
    *site = (rf_frictional_site){.pair = p->pair, .place = at, .gap = points->gap[e->k]};
    site->ahead = e->gap;
    put_dimple(c, p, e, site);
    memcpy(site->point, world_place + 3 * i, sizeof site->point);
    site->last = law->of[at];
    site->bore = rf_frictional_bore_rt(law, at);
  }
  for (int32_t i = c->n_sites; i < first + n; ++i) clear_site(c, i);
}

static void put_pair(rf_frictional *c, rf_world *world, int32_t k) {
  rf_contact *contact = world->pair[k]->contact;
  rf_contact_points points;
  contact_point p = {.pair = k,
                     .contact = contact,
                     .points = &points,
                     .pose = world->pair[k]->side[RF_PAIR_TREE].body->pose.quaternion};
  for (int32_t first = 0; first < contact->search.touching; first += BLOCK) {
    rf_contact_search_points_rt(&contact->search, first, &points);
    put_block(c, world, &p);
  }
}

void rf_frictional_rows_rt(rf_frictional *c, rf_world *world) {
  keep_sites(c, world);
  c->n_sites = 0;
  c->ld = rf_dense_ld(3 * c->sites.n);
  memset(c->levers, 0, (size_t)c->rank * (size_t)c->ld * sizeof *c->levers);
  for (int32_t k = 0; k < world->n_pairs; ++k)
    if (solves(c, k)) put_pair(c, world, k);
}
