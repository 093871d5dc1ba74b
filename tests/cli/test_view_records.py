"""`reducedfem view FILE` of recorded sessions."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from commands import fails, misused, run

pytestmark = pytest.mark.no_asan(reason="public functions only, which other tests run")


@pytest.fixture(scope="module")
def played(folder):
    ball = rf.DistanceField.from_field(rf.SphereField([0, 0, 0], 0.05), 16)
    shell = rf.Pointshell([[0.0, 0.0, 0.0]], [[0.0, 0.0, -1.0]])
    contact = rf.PenaltyContact(rf.PointTree(shell), ball, 500.0)
    device = rf.ReplayDevice([0.0, 0.01], [[0, 0, 0.06], [0, 0, 0.045]])
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=500.0)
    path = folder / "played.npy"
    rf.HapticSession(contact, device, coupling=coupling, budget_us=0).run(20).save(path)
    return path


@pytest.mark.parametrize(
    ("kind", "title"),
    [("model", "ReducedSolid"), ("surface", "Surface"), ("played", "Recorded session")],
)
def test_files_become_pages(capsys, request, tmp_path, kind, title):
    page = tmp_path / "page.html"
    status, out, err = run(capsys, "view", request.getfixturevalue(kind), "--save", page)
    assert (status, err) == (0, "")
    assert str(page) in out
    assert f"<title>{title}</title>" in page.read_text()


def test_a_scene_is_for_records(capsys, model, played):
    misused(capsys, "view", model, "--scene", "peg", match="--scene is for records of")
    misused(capsys, "view", played, "--scene", "pge", match="'pge' is not one of")
    misused(capsys, "view", played, "--scale", 2, match="--scale is for surfaces")


def test_other_arrays_are_no_records(capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    fails(capsys, "view", tmp_path / "x.npy", match="does not hold records of a haptic session")
