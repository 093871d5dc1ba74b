"""Files of distance fields: saved fields load, all other contents are refused."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from plain_surface import cube


@pytest.fixture(scope="module")
def field():
    return rf.DistanceField.from_surface(rf.Surface(*cube()), 9, mode="fast")


def file_of(field: rf.DistanceField) -> bytes:
    """Return the contents of the file of a field."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "field.safetensors"
        field.save(path)
        return path.read_bytes()


def test_saved_and_loaded(field, tmp_path):
    path = tmp_path / "cube.safetensors"
    field.save(path)
    same = rf.load(path)
    assert isinstance(same, rf.DistanceField)
    np.testing.assert_array_equal(same.values, field.values)
    np.testing.assert_array_equal(same.origin, field.origin)
    np.testing.assert_array_equal(same.spacing, field.spacing)
    assert dict(same.provenance) == dict(field.provenance)
    assert repr(same) == repr(field)
    assert same._core.error == field._core.error > 0
    assert same.boundary == field.boundary
    assert file_of(same) == path.read_bytes()
    given = rf.DistanceField(np.arange(8).reshape(2, 2, 2), [1, 2, 3], 0.5)
    given.save(path)
    assert rf.load(path)._core.error == np.inf
    assert [p.name for p in tmp_path.iterdir()] == ["cube.safetensors"]


def test_other_programs_can_read_the_file(field, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "f.safetensors"
    field.save(path)
    arrays = numpy.load_file(path)
    np.testing.assert_array_equal(arrays["values"], field.values)
    assert set(arrays) == {"origin", "spacing", "values"}


def changed(data: bytes, **metadata) -> bytes:
    """Return a file with other metadata and the checksum that belongs to them."""
    import hashlib

    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n])
    body = data[8 + n :]
    header["__metadata__"] |= metadata
    names = ("origin", "spacing", "values")
    contents = {
        "arrays": {name: [header[name]["dtype"], header[name]["shape"]] for name in names},
        "metadata": {k: v for k, v in header["__metadata__"].items() if k != "sha256"},
    }
    text = json.dumps(contents, sort_keys=True, separators=(",", ":")).encode()
    if "sha256" not in metadata:
        header["__metadata__"]["sha256"] = hashlib.sha256(text + body).hexdigest()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d[:-1], "truncated"),
        (lambda d: d + b"x", "1 bytes follow its end"),
        (lambda d: d[:-1] + bytes([d[-1] ^ 1]), "damaged"),
        (lambda d: changed(d, error_m="-1"), "'error_m' is neither null nor a number"),
        (lambda d: changed(d, error_m="true"), "'error_m' is neither null nor a number"),
        (lambda d: changed(d, error_m="nan"), "not valid JSON"),
        (lambda d: changed(d, provenance="[]"), "its provenance lacks the method"),
        (lambda d: changed(d, provenance='{"method": "x", "y": 1e999}'), "too large"),
        (lambda d: changed(d, format_version="2"), "made by a newer version"),
        (lambda d: changed(d, format="reducedfem-cake"), "holds no reducedfem model"),
        (lambda d: d[:4], "not a safetensors file"),
    ],
)
def test_spoilt_files(field, tmp_path, spoil, message):
    path = tmp_path / "f.safetensors"
    path.write_bytes(spoil(file_of(field)))
    with pytest.raises(rf.FileFormatError, match=message):
        rf.load(path)


def test_samples_that_are_not_finite(tmp_path):
    data = file_of(rf.DistanceField(np.zeros((2, 2, 2)), [0, 0, 0], 1.0))
    path = tmp_path / "f.safetensors"
    path.write_bytes(changed(data[:-4] + np.float32(np.nan).tobytes()))
    with pytest.raises(rf.FileFormatError, match=r"values\[1, 1, 1\] is nan"):
        rf.load(path)
