// Test that every part of a solid is held by its fixed nodes.
//
// Without strain, elements that share a face move as one rigid body.  Such parts may touch along
// edges and at nodes only, and can then rotate about them.  The solid is held if and only if no
// nonzero combination of rigid motions v + w x (x - c) of its parts agrees at all shared nodes and
// vanishes at all fixed ones: a small dense rank test with six unknowns per part, needed only for
// parts that simpler arguments leave undecided.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/adjacency.h"
#include "fem/fem.h"
#include "linalg/vec3.h"
#include "mesh/topology.h"

enum {
  MAX_PARTS_AT_NODE = 32,
  MAX_LOOSE_PARTS = 200  // limit of the dense test; more are rejected untested
};
static const double COLLINEAR = 1e-8;  // relative to the distance of the two outer points
static const double RANK = 1e-11;      // pivots below this fraction of the largest count as zero

// Held points of a group.
typedef struct hold {
  int count;           // 0, 1 (points coincide), 2 (on a line), 3 (held)
  int32_t at, line;    // two of the points (node indices)
  int32_t n_elements;  // elements of the group
  int32_t fixed;       // held points found
} hold;

static void add_held_point(const rf_mesh *mesh, int32_t node, hold *h) {
  const double *x = mesh->nodes + 3 * (int64_t)node;
  if (h->count == 0) {
    h->count = 1;
    h->at = node;
  } else if (h->count < 3) {
    double d[3], e[3], c[3];
    rf_vec3_sub(x, mesh->nodes + 3 * (int64_t)h->at, d);
    if (h->count == 1) {
      if (!(rf_vec3_dot(d, d) > 0.0)) return;
      h->count = 2;
      h->line = node;
      return;
    }
    rf_vec3_sub(mesh->nodes + 3 * (int64_t)h->line, mesh->nodes + 3 * (int64_t)h->at, e);
    rf_vec3_cross(d, e, c);
    // |d x e| is the distance from the line times |e|
    if (rf_vec3_length(c) > COLLINEAR * fmax(rf_vec3_dot(e, e), rf_vec3_dot(d, d))) h->count = 3;
  }
}

typedef struct analysis {
  const rf_solid *solid;
  int32_t *ptr, *list;       // elements around each node
  int32_t n_groups, *group;  // group of each element, by shared nodes (n_elements)
  int32_t n_parts, *part;    // part of each element, by shared faces (n_elements)
  hold *hold;                // of the groups, then of the parts (n_parts, at least n_groups)
  int32_t *first;            // first element of each               (n_parts)
  int32_t *next;             // next element of the same; -1: none  (n_elements)
  int32_t *queue;            // parts that became held, in order     (n_parts)
  int32_t n_queue;
  bool *seen;      // the node is fixed in space and has been passed to its parts (n_nodes)
  int32_t *loose;  // index among the loose parts, -1: held (n_parts)
  double *normal;  // (6 loose, 6 loose)
} analysis;

// Lists the elements of groups or parts; clears all other data.
static void begin(analysis *a, int32_t count, const int32_t *label) {
  memset(a->hold, 0, (size_t)count * sizeof *a->hold);
  for (int32_t k = 0; k < count; ++k) a->first[k] = -1;
  for (int32_t e = a->solid->mesh->n_elements - 1; e >= 0; --e) {
    ++a->hold[label[e]].n_elements;
    a->next[e] = a->first[label[e]];
    a->first[label[e]] = e;
  }
}

// Every group connected by nodes needs three non-collinear fixed nodes.
static rf_status check_groups(analysis *a, rf_error *err) {
  const rf_solid *s = a->solid;
  const rf_mesh *mesh = s->mesh;
  const int nodes = (int)mesh->type;
  if (s->n_fixed == 0)
    return rf_fail(err, RF_ERR_MESH,
                   "the solid has no fixed nodes, so loads move it away; fix at least three "
                   "non-collinear nodes");
  begin(a, a->n_groups, a->group);
  for (int32_t k = 0; k < s->n_fixed; ++k) {
    const int32_t node = s->fixed[k];
    hold *h = a->hold + a->group[a->list[a->ptr[node]]];
    ++h->fixed;
    add_held_point(mesh, node, h);
  }
  for (int32_t g = 0; g < a->n_groups; ++g) {
    const hold *h = a->hold + g;
    if (h->count == 3) continue;
    const int32_t e = a->first[g];
    const int32_t node = mesh->elements[(int64_t)e * nodes];
    const char *const where =
        a->n_groups > 1 ? "a part of the mesh that is connected to no other" : "the solid";
    return rf_fail(
        err, RF_ERR_MESH,
        "%s (%d of %d elements, with element %d and node %d) has %d fixed node%s%s; fix at "
        "least three non-collinear nodes of it%s",
        where, h->n_elements, mesh->n_elements, e, node, h->fixed, h->fixed == 1 ? "" : "s",
        h->fixed >= 3 ? ", all on one line" : "", a->n_groups > 1 ? ", or leave it out" : "");
  }
  return RF_OK;
}

