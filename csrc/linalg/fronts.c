#include "linalg/fronts.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/fronts_internal.h"

// Shares of the total work.  A subtree of at most SUBTREE is one unit; a front belongs to the top
// if it and its subtree exceed TOP.
static const double SUBTREE = 1.0 / 1024, TOP = 1.0 / 64;
static const double SMALL = 1e8;  // multiplications below which a second thread does not pay

static double elimination_work(double rows, double columns) { return columns * rows * rows; }

// Links each front to its children; computes the work at and below it.
static rf_status link_tree(rf_fronts *f, double *work, int32_t *below, rf_error *err) {
  const rf_supernodes *t = &f->nodes;
  for (int32_t s = 0; s < t->count; ++s) {
    f->child[s] = f->next[s] = -1;
    below[s] = 1;
    work[s] = elimination_work(rf_front_rows(f, s), rf_front_columns(f, s));
    for (int32_t c = t->column[s]; c < t->column[s + 1]; ++c) f->owner[c] = s;
    if (rf_front_rows(f, s) > f->most_rows) f->most_rows = rf_front_rows(f, s);
  }
  // children precede parents: a front is complete when its turn comes
  for (int32_t s = 0; s < t->count; ++s) {
    const int32_t parent = rf_front_parent(f, s);
    if (parent < 0) continue;
    if (parent <= s)
      return rf_fail(err, RF_ERR_INTERNAL, "supernode %d of the factor comes after its parent",
                     (int)s);
    work[parent] += work[s];
    below[parent] += below[s];
  }
  for (int32_t s = t->count - 1; s >= 0; --s) {
    const int32_t parent = rf_front_parent(f, s);
    if (parent < 0) continue;
    f->next[s] = f->child[parent];
    f->child[parent] = s;
    // a subtree is a contiguous range that ends with its root
    if (s - below[s] < parent - below[parent])
      return rf_fail(err, RF_ERR_INTERNAL, "supernodes of the factor are not in postorder");
  }
  return RF_OK;
}

static rf_status cut_units(rf_fronts *f, const double *work, const int32_t *below, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t count = f->nodes.count;
  int32_t *unit_of = NULL;
  double all = 0.0;
  for (int32_t s = 0; s < count; ++s)
    if (rf_front_parent(f, s) < 0) all += work[s];
  RF_ALLOC(unit_of, count);
  RF_ALLOC(f->unit, count);

  if (all < SMALL) {
    f->unit[0] = (rf_front_unit){.begin = 0, .end = count};
    f->n_units = 1;
  }
  for (int32_t s = 0; s < count && all >= SMALL; ++s) {
    const bool small = work[s] <= SUBTREE * all;
    if (small) {
      // only the root of the largest small subtree makes a unit
      const int32_t parent = rf_front_parent(f, s);
      if (parent >= 0 && work[parent] <= SUBTREE * all) continue;
    }
    f->unit[f->n_units++] = (rf_front_unit){
        .begin = small ? s + 1 - below[s] : s, .end = s + 1, .top = work[s] > TOP * all};
  }

  for (int32_t u = 0; u < f->n_units; ++u) {
    f->unit[u].parent = f->unit[u].child = f->unit[u].next = -1;
    for (int32_t s = f->unit[u].begin; s < f->unit[u].end; ++s) unit_of[s] = u;
  }
  for (int32_t u = f->n_units - 1; u >= 0; --u) {
    const int32_t s = f->unit[u].end - 1;
    f->unit[u].outside = f->outside;
    if (!f->unit[u].top) f->outside += rf_front_rows(f, s) - rf_front_columns(f, s);
    if (rf_front_parent(f, s) < 0) continue;
    const int32_t parent = unit_of[rf_front_parent(f, s)];
    f->unit[u].parent = parent;
    f->unit[u].next = f->unit[parent].child;
    f->unit[parent].child = u;
  }
done:
  rf_free(unit_of);
  return st;
}

