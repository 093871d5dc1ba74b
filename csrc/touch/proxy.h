// Contact of the tip of a tool with a surface that has Green's functions: a body that a hand
// touches directly (render/touch.h).
//
// The tip acts on the anchor, a point of a triangle.  Its force is spread over a disc of a fixed
// radius about the anchor by areas: a point force has no limit as the mesh is refined.  With the
// 3x3 compliance C of the disc, the way d from the place of the anchor at rest to the tip, and the
// outward normal n there:
//     n.d >= 0:  no contact;
//     C f = d, if |f_t| <= mu f_n, f_n = -n.f:  the anchor sticks to the tip;
//     n.(C f) = n.d, |f_t| = mu f_n, f_t along the tangential slip d - C f:  it slips,
//         and moves over the surface to where no slip is left, in a cycle by a bounded way
//         (proxy_turn_rt.c); in valleys faces share the force (proxy_valley_rt.c).
// Without friction C f = d, at an anchor where d.C^-1 d / 2 is least (proxy_smooth_rt.c).
//
// A tip that begins inside has a side only if it is not deep (RF_TIP_BEGIN), the body is thick
// there, and the surface next to it is not held.  Else, and after a way in one cycle beyond both
// the largest depth and RF_TIP_PRESS, or one that crossed no side, it has no force until it has
// been outside.
//
// Discs are found about the vertices and the middles of edges; inside triangles their shares and
// C are interpolated by quadratic functions, which keep centre and radius of gyration of a disc; C
// is raised where it would not be definite. Vertices at which no node has Green's functions are
// held. The body rests at its pose in the world.  Depths beyond the largest one count as that one.
//
// Supports of the body may be released (rf_tip_release), before sessions and while they run: copies
// take them up between two cycles, without a lock.  A pressed tip feels the stiffness
//     C^-1 = (1 - b) C_before^-1 + b C_after^-1,   b from 0 to 1 in RF_TIP_RELEASE_S
// so that the force of one that sticks changes linearly.  C_after - C_before is positive
// semidefinite at each point: the energy d.C^-1 d / 2 in store falls, and the hand does not get it.
// Beside supports that stay, where interpolation could break this, C_after is raised
// (proxy_interpolation.c).
#ifndef RF_TOUCH_PROXY_H
#define RF_TOUCH_PROXY_H

#include "green/green.h"
#include "mesh/surface.h"
#include "render/touch.h"

typedef struct rf_tip_settings {
  const rf_green *green;   // of a held solid; outlives the contact
  const double *position;  // of the nodes of the Green's functions, m        (green->count, 3)
  rf_surface surface;      // a vertex is a node if it is at the same position
  double radius_m;         // of the disc, >= 0; 0: a point
  double friction;         // >= 0
  double max_depth_m;      // > 0; 0: a tenth of the longest side of the surface's box
  rf_pose pose;            // of the body at rest, in the world
} rf_tip_settings;

typedef enum rf_tip_state {
  RF_TIP_OPEN,
  RF_TIP_STICKS,
  RF_TIP_SLIPS,
  RF_TIP_INSIDE  // no force until the tip has been outside
} rf_tip_state;

// Contact after a cycle, in the frame of the body.
typedef struct rf_tip_contact {
  rf_tip_state state;
  int32_t triangle;  // of the anchor; without contact the nearest one, -1: not known
  double weight[3];  // barycentric coordinates of the anchor
  double anchor[3];  // its place at rest
  double force[3];   // on the body, N
  double slip[3];    // d - C f; 0 without friction
  double normal[3];  // outward, unit
  double stiffness;  // of a slipping contact: change of its force with the depth, N/m
  double depth_m;    // of the tip below the surface at the anchor
  bool deep;         // that is beyond the largest one, or friction jams: the force is bounded
  double released;   // number of releases taken up, and the part b of the present one
} rf_tip_contact;

// Least normal compliance of a slipping contact over that without friction: large coefficients may
// jam a contact, whose force would have no bound.
#define RF_TIP_JAMMED 0.25

// Largest depth at which a tip may begin, over the largest one; and its share of the thickness.
#define RF_TIP_BEGIN 0.25

// Longest way of a tip in a cycle in which it keeps its side, over the longest side of the
// surface's box; and largest depth where none is given.
#define RF_TIP_PRESS 0.1

// Time in which a pressed tip takes up a release: as forces fade in (haptic/safety_rt.c).
#define RF_TIP_RELEASE_S 0.05

enum { RF_TIP_COORDINATES = 9 };  // state, triangle, weights, force, released: for publish_rt

// Creates a contact; RF_ERR_ARG: free solid, too few vertices are nodes, triangles without area.
RF_MUST_CHECK rf_status rf_tip_create(const rf_tip_settings *set, const rf_run *run, rf_touch **out,
                                      rf_error *err);
// Prepares a release of supports: the body will have the Green's functions `green`, made of the
// newest ones by rf_green_released_create, with the positions (green->count, 3) of their places.
struct rf_tip_stage;
RF_MUST_CHECK rf_status rf_tip_prepare_release(const rf_touch *touch, const rf_green *green,
                                               const double *position, const rf_run *run,
                                               struct rf_tip_stage **out, rf_error *err);
// Releases them: the body takes the stage over, and takes it up once the time of its cycles is
// `at_s`; copies of it do so by their own time, from 0 on, though not before earlier releases.
// It keeps what was before until it is freed: all Green's functions outlive it.  One thread at a
// time; cycles of copies may run.
void rf_tip_release(rf_touch *touch, struct rf_tip_stage *stage, double at_s);
// Contact of the last cycle, of a body that rf_tip_create made.
const rf_tip_contact *rf_tip_now(const rf_touch *touch);
// The same as an answer in the world; its positions are NaN before the first cycle.
void rf_tip_felt(const rf_touch *touch, rf_touch_felt *out);
// True while large surfaces are searched for the triangle next to the tip: there is no contact yet.
bool rf_tip_is_searching(const rf_touch *touch);
double rf_tip_max_depth(const rf_touch *touch);
// Places of the vertices in the newest Green's functions, -1: held; sets their number.
const int32_t *rf_tip_places(const rf_touch *touch, int32_t *n);
int32_t rf_tip_triangles(const rf_touch *touch);
int32_t rf_tip_rows(const rf_touch *touch);       // of rf_tip_displacement
double rf_tip_mean_nodes(const rf_touch *touch);  // in a disc about a vertex

// Present compliance (3, 3) of the disc about a point of a triangle, m/N, in the frame of the body.
void rf_tip_compliance_rt(const rf_touch *touch, int32_t triangle, const double weight[3],
                          double compliance[9]);
// Displacements u (rows, 3), rows: an rf_tip_rows, by a force there, after releases as in
// rf_tip_contact; those that the body does not know, or whose Green's functions have more than
// `rows` rows, count as the last one: other threads may release.
RF_MUST_CHECK rf_status rf_tip_displacement(const rf_touch *touch, double released,
                                            int32_t triangle, const double weight[3],
                                            const double force[3], int32_t rows, double *u,
                                            rf_error *err);

// Solves the laws above for the force f on the body; `frame`: rows n and two tangents; C and its
// inverse in that frame; `slip` is d - C f.  All vectors are in the frame.
rf_tip_state rf_tip_law_rt(const double c[9], const double inverse[9], double mu, const double d[3],
                           double f[3], double slip[3]);

#endif
