#include "mesh/grade_tets.h"

#include <string.h>

#include "base/alloc.h"
#include "mesh/lattice.h"

// Places of nodes as one number, so that the middle of two is half their sum.
#define FIELD 20
static const uint64_t ODD = UINT64_C(1) | UINT64_C(1) << FIELD | UINT64_C(1) << 2 * FIELD;
enum { POLL = 1 << 16, MOST_LEVELS = FIELD - 2 };

typedef struct tet {
  uint64_t x[4];       // places, in the order of the bisection
  int8_t tag, halved;  // number of bisections
} tet;

typedef struct cells {
  int32_t n[3];     // along each axis
  uint8_t *marked;  // cubes that have a marked node, also on their surface   (n[2], n[1], n[0])
} cells;

typedef struct bisection {
  rf_lattice lattice;
  const rf_run *run;
  int32_t n_levels;  // L
  int32_t box[3];    // places along each axis, multiples of 2^L
  uint8_t
      *marked;    // nodes at which tetrahedra are smallest     (box[2] + 1, box[1] + 1, box[0] + 1)
  uint8_t *used;  // nodes of tetrahedra                        (the same)
  cells *level;   // (n_levels + 1)
  tet *tets;
  int64_t count, room;
} bisection;

static uint64_t pack(int64_t i, int64_t j, int64_t k) {
  return (uint64_t)i | (uint64_t)j << FIELD | (uint64_t)k << 2 * FIELD;
}

static void unpack(uint64_t x, int32_t p[3]) {
  for (int c = 0; c < 3; ++c) p[c] = (int32_t)(x >> c * FIELD & ((1 << FIELD) - 1));
}

// Returns the index of a place in the arrays of nodes.
static int64_t node_of(const bisection *b, uint64_t x) {
  const int32_t nodes[3] = {b->box[0] + 1, b->box[1] + 1, b->box[2] + 1};
  int32_t p[3];
  unpack(x, p);
  return rf_lattice_place(nodes, p[0], p[1], p[2]);
}

// Returns the cube at a place, -1: there is none.
static int32_t cube_at(const bisection *b, int32_t i, int32_t j, int32_t k) {
  const int32_t *n = b->lattice.n;
  if (i < 0 || j < 0 || k < 0 || i >= n[0] || j >= n[1] || k >= n[2]) return -1;
  return b->lattice.element[rf_lattice_place(n, i, j, k)];
}

// Returns the cube that contains the middle of a tetrahedron, -1: there is none.
static int32_t cube_of(const bisection *b, const tet *t) {
  int32_t sum[3] = {0}, p[3];
  for (int a = 0; a < 4; ++a) {
    unpack(t->x[a], p);
    for (int c = 0; c < 3; ++c) sum[c] += p[c];
  }
  return cube_at(b, sum[0] / 4, sum[1] / 4, sum[2] / 4);
}

// ---- marks ------------------------------------------------------------------------------

// Marks the nodes around which cubes are missing or have several regions.
static void mark_surface(bisection *b) {
  const int32_t *regions = b->lattice.cubes->regions;
  int64_t at = 0;
  for (int32_t k = 0; k <= b->box[2]; ++k)
    for (int32_t j = 0; j <= b->box[1]; ++j)
      for (int32_t i = 0; i <= b->box[0]; ++i, ++at) {
        const int32_t first = cube_at(b, i, j, k);
        bool same = true;
        for (int a = 1; a < 8 && same; ++a) {
          const int *c = RF_LATTICE_CORNER[a];
          const int32_t cube = cube_at(b, i - c[0], j - c[1], k - c[2]);
          same = first < 0 || cube < 0 ? first == cube : regions[first] == regions[cube];
        }
        b->marked[at] = !same;
      }
}

