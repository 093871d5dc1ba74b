#include "world/pair.h"

#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"

// Points and fields of a body that moves may be rigid, although it deforms.
static rf_status check_coordinates(int32_t r, const rf_body *body, const char *what,
                                   rf_error *err) {
  if (r == 0 && body->kind->move_rt) return RF_OK;
  if (body->motion && body->motion->n != r)
    return rf_fail(err, RF_ERR_ARG, "the %s has %d reduced coordinates, the motion of its body %d",
                   what, (int)r, (int)body->motion->n);
  return RF_OK;
}

static rf_status check(const rf_contact *contact, const rf_body *tree, const rf_body *field,
                       rf_error *err) {
  double grasp[3];
  if (tree == field) return rf_fail(err, RF_ERR_ARG, "a body cannot be paired with itself");
  rf_contact_grasp(contact, grasp);
  if (memcmp(grasp, field->reference_m, sizeof grasp) != 0)
    return rf_fail(err, RF_ERR_ARG,
                   "the contact has the grasp point (%g, %g, %g), the field's body the reference "
                   "point (%g, %g, %g): both must be the same",
                   grasp[0], grasp[1], grasp[2], field->reference_m[0], field->reference_m[1],
                   field->reference_m[2]);
  const rf_status st =
      check_coordinates(rf_contact_coordinates(contact), tree, "shell of a contact", err);
  if (st < 0) return st;
  return check_coordinates(rf_contact_field_coordinates(contact), field, "field of a contact", err);
}

rf_status rf_pair_create(rf_contact *contact, rf_body *tree, rf_body *field, rf_pair **out,
                         rf_error *err) {
  rf_pair *pair = NULL;
  *out = NULL;
  rf_status st = check(contact, tree, field, err);
  if (st < 0) return st;
  RF_ALLOC(pair, 1);
  pair->contact = contact;
  pair->deforms = rf_contact_field_coordinates(contact) > 0;
  pair->side[RF_PAIR_TREE].body = tree;
  pair->side[RF_PAIR_FIELD].body = field;
  const int32_t r[2] = {rf_contact_coordinates(contact), rf_contact_field_coordinates(contact)};
  for (int k = 0; k < 2; ++k)
    if (r[k] > 0) RF_ALLOC(pair->side[k].reduced, r[k]);
  *out = pair;
  pair = NULL;
done:
  rf_pair_free(pair);
  return st;
}

static void free_blocks(rf_pair *pair) {
  rf_free(pair->blocks.object);
  rf_free(pair->blocks.mixed);
  rf_free(pair->blocks.shell);
  pair->blocks = (rf_contact_blocks){NULL, NULL, NULL};
}

void rf_pair_free(rf_pair *pair) {
  if (!pair) return;
  for (int k = 0; k < 2; ++k) rf_free(pair->side[k].reduced);
  free_blocks(pair);
  rf_free(pair);
}

// True if blocks of this kind include the coordinates of a body with themselves.
static bool includes(rf_pair_blocks blocks, const rf_body *body) {
  return body->motion && (blocks == RF_PAIR_JOINT || (blocks == RF_PAIR_OWN && body->added));
}

rf_status rf_pair_ask(rf_pair *pair, rf_pair_blocks blocks, rf_error *err) {
  rf_status st = RF_OK;
  const rf_body *tree = pair->side[RF_PAIR_TREE].body, *field = pair->side[RF_PAIR_FIELD].body;
  const int32_t ld = rf_dense_ld(rf_body_coordinates_rt(tree));
  const int32_t rows = rf_dense_ld(6 + rf_body_coordinates_rt(field));
  free_blocks(pair);
  if (includes(blocks, field)) RF_ALLOC(pair->blocks.object, rows * rows);
  if (includes(blocks, tree)) RF_ALLOC(pair->blocks.shell, ld * ld);
  if (includes(blocks, tree) && blocks == RF_PAIR_JOINT) RF_ALLOC(pair->blocks.mixed, rows * ld);
  pair->has_blocks = pair->blocks.object || pair->blocks.shell;
done:
  return st;
}
