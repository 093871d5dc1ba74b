#include "mesh/winding.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"
#include "mesh/orientation.h"

static const double INVERSE_4PI = 0.079577471545947667884;
static const double BESIDE = 1e-6;  // relative to the size of a surface: counts as on the surface
static const double INVERSE_2PI = 0.15915494309189533577;
enum { ASK = 1 << 14, CHUNK = 512 };  // nodes between polls; points per task

// Triangles of a tree node approximated from afar: moments of their oriented areas about a centre,
// over 4 pi.  Only trace-free parts contribute, as the kernel is harmonic.
typedef struct cluster {
  double centre[3];
  double far;            // squared distance beyond which the moments are accurate
  double area[3];        // sum of n dA
  double first[6];       // sum of s n dA: xx yy zz yz zx xy, symmetrised
  double second[10];     // sum of s s n dA / 2, symmetrised: see SECOND
  int32_t child, count;  // leaf: first triangle and number of triangles; else: first child, 0
} cluster;

// Axes of the second moments.
static const uint8_t SECOND[10][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {0, 0, 1}, {0, 0, 2},
                                      {1, 1, 0}, {1, 1, 2}, {2, 2, 0}, {2, 2, 1}, {0, 1, 2}};

struct rf_winding {
  double origin[3], scale;  // scaled coordinates (p - origin) scale, from -1 to 1
  double *corner;  // corners of the triangles, in the order of the tree   (n_triangles, 3, 3)
  cluster *node;
};

void rf_winding_free(rf_winding *w) {
  if (!w) return;
  rf_free(w->corner);
  rf_free(w->node);
  rf_free(w);
}

// ---- moments ----------------------------------------------------------------

// Complete moments, used while clusters are combined.
typedef struct moments {
  double weight, centre[3];  // area, its centroid
  double n[3];               // sum of n dA
  double sn[3][3];           // sum of s_i n_j dA
  double ssn[3][3][3];       // sum of s_i s_j n_k dA
} moments;

// Adds the moments of a part about another centre.
static void add_moments(moments *to, const moments *part) {
  double d[3];
  rf_vec3_sub(part->centre, to->centre, d);
  for (int k = 0; k < 3; ++k) {
    to->n[k] += part->n[k];
    for (int i = 0; i < 3; ++i) {
      to->sn[i][k] += part->sn[i][k] + d[i] * part->n[k];
      for (int j = 0; j < 3; ++j)
        to->ssn[i][j][k] += part->ssn[i][j][k] + d[i] * part->sn[j][k] + d[j] * part->sn[i][k] +
                            d[i] * d[j] * part->n[k];
    }
  }
}

static void moments_of_triangle(const double *x, moments *m) {
  double u[3], v[3], s[3][3];
  memset(m, 0, sizeof *m);
  for (int c = 0; c < 3; ++c) m->centre[c] = (x[c] + x[3 + c] + x[6 + c]) / 3.0;
  for (int a = 0; a < 3; ++a) rf_vec3_sub(x + 3 * a, m->centre, s[a]);
  rf_vec3_sub(x + 3, x, u);
  rf_vec3_sub(x + 6, x, v);
  rf_vec3_cross(u, v, m->n);
  for (int c = 0; c < 3; ++c) m->n[c] *= 0.5;
  m->weight = rf_vec3_length(m->n);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        m->ssn[i][j][k] =
            (s[0][i] * s[0][j] + s[1][i] * s[1][j] + s[2][i] * s[2][j]) / 12.0 * m->n[k];
}

// Combines parts about their common centroid by area; without area, about the mean.
static void put_together(const moments *part, int count, moments *out) {
  memset(out, 0, sizeof *out);
  for (int p = 0; p < count; ++p) out->weight += part[p].weight;
  for (int p = 0; p < count; ++p) {
    const double share = out->weight > 0.0 ? part[p].weight / out->weight : 1.0 / count;
    for (int c = 0; c < 3; ++c) out->centre[c] += share * part[p].centre[c];
  }
  for (int p = 0; p < count; ++p) add_moments(out, &part[p]);
}

