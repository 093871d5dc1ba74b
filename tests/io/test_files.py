"""Model files: nothing is lost, and nothing but a sound model comes out of any file."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
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
from reducedfem import files
from reducedfem._record_file import RECORD
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

ARRAYS = ("basis", "mass", "coefficients")


def make_model(
    kind: str, r: int = 4, editable: bool = False, damped: bool = False
) -> rf.ReducedSolid:
    make = {"hex8": box_hexes, "tet4": box_tets, "tet10": box_tet10s, "hex20": box_hex20s}[kind]
    nodes, elements = make(3, 1, 1, (0.3, 0.1, 0.1))
    regions = np.arange(len(elements)) % 2
    mesh = rf.Mesh(nodes, elements, regions)
    materials = {0: rf.StVK(1e5, 0.3, 1000.0), 1: rf.StVK(1 / 3 * 1e6, 0.45, 1234.5)}
    solid = rf.Solid(mesh, materials, fixed=nodes[:, 0] < 1e-9)
    damping = rf.StrainRateDamping(solid, {0: 1 / 3, 1: -7.0}, {0: 2.5, 1: 1e2 / 7})
    return rf.reduce(
        solid,
        rf.modal_derivative_basis(solid, 3, r),
        editable=editable,
        strain_rate=damping if damped else None,
    )


@pytest.fixture(scope="module")
def model() -> rf.ReducedSolid:
    return make_model("hex8")


@pytest.fixture(scope="module")
def data(model) -> bytes:
    return files.to_bytes(model)


@pytest.fixture(scope="module")
def editable_data() -> bytes:
    """Of a model with parts."""
    return files.to_bytes(make_model("hex8", editable=True))


@pytest.fixture(scope="module")
def skinned() -> rf.ReducedSolid:
    """Of a mesh that was made from a surface."""
    part = rf.Mesh(*box_hexes(1, 1, 1, 0.1)).surface()
    mesh = rf.voxelize(part, 4, fill=True)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0), mesh.nodes[:, 0] <= 0.0)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))


@pytest.fixture(scope="module")
def skinned_data(skinned) -> bytes:
    return files.to_bytes(skinned)


@pytest.fixture(scope="module")
def damped() -> rf.ReducedSolid:
    return make_model("tet4", damped=True)


@pytest.fixture(scope="module")
def damped_data(damped) -> bytes:
    return files.to_bytes(damped)


@pytest.fixture(scope="module")
def cut_data() -> bytes:
    """Return the file of a model with two of four elements cut."""
    nodes, elements = box_hexes(4, 1, 1, (4.0, 1.0, 1.0))
    mesh = rf.Mesh(nodes, elements)
    gauss = np.array(np.meshgrid(*3 * [[-(3**-0.5), 3**-0.5]])).reshape(3, -1).T
    half = np.tile(0.25 * gauss * [1, 4, 4] - [0.75, 0, 0], (2, 1))
    signs = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1]])
    signs = np.concatenate([signs, signs * [1, 1, -1]])
    shape = np.prod(0.5 * (1 + signs * half[:8, None]), axis=2)
    products = np.tile(0.25 * (shape.T @ shape)[np.triu_indices(8)], (2, 1))
    mesh._cut_as((np.array([0, 8, 0, 8], np.int32), half, np.full(16, 0.25), products))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] == 0.0)
    bend = np.zeros((1, len(nodes), 3))
    bend[0, :, 2] = nodes[:, 0] ** 2
    return files.to_bytes(rf.reduce(solid, bend))


def assert_same(a: rf.ReducedSolid, b: rf.ReducedSolid) -> None:
    """Equal bit for bit, in everything that a model consists of."""
    for name in ARRAYS:
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    for name in ("nodes", "elements", "regions"):
        assert getattr(a.mesh, name).tobytes() == getattr(b.mesh, name).tobytes()
    assert a.mesh.elements.shape == b.mesh.elements.shape
    assert a.fixed.dtype == b.fixed.dtype
    assert a.fixed.tolist() == b.fixed.tolist()
    assert a.provenance == b.provenance
    q = np.linspace(-0.1, 0.2, a.r)
    assert a.internal_force(q).tobytes() == b.internal_force(q).tobytes()
    assert a.editable == b.editable
    assert (a.strain_rate is None) == (b.strain_rate is None)
    if a.strain_rate is not None:
        for name in ("phi", "psi"):
            assert dict(getattr(a.strain_rate, name)) == dict(getattr(b.strain_rate, name))
        assert a.strain_rate.coefficients.tobytes() == b.strain_rate.coefficients.tobytes()
        assert a.strain_rate.matrix(q).tobytes() == b.strain_rate.matrix(q).tobytes()


# --- forging files -------------------------------------------------------------------


def split(data: bytes) -> tuple[dict, bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def signature(header: dict, body: bytes) -> str:
    """Return the checksum as the documentation of the format defines it."""
    arrays = {k: [v["dtype"], v["shape"]] for k, v in header.items() if k != "__metadata__"}
    metadata = {k: v for k, v in header["__metadata__"].items() if k != "sha256"}
    text = json.dumps(
        {"arrays": arrays, "metadata": metadata}, sort_keys=True, separators=(",", ":")
    )
    digest = hashlib.sha256(text.encode("ascii"))
    order = ("basis", "reduced_mass", "energy_coefficients", "mesh_nodes", "part_coefficients",
             "part_volumes", "part_masses", "damping_coefficients", "surface_vertices",
             "rule_points", "rule_weights", "rule_products", "mesh_elements", "mesh_regions",
             "fixed_nodes", "part_general", "surface_triangles", "rule_counts")  # fmt: skip
    for name in order:
        if name.startswith("part_") and "part_volumes" not in header:
            continue
        if name.startswith("surface_") and "surface_vertices" not in header:
            continue
        if name == "damping_coefficients" and name not in header:
            continue
        if name.startswith("rule_") and "rule_counts" not in header:
            continue
        begin, end = header[name]["data_offsets"]
        digest.update(body[begin:end])
    return digest.hexdigest()


def join(header: dict | bytes, body: bytes, sign: bool = True) -> bytes:
    """Put a file together; sign it where its header is sane enough for that."""
    if isinstance(header, dict) and sign:
        # a header too odd to be signed must be refused for that oddity
        with contextlib.suppress(KeyError, TypeError, ValueError, IndexError, AttributeError):
            header["__metadata__"]["sha256"] = signature(header, body)
    text = header if isinstance(header, bytes) else json.dumps(header).encode("ascii")
    return len(text).to_bytes(8, "little") + text + body


def forge(data: bytes, arrays: dict | None = None, metadata: dict | None = None) -> bytes:
    """Change arrays (None: leave out) and metadata of a file, and sign it anew."""
    header, body = split(data)
    texts = {**header.pop("__metadata__"), **(metadata or {})}
    texts = {k: v for k, v in texts.items() if v is not None}
    contents = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = {"F64": "<f8", "I32": "<i4"}[entry["dtype"]]
        contents[name] = np.frombuffer(body[begin:end], dtype).reshape(entry["shape"])
    contents.update(arrays or {})
    new_header: dict = {"__metadata__": texts}
    new_body = b""
    for name, array in contents.items():
        if array is None:
            continue
        code = {"f8": "F64", "f4": "F32", "i4": "I32", "i8": "I64"}[array.dtype.str[1:]]
        new_header[name] = {
            "dtype": code,
            "shape": list(array.shape),
            "data_offsets": [len(new_body), len(new_body) + array.nbytes],
        }
        new_body += array.tobytes()
    return join(new_header, new_body)


def refused(data: bytes, match: str | None = None) -> None:
    with pytest.raises(rf.FileFormatError, match=match):
        files.from_bytes(data)


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


def test_save_says_why_it_cannot(model, tmp_path):
    with pytest.raises(rf.FileFormatError, match="folder"):
        model.save(tmp_path)
    with pytest.raises(rf.FileFormatError, match="No such file"):
        model.save(tmp_path / "missing" / "m")
    with pytest.raises(rf.InputTypeError, match="path"):
        model.save(7)
    with pytest.raises(rf.InputTypeError, match="ReducedSolid"):
        files.save("model", tmp_path / "m.safetensors")


def test_provenance_that_is_no_plain_data_is_refused(model, tmp_path):
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


# --- no file does harm --------------------------------------------------------------------


def test_what_is_no_file(tmp_path):
    for path, match in (
        (tmp_path, "folder"),
        (tmp_path / "missing", "No such file"),
        ("a\0b", "null"),
        ("/dev/zero", "regular"),
    ):
        with pytest.raises(rf.FileFormatError, match=match):
            rf.load(path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(rf.FileFormatError, match="regular"):
        rf.load(fifo)
    for wrong in (None, 3, ["a"]):
        with pytest.raises(rf.InputTypeError, match="path"):
            rf.load(wrong)
    with pytest.raises(rf.InputTypeError, match="bytes"):
        files.from_bytes("text")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    (tmp_path / "m.safetensors").chmod(0)
    with pytest.raises(rf.FileFormatError, match="Permission"):
        rf.load(tmp_path / "m.safetensors")


def test_messages_name_the_file(tmp_path):
    path = tmp_path / "spoon.safetensors"
    path.write_bytes(b"")
    with pytest.raises(rf.FileFormatError, match=r"spoon\.safetensors' .*it is empty"):
        rf.load(path)


def test_other_contents(tmp_path, data):
    refused(b"", "empty")
    refused(b"v 0 0 0\n", "no safetensors file")
    refused(b"PK\x03\x04" + b"\0" * 100, "no safetensors file")
    refused(pickle.dumps({"a": 1}) + b"\0" * 100, "no safetensors file")
    save_file({"weights": np.zeros(3)}, tmp_path / "other", {"format": "pt"})
    with pytest.raises(rf.FileFormatError, match="is a safetensors file, but"):
        rf.load(tmp_path / "other")
    save_file({"weights": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(rf.FileFormatError, match="is a safetensors file, but"):
        rf.load(tmp_path / "other")


def test_lying_lengths_take_no_memory(data):
    """Claims of more than the file has are refused before anything is allocated."""
    import tracemalloc

    huge = [2**20 + 1, 2**31, 2**40, 2**63, 2**64 - 1]
    header, body = split(data)
    cases = [n.to_bytes(8, "little") + b"{" + data[9:] for n in (0, 1, *huge)]
    for shape in ([2**40], [2**31, 2**31], [2**61], [0, 2**61], [2**62, 2**62, 0]):
        for name in ("basis", "energy_coefficients", "mesh_elements"):
            changed = json.loads(json.dumps(header))
            entry = changed[name]
            entry["shape"] = shape
            cases.append(join(changed, body))
            size = math.prod(shape) * (4 if entry["dtype"] == "I32" else 8)
            entry["data_offsets"][1] = entry["data_offsets"][0] + size
            cases.append(join(changed, body))
    tracemalloc.start()
    for case in cases:
        refused(case)
    # some copies of 20 kB, not the gigabytes that were claimed
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b'{"__metadata__":', "JSON"),
        (b"{nonsense}", "JSON"),
        (b'{"a":NaN}', "JSON"),
        (b'{"a":\xff}', "JSON"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"a":' + b"9" * 5000 + b"}", None),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", None),
        (b'{"__metadata__":[]}', "no reducedfem model"),
        (b'{"__metadata__":{"format":["reducedfem-model"]}}', "no reducedfem model"),
        (b'{"__metadata__":{"format":"reducedfem-model","format_version":1}}', "texts"),
        (b'{"__metadata__":{"format":"reducedfem-model"}}', "format_version"),
    ],
)
def test_bad_headers(text, match):
    refused(join(text, b""), match)


def test_versions(data):
    header, body = split(data)
    for version in ("4", "999"):
        header["__metadata__"].update(format_version=version, package_version="7.5")
        # a newer format may differ in anything, checksum included
        refused(join(header, body[:-8], sign=False), r"newer version of reducedfem \(7\.5")
    for version in ("0", "-1", "1.0", "", " 1", "one", "²", "1" * 50):
        header["__metadata__"]["format_version"] = version
        refused(join(header, body), "format_version")


def test_only_what_older_versions_do_not_know_is_of_newer_ones(
    data, editable_data, damped_data, skinned_data, cut_data, monkeypatch
):
    """An older package reads all that it can, and says of the rest that it is newer."""
    quadratic = files.to_bytes(make_model("tet10"))
    serendipity = files.to_bytes(make_model("hex20"))
    for contents, version in (
        (data, "1"), (editable_data, "1"), (damped_data, "2"), (quadratic, "2"),
        (skinned_data, "3"), (serendipity, "3"), (cut_data, "3"),
    ):  # fmt: skip
        assert split(contents)[0]["__metadata__"]["format_version"] == version
    for contents, version in (
        (damped_data, "1"), (quadratic, "1"), (skinned_data, "2"), (serendipity, "2"),
        (cut_data, "2"),
    ):  # fmt: skip
        forged = forge(contents, metadata={"format_version": version})
        refused(forged, "what its format version does not know")
    assert files.from_bytes(forge(data, metadata={"format_version": "2"})).strain_rate is None
    monkeypatch.setattr(files, "_LAYOUT", dataclasses.replace(files._LAYOUT, version=1))
    files.from_bytes(data)
    for contents in (damped_data, quadratic, skinned_data, serendipity):
        refused(contents, r"newer version .* format version [23].*please update")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (None, "belong together"),
        ("[]", "does not hold phi and psi"),
        ('{"phi":{"0":1,"1":1}}', "does not hold phi and psi"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":1},"chi":{}}', "does not hold phi and psi"),
        ('{"phi":3,"psi":{"0":1,"1":1}}', "phi are not those of its regions"),
        ('{"phi":{"0":1},"psi":{"0":1,"1":1}}', "phi are not those of its regions"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":1,"2":1}}', "psi are not those of its regions"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":"x"}}', r"psi\[1\] must be a number"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":null}}', r"psi\[1\] must be a number"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":1e999}}', r"psi\[1\] must be finite"),
        ('{"phi":{"0":1%s,"1":1},"psi":{"0":1,"1":1}}' % ("0" * 400), r"phi\[0\] must be finite"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":-1}}', "of region 1 would add energy"),
        ('{"phi":{"0":-1,"1":1},"psi":{"0":1,"1":1}}', "of region 0 would add energy"),
        ('{"phi":', "JSON"),
    ],
)  # fmt: skip
def test_bad_viscosities(value, match, damped_data):
    refused(forge(damped_data, metadata={"strain_rate": value}), match)


def test_bad_damping_coefficients(data, damped, damped_data):
    assert_same(damped, files.from_bytes(forge(damped_data)))
    refused(forge(damped_data, {"damping_coefficients": None}), "belong together")
    text = split(damped_data)[0]["__metadata__"]["strain_rate"]
    refused(forge(data, metadata={"strain_rate": text}), "belong together")
    good = damped.strain_rate.coefficients
    for place in (0, len(good) - 1):
        for bad in (np.nan, np.inf):
            changed = good.copy()
            changed[place] = bad
            refused(forge(damped_data, {"damping_coefficients": changed}), "finite")
    changed = good.copy()
    changed[-1] = -1.0
    refused(forge(damped_data, {"damping_coefficients": changed}), "would add energy")
    # of more coordinates than can be: refused before memory is taken
    header, body = split(damped_data)
    header["basis"]["shape"][0] = 129
    header["basis"]["data_offsets"][1] = header["basis"]["data_offsets"][0] + 129 * 16 * 3 * 8
    refused(join(header, body))
    shapes = {name: tuple(entry["shape"]) for name, entry in split(damped_data)[0].items()
              if name != "__metadata__"}  # fmt: skip
    with pytest.raises(files._Refused, match="damping of 129 coordinates; 128 are possible"):
        files._check_shapes({**shapes, "basis": (129, 16, 3)})


@pytest.mark.parametrize("key", files._TEXTS)
def test_missing_metadata(key, data):
    header, body = split(data)
    del header["__metadata__"][key]
    refused(join(header, body, sign=False), f"lack '{key}'")


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("law", "Neo-Hooke", "Neo-Hooke"),
        ("materials", "[]", "materials"),
        ("materials", "{", "JSON"),
        ("materials", "{}", "region 0"),
        ("materials", '{"0":3}', "malformed"),
        ("materials", '{"0":{"young":1}}', "a material has young and poisson, or stiffness"),
        ("materials", '{"0":{"young":1,"poisson":0.5,"density":1}}', "poisson"),
        ("materials", '{"0":{"young":1e999,"poisson":0.3,"density":1}}', "too large"),
        ("materials", '{"0":{"young":1%s,"poisson":0.3,"density":1}}' % ("0" * 400), "too large"),
        ("materials", '{"0":{"young":"1","poisson":0.3,"density":1}}', "number"),
        ("materials", '{"0":{"young":[],"poisson":0.3,"density":null}}', "number"),
        ("quadrature", "5", "quadrature"),
        ("quadrature", "true", "quadrature"),
        ("quadrature", "[2]", "quadrature"),
        ("total_mass_kg", "-1", "mass"),
        ("total_mass_kg", '"1"', "mass"),
        ("basis", "{}", "basis"),
        ("basis", '{"method":3}', "basis"),
        ("basis", "[" * 5000 + "]" * 5000, None),
        ("history", "[]", "history"),
        ("history", '{"solid":{}}', "history"),
        ("counts", "{}", "counts"),
        ("counts", '{"nodes":16}', "counts"),
    ],
)
def test_bad_metadata(key, value, match, data):
    refused(forge(data, metadata={key: value}), match)


@pytest.mark.parametrize(("kind", "order"), [("tet4", 2), ("hex8", 1), ("tet10", 1)])
def test_quadrature_is_that_of_the_elements(kind, order):
    forged = forge(files.to_bytes(make_model(kind)), metadata={"quadrature": str(order)})
    refused(forged, "its quadrature is not that of its elements")


def test_forging_itself_gives_sound_files(data, model):
    assert_same(model, files.from_bytes(forge(data)))
    assert_same(model, files.from_bytes(memoryview(data)))


def test_parts_are_those_of_the_materials(editable_data):
    assert files.from_bytes(forge(editable_data)).editable
    general = np.array([0, 1], dtype="<i4")
    refused(forge(editable_data, {"part_general": general}), "parts are not those")
    header, _ = split(editable_data)
    history = header["__metadata__"]["history"]
    assert "parts_of" in history
    refused(forge(editable_data, metadata={"history": "{}"}), "what materials its parts")
    refused(
        forge(editable_data, metadata={"history": '{"parts_of":{"0":{},"1":[]}}'}),
        "a material has young",
    )
    volumes = np.array([1.0, 0.0])
    refused(forge(editable_data, {"part_volumes": volumes}), "volume of material 1 is 0")
    nans = np.full((2, 2, 70), np.nan)
    refused(forge(editable_data, {"part_coefficients": nans}), "finite")
    # without any of them it is a plain model
    plain = files.from_bytes(forge(editable_data, dict.fromkeys(files._PARTS)))
    assert not plain.editable


def test_regions_are_numbers(data, editable_data, damped_data):
    for contents in (data, editable_data, damped_data):
        plain = json.loads(split(contents)[0]["__metadata__"]["materials"])
        for name in ("x", "", "1.0", "01", "-0", " 3", "3 ", "²", "9" * 5000):
            materials = json.dumps({**plain, name: plain["0"]})
            refused(forge(contents, metadata={"materials": materials}), "no number")


@pytest.mark.parametrize("name", files._SCHEMA)
def test_missing_arrays_wrong_types_wrong_shapes(
    name, data, editable_data, damped_data, skinned_data, cut_data
):
    if name in files._PARTS:
        data = editable_data
    elif name in files._RULE:
        data = cut_data
    elif name == "damping_coefficients":
        data = damped_data
    elif name in files._SURFACE:
        data = skinned_data
    missing = "is missing" if data is not damped_data else "one is missing"
    refused(forge(data, {name: None}), f"'{name}'.*{missing}")
    header, body = split(data)
    entry = header[name]
    begin, end = entry["data_offsets"]
    dtype = {"F64": "<f8", "I32": "<i4"}[entry["dtype"]]
    array = np.frombuffer(body[begin:end], dtype).reshape(entry["shape"])
    other = {"F64": "<f4", "I32": "<i8"}[entry["dtype"]]
    refused(forge(data, {name: array.astype(other)}), "dtype")
    refused(forge(data, {name: array[None]}), "shape")
    refused(forge(data, {name: array.reshape(-1)[:0]}))
    if name != "fixed_nodes":
        # of products the core knows how many there must be
        wrong = "shape|counts" if name != "rule_products" else "products do not fit"
        refused(forge(data, {name: array[:-1]}), wrong)
        refused(forge(data, {name: np.concatenate([array, array[:1]])}), wrong)
    for bad in (
        {"dtype": entry["dtype"], "shape": entry["shape"]},
        {**entry, "more": 1},
        {**entry, "shape": 3},
        {**entry, "shape": [-1]},
        {**entry, "shape": [1.0]},
        {**entry, "shape": [True]},
        {**entry, "shape": [1] * 1000},
        {**entry, "dtype": []},
        {**entry, "data_offsets": [begin]},
        {**entry, "data_offsets": [begin + 4, end + 4]},
        {**entry, "data_offsets": [end, begin]},
        {**entry, "data_offsets": [0, 2**70]},
        [],
        None,
    ):
        refused(join({**header, name: bad}, body))


def test_additional_arrays_overlaps_and_trailing_bytes(data):
    refused(forge(data, {"payload": np.zeros(1)}), "payload")
    header, body = split(data)
    refused(join(header, body + b"\0"), "1 bytes after")
    refused(join(header, body[:-1]), "truncated")
    # two arrays that share bytes
    header["mesh_regions"]["data_offsets"] = header["fixed_nodes"]["data_offsets"]
    refused(join(header, body))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["basis", "reduced_mass", "energy_coefficients", "mesh_nodes"])
def test_numbers_that_are_not_finite(name, bad, data, model):
    source = {
        "basis": model.basis,
        "reduced_mass": model.mass,
        "energy_coefficients": model.coefficients,
        "mesh_nodes": model.mesh.nodes,
    }[name]
    for place in (0, source.size - 1):
        array = source.copy()
        array.reshape(-1)[place] = bad
        refused(forge(data, {name: array}))


def test_mass_must_be_positive_definite_and_symmetric(data, model):
    mass = model.mass.copy()
    mass[0, 0] = -1.0
    refused(forge(data, {"reduced_mass": mass}), "positive definite")
    refused(forge(data, {"reduced_mass": np.zeros_like(mass)}), "positive definite")
    mass = model.mass.copy()
    mass[0, 1] += 0.1
    refused(forge(data, {"reduced_mass": mass}), "symmetric")


def test_bad_meshes_and_fixed_nodes(data, model):
    elements = model.mesh.elements
    for value in (-1, 16, 2**31 - 1, -(2**31)):
        wrong = elements.copy()
        wrong[1, 3] = value
        refused(forge(data, {"mesh_elements": wrong}))
    inverted = elements[:, [4, 5, 6, 7, 0, 1, 2, 3]].copy()
    refused(forge(data, {"mesh_elements": inverted}), "inverted")
    for fixed in ([-1, 0, 1, 2], [0, 1, 2, 16], [0, 1, 3, 2], [1, 1, 2, 3], [0, 1, 2, 2**31 - 1]):
        refused(forge(data, {"fixed_nodes": np.array(fixed, np.int32)}), "fixed nodes")
    others = np.setdiff1d(np.arange(model.mesh.n_nodes, dtype=np.int32), model.fixed)
    refused(forge(data, {"fixed_nodes": others[:4]}), "moves a fixed node")
    refused(forge(data, {"mesh_regions": model.mesh.regions + np.int32(5)}), "no material")


def test_every_truncation_is_noticed(data):
    for length in (*range(0, 64), *range(64, len(data), 97), len(data) - 1):
        refused(data[:length])


@pytest.mark.parametrize("which", ["model", "damped"])
def test_random_damage_is_always_noticed(which, request, rng):
    """Whatever is changed, the model is refused or, if only blanks changed, the same."""
    model = request.getfixturevalue(which)
    data = files.to_bytes(model)
    loaded = 0
    for round_ in range(600):
        damaged = bytearray(data)
        # half of the changes within the header, where they mean most
        end = len(data) if round_ % 2 else 8 + int.from_bytes(data[:8], "little")
        for at in rng.integers(0, end, size=1 + round_ % 4):
            if round_ % 3:
                damaged[at] ^= 1 << int(rng.integers(8))
            else:
                damaged[at] = rng.integers(256)
        if round_ % 7 == 0:
            del damaged[int(rng.integers(end)) :]
        if round_ % 11 == 0:
            at = int(rng.integers(end))
            damaged[at:at] = bytes(rng.integers(256, size=3).astype(np.uint8))
        try:
            result = files.from_bytes(bytes(damaged))
        except rf.FileFormatError:
            continue
        loaded += 1
        assert_same(model, result)
    # nearly every change must count; unchanged ones (a byte set to itself) are rare
    assert loaded < 30


@pytest.mark.parametrize("which", ["data", "damped_data"])
def test_random_damage_under_a_valid_checksum(which, request, rng):
    """A hostile writer can sign what he likes: a sound model or an error, nothing else."""
    data = request.getfixturevalue(which)
    header, body = split(data)
    text = json.dumps(header)
    tried = 0
    for round_ in range(600):
        if round_ % 2:
            damaged = bytearray(body)
            damaged[int(rng.integers(len(body)))] ^= 1 << int(rng.integers(8))
            case = join(header, bytes(damaged))
        else:
            letters = list(text)
            letters[int(rng.integers(len(letters)))] = chr(int(rng.integers(32, 127)))
            try:
                changed = json.loads("".join(letters))
            except ValueError:
                continue
            if not isinstance(changed.get("__metadata__"), dict):
                continue
            case = join(changed, body)
        tried += 1
        try:
            result = files.from_bytes(case)
        except rf.FileFormatError:
            continue
        assert all(np.isfinite(getattr(result, name)).all() for name in ARRAYS)
        assert np.linalg.eigvalsh(result.mass).min() > 0
        if result.strain_rate is not None:
            assert np.isfinite(result.strain_rate.coefficients).all()
            assert sorted(result.strain_rate.phi) == sorted(result.materials)
        assert result.displacement(np.zeros(result.r)).shape == (result.mesh.n_nodes, 3)
        assert files.from_bytes(files.to_bytes(result)).r == result.r
    assert tried > 300


def test_models_keep_the_surface_of_their_mesh(skinned, skinned_data, model):
    """Pictures show the part as it was drawn, not as it was meshed."""
    again = files.from_bytes(skinned_data)
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
