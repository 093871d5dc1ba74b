// Steps of a reduced model in contact with a moved object: a method of _core.Motion.
#include <string.h>

#include "base/alloc.h"
#include "pyext/py_contact.h"
#include "pyext/py_convert.h"
#include "pyext/py_motion.h"
#include "pyext/py_object.h"
#include "pyext/py_source.h"
#include "world/driven.h"

// Steps in contact; the arrays have a row for each step.
typedef struct driven {
  PyObject *simulation, *contact;
  const double *force, *positions, *quaternions, *field_qs;
  double *reduced, *field_reduced;
  rf_contact_result *found;
  npy_intp r, s;  // coordinates of the shell and of the field
} driven;

// Both are locked for a chunk of steps only, the simulation first.
static rf_status drive(const driven *d, rf_driven *work, int64_t from, int64_t end, rf_error *err) {
  rf_status st = RF_OK;
  py_lock(d->simulation);
  py_lock(d->contact);
  for (int64_t k = from; k < end && st >= 0; ++k) {
    rf_pose pose;
    memcpy(pose.position_m, d->positions + 3 * k, sizeof pose.position_m);
    memcpy(pose.quaternion, d->quaternions + 4 * k, sizeof pose.quaternion);
    st = rf_driven_step_rt(work, &pose, d->field_qs ? d->field_qs + d->s * k : NULL, d->force,
                           d->found + k, d->reduced + d->r * k,
                           d->field_reduced ? d->field_reduced + d->s * k : NULL);
    if (st == RF_ERR_ARG)
      st = rf_fail(err, st, "step %lld: the pose or field_q is not finite or too large",
                   (long long)k);
    else if (st < 0)
      st = rf_motion_explain(py_held(d->simulation), "the simulation", "softer contact", err);
  }
  py_unlock(d->contact);
  py_unlock(d->simulation);
  return st;
}

PyObject *py_motion_step_contact(PyObject *object, PyObject *args) {
  py_state *state = py_state_of_object(object);
  PyObject *force_obj, *contact, *positions_obj, *quaternions_obj, *field_qs_obj, *progress;
  PyObject *reduced = NULL, *field_reduced = NULL, *result = NULL;
  py_run run;
  py_in force, positions = {0}, quaternions = {0}, field_qs = {0};
  rf_driven *work = NULL;
  driven d = {.simulation = object};
  rf_error err = {0};
  rf_status st = RF_OK;
  if (!PyArg_ParseTuple(args, "OOOOOO:step_contact", &force_obj, &contact, &positions_obj,
                        &quaternions_obj, &field_qs_obj, &progress))
    return NULL;
  const rf_contact *of = py_contact_get(state, contact);
  const rf_motion *motion = of ? py_motion_coupled(state, object) : NULL;
  if (!motion || py_run_init(state, &run, progress, 1) < 0 ||
      py_source_vector_in(&(py_source){.n = motion->n, .ndim = 1}, &force, force_obj, "force") < 0)
    return NULL;
  d.contact = contact;
  d.r = motion->n;
  d.s = rf_contact_field_coordinates(of);
  if (rf_contact_coordinates(of) != d.r) {
    py_fail(state, PY_INPUT_ERROR,
            "contact is of a shell with %d coordinates, the simulation has %zd",
            (int)rf_contact_coordinates(of), (Py_ssize_t)d.r);
    goto done;
  }
  if (py_in_f64(&positions, positions_obj, "position", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  const npy_intp n = positions.shape[0];
  if (py_in_f64(&quaternions, quaternions_obj, "quaternion", 2, (npy_intp[]){n, 4}) < 0) goto done;
  if (field_qs_obj != Py_None && !d.s) {
    py_fail(state, PY_INPUT_ERROR, "field_q is given, but the field does not deform");
    goto done;
  }
  if (field_qs_obj != Py_None &&
      py_in_f64(&field_qs, field_qs_obj, "field_q", 2, (npy_intp[]){n, d.s}) < 0)
    goto done;
  reduced = py_new_f64(2, (npy_intp[]){n, d.r});
  field_reduced = d.s ? py_new_f64(2, (npy_intp[]){n, d.s}) : Py_NewRef(Py_None);
  d.found = rf_alloc((size_t)n, sizeof *d.found);
  if (!d.found) PyErr_NoMemory();
  if (!reduced || !field_reduced || !d.found) goto done;
  d.force = force.data, d.positions = positions.data, d.quaternions = quaternions.data;
  d.field_qs = field_qs.data;
  d.reduced = py_f64(reduced);
  d.field_reduced = d.s ? py_f64(field_reduced) : NULL;
  Py_BEGIN_ALLOW_THREADS
  st = rf_contact_check_many(of, n, d.positions, d.quaternions, NULL, &err);
  if (st >= 0) st = rf_driven_create(py_held(contact), py_held(object), &work, &err);
  for (int64_t from = 0; from < n && st >= 0; from += 64) {
    const int64_t end = n - from < 64 ? n : from + 64;
    st = drive(&d, work, from, end, &err);
    if (st >= 0) st = rf_run_progress(&run.run, end, n, &err);
  }
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err)
                  : py_contact_results(n, d.found, reduced, field_reduced, Py_None);
done:
  rf_driven_free(work);
  rf_free(d.found);
  PY_XDECREF(reduced, field_reduced);
  PY_IN_RELEASE(&positions, &quaternions, &field_qs, &force);
  return result;
}