// Lists the distinct parts at a node, at most MAX_PARTS_AT_NODE.
static int parts_at(analysis *a, int32_t node, int32_t *parts) {
  int count = 0;
  for (int32_t k = a->ptr[node]; k < a->ptr[node + 1] && count < MAX_PARTS_AT_NODE; ++k) {
    const int32_t part = a->part[a->list[k]];
    bool known = false;
    for (int q = 0; q < count; ++q) known = known || parts[q] == part;
    if (!known) parts[count++] = part;
  }
  return count;
}

// True for a node that is fixed or belongs to a held part.
static bool stands(const analysis *a, int32_t node, int count, const int32_t *parts) {
  bool still = a->solid->free_of[node] == -1;
  for (int q = 0; q < count; ++q) still = still || a->hold[parts[q]].count == 3;
  return still;
}

// Adds a node held in space to its parts; parts held by that join the queue.
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

// Marks parts with three held nodes as held, and spreads this; returns the number of other parts.
static int32_t settle_parts(analysis *a) {
  const rf_mesh *mesh = a->solid->mesh;
  const int nodes = (int)mesh->type;
  begin(a, a->n_parts, a->part);
  for (int32_t k = 0; k < a->solid->n_fixed; ++k) tell_parts(a, a->solid->fixed[k]);
  for (int32_t done = 0; done < a->n_queue; ++done)
    for (int32_t e = a->first[a->queue[done]]; e >= 0; e = a->next[e])
      for (int i = 0; i < nodes; ++i) tell_parts(a, mesh->elements[(int64_t)e * nodes + i]);
  int32_t loose = 0;
  for (int32_t p = 0; p < a->n_parts; ++p) a->loose[p] = a->hold[p].count < 3 ? loose++ : -1;
  return loose;
}

static rf_status refuse_part(const analysis *a, int32_t part, rf_error *err) {
  const rf_mesh *mesh = a->solid->mesh;
  const int32_t e = a->first[part];
  return rf_fail(err, RF_ERR_MESH,
                 "a part of the mesh (%d of %d elements, with element %d and node %d) hangs on the "
                 "rest only by an edge or by single nodes and can swing about them; fix at least "
                 "three non-collinear nodes of it, connect it through faces, or leave it out "
                 "(graded_tets: pieces='largest')",
                 a->hold[part].n_elements, mesh->n_elements, e,
                 mesh->elements[(int64_t)e * (int)mesh->type]);
}

// Computes the displacement at x of part q: B_q (v, w), B = [I | -(x - c)~], 3 x 6, lengths in
// units of `size`.
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

// Runs Cholesky with diagonal pivoting; returns the first remaining index when pivots vanish, or
// -1.
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

// Adds that constrained nodes follow their masters; nodes held in space do not move.
static rf_status tie_parts(analysis *a, int32_t n, double size, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = a->solid->mesh;
  const rf_constraints *c = mesh->constraints;
  int32_t *at = NULL, most = 0, parts[MAX_PARTS_AT_NODE];
  double *terms = NULL;  // of the loose parts `at`
  for (int32_t k = 0; c && k < c->n; ++k)
    most = c->ptr[k + 1] - c->ptr[k] > most ? c->ptr[k + 1] - c->ptr[k] : most;
  if (most == 0) return RF_OK;
  RF_ALLOC(at, (int64_t)most + 1);
  RF_ALLOC(terms, 18 * ((int64_t)most + 1));
  for (int32_t k = 0; k < c->n; ++k) {
    int32_t count = 0;
    for (int32_t p = c->ptr[k] - 1; p < c->ptr[k + 1]; ++p) {
      const bool own = p < c->ptr[k];
      const int32_t node = own ? c->slaves[k] : c->masters[p];
      const int found = parts_at(a, node, parts);
      if (stands(a, node, found, parts)) continue;
      const int32_t corner = mesh->elements[(int64_t)a->first[parts[0]] * (int)mesh->type];
      double *term = terms + 18 * (int64_t)count;
      motion(mesh->nodes + 3 * (int64_t)node, mesh->nodes + 3 * (int64_t)corner, size, term);
      for (int i = 0; i < 18; ++i) term[i] *= own ? 1.0 : -c->weights[p];
      at[count++] = a->loose[parts[0]];
    }
    for (int32_t p = 0; p < count; ++p)
      for (int32_t q = 0; q < count; ++q)
        add_product(a->normal, n, at[p], terms + 18 * (int64_t)p, at[q], terms + 18 * (int64_t)q,
                    1.0);
  }
done:
  rf_free(at);
  rf_free(terms);
  return st;
}

