// Body of the variant for a type of entries.  Needs RF_NAME, RF_KIND, and the types of an entry, of
// four entries and of four indices: RF_ENTRY, RF_VECTOR and RF_LANE.

#if defined(__clang__)
#define RF_MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define RF_MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (RF_LANE){i, j, k, l})
#endif

RF_INLINE RF_VECTOR RF_KIND(load)(const RF_ENTRY *p) {
  RF_VECTOR v;
  memcpy(&v, p, sizeof v);
  return v;
}

// Returns {sum of a, sum of b, sum of c, sum of d}.
RF_INLINE RF_VECTOR RF_KIND(sums)(RF_VECTOR a, RF_VECTOR b, RF_VECTOR c, RF_VECTOR d) {
  const RF_VECTOR ab = RF_MIX(a, b, 0, 4, 2, 6) + RF_MIX(a, b, 1, 5, 3, 7);
  const RF_VECTOR cd = RF_MIX(c, d, 0, 4, 2, 6) + RF_MIX(c, d, 1, 5, 3, 7);
  return RF_MIX(ab, cd, 0, 1, 4, 5) + RF_MIX(ab, cd, 2, 3, 6, 7);
}

RF_INLINE void RF_KIND(accumulate)(RF_VECTOR v, double *u) {
  rf_v4 to;
  memcpy(&to, u, sizeof to);
  to += __builtin_convertvector(v, rf_v4);
  memcpy(u, &to, sizeof to);
}

// u (4, 3) += B^T f for four blocks side by side.  The fourth lane of a load belongs to the next
// row of a block, or to the next block, and is left out.
RF_INLINE void RF_KIND(row)(const RF_ENTRY *block, const RF_ENTRY f[3], double *u) {
  const RF_VECTOR zero = {0}, f0 = f[0] - zero, f1 = f[1] - zero, f2 = f[2] - zero;
  RF_VECTOR sum[4];
  for (int q = 0; q < 4; ++q) {
    const RF_ENTRY *b = block + 9 * q;
    sum[q] = f0 * RF_KIND(load)(b) + f1 * RF_KIND(load)(b + 3) + f2 * RF_KIND(load)(b + 6);
  }
  RF_KIND(accumulate)(RF_MIX(sum[0], sum[1], 0, 1, 2, 4), u);
  RF_KIND(accumulate)(RF_MIX(sum[1], sum[2], 1, 2, 4, 5), u + 4);
  RF_KIND(accumulate)(RF_MIX(sum[2], sum[3], 2, 4, 5, 6), u + 8);
}

// u (4, 3) += B f for four blocks below each other.
RF_INLINE void RF_KIND(column)(const RF_ENTRY *block, const RF_ENTRY f[3], double *u) {
  const RF_VECTOR all = {f[0], f[1], f[2], 0};
  RF_VECTOR product[12];
  for (int q = 0; q < 4; ++q)
    for (int c = 0; c < 3; ++c)
      product[3 * q + c] = all * RF_KIND(load)(block + 9 * RF_GREEN_TILE * q + 3 * c);
  for (int q = 0; q < 12; q += 4) RF_KIND(accumulate)
  (RF_KIND(sums)(product[q], product[q + 1], product[q + 2], product[q + 3]), u + q);
}

// Fetches the blocks of the next tile, `step` entries apart, which hardware does not foresee.
RF_INLINE void RF_KIND(fetch)(const RF_ENTRY *block, int step) {
  for (int q = 0; q < RF_GREEN_TILE; ++q) {
    __builtin_prefetch(block + step * q);
    __builtin_prefetch(block + step * q + 8);
  }
}

void RF_NAME(RF_KIND(rf_green_add))(const RF_ENTRY *entry, int32_t side, int32_t m,
                                    const int32_t *place, const double *force, double *u) {
  for (int32_t i = 0; i < side; ++i, u += 3 * RF_GREEN_TILE)
    for (int32_t k = 0; k < m; ++k) {
      const RF_ENTRY f[3] = {(RF_ENTRY)force[3 * k], (RF_ENTRY)force[3 * k + 1],
                             (RF_ENTRY)force[3 * k + 2]};
      const int32_t first = i * RF_GREEN_TILE, next = first + RF_GREEN_TILE, j = place[k];
      if (i < j / RF_GREEN_TILE) {
        const RF_ENTRY *b = entry + rf_green_at(j, first);
        RF_KIND(fetch)(entry + rf_green_at(j, next), 9);
        for (int q = 0; q < RF_GREEN_TILE; q += 4) RF_KIND(row)(b + 9 * q, f, u + 3 * q);
      } else {
        const RF_ENTRY *b = entry + rf_green_at(first, j);
        // the last tile has none below
        RF_KIND(fetch)(i + 1 < side ? entry + rf_green_at(next, j) : b, 9 * RF_GREEN_TILE);
        for (int q = 0; q < RF_GREEN_TILE; q += 4)
          RF_KIND(column)(b + 9 * RF_GREEN_TILE * q, f, u + 3 * q);
      }
    }
}

void RF_NAME(RF_KIND(rf_green_spread))(const RF_ENTRY *entry, int32_t n, double factor, double *u) {
  for (int32_t i = 0; i < n; ++i) u[i] += factor * (double)entry[i];
}

#undef RF_MIX