static void set_cluster(const moments *m, cluster *c) {
  memcpy(c->centre, m->centre, sizeof c->centre);
  for (int i = 0; i < 3; ++i) c->area[i] = INVERSE_4PI * m->n[i];

  const double trace = (m->sn[0][0] + m->sn[1][1] + m->sn[2][2]) / 3.0;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    c->first[i] = INVERSE_4PI * (m->sn[i][i] - trace);
    c->first[3 + i] = 0.5 * INVERSE_4PI * (m->sn[j][k] + m->sn[k][j]);
  }

  double sym[3][3][3], t[3] = {0.0, 0.0, 0.0};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        sym[i][j][k] = (m->ssn[i][j][k] + m->ssn[j][k][i] + m->ssn[k][i][j]) / 3.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) t[i] += sym[j][j][i] / 5.0;
  for (int a = 0; a < 10; ++a) {
    const int i = SECOND[a][0], j = SECOND[a][1], k = SECOND[a][2];
    const double rest = (i == j ? t[k] : 0.0) + (j == k ? t[i] : 0.0) + (k == i ? t[j] : 0.0);
    c->second[a] = 0.5 * INVERSE_4PI * (sym[i][j][k] - rest);
  }
}

// ---- the tree ---------------------------------------------------------------

// Returns the squared radius of the triangles [from, from + count) about the centre.
static double radius2_of(const double *corner, int32_t from, int32_t count, const double *centre) {
  double most = 0.0;
  for (size_t i = 3 * (size_t)from; i < 3 * ((size_t)from + (size_t)count); ++i) {
    double s[3];
    rf_vec3_sub(corner + 3 * i, centre, s);
    most = fmax(most, rf_vec3_dot(s, s));
  }
  return most;
}

// Children follow their parents, so nodes are completed from the last to the first.
static rf_status set_nodes(rf_winding *w, const rf_bvh *b, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  moments *all = NULL;
  int32_t *from = NULL, *count = NULL;  // triangles of a node
  RF_ALLOC(all, b->n_nodes);
  RF_ALLOC(from, b->n_nodes);
  RF_ALLOC(count, b->n_nodes);
  for (int32_t i = b->n_nodes - 1; i >= 0; --i) {
    if (i % ASK == 0) RF_TRY(rf_run_poll(run, err));
    const int32_t first = b->first[i];
    cluster *c = &w->node[i];
    c->child = first;
    c->count = b->count[i];
    if (b->count[i] > 0) {
      moments part[RF_BVH_LEAF];
      for (int32_t k = 0; k < b->count[i]; ++k)
        moments_of_triangle(w->corner + 9 * (size_t)(first + k), &part[k]);
      put_together(part, b->count[i], &all[i]);
      from[i] = first;
      count[i] = b->count[i];
    } else {
      put_together(&all[first], 2, &all[i]);
      from[i] = from[first];
      count[i] = count[first] + count[first + 1];
    }
    set_cluster(&all[i], c);
    c->far =
        RF_WINDING_BETA * RF_WINDING_BETA * radius2_of(w->corner, from[i], count[i], c->centre);
  }
done:
  rf_free(all);
  rf_free(from);
  rf_free(count);
  return st;
}

// Maps points to -1 .. 1 about the middle of the surface.
static void set_scale(const rf_surface *s, rf_winding *w) {
  double low[3], high[3], longest = 0.0;
  rf_surface_bounds(s, low, high);
  for (int c = 0; c < 3; ++c) {
    w->origin[c] = 0.5 * low[c] + 0.5 * high[c];
    longest = fmax(longest, 0.5 * high[c] - 0.5 * low[c]);
  }
  int exponent = 0;
  frexp(longest, &exponent);
  w->scale = longest > 0.0 ? ldexp(1.0, -exponent) : 1.0;
}