rf_status rf_fronts_create(const rf_supernodes *nodes, rf_fronts **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_fronts *f = NULL;
  double *work = NULL;
  int32_t *below = NULL;
  *out = NULL;
  RF_ALLOC(f, 1);
  f->nodes = *nodes;
  RF_ALLOC(f->position, nodes->n);
  RF_ALLOC(f->owner, nodes->n);
  RF_ALLOC(f->child, nodes->count);
  RF_ALLOC(f->next, nodes->count);
  RF_ALLOC(work, nodes->count);
  RF_ALLOC(below, nodes->count);
  for (int32_t c = 0; c < nodes->n; ++c) f->position[nodes->permutation[c]] = c;
  RF_TRY(link_tree(f, work, below, err));
  RF_TRY(cut_units(f, work, below, err));
  *out = f;
  f = NULL;
done:
  rf_fronts_free(f);
  rf_free(work);
  rf_free(below);
  return st;
}

void rf_fronts_free(rf_fronts *f) {
  if (!f) return;
  rf_free(f->position);
  rf_free(f->owner);
  rf_free(f->child);
  rf_free(f->next);
  rf_free(f->unit);
  rf_free(f);
}

typedef enum progress { PENDING, DONE, FAILED } progress;

// Consecutive units below one front of the top, all in its subtree.
typedef struct batch {
  const rf_fronts *f;
  int32_t begin, end;
  bool upward;
  rf_front_fn visit;
  void *context;
  pthread_mutex_t lock;  // guards the two fields below
  pthread_cond_t changed;
  progress *of_unit;  // (n_units)
} batch;

// Returns the progress of the units that a unit depends on.
static progress before(const batch *b, int32_t unit) {
  const rf_front_unit *all = b->f->unit;
  if (!b->upward) return all[unit].parent < 0 ? DONE : b->of_unit[all[unit].parent];
  for (int32_t c = all[unit].child; c >= 0; c = all[c].next)
    if (b->of_unit[c] != DONE) return b->of_unit[c];
  return DONE;
}

// Tasks are claimed in order: units that this one depends on are finished or in progress.
static rf_status visit_unit(void *context, int64_t task, int worker, rf_error *err) {
  batch *b = context;
  const int32_t unit = b->upward ? b->begin + (int32_t)task : b->end - 1 - (int32_t)task;
  pthread_mutex_lock(&b->lock);
  progress needed;
  while ((needed = before(b, unit)) == PENDING) pthread_cond_wait(&b->changed, &b->lock);
  pthread_mutex_unlock(&b->lock);
  // rf_run_tasks reports the lowest task: the original failure, not this one
  const rf_status st = needed == DONE ? b->visit(b->context, unit, worker, err)
                                      : rf_fail(err, RF_ERR_INTERNAL, "an earlier part failed");
  pthread_mutex_lock(&b->lock);
  b->of_unit[unit] = st < 0 ? FAILED : DONE;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->lock);
  return st;
}

static rf_status visit_batch(batch *b, const rf_run *run, rf_error *err) {
  return rf_run_tasks(run, b->end - b->begin, 0, visit_unit, b, err);
}

rf_status rf_fronts_visit(const rf_fronts *f, const rf_run *run, bool upward, rf_front_fn visit,
                          void *context, rf_error *err) {
  rf_status st = RF_OK;
  batch b = {.f = f, .upward = upward, .visit = visit, .context = context};
  pthread_mutex_init(&b.lock, NULL);
  pthread_cond_init(&b.changed, NULL);
  RF_ALLOC(b.of_unit, f->n_units);
  for (int32_t first = 0, last; first < f->n_units; first = last) {
    // upward: units below the top, then one of the top; downward: the reverse
    last = first;
    if (upward) {
      while (last < f->n_units && !f->unit[last].top) ++last;
      b.begin = first, b.end = last;
      RF_TRY(visit_batch(&b, run, err));
      if (last < f->n_units) {
        RF_TRY(visit(context, last, 0, err));
        b.of_unit[last++] = DONE;
      }
    } else {
      const int32_t end = f->n_units - first;
      if (f->unit[end - 1].top) {
        RF_TRY(visit(context, end - 1, 0, err));
        b.of_unit[end - 1] = DONE;
        ++last;
      }
      while (last < f->n_units && !f->unit[f->n_units - 1 - last].top) ++last;
      b.begin = f->n_units - last, b.end = f->unit[end - 1].top ? end - 1 : end;
      RF_TRY(visit_batch(&b, run, err));
    }
  }
done:
  pthread_cond_destroy(&b.changed);
  pthread_mutex_destroy(&b.lock);
  rf_free(b.of_unit);
  return st;
}
