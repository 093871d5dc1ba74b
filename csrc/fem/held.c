// Is every part of a solid held?
//
// Elements that share a face move as one rigid body when nothing strains.  Such parts
// may touch along edges and at nodes only, and then turn about them.  The solid is
// held exactly if no combination of rigid motions v + w x (x - c) of its parts agrees
// at all shared nodes and vanishes at all fixed ones: a small eigenvalue question over
// six numbers a part, asked only of the parts that no simpler argument settles.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/adjacency.h"
#include "fem/fem.h"

enum {
  MAX_PARTS_AT_NODE = 32,
  MAX_LOOSE_PARTS = 200  // in the dense question; more are refused without asking
};
static const double COLLINEAR = 1e-8;  // of the distance of the two outer points
static const double RANK = 1e-11;      // pivots below this part of the largest are zero

// corners of the faces
static const int TET_FACE[4][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
static const int HEX_FACE[6][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                   {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};

static int32_t root_of(int32_t *parent, int32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

// the smaller index becomes the root, so a group is named by its first element
static void join(int32_t *parent, int32_t a, int32_t b) {
  a = root_of(parent, a);
  b = root_of(parent, b);
  if (a < b)
    parent[b] = a;
  else
    parent[a] = b;
}

// what is known of the held points of a group
typedef struct hold {
  int count;           // 0, 1 (points coincide), 2 (on a line), 3 (held)
  int32_t at, line;    // two of the points (node indices)
  int32_t n_elements;  // of the group
  int32_t fixed;       // number of held points seen
} hold;

static void difference(const double *a, const double *b, double *d) {
  for (int i = 0; i < 3; ++i) d[i] = a[i] - b[i];
}

static double length2(const double *d) { return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]; }

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static void add_held_point(const rf_mesh *mesh, int32_t node, hold *h) {
  const double *x = mesh->nodes + 3 * (int64_t)node;
  if (h->count == 0) {
    h->count = 1;
    h->at = node;
  } else if (h->count < 3) {
    double d[3], e[3], c[3];
    difference(x, mesh->nodes + 3 * (int64_t)h->at, d);
    if (h->count == 1) {
      if (!(length2(d) > 0.0)) return;
      h->count = 2;
      h->line = node;
      return;
    }
    difference(mesh->nodes + 3 * (int64_t)h->line, mesh->nodes + 3 * (int64_t)h->at, e);
    cross(d, e, c);
    // |d x e| is the distance from the line times |e|
    if (sqrt(length2(c)) > COLLINEAR * fmax(length2(e), length2(d))) h->count = 3;
  }
}

typedef struct analysis {
  const rf_solid *solid;
  int32_t *ptr, *list;  // elements around each node
  int32_t *group;       // parent of each element, by shared nodes
  int32_t *part;        // parent of each element, by shared faces
  hold *hold;           // of the group or part that an element is the root of
  int32_t *first;       // first element of the part of a root  (n_elements)
  int32_t *next;        // next element of the same part, -1    (n_elements)
  int32_t *queue;       // parts that became held, in order     (n_elements)
  int32_t n_queue;
  bool *seen;      // the node stands, and its parts know       (n_nodes)
  int32_t *loose;  // place among the loose parts of a root, -1: held
  double *normal;  // (6 loose, 6 loose)
} analysis;

static bool has_node(const rf_mesh *mesh, int32_t e, int32_t node) {
  const int nodes = (int)mesh->type;
  for (int a = 0; a < nodes; ++a)
    if (mesh->elements[(int64_t)e * nodes + a] == node) return true;
  return false;
}

static void find_parts(analysis *a) {
  const rf_mesh *mesh = a->solid->mesh;
  const bool tet = mesh->type == RF_TET4;
  const int nodes = (int)mesh->type, faces = tet ? 4 : 6, corners = tet ? 3 : 4;
  for (int32_t e = 0; e < mesh->n_elements; ++e) a->group[e] = a->part[e] = e;
  for (int32_t i = 0; i < mesh->n_nodes; ++i)
    for (int32_t k = a->ptr[i] + 1; k < a->ptr[i + 1]; ++k)
      join(a->group, a->list[a->ptr[i]], a->list[k]);
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const int32_t *element = mesh->elements + (int64_t)e * nodes;
    for (int f = 0; f < faces; ++f) {
      const int *face = tet ? TET_FACE[f] : HEX_FACE[f];
      const int32_t first = element[face[0]];
      for (int32_t k = a->ptr[first]; k < a->ptr[first + 1]; ++k) {
        const int32_t other = a->list[k];
        bool shares = other < e;
        for (int c = 1; c < corners && shares; ++c)
          shares = has_node(mesh, other, element[face[c]]);
        if (shares) join(a->part, e, other);
      }
    }
  }
}

// every group connected by nodes needs three fixed nodes that are not on a line
static rf_status check_groups(analysis *a, rf_error *err) {
  const rf_solid *s = a->solid;
  const rf_mesh *mesh = s->mesh;
  const int nodes = (int)mesh->type;
  if (s->n_fixed == 0)
    return rf_fail(err, RF_ERR_MESH,
                   "the solid has no fixed nodes; free solids are not supported yet by modes and "
                   "statics: fix at least three non-collinear nodes");
  for (int32_t e = 0; e < mesh->n_elements; ++e) ++a->hold[root_of(a->group, e)].n_elements;
  for (int32_t k = 0; k < s->n_fixed; ++k) {
    const int32_t node = s->fixed[k];
    hold *h = a->hold + root_of(a->group, a->list[a->ptr[node]]);
    ++h->fixed;
    add_held_point(mesh, node, h);
  }
  int32_t n_groups = 0;
  for (int32_t e = 0; e < mesh->n_elements; ++e) n_groups += a->group[e] == e;
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const hold *h = a->hold + e;
    if (a->group[e] != e || h->count == 3) continue;
    const int32_t node = mesh->elements[(int64_t)e * nodes];
    const char *const where =
        n_groups > 1 ? "a part of the mesh that is connected to no other" : "the solid";
    return rf_fail(
        err, RF_ERR_MESH,
        "%s (%d of %d elements, with element %d and node %d) has %d fixed nodes%s; fix at "
        "least three non-collinear nodes of it%s",
        where, h->n_elements, mesh->n_elements, e, node, h->fixed,
        h->fixed >= 3 ? ", all on one line" : "", n_groups > 1 ? ", or leave it out" : "");
  }
  return RF_OK;
}

