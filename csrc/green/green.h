// Green's functions of the surface of a solid: displacements of its nodes by forces there.
//
//   G = rows and columns of K_ff^-1 at the nodes of the surface, u = G f             (m/N)
//
// K is the stiffness at rest, f its free nodes.  Contacts are small dense problems with blocks of G
// (capacitance matrices; James & Pai 1999).  Two extensions keep the form of G:
//
//   released supports r: fixed nodes that may be freed.  With the static modes
//     Phi = -K_ff^-1 K_fr and S = K_rr + K_rf Phi, a release adds Phi S^-1 Phi^T to G.
//     Supports that were released for good are places of the surface from then on (released.h).
//   free solids: G maps loads to the deformation under inertia relief, with the six rigid motions
//     removed from loads and displacements in the metric of the mass (modes/modes.h).
//
// One triangle of G is stored, in tiles of RF_GREEN_TILE nodes squared, those on the diagonal
// whole: tile (I, J), J <= I, has the index I (I + 1) / 2 + J and contains the 3x3 block G_ij of
// nodes i of I and j of J at i RF_GREEN_TILE + j.  The columns of a node are then a row of some
// tiles, and pieces of others that share pages.  Entries are float or double; rf_green_block_rt
// converts to double.  With a tolerance, blocks of low rank take less memory (packed.h).
//
// Places are positions in the list of nodes.  Fields over the surface have rf_green_rows(g) rows:
// those beyond `count` are scratch.
#ifndef RF_GREEN_GREEN_H
#define RF_GREEN_GREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

enum { RF_GREEN_TILE = 16, RF_GREEN_RIGID = 6 };

// Incomplete here, as real-time code includes this header.
struct rf_solid;
struct rf_green_packed;

typedef struct rf_green {
  int32_t n_nodes, count;          // nodes of the mesh; of the surface
  int32_t *node;                   // ascending, then released supports          (count)
  bool single;                     // entries are float
  void *entry;                     // tiles; NULL: packed
  struct rf_green_packed *packed;  // blocks of low rank (packed.h); NULL: tiles
  int32_t n_releasable;
  int32_t *releasable;   // fixed nodes, ascending                           (n_releasable)
  double *static_modes;  // Phi at the surface      (3 n_releasable, rf_green_rows(g), 3)
  double *support;       // S, N/m                  (3 n_releasable, 3 n_releasable)
  double *firm;          // f of released.h; NULL: the diagonal of S         (3 n_releasable)
  double *rigid;  // motions of a free solid, NULL: held  (RF_GREEN_RIGID, rf_green_rows(g), 3)
  // after a release for good: G = that of the first places, with entries, plus A A^T
  int32_t stored;   // places with entries
  bool borrows;     // the entries, of others that outlive these
  int32_t n_added;  // columns of A, 3 for each of the other places
  double *added;    // A                                          (3 count, n_added)
  rf_simd simd;
} rf_green;

static inline int64_t rf_green_tiles(int32_t count) {
  const int64_t side = (count + RF_GREEN_TILE - 1) / RF_GREEN_TILE;
  return side * (side + 1) / 2;
}
// Returns the number of entries; one block more is allocated, which kernels may read.
static inline int64_t rf_green_entries(int32_t count) {
  return rf_green_tiles(count) * RF_GREEN_TILE * RF_GREEN_TILE * 9;
}
static inline int32_t rf_green_rows(const rf_green *g) {
  return (g->count + RF_GREEN_TILE - 1) / RF_GREEN_TILE * RF_GREEN_TILE;
}
// Returns the index of the first entry of the block of places i and j of a stored tile.
static inline int64_t rf_green_at(int32_t i, int32_t j) {
  const int64_t I = i / RF_GREEN_TILE, J = j / RF_GREEN_TILE;
  const int64_t tile = I * (I + 1) / 2 + J;
  return 9 * ((tile * RF_GREEN_TILE + i % RF_GREEN_TILE) * RF_GREEN_TILE + j % RF_GREEN_TILE);
}

