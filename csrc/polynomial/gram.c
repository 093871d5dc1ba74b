#include "polynomial/gram.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "linalg/blas.h"

enum {
  TILE = 192,              // rows and columns of the matrix per task
  PANEL_BYTES = 16 << 20,  // size of a panel of strains; larger ones bring no gain
  BLOCKS_MOST = 128,       // enough for as many workers
  LEAST_COLUMNS = 16384,   // of a block: adding its sum then costs little beside computing it
};

static int32_t block_size(const rf_solid *solid, int32_t n_elements) {
  const int32_t columns = RF_STRAINS * solid->n_gauss;
  const int32_t least = (LEAST_COLUMNS + columns - 1) / columns;
  const int32_t equal = (n_elements + BLOCKS_MOST - 1) / BLOCKS_MOST;
  return equal > least ? equal : least;
}

int32_t rf_gram_blocks(const rf_solid *solid, int32_t n_elements) {
  const int32_t size = block_size(solid, n_elements);
  return n_elements > size ? (n_elements + size - 1) / size : 1;
}

void rf_gram_block_free(rf_gram_block *b) {
  rf_free(b->corner);
  rf_free(b->material);
  rf_free(b->points);
  rf_free(b->first);
  rf_free(b->gradient);
  rf_free(b->volume);
  rf_free(b->basis);
  *b = (rf_gram_block){0};
}

// Copies the tables of the elements; those of translated elements once.
static rf_status gather_tables(const rf_solid *s, const int32_t *element, rf_gram_block *b,
                               rf_error *err) {
  rf_status st = RF_OK;
  int64_t total = 0, shared = -1;
  for (int32_t k = 0; k < b->n_elements; ++k) total += rf_solid_points(s, element[k]);
  if (total > INT32_MAX / 3 / b->nodes)
    return rf_fail(err, RF_ERR_ARG, "a block of %d elements has too many quadrature points",
                   (int)b->n_elements);
  RF_ALLOC(b->gradient, total * b->nodes * 3);
  RF_ALLOC(b->volume, total);
  for (int32_t k = 0; k < b->n_elements; ++k) {
    const int32_t e = element[k], points = rf_solid_points(s, e);
    // place 0 of the tables of a solid of congruent elements belongs to all of its whole ones
    const bool common = s->congruent && rf_solid_first_at(s, s->place[e]) == 0;
    b->points[k] = points;
    b->first[k] = common && shared >= 0 ? (int32_t)shared : b->n_points;
    if (common && shared >= 0) continue;
    if (common) shared = b->n_points;
    const int64_t numbers = 3 * (int64_t)points * b->nodes;
    memcpy(b->gradient + 3 * (int64_t)b->n_points * b->nodes, rf_solid_gradient(s, e),
           (size_t)numbers * sizeof(double));
    memcpy(b->volume + b->n_points, rf_solid_volume(s, e), (size_t)points * sizeof(double));
    b->n_points += points;
  }
done:
  return st;
}