// distinct parts at a node (roots); more than MAX_PARTS_AT_NODE are not looked at
static int parts_at(analysis *a, int32_t node, int32_t *parts) {
  int count = 0;
  for (int32_t k = a->ptr[node]; k < a->ptr[node + 1] && count < MAX_PARTS_AT_NODE; ++k) {
    const int32_t root = root_of(a->part, a->list[k]);
    bool known = false;
    for (int q = 0; q < count; ++q) known = known || parts[q] == root;
    if (!known) parts[count++] = root;
  }
  return count;
}

// a node stands still when it is fixed or belongs to a part that is held
static bool stands(const analysis *a, int32_t node, int count, const int32_t *parts) {
  bool still = a->solid->free_of[node] < 0;
  for (int q = 0; q < count; ++q) still = still || a->hold[parts[q]].count == 3;
  return still;
}

// a node that stands holds the parts at it; those that are held by that join the queue
static void tell_parts(analysis *a, int32_t node) {
  int32_t parts[MAX_PARTS_AT_NODE];
  if (a->seen[node]) return;
  const int count = parts_at(a, node, parts);
  if (!stands(a, node, count, parts)) return;
  a->seen[node] = true;
  for (int q = 0; q < count; ++q) {
    hold *h = a->hold + parts[q];
    if (h->count == 3) continue;
    add_held_point(a->solid->mesh, node, h);
    if (h->count == 3) a->queue[a->n_queue++] = parts[q];
  }
}

