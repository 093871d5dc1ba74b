// The type _core.ExplicitTouch: a solid in explicit steps that a hand touches with a RigidProxy.
#include <string.h>

#include "pyext/py_object.h"
#include "touch/explicit.h"

#define NAME(name) #name,
static const char *const WAYS[] = {RF_EXPLICIT_WAYS(NAME)};
#undef NAME
enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

static void release(void *touch) { rf_touch_free(touch); }

static int way_in(py_state *state, const char *name, rf_explicit_way *way) {
  for (int k = 0; k < N_WAYS; ++k)
    if (strcmp(name, WAYS[k]) == 0) {
      *way = (rf_explicit_way)k;
      return 0;
    }
  py_fail(state, PY_INPUT_ERROR, "there is no interpolation %s", name);
  return -1;
}

static PyObject *explicit_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *motion, *proxy;
  const char *way;
  rf_explicit_settings set = {0};
  rf_touch *touch;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOsdii:ExplicitTouch", &motion, &proxy, &way, &set.cycle_s,
                        &set.cycles, &set.steps) ||
      py_require_type(state, motion, PY_MOTION, "contact", "CentralDifferences") < 0 ||
      py_require_type(state, proxy, PY_PROXY, "contact", "RigidProxy") < 0 ||
      way_in(state, way, &set.way) < 0)
    return NULL;
  set.motion = py_held(motion);
  set.proxy = py_held(proxy);
  rf_status st;
  PY_WITHOUT_GIL(st = rf_explicit_create(&set, &touch, &err));
  if (st < 0) return py_raise(state, st, &err);
  PyObject *kept = PyTuple_Pack(2, motion, proxy);
  if (!kept) {
    release(touch);
    return NULL;
  }
  PyObject *self = py_object_new_locked(type, touch, release, kept);
  Py_DECREF(kept);
  return self;
}

PyDoc_STRVAR(report_doc,
             "report($self, /)\n--\n\n"
             "Dict of what happened: lag [s], missed, periods, late, stalls, failure.");
static PyObject *report(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_explicit *x = ((const rf_touch *)py_held(self))->self;
  const rf_explicit_report *r = x->report;
  rf_error why = {0};
  // a motion that has failed rests
  if (atomic_load(&r->failed))
    (void)rf_motion_explain(x->set.motion, "the simulation", "a slower hand", &why);
  return Py_BuildValue("{s:d,s:d,s:L,s:L,s:L,s:N}", "lag", rf_explicit_lag(x), "missed",
                       atomic_load(&r->missed), "periods", (long long)atomic_load(&r->periods),
                       "late", (long long)atomic_load(&r->late), "stalls",
                       (long long)atomic_load(&r->stalls), "failure", py_text(why.text));
}

static PyMethodDef methods[] = {{"report", report, METH_NOARGS, report_doc}, {0}};

PyDoc_STRVAR(explicit_doc,
             "ExplicitTouch(motion, proxy, way, cycle, cycles, steps, /)\n--\n\n"
             "A motion of explicit steps whose Proxy sessions move, which must be its own. way:\n"
             "direct, delay or stiffness; cycles: of a period, which has so many steps.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "ExplicitTouch", py_object, {Py_tp_new, explicit_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)explicit_doc});

const py_room py_explicit_room = {.types = {{PY_EXPLICIT_TOUCH, &spec}}};
