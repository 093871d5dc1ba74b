#include "contact/search.h"

#include <math.h>

// A step of the traversal; places are requested one block ahead.
enum { BLOCK = RF_CONTACT_BLOCK, LAP = RF_CONTACT_LAP };

// Relative to the size of the scene: thousands of roundings.
static const double ROUNDING = 1e-12;

void rf_contact_search_locate_rt(const rf_contact_search *s, int32_t n, const int32_t *place,
                                 double *world, double *body) {
  rf_point_tree_positions_rt(s->tree, n, place, s->row, world);
  rf_contact_places(&s->frame, n, world, body);
}

static void record_touch(rf_contact_search *s, int32_t place, double distance) {
  s->touch_place[s->touching] = place;
  s->touch_distance[s->touching] = distance;
  ++s->touching;
}

// Requests memory; any address is allowed, and no result depends on it.
static void prefetch(const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// Queues the children of a node that is not clear.
static void descend(rf_contact_search *s, int32_t level, int32_t place, double distance) {
  const rf_point_tree *t = s->tree;
  const int next = (level + 1) & 1;
  // on the deepest level a copy has nothing left to do
  if (level + 2 < t->n_levels)
    s->copies[next][s->n_copies++] = (rf_contact_revisit){place, distance};
  const int32_t *child = t->child + level + t->node[level] + place;
  for (int32_t k = child[0]; k < child[1]; ++k) s->fresh[next][s->n_fresh++] = k;
  // read first on the next level
  if (s->coherence) prefetch(s->due + t->node[level + 1] + child[0]);
  rf_point_tree_prefetch_point_rt(t, child[0]);
}

// True if the sphere of a node, with the alarm distance, is clear by more than rounding; records
// the travel at which that may end.  Without the alarm distance it is clear for as much longer.
static bool clear(rf_contact_search *s, int32_t level, int64_t node, double distance,
                  double radius) {
  if (!(distance > radius)) return false;
  const double slack = rf_contact_slack_rt(&s->distance, distance, radius + s->margin);
  if (!(slack > 0.0)) return false;
  if (slack + s->alarm < s->clearance) s->clearance = slack + s->alarm;
  if (s->coherence) {
    const double until = s->travel[level] + slack;
    s->due[node] = until - (2.0 * s->margin + ROUNDING * slack + 1e-15 * until);
  }
  return true;
}

// ---- nodes that are due, moved to the front of their queue; the others are still clear

static int32_t keep_due_copies(rf_contact_search *s, int32_t level, int32_t n,
                               rf_contact_revisit *list) {
  const double *due = s->due + s->tree->node[level], travel = s->travel[level];
  const bool asked = s->clearance > 0.0;
  double first = INFINITY;
  int32_t kept = 0;
  for (int32_t k = 0; k < n; ++k) {
    const double until = due[list[k].place];
    list[kept] = list[k];
    kept += !(travel < until);
    if (asked) first = travel < until && until < first ? until : first;
  }
  if (asked) s->clearance = fmin(s->clearance, first - travel + s->alarm);
  return kept;
}

static int32_t keep_due_fresh(rf_contact_search *s, int32_t level, int32_t n, int32_t *list) {
  const double *due = s->due + s->tree->node[level], travel = s->travel[level];
  const bool asked = s->clearance > 0.0;
  double first = INFINITY;
  int32_t kept = 0;
  for (int32_t k = 0; k < n; ++k) {
    const int32_t place = list[k];
    const double until = due[place];
    list[kept] = place;
    kept += !(travel < until);
    if (asked) first = travel < until && until < first ? until : first;
  }
  if (asked) s->clearance = fmin(s->clearance, first - travel + s->alarm);
  return kept;
}

// ---- nodes of a level; both functions return how many are done when the time runs out

static int32_t render_copies(rf_contact_search *s, rf_contact_budget *b, int32_t level, int32_t n,
                             const rf_contact_revisit *list) {
  const rf_point_tree *t = s->tree;
  int64_t node[BLOCK];
  double radius[BLOCK];
  for (int32_t first = 0; first < n; first += BLOCK) {
    if (b->timed && first % LAP == 0 &&
        !rf_contact_budget_lap_rt(b, level, RF_CONTACT_COPY_COST, n - first, s->touching))
      return first;
    const int32_t count = n - first < BLOCK ? n - first : BLOCK;
    const rf_contact_revisit *block = list + first;
    for (int32_t k = 0; k < BLOCK && first + BLOCK + k < n; ++k)
      rf_point_tree_prefetch_bound_rt(t, t->node[level] + block[BLOCK + k].place);
    for (int32_t k = 0; k < count; ++k) node[k] = t->node[level] + block[k].place;
    rf_point_tree_bounds_rt(t, count, node, s->bound, radius);
    for (int32_t k = 0; k < count; ++k)
      if (!clear(s, level, node[k], block[k].distance, radius[k] + s->alarm))
        descend(s, level, block[k].place, block[k].distance);
  }
  return n;
}

// A block of new nodes on its way: its memory is requested one block ahead.
typedef struct stage {
  int32_t n;
  const int32_t *place;
  double body[3 * BLOCK];
} stage;

static void enter(const rf_contact_search *s, int32_t level, int32_t left, const int32_t *list,
                  stage *g) {
  const rf_point_tree *t = s->tree;
  double world[3 * BLOCK];
  g->n = left < BLOCK ? left : BLOCK;
  g->place = list;
  for (int32_t k = BLOCK; k < 2 * BLOCK && k < left; ++k)
    rf_point_tree_prefetch_point_rt(t, list[k]);
  rf_contact_search_locate_rt(s, g->n, list, world, g->body);
  for (int32_t k = 0; k < g->n; ++k) rf_contact_prefetch_rt(&s->distance, g->body + 3 * k);
  if (level + 1 == t->n_levels) return;
  for (int32_t k = 0; k < g->n; ++k) rf_point_tree_prefetch_bound_rt(t, t->node[level] + list[k]);
}

static void leave(rf_contact_search *s, int32_t level, const stage *g) {
  const rf_point_tree *t = s->tree;
  const bool deepest = level + 1 == t->n_levels;
  int64_t node[BLOCK];
  double radius[BLOCK] = {0}, distance[BLOCK];
  rf_contact_distances_rt(&s->distance, g->n, g->body, distance);
  for (int32_t k = 0; k < g->n; ++k) node[k] = t->node[level] + g->place[k];
  if (!deepest) rf_point_tree_bounds_rt(t, g->n, node, s->bound, radius);
  for (int32_t k = 0; k < g->n; ++k) {
    if (distance[k] < s->alarm) record_touch(s, g->place[k], distance[k]);
    if (deepest && !s->coherence && !(s->clearance > 0.0)) continue;
    if (clear(s, level, node[k], distance[k], radius[k] + s->alarm)) continue;
    if (!deepest) descend(s, level, g->place[k], distance[k]);
    if (!(s->clearance > 0.0)) continue;
    // the point itself, of a sphere that is not clear, or by less than rounding
    const double slack =
        distance[k] > 0.0 ? rf_contact_slack_rt(&s->distance, distance[k], s->margin) : 0.0;
    if (slack < s->clearance) s->clearance = slack > 0.0 ? slack : 0.0;
  }
}

static int32_t render_fresh(rf_contact_search *s, rf_contact_budget *b, int32_t level, int32_t n,
                            const int32_t *list) {
  stage stages[2];
  if (n == 0) return 0;
  enter(s, level, n, list, &stages[0]);
  for (int32_t first = 0; first < n; first += BLOCK) {
    const int turn = (first / BLOCK) & 1;
    const int32_t next = first + BLOCK;
    if (b->timed && first % LAP == 0 &&
        !rf_contact_budget_lap_rt(b, level, 1.0, n - first, s->touching))
      return first;
    if (next < n) enter(s, level, n - next, list + next, &stages[!turn]);
    leave(s, level, &stages[turn]);
  }
  return n;
}

// ---- points of the last cycle

// Before the levels, so that the time for these points counts.
static void recall(rf_contact_search *s, rf_contact_budget *b) {
  const int32_t n = s->touching < RF_CONTACT_RECALLED ? s->touching : RF_CONTACT_RECALLED;
  double world[3 * BLOCK], body[3 * BLOCK];
  s->n_recalled = n;
  for (int32_t first = 0; first < n; first += BLOCK) {
    const int32_t count = n - first < BLOCK ? n - first : BLOCK;
    int32_t *place = s->recalled_place + first;
    for (int32_t k = 0; k < count; ++k) place[k] = s->touch_place[first + k];
    rf_contact_search_locate_rt(s, count, place, world, body);
    rf_contact_distances_rt(&s->distance, count, body, s->recalled_distance + first);
  }
  b->effort = n;
}

// Adds those of the levels below the last one.
static void add_recalled(rf_contact_search *s) {
  for (int32_t k = 0; k < s->n_recalled; ++k)
    if (s->recalled_place[k] >= s->tree->count[s->level] && s->recalled_distance[k] < s->alarm)
      record_touch(s, s->recalled_place[k], s->recalled_distance[k]);
}

// ---- levels

static void begin_tree(rf_contact_search *s, rf_contact_budget *b) {
  s->n_recalled = 0;
  if (s->recalls) recall(s, b);
  s->touching = s->visited = s->skipped = 0;
  // without clearance nothing below looks for one
  s->clearance = s->asks_clearance ? INFINITY : 0.0;
  s->n_copies = 0;
  s->n_fresh = s->tree->count[0];
  for (int32_t k = 0; k < s->n_fresh; ++k) s->fresh[0][k] = k;
  if (b->timed) rf_contact_budget_look_rt(b);
}

// Renders the queued nodes of a level; false, and the touching points are those of before, where
// the time runs out.
static bool render_level(rf_contact_search *s, rf_contact_budget *b, int32_t level,
                         const rf_contact_queue *queued) {
  rf_contact_revisit *copies = s->copies[level & 1];
  int32_t *fresh = s->fresh[level & 1];
  int32_t n_copies = queued->copies, n_fresh = queued->fresh;
  if (s->coherence) {
    n_copies = keep_due_copies(s, level, n_copies, copies);
    n_fresh = keep_due_fresh(s, level, n_fresh, fresh);
    b->effort = RF_CONTACT_SKIP_COST * (queued->copies + queued->fresh);
  }
  s->n_copies = s->n_fresh = 0;
  const int32_t done_copies = render_copies(s, b, level, n_copies, copies);
  const bool on = done_copies == n_copies;
  const int32_t done_fresh = on ? render_fresh(s, b, level, n_fresh, fresh) : 0;
  s->visited += done_copies + done_fresh;
  const bool in_time = rf_contact_budget_closes_rt(b, level, s->touching);
  if (done_copies + done_fresh < n_copies + n_fresh || !in_time) {
    s->touching = queued->touching;
    return false;
  }
  b->counted += queued->copies + queued->fresh;
  s->skipped += (queued->copies - n_copies) + (queued->fresh - n_fresh);
  return true;
}

void rf_contact_search_tree_rt(rf_contact_search *s, rf_contact_budget *b) {
  const rf_point_tree *t = s->tree;
  int32_t level = 0;
  bool whole = true;
  begin_tree(s, b);
  for (; level < t->n_levels; ++level) {
    const rf_contact_queue queued = {s->n_copies, s->n_fresh, s->visited, s->touching};
    if (!rf_contact_budget_opens_rt(b, level, &queued)) break;
    whole = render_level(s, b, level, &queued);
    if (!whole) break;
  }
  s->level = b->last_level = level - 1;
  add_recalled(s);
  // nothing is known of nodes that were not visited, nor of a field whose slack is no bound
  const bool known = whole && (level == t->n_levels || s->n_copies + s->n_fresh == 0);
  s->clearance_m = known && !s->pose ? s->clearance : 0.0;
}

void rf_contact_search_all_rt(rf_contact_search *s, int32_t level) {
  double world[3 * BLOCK], body[3 * BLOCK], distance[BLOCK];
  int32_t place[BLOCK];
  s->level = level < s->tree->n_levels ? level : s->tree->n_levels - 1;
  s->touching = s->skipped = 0;
  s->clearance_m = 0.0;
  s->visited = s->tree->count[s->level];
  for (int32_t first = 0; first < s->visited; first += BLOCK) {
    const int32_t n = s->visited - first < BLOCK ? s->visited - first : BLOCK;
    for (int32_t k = 0; k < n; ++k) place[k] = first + k;
    rf_contact_search_locate_rt(s, n, place, world, body);
    rf_contact_distances_rt(&s->distance, n, body, distance);
    for (int32_t k = 0; k < n; ++k)
      if (distance[k] < s->alarm) record_touch(s, place[k], distance[k]);
  }
}
