// Friction cycle: Signorini's and Coulomb's laws at sites between a held body and all that deform,
// solved with the motions of all bodies (D06 4, 5).
//
// A step:
//     foresee    free motions y of all bodies, without contact: of the held one from its holder, of
//                deforming ones by their linearized step (dynamics/motion.h).  Pairs look for
//                points within the travel of the held body and the shell, and a margin.
//     constrain  sites (world/sites.h), each with the normal and two tangents as axes.  With H the
//                rows of their displacements by all coordinates, C the compliances of the step,
//                    W = H C H^T + c,   free = gap + H y (normal),   H y - c f_last (tangents).
//                constraint/friction.h gives the forces f.
//     step       y + C H^T f: the holder moves its body under the wrench, the others finish their
//                steps under H^T f.
//
// Gaps are linearized at the place that the motion of the last step leads to, as the direction of a
// point that slides under an edge of a field changes there.  With the direction of the beginning,
// the side of the field would hold it back, or lift it.
//
// Coordinates of a body: six of its pose if that moves (the held body, and free ones), and those of
// its deformation.  A row of the axis a at x has (a, (x - x_g) x a) for a pose about x_g and U^T a
// for a deformation; those of the field's body have the opposite sign.  Factors replace inverses:
// C = L^-T L^-1, so that W = V V^T + c with V = H L^-T.
//
// The slip of a site that sticks, in a solve that had no time, is taken back in the next one; it
// would add up to a creep.
//
// c f_last is the tangential spring of a site as the last step has left it, so that contact at rest
// does not creep.  c > 0 also makes forces unique (D06 6.3); by default it is a thousandth of the
// mean diagonal of H C H^T.
//
// A shell may have a local compliance S (contact/local.h): its points move by the coordinates and
// by S f, f the forces of this step alone.  S is added to W.  As S f replaces the dimple of the
// last step, gaps are those of the shell without one; linearized where the last dimple leads to, so
// that nothing is linearized at rest: the shell without one may be past the middle of a small tool.
// Slip is from the place in the last step, so the last dimple is subtracted from the tangents.
// Sites are chosen, and depths counted, with the last dimple.
//
// A second order of it (frictional_second_rt.c) is linearized at the forces of the last step.
//
// A simulation with shorter steps is replaced in the solve by one whole step, as in coupled.h, and
// makes its own under the constant force.  Where the matrix of a body is not positive definite, its
// deformation is rigid in the solve, and makes its step under the forces.
//
// A holder that moves its body in another way than the forces say (render/depth_limit.h) has the
// step solved again, with that motion and C = 0 for the held body: the others are then not pushed
// by a motion that is not made.  Pairs of bodies that do not yield to it keep the forces of the
// first solve.
//
// Overlaps of free bodies, as where they begin, close at 0.1 m/s at most: closed in one step, they
// would become a velocity.
#ifndef RF_WORLD_FRICTIONAL_H
#define RF_WORLD_FRICTIONAL_H

#include "base/status.h"
#include "constraint/friction.h"
#include "contact/contact_state.h"
#include "dynamics/motion.h"
#include "linalg/vec3.h"
#include "world/sites.h"
#include "world/world.h"

// A body that moves or deforms.
typedef struct rf_frictional_body {
  rf_body *of;
  int32_t first;  // of its coordinates among those of all
  bool moves;     // its first six coordinates are those of the pose
  bool touched;   // had sites in the last step
  // the pose: free motion about the reference point in the world, root of the compliance (lower
  // triangular), load
  double rigid[6], root[36], centre[3], wrench[6];
  // the deformation
  int32_t n;
  rf_motion *whole;  // replaces shorter steps by one; NULL: not needed; owned
  bool yields;       // in this step: its matrix is positive definite
  double *way;       // free motion of its coordinates                           (ld)
  double *force;     // H^T f                                                    (ld)
  // motions of the last step, and the state where it ended
  bool begun;
  double last_rigid[6], last_centre[3], last_turn[4];
  double *last_way, *last_q;  //                                                      (ld)
} rf_frictional_body;

