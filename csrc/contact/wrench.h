// Sums over contact points: wrench on the field object, its derivative, reduced forces, and blocks
// for joint solves (B07 3.5).
//
// A row of force f and axis a at x (contact/law.h) puts on the field object, about its grasp point
// x_g, the wrench f (a, (x - x_g) x a), and -f a on the shell.  All sums are scaled by L / l where
// the weights of the touching points sum to l > L.  With weights 1, or areas over their mean,
// refinement of the shell then converges (3.2).
//
// Derivatives are those of forces whose directions and lines of action stay.  The gap at a row
// changes with the motion (dx, dw) of the field object about x_g, the coordinates q_f of one that
// deforms, and q of a shell that does, x = P + U q, by -W . (dx, dw, dq_f, dq),
//     W = (a; (x - x_g) x a; U_f^T a; -U^T a),
// U_f the motion of the object near x by its carriers (deform/field.h).  With stiffnesses c the
// derivative of all generalised forces together is -sum c W W^T: symmetric, and it resists in every
// direction.  In fixed axes.
//
// Forces on a field that deforms are summed for each proxy, with their moments, before they are
// multiplied by its modes.
#ifndef RF_CONTACT_WRENCH_H
#define RF_CONTACT_WRENCH_H

#include "contact/frame.h"
#include "contact/law.h"

// -sum c W W^T by its blocks, in memory of the caller, each nullable; padded with zeros, written
// anew in each cycle.  W_o, of the field object, is (a; (x - x_g) x a) and, if it deforms and
// `object` is asked for, U_f^T a behind that: n_o = 6 + r_f numbers, else 6; W_s is -U^T a.
typedef struct rf_contact_blocks {
  double *object;  // W_o W_o                          (rows and columns rf_dense_ld(n_o))
  double *mixed;   // W_o W_s; not of a rigid shell    (rf_dense_ld(n_o) rows of rf_dense_ld(r))
  double *shell;   // W_s W_s; not of a rigid shell    (rows and columns rf_dense_ld(r))
} rf_contact_blocks;

typedef struct rf_contact_wrench {
  const rf_point_tree *tree;
  const rf_deformed_field *deformed;  // NULL: the field object is rigid

  // sums over the points; scaled by rf_contact_wrench_end_rt
  double force_n[3], torque_nm[3];
  double gradient[21];    // of (force, torque) by (dx, dw): the lower triangle, by rows
  double total;           // l, sum of weights
  double depth_m;         // deepest penetration; 0: none
  double scale;           // L / l or 1
  double *reduced;        // on the shell                                         (row of the tree)
  double *moments;        // forces on proxies, seen from the field object, and moments
                          //                                                      (n_proxies, 12)
  double *field_reduced;  // on a field that deforms                              (r of the field)

  // W and -c W of up to RF_CONTACT_BLOCK rows: of the object, of the shell
  //                                                      (BLOCK, object_row), (BLOCK, row)
  double *object, *object_pushed, *shell, *shell_pushed;
  int32_t object_row;  // rf_dense_ld(6 + r of the field)
} rf_contact_wrench;

// Allocates in a wrench that is zero; deformed: nullable.  Borrows both.
RF_MUST_CHECK rf_status rf_contact_wrench_create(rf_contact_wrench *w, const rf_point_tree *tree,
                                                 const rf_deformed_field *deformed, rf_error *err);
void rf_contact_wrench_free(rf_contact_wrench *w);  // its content; zero is fine

// Begins sums; blocks: nullable, the same in all three.
void rf_contact_wrench_begin_rt(rf_contact_wrench *w, const rf_contact_blocks *blocks);
// Adds a block of points with the rows of the law.
void rf_contact_wrench_add_rt(rf_contact_wrench *w, const rf_contact_frame *frame,
                              const rf_contact_points *points, const rf_contact_rows *rows,
                              const rf_contact_blocks *blocks);
// Scales all sums; most: L, 0 for no limit.
void rf_contact_wrench_end_rt(rf_contact_wrench *w, double most, const rf_contact_blocks *blocks);

// Adds U_f^T a to `to`, by the carriers of a point on a field that deforms; a: in the world.
void rf_contact_carry_rt(const rf_contact_wrench *w, const rf_contact_frame *frame,
                         const rf_deformed_carriers *carriers, const double a[3], double *to);

// ---- blocks_rt.c, for wrench_rt.c

void rf_contact_blocks_begin_rt(const rf_contact_wrench *w, const rf_contact_blocks *b);
// Enters W and -c W of a row as number i of at most RF_CONTACT_BLOCK; rigid: (a; (x - x_g) x a).
void rf_contact_blocks_enter_rt(rf_contact_wrench *w, int32_t i, const rf_contact_frame *frame,
                                int32_t place, const rf_deformed_carriers *carriers,
                                double stiffness, const double rigid[6],
                                const rf_contact_blocks *b);
// Adds the products of the first n rows entered.
void rf_contact_blocks_add_rt(const rf_contact_wrench *w, int32_t n, const rf_contact_blocks *b);
void rf_contact_blocks_scale_rt(const rf_contact_wrench *w, const rf_contact_blocks *b);

#endif
