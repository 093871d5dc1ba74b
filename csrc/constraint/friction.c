#include "constraint/friction.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "constraint/friction_work.h"

static void layout(rf_friction *s, rf_arena *a) {
  const size_t ld = (size_t)rf_dense_ld(s->set.most), all = 3 * ld, one = sizeof(double);
  double **const of_all[] = {&s->free, &s->centre, &s->force, &s->moved, &s->in_cone, &s->moved_in,
                             &s->best, &s->first,  &s->inner, &s->kept,  &s->scratch, &s->diagonal};
  rf_friction_unknowns *n = &s->unknown;
  double **const of_one[] = {&s->given_mu,  &s->mu,      &s->normal,  &s->tangent,  &s->inverse_n,
                             &s->inverse_t, &n->normal1, &n->normal2, &n->tangent1, &n->tangent2,
                             &n->damped,    &n->along,   &s->across1, &s->across2};
  for (size_t k = 0; k < sizeof of_all / sizeof *of_all; ++k)
    *of_all[k] = rf_arena_take(a, all, one);
  for (size_t k = 0; k < sizeof of_one / sizeof *of_one; ++k)
    *of_one[k] = rf_arena_take(a, ld, one);
  n->contact = rf_arena_take(a, all, sizeof *n->contact);
  s->index = rf_arena_take(a, all, sizeof *s->index);
  const size_t rank = (size_t)rf_dense_ld(s->set.most_rank + 1);
  const size_t wide = all + RF_DENSE_PAD > rank ? all + RF_DENSE_PAD : rank;
  s->factor = rf_arena_take(a, all * rank, one);
  s->rows = rf_arena_take(a, 2 * all * rank, one);
  s->w = rf_arena_take(a, all * all, one);
  s->panel = rf_arena_take(a, 9 * wide, one);
  s->increment = rf_arena_take(a, wide, one);
  s->reduced = rf_arena_take(a, rank, one);
  // a step of low rank has its products behind the matrix
  const size_t entries = all * wide > 2 * rank * rank ? all * wide : 2 * rank * rank;
  s->matrix = rf_arena_take(a, entries, one);
}

rf_status rf_friction_create(const rf_friction_settings *set, rf_friction **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_friction *s = NULL;
  rf_arena arena = {0};
  char *bytes = NULL;
  *out = NULL;
  if (set->most < 1 || set->most > RF_FRICTION_MOST)
    return rf_fail(err, RF_ERR_ARG, "the number of contacts must be between 1 and %d, got %d",
                   RF_FRICTION_MOST, set->most);
  if (set->most_rank < 0 || set->most_rank > 3 * RF_FRICTION_MOST)
    return rf_fail(err, RF_ERR_ARG, "the rank must be between 0 and %d, got %d",
                   3 * RF_FRICTION_MOST, set->most_rank);
  RF_TRY(rf_simd_check(set->simd, err));
  RF_ALLOC(s, 1);
  s->set = *set;
  s->set.simd = rf_simd_resolve(set->simd);
  layout(s, &arena);
  RF_ALLOC(bytes, arena.used);
  s->block = bytes;
  arena = (rf_arena){.base = s->block};
  layout(s, &arena);
  s->work_per_us = RF_FRICTION_WORK_PER_US;
  *out = s;
  s = NULL;
done:
  rf_friction_free(s);
  return st;
}

void rf_friction_free(rf_friction *s) {
  if (s) rf_free(s->block);
  rf_free(s);
}