// parts with three standing nodes are held, and hold others; returns those left over
static int32_t settle_parts(analysis *a) {
  const rf_mesh *mesh = a->solid->mesh;
  const int nodes = (int)mesh->type;
  memset(a->hold, 0, (size_t)mesh->n_elements * sizeof *a->hold);
  for (int32_t e = 0; e < mesh->n_elements; ++e) a->first[e] = -1;
  for (int32_t e = mesh->n_elements - 1; e >= 0; --e) {
    const int32_t root = root_of(a->part, e);
    ++a->hold[root].n_elements;
    a->next[e] = a->first[root];
    a->first[root] = e;
  }
  for (int32_t k = 0; k < a->solid->n_fixed; ++k) tell_parts(a, a->solid->fixed[k]);
  for (int32_t done = 0; done < a->n_queue; ++done)
    for (int32_t e = a->first[a->queue[done]]; e >= 0; e = a->next[e])
      for (int i = 0; i < nodes; ++i) tell_parts(a, mesh->elements[(int64_t)e * nodes + i]);
  int32_t loose = 0;
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const bool is_loose = a->part[e] == e && a->hold[e].count < 3;
    a->loose[e] = is_loose ? loose++ : -1;
  }
  return loose;
}

static rf_status refuse_part(const analysis *a, int32_t root, rf_error *err) {
  const rf_mesh *mesh = a->solid->mesh;
  return rf_fail(err, RF_ERR_MESH,
                 "a part of the mesh (%d of %d elements, with element %d and node %d) hangs on the "
                 "rest only by an edge or by single nodes and can swing about them; fix at least "
                 "three non-collinear nodes of it, connect it through faces, or leave it out",
                 a->hold[root].n_elements, mesh->n_elements, root,
                 mesh->elements[(int64_t)root * (int)mesh->type]);
}

// displacement at x of part q: B_q (v, w), B = [I | -(x - c)~], 3 x 6, lengths by `size`
static void motion(const double *x, const double *centre, double size, double *B) {
  double r[3];
  for (int i = 0; i < 3; ++i) r[i] = (x[i] - centre[i]) / size;
  memset(B, 0, 18 * sizeof *B);
  for (int i = 0; i < 3; ++i) B[6 * i + i] = 1.0;
  B[6 * 0 + 4] = r[2];
  B[6 * 0 + 5] = -r[1];
  B[6 * 1 + 3] = -r[2];
  B[6 * 1 + 5] = r[0];
  B[6 * 2 + 3] = r[1];
  B[6 * 2 + 4] = -r[0];
}

static void add_product(double *normal, int32_t n, int32_t p, const double *P, int32_t q,
                        const double *Q, double sign) {
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      double sum = 0.0;
      for (int k = 0; k < 3; ++k) sum += P[6 * k + i] * Q[6 * k + j];
      normal[(6 * (int64_t)p + i) * n + 6 * q + j] += sign * sum;
    }
}

// Cholesky with diagonal pivoting; the first index left when pivots vanish, or -1
static int32_t first_dependent(double *A, int32_t n, int32_t *order) {
  double largest = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    order[i] = i;
    largest = fmax(largest, A[(int64_t)i * n + i]);
  }
  for (int32_t k = 0; k < n; ++k) {
    int32_t best = k;
    for (int32_t i = k + 1; i < n; ++i)
      if (A[(int64_t)order[i] * n + order[i]] > A[(int64_t)order[best] * n + order[best]]) best = i;
    const int32_t pivot = order[best];
    order[best] = order[k];
    order[k] = pivot;
    const double d = A[(int64_t)pivot * n + pivot];
    if (!(d > RANK * largest)) return pivot;
    for (int32_t i = k + 1; i < n; ++i) {
      const double factor = A[(int64_t)order[i] * n + pivot] / d;
      if (factor == 0.0) continue;
      for (int32_t j = k + 1; j < n; ++j)
        A[(int64_t)order[i] * n + order[j]] -= factor * A[(int64_t)pivot * n + order[j]];
    }
  }
  return -1;
}