rf_status rf_winding_create_reversed(const rf_surface *s, const uint8_t *reversed,
                                     const rf_run *run, rf_winding **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_winding *w = NULL;
  rf_bvh bvh = {0};
  double *boxes = NULL, *corner = NULL;
  const size_t n = (size_t)s->n_triangles;
  *out = NULL;
  RF_ALLOC(w, 1);
  RF_ALLOC(w->corner, 9 * n);
  RF_ALLOC(boxes, 6 * n);
  RF_ALLOC(corner, 9 * n);
  set_scale(s, w);
  for (size_t t = 0; t < n; ++t) {
    double *x = corner + 9 * t, *box = boxes + 6 * t;
    for (int c = 0; c < 3; ++c) box[c] = INFINITY, box[3 + c] = -INFINITY;
    for (int a = 0; a < 3; ++a) {
      const int from = a > 0 && reversed && reversed[t] ? 3 - a : a;
      const double *v = s->vertices + 3 * (size_t)s->triangles[3 * t + (size_t)from];
      for (int c = 0; c < 3; ++c) {
        const double value = (v[c] - w->origin[c]) * w->scale;
        x[3 * a + c] = value;
        box[c] = fmin(box[c], value);
        box[3 + c] = fmax(box[3 + c], value);
      }
    }
  }
  RF_TRY(rf_bvh_create(s->n_triangles, boxes, run, &bvh, err));
  for (size_t at = 0; at < n; ++at)
    memcpy(w->corner + 9 * at, corner + 9 * (size_t)bvh.item[at], 9 * sizeof *corner);
  RF_ALLOC(w->node, bvh.n_nodes);
  RF_TRY(set_nodes(w, &bvh, run, err));
  *out = w;
  w = NULL;
done:
  rf_winding_free(w);
  rf_bvh_free(&bvh);
  rf_free(boxes);
  rf_free(corner);
  return st;
}

rf_status rf_winding_create(const rf_surface *s, const rf_run *run, rf_winding **out,
                            rf_error *err) {
  rf_status st = RF_OK;
  uint8_t *reversed = NULL;
  *out = NULL;
  RF_ALLOC(reversed, s->n_triangles);
  RF_TRY(rf_orientation_find(s, run, reversed, err));
  RF_TRY(rf_winding_create_reversed(s, reversed, run, out, err));
done:
  rf_free(reversed);
  return st;
}

// ---- queries ----------------------------------------------------------------

// Expands f(s) = n . (c + s - p) / |c + s - p|^3 in a Taylor series about s = 0; r = c - p.
static double far_field(const cluster *c, const double *r, double square) {
  const double inverse2 = 1.0 / square, inverse3 = inverse2 * sqrt(inverse2);
  const double x = r[0], y = r[1], z = r[2];
  const double *a = c->first, *b = c->second;
  const double zeroth = rf_vec3_dot(c->area, r);
  const double first = a[0] * x * x + a[1] * y * y + a[2] * z * z +
                       2.0 * (a[3] * y * z + a[4] * z * x + a[5] * x * y);
  const double second = x * x * (b[0] * x + 3.0 * (b[3] * y + b[4] * z)) +
                        y * y * (b[1] * y + 3.0 * (b[5] * x + b[6] * z)) +
                        z * z * (b[2] * z + 3.0 * (b[7] * x + b[8] * y)) + 6.0 * b[9] * x * y * z;
  return inverse3 * (zeroth - inverse2 * (3.0 * first - 15.0 * inverse2 * second));
}

// A sum of angles as a product of complex numbers: one arctangent serves many triangles.
typedef struct angle_sum {
  double re, im;  // product for angles not yet in `sum`: below a quarter turn in total
  double sum;
} angle_sum;

static void add_angle(angle_sum *a, double re, double im) {
  const double size = fabs(re) + fabs(im);
  if (!(size > 1e-280)) return;  // seen from one of its corners: no angle
  // below a quarter turn each, two together stay below half a turn
  if (re > 0.0) {
    const double scale = 1.0 / size;
    re *= scale, im *= scale;
    const double product = a->re * re - a->im * im;
    a->im = a->re * im + a->im * re;
    a->re = product;
    if (a->re > 1e-100) return;
    a->sum += atan2(a->im, a->re);
    a->re = 1.0, a->im = 0.0;
    return;
  }
  a->sum += atan2(im, re);
}

