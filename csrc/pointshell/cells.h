// Points sorted into the cells of a regular grid, to find the points near a position.
//
// The points of a run of cells along z are contiguous.  If there would be too many cells for their
// memory, for instance with parts far apart, the grid is folded: cells a multiple of its length
// apart share one entry, which costs speed only, as users compare distances.  Results do not depend
// on threads.
#ifndef RF_POINTSHELL_CELLS_H
#define RF_POINTSHELL_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Normals with a product above this are on the same side of a thin part: true for two faces at a
// sharp edge, false for the two faces of a sheet.
#define RF_SAME_SIDE (-0.5)
// Distances up to this, m, have finite squares.
#define RF_CELLS_FARTHEST 1e100

typedef struct rf_cells {
  int32_t capacity;   // allocated points
  int64_t max_cells;  // allocated cells
  int32_t n;
  int32_t count[3];                 // cells of the box along each axis
  int32_t dims[3];                  // cells of the folded grid; at most count
  double low[3], high[3], inverse;  // box of the points; 1 / size of a cell, 1/m
  int32_t *first;                   // first position of each cell in `item`   (cells + 1)
  int32_t *item;                    // points, cell by cell                 (n)
  int32_t *of;                      // cell of each point                   (n)
  double *x;                        // points in the order of `item`        (n, 3)
} rf_cells;

// Allocates memory for `capacity` points.
RF_MUST_CHECK rf_status rf_cells_allocate(int32_t capacity, rf_cells *out, rf_error *err);
void rf_cells_free(rf_cells *c);  // a zeroed struct is allowed

// Sorts n points (n, 3), 1 <= n <= capacity, closer to the origin than RF_CELLS_FARTHEST, into
// cells of the given size, m, or of a billionth of the box if that is larger.
void rf_cells_fill(rf_cells *c, int32_t n, const double *points, double size);

// Iterates over the cells near a position, row by row along z.
typedef struct rf_cells_walk {
  int32_t first[3], length[3];  // first cell along each axis, and number of cells
  int32_t i, j;                 // next row
  bool folded;                  // the rest of a folded row begins at the low side
} rf_cells_walk;

// Begins with the cells within `radius` along each axis; infinite: all cells.
static inline void rf_cells_begin(const rf_cells *c, const double x[3], double radius,
                                  rf_cells_walk *w) {
  *w = (rf_cells_walk){.folded = false};
  for (int a = 0; a < 3; ++a) {
    const double from = (x[a] - radius - c->low[a]) * c->inverse;
    const double to = (x[a] + radius - c->low[a]) * c->inverse;
    const double last = c->count[a] - 1;
    // out of reach of the box: length 0 along x ends the iteration at once
    if (x[a] - radius > c->high[a] || x[a] + radius < c->low[a]) {
      w->length[0] = 0;
      return;
    }
    const int32_t low = from > 0.0 ? (int32_t)(from < last ? from : last) : 0;
    const int32_t high = (int32_t)(to < last ? to : last);
    const bool all = high - low + 1 >= c->dims[a];
    w->first[a] = all ? 0 : low % c->dims[a];
    w->length[a] = all ? c->dims[a] : high - low + 1;
  }
}

// Returns the next points, positions `*k` to before `*end`; false at the end.
static inline bool rf_cells_next(const rf_cells *c, rf_cells_walk *w, int32_t *k, int32_t *end) {
  if (w->i == w->length[0]) return false;
  int32_t x = w->first[0] + w->i, y = w->first[1] + w->j;
  if (x >= c->dims[0]) x -= c->dims[0];
  if (y >= c->dims[1]) y -= c->dims[1];
  const int32_t behind = w->first[2] + w->length[2], over = behind - c->dims[2];
  const int32_t *row = c->first + ((size_t)x * (size_t)c->dims[1] + (size_t)y) * (size_t)c->dims[2];
  *k = row[w->folded ? 0 : w->first[2]];
  *end = row[w->folded ? over : over > 0 ? c->dims[2] : behind];
  w->folded = over > 0 && !w->folded;
  if (w->folded) return true;
  if (++w->j == w->length[1]) w->j = 0, ++w->i;
  return true;
}

// Positions from `begin` to before `end`.
typedef struct rf_cells_run {
  int32_t begin, end;
} rf_cells_run;

// Nine rows, each split in two if the grid is folded.
enum { RF_CELLS_RUNS = 18 };

// Finds the points of a cell and its neighbours: these include all points nearer to one of its
// points than the size of a cell.  Returns the number of runs, none of them empty.
int32_t rf_cells_around(const rf_cells *c, int32_t cell, rf_cells_run run[RF_CELLS_RUNS]);

// Points skipped by a search for the nearest one.
typedef struct rf_cells_filter {
  int32_t except;         // index of a point; -1: none
  const uint8_t *gone;    // nullable: points with 1 are skipped
  const double *normals;  // nullable: points whose normal (n, 3) is not on the same side as
  const double *normal;   // this one are skipped
} rf_cells_filter;

// Returns the nearest point, of equally near ones the lowest, or -1. `start`: radius of the first
// search, m; doubled until a point is found.
int32_t rf_cells_nearest(const rf_cells *c, const double p[3], const rf_cells_filter *filter,
                         double start, double *distance);

#endif