// the question of rigid motions, over the loose parts
static rf_status check_loose(analysis *a, int32_t n_loose, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = a->solid->mesh;
  const int nodes = (int)mesh->type;
  const int32_t n = 6 * n_loose;
  int32_t *order = NULL, *root = NULL, parts[MAX_PARTS_AT_NODE];
  double size = 0.0;
  RF_ALLOC(root, n_loose);
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    if (a->loose[e] >= 0) root[a->loose[e]] = e;
  if (n_loose > MAX_LOOSE_PARTS) {
    st = refuse_part(a, root[0], err);
    goto done;
  }
  RF_ALLOC(a->normal, (int64_t)n * n);
  RF_ALLOC(order, n);
  for (int i = 0; i < 3; ++i) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t k = 0; k < mesh->n_nodes; ++k) {
      low = fmin(low, mesh->nodes[3 * (int64_t)k + i]);
      high = fmax(high, mesh->nodes[3 * (int64_t)k + i]);
    }
    size = fmax(size, high - low);
  }
  for (int32_t i = 0; i < mesh->n_nodes; ++i) {
    const int count = parts_at(a, i, parts);
    const double *x = mesh->nodes + 3 * (int64_t)i;
    const bool still = stands(a, i, count, parts);
    if (count < 2 && !still) continue;
    // against the ground, or the others against the first
    double first[18], B[18];
    for (int q = 0; q < count; ++q) {
      const int32_t p = a->loose[parts[q]];
      if (p < 0) continue;
      const double *centre = mesh->nodes + 3 * (int64_t)mesh->elements[(int64_t)parts[q] * nodes];
      motion(x, centre, size, B);
      if (still) {
        add_product(a->normal, n, p, B, p, B, 1.0);
      } else if (q == 0) {
        memcpy(first, B, sizeof first);
      } else {
        const int32_t p0 = a->loose[parts[0]];
        add_product(a->normal, n, p, B, p, B, 1.0);
        add_product(a->normal, n, p0, first, p0, first, 1.0);
        add_product(a->normal, n, p, B, p0, first, -1.0);
        add_product(a->normal, n, p0, first, p, B, -1.0);
      }
    }
  }
  const int32_t dependent = first_dependent(a->normal, n, order);
  if (dependent >= 0) st = refuse_part(a, root[dependent / 6], err);
done:
  rf_free(order);
  rf_free(root);
  return st;
}

rf_status rf_solid_require_held(const rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->mesh->n_elements;
  analysis a = {.solid = s};
  RF_TRY(rf_node_elements(s->mesh, &a.ptr, &a.list, err));
  RF_ALLOC(a.group, n);
  RF_ALLOC(a.part, n);
  RF_ALLOC(a.hold, n);
  RF_ALLOC(a.first, n);
  RF_ALLOC(a.next, n);
  RF_ALLOC(a.queue, n);
  RF_ALLOC(a.seen, s->mesh->n_nodes);
  RF_ALLOC(a.loose, n);
  find_parts(&a);
  RF_TRY(check_groups(&a, err));
  const int32_t loose = settle_parts(&a);
  if (loose > 0) RF_TRY(check_loose(&a, loose, err));
done:
  rf_free(a.ptr);
  rf_free(a.list);
  rf_free(a.group);
  rf_free(a.part);
  rf_free(a.hold);
  rf_free(a.first);
  rf_free(a.next);
  rf_free(a.queue);
  rf_free(a.seen);
  rf_free(a.loose);
  rf_free(a.normal);
  return st;
}
