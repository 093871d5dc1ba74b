// Points sorted into the cells of a regular grid: who is near a place.
//
// The points of a run of cells along z lie one behind the other.  Where there would be too many
// cells for their memory, as of parts that are far apart, the grid is folded: cells a multiple of
// its length from each other share one place, and who looks there compares distances anyway.
// Nothing here depends on threads.
#ifndef RF_POINTSHELL_CELLS_H
#define RF_POINTSHELL_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Normals whose product is above this are on the same side of a thin part: two faces that meet
// at a sharp edge are, the faces of a sheet are not.
#define RF_SAME_SIDE (-0.5)
// Squares of distances up to here are finite, m.
#define RF_CELLS_FARTHEST 1e100

typedef struct rf_cells {
  int32_t capacity;   // points there is room for
  int64_t max_cells;  // likewise
  int32_t n;
  int32_t count[3];                 // cells of the box along each axis
  int32_t dims[3];                  // and of the folded grid; no more
  double low[3], high[3], inverse;  // box of the points; 1 / size of a cell, 1/m
  int32_t *first;                   // first place of each cell in `item`   (cells + 1)
  int32_t *item;                    // points, cell by cell                 (n)
  int32_t *of;                      // cell of each point                   (n)
  double *x;                        // points in the order of `item`        (n, 3)
} rf_cells;

// Room for so many points.
RF_MUST_CHECK rf_status rf_cells_allocate(int32_t capacity, rf_cells *out, rf_error *err);
void rf_cells_free(rf_cells *c);  // zeroed is fine

// 1 <= n <= capacity points (n, 3), nearer than RF_CELLS_FARTHEST; cells of the given size in m, or
// of a billionth of the box if that is more.
void rf_cells_fill(rf_cells *c, int32_t n, const double *points, double size);

// A walk over the cells that hold what is near a place, row by row along z.
typedef struct rf_cells_walk {
  int32_t first[3], length[3];  // cells along each axis: the first one, and how many
  int32_t i, j;                 // row that comes next
  bool folded;                  // what is left of it begins at the low side
} rf_cells_walk;

// Begins a walk over the cells within `radius` along each axis; infinite: over all.
static inline void rf_cells_begin(const rf_cells *c, const double x[3], double radius,
                                  rf_cells_walk *w) {
  *w = (rf_cells_walk){.folded = false};
  for (int a = 0; a < 3; ++a) {
    const double from = (x[a] - radius - c->low[a]) * c->inverse;
    const double to = (x[a] + radius - c->low[a]) * c->inverse;
    const double last = c->count[a] - 1;
    // nothing beside the box; no length along x ends the walk before it begins
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

// The places of the next points, from `*k` to before `*end`; false when there are no more.
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

// Places from `begin` to before `end`.
typedef struct rf_cells_run {
  int32_t begin, end;
} rf_cells_run;

// Nine rows, each in two where the grid is folded.
enum { RF_CELLS_RUNS = 18 };

// The points of a cell and of those around it: all that is nearer to one of its points than the
// size of a cell.  Returns the number of runs, none of them empty.
int32_t rf_cells_around(const rf_cells *c, int32_t cell, rf_cells_run run[RF_CELLS_RUNS]);

// Points that a search for the nearest one skips.
typedef struct rf_cells_filter {
  int32_t except;         // a point; -1: none
  const uint8_t *gone;    // nullable: points with 1
  const double *normals;  // nullable: points whose normal (n, 3) is not on the same side
  const double *normal;   //           as this one
} rf_cells_filter;

// The nearest point, of equally near ones the lowest, or -1.  `start`: radius of the first
// search, m; doubled while nothing is found.
int32_t rf_cells_nearest(const rf_cells *c, const double p[3], const rf_cells_filter *filter,
                         double start, double *distance);

#endif
