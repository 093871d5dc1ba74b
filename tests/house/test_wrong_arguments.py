"""Every public callable, with every argument wrong in turn: errors of this package, in words."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import reducedfem as rf
from calls import CALLS, IMPLICIT, make_world

RAGGED = [[1.0], [1.0, 2.0]]
WRONG = {
    "None": None,
    "text": "x",
    "bytes": b"x",
    "object": object(),
    "function": lambda *_: None,
    "set": {1},
    "mapping": {"a": 1},
    "ragged": RAGGED,
    "ragged3": [1.0, [2.0, 3.0], 3.0],
    "texts": ["a", "b"],
    "nones": [None, None],
    "empty": [],
    "complex": 1j,
    "bool": True,
    "half": 0.5,
    "one": 1.0,
    "minus": -1,
    "nan": float("nan"),
    "inf": float("inf"),
    "numpy nan": np.float64("nan"),
    "huge int": 10**400,
    "uint64": np.uint64(2**64 - 1),
    "int64": np.int64(2**63 - 1),
    "huge float": 1.7e308,
    "huge floats": [1.7e308, -1.7e308, 1.7e308],
    "nans": [np.nan, 0.0, 0.0],
    "no axes": np.float64(1.0),
    "many axes": np.zeros((1, 1, 1, 1, 1)),
    "datetime": np.datetime64("2020-01-01"),
    "structured": np.zeros(2, dtype=[("a", "f8")]),
}
# other names allowed in a message: an argument that does not fit this one, or is made from it
_ELASTIC = ("young", "poisson", "shear", "stiffness")
OTHER_NAMES = {
    "CentralDifferences.gravity": ("acceleration",),
    "ExponentialEuler.gravity": ("acceleration",),
    "DeformedField.project.proxies": ("forces",),
    "DistanceField.from_surface.expand": ("spacing",),
    "ForceSketch.times": ("offsets",),
    "ForceSketch.from_forces.times": ("offsets",),
    **{f"{name}.gravity": ("acceleration",) for name in IMPLICIT},
    "LinearElastic.fibres.direction": ("axes",),
    **{
        f"LinearElastic.fibres.{one}": _ELASTIC
        for one in ("young_along", "young_across", "poisson_along", "poisson_across", "shear_along")
    },
    "GreensFunctions.displacement.nodes": ("force",),
    "LinearModel.displacement.nodes": ("force",),
    "Pointshell.from_field.level_set": ("level set",),
    "Pointshell.from_surface.offset": ("expand",),
    "ProjectedSolid.solve_static.q0": ("q is so large",),
    "Pointshell.from_voxels.expand": ("voxels",),
    "Recording.add.nodes": ("force",),
    "ReducedSolid.solve_static.q0": ("q is so large",),
    "ReplayDevice.times": ("positions",),
    "SimulatedHand.times": ("positions",),
    "Skin.project.where": ("force",),
    "StrainRateDamping.proportional.beta": ("phi",),
    "VirtualCoupling.for_contact.depth": ("max_force",),
    "Voxmap.from_surface.expand": ("voxels",),
    "graded_tets.expand": ("voxel",),
    "mass_pca.weights": ("weight",),
    "pod_basis.snapshots": ("vectors",),
    "sketch_basis.force_distance": ("provenance",),
    "sketch_basis.shape_distance": ("provenance",),
    "sketch_basis.tol": ("all deformations are zero",),
    "step_free_bodies.forces": ("force",),
    "voxelize.expand": ("voxels",),
    "voxelize.fill": ("graded",),
}
# values that pass along with data: what is made of what was computed
RESULTS = {
    "Amplification", "BarrierState", "BodySnapshot", "CentralReport", "CompositeSolution",
    "ContactForce", "ContactPoints", "ContactTrajectory", "CouplingStep", "CouplingWrench",
    "CubatureReport",
    "DeviceProbe", "ExponentialReport", "FreeBodyState", "FrictionSolution", "GreenContact",
    "GreenSolution", "HapticReport", "HapticSnapshot", "ImplicitReport", "Ordering", "Pick",
    "ProxyForce", "RigidBody", "SketchReport", "SolidSummary", "Spectrum", "State",
    "StaticReport", "Study", "UdpCounts", "Uniformity", "VoxmapForce", "WorldContacts",
    "WorldReport",
}  # fmt: skip
# made by functions of the package alone, or abstract
# a session has to run for it; the libraries for the others are optional
BUSY = {"HapticSession.wait", "View.wait", "View.wait_open", "tetrahedralize", "to_pyvista"}
NOT_MADE = {
    "Constraints",
    "Device",
    "Field",
    "GreenContacts",
    "HapticReader",
    "ReducedSolid",
    "ReducedStrainRateDamping",
    "Recording",
    "View",
}
# methods of the class below do for those of the others
ONE_FOR_ALL = {
    "BoxField", "CapsuleField", "ComplementField", "Field", "IntersectionField", "OffsetField",
    "PlaneField", "UnionField",
}  # fmt: skip


@pytest.fixture(scope="module")
def world():
    return make_world()


def call(function, arguments):
    """Call with these arguments, those of ``*others`` by position."""
    if "others" in arguments:
        return function(arguments["others"])
    return function(**arguments)


def public_callables():
    """Yield names of public functions, constructors and methods that have arguments."""
    for name in rf.__all__:
        one = getattr(rf, name)
        if inspect.isclass(one) and issubclass(one, BaseException):
            continue
        if name not in RESULTS | NOT_MADE and inspect.signature(one).parameters:
            yield name
        if inspect.isclass(one) and name not in ONE_FOR_ALL:
            for method, function in inspect.getmembers(one, callable):
                if not method.startswith("_") and set(inspect.signature(function).parameters) - {
                    "self"
                }:
                    yield f"{name}.{method}"


def test_every_public_callable_is_here():
    assert sorted(CALLS) == sorted(set(public_callables()) - BUSY)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_refused_by_name(name, world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world.sketch.save("s.safetensors")
    world.records.save("r.npy")
    world.reduced.save("r.safetensors")
    world.reduced.save("ReducedSolid.safetensors")
    world.field.save("DistanceField.safetensors")
    world.shell.save("Pointshell.safetensors")
    world.green.save("GreensFunctions.safetensors")
    world.handles.save("ControlElements.safetensors")
    world.fall.save("WorldMotion.safetensors")
    world.mesh.write("m.veg")
    world.surface.write("s.obj")
    (tmp_path / "f.bou").write_text("1\n")
    (tmp_path / "r.csv").write_text("time,x,y,z\n0,0,0,0\n1,0,0,0\n")
    find, make = CALLS[name]
    function, arguments = find(world), make(world)
    parameters = inspect.signature(function).parameters
    known = {p for p, one in parameters.items() if one.kind is not one.VAR_KEYWORD}
    assert set(arguments) <= known
    before = rf.threads()
    faults = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(function, arguments)
        for argument in arguments:
            for kind, value in WRONG.items():
                try:
                    call(function, arguments | {argument: value})
                except rf.ReducedFEMError as error:
                    wrong = isinstance(error, rf.InputError | rf.InputTypeError)
                    names = (argument, *OTHER_NAMES.get(f"{name}.{argument}", ()))
                    if wrong and not any(one in str(error) for one in names):
                        faults.append(f"{argument}={kind}: not named: {error}")
                except Exception as error:
                    faults.append(f"{argument}={kind}: {type(error).__name__}: {error}")
    rf.set_threads(before)
    assert faults == []


def test_results_that_are_not_finite_are_refused(world):
    """Arguments that overflow in between give an error, and never inf or nan."""
    huge = 1e200 * world.modes.shapes
    for work, what in (
        (lambda: world.solid.modal_derivatives(huge), "modes is so large"),
        (lambda: world.free.modal_derivatives(1e200 * world.free.linear_modes(1).shapes), "modes"),
        (lambda: world.field.distance([[0, 0, 0], [0, 1e200, 0]]), r"points\[1, 1\] is 1e\+200"),
        (lambda: world.field.gradient([-1e308] * 3), r"points\[0, 0\] is -1e\+308; .*below 1e150"),
        (lambda: world.sphere.distance([1e151, 0, 0]), "points"),
    ):
        with pytest.raises(rf.InputError, match=what):
            work()
    far = world.field.distance_and_gradient([1e149, -1e149, 0])
    assert all(np.isfinite(one).all() for one in far)
    assert far[0] == pytest.approx(np.sqrt(2.0) * 1e149)


def test_norms_of_loads_do_not_overflow():
    large = rf.ForceSketch.from_forces(np.full((1, 2, 3), 1e200))
    np.testing.assert_allclose(large.norms, [np.sqrt(6.0) * 1e200])
    both = rf.ForceSketch(3, [0.0], [0, 2], [1, 1], [[1.5e308, 0, 0], [1.5e308, 0, 0]])
    for work in (lambda: both.norms, lambda: both.force(0)):
        with pytest.raises(rf.InputError, match="forces is so large that the sum of a load"):
            work()
    none = rf.ForceSketch.from_forces(np.zeros((1, 2, 3)))
    np.testing.assert_array_equal(none.norms, [0.0])


def test_sketches_have_arrays_of_their_own():
    """This includes read-only views of writable arrays."""
    forces = np.ones((1, 3))
    view = forces[:]
    view.flags.writeable = False
    nodes = np.zeros(1, np.int32)
    sketch = rf.ForceSketch(3, [0.0], [0, 1], nodes, view)
    forces[:], nodes[:] = 7.0, 2
    np.testing.assert_array_equal(sketch.forces, [[1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(sketch.nodes, [0])
