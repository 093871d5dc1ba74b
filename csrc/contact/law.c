#include "contact/law.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define ROW(name) &rf_##name##_law_kind,
static const rf_contact_law_kind *const KINDS[] = {RF_CONTACT_LAWS(ROW)};
#undef ROW

const rf_contact_law_kind *rf_contact_law_find(const char *name) {
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; ++i)
    if (strcmp(KINDS[i]->name, name) == 0) return KINDS[i];
  return NULL;
}

// Rounds up, so that an array behind is aligned.
static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The pointer at an offset in a struct.
static void *pointer_in(const void *of, size_t offset) {
  void *found;
  memcpy(&found, (const char *)of + offset, sizeof found);
  return found;
}
static void point_to(void *of, size_t offset, const void *to) {
  memcpy((char *)of + offset, &to, sizeof to);
}

// The array of a setting; NULL: there is none.
static const double *array_in(const rf_setting *s, const void *settings) {
  return s->kind == RF_SETTING_ARRAY ? pointer_in(settings, s->offset) : NULL;
}

static rf_status check(const rf_setting *s, const void *settings, int32_t n, rf_error *err) {
  const char *name = s->given ? s->given : s->name;
  double value;
  if (s->range == RF_SETTING_ANY) return RF_OK;
  if (s->kind == RF_SETTING_DOUBLE) {
    memcpy(&value, (const char *)settings + s->offset, sizeof value);
    if (s->range == RF_SETTING_POSITIVE && !(isfinite(value) && value > 0.0))
      return rf_fail(err, RF_ERR_ARG, "%s must be finite and positive, got %g", name, value);
    if (!(isfinite(value) && value >= 0.0))
      return rf_fail(err, RF_ERR_ARG, "%s must be finite and 0 or more, got %g", name, value);
  }
  const double *array = array_in(s, settings);
  for (int32_t k = 0; array && k < n; ++k)
    if (!(isfinite(array[k]) && array[k] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "%s[%d] must be finite and positive, got %g", name, k,
                     array[k]);
  return RF_OK;
}

rf_status rf_contact_law_create(const rf_contact_law_kind *kind, const void *settings,
                                const rf_point_tree *tree, rf_contact_law *out, rf_error *err) {
  rf_status st = RF_OK;
  const size_t n = (size_t)tree->n_points;
  size_t bytes = padded(kind->settings_bytes);
  char *law = NULL;
  *out = (rf_contact_law){0};
  for (const rf_setting *s = kind->settings; s->name; ++s) {
    RF_TRY(check(s, settings, tree->n_points, err));
    if (array_in(s, settings)) bytes += padded(n * sizeof(double));
  }
  RF_ALLOC(law, bytes + n * kind->state_bytes);
  memcpy(law, settings, kind->settings_bytes);
  char *behind = law + padded(kind->settings_bytes);
  for (const rf_setting *s = kind->settings; s->name; ++s) {
    const double *from = array_in(s, settings);
    if (!from) continue;
    double *to = (void *)behind;
    for (size_t k = 0; k < n; ++k) to[k] = from[tree->point[k]];
    point_to(law, s->offset, to);
    behind += padded(n * sizeof(double));
  }
  if (kind->state_bytes) point_to(law, kind->state_offset, behind);
  if (kind->rt->prepare) kind->rt->prepare(law, tree->n_points);
  *out = (rf_contact_law){kind, law, bytes + n * kind->state_bytes};
done:
  return st;
}

// Lets a pointer of a copied law, if it is set, point into the copy.
static void follow(const rf_contact_law *from, char *to, size_t offset) {
  const char *old = pointer_in(to, offset);
  if (old) point_to(to, offset, to + (old - (const char *)from->self));
}

rf_status rf_contact_law_copy(const rf_contact_law *from, rf_contact_law *out, rf_error *err) {
  rf_status st = RF_OK;
  char *law = NULL;
  *out = (rf_contact_law){0};
  RF_ALLOC(law, from->bytes);
  memcpy(law, from->self, from->bytes);
  for (const rf_setting *s = from->kind->settings; s->name; ++s)
    if (s->kind == RF_SETTING_ARRAY) follow(from, law, s->offset);
  if (from->kind->state_bytes) follow(from, law, from->kind->state_offset);
  *out = (rf_contact_law){from->kind, law, from->bytes};
done:
  return st;
}

void rf_contact_law_free(rf_contact_law *law) {
  rf_free(law->self);
  *law = (rf_contact_law){0};
}