// Half the solid angle of a triangle is the argument of this complex number.
static void add_triangle(angle_sum *sum, const double *x, const double *p) {
  double a[3], b[3], c[3];
  rf_vec3_sub(x, p, a);
  rf_vec3_sub(x + 3, p, b);
  rf_vec3_sub(x + 6, p, c);
  const double la = rf_vec3_length(a), lb = rf_vec3_length(b), lc = rf_vec3_length(c);
  const double re =
      la * lb * lc + rf_vec3_dot(a, b) * lc + rf_vec3_dot(b, c) * la + rf_vec3_dot(c, a) * lb;
  const double im = rf_vec3_det(a, b, c);
  // in the plane of the triangle both sides cancel
  if (im != 0.0) add_angle(sum, re, im);
}

double rf_winding_at(const rf_winding *w, const double place[3]) {
  double p[3], far = 0.0;
  angle_sum near = {1.0, 0.0, 0.0};
  for (int c = 0; c < 3; ++c) {
    p[c] = (place[c] - w->origin[c]) * w->scale;
    if (!(fabs(p[c]) < 1e30)) return 0.0;
  }
  int32_t stack[RF_BVH_STACK];
  int depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const cluster *c = &w->node[stack[--depth]];
    double r[3];
    rf_vec3_sub(c->centre, p, r);
    const double square = rf_vec3_dot(r, r);
    if (square > c->far) {
      far += far_field(c, r, square);
    } else if (c->count == 0) {
      stack[depth++] = c->child;
      stack[depth++] = c->child + 1;
    } else {
      for (int32_t t = c->child; t < c->child + c->count; ++t)
        add_triangle(&near, w->corner + 9 * (size_t)t, p);
    }
  }
  return far + INVERSE_2PI * (near.sum + atan2(near.im, near.re));
}

double rf_winding_between(const rf_winding *w, const rf_surface *s, int32_t triangle,
                          const double weight[3]) {
  const int32_t *corner = s->triangles + 3 * (size_t)triangle;
  double x[3][3], u[3], v[3], n[3], sum = 0.0;
  // in the scaled coordinates of the tree, which are of order 1
  for (int k = 0; k < 9; ++k)
    x[k / 3][k % 3] =
        (s->vertices[3 * (size_t)corner[k / 3] + (size_t)(k % 3)] - w->origin[k % 3]) * w->scale;
  rf_vec3_sub(x[1], x[0], u);
  rf_vec3_sub(x[2], x[0], v);
  rf_vec3_cross(u, v, n);
  const double length = rf_vec3_length(n), beside = length > 0.0 ? BESIDE / length : 0.0;
  for (int side = -1; side <= 1; side += 2) {
    double p[3];
    for (int c = 0; c < 3; ++c) {
      const double at = weight[0] * x[0][c] + weight[1] * x[1][c] + weight[2] * x[2][c];
      p[c] = w->origin[c] + (at + side * beside * n[c]) / w->scale;
    }
    sum += 0.5 * rf_winding_at(w, p);
  }
  return sum;
}

typedef struct asking {
  const rf_winding *w;
  const double *places;
  double *out;
  int64_t n;
} asking;

static rf_status ask_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const asking *a = context;
  const int64_t from = task * CHUNK, end = from + CHUNK < a->n ? from + CHUNK : a->n;
  for (int64_t i = from; i < end; ++i) a->out[i] = rf_winding_at(a->w, a->places + 3 * i);
  return RF_OK;
}

rf_status rf_winding_at_many(const rf_winding *w, int64_t n, const double *places, double *out,
                             const rf_run *run, rf_error *err) {
  asking a = {w, places, out, n};
  return rf_run_tasks(run, (n + CHUNK - 1) / CHUNK, 1, ask_chunk, &a, err);
}
