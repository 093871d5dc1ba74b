// System information: BLAS kernels, processor features, memory counters.
#include "base/alloc.h"
#include "linalg/blas.h"
#include "pyext/py_core.h"

PyDoc_STRVAR(blas_doc,
             "blas_description($module, /)\n--\n\n"
             "Dict with core, best, core_vectors, best_vectors, config, library, threads and\n"
             "fallback of the BLAS in use.");
static PyObject *blas_description(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  rf_blas_description d;
  rf_blas_describe(&d);
  return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:O}", "core", d.core, "best", d.best,
                       "core_vectors", d.core_vectors, "best_vectors", d.best_vectors, "config",
                       d.config, "library", d.library, "threads", d.threads, "fallback",
                       d.fallback ? Py_True : Py_False);
}

PyDoc_STRVAR(alloc_doc,
             "alloc_counters($module, /)\n--\n\n"
             "Dict with live_blocks, live_bytes, peak_bytes and calls of the C allocator.");
static PyObject *alloc_counters(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  const rf_alloc_counters c = rf_alloc_read_counters();
  return Py_BuildValue("{s:L,s:L,s:L,s:L}", "live_blocks", (long long)c.live_blocks, "live_bytes",
                       (long long)c.live_bytes, "peak_bytes", (long long)c.peak_bytes, "calls",
                       (long long)c.calls);
}

PyDoc_STRVAR(reset_doc,
             "alloc_reset_peak($module, /)\n--\n\n"
             "Reset the peak to the present number of live bytes.");
static PyObject *alloc_reset_peak(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  rf_alloc_reset_peak();
  Py_RETURN_NONE;
}

PyDoc_STRVAR(fail_doc,
             "alloc_fail_from($module, k, /)\n--\n\n"
             "Make the k-th C allocation from now and all later ones fail; k < 0 ends this.");
static PyObject *alloc_fail_from(PyObject *module, PyObject *arg) {
  (void)module;
  const long long k = PyLong_AsLongLong(arg);
  if (k == -1 && PyErr_Occurred()) return NULL;
  rf_alloc_fail_from(k);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"blas_description", blas_description, METH_NOARGS, blas_doc},
    {"alloc_counters", alloc_counters, METH_NOARGS, alloc_doc},
    {"alloc_reset_peak", alloc_reset_peak, METH_NOARGS, reset_doc},
    {"alloc_fail_from", alloc_fail_from, METH_O, fail_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_system_room = {.functions = functions};
