#include "mesh/topology.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/disjoint.h"
#include "linalg/vec3.h"
#include "mesh/curved.h"

static const double COVERED = 1e-9;  // largest share of a face that may be left uncovered

// Faces in VTK's node numbers, counter-clockwise from outside, then mid-edge nodes.
static const uint8_t TET_FACES[4][6] = {
    {0, 2, 1, 6, 5, 4}, {0, 1, 3, 4, 8, 7}, {1, 2, 3, 5, 9, 8}, {0, 3, 2, 7, 9, 6}};
static const uint8_t HEX_FACES[6][8] = {{0, 3, 2, 1, 11, 10, 9, 8},   {4, 5, 6, 7, 12, 13, 14, 15},
                                        {0, 1, 5, 4, 8, 17, 12, 16},  {1, 2, 6, 5, 9, 18, 13, 17},
                                        {2, 3, 7, 6, 10, 19, 14, 18}, {3, 0, 4, 7, 11, 16, 15, 19}};

static int faces_of(const rf_mesh *m) { return rf_element_is_tet(m->type) ? 4 : 6; }
static int corners_of(const rf_mesh *m) { return rf_element_is_tet(m->type) ? 3 : 4; }
static int face_nodes_of(const rf_mesh *m) {
  return rf_element_is_quadratic(m->type) ? 2 * corners_of(m) : corners_of(m);
}

static void face_nodes(const rf_mesh *m, int64_t face, int count, int32_t *out) {
  const int per = faces_of(m);
  const int32_t *el = m->elements + (size_t)m->type * (size_t)(face / per);
  const uint8_t *node = rf_element_is_tet(m->type) ? TET_FACES[face % per] : HEX_FACES[face % per];
  for (int a = 0; a < count; ++a) out[a] = el[node[a]];
}

static void sort4(int32_t x[4]) {
  for (int i = 1; i < 4; ++i)
    for (int j = i; j > 0 && x[j - 1] > x[j]; --j) {
      const int32_t t = x[j];
      x[j] = x[j - 1];
      x[j - 1] = t;
    }
}

// Computes the key of a face: its corners, ascending.
static void face_key(const rf_mesh *m, int64_t face, int32_t out[4]) {
  out[3] = -1;
  face_nodes(m, face, corners_of(m), out);
  sort4(out);
}

const uint8_t *rf_tet_face(int f) { return TET_FACES[f]; }
const uint8_t *rf_hex_face(int f) { return HEX_FACES[f]; }

const uint8_t *rf_face_triangle(int32_t count, int k) {
  static const uint8_t PLAIN[2][3] = {{0, 1, 2}, {0, 2, 3}};
  static const uint8_t QUADRATIC[4][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}, {3, 4, 5}};
  static const uint8_t SERENDIPITY[6][3] = {{0, 4, 7}, {4, 1, 5}, {5, 2, 6},
                                            {6, 3, 7}, {4, 5, 6}, {4, 6, 7}};
  return count == 8 ? SERENDIPITY[k] : count == 6 ? QUADRATIC[k] : PLAIN[k];
}

// Hash table of faces by their nodes.  Face f = element * faces per element + local face.
typedef struct face_table {
  size_t size;
  int64_t *first;  // lowest face with these nodes, plus 1; 0: empty
} face_table;

// Returns the place of a key, free if no face has these nodes.
static size_t place_of_key(const rf_mesh *m, const face_table *t, const int32_t key[4]) {
  int32_t other[4];
  uint64_t h = 0;
  for (int a = 0; a < 4; ++a) {
    h = (h ^ (uint64_t)(key[a] + 1)) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 29;
  }
  size_t at = (size_t)h & (t->size - 1);
  for (; t->first[at]; at = (at + 1) & (t->size - 1)) {
    face_key(m, t->first[at] - 1, other);
    if (memcmp(key, other, sizeof other) == 0) break;
  }
  return at;
}

