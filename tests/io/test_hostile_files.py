"""No model file does harm: lies, damage and nonsense are refused in words."""

from __future__ import annotations

import io
import json
import math
import os
import pathlib
import pickle
import resource

import numpy as np
import pytest
from safetensors.numpy import save_file

import reducedfem as rf
from model_files import ARRAYS, assert_same, forge, join, make_model, refused, split
from reducedfem.io import green_files
from reducedfem.io import model_files as layout
from reducedfem.reduction.reduced import from_bytes, to_bytes
from shapes import solid_box


def test_missing_and_irregular_files_are_refused(tmp_path):
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
        from_bytes("text")


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
    refused(b"v 0 0 0\n", "not a safetensors file")
    refused(b"PK\x03\x04" + b"\0" * 100, "not a safetensors file")
    refused(pickle.dumps({"a": 1}) + b"\0" * 100, "not a safetensors file")
    save_file({"weights": np.zeros(3)}, tmp_path / "other", {"format": "pt"})
    with pytest.raises(rf.FileFormatError, match="is a safetensors file, but"):
        rf.load(tmp_path / "other")
    save_file({"weights": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(rf.FileFormatError, match="is a safetensors file, but"):
        rf.load(tmp_path / "other")


def test_wrong_lengths_allocate_no_memory(data):
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
    for version in ("6", "999"):
        header["__metadata__"].update(format_version=version, package_version="7.5")
        # a newer format may differ in anything, checksum included
        refused(join(header, body[:-8], sign=False), r"newer version of reducedfem \(7\.5")
    for version in ("0", "-1", "1.0", "", " 1", "one", "²", "1" * 50):
        header["__metadata__"]["format_version"] = version
        refused(join(header, body), "format_version")


def test_files_have_the_oldest_version_that_has_their_entries(
    data, editable_data, damped_data, skinned_data, cut_data, sampled_data, graded_data
):
    """An older package reads all files that it can, and reports the others as newer."""
    quadratic = to_bytes(make_model("tet10"))
    serendipity = to_bytes(make_model("hex20"))
    for contents, version in (
        (data, "1"), (editable_data, "1"), (damped_data, "2"), (quadratic, "2"),
        (skinned_data, "3"), (serendipity, "3"), (cut_data, "3"), (sampled_data, "4"),
        (graded_data, "5"),
    ):  # fmt: skip
        assert split(contents)[0]["__metadata__"]["format_version"] == version
    for contents, version in (
        (damped_data, "1"), (quadratic, "1"), (skinned_data, "2"), (serendipity, "2"),
        (cut_data, "2"), (sampled_data, "3"), (graded_data, "4"),
    ):  # fmt: skip
        forged = forge(contents, metadata={"format_version": version})
        refused(forged, "entries that its format version does not define")
    assert from_bytes(forge(data, metadata={"format_version": "2"})).strain_rate is None
    newer = forge(data, metadata={"format_version": "6"})
    refused(newer, "newer version .* format version 6.*please update")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (None, "belong together"),
        ("[]", "does not hold phi and psi"),
        ('{"phi":{"0":1,"1":1}}', "does not hold phi and psi"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":1},"chi":{}}', "does not hold phi and psi"),
        ('{"phi":3,"psi":{"0":1,"1":1}}', "phi do not match its regions"),
        ('{"phi":{"0":1},"psi":{"0":1,"1":1}}', "phi do not match its regions"),
        ('{"phi":{"0":1,"1":1},"psi":{"0":1,"1":1,"2":1}}', "psi do not match its regions"),
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
    assert_same(damped, from_bytes(forge(damped_data)))
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
    forged = forge(damped_data, {"basis": np.zeros((129, 16, 3))})
    refused(forged, "damping of 129 coordinates; 128 are possible")


@pytest.mark.parametrize("key", layout.TEXTS)
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
        ("materials", '{"0":{"law":"Neo","young":1,"poisson":0.3,"density":1}}', "a material has"),
        (
            "materials",
            '{"0":{"law":"StableNeoHookean","young":1,"poisson":0.3,"density":1}}',
            "StableNeoHookean, whose energy is no polynomial",
        ),
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
    forged = forge(to_bytes(make_model(kind)), metadata={"quadrature": str(order)})
    refused(forged, "its elements have no such quadrature")


def test_the_forging_helper_writes_valid_files(data, model):
    assert_same(model, from_bytes(forge(data)))
    assert_same(model, from_bytes(memoryview(data)))


def test_parts_are_those_of_the_materials(editable_data):
    assert from_bytes(forge(editable_data)).editable
    general = np.array([0, 1], dtype="<i4")
    refused(
        forge(editable_data, {"part_general": general}), "editable parts do not match its materials"
    )
    header, _ = split(editable_data)
    history = header["__metadata__"]["history"]
    assert "parts_of" in history
    refused(forge(editable_data, metadata={"history": "{}"}), "its entry 'parts_of' is missing")
    refused(
        forge(editable_data, metadata={"history": '{"parts_of":{"0":{},"1":[]}}'}),
        "a material has young",
    )
    volumes = np.array([1.0, 0.0])
    refused(forge(editable_data, {"part_volumes": volumes}), "volume of material 1 is 0")
    nans = np.full((2, 2, 70), np.nan)
    refused(forge(editable_data, {"part_coefficients": nans}), "finite")
    # without any of them it is a plain model
    plain = from_bytes(forge(editable_data, dict.fromkeys(layout.PARTS)))
    assert not plain.editable


def test_regions_are_numbers(data, editable_data, damped_data):
    for contents in (data, editable_data, damped_data):
        plain = json.loads(split(contents)[0]["__metadata__"]["materials"])
        for name in ("x", "", "1.0", "01", "-0", " 3", "3 ", "²", "9" * 5000):
            materials = json.dumps({**plain, name: plain["0"]})
            refused(forge(contents, metadata={"materials": materials}), "not an integer")


@pytest.mark.parametrize("name", layout.SCHEMA)
def test_missing_arrays_wrong_types_wrong_shapes(
    name, data, editable_data, damped_data, skinned_data, cut_data, sampled_data, graded_data
):
    if name in layout.CUBATURE:
        data = sampled_data
    elif name in layout.PARTS:
        data = editable_data
    elif name in layout.RULE:
        data = cut_data
    elif name in layout.CONSTRAINTS:
        data = graded_data
    elif name == "damping_coefficients":
        data = damped_data
    elif name in layout.SURFACE:
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
    refused(forge(data, {name: array.reshape(-1)[0]}), "shape|counts")
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
    refused(join(header, body + b"\0"), "1 bytes follow its end")
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
    """After any change the model is refused or, if only blanks changed, the same."""
    model = request.getfixturevalue(which)
    data = to_bytes(model)
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
            result = from_bytes(bytes(damaged))
        except rf.FileFormatError:
            continue
        loaded += 1
        assert_same(model, result)
    # nearly every change must count; unchanged ones (a byte set to itself) are rare
    assert loaded < 30


@pytest.mark.parametrize("which", ["data", "damped_data"])
def test_random_damage_under_a_valid_checksum(which, request, rng):
    """A hostile writer can compute the checksum: the result is a valid model or an error."""
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
            result = from_bytes(case)
        except rf.FileFormatError:
            continue
        assert all(np.isfinite(getattr(result, name)).all() for name in ARRAYS)
        assert np.linalg.eigvalsh(result.mass).min() > 0
        if result.strain_rate is not None:
            assert np.isfinite(result.strain_rate.coefficients).all()
            assert sorted(result.strain_rate.phi) == sorted(result.materials)
        assert result.displacement(np.zeros(result.r)).shape == (result.mesh.n_nodes, 3)
        assert from_bytes(to_bytes(result)).r == result.r
    assert tried > 300


def test_hostile_lists_of_nodes_of_greens_functions(tmp_path, monkeypatch):
    """A claim of a mesh of 2^31 - 1 nodes takes no memory; lists of nodes ascend."""
    monkeypatch.chdir(tmp_path)
    solid = solid_box((2, 1, 1))
    green = rf.GreensFunctions(solid, releasable=solid.fixed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    claimed = rf.GreensFunctions._read(*green_file(green, mesh_nodes=2**31 - 1))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kB
    np.testing.assert_array_equal(claimed.matrix, green.matrix)
    for name in ("nodes", "releasable"):
        good = getattr(green, name)
        repeated = good.copy()
        repeated[1] = good[0]
        for bad in (good[::-1].copy(), repeated):
            with pytest.raises(rf.FileFormatError, match="nodes must ascend"):
                rf.GreensFunctions._read(*green_file(green, **{name: bad}))


def green_file(
    green: rf.GreensFunctions, mesh_nodes: int | None = None, **arrays: np.ndarray
) -> tuple[io.BytesIO, int, str]:
    """Return a file of changed Green's functions, its size and its name."""
    path = pathlib.Path("green.safetensors")
    green_files.save(path, {**green._arrays(), **arrays}, mesh_nodes or green._core.n_nodes)
    data = path.read_bytes()
    return io.BytesIO(data), len(data), "green"
