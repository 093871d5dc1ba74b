// Points sorted into the cells of a regular grid: who is near a place.
//
// The points of a run of cells along z lie one behind the other.  Cells are enlarged where there
// would be too many of them.  Nothing here depends on threads.
#ifndef RF_POINTSHELL_CELLS_H
#define RF_POINTSHELL_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Normals whose product is above this are on the same side of a thin part: two faces that meet
// at a sharp edge are, the faces of a sheet are not.
#define RF_SAME_SIDE (-0.5)

typedef struct rf_cells {
  int32_t capacity;   // points there is room for
  int64_t max_cells;  // likewise
  int32_t n;
  int32_t dims[3];
  double low[3], high[3], inverse;  // box of the points; 1 / size of a cell, 1/m
  int32_t *first;                   // first place of each cell in `item`   (cells + 1)
  int32_t *item;                    // points, cell by cell                 (n)
  int32_t *of;                      // cell of each point                   (n)
  double *x;                        // points in the order of `item`        (n, 3)
} rf_cells;

// Room for so many points.
RF_MUST_CHECK rf_status rf_cells_allocate(int32_t capacity, rf_cells *out, rf_error *err);
void rf_cells_free(rf_cells *c);  // zeroed is fine

// 1 <= n <= capacity finite points (n, 3); cells of the given size in m, or larger.
void rf_cells_fill(rf_cells *c, int32_t n, const double *points, double size);

// Cells along an axis that hold what is within `radius` of a coordinate; empty when to < from.
static inline void rf_cells_range(const rf_cells *c, int axis, double x, double radius,
                                  int32_t *from, int32_t *to) {
  const double a = (x - radius - c->low[axis]) * c->inverse;
  const double b = (x + radius - c->low[axis]) * c->inverse;
  const int32_t last = c->dims[axis] - 1;
  *from = a > 0.0 ? (a <= (double)last ? (int32_t)a : last + 1) : 0;
  *to = b >= 0.0 ? (b < (double)last ? (int32_t)b : last) : -1;
}

// The points of a row of cells: places from `*k` to before the returned one.
static inline int32_t rf_cells_row(const rf_cells *c, int32_t i, int32_t j, int32_t from,
                                   int32_t to, int32_t *k) {
  const size_t row = ((size_t)i * (size_t)c->dims[1] + (size_t)j) * (size_t)c->dims[2];
  *k = c->first[row + (size_t)from];
  return c->first[row + (size_t)to + 1];
}

// Whom a search for the nearest point passes over.
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