static size_t place_of(const rf_mesh *m, const face_table *t, int64_t face) {
  int32_t key[4];
  face_key(m, face, key);
  return place_of_key(m, t, key);
}

// Returns the face of a larger element on which the face of a smaller one lies, plus 1: its corners
// are the nodes that the corners of the smaller face follow.  0: there is none.
static int64_t larger_face(const rf_mesh *m, const face_table *t, int64_t face) {
  const rf_constraints *c = m->constraints;
  int32_t key[4], own[4], count = 0;
  const int corners = corners_of(m);
  bool follows = false;
  if (!c) return 0;
  face_nodes(m, face, corners, own);
  for (int a = 0; a < corners; ++a) {
    const int32_t k = rf_constraints_find(c, own[a]);
    const int32_t *node = k < 0 ? &own[a] : c->masters + c->ptr[k];
    const int32_t nodes = k < 0 ? 1 : c->ptr[k + 1] - c->ptr[k];
    follows = follows || k >= 0;
    for (int32_t i = 0; i < nodes; ++i) {
      bool known = false;
      for (int32_t b = 0; b < count; ++b) known = known || key[b] == node[i];
      if (known) continue;
      if (count == corners) return 0;
      key[count++] = node[i];
    }
  }
  if (!follows || count < corners) return 0;
  if (corners < 4) key[3] = -1;
  sort4(key);
  return t->first[place_of_key(m, t, key)];
}

static rf_status make_table(const rf_mesh *m, face_table *t, rf_error *err) {
  rf_status st = RF_OK;
  // most faces are shared by two elements, so the table is at most half full
  const size_t faces = (size_t)faces_of(m) * (size_t)m->n_elements;
  t->size = 16;
  while (t->size < 2 * faces) t->size *= 2;
  RF_ALLOC(t->first, t->size);
done:
  return st;
}

static void fill_table(const rf_mesh *m, face_table *t) {
  const int64_t faces = (int64_t)faces_of(m) * m->n_elements;
  for (int64_t f = 0; f < faces; ++f) {
    int64_t *first = &t->first[place_of(m, t, f)];
    if (!*first) *first = f + 1;
  }
}

// ---- components -------------------------------------------------------------

rf_status rf_mesh_components(const rf_mesh *m, bool by_face, int32_t *label, int32_t *count,
                             rf_error *err) {
  rf_status st = RF_OK;
  int32_t *parent = NULL, *first = NULL;
  face_table table = {0};
  RF_ALLOC(parent, m->n_elements);
  for (int32_t e = 0; e < m->n_elements; ++e) parent[e] = e;

  if (by_face) {
    RF_TRY(make_table(m, &table, err));
    const int per = faces_of(m);
    const int64_t faces = (int64_t)per * m->n_elements;
    for (int64_t f = 0; f < faces; ++f) {
      const size_t at = place_of(m, &table, f);
      if (table.first[at])
        rf_disjoint_join(parent, (int32_t)(f / per), (int32_t)((table.first[at] - 1) / per));
      else
        table.first[at] = f + 1;
    }
    for (int64_t f = 0; f < faces && m->constraints; ++f) {
      const int64_t larger = larger_face(m, &table, f);
      if (larger) rf_disjoint_join(parent, (int32_t)(f / per), (int32_t)((larger - 1) / per));
    }
  } else {
    RF_ALLOC(first, m->n_nodes);  // first element at a node, plus 1
    for (int32_t e = 0; e < m->n_elements; ++e)
      for (int a = 0; a < (int)m->type; ++a) {
        int32_t *at = &first[m->elements[(size_t)m->type * (size_t)e + (size_t)a]];
        if (*at)
          rf_disjoint_join(parent, e, *at - 1);
        else
          *at = e + 1;
      }
    const rf_constraints *c = m->constraints;
    for (int32_t k = 0; c && k < c->n; ++k)
      for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
        rf_disjoint_join(parent, first[c->slaves[k]] - 1, first[c->masters[p]] - 1);
  }

  // a root is the lowest of its component, so it is labelled before the others
  *count = 0;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    const int32_t root = rf_disjoint_root(parent, e);
    label[e] = root == e ? (*count)++ : label[root];
  }
