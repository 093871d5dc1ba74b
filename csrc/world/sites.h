// Choice of the sites of a step: at most 256 of the points that may touch, spread over the contact.
//
// Each pair's points are sorted into cells of the shell at rest, of edge `spacing`, and by the axis
// nearest to their normal there; the best point of a cell is a site.  Cells and axes belong to the
// points, so that the choice does not flicker as bodies move.  Cells meet at the centre of the
// shell, so that few of them still surround it.  The best point has the smallest gap; one that bore
// force in the last step, or is far out, counts as deeper by up to a tenth of the least spacing:
// the outer points of a flat contact bear its moments.  On a bent shell one that bore counts as
// deeper by a tenth of the spacing: those beside it have less of its dimple, and would take turns
// with it.  Where there are more cells than sites, the
// spacing grows by the root of 2, which halves the cells of a surface; it shrinks again only when a
// third of the sites would do.  Cells of bent shells do not grow where the caller knows that there
// are sites for all their points.
#ifndef RF_WORLD_SITES_H
#define RF_WORLD_SITES_H

#include <stdbool.h>
#include <stdint.h>

enum {
  RF_SITES_MOST = 256,
  RF_SITES_SLOTS = 1024,
  RF_SITES_COARSENINGS = 40  // in a step
};

typedef struct rf_site {
  int32_t pair, place;  // of the world, and in the tree of its shell
  int32_t axis;         // rf_sites_axis_rt of the normal of the shell at rest
  bool bore;            // a force in the last step
  bool bent;            // gaps are those with a dimple, which the others do not have in full
  double rest[3];       // of the point, from the centre of the shell, m
  double out;           // their distance over the largest one
  double gap;           // m
} rf_site;

typedef struct rf_sites {
  int32_t most, n;
  int32_t coarsened;              // in this step
  double spacing, least_spacing;  // m
  bool fine;                      // in this step: cells of bent shells have the least spacing
  rf_site site[RF_SITES_MOST];
  uint64_t cell[RF_SITES_MOST];
  int32_t slot[RF_SITES_SLOTS];  // hash table of cells: number of the site + 1; 0: free
} rf_sites;

// Begins anew.  most: in 1 to RF_SITES_MOST.
void rf_sites_reset_rt(rf_sites *s, int32_t most, double least_spacing_m);
// Begins a step.
void rf_sites_begin_rt(rf_sites *s);
// Offers a point.
void rf_sites_offer_rt(rf_sites *s, const rf_site *point);
// The axis nearest to a vector: 0 to 2 along x, y, z, 3 to 5 against.
int32_t rf_sites_axis_rt(const double v[3]);

#endif