// Tests the rigid motions of the loose parts.
static rf_status check_loose(analysis *a, int32_t n_loose, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = a->solid->mesh;
  const int nodes = (int)mesh->type;
  const int32_t n = 6 * n_loose;
  int32_t *order = NULL, *part = NULL, parts[MAX_PARTS_AT_NODE];
  double size = 0.0;
  RF_ALLOC(part, n_loose);
  for (int32_t p = 0; p < a->n_parts; ++p)
    if (a->loose[p] >= 0) part[a->loose[p]] = p;
  if (n_loose > MAX_LOOSE_PARTS) {
    st = refuse_part(a, part[0], err);
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
    // relative to the ground, or of the other parts relative to the first
    double first[18], B[18];
    for (int q = 0; q < count; ++q) {
      const int32_t p = a->loose[parts[q]];
      if (p < 0) continue;
      const int32_t *corners = mesh->elements + (int64_t)a->first[parts[q]] * nodes;
      const double *centre = mesh->nodes + 3 * (int64_t)corners[0];
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
  RF_TRY(tie_parts(a, n, size, err));
  const int32_t dependent = first_dependent(a->normal, n, order);
  if (dependent >= 0) st = refuse_part(a, part[dependent / 6], err);
done:
  rf_free(order);
  rf_free(part);
  return st;
}

rf_status rf_solid_require_held(const rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->mesh->n_elements;
  analysis a = {.solid = s};
  RF_TRY(rf_node_elements(s->mesh, &a.ptr, &a.list, err));
  RF_ALLOC(a.group, n);
  RF_ALLOC(a.part, n);
  RF_TRY(rf_mesh_components(s->mesh, false, a.group, &a.n_groups, err));
  RF_TRY(rf_mesh_components(s->mesh, true, a.part, &a.n_parts, err));
  RF_ALLOC(a.hold, a.n_parts);
  RF_ALLOC(a.first, a.n_parts);
  RF_ALLOC(a.next, n);
  RF_ALLOC(a.queue, a.n_parts);
  RF_ALLOC(a.seen, s->mesh->n_nodes);
  RF_ALLOC(a.loose, a.n_parts);
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

// Requires one connected group; the error names the first element not connected to element 0.
static rf_status require_connected(const rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *group = NULL, n_groups = 0, other = 0;
  RF_ALLOC(group, s->mesh->n_elements);
  RF_TRY(rf_mesh_components(s->mesh, false, group, &n_groups, err));
  if (n_groups == 1) goto done;
  while (group[other] == group[0]) ++other;
  st = rf_fail(err, RF_ERR_MESH,
               "a free solid must be one piece; this mesh has %d that are not connected (elements "
               "0 and %d, for two): make a solid of each, or leave the others out",
               n_groups, other);
done:
  rf_free(group);
  return st;
}

// In one piece, holding one element holds all.
rf_status rf_solid_require_one_piece(const rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  rf_solid supported = *s;
  int32_t fixed[RF_MAX_NODES];
  supported.free_of = NULL;
  RF_TRY(require_connected(s, err));
  supported.n_fixed = (int32_t)s->mesh->type;
  supported.fixed = fixed;
  RF_ALLOC(supported.free_of, s->mesh->n_nodes);
  for (int32_t a = 0; a < supported.n_fixed; ++a) {
    fixed[a] = s->mesh->elements[a];
    supported.free_of[fixed[a]] = -1;
  }
  st = rf_solid_require_held(&supported, err);
done:
  rf_free(supported.free_of);
  return st;
}