// Marks nodes up to `reach` nodes from marked ones along an axis.  `outer` lines of `inner` numbers
// beside each other.
static void spread(uint8_t *marked, uint8_t *line, int64_t outer, int32_t n, int64_t inner,
                   int32_t reach) {
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < inner; ++c) {
      uint8_t *own = marked + o * n * inner + c;
      for (int32_t i = 0; i < n; ++i) line[i] = own[i * inner];
      int32_t last = -1 - reach, next = 0;  // marked nodes before, and from i on
      for (int32_t i = 0; i < n; ++i) {
        if (line[i]) last = i;
        if (next < i) next = i;
        while (next < n && !line[next]) ++next;
        own[i * inner] = i - last <= reach || (next < n && next - i <= reach);
      }
    }
}

static rf_status mark(bisection *b, int32_t layers, rf_error *err) {
  rf_status st = RF_OK;
  uint8_t *line = NULL;
  const int64_t nx = b->box[0] + 1, ny = b->box[1] + 1, nz = b->box[2] + 1;
  int32_t longest = 0;
  for (int c = 0; c < 3; ++c) longest = b->box[c] > longest ? b->box[c] : longest;
  RF_ALLOC(b->marked, nx * ny * nz);
  RF_ALLOC(b->used, nx * ny * nz);
  mark_surface(b);
  if (layers == 1) return RF_OK;
  RF_ALLOC(line, (int64_t)longest + 1);
  const int32_t reach = layers - 1 < longest ? layers - 1 : longest;
  spread(b->marked, line, ny * nz, (int32_t)nx, 1, reach);
  spread(b->marked, line, nz, (int32_t)ny, nx, reach);
  spread(b->marked, line, 1, (int32_t)nz, nx * ny, reach);
done:
  rf_free(line);
  return st;
}

// Finds the cubes of all levels that have marked nodes.
static rf_status mark_cells(bisection *b, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(b->level, (int64_t)b->n_levels + 1);
  for (int32_t l = 0; l <= b->n_levels; ++l) {
    cells *own = &b->level[l];
    const cells *below = l > 0 ? own - 1 : NULL;
    for (int c = 0; c < 3; ++c) own->n[c] = b->box[c] >> l;
    RF_ALLOC(own->marked, (int64_t)own->n[0] * own->n[1] * own->n[2]);
    int64_t at = 0;
    for (int32_t k = 0; k < own->n[2]; ++k)
      for (int32_t j = 0; j < own->n[1]; ++j)
        for (int32_t i = 0; i < own->n[0]; ++i, ++at)
          for (int a = 0; a < 8; ++a) {
            const int *c = RF_LATTICE_CORNER[a];
            own->marked[at] |= below ? below->marked[rf_lattice_place(below->n, 2 * i + c[0],
                                                                      2 * j + c[1], 2 * k + c[2])]
                                     : b->marked[node_of(b, pack(i + c[0], j + c[1], k + c[2]))];
          }
  }
done:
  return st;
}

// ---- bisection --------------------------------------------------------------------------

static void bisect(const tet *t, tet *first, tet *second) {
  const int d = t->tag;
  const uint64_t z = (t->x[0] + t->x[d]) / 2;
  const tet parent = *t;
  *first = *second = parent;
  first->x[d] = z;
  for (int k = 0; k < d; ++k) second->x[k] = parent.x[k + 1];
  second->x[d] = z;
  first->tag = second->tag = (int8_t)(d > 1 ? d - 1 : 3);
  first->halved = second->halved = (int8_t)(parent.halved + 1);
}

static rf_status append(bisection *b, const tet *t, rf_error *err) {
  rf_status st = RF_OK;
  if (b->count == b->room) {
    tet *more = NULL;
    const int64_t room = 2 * b->room + 1024;
    RF_ALLOC(more, room);
    if (b->count) memcpy(more, b->tets, (size_t)b->count * sizeof *more);
    rf_free(b->tets);
    b->tets = more;
    b->room = room;
  }
  b->tets[b->count++] = *t;
done:
  return st;
}

// True if the cube of the lattice around a tetrahedron has no marked node.
static bool is_clear(const bisection *b, const tet *t) {
  const int32_t l = b->n_levels - t->halved / 3;
  int32_t low[3], p[3];
  unpack(t->x[0], low);
  for (int a = 1; a < 4; ++a) {
    unpack(t->x[a], p);
    for (int c = 0; c < 3; ++c) low[c] = p[c] < low[c] ? p[c] : low[c];
  }
  return !b->level[l]
              .marked[rf_lattice_place(b->level[l].n, low[0] >> l, low[1] >> l, low[2] >> l)];
}

