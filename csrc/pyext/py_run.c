#include "pyext/py_core.h"

#include <time.h>

// shortest time between calls: cheap beside the work, quick enough for Ctrl-C
static const double PROGRESS_PERIOD_S = 0.05;

double py_now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Reports progress and checks signals; called without the GIL, on the caller's thread.
static int on_progress(void *context, int64_t done, int64_t total) {
  py_run *r = context;
  const double now = py_now_s();
  // a poll without a count checks signals only and must not delay the next report; the last count
  // is always reported, so that bars end full
  const int calls = r->callable && r->callable != Py_None && total > 0 &&
                    (now >= r->next_call_s || done == total);
  if (!calls && now < r->next_signals_s) return 0;
  r->next_signals_s = now + PROGRESS_PERIOD_S;
  if (calls) r->next_call_s = now + PROGRESS_PERIOD_S;

  const PyGILState_STATE gil = PyGILState_Ensure();
  // a loop that asks once more after a stop must not run code under a pending exception
  int stop = PyErr_Occurred() || PyErr_CheckSignals() != 0;
  if (!stop && calls) {
    PyObject *result = PyObject_CallFunction(r->callable, "LL", (long long)done, (long long)total);
    stop = result == NULL;
    Py_XDECREF(result);
  }
  PyGILState_Release(gil);
  return stop;  // the exception stays pending in this thread; py_raise keeps it
}

int py_run_init(py_state *state, py_run *r, PyObject *callable, int threads) {
  if (callable && callable != Py_None && !PyCallable_Check(callable)) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "progress must be a callable or None, got %s",
            Py_TYPE(callable)->tp_name);
    return -1;
  }
  if (threads < 1 || threads > RF_MAX_THREADS) {
    py_fail(state, PY_INPUT_ERROR, "threads must be between 1 and %d, got %d", RF_MAX_THREADS,
            threads);
    return -1;
  }
  r->callable = callable;
  r->next_call_s = r->next_signals_s = py_now_s() + PROGRESS_PERIOD_S;
  r->run = (rf_run){.threads = threads, .progress = on_progress, .progress_context = r};
  return 0;
}

int py_interrupt_init(py_interrupt *i) {
  PyObject *module = PyImport_ImportModule("threading");
  PyObject *thread = module ? PyObject_CallMethod(module, "main_thread", NULL) : NULL;
  PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
  const unsigned long number = ident ? PyLong_AsUnsignedLong(ident) : 0;
  PY_XDECREF(ident, thread, module);
  *i = (py_interrupt){.of_main = number == PyThread_get_thread_ident()};
  return PyErr_Occurred() ? -1 : 0;
}

int py_interrupt_look(void *context, int64_t done, int64_t total) {
  py_interrupt *i = context;
  (void)done, (void)total;
  const double now = py_now_s();
  if (i->came || now < i->next_s) return i->came;
  i->next_s = now + PROGRESS_PERIOD_S;
  const PyGILState_STATE gil = PyGILState_Ensure();
  i->came = PyOS_InterruptOccurred() != 0;
  PyGILState_Release(gil);
  return i->came;
}

bool py_interrupt_return(py_interrupt *i, py_run *run) {
  if (!i->came) return false;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyErr_SetInterrupt();
  PyGILState_Release(gil);
  i->came = false;
  run->next_signals_s = 0.0;
  return true;
}
