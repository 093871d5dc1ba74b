// Shared by fronts.c, fronts_factor.c and fronts_solve.c.
#ifndef RF_LINALG_FRONTS_INTERNAL_H
#define RF_LINALG_FRONTS_INTERNAL_H

#include "linalg/fronts.h"
#include "linalg/simd.h"

// A subtree handled by one thread, or one front above such subtrees.
typedef struct rf_front_unit {
  int32_t begin, end;   // range of fronts; the last is the root
  int32_t parent;       // parent unit; -1: none
  int32_t child, next;  // first child, and next unit of the same parent, ascending; -1: none
  bool top;             // a single front, cut into tiles
  int64_t outside;      // offset of the root's rows outside the unit; unused at the top
} rf_front_unit;

struct rf_fronts {
  rf_supernodes nodes;
  int32_t *position;  // (n) column of each unknown
  int32_t *owner;     // (n) front of each column
  int32_t *child;     // (count) first child of each front, ascending; -1: none
  int32_t *next;      // (count) next child of the same parent; -1: none
  int32_t most_rows;  // largest number of rows of a front
  int64_t outside;    // total of the rows outside their units
  int32_t n_units;
  rf_front_unit *unit;  // in the order of the fronts
};

static inline int32_t rf_front_columns(const rf_fronts *f, int32_t s) {
  return f->nodes.column[s + 1] - f->nodes.column[s];
}
static inline int32_t rf_front_rows(const rf_fronts *f, int32_t s) {
  return f->nodes.row_begin[s + 1] - f->nodes.row_begin[s];
}
static inline const int32_t *rf_front_row(const rf_fronts *f, int32_t s) {
  return f->nodes.row + f->nodes.row_begin[s];
}
// Returns the parent of a front in the elimination tree; -1: a root.
static inline int32_t rf_front_parent(const rf_fronts *f, int32_t s) {
  const int32_t columns = rf_front_columns(f, s);
  return rf_front_rows(f, s) == columns ? -1 : f->owner[rf_front_row(f, s)[columns]];
}
// Returns the number of values of the factor.
static inline int64_t rf_fronts_values(const rf_fronts *f) {
  const int32_t last = f->nodes.count - 1;
  return f->nodes.value_begin[last] + (int64_t)rf_front_rows(f, last) * rf_front_columns(f, last);
}

static inline int32_t rf_least(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t rf_pieces(int32_t length, int32_t piece) {
  return (length + piece - 1) / piece;
}

// Columns [from, to) of a front and its rows below `end`, with blocks of right-hand sides.
typedef struct rf_front_panel {
  const rf_run *run;  // of steps on several threads; else NULL
  rf_simd simd;
  int32_t blocks;
  const double *l;
  double *z;  // (blocks, rows, RF_PANEL_WIDTH), blocks `stride` numbers apart
  int64_t stride;
  int32_t rows, from, to, end;
} rf_front_panel;

// Solve with the columns of a panel: by L, with the updates of the rows below, or by L^T.
void rf_front_forward(const rf_front_panel *p);
void rf_front_backward(const rf_front_panel *p);

// Processes a unit.  `worker` selects scratch; a top unit runs alone and may use the threads of the
// run.
typedef rf_status (*rf_front_fn)(void *context, int32_t unit, int worker, rf_error *err);

// Visits all units, each after its children (upward) or after its parent.
RF_MUST_CHECK rf_status rf_fronts_visit(const rf_fronts *f, const rf_run *run, bool upward,
                                        rf_front_fn visit, void *context, rf_error *err);

#endif
