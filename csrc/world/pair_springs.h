// Rows B of a pair with B^T B the matrix of its forces: each is a combination of W and both T of a
// point, times the root of the stiffness along it (pair_rows.h).
#ifndef RF_WORLD_PAIR_SPRINGS_H
#define RF_WORLD_PAIR_SPRINGS_H

#include "world/pair_rows.h"

enum { RF_PAIR_SPRINGS = 3 };  // rows of a point, at most

typedef struct rf_pair_spring {
  int32_t point;
  double part[RF_PAIR_SPRINGS];  // of W, T1 and T2
} rf_pair_spring;

// Lists the rows of the points that push by the last choice, and of their friction, as
// rf_pair_rows_multiply_rt has them; returns their number, at most RF_PAIR_SPRINGS n_rows.
int32_t rf_pair_springs_list_rt(const rf_pair_rows *t, double factor, bool secant,
                                rf_pair_spring *out);
// Returns B . u of a row.
double rf_pair_springs_along_rt(const rf_pair_rows *t, const rf_pair_spring *s,
                                const rf_pair_slots *u);
// applied = B^T f of n rows, with the forces on dimples.
void rf_pair_springs_load_rt(rf_pair_rows *t, int32_t n, const rf_pair_spring *s, const double *f);

#endif