done:
  rf_free(parent);
  rf_free(first);
  rf_free(table.first);
  return st;
}

rf_status rf_mesh_mates(const rf_mesh *m, int64_t *mate, rf_error *err) {
  rf_status st = RF_OK;
  face_table table = {0};
  const int64_t faces = (int64_t)faces_of(m) * m->n_elements;
  RF_TRY(make_table(m, &table, err));
  for (int64_t f = 0; f < faces; ++f) {
    int64_t *first = &table.first[place_of(m, &table, f)];
    mate[f] = *first > 0 ? *first - 1 : -1;
    if (mate[f] < 0) {
      *first = f + 1;
    } else if (mate[mate[f]] < 0) {
      mate[mate[f]] = f;
    } else {
      mate[f] = -1;
    }
  }
done:
  rf_free(table.first);
  return st;
}

// ---- boundary ---------------------------------------------------------------

void rf_boundary_free(rf_boundary *b) {
  rf_free(b->nodes);
  rf_free(b->element);
  *b = (rf_boundary){0};
}

static bool is_covered(double share) { return share >= 1.0 - COVERED; }

// Computes twice the area of a face as a vector.
static void area_of(const rf_mesh *m, int64_t face, double area[3]) {
  const int corners = corners_of(m);
  int32_t own[4];
  double a[3], b[3];
  face_nodes(m, face, corners, own);
  const double *x[4];
  for (int k = 0; k < corners; ++k) x[k] = m->nodes + 3 * (size_t)own[k];
  rf_vec3_sub(x[2], x[0], a);
  rf_vec3_sub(x[corners == 4 ? 3 : 1], x[corners == 4 ? 1 : 0], b);
  rf_vec3_cross(a, b, area);
}

// Computes the share of each face that those of smaller elements cover (faces); 0: none do.
static void cover(const rf_mesh *m, const face_table *table, double *covered) {
  const int64_t faces = (int64_t)faces_of(m) * m->n_elements;
  for (int64_t f = 0; f < faces; ++f) {
    const int64_t larger = larger_face(m, table, f);
    if (!larger) continue;
    double own[3], whole[3];
    area_of(m, f, own);
    area_of(m, larger - 1, whole);
    covered[larger - 1] += fabs(rf_vec3_dot(own, whole)) / rf_vec3_dot(whole, whole);
  }
}

rf_status rf_mesh_partly_covered(const rf_mesh *m, int32_t *element, rf_error *err) {
  rf_status st = RF_OK;
  face_table table = {0};
  double *covered = NULL;
  const int64_t faces = (int64_t)faces_of(m) * m->n_elements;
  *element = -1;
  if (!m->constraints) return RF_OK;
  RF_TRY(make_table(m, &table, err));
  fill_table(m, &table);
  RF_ALLOC(covered, faces);
  cover(m, &table, covered);
  for (int64_t f = 0; f < faces && *element < 0; ++f)
    if (covered[f] > 0.0 && !is_covered(covered[f])) *element = (int32_t)(f / faces_of(m));
done:
  rf_free(covered);
  rf_free(table.first);
  return st;
}