// Second order of a dimple at some points: those that bore forces, then those of all sites.
typedef struct rf_frictional_second {
  int32_t n;
  int32_t *point;  // ascending                                                   (most)
  double *force;   // of the last step along their directions, N                  (most)
  double *matrix;  // sum_r T_pqr g_r, m/N, of one with a force or two            (n, n)
  int32_t n_bearing;
  int32_t *bearing;  // number among those with forces, -1: none                  (most)
  double *normal;    // S_pq of these, along the directions            (n_bearing, n_bearing)
  double *root;      // scratch                                   (rf_dense_ld(most), squared)
  double *more;      // half of matrix g, m                                         (most)
  int32_t *near;     // scratch                                                     (most)
  int32_t *at;       // number of a point among these                               (n_points)
  int64_t *in;       // in which list it has that number                            (n_points)
  int64_t lists;
  double whole, part;  // factors of S and T by the bound
  bool wide;           // points that bear are farther apart than T has triples
  rf_simd simd;
} rf_frictional_second;

// The dimple of a shell by the forces of the last step, computed at the carriers that are asked
// for.
typedef struct rf_frictional_dimple {
  const rf_contact_local *local;
  const rf_body *shell;
  int64_t step;
  int32_t left;  // products of a block and a force that the choice of sites may still make
  int32_t n_loaded;
  int32_t *loaded;  // carriers with a force                                      (n_carriers)
  double *force;    // N, in the frame of the shell                               (n_carriers, 3)
  double *moved;    // m, likewise                                                (n_carriers, 3)
  int64_t *loaded_in, *moved_in;  // the step in which these were set             (n_carriers)
  // blocks of S of one point after the other and the carriers of others
  int64_t n_rows;
  double *row;      // m/N                                                        (n_carriers, 9)
  int64_t *row_of;  // the number of the row in which it was set                  (n_carriers)
  rf_frictional_second *second;  // NULL: none
} rf_frictional_dimple;

// Bodies of a pair by their roles, as numbers among those that move or deform; -1: at rest.
typedef struct rf_frictional_pair {
  int32_t side[2];
  rf_frictional_dimple *dimple;  // of the shell; NULL: none
  int32_t next;                  // first of the points found whose dimple had to wait
  double *gap;                   // with the dimple, of the points found             (n_points)
  double depth_m;                // of points that are no sites, at the beginning of the step
  double through_m;              // dimple of a site whose place without it is past the middle
} rf_frictional_pair;

// A site whose rows are entered.
typedef struct rf_frictional_site {
  int32_t pair, place;
  double gap;                         // m
  double ahead;                       // gap of the linearization where nothing moves, m
  double dimple[3];                   // of the last step, along the axes, m
  double constant[3];                 // of the dimple, linearized by forces, likewise
  double point[3];                    // in the world, m
  struct rf_contact_site_force last;  // of the step before
  bool bore;                          // a force then
} rf_frictional_site;

typedef struct rf_frictional {
  int32_t n_bodies, n_pairs;
  int32_t rank;              // the coordinates of all bodies
  rf_frictional_body *body;  // (n_bodies)
  rf_frictional_pair *pair;  // (n_pairs)
  int32_t held;              // number of the held body
  double reach_m;            // of the held body; 0: unknown
  bool moved;                // the motion of the held body is given
  double margin_m;           // added to the alarm distance
  double compliance;         // c, m/N; 0: automatic
  double budget_us;
  rf_sites sites;
  int32_t n_sites;  // with rows
  bool solved;      // their forces are a solution
  rf_frictional_site site[RF_SITES_MOST];
  rf_friction *solver;
  // of these, by columns: site, axis                                        (3 RF_SITES_MOST)
  int32_t ld;      // of a row, for the sites of this step
  double *levers;  // H^T                                                      (rank, ld)
  double *halves;  // V^T                                                      (rank, ld)
  double *factor;  // V                                                        (ld, rank)
  double *axes;    // n, t1, t2 of each site                                   (most, 9)
  double *gap, *start, *forces, *mu, *ends;
  double *local;  // U^T a                                                    (largest ld)
  // of shells with a local compliance
  int32_t n_dimples;
  rf_frictional_dimple *dimple;  // (n_pairs)
  double yielding;               // c of this step, m/N
  double *local_matrix;  // H S H^T                                            (3 sites, 3 sites)
} rf_frictional;

// Functions of the solver (world/solver.h).  All pairs have the law with sites; one body is held.
RF_MUST_CHECK rf_status rf_frictional_foresee_rt(void *self, rf_world *world,
                                                 const rf_held_free *held);