typedef struct rf_green_settings {
  const int32_t *node;  // of the surface, ascending and free        (count)
  int32_t count;
  const int32_t *releasable;  // ascending fixed nodes                (n_releasable)
  int32_t n_releasable;
  bool single;
  double tolerance;  // of blocks of low rank (packed.h); 0: exact
  rf_simd simd;
} rf_green_settings;

// Computes G by one factorization and blocks of solves.
RF_MUST_CHECK rf_status rf_green_create(const struct rf_solid *solid, const rf_run *run,
                                        const rf_green_settings *set, rf_green **out,
                                        rf_error *err);
// Allocates all arrays, zero but for the lists of nodes: as of a file; no tiles with a tolerance.
RF_MUST_CHECK rf_status rf_green_allocate(int32_t n_nodes, bool is_free,
                                          const rf_green_settings *set, rf_green **out,
                                          rf_error *err);
void rf_green_free(rf_green *g);  // NULL is allowed
// Allocates all arrays but the entries, unchecked; nodes may have any order.
RF_MUST_CHECK rf_status rf_green_reserve(int32_t n_nodes, bool is_free,
                                         const rf_green_settings *set, rf_green **out,
                                         rf_error *err);

// Returns the bytes of all arrays but the lists of nodes.
int64_t rf_green_bytes(const rf_green *g);

// Copies G to a dense matrix (3 count, 3 count) of float if g->single, else of double.
void rf_green_dense(const rf_green *g, void *out);

// Copies the block G_ij of two places, row-major.
void rf_green_block_rt(const rf_green *g, int32_t i, int32_t j, double block[9]);
// The same with lifted blocks, if they are packed (packed.h).
void rf_green_lifted_block_rt(const rf_green *g, double lift, int32_t i, int32_t j,
                              double block[9]);

// Computes the compliance of a force that is spread over places by shares: sum of s_i s_j G_ij.
void rf_green_spread_compliance_rt(const rf_green *g, int64_t m, const int32_t *place,
                                   const double *share, double compliance[9]);

// A point of the surface: a node, or a point of a triangle by its barycentric coordinates.
typedef struct rf_green_point {
  int32_t place[3];
  double weight[3];
} rf_green_point;

// Computes the displacement at p by a force at q: block (3, 3), row-major.
void rf_green_between_rt(const rf_green *g, const rf_green_point *p, const rf_green_point *q,
                         double block[9]);

// u (rows, 3) += G f for forces f (m, 3) at places.
void rf_green_add_rt(const rf_green *g, int32_t m, const int32_t *place, const double *force,
                     double *u);
// The same with lifted blocks, if they are packed (packed.h).
void rf_green_add_lifted_rt(const rf_green *g, double lift, int32_t m, const int32_t *place,
                            const double *force, double *u);

// u (rows, 3) = G f for a load (count, 3); NULL: zero.
void rf_green_load_rt(const rf_green *g, const double *load, double *u);

// Prescribed displacements of some DOFs of the surface, under a load, with some supports released.
typedef struct rf_green_problem {
  int32_t held;          // DOFs
  const int32_t *place;  // (held)
  const int32_t *axis;   // (held)
  const double *target;  // m                                           (held)
  const double *load;    // N; nullable                                 (count, 3)
  int32_t n_released;
  const int32_t *released;  // indices in g->releasable, distinct       (n_released)
} rf_green_problem;

// Solves for the forces (held) of the held DOFs, u (rows, 3), and the displacements of the released
// nodes (n_released, 3); `lift` becomes that of packed blocks.  RF_ERR_SINGULAR: the conditions
// contradict each other or are redundant.
RF_MUST_CHECK rf_status rf_green_solve(const rf_green *g, const rf_run *run,
                                       const rf_green_problem *problem, double *force, double *u,
                                       double *released, double *lift, rf_error *err);

#endif