// Appends the tetrahedra of t that are inside, bisected as far as they have marked nodes; *touches:
// t has such.  The depth is 3 L.
static rf_status refine(bisection *b, const tet *t, bool *touches, rf_error *err) {
  rf_status st = RF_OK;
  *touches = false;
  if (t->halved == 3 * b->n_levels) {
    for (int a = 0; a < 4; ++a) *touches = *touches || b->marked[node_of(b, t->x[a])];
  } else if (!is_clear(b, t)) {
    const int64_t before = b->count;
    tet half[2];
    bisect(t, &half[0], &half[1]);
    for (int k = 0; k < 2; ++k) {
      bool touched;
      RF_TRY(refine(b, &half[k], &touched, err));
      *touches = *touches || touched;
    }
    if (*touches) return RF_OK;
    b->count = before;
  }
  if (cube_of(b, t) >= 0) RF_TRY(append(b, t, err));
done:
  return st;
}

static rf_status refine_all(bisection *b, rf_error *err) {
  static const int PATH[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
  rf_status st = RF_OK;
  const int32_t edge = 1 << b->n_levels;
  for (int32_t k = 0; k < b->box[2]; k += edge)
    for (int32_t j = 0; j < b->box[1]; j += edge)
      for (int32_t i = 0; i < b->box[0]; i += edge) {
        RF_TRY(rf_run_poll(b->run, err));
        for (int path = 0; path < 6; ++path) {
          tet t = {.x = {pack(i, j, k)}, .tag = 3};
          bool touches;
          for (int a = 0; a < 3; ++a)
            t.x[a + 1] = t.x[a] + ((uint64_t)edge << PATH[path][a] * FIELD);
          RF_TRY(refine(b, &t, &touches, err));
        }
      }
done:
  return st;
}

// True if a node is in the middle of an edge.
static bool has_hanging(const bisection *b, const tet *t) {
  for (int p = 0; p < 4; ++p)
    for (int q = p + 1; q < 4; ++q)
      if (!((t->x[p] ^ t->x[q]) & ODD) && b->used[node_of(b, (t->x[p] + t->x[q]) / 2)]) return true;
  return false;
}

// Bisects tetrahedra with hanging nodes until there are none.
static rf_status make_conforming(bisection *b, rf_error *err) {
  rf_status st = RF_OK;
  for (int64_t i = 0; i < b->count; ++i)
    for (int a = 0; a < 4; ++a) b->used[node_of(b, b->tets[i].x[a])] = 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t i = 0; i < b->count; ++i) {
      if (i % POLL == 0) RF_TRY(rf_run_poll(b->run, err));
      while (b->tets[i].halved < 3 * b->n_levels && has_hanging(b, &b->tets[i])) {
        tet half[2];
        bisect(&b->tets[i], &half[0], &half[1]);
        b->used[node_of(b, half[0].x[b->tets[i].tag])] = 1;
        b->tets[i] = half[0];
        RF_TRY(append(b, &half[1], err));
        changed = true;
      }
    }
  }
done:
  return st;
}

// ---- the mesh ---------------------------------------------------------------------------

static int32_t lattice_node(const bisection *b, uint64_t x) {
  int32_t p[3];
  unpack(x, p);
  return rf_lattice_node(&b->lattice, p);
}

// True if the nodes of a tetrahedron have the order of VTK.
static bool is_positive(const tet *t) {
  int32_t p[4][3];
  int64_t u[3][3];
  for (int a = 0; a < 4; ++a) unpack(t->x[a], p[a]);
  for (int a = 0; a < 3; ++a)
    for (int c = 0; c < 3; ++c) u[a][c] = p[a + 1][c] - p[0][c];
  return u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) +
             u[0][1] * (u[1][2] * u[2][0] - u[1][0] * u[2][2]) +
             u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]) >
         0;
}

