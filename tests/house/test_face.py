"""The objects and arguments of the public face: values, copies, what messages name."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_tets, solid_box

MATERIAL = rf.StVK(2e6, 0.3, 1200.0)


@pytest.fixture(scope="module")
def beam():
    return solid_box((6, 2, 2), (0.3, 0.07, 0.05), MATERIAL)


def test_provenance_cannot_be_changed_anywhere(beam):
    given = {"method": "mine", "list": [1, [2, 3]], "inner": {"array": np.arange(3), "x": 1.0}}
    basis = rf.Basis(np.ones((1, 4, 3)), [1.0], [1.0], given)
    for made in (basis, pickle.loads(pickle.dumps(basis)), copy.deepcopy(basis)):
        assert made.provenance["list"] == (1, (2, 3))
        assert made.provenance["inner"]["array"] == (0, 1, 2)
        with pytest.raises(TypeError):
            made.provenance["inner"]["x"] = 2.0
        with pytest.raises(TypeError):
            made.provenance["list"][1][0] = 7
    given["list"].append(4)
    given["inner"]["x"] = 2.0
    assert basis.provenance["list"] == (1, (2, 3))
    assert basis.provenance["inner"]["x"] == 1.0
    model = rf.reduce(beam, rf.modal_derivative_basis(beam, 2, 2))
    with pytest.raises(TypeError):
        model.provenance["basis"]["k"] = 3
    with pytest.raises(TypeError):
        model.provenance["solid"]["materials"]["0"]["young"] = 1.0
    with pytest.raises(TypeError):
        model.provenance["basis"]["frequencies_hz"][0] = 1.0


def test_provenance_is_plain_data():
    for value, found in (({1}, "set"), (print, "builtin"), (b"x", "bytes"), (1j, "complex")):
        for provenance in ({"x": value}, {"x": [{"y": value}]}):
            with pytest.raises(rf.InputTypeError, match=f"texts, numbers, .* found {found}"):
                rf.Basis(np.ones((1, 4, 3)), [1.0], [1.0], provenance)
    endless = []
    endless.append(endless)
    with pytest.raises(rf.InputError, match="may be nested 100 deep"):
        rf.Basis(np.ones((1, 4, 3)), [1.0], [1.0], {"x": endless})


def test_a_provenance_refuses_unsupported_values():
    def basis(**provenance):
        return rf.Basis(np.ones((1, 4, 3)), [1.0], [1.0], provenance)

    for number in (10**400, -(10**5000), 1e301, np.inf, np.float64("nan")):
        with pytest.raises(rf.InputError, match="provenance is too large, or not finite"):
            basis(x=[number])
    for names in ({1: 2}, {"1": 2, 1: 3}, {(1, 2): 3}):
        with pytest.raises(rf.InputTypeError, match=r"names .* must be texts, found [1(]"):
            basis(x=names)
    # Python has no type for a long double
    with pytest.raises(rf.InputTypeError, match="numbers, .* found longdouble"):
        basis(x=np.longdouble(1))
    with pytest.raises(rf.InputTypeError, match=r"provenance\['method'\] must be a text, got int"):
        basis(method=3)


@pytest.mark.parametrize("provenance", [{}, {"made": "by hand"}, {"method": "mine", "n": 2**900}])
def test_a_basis_of_the_user_is_kept_in_files(beam, provenance, tmp_path):
    """A basis that can be saved can be loaded."""
    made = rf.modal_derivative_basis(beam, 2, 2)
    basis = rf.Basis(made.vectors, made.singular_values, made.spectrum, provenance)
    kept = {"method": "given vectors", **provenance}
    assert kept["method"] in repr(basis)
    model = rf.reduce(beam, basis)
    model.save(tmp_path / "m")
    for same in (rf.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert dict(same.provenance["basis"]) == kept
        np.testing.assert_array_equal(same.coefficients, model.coefficients)


def test_numbers_far_out_of_range(beam):
    model = rf.reduce(beam, rf.modal_derivative_basis(beam, 1))
    sim = rf.ImplicitNewmark(model, 0.01)
    for work, message in (
        (lambda: rf.StVK(10**400, 0.3, 1.0), "young must be finite, got more than a float"),
        (lambda: model.truncate(10**20), r"r must be between 1 and 2, got 10{20}$"),
        (lambda: model.truncate(0), "r must be between 1 and 2, got 0"),
        (lambda: beam.linear_modes(10**20), r"k must be between 1 and 161 .*got 10{20}$"),
        (lambda: rf.mass_pca(beam, model.basis, 10**20), r"r is 10{20}, which is far"),
        (lambda: sim.step(n=10**20), r"n must be at least 0 and less than 2\*\*62, got 10{20}$"),
        (lambda: rf.Solid(beam.mesh, MATERIAL, quadrature=10**20), "quadrature must be 2, 3, 4 or"),
        (lambda: rf.Solid(beam.mesh, MATERIAL, quadrature=np.array([2, 3])), "quadrature must be"),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()


def test_arrays_of_the_caller_are_copied():
    shapes, numbers = np.ones((2, 4, 3)), np.array([2.0, 1.0])
    basis, modes = rf.Basis(shapes, numbers, numbers), rf.Modes(numbers, numbers, shapes)
    assert shapes.flags.writeable
    assert numbers.flags.writeable
    shapes[:], numbers[:] = 5.0, 5.0
    assert (basis.vectors == 1.0).all()
    assert (modes.shapes == 1.0).all()
    np.testing.assert_array_equal(basis.singular_values, [2.0, 1.0])
    np.testing.assert_array_equal(modes.frequencies, [2.0, 1.0])
    for array in (basis.vectors, basis.spectrum, modes.shapes, modes.eigenvalues):
        assert not array.flags.writeable
    # lists and other dtypes are converted
    assert rf.Basis(np.ones((1, 4, 3), int).tolist(), [1], (1,)).vectors.dtype == np.float64


@pytest.mark.parametrize(
    ("make_it", "error", "message"),
    [
        (lambda x: rf.Basis(x[0], [1], [1]), rf.InputError, r"vectors must have shape \(r, n"),
        (lambda x: rf.Basis(x[:0], [], []), rf.InputError, "r at least 1"),
        (lambda x: rf.Basis(x, [1], [1, 1]), rf.InputError, r"singular_values must have .*\(2,"),
        (lambda x: rf.Basis(x, [1, 1], [1]), rf.InputError, "spectrum must have one axis with at"),
        (lambda x: rf.Basis(x * np.nan, [1, 1], [1, 1]), rf.InputError, r"vectors\[0, 0, 0\]"),
        (lambda x: rf.Basis("x", [1], [1]), rf.InputTypeError, "vectors must be an array of real"),
        (lambda x: rf.Basis([[1], [2, 3]], [1], [1]), rf.InputTypeError, "vectors must be"),
        (lambda x: rf.Basis(x, [1, 1], [1, 1], "text"), rf.InputTypeError, "provenance must"),
        (lambda x: rf.Modes([1, 2], [1, 2], x[..., :2]), rf.InputError, "shapes must have shape"),
        (lambda x: rf.Modes([1, 2], [1], x), rf.InputError, r"frequencies must have shape \(2,\)"),
        (lambda x: rf.Modes([1], [1, 2], x), rf.InputError, r"eigenvalues must have shape \(2,\)"),
        (lambda x: rf.Modes([1, np.inf], [1, 2], x), rf.InputError, r"eigenvalues\[1\] is inf"),
    ],
)  # fmt: skip
def test_values_are_checked(make_it, error, message):
    with pytest.raises(error, match=message):
        make_it(np.ones((2, 4, 3)))


def test_copies_and_pickles(beam):
    modes, basis = beam.linear_modes(3), rf.modal_derivative_basis(beam, 3, 5)
    for clone in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        a, b = clone(modes), clone(basis)
        np.testing.assert_array_equal(a.shapes, modes.shapes)
        np.testing.assert_array_equal(a.frequencies, modes.frequencies)
        np.testing.assert_array_equal(b.vectors, basis.vectors)
        np.testing.assert_array_equal(b.spectrum, basis.spectrum)
        assert b.provenance == basis.provenance
        assert not a.shapes.flags.writeable
        assert not b.vectors.flags.writeable
        solid = clone(beam)
        assert solid.materials == beam.materials
        assert solid.quadrature == beam.quadrature
        np.testing.assert_array_equal(solid.fixed, beam.fixed)
        np.testing.assert_array_equal(solid.linear_modes(3).shapes, modes.shapes)
    tets = rf.Solid(rf.Mesh(*box_tets(1, 1, 1)), MATERIAL, fixed=[0])
    assert pickle.loads(pickle.dumps(tets)).total_mass == tets.total_mass
    sim = rf.ImplicitNewmark(beam, 0.01)
    assert pickle.loads(pickle.dumps(sim.state)).time == 0.0
    assert pickle.loads(pickle.dumps(sim.report)) == sim.report


def test_objects_are_not_arrays(beam):
    """An object in place of an array: the message names its attribute that is an array."""
    n = beam.mesh.n_nodes
    modes, basis = beam.linear_modes(2), rf.modal_derivative_basis(beam, 2, 2)
    model = rf.reduce(beam, basis)
    skin = rf.Embedding(beam.mesh, beam.mesh.nodes[:2])
    sim = rf.ImplicitNewmark(model, 0.01)
    for work, name, kind, instead in (
        (lambda: rf.mass_pca(beam, modes, 1), "vectors", "Modes", "shapes"),
        (lambda: rf.mass_pca(beam, basis, 1), "vectors", "Basis", "vectors"),
        (lambda: rf.mass_pca(beam, basis.vectors, 1, sim.state), "weights", "State", "q"),
        (lambda: rf.reduce(beam, modes), "basis", "Modes", "shapes"),
        (lambda: rf.reduce(beam, model), "basis", "ReducedSolid", "basis"),
        (lambda: beam.modal_derivatives(basis), "modes", "Basis", "vectors"),
        (lambda: beam.internal_force(modes), "u", "Modes", "shapes"),
        (lambda: beam.strain_energy(modes), "u", "Modes", "shapes"),
        (lambda: beam.stiffness(beam), "u", "Solid", None),
        (lambda: beam.hessian_product(np.zeros((n, 3)), modes), "b", "Modes", "shapes"),
        (lambda: model.internal_force(sim.state), "q", "State", "q"),
        (lambda: model.stiffness(sim.state), "q", "State", "q"),
        (lambda: model.strain_energy(sim.state), "q", "State", "q"),
        (lambda: model.displacement(sim.state), "q", "State", "q"),
        (lambda: model.project(beam.mesh), "force", "Mesh", "nodes"),
        (lambda: sim.step(beam.mesh), "force", "Mesh", "nodes"),
        (lambda: sim.reset(sim.state), "q", "State", "q"),
        (lambda: skin.interpolate(basis), "u", "Basis", "vectors"),
        (lambda: skin.distribute(beam.mass()), "f", "CSC", "to_dense()"),
        (lambda: skin.transfer(modes), "basis", "Modes", "shapes"),
        (lambda: rf.Embedding(beam.mesh, skin), "points", "Embedding", "points"),
        (lambda: rf.Mesh(beam.mesh, beam.mesh.elements), "nodes", "Mesh", "nodes"),
        (lambda: rf.Surface(beam.mesh.surface(), [[0, 1, 2]]), "vertices", "Surface", "vertices"),
        (lambda: beam.mesh.submesh(beam.mesh), "elements", "Mesh", "nodes"),
        (lambda: rf.Solid(beam.mesh, MATERIAL, fixed=beam), "fixed", "Solid", None),
    ):
        numbers = "integers" if name in ("elements", "fixed") else "real numbers"
        hint = "" if instead is None else f"; pass its attribute .{instead}, if that is meant"
        with pytest.raises(rf.InputTypeError) as refused:
            work()
        assert str(refused.value) == f"{name} must be an array of {numbers}, got {kind}{hint}"


def test_messages_name_the_argument(beam):
    n = beam.mesh.n_nodes
    bad = np.zeros((n, 3))
    bad[4, 1] = np.nan
    with pytest.raises(rf.InputError, match=r"^b\[4, 1\] is nan"):
        beam.hessian_product(np.zeros((n, 3)), bad)
    with pytest.raises(rf.InputError, match=r"^a must have shape"):
        beam.hessian_product(np.zeros((n, 2)), bad)
    with pytest.raises(rf.InputError, match=r"^basis\[0, 4, 1\] is nan"):
        rf.Embedding(beam.mesh, beam.mesh.nodes[:2]).transfer([bad])
    with pytest.raises(rf.InputError, match=r"^modes\[0, 4, 1\] is nan"):
        beam.modal_derivatives([bad])
    for ragged in ([[1.0], [1.0, 2.0]], [[1.0, 2.0, 3.0], 4.0]):
        for work in (
            lambda x: rf.ImplicitNewmark(beam, 0.01).step(x),
            lambda x: rf.mass_pca(beam, x, 1),
            lambda x: rf.mass_pca(beam, np.zeros((1, n, 3)), 1, weights=x),
            lambda x: rf.reduce(beam, x),
            lambda x: rf.Mesh(x, [[0, 1, 2, 3]], drop_unreferenced=True),
            lambda x: rf.Solid(beam.mesh, MATERIAL, fixed=x),
            lambda x: beam.mesh.submesh(x),
            beam.modal_derivatives,
            beam.internal_force,
        ):
            with pytest.raises(rf.InputTypeError, match="uneven parts|NumPy cannot convert"):
                work(ragged)


def test_progress_is_given_by_name(beam):
    """A positional argument could be mistaken for another."""
    basis = rf.modal_derivative_basis(beam, 2, 2)
    for work in (
        lambda: beam.linear_modes(2, False),
        lambda: beam.modal_derivatives(basis.vectors, False),
        lambda: rf.modal_derivative_basis(beam, 2, 2, False),
        lambda: rf.mass_pca(beam, basis.vectors, 2, None, False),
        lambda: rf.reduce(beam, basis, False),
        lambda: rf.ImplicitNewmark(beam, 0.01).step(None, 1, False),
    ):
        with pytest.raises(TypeError, match="positional"):
            work()


@pytest.mark.parametrize("value", ["no", "", 0, 1, 1.0, None, [True]])
def test_booleans_are_booleans(beam, value):
    surface = beam.mesh.surface()
    for work, name in (
        (lambda: beam.mass(value), "lumped"),
        (lambda: rf.voxelize(surface, 4, fill=value), "fill"),
        (lambda: beam.solve_static(report=value), "report"),
        (
            lambda: rf.Mesh(beam.mesh.nodes, beam.mesh.elements, drop_unreferenced=value),
            "drop_unreferenced",
        ),
    ):
        with pytest.raises(rf.InputTypeError, match=f"{name} must be True or False, got "):
            work()
    assert beam.mass(np.True_).nnz == beam.n_dofs


@pytest.mark.parametrize(
    ("fixed", "error", "message"),
    [
        ("x<0", rf.InputTypeError, r"fixed must be a mask of shape \(63,\) or a list .* got str"),
        ({1, 2}, rf.InputTypeError, "fixed must be a mask .* got set"),
        ({1: 2}, rf.InputTypeError, "fixed must be a mask .* got dict"),
        ([None], rf.InputTypeError, "fixed must be a mask .* dtype object"),
        (["1"], rf.InputTypeError, "fixed must be a mask"),
        ([1.0], rf.InputTypeError, "fixed must be bools or integers, got dtype float64"),
        (3, rf.InputError, r"fixed must be a mask .* got shape \(\)"),
        ([[1]], rf.InputError, "fixed must be a mask"),
        ([-1], rf.InputError, r"fixed\[0\] is -1; nodes are numbered 0 to 62$"),
        ([0, 63], rf.InputError, r"fixed\[1\] is 63; nodes are numbered 0 to 62$"),
        ([1, 63], rf.InputError, r"fixed\[1\] is 63; .*counted from 0, .* pass fixed - 1$"),
    ],
)
def test_fixed_nodes_of_odd_kinds(beam, fixed, error, message):
    assert beam.mesh.n_nodes == 63
    with pytest.raises(error, match=message):
        rf.Solid(beam.mesh, MATERIAL, fixed=fixed)


def test_an_empty_path_is_not_the_present_folder(beam):
    for work in (rf.load, rf.read_mesh, rf.read_surface, beam.mesh.write):
        with pytest.raises(rf.FileFormatError, match="the path is empty"):
            work("")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "x" * 5000])
@pytest.mark.parametrize("suffix", ["", ".obj", ".veg", ".vtk", ".safetensors"])
def test_impossible_paths_are_refused(beam, name, suffix):
    model = rf.reduce(beam, rf.modal_derivative_basis(beam, 1))
    for work in (
        rf.load,
        rf.read_mesh,
        rf.read_fixed,
        rf.read_surface,
        model.save,
        beam.mesh.write,
        beam.mesh.surface().write,
    ):
        with pytest.raises(rf.FileFormatError):
            work(name + suffix)
        with pytest.raises(rf.InputTypeError, match="path must be a str or a Path, got"):
            work(3)


def test_threads_are_set_by_any_integer():
    before = rf.threads()
    try:
        for value in (np.int64(1), np.uint8(2), 3):
            rf.set_threads(value)
            assert rf.threads() == value
            assert type(rf.threads()) is int
        for value in (0, 257, -1, 10**30):
            with pytest.raises(rf.InputError, match="count must be between 1 and 256, got"):
                rf.set_threads(value)
        for value in (1.0, True, "2", None):
            with pytest.raises(rf.InputTypeError, match="count must be an int"):
                rf.set_threads(value)
        assert rf.threads() == 3
    finally:
        rf.set_threads(before)


def test_the_processor_is_asked_once(monkeypatch):
    read, asked = Path.read_text, []
    monkeypatch.setattr(
        Path, "read_text", lambda self, **more: asked.append(self) or read(self, **more)
    )
    assert rf.system_info()["processor"]
    assert len(asked) <= 1


def test_boundary_cannot_be_written_to(beam):
    for array in (beam.mesh.boundary_nodes, beam.mesh.boundary_faces, beam.mesh.original_nodes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    np.testing.assert_array_equal(
        beam.mesh.nodes[beam.mesh.boundary_nodes], beam.mesh.surface().vertices
    )