rf_status rf_gram_gather(const rf_solid *solid, const int32_t *element, int32_t n_elements,
                         int32_t r, const double *basis, int32_t index, rf_gram_block *b,
                         rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = solid->mesh;
  const int32_t size = block_size(solid, n_elements), nodes = (int32_t)mesh->type;
  const int64_t dofs = 3 * (int64_t)mesh->n_nodes;
  int32_t *list = NULL, *local = NULL, *node = NULL;
  *b = (rf_gram_block){.r = r, .nodes = nodes, .usual = solid->n_gauss};
  if (!(index >= 0 && index < rf_gram_blocks(solid, n_elements)))
    return rf_fail(err, RF_ERR_ARG, "block must be between 0 and %d, got %d",
                   (int)rf_gram_blocks(solid, n_elements) - 1, (int)index);
  const int32_t start = index * size;
  b->n_elements = n_elements - start < size ? n_elements - start : size;
  RF_ALLOC(list, b->n_elements);
  RF_ALLOC(local, mesh->n_nodes);  // place of a node in the block, plus one
  RF_ALLOC(node, (int64_t)b->n_elements * nodes);
  RF_ALLOC(b->corner, (int64_t)b->n_elements * nodes);
  RF_ALLOC(b->material, b->n_elements);
  RF_ALLOC(b->points, b->n_elements);
  RF_ALLOC(b->first, b->n_elements);
  for (int32_t k = 0; k < b->n_elements; ++k) {
    list[k] = element ? element[start + k] : start + k;
    b->material[k] = solid->element_material[list[k]];
    for (int32_t a = 0; a < nodes; ++a) {
      const int32_t at = mesh->elements[(int64_t)list[k] * nodes + a];
      if (!local[at]) {
        node[b->n_nodes++] = at;
        local[at] = b->n_nodes;
      }
      b->corner[(int64_t)k * nodes + a] = local[at] - 1;
    }
  }
  RF_TRY(gather_tables(solid, list, b, err));
  RF_ALLOC(b->basis, 3 * (int64_t)b->n_nodes * r);
  for (int32_t i = 0; i < r; ++i)
    for (int32_t n = 0; n < b->n_nodes; ++n)
      for (int axis = 0; axis < 3; ++axis)
        b->basis[(3 * (int64_t)n + axis) * r + i] = basis[i * dofs + 3 * (int64_t)node[n] + axis];
done:
  rf_free(list);
  rf_free(local);
  rf_free(node);
  if (st < 0) rf_gram_block_free(b);
  return st;
}

typedef struct product {
  const rf_gram_block *block;
  int32_t m, rows;
  const rf_strain_factor *factor;  // of each material
  double *matrix;                  // (m, m), lower triangle in Fortran's order
  double *panel;                   // columns of m values: strain components of quadrature points
  double *scratch;       // per worker: gradients (9, r), for the trace columns (RF_STRAINS, m)
  int64_t stride;        // of scratch
  int64_t *start;        // quadrature points before each element           (n_elements + 1)
  int32_t first, count;  // elements in the panel
  rf_strain_kernels kernels;
} product;

static rf_strain_kernels strain_kernels(rf_simd simd) {
#if RF_SIMD_X86
  if (simd == RF_SIMD_AVX512)
    return (rf_strain_kernels){rf_strain_gradients_avx512, rf_strain_columns_avx512};
  if (simd == RF_SIMD_AVX2)
    return (rf_strain_kernels){rf_strain_gradients_avx2, rf_strain_columns_avx2};
#endif
  (void)simd;
  return (rf_strain_kernels){rf_strain_gradients_plain, rf_strain_columns_plain};
}

// Runs one task of the first phase: the columns of one element.
static rf_status fill_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const product *w = context;
  const rf_gram_block *b = w->block;
  const int32_t k = w->first + (int32_t)task, nodes = b->nodes;
  const int64_t before = w->start[k] - w->start[w->first];
  double *g = w->scratch + worker * w->stride, *columns = g + 9 * (int64_t)b->r;
  const rf_strain_factor *f = &w->factor[b->material[k]];
  const double *volume = b->volume + b->first[k];
  const double *phi = b->gradient + 3 * (int64_t)b->first[k] * nodes;
  const double *u[RF_MAX_NODES];
  for (int32_t a = 0; a < nodes; ++a)
    u[a] = b->basis + (int64_t)b->corner[(int64_t)k * nodes + a] * 3 * b->r;
  for (int32_t p = 0; p < b->points[k]; ++p) {
    double *column = w->panel + (before + p) * w->rows * (int64_t)w->m;
    w->kernels.gradients(nodes, b->r, phi + (int64_t)p * nodes * 3, u, g);
    rf_strain_factor weighted = *f;
    const double root = sqrt(volume[p]);
    for (int i = 0; i < RF_STRAINS; ++i)
      for (int c = i; c < RF_STRAINS; ++c) weighted.l[i][c] *= root;
    w->kernels.columns(b->r, &weighted, g, w->rows == RF_STRAINS ? column : columns);
    if (w->rows == 1) memcpy(column, columns, (size_t)w->m * sizeof *column);
  }
  return RF_OK;
}

