#include "world/sites.h"

#include <math.h>
#include <string.h>

static const double BONUS =
    0.1;  // of a point that bore force, over the least spacing, or the present one
static const double OUTER = 0.1;         // of the outermost point
static const double WIDEST = 1e6;        // spacing, over the least one
static const double FARTHEST = 65535.0;  // cells from the centre
static const double GROWTH = 1.4142135623730951;
enum { ROOMY = 3 };  // the spacing shrinks below this part of the sites

void rf_sites_reset_rt(rf_sites *s, int32_t most, double least_spacing_m) {
  memset(s, 0, sizeof *s);
  s->most = most < RF_SITES_MOST ? most : RF_SITES_MOST;
  s->spacing = s->least_spacing = least_spacing_m;
}

void rf_sites_begin_rt(rf_sites *s) {
  if (ROOMY * s->n <= s->most) s->spacing = fmax(s->spacing / GROWTH, s->least_spacing);
  s->n = s->coarsened = 0;
  memset(s->slot, 0, sizeof s->slot);
}

int32_t rf_sites_axis_rt(const double v[3]) {
  int32_t axis = 0;
  for (int32_t i = 1; i < 3; ++i)
    if (fabs(v[i]) > fabs(v[axis])) axis = i;
  return v[axis] < 0.0 ? axis + 3 : axis;
}

static double spacing_of(const rf_sites *s, const rf_site *p) {
  return p->bent && s->fine ? s->least_spacing : s->spacing;
}

static uint64_t cell_of(const rf_sites *s, const rf_site *p) {
  const double spacing = spacing_of(s, p);
  uint64_t cell = (uint64_t)(8 * p->pair + p->axis);
  for (int i = 0; i < 3; ++i) {
    const double at = floor(p->rest[i] / spacing);
    cell = cell << 17 | (uint64_t)(fmax(fmin(at, FARTHEST), -FARTHEST) + FARTHEST);
  }
  return cell;
}

// The first slot of a cell, 10 bits: RF_SITES_SLOTS.
static uint64_t first_slot(uint64_t cell) { return (cell * 0x9E3779B97F4A7C15u) >> 54; }

// The slot of a cell, free if it has none.
static int32_t *find(rf_sites *s, uint64_t cell) {
  uint64_t at = first_slot(cell);
  for (; s->slot[at] && s->cell[s->slot[at] - 1] != cell; at = (at + 1) % RF_SITES_SLOTS) {
  }
  return s->slot + at;
}

// Frees the slot of a cell, and moves those after it that are found past it only.
static void forget(rf_sites *s, uint64_t cell) {
  uint64_t gap = (uint64_t)(find(s, cell) - s->slot);
  for (uint64_t at = (gap + 1) % RF_SITES_SLOTS; s->slot[at]; at = (at + 1) % RF_SITES_SLOTS) {
    const uint64_t first = first_slot(s->cell[s->slot[at] - 1]);
    if ((at - first) % RF_SITES_SLOTS < (at - gap) % RF_SITES_SLOTS) continue;
    s->slot[gap] = s->slot[at];
    gap = at;
  }
  s->slot[gap] = 0;
}

static double score(const rf_sites *s, const rf_site *p) {
  const double bonus = p->bore ? BONUS * (p->bent ? spacing_of(s, p) : s->least_spacing) : 0.0;
  return p->gap - bonus - OUTER * s->least_spacing * p->out;
}

static bool better(const rf_sites *s, const rf_site *a, const rf_site *b) {
  const double first = score(s, a), second = score(s, b);
  return first < second || (first == second && a->place < b->place);
}

// Widens the cells, and joins the sites that now share a cell.
static void coarsen(rf_sites *s) {
  const int32_t n = s->n;
  s->spacing *= GROWTH;
  s->n = 0;
  memset(s->slot, 0, sizeof s->slot);
  for (int32_t k = 0; k < n; ++k) {
    const uint64_t cell = cell_of(s, &s->site[k]);
    int32_t *slot = find(s, cell);
    if (*slot) {
      if (better(s, &s->site[k], &s->site[*slot - 1])) s->site[*slot - 1] = s->site[k];
      continue;
    }
    if (s->n < k) s->site[s->n] = s->site[k];
    s->cell[s->n] = cell;
    *slot = ++s->n;
  }
}

// Replaces the worst site by a point of a cell without one: more pairs and directions than sites.
static void replace_worst(rf_sites *s, const rf_site *p) {
  int32_t worst = 0;
  for (int32_t k = 1; k < s->n; ++k)
    if (better(s, &s->site[worst], &s->site[k])) worst = k;
  if (!better(s, p, &s->site[worst])) return;
  forget(s, s->cell[worst]);
  s->site[worst] = *p;
  s->cell[worst] = cell_of(s, p);
  *find(s, s->cell[worst]) = worst + 1;
}

void rf_sites_offer_rt(rf_sites *s, const rf_site *p) {
  for (; s->coarsened <= RF_SITES_COARSENINGS; ++s->coarsened) {
    const uint64_t cell = cell_of(s, p);
    int32_t *slot = find(s, cell);
    if (*slot) {
      if (better(s, p, &s->site[*slot - 1])) s->site[*slot - 1] = *p;
      return;
    }
    if (s->n < s->most) {
      s->site[s->n] = *p;
      s->cell[s->n] = cell;
      *slot = ++s->n;
      return;
    }
    if (s->coarsened == RF_SITES_COARSENINGS || !(s->spacing < WIDEST * s->least_spacing)) break;
    coarsen(s);
  }
  replace_worst(s, p);
}
