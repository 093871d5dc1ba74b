"""Views of recorded sessions whose bodies deform or are free, and records of other objects."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reducedfem as rf
from pages import DRAWN, read
from reducedfem.io.record_file import RECORD
from reducedfem.viewer.recorded_objects import RecordedObjects, compared
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

COUPLING = rf.VirtualCoupling(400.0, 1.0)


def body_of(shape, size, at, fixed, r):
    nodes, elements = box_hexes(*shape, size)
    mesh = rf.Mesh(nodes + at, elements)
    solid = rf.Solid(mesh, rf.StVK(2e5, 0.3, 1000.0), fixed=None if fixed is None else fixed(mesh))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=r))


def shell_of(model, n=60):
    surface = model.mesh.surface()
    return rf.PointTree(rf.Pointshell.from_surface(surface, n, levels=1), model)


@pytest.fixture(scope="module")
def beams():
    """Return two beams, side by side, and a session in which a soft block presses on them."""
    models = [
        body_of((4, 1, 1), (0.06, 0.02, 0.02), (0.0, y, 0.0), lambda m: m.nodes[:, 0] < 1e-6, r)
        for y, r in ((0.0, 3), (0.03, 4))
    ]
    block = body_of((1, 3, 1), (0.02, 0.06, 0.02), (0, 0, 0), lambda m: m.nodes[:, 2] > 0.0199, 3)
    rest = rf.DistanceField.from_surface(block.mesh.surface(), 16)
    tool = rf.DeformedField(rest, block, 8)
    contacts = [rf.PenaltyContact(shell_of(one), tool, 500.0, warm_nodes=None) for one in models]
    path = [[0.035, -0.005, 0.025], [0.035, -0.005, 0.012]]
    made = rf.HapticSession(
        contacts, rf.ReplayDevice([0.0, 0.1], path), coupling=COUPLING, budget_us=0, ramp=0.0,
        simulation=[rf.ImplicitNewmark(one, 1e-3, damping=(5.0, 1e-3)) for one in models],
        field_simulation=rf.ImplicitNewmark(block, 1e-3, damping=(5.0, 1e-3)),
    )  # fmt: skip
    records = made.run(150)
    made.close()
    return made, records, (*models, block)


def without_states(records):
    """Return records as earlier versions have them."""
    old = np.zeros(len(records), RECORD)
    for name in RECORD.names:
        old[name] = records[name]
    return rf.HapticRecords(old)


def scene_of(x, records):
    with rf.view(x, records=records, browser=False) as view:
        return view._shown.scene()


def test_each_body_has_its_own_coordinates(beams):
    made, records, models = beams
    scene = scene_of(made, records)
    assert [one.name for one in scene.bodies] == ["shell 0", "shell 1", "tool (held object)"]
    ends = made.snapshot()
    for k, q in enumerate((*ends.q, ends.field_q)):
        track = scene.clip.tracks[k]
        assert track.body == k
        assert track.q.shape == (150, models[k].r)
        np.testing.assert_allclose(track.q[-1], q, rtol=1e-6, atol=1e-12)
        assert np.abs(q).max() > 1e-6
    assert [one.places is None for one in scene.clip.tracks] == [True, True, False]
    assert not any("at rest" in text for text in scene.texts)


def test_a_page_deforms_all_bodies_as_they_were(beams, browser, tmp_path):
    made, records, models = beams
    rf.export_html(tmp_path / "played.html", made, records=records)
    browser.open((tmp_path / "played.html").as_uri())
    browser.wait(DRAWN)
    k = 120
    browser.run(
        "const { player } = window.reducedfem; player.playing = false;"
        f"player.now = player.times[{k}]; window.reducedfem.showPlayer();"
    )
    scene = scene_of(made, records)
    first = 0
    for number, model in enumerate(models):
        q, first = records["q"][k, first : first + model.r], first + model.r
        body = scene.bodies[number]
        rest = rf.Embedding(model.mesh, body.vertices)
        moved = body.vertices + rest.interpolate(model.displacement(q.astype(float)))
        farthest = np.linalg.norm(moved - body.vertices, axis=1).max()
        assert farthest > 1e-5
        if number == 2:
            places = scene.clip.tracks[2].places[k]
            moved = rf.Pose(places[:3], places[3:]).apply(moved)
        positions, _ = read(browser, number)
        np.testing.assert_allclose(positions, moved - scene.centre, atol=1e-7)


def test_old_records_show_bodies_at_rest(beams):
    made, records, _ = beams
    scene = scene_of(made, without_states(records))
    (track,) = scene.clip.tracks
    assert (track.body, track.q) == (2, None)
    assert "the records have no deformations: shells are at rest" in scene.texts


def test_one_contact_moves_as_its_session(beams):
    _, _, (model, _, block) = beams
    tool = rf.DeformedField(rf.SphereField((0, 0, 0), 0.01), block, 8)
    contact = rf.PenaltyContact(shell_of(model), tool, 500.0)
    path = rf.ReplayDevice([0.0, 0.1], [[0.05, 0.01, 0.035], [0.05, 0.01, 0.025]])
    held = rf.ImplicitNewmark(block, 1e-3)
    for simulation, sizes in ((rf.ImplicitNewmark(model, 1e-3), (3, 3)), ([None], (0, 3))):
        made = rf.HapticSession(
            contact, path, coupling=COUPLING, budget_us=0, simulation=simulation,
            field_simulation=held,
        )  # fmt: skip
        records = made.run(50)
        made.close()
        tracks = scene_of(contact, records).clip.tracks
        found = {one.body: 0 if one.q is None else one.q.shape[1] for one in tracks}
        assert (found.get(0, 0), found[1]) == sizes


@pytest.fixture(scope="module")
def tower():
    """Return a session of a free block on the ground, which has two contacts, and its records."""
    block = body_of((2, 2, 1), (0.04, 0.04, 0.02), (-0.02, -0.02, -0.01), None, 4)
    tree = shell_of(block, 200)
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    fields = rf.BoxField((-0.01, -0.03, -0.01), (0.01, 0.03, 0.01)), ground
    contacts = [rf.FrictionContact(tree, one, 0.3, budget_us=1e6) for one in fields]
    body = rf.FreeBody(block, 1e-3, damping=(0.0, 1e-3), gravity=(0, 0, -9.81))
    body.reset((0.0, 0.0, 0.01))
    device = rf.ReplayDevice([0.0, 0.3], [[-0.035, 0, 0.012], [0.0, 0, 0.012]])
    made = rf.HapticSession(
        contacts, device, coupling=COUPLING, budget_us=0, simulation=[body, body]
    )
    records = made.run(300)
    made.close()
    return made, records


def test_free_bodies_move_as_they_did(tower):
    made, records = tower
    scene = scene_of(made, records)
    assert [one.name for one in scene.bodies] == ["shell 0", "tool (held object)"]
    track = scene.clip.tracks[0]
    shell = made.snapshot().bodies[0]
    np.testing.assert_array_equal(track.places[-1], [*shell.position, *shell.quaternion])
    assert shell.position[0] > 0.01  # it was pushed
    np.testing.assert_allclose(track.q[-1], shell.q, rtol=1e-6)


def test_the_right_objects_are_as_deep_as_recorded(beams, tower):
    for made, records in (beams[:2], tower):
        objects = RecordedObjects(made, records.array)
        found = compared(objects, records.array)
        assert sum(one.touching > 0 for one in found) >= 5
        assert max(one.error for one in found) < 2e-3 * objects.size
        # some records of a long session, and those of a hand that jumps
        for part in (records[::20], records[::-1][:40][::-1]):
            scene_of(made, part)


def test_records_of_other_objects_are_noticed(beams, tmp_path):
    made, records, models = beams
    tool = rf.DeformedField(rf.SphereField((0, 0, 0), 0.005), models[2], 8)
    other = [rf.PenaltyContact(contact.tree, tool, 500.0) for contact in made.contacts]
    simulations = [rf.ImplicitNewmark(one, 1e-3) for one in models]
    others = rf.HapticSession(
        other, rf.ReplayDevice([0.0, 1.0], np.zeros((2, 3))), coupling=COUPLING,
        simulation=simulations[:2], field_simulation=simulations[2],
    )  # fmt: skip
    with pytest.warns(
        rf.PlausibilityWarning,
        match=r"probably those of other objects than x has: in cycle \d+ they have \d+ touching "
        r"points up to [\d.]+ mm deep, the objects at the same places are [\d.]+ mm apart \(\d+ "
        r"of 10 cycles disagree\)",
    ) as seen:
        rf.view(others, records=records, browser=False).close()
    assert seen[0].filename == __file__
    with pytest.warns(rf.PlausibilityWarning, match="probably those of other objects"):
        rf.export_html(tmp_path / "other.html", others, records=records)
    others.close()


def test_a_tool_inside_of_another_object_is_noticed(beams):
    """Although the records have no contact."""
    ball = rf.SphereField((0, 0, 0), 0.02)
    tree = rf.PointTree(rf.Pointshell.from_field(ball, 500))
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), 500.0)
    free = np.zeros(20, RECORD)
    free["tick"], free["time_s"] = np.arange(20), 1e-3 * np.arange(20)
    free["object_quaternion"][:, 0] = 1.0
    free["object_position"][:, 2], free["level"] = 0.05, 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene_of(contact, rf.HapticRecords(free))
    free["object_position"][:, 2] = 0.025
    with pytest.warns(rf.PlausibilityWarning, match="they have no contact, .* 14.8 mm deep"):
        scene_of(contact, rf.HapticRecords(free))
    # no rotations: there is nothing to compare
    free["object_quaternion"] = 0.0
    scene_of(contact, rf.HapticRecords(free))


def test_other_numbers_of_coordinates_are_refused(beams, tower):
    made, records, _ = beams
    for x, given, match in (
        (tower[0], records, r"have 10 reduced coordinates in a cycle, the objects shown have "
         r"4 reduced coordinates, 1 free body: view them"),
        (made.contacts[0], records, "have 10 reduced .* have 6 reduced coordinates: view"),
        (made, tower[1], "have 4 reduced coordinates, 1 free body in a cycle, .* have 10 reduced"),
    ):  # fmt: skip
        with pytest.raises(rf.InputError, match=match):
            scene_of(x, given)
