"""Files in the glTF format: contents, rules of the specification, shapes at a time."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np

_TYPES = {5123: np.dtype("<u2"), 5125: np.dtype("<u4"), 5126: np.dtype("<f4")}
_WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


def contents(path):
    """Return the JSON object and the binary block of a file; verify its container."""
    data = path.read_bytes()
    if path.suffix == ".gltf":
        document = json.loads(data)
        head, _, text = document["buffers"][0]["uri"].partition(",")
        assert head == "data:application/octet-stream;base64"
        return document, base64.b64decode(text, validate=True)
    magic, version, size, length, kind = struct.unpack_from("<4sIIII", data)
    assert (magic, version, kind) == (b"glTF", 2, 0x4E4F534A)
    assert size == len(data)
    assert length % 4 == 0
    document = json.loads(data[20 : 20 + length])
    more, kind = struct.unpack_from("<II", data, 20 + length)
    assert kind == 0x004E4942
    assert more % 4 == 0
    block = data[28 + length :]
    assert len(block) == more
    assert "uri" not in document["buffers"][0]
    return document, block


def values(document, block, index):
    """Return the array of an accessor; verify its place (specification, section 3.6.2)."""
    accessor = document["accessors"][index]
    view = document["bufferViews"][accessor["bufferView"]]
    kind, width = _TYPES[accessor["componentType"]], _WIDTHS[accessor["type"]]
    start, length = view["byteOffset"], view["byteLength"]
    assert view["buffer"] == 0
    assert start % 4 == 0
    assert length == accessor["count"] * width * kind.itemsize > 0
    assert start + length <= document["buffers"][0]["byteLength"] <= len(block)
    array = np.frombuffer(block, kind, accessor["count"] * width, start).reshape(-1, width)
    if "min" in accessor:
        # the numbers of the text, rounded to single precision, are those of the data
        assert array.min(axis=0).tolist() == np.float32(accessor["min"]).tolist()
        assert array.max(axis=0).tolist() == np.float32(accessor["max"]).tolist()
    return array


def verify(path):
    """Verify the rules of the specification; return the JSON object and the arrays."""
    document, block = contents(path)
    arrays = [values(document, block, k) for k in range(len(document["accessors"]))]
    assert len(document["bufferViews"]) == len(arrays)
    assert document["asset"]["version"] == "2.0"
    (mesh,) = document["meshes"]
    (primitive,) = mesh["primitives"]
    n = len(arrays[primitive["attributes"]["POSITION"]])
    assert {"POSITION"} <= set(primitive["attributes"]) <= {"POSITION", "NORMAL", "COLOR_0"}
    for attributes in (primitive["attributes"], *primitive.get("targets", ())):
        # colours do not change
        assert set(attributes) >= set(primitive["attributes"]) - {"COLOR_0"}
        assert {"min", "max"} <= set(document["accessors"][attributes["POSITION"]])
        for index in attributes.values():
            view = document["bufferViews"][document["accessors"][index]["bufferView"]]
            assert view["target"] == 34962
            assert document["accessors"][index]["type"] == "VEC3"
            assert len(arrays[index]) == n
            assert np.isfinite(arrays[index]).all()
    if "NORMAL" in primitive["attributes"]:
        lengths = np.linalg.norm(arrays[primitive["attributes"]["NORMAL"]], axis=1)
        np.testing.assert_allclose(lengths, 1.0, atol=1e-6)
    indices = document["accessors"][primitive["indices"]]
    assert document["bufferViews"][indices["bufferView"]]["target"] == 34963
    most = arrays[primitive["indices"]].max()
    assert most < n
    assert most < np.iinfo(_TYPES[indices["componentType"]]).max  # which restarts a primitive
    assert indices["count"] % 3 == 0
    targets = len(primitive.get("targets", ()))
    assert len(mesh.get("weights", ())) == targets
    if targets:
        assert len(set(mesh["extras"]["targetNames"])) == targets
    turn = np.reshape(document["nodes"][0]["matrix"], (4, 4)).T
    np.testing.assert_array_equal(turn[:3, :3] @ turn[:3, :3].T, np.eye(3))
    assert np.linalg.det(turn) == 1.0
    for animation in document.get("animations", ()):
        paths = [channel["target"]["path"] for channel in animation["channels"]]
        assert len(set(paths)) == len(paths)
        for channel in animation["channels"]:
            assert document["nodes"][channel["target"]["node"]]["mesh"] == 0
            sampler = animation["samplers"][channel["sampler"]]
            assert {"min", "max"} <= set(document["accessors"][sampler["input"]])
            times, output = arrays[sampler["input"]], arrays[sampler["output"]]
            assert times[0] >= 0.0
            assert (np.diff(times[:, 0]) > 0.0).all()
            width = targets if channel["target"]["path"] == "weights" else 1
            assert len(output) == len(times) * width
    return document, arrays


def keys(document, arrays, path):
    """Return times (s,) and values (s, k) of a channel of the animation, or None."""
    for animation in document.get("animations", ()):
        for channel in animation["channels"]:
            if channel["target"]["path"] == path:
                sampler = animation["samplers"][channel["sampler"]]
                times = arrays[sampler["input"]][:, 0].astype(float)
                return times, arrays[sampler["output"]].reshape(len(times), -1).astype(float)
    return None


def shape_at(document, arrays, k):
    """Return positions and normals (or None) of state k below the node that turns y up."""
    primitive = document["meshes"][0]["primitives"][0]
    _, weights = keys(document, arrays, "weights")

    def morphed(name):
        x = arrays[primitive["attributes"][name]].astype(float)
        for weight, target in zip(weights[k], primitive["targets"], strict=True):
            x = x + weight * arrays[target[name]]
        return x

    x = morphed("POSITION")
    normals = morphed("NORMAL") if "NORMAL" in primitive["attributes"] else None
    if normals is not None:
        normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    turned = keys(document, arrays, "rotation")
    if turned is not None:
        b, c, d, a = turned[1][k]
        v = np.array([b, c, d])
        x = x + 2.0 * np.cross(v, np.cross(v, x) + a * x)
        x = x + keys(document, arrays, "translation")[1][k]
    return x, normals