RF_MUST_CHECK rf_status rf_frictional_constrain_rt(void *self, rf_world *world, const double *move,
                                                   double end_us, double wrench[6]);
RF_MUST_CHECK rf_status rf_frictional_finish_rt(void *self, rf_world *world, const double move[6]);
void rf_frictional_prepare_rt(void *self);
void rf_frictional_reset_rt(void *self);

// ---- frictional_rows_rt.c, for frictional_rt.c

// Distance within which the points of pair k may come to touch in the free motions, m.
double rf_frictional_alarm_rt(const rf_frictional *c, const rf_world *world, int32_t k);
// Chooses the sites of a step among the points that the searches have found.
void rf_frictional_choose_rt(rf_frictional *c, rf_world *world);
// Enters the rows H of the sites, but of those that stay open by the margin in the free motions.
void rf_frictional_rows_rt(rf_frictional *c, rf_world *world);

static inline rf_contact_sites *rf_frictional_law_rt(const rf_world *world, int32_t pair) {
  return rf_contact_law_sites_rt(&world->pair[pair]->contact->law);
}
// True if the point at a place bore a force in the last step.
static inline bool rf_frictional_bore_rt(const rf_contact_sites *law, int32_t place) {
  const struct rf_contact_site_force *at = law->of + place;
  return at->cycle == law->cycle - 1 && rf_vec3_dot(at->force, at->force) > 0.0;
}
// False if nothing of a pair yields to a given motion of the held body.
bool rf_frictional_yields_rt(const rf_frictional *c, int32_t pair);

// ---- frictional_local_rt.c, for both

// Keeps the forces of the last step.
void rf_frictional_note_forces_rt(rf_frictional *c, const rf_world *world);
// True if the last step has bent the shell of a pair.
static inline bool rf_frictional_bent_rt(const rf_frictional *c, int32_t pair) {
  return c->pair[pair].dimple && c->pair[pair].dimple->n_loaded > 0;
}
// Computes the displacement of a point by these forces, in the frame of the shell.
void rf_frictional_dimple_rt(const rf_frictional *c, const rf_world *world, int32_t pair,
                             int32_t place, double out[3]);
// Computes the gaps with the dimple of the points that the search of a bent pair has found.  In a
// step there is time for some thousands of products, two for each pair of many sites; other points
// get INFINITY and are first in the next step, but those that bore a force never wait.
void rf_frictional_dimple_gaps_rt(rf_frictional *c, const rf_world *world, int32_t pair);
// Keeps the largest depth of those that are no sites.
void rf_frictional_note_others_rt(rf_frictional *c, const rf_world *world, int32_t pair);
// Fills local_matrix for the sites; returns its trace.
double rf_frictional_put_local_rt(rf_frictional *c, const rf_world *world);
// Keeps the depths at the end of the step, for the next search, and if a contact was too wide.
void rf_frictional_note_depths_rt(rf_frictional *c, rf_world *world);

// ---- frictional_second_rt.c, for frictional_local_rt.c

// Finds the second order of a dimple at the points that bore forces.
void rf_frictional_second_begin_rt(rf_frictional *c, const rf_world *world,
                                   rf_frictional_dimple *d);
// Adds it to a displacement by S.
void rf_frictional_second_move_rt(const rf_frictional_dimple *d, int32_t point, double out[3]);
// Finds it at the points of all sites.
void rf_frictional_second_sites_rt(rf_frictional *c, const rf_world *world,
                                   rf_frictional_dimple *d);
// Notes a block of S of two of these.
void rf_frictional_second_note_rt(rf_frictional_dimple *d, int32_t p, int32_t q,
                                  const double block[9]);
// Adds it to local_matrix and the sites, with axes (n_sites, 9) in the frame of the shell.
void rf_frictional_second_put_rt(rf_frictional *c, const rf_world *world, rf_frictional_dimple *d,
                                 const double *axes);
// Computes the displacement of a point by S alone.
void rf_frictional_linear_rt(rf_frictional_dimple *d, int32_t point, double out[3]);

// Rows of the deformation of a body among those of all.
static inline int32_t rf_frictional_deformation_rt(const rf_frictional_body *b) {
  return b->first + (b->moves ? 6 : 0);
}

#endif
