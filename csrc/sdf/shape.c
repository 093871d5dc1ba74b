#include "sdf/shape.h"

#include <string.h>

#define RF_SHAPE_FUNCTIONS
#include "sdf/shape_list_body.h"

typedef struct facts {
  const char *name;
  rf_status (*check)(const rf_field_part *part, rf_error *err);
  void (*bounds)(const rf_field_part *part, double low[3], double high[3]);
  double (*depth)(const rf_field_part *part);
  bool (*is_flat)(void);
} facts;

#define FACTS(NAME, name)                                                        \
  [RF_SHAPE_##NAME] = {#name, rf_field_##name##_check, rf_field_##name##_bounds, \
                       rf_field_##name##_depth, rf_field_##name##_is_flat},
static const facts FACTS_OF[RF_SHAPE_COUNT] = {RF_SHAPES(FACTS)};

rf_shape rf_field_shape_named(const char *name) {
  int found = RF_SHAPE_COUNT - 1;
  while (found > RF_SHAPE_GRID && strcmp(name, FACTS_OF[found].name) != 0) --found;
  return (rf_shape)found;
}

rf_status rf_field_shape_check(const rf_field_part *p, rf_error *err) {
  if (!(p->shape > RF_SHAPE_GRID && p->shape < RF_SHAPE_COUNT))
    return rf_fail(err, RF_ERR_ARG, "shape %d is unknown", (int)p->shape);
  for (int c = 0; c < 3; ++c)
    if (!(fabs(p->a[c]) < 1e150 && fabs(p->b[c]) < 1e150))
      return rf_fail(err, RF_ERR_ARG, "coordinates must be finite and below 1e150 m, got %g and %g",
                     p->a[c], p->b[c]);
  return FACTS_OF[p->shape].check(p, err);
}

void rf_field_shape_bounds(const rf_field_part *p, double low[3], double high[3]) {
  FACTS_OF[p->shape].bounds(p, low, high);
}

double rf_field_shape_depth(const rf_field_part *p) { return FACTS_OF[p->shape].depth(p); }

bool rf_field_shape_is_flat(const rf_field_part *p) {
  return p->shape != RF_SHAPE_GRID && FACTS_OF[p->shape].is_flat();
}