rf_status rf_mesh_boundary(const rf_mesh *m, rf_boundary *out, rf_error *err) {
  rf_status st = RF_OK;
  face_table table = {0};
  uint8_t *shared = NULL;
  double *covered = NULL;
  *out = (rf_boundary){.face_nodes = face_nodes_of(m)};
  const int per = faces_of(m);
  const int64_t faces = (int64_t)per * m->n_elements;
  RF_ALLOC(shared, faces);
  RF_TRY(make_table(m, &table, err));

  int64_t count = faces;
  for (int64_t f = 0; f < faces; ++f) {
    const size_t at = place_of(m, &table, f);
    if (!table.first[at]) {
      table.first[at] = f + 1;
      continue;
    }
    const int64_t mate = table.first[at] - 1;
    count -= 1 + !shared[mate];
    shared[f] = shared[mate] = 1;
  }
  if (m->constraints) {
    RF_ALLOC(covered, faces);
    cover(m, &table, covered);
  }
  for (int64_t f = 0; f < faces && m->constraints; ++f) {
    const int64_t larger = larger_face(m, &table, f);
    if (!larger || !is_covered(covered[larger - 1])) continue;
    count -= !shared[f] + !shared[larger - 1];
    shared[f] = shared[larger - 1] = 1;
  }
  if (!(count <= INT32_MAX)) {
    st = rf_fail(err, RF_ERR_MESH, "the mesh has too many boundary faces: %lld", (long long)count);
    goto done;
  }

  out->n_faces = (int32_t)count;
  RF_ALLOC(out->nodes, (size_t)count * (size_t)out->face_nodes);
  RF_ALLOC(out->element, count);
  size_t to = 0;
  for (int64_t f = 0; f < faces; ++f) {
    if (shared[f]) continue;
    face_nodes(m, f, out->face_nodes, out->nodes + to * (size_t)out->face_nodes);
    out->element[to++] = (int32_t)(f / per);
  }
done:
  if (st < 0) rf_boundary_free(out);
  rf_free(covered);
  rf_free(shared);
  rf_free(table.first);
  return st;
}

// ---- volume -----------------------------------------------------------------

// Returns six times the volume of a tet.
static double det_of(const double *o, const double *a, const double *b, const double *c) {
  double u[3], v[3], w[3];
  rf_vec3_sub(a, o, u);
  rf_vec3_sub(b, o, v);
  rf_vec3_sub(c, o, w);
  return rf_vec3_det(u, v, w);
}

// Returns the volume of a whole element by its nodes.
static double volume_of(rf_element_type type, const double x[RF_MAX_NODES][3]) {
  if (type == RF_TET10) return rf_tet10_volume(x);
  if (type == RF_HEX20) return rf_hex20_volume(x);
  if (type == RF_TET4) return det_of(x[0], x[1], x[2], x[3]) / 6.0;
  // a bilinear face spans with the apex the mean over its two triangulations, so the volume of a
  // trilinear hexahedron is exact
  double volume = 0.0;
  for (int f = 0; f < 6; ++f) {
    const uint8_t *c = HEX_FACES[f];
    for (int a = 0; a < 4; ++a)
      volume += det_of(x[0], x[c[a]], x[c[(a + 1) % 4]], x[c[(a + 2) % 4]]) / 12.0;
  }
  return volume;
}

// Copies the nodes of an element, displaced by u; NULL: at rest.
static void nodes_of(const rf_mesh *m, int32_t element, const double *u,
                     double x[RF_MAX_NODES][3]) {
  const int32_t *el = m->elements + (size_t)m->type * (size_t)element;
  for (int a = 0; a < (int)m->type; ++a)
    for (int i = 0; i < 3; ++i)
      x[a][i] =
          m->nodes[3 * (size_t)el[a] + (size_t)i] + (u ? u[3 * (size_t)el[a] + (size_t)i] : 0.0);
}

void rf_mesh_volumes(const rf_mesh *m, double *volume) {
  for (int32_t e = 0; e < m->n_elements; ++e) {
    double x[RF_MAX_NODES][3];
    nodes_of(m, e, NULL, x);
    volume[e] = rf_mesh_fraction(m, e) * volume_of(m->type, (const double(*)[3])x);
  }
}

int32_t rf_mesh_inverted(const rf_mesh *m, const double *u) {
  int32_t count = 0;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    double x[RF_MAX_NODES][3];
    nodes_of(m, e, u, x);
    count += !(volume_of(m->type, (const double(*)[3])x) > 0.0);
  }
  return count;
}