static rf_status make_mesh(const bisection *b, rf_mesh **out, int32_t **original, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *cubes = b->lattice.cubes;
  int32_t *renumber = NULL, *kept = NULL, nodes = 0;
  rf_mesh *m = NULL;
  if (b->count > INT32_MAX / 4)
    return rf_fail(err, RF_ERR_MESH,
                   "the mesh would have %lld tetrahedra, too many: use larger cubes",
                   (long long)b->count);
  RF_ALLOC(renumber, cubes->n_nodes);
  for (int64_t i = 0; i < b->count; ++i)
    for (int a = 0; a < 4; ++a) renumber[lattice_node(b, b->tets[i].x[a])] = 1;
  for (int32_t i = 0; i < cubes->n_nodes; ++i) renumber[i] = renumber[i] ? nodes++ : -1;
  RF_TRY(rf_mesh_allocate(RF_TET4, nodes, (int32_t)b->count, &m, err));
  RF_ALLOC(kept, nodes);
  for (int32_t i = 0; i < cubes->n_nodes; ++i) {
    if (renumber[i] < 0) continue;
    kept[renumber[i]] = i;
    memcpy(m->nodes + 3 * (int64_t)renumber[i], cubes->nodes + 3 * (int64_t)i,
           3 * sizeof *cubes->nodes);
  }
  for (int64_t i = 0; i < b->count; ++i) {
    const tet *t = &b->tets[i];
    int32_t *to = m->elements + 4 * i;
    for (int a = 0; a < 4; ++a) to[a] = renumber[lattice_node(b, t->x[a])];
    if (!is_positive(t)) {
      const int32_t last = to[3];
      to[3] = to[2];
      to[2] = last;
    }
    m->regions[i] = cubes->regions[cube_of(b, t)];
  }
  *out = m;
  m = NULL;
  if (original) {
    *original = kept;
    kept = NULL;
  }
done:
  rf_free(renumber);
  rf_free(kept);
  rf_mesh_free(m);
  return st;
}

// Chooses the largest tetrahedra: as large as the thinnest side of the box, whose tetrahedra all
// touch the surface otherwise.
static void choose_levels(bisection *b) {
  const int32_t *n = b->lattice.n;
  int32_t least = n[0] < n[1] ? n[0] : n[1];
  least = n[2] < least ? n[2] : least;
  while (b->n_levels < MOST_LEVELS && 2 << b->n_levels <= least) ++b->n_levels;
  const int32_t edge = 1 << b->n_levels;
  for (int c = 0; c < 3; ++c) b->box[c] = (n[c] + edge - 1) / edge * edge;
}

rf_status rf_mesh_grade_tets(const rf_mesh *cubes, int32_t layers, const rf_run *run, rf_mesh **out,
                             int32_t **original, rf_error *err) {
  rf_status st = RF_OK;
  bisection b = {.run = run};
  *out = NULL;
  if (!(layers >= 1))
    return rf_fail(err, RF_ERR_ARG, "layers must be at least 1, got %d", (int)layers);
  if (cubes->rule)
    return rf_fail(err, RF_ERR_MESH,
                   "this mesh has cut cells, and tetrahedra need whole cubes: "
                   "voxelize(surface, cut=False, order=1)");
  RF_TRY(rf_lattice_create(cubes, &b.lattice, err));
  choose_levels(&b);
  for (int c = 0; c < 3; ++c)
    if (b.box[c] >= 1 << FIELD) {
      st = rf_fail(err, RF_ERR_MESH,
                   "the mesh has %d cubes along an axis, more than %d: use larger cubes",
                   (int)b.lattice.n[c], (1 << FIELD) - 1);
      goto done;
    }
  RF_TRY(mark(&b, layers, err));
  RF_TRY(mark_cells(&b, err));
  RF_TRY(refine_all(&b, err));
  RF_TRY(make_conforming(&b, err));
  RF_TRY(make_mesh(&b, out, original, err));
done:
  rf_lattice_release(&b.lattice);
  rf_free(b.marked);
  rf_free(b.used);
  for (int32_t l = 0; b.level && l <= b.n_levels; ++l) rf_free(b.level[l].marked);
  rf_free(b.level);
  rf_free(b.tets);
  return st;
}
