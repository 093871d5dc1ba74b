"""Records of another scene at the command line: refused by views, doubted where replayed."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import reducedfem as rf
from commands import fails, misused, run
from reducedfem import scenes
from reducedfem.io.record_file import record_dtype

pytestmark = pytest.mark.no_asan(reason="public functions only, which other tests run")


class Built(rf.ReducedFEMError):
    pass


@pytest.fixture
def _unbuilt(monkeypatch):
    """Raise where a scene would be built."""

    def build(name, *_, **__):
        raise Built(f"{name} was built")

    monkeypatch.setattr(scenes, "session", build)


def recorded(path, free=0, coordinates=0, place=(0.0, 0.0, 0.0), scene=None):
    """Write records of 50 cycles at rest, in contact of 1 um."""
    array = np.zeros(50, record_dtype(free, coordinates))
    array["time_s"] = 1e-3 * np.arange(50)
    for name in ("device", "hand", "object"):
        array[f"{name}_quaternion"][:, 0] = 1.0
        array[f"{name}_position"] = place
    if free:
        array["body_quaternion"][:, :, 0] = 1.0
    array["touching"], array["depth_m"] = 3, 1e-6
    rf.HapticRecords(array, scene).save(path)
    return path


@pytest.mark.usefixtures("_unbuilt")
def test_views_refuse_records_of_another_scene_before_it_is_built(capsys, tmp_path):
    hoses, tower = recorded(tmp_path / "h.npy", 0, 24), recorded(tmp_path / "t.npy", 3, 18)
    page, touched = tmp_path / "page.html", tmp_path / "a.npy"
    array = np.zeros(3, record_dtype(0, 0, 1))
    array["hand_quaternion"][:, 0] = array["object_quaternion"][:, 0] = 1.0
    rf.HapticRecords(array).save(touched)
    for file, scene, match in (
        (hoses, "peg", "--scene peg: the records in '.*h.npy' have 24 reduced coordinates in a "
         "cycle, those of the scene peg have 0 .*: use --scene hoses, soft or snap-in$"),
        (tower, "grasp", "have 18 reduced coordinates, 3 free bodies in a cycle, those of the "
         "scene grasp have 12 reduced coordinates, 1 free body: use --scene stack$"),
        (recorded(tmp_path / "o.npy", 1, 5), "soft", "no scene has such records; show them in Py"),
        (touched, "peg", "have anchor and slip of a touched body in .*: use --scene button or "
         "organ$"),
        (hoses, "button", "those of the scene button have anchor and slip of a touched body: use "
         "--scene hoses, soft or snap-in$"),
        (recorded(tmp_path / "p.npy"), "button", "have 0 .*: use --scene statue, peg, al"),
        (hoses, "knight", "'knight' is not one of statue, hoses, dragon, soft, peg, .*alpha-cheat"),
    ):  # fmt: skip
        misused(capsys, "view", file, "--scene", scene, "--save", page, match=match)
    # files of versions without states of bodies have none in any scene
    old = recorded(tmp_path / "old.npy")
    for file, scene in ((hoses, "hoses"), (tower, "stack"), (old, "soft"), (touched, "button")):
        match = f"{scene} was built"
        fails(capsys, "view", file, "--scene", scene, "--save", page, match=match)


@pytest.mark.usefixtures("_unbuilt")
def test_records_that_name_their_scene(capsys, tmp_path):
    """Scenes whose records have the same sizes are distinguished before one is built."""
    file = recorded(tmp_path / "s.npy", 0, 24, scene="soft")
    assert rf.HapticRecords.load(file)[10:].scene == "soft"
    assert np.load(file)["touching"][0] == 3
    page = ("--save", tmp_path / "page.html")
    match = r"records in '.*s\.npy' are of the scene soft: use --scene soft$"
    misused(capsys, "view", file, "--scene", "hoses", *page, match=match)
    fails(capsys, "view", file, "--scene", "soft", *page, match="soft was built")
    _, _, err = run(capsys, "haptics", "hoses", "--device", f"replay:{file}")
    assert "they name the scene soft" in err
    assert "scene                   soft" in run(capsys, "info", file)[1]
    # a name that no scene has is no hint
    other = recorded(tmp_path / "o.npy", 0, 24, scene="knight")
    match = r"are of the scene knight: show them in Python by view\("
    misused(capsys, "view", other, "--scene", "hoses", *page, match=match)
    for text in (
        b"[1]", b'{"scene": 7}', b"{", b"[" * 2000,
        # no names for a terminal
        b'{"scene": "a\\u001b[31m"}', b'{"scene": "a b"}', b'{"scene": ""}',
        b'{"scene": "' + b"a" * 65 + b'"}',
    ):  # fmt: skip
        data = file.read_bytes()
        at = data.index(b"# reducedfem: ") + 14
        damaged = data[:at] + text.ljust(data.index(b"\n", at) - at) + data[data.index(b"\n", at) :]
        (tmp_path / "odd.npy").write_bytes(damaged)
        assert rf.HapticRecords.load(tmp_path / "odd.npy").scene is None


def test_a_session_names_its_scene(tmp_path):
    path = tmp_path / "peg.npy"
    small = {"points": 2000, "resolution": 24, "budget_us": 0.0}
    with contextlib.closing(scenes.session("peg", record=path, **small)) as made:
        assert made.run(20).scene == "peg"
    records = rf.HapticRecords.load(path)
    assert records.scene == "peg"
    rf.export_html(tmp_path / "peg.html", made, records=records)
    other = rf.HapticRecords(records.array, "alpha-cheat")
    refused = (
        "of the scene alpha-cheat, and x is a session of the scene peg: view them with a session of"
    )
    with pytest.raises(rf.InputError, match=refused):
        rf.export_html(tmp_path / "peg.html", made, records=other)
    # of sessions without a scene nothing is known
    rf.export_html(tmp_path / "peg.html", made, records=rf.HapticRecords(records.array))


def test_the_resolution_of_a_recorded_scene(capsys, tmp_path, monkeypatch):
    file = recorded(tmp_path / "p.npy")
    misused(capsys, "view", file, "--resolution", 20, match="--resolution is of a scene: add --sce")
    given = {}

    def build(name, **options):
        given.update(options)
        raise Built(name)

    monkeypatch.setattr(scenes, "session", build)
    page = tmp_path / "page.html"
    fails(capsys, "view", file, "--scene", "peg", "--resolution", 20, "--save", page, match="peg")
    assert given == {"resolution": 20}


@pytest.mark.usefixtures("_unbuilt")
def test_a_replay_of_records_of_other_sizes_is_doubted_before_the_scene_is_built(capsys, tmp_path):
    soft, old = recorded(tmp_path / "s.npy", 0, 24), recorded(tmp_path / "old.npy")
    for file, scene, warned in (
        (
            soft,
            "alpha",
            "than alpha (hoses, soft or snap-in): they have 24 reduced coordinates in ",
        ),
        (old, "dragon", "have 15 reduced coordinates; or by a version that recorded no bodies; "),
        (soft, "soft", ""),
    ):
        _, out, err = run(capsys, "haptics", scene, "--device", f"replay:{file}")
        assert f"{scene} was built" in err
        assert warned in err
        assert ("probably of another scene" in err) == bool(warned)


def test_a_replay_of_contact_of_other_objects_is_doubted(capsys, tmp_path):
    far = recorded(tmp_path / "far.npy", place=(0.0, 0.0, 0.3))
    alpha = ("haptics", "alpha", "--points", 2000, "--resolution", 48, "--seconds", 0.02)
    status, _, err = run(capsys, *alpha, "--device", f"replay:{far}")
    assert status == 0
    assert "probably of another scene than alpha (statue, peg or alpha-cheat): in cycle 0" in err
    assert "mm apart (10 of 10 cycles disagree); the hand moves as recorded" in err
    # Python replays any path
    assert rf.ReplayDevice.from_records(rf.HapticRecords.load(far), hand=True).duration > 0.04
