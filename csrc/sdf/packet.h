// Distances of a packet of 4 x 4 x 4 neighbouring points from a triangle surface.
//
// The tree of boxes is traversed once for all points: a box or triangle is visited if it may be
// nearer to any of them than its nearest triangle so far.  Four points along z are one vector;
// terms that do not depend on z are shared along x and y.
#ifndef RF_SDF_PACKET_H
#define RF_SDF_PACKET_H

#include "linalg/simd.h"
#include "mesh/closest.h"

enum { RF_PACKET = 4, RF_PACKET_PLACES = 64, RF_PACKET_SEEDS = 4 };

typedef struct rf_packet {
  double x[RF_PACKET], y[RF_PACKET], z[RF_PACKET];  // coordinates, m
  int32_t n_seeds;                    // triangles likely to be near, from a previous packet;
  int32_t seed[RF_PACKET_SEEDS];      // positions in the tree; set for the next packet
  double square[RF_PACKET_PLACES];    // squared distances, z fastest
  int64_t nearest[RF_PACKET_PLACES];  // triangles, by position in the tree
} rf_packet;

typedef void rf_packet_fn(const rf_closest *c, rf_packet *packet);
rf_packet_fn rf_packet_plain, rf_packet_avx2;

// Returns the instruction set of the kernel that a request selects: RF_SIMD_AVX2 or RF_SIMD_PLAIN.
static inline rf_simd rf_packet_simd(rf_simd simd) {
  return simd != RF_SIMD_PLAIN && rf_simd_available(RF_SIMD_AVX2) ? RF_SIMD_AVX2 : RF_SIMD_PLAIN;
}

static inline rf_packet_fn *rf_packet_of(rf_simd simd) {
#if RF_SIMD_X86
  if (rf_packet_simd(simd) == RF_SIMD_AVX2) return rf_packet_avx2;
#endif
  return rf_packet_plain;
}

#endif
