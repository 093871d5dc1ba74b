"""Files of force sketches: saved sketches load, all other contents are refused."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf


@pytest.fixture
def recorded(model, rng):
    recording = rf.record(model)
    for i in range(6):
        recording.add(
            rng.standard_normal((2, 3)), nodes=[i, 80 - i], modal=rng.standard_normal(6) * (i > 3)
        )
    return recording.sketch


def same(a, b):
    assert a.n_nodes == b.n_nodes
    for name in ("times", "offsets", "nodes", "forces", "patterns", "coordinates"):
        one, other = getattr(a, name), getattr(b, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_a_saved_sketch_is_loaded_unchanged(recorded, tmp_path):
    path = tmp_path / "pull.safetensors"
    recorded.save(path)
    same(rf.ForceSketch.load(path), recorded)
    empty = recorded.select([])
    empty.save(path)
    same(rf.ForceSketch.load(path), empty)
    plain = rf.ForceSketch.from_forces(np.eye(3)[None])
    plain.save(path)
    same(rf.ForceSketch.load(path), plain)


def test_the_safetensors_package_reads_it(recorded, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "pull.safetensors"
    recorded.save(path)
    arrays = safetensors.load_file(path)
    np.testing.assert_array_equal(arrays["forces"], recorded.forces)
    np.testing.assert_array_equal(arrays["nodes"], recorded.nodes)


def test_a_session_is_saved_however_it_ends(model, tmp_path):
    path = tmp_path / "pull.safetensors"

    def session():
        with rf.record(model, path=path) as recording:
            recording.add([[0.0, 0.0, 1.0]], nodes=[80])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session()
    assert rf.ForceSketch.load(path).forces.tolist() == [[0.0, 0.0, 1.0]]
    # nothing recorded: nothing written over
    with rf.record(model, path=path):
        pass
    assert len(rf.ForceSketch.load(path)) == 1


def test_every_byte_counts(recorded, tmp_path):
    path = tmp_path / "pull.safetensors"
    recorded.save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(5)
    header = 8 + int.from_bytes(data[:8], "little")
    places = [*rng.integers(header, size=150), *rng.integers(header, len(data), 100)]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            loaded = rf.ForceSketch.load(path)
        except rf.FileFormatError:
            continue
        else:
            # blanks that pad the header, or letters of JSON escapes, mean nothing
            assert place < header
            same(loaded, recorded)
    for length in rng.integers(len(data), size=60):
        path.write_bytes(data[:length])
        with pytest.raises(rf.FileFormatError):
            rf.ForceSketch.load(path)


def test_files_of_another_kind(recorded, beam, tmp_path):
    path = tmp_path / "file.safetensors"
    reduced = rf.reduce(beam, rf.mass_pca(beam, beam.linear_modes(2).shapes, 2))
    reduced.save(path)
    with pytest.raises(rf.FileFormatError, match="holds no reducedfem sketch"):
        rf.ForceSketch.load(path)
    recorded.save(path)
    with pytest.raises(rf.FileFormatError, match="holds no reducedfem model"):
        rf.load(path)
    for wrong in (tmp_path, tmp_path / "none"):
        with pytest.raises(rf.FileFormatError):
            rf.ForceSketch.load(wrong)
    with pytest.raises(rf.FileFormatError):
        recorded.save(tmp_path / "missing" / "file")
    with pytest.raises(rf.InputTypeError, match="path must be a str or a Path"):
        rf.record(rf.LinearModel(beam, 2), path=3)


def test_hostile_contents_are_refused(recorded, tmp_path):
    """A file with a valid checksum and contents that are impossible for a sketch."""
    from reducedfem.io import sketch_files, tensors

    path = tmp_path / "hostile.safetensors"
    good = {name: np.array(getattr(recorded, name)) for name in sketch_files.ARRAYS}
    counts = '{"nodes":81,"samples":6}'
    for change, message in (
        ({"nodes": good["nodes"] + 80}, "it is damaged: nodes"),
        ({"nodes": good["nodes"] - 1}, "it is damaged: nodes"),
        ({"offsets": good["offsets"][::-1]}, "it is damaged: offsets"),
        ({"offsets": good["offsets"] * 1000}, "it is damaged: offsets"),
        ({"forces": good["forces"] * np.nan}, "it is damaged: forces"),
        ({"times": good["times"][::-1]}, "it is damaged: times"),
        ({"times": good["times"][:5]}, "'coordinates' has shape"),
        ({"patterns": good["patterns"].reshape(6, 243)}, "'patterns' has shape"),
        ({"patterns": good["patterns"][:, :40]}, "its entry .counts. does not match"),
        ({"forces": good["forces"][:3]}, "'forces' has shape"),
        ({"counts": "{"}, "its entry 'counts' is not valid JSON"),
        ({"counts": '{"nodes":81,"samples":7}'}, "its entry .counts. does not match"),
    ):
        reported = {"units": "SI", "counts": change.pop("counts", counts)}
        path.write_bytes(tensors.write(sketch_files._LAYOUT, good | change, reported))
        with pytest.raises(rf.FileFormatError, match=message):
            rf.ForceSketch.load(path)
    path.write_bytes(tensors.write(sketch_files._LAYOUT, good, {"units": "SI", "counts": counts}))
    same(rf.ForceSketch.load(path), recorded)
