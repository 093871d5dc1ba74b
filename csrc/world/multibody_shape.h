// Shape of bodies in contact, with the bounds that the search needs (multibody_search.h).
#ifndef RF_WORLD_MULTIBODY_SHAPE_H
#define RF_WORLD_MULTIBODY_SHAPE_H

#include "world/broad.h"
#include "world/multibody.h"

typedef struct rf_multibody_bounded {
  rf_multibody_shape given;  // its `each` is the copy below
  double *each;              // owned; nullable
  rf_broad_sphere field;     // around the field at rest; a negative radius: there is none
  double thickness;          // of the thinnest part of the field, m
} rf_multibody_bounded;

// Checks a shape, copies it and finds its bounds.
RF_MUST_CHECK rf_status rf_multibody_shape_create(const rf_multibody_shape *given,
                                                  rf_multibody_bounded *out, rf_error *err);
void rf_multibody_shape_free(rf_multibody_bounded *shape);  // its content; zero is fine

// Reduced coordinates of the tree, and of the field; 0: rigid, or none.
int32_t rf_multibody_shape_tree_r(const rf_multibody_bounded *shape);
int32_t rf_multibody_shape_field_r(const rf_multibody_bounded *shape);

// Thickness of the thinnest part of a field: twice its depth.  NULL: INFINITY.
double rf_multibody_shape_thickness(const rf_field *field);

#endif
