"""Recorded motions of worlds: states, slices, copies, files."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import reducedfem as rf
from dimpled_worlds import falling, make_pad, pressed
from reducedfem.cli import main
from reducedfem.io import world_files
from reducedfem.world.recorded import _arrays


@pytest.fixture(scope="module")
def pad():
    return make_pad()


@pytest.fixture(scope="module")
def dented(pad):
    return rf.record_motion(pressed(pad, 10), 20, every=5)


def equal(one, other):
    np.testing.assert_array_equal(one.times, other.times)
    for a, b in zip(one.bodies, other.bodies, strict=True):
        for name in ("times", "q", "qdot", "poses", "rates"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert list(one.dimples) == list(other.dimples)
    for number, u in one.dimples.items():
        np.testing.assert_array_equal(u, other.dimples[number])


def test_a_motion_has_the_states_of_the_world():
    told = []
    world, other = falling(), falling()
    world.step(3)
    motion = rf.record_motion(world, 14, every=4, progress=lambda a, b: told.append((a, b)))
    assert told == [(4, 14), (8, 14), (12, 14), (14, 14)]
    assert repr(motion) == "<WorldMotion: 4 states in 0.012 s, 3 bodies>"
    assert world.report.steps == 17
    np.testing.assert_allclose(motion.times, [0.003, 0.007, 0.011, 0.015], atol=1e-15)
    other.step(3)
    for s in range(4):
        for k, one in enumerate(motion.bodies):
            state = other.state(k)
            np.testing.assert_array_equal(one.q[s], state.q)
            np.testing.assert_array_equal(one.qdot[s], state.qdot)
            np.testing.assert_array_equal(one.poses[s], [*state.position, *state.quaternion])
            rates = [*state.velocity, *state.angular_velocity]
            np.testing.assert_array_equal(one.rates[s], rates)
        other.step(4)


def test_dimples_are_those_of_the_world(pad, dented):
    world = pressed(pad, 10)
    assert list(dented.dimples) == [-2, -3]
    for s in range(5):
        np.testing.assert_array_equal(dented.dimples[-2][s], world.dimple(-2))
        world.step(5)
    assert np.abs(dented.dimples[-2]).max() > 1e-5
    assert not dented.dimples[-3].any()
    assert repr(dented).endswith("1 bodies, 2 with dimples>")


def test_slices_and_copies(dented):
    part = dented[1::2]
    assert len(part) == 2
    assert part.duration == pytest.approx(0.01)
    np.testing.assert_array_equal(part.bodies[0].q, dented.bodies[0].q[1::2])
    np.testing.assert_array_equal(part.dimples[-2], dented.dimples[-2][1::2])
    for same in (copy.deepcopy(dented), pickle.loads(pickle.dumps(dented))):
        equal(same, dented)
    with pytest.raises(rf.InputTypeError, match="has slices only"):
        dented[0]
    with pytest.raises(ValueError, match="read-only"):
        dented.dimples[-2][0] = 1.0


def test_files_are_whole_or_refused(dented, tmp_path):
    """A file gives the same motion; cut anywhere, or damaged, it is refused in words."""
    dented.save(tmp_path / "fall")
    path = tmp_path / "fall.safetensors"
    equal(rf.load(path), dented)
    equal(rf.WorldMotion.load(path), dented)
    data = path.read_bytes()
    dented.save(tmp_path / "again")
    assert (tmp_path / "again.safetensors").read_bytes() == data
    for size in (0, 5, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(rf.FileFormatError):
            rf.load(path, rf.WorldMotion)
    path.write_bytes(data[:-9] + b"x" + data[-8:])
    with pytest.raises(rf.FileFormatError, match="damaged"):
        rf.load(path)
    path.write_bytes(data)
    with pytest.raises(rf.FileFormatError, match="cannot write the motion of a world"):
        dented.save(tmp_path / "fall.npz")
    with pytest.raises(rf.FileFormatError):
        dented.save(tmp_path / "no" / "fall")
    equal(rf.load(path), dented)


def test_contents_that_do_not_belong_together_are_refused(dented, tmp_path):
    arrays = _arrays(dented)
    path = tmp_path / "changed.safetensors"
    for text, changed in (
        ("'q' has shape", {"q": arrays["q"][1:]}),
        ("'rates' has shape", {"rates": arrays["rates"][:, :, :5]}),
        ("'dimples' has shape", {"dimples": arrays["dimples"][:, :, 0]}),
        ("'coordinates' does not agree", {"coordinates": arrays["coordinates"] + 1}),
        ("'points' does not agree", {"points": arrays["points"] + 1}),
        ("'dimpled' has an index twice", {"dimpled": arrays["dimpled"] * 0}),
        ("dimples has the index -2147483648", {"dimpled": arrays["dimpled"] - [2**31 - 2, 0]}),
        ("dimples has the index -1;", {"dimpled": arrays["dimpled"] + [1, 0]}),
        ("must ascend", {"times": arrays["times"][::-1]}),
        ("unit quaternion", {"poses": 2.0 * arrays["poses"]}),
        ("finite", {"dimples": np.nan * arrays["dimples"]}),
    ):
        same = {name: one.astype(arrays[name].dtype) for name, one in changed.items()}
        world_files.save(path, {**arrays, **same})
        with pytest.raises(rf.FileFormatError, match=text):
            rf.load(path)


def test_wrong_arguments_are_refused(dented):
    world, motion = falling(1), dented.bodies[0]
    with pytest.raises(rf.InputError, match="a World takes no forces"):
        rf.record_motion(world, 1, np.zeros(3))
    with pytest.raises(rf.InputError, match="World without bodies"):
        rf.record_motion(rf.World(1e-3), 1)
    with pytest.raises(rf.InputTypeError, match="sim must be .* a FreeBody or a World, got int"):
        rf.record_motion(3, 1)
    with pytest.raises(rf.InputError, match=r"bodies\[0\] has other times"):
        rf.WorldMotion(motion.times + 1.0, [motion])
    with pytest.raises(rf.InputError, match=r"bodies\[0\] must have poses and rates"):
        rf.WorldMotion(motion.times, [rf.Motion(motion.times, motion.q)])
    with pytest.raises(rf.InputError, match=r"dimples\[-2\] must have shape \(5, n, 3\)"):
        rf.WorldMotion(motion.times, [motion], {-2: np.zeros((4, 2, 3))})
    for index in (-1, 1):
        with pytest.raises(rf.InputError, match=rf"index {index}; those of bodies are 0 to 0, "):
            rf.WorldMotion(motion.times, [motion], {index: np.zeros((5, 2, 3))})
    with pytest.raises(rf.InputTypeError, match=r"bodies\[0\] must be a Motion"):
        rf.WorldMotion(motion.times, [1])
    with pytest.raises(rf.InputError, match="there is no motion"):
        rf.WorldMotion(motion.times, [])


def test_info_describes_files(dented, tmp_path, capsys):
    dented.save(tmp_path / "fall")
    assert main(["info", str(tmp_path / "fall.safetensors")]) == 0
    out = capsys.readouterr().out
    for text in ("motion of a world", r"states +5, 0.01 to 0.03 s", "bodies +1", "with dimples +2"):
        assert re.search(text, out), text
    with pytest.raises(SystemExit):
        main(["view", str(tmp_path / "fall.safetensors"), "--no-browser"])
    assert "make the World in a script, and call view(world, " in capsys.readouterr().err
