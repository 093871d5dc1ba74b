// The list of shapes.  A new one has a row in both halves: its functions, and its names.
// Template: included by shape.h for the names, and with RF_SHAPE_FUNCTIONS defined by those who
// evaluate shapes.  No include guard, on purpose.
#ifdef RF_SHAPE_FUNCTIONS
#include "sdf/shape_box.h"
#include "sdf/shape_capsule.h"
#include "sdf/shape_plane.h"
#include "sdf/shape_sphere.h"
#else
#define RF_SHAPES(ROW) \
  ROW(SPHERE, sphere)  \
  ROW(BOX, box)        \
  ROW(PLANE, plane)    \
  ROW(CAPSULE, capsule)
#endif