// Runs one task of the second phase: one tile of the lower triangle of the matrix.
static rf_status multiply_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const product *w = context;
  int32_t row = 0;
  while ((int64_t)(row + 1) * (row + 2) / 2 <= task) ++row;
  const int32_t column = (int32_t)(task - (int64_t)row * (row + 1) / 2);

  const int m = w->m, k = (int)(w->start[w->first + w->count] - w->start[w->first]) * w->rows;
  const int rows = m - row * TILE < TILE ? m - row * TILE : TILE;
  const int columns = m - column * TILE < TILE ? m - column * TILE : TILE;
  const double one = 1.0, *a = w->panel + row * TILE, *b = w->panel + column * TILE;
  double *c = w->matrix + (int64_t)column * TILE * m + row * TILE;
  if (row == column)
    dsyrk_("L", "N", &rows, &k, &one, a, &m, &one, c, &m);
  else
    dgemm_("N", "T", &rows, &columns, &k, &one, a, &m, b, &m, &one, c, &m);
  return RF_OK;
}

// Counts the elements from w->first on that fit in a panel of so many points, at least one.
static int32_t elements_in_panel(const product *w, int64_t in_panel) {
  int32_t end = w->first + 1;
  while (end < w->block->n_elements && w->start[end + 1] - w->start[w->first] <= in_panel) ++end;
  return end - w->first;
}

rf_status rf_gram_matrix(const rf_gram_block *b, const rf_run *run, int32_t rows,
                         const rf_strain_factor *factor, rf_simd simd, double *matrix,
                         rf_error *err) {
  rf_status st = RF_OK;
  product w = {.block = b, .rows = rows, .factor = factor, .matrix = matrix};
  w.m = rf_gram_order(b->r);
  w.kernels = strain_kernels(rf_simd_resolve(simd));
  w.stride = 9 * (int64_t)b->r + (rows == 1 ? RF_STRAINS * (int64_t)w.m : 0);
  const int64_t bytes = (int64_t)sizeof(double) * w.m * rows, tiles = (w.m + TILE - 1) / TILE;
  const int64_t in_panel = PANEL_BYTES / (bytes * b->usual) * b->usual;
  int64_t most = 1;
  RF_ALLOC(w.start, (int64_t)b->n_elements + 1);
  for (int32_t k = 0; k < b->n_elements; ++k) {
    w.start[k + 1] = w.start[k] + b->points[k];
    most = b->points[k] > most ? b->points[k] : most;
  }
  const int64_t all = w.start[b->n_elements], usual = in_panel < all ? in_panel : all;
  RF_ALLOC(w.panel, (usual > most ? usual : most) * w.m * rows);
  RF_ALLOC(w.scratch, run->threads * w.stride);
  memset(matrix, 0, (size_t)w.m * (size_t)w.m * sizeof *matrix);

  // tiles and panels, and so the sums, do not depend on the number of threads
  rf_blas_serial_begin();
  for (; w.first < b->n_elements && st >= 0; w.first += w.count) {
    w.count = elements_in_panel(&w, in_panel);
    st = rf_run_poll(run, err);
    if (st >= 0) st = rf_run_tasks(run, w.count, 0, fill_task, &w, err);
    if (st >= 0) st = rf_run_tasks(run, tiles * (tiles + 1) / 2, 0, multiply_task, &w, err);
  }
  rf_blas_serial_end();
done:
  rf_free(w.start);
  rf_free(w.panel);
  rf_free(w.scratch);
  return st;
}
