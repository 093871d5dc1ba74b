"""Model files: nothing is lost, and writing is whole or not at all."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import reducedfem as rf
from model_files import assert_same, forge, make_model, refused, split
from reducedfem.io.record_file import RECORD
from reducedfem.reduction.reduced import from_bytes
from shapes import box_hexes

# --- nothing is lost ------------------------------------------------------------------


@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("editable", [False, True])
@pytest.mark.parametrize("kind", ["hex8", "tet4", "tet10", "hex20"])
def test_round_trip_is_bit_for_bit(kind, editable, damped, tmp_path):
    model = make_model(kind, editable=editable, damped=damped)
    assert (model.editable, model.strain_rate is not None) == (editable, damped)
    model.save(tmp_path / "m.safetensors")
    loaded = rf.load(tmp_path / "m.safetensors")
    assert_same(model, loaded)
    assert not loaded.fixed.flags.writeable
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_text_paths_and_any_suffix(model, tmp_path):
    path = str(tmp_path / "a model.dat")
    model.save(path)
    assert_same(model, rf.load(path))


def test_pickle_goes_through_the_format(model, damped):
    for one in (model, damped):
        assert_same(one, pickle.loads(pickle.dumps(one)))


@pytest.mark.parametrize("which", ["model", "damped"])
def test_two_saves_give_the_same_bytes(which, request, tmp_path):
    model = request.getfixturevalue(which)
    first, second = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    model.save(first)
    rf.load(first).save(second)
    assert first.read_bytes() == second.read_bytes()
    # in another process too: hash seeds and allocation must not show
    code = "import sys, reducedfem as rf; rf.load(sys.argv[1]).save(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(first), str(second)], check=True)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("which", ["model", "damped"])
def test_truncated_model_and_its_history(which, request, tmp_path):
    small = request.getfixturevalue(which).truncate(2)
    small.save(tmp_path / "m.safetensors")
    loaded = rf.load(tmp_path / "m.safetensors")
    assert_same(small, loaded)
    assert loaded.provenance["truncated_to"] == 2


def test_a_damped_model_moves_the_same_in_another_process(damped, tmp_path):
    """Without its solid: all that its damping needs is in the file."""
    damped.save(tmp_path / "m.safetensors")
    code = (
        "import sys, numpy as np, reducedfem as rf\n"
        "model = rf.load(sys.argv[1])\n"
        "for sim in (rf.ImplicitNewmark(model, 1e-3), rf.CentralDifferences(model)):\n"
        "    sim.step(np.ones(model.r), n=30)\n"
        "    print(sim.state.q.tobytes().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.safetensors")],
        check=True,
        capture_output=True,
    )
    expected = []
    for sim in (rf.ImplicitNewmark(damped, 1e-3), rf.CentralDifferences(damped)):
        sim.step(np.ones(damped.r), n=30)
        expected.append(sim.state.q.tobytes().hex())
    assert done.stdout.decode().split() == expected


def test_the_safetensors_package_reads_a_damped_model(damped, tmp_path):
    damped.save(tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        coefficients, metadata = file.get_tensor("damping_coefficients"), file.metadata()
    # the Gram matrix at rest is D~(0), for the pairs (0, b) come first
    square = np.zeros((damped.r, damped.r))
    square[np.tril_indices(damped.r)] = coefficients[: damped.r * (damped.r + 1) // 2]
    expected = np.tril(damped.strain_rate.matrix(np.zeros(damped.r)))
    np.testing.assert_allclose(square, expected, rtol=1e-14)
    assert json.loads(metadata["strain_rate"]) == {
        "phi": {"0": 1 / 3, "1": -7.0},
        "psi": {"0": 2.5, "1": 1e2 / 7},
    }
    assert metadata["format_version"] == "2"


def test_model_without_fixed_nodes_and_with_given_vectors(tmp_path, rng):
    nodes, elements = box_hexes(2, 1, 1)
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0))
    model = rf.reduce(solid, rng.standard_normal((2, len(nodes), 3)))
    model.save(tmp_path / "m.safetensors")
    assert_same(model, rf.load(tmp_path / "m.safetensors"))


def test_the_safetensors_package_reads_it(model, tmp_path):
    path = tmp_path / "m.safetensors"
    model.save(path)
    with safe_open(path, "np") as file:
        expected = {
            "basis": model.basis,
            "reduced_mass": model.mass,
            "energy_coefficients": model.coefficients,
            "mesh_nodes": model.mesh.nodes,
            "mesh_elements": model.mesh.elements,
            "mesh_regions": model.mesh.regions,
            "fixed_nodes": model.fixed,
        }
        assert set(file.keys()) == set(expected)
        for name, array in expected.items():
            assert file.get_tensor(name).dtype == array.dtype
            assert np.array_equal(file.get_tensor(name), array)
        metadata = file.metadata()
    assert metadata["format"] == "reducedfem-model"
    assert int(metadata["format_version"]) == 1
    assert metadata["package_version"] == rf.__version__
    assert metadata["units"].startswith("SI")
    assert metadata["law"] == "St.Venant-Kirchhoff"
    assert json.loads(metadata["materials"])["1"] == {
        "young": 1 / 3 * 1e6,
        "poisson": 0.45,
        "density": 1234.5,
    }
    assert json.loads(metadata["basis"])["method"] == "modal derivatives"
    assert json.loads(metadata["counts"])["nodes"] == 16


def test_a_file_rewritten_by_the_safetensors_package_loads(model, tmp_path):
    """Another order of names and metadata is the same file; the checksum does not mind."""
    model.save(tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        arrays, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    save_file(arrays, tmp_path / "n", metadata)
    assert (tmp_path / "n").read_bytes() != (tmp_path / "m.safetensors").read_bytes()
    assert_same(model, rf.load(tmp_path / "n"))


def test_arrays_are_aligned(data):
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    header, _ = split(data)
    header.pop("__metadata__")
    for entry in header.values():
        assert entry["data_offsets"][0] % {"F64": 8, "I32": 4}[entry["dtype"]] == 0


# --- writing is whole or not at all -----------------------------------------------------


def test_a_failed_save_keeps_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    model.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(rf.FileFormatError, match="No space left"):
        model.truncate(1).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_a_replaced_file_keeps_its_permissions(model, tmp_path):
    path = tmp_path / "m.safetensors"
    model.save(path)
    for mode in (0o600, 0o664):
        path.chmod(mode)
        model.save(path)
        assert path.stat().st_mode & 0o777 == mode


def test_a_failed_save_reports_its_reason(model, tmp_path):
    with pytest.raises(rf.FileFormatError, match="folder"):
        model.save(tmp_path)
    with pytest.raises(rf.FileFormatError, match="No such file"):
        model.save(tmp_path / "missing" / "m")
    with pytest.raises(rf.InputTypeError, match="path"):
        model.save(7)


def test_provenance_other_than_plain_data_is_refused(model, tmp_path):
    def with_basis(**entries):
        basis = {**model.provenance["basis"], **entries}
        return rf.ReducedSolid(
            model._core, model.mesh, model.fixed, {**model.provenance, "basis": basis}
        )

    # NumPy's numbers and arrays are plain enough
    with_basis(k=np.int64(3), weights=np.arange(2.0)).save(tmp_path / "m.safetensors")
    assert rf.load(tmp_path / "m.safetensors").provenance["basis"]["weights"] == (0.0, 1.0)
    before = (tmp_path / "m.safetensors").read_bytes()
    with pytest.raises(rf.InputTypeError, match="function"):
        with_basis(f=print).save(tmp_path / "m.safetensors")
    with pytest.raises(rf.InputError, match="provenance"):
        with_basis(f=math.nan).save(tmp_path / "m.safetensors")
    with pytest.raises(rf.InputError, match="too long"):
        with_basis(f="x" * 2_000_000).save(tmp_path / "m.safetensors")
    assert (tmp_path / "m.safetensors").read_bytes() == before


# --- surfaces, classes, suffixes -------------------------------------------------------


def test_models_keep_the_surface_of_their_mesh(skinned, skinned_data, model):
    """Pictures show the part as it was drawn, not as it was meshed."""
    again = from_bytes(skinned_data)
    assert_same(again, skinned)
    assert again.mesh.source.vertices.tobytes() == skinned.mesh.source.vertices.tobytes()
    assert again.mesh.source.triangles.tobytes() == skinned.mesh.source.triangles.tobytes()
    q = np.array([0.01, -0.02, 0.03])
    same = rf.Skin(again, skinned.mesh.source).positions(q)
    assert rf.Skin(again).positions(q).tobytes() == same.tobytes()
    with pytest.raises(rf.InputError, match=r"surface must be given.*reduced\.mesh\.surface\(\)"):
        rf.Skin(model)
    outside = split(skinned_data)[0]["surface_triangles"]["shape"][0] * [[0, 1, 10**6]]
    refused(forge(skinned_data, {"surface_triangles": np.array(outside, "<i4")}), "triangles")


def test_meshes_keep_their_surface(skinned):
    mesh = skinned.mesh
    assert pickle.loads(pickle.dumps(mesh)).source.triangles.tobytes() == (
        mesh.source.triangles.tobytes()
    )
    assert mesh.largest_component().source is mesh.source
    assert mesh.submesh([0]).source is None


def test_each_class_loads_its_own_files(model, tmp_path):
    field = rf.DistanceField(np.ones((3, 3, 3)), [0, 0, 0], [1, 1, 1])
    shell = rf.Pointshell([[0, 0, 0]], [[0, 0, 1]])
    sketch = rf.ForceSketch(3, [0.0], [0, 1], [0], [[0.0, 0, 1]])
    saved = {
        kind: tmp_path / f"{kind.__name__}.safetensors"
        for kind in (rf.ReducedSolid, rf.DistanceField, rf.Pointshell, rf.ForceSketch)
    }
    for one in (model, field, shell, sketch):
        one.save(saved[type(one)])
    for kind, path in saved.items():
        assert type(kind.load(path)) is kind
        for other, place in saved.items():
            if other is not kind:
                with pytest.raises(rf.FileFormatError, match=r"its format is 'reducedfem-\w+'"):
                    kind.load(place)


def test_files_get_the_suffix_that_fits(model, tmp_path):
    model.save(tmp_path / "spoon")
    assert os.listdir(tmp_path) == ["spoon.safetensors"]
    for name in ("spoon", "spoon.safetensors"):
        assert rf.load(tmp_path / name).r == model.r
        assert rf.ReducedSolid.load(tmp_path / name).r == model.r
    for wrong in ("spoon.obj", "spoon.NPY", "spoon.png"):
        with pytest.raises(rf.FileFormatError, match=r"its format is \.safetensors, .*spoon\.saf"):
            model.save(tmp_path / wrong)
    # of what is no other format it may be a part of the name
    model.save(tmp_path / "spoon.v2")
    assert rf.load(tmp_path / "spoon.v2").r == model.r
    records = rf.HapticRecords(np.zeros(2, RECORD))
    records.save(tmp_path / "touch")
    assert len(rf.HapticRecords.load(tmp_path / "touch.npy")) == 2
    with pytest.raises(rf.FileFormatError, match=r"its format is \.npy, not \.csv"):
        records.save(tmp_path / "touch.csv")
    assert sorted(os.listdir(tmp_path)) == ["spoon.safetensors", "spoon.v2", "touch.npy"]
