#include "contact/wrench.h"

#include "base/alloc.h"
#include "linalg/dense_rt.h"

rf_status rf_contact_wrench_create(rf_contact_wrench *w, const rf_point_tree *tree,
                                   const rf_deformed_field *deformed, rf_error *err) {
  rf_status st = RF_OK;
  w->tree = tree;
  w->deformed = deformed;
  w->object_row = rf_dense_ld(6 + (deformed ? deformed->r : 0));
  RF_ALLOC(w->reduced, tree->row);
  RF_ALLOC(w->object, RF_CONTACT_BLOCK * w->object_row);
  RF_ALLOC(w->object_pushed, RF_CONTACT_BLOCK * w->object_row);
  RF_ALLOC(w->shell, RF_CONTACT_BLOCK * tree->row);
  RF_ALLOC(w->shell_pushed, RF_CONTACT_BLOCK * tree->row);
  if (deformed) {
    RF_ALLOC(w->moments, 12 * (size_t)deformed->n_proxies);
    RF_ALLOC(w->field_reduced, deformed->r);
  }
done:
  return st;
}

void rf_contact_wrench_free(rf_contact_wrench *w) {
  rf_free(w->reduced);
  rf_free(w->moments);
  rf_free(w->field_reduced);
  rf_free(w->object);
  rf_free(w->object_pushed);
  rf_free(w->shell);
  rf_free(w->shell_pushed);
}
