"""Views of all kinds of objects, without a browser: scenes, files, wrong arguments."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.viewer.drive import Drive
from reducedfem.viewer.parts import split, surface_tilts
from reducedfem.viewer.view import View
from shapes import box_hexes, box_tets

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")


@pytest.fixture(scope="module")
def solid():
    nodes, elements = box_hexes(4, 2, 2, (0.4, 0.1, 0.1))
    regions = (nodes[elements].mean(axis=1)[:, 0] > 0.2).astype(int)
    mesh = rf.Mesh(nodes, elements, regions=regions)
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] < 1e-9)


@pytest.fixture(scope="module")
def reduced(solid):
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))


def scene_of(*args, **options):
    with rf.view(*args, browser=False, **options) as view:
        return view._shown.scene()


def test_a_split_surface_is_the_surface(rng):
    box = rf.Mesh(*box_hexes(2, 2, 2, (1.0, 1.0, 1.0))).surface()
    source, triangles, normals = split(box)
    np.testing.assert_array_equal(source[triangles], box.triangles)
    # at each of the edges of the box the sides have vertices of their own
    assert len(source) == 6 * 9
    np.testing.assert_allclose(np.abs(normals).max(axis=1), 1.0)
    ball = rf.DistanceField.from_field(rf.SphereField([0, 0, 0], 1.0), 24).isosurface()
    source, _, normals = split(ball)
    # a smooth surface is not split
    assert len(source) < 1.05 * ball.n_vertices
    x = ball.vertices[source]
    radial = x / np.linalg.norm(x, axis=1)[:, None]
    assert (normals * radial).sum(axis=1).min() > 0.95


def test_tilts_are_derivatives_of_normals(rng):
    ball = rf.DistanceField.from_field(rf.SphereField([0, 0, 0], 1.0), 12).isosurface()
    shapes = rng.standard_normal((2, ball.n_vertices, 3))
    tilts = surface_tilts(ball.vertices, ball.triangles, shapes)

    def areas(u):
        a, b, c = ((ball.vertices + u)[ball.triangles[:, k]] for k in range(3))
        out = np.zeros_like(u)
        for k in range(3):
            np.add.at(out, ball.triangles[:, k], np.cross(b - a, c - a))
        return out

    h = 1e-5
    length = np.linalg.norm(areas(np.zeros_like(shapes[0])), axis=1)[:, None]
    for u, tilt in zip(shapes, tilts, strict=True):
        exact = (areas(h * u) - areas(-h * u)) / (2 * h * length)
        np.testing.assert_allclose(tilt, exact, rtol=0, atol=1e-8 * np.abs(exact).max())


def test_surfaces_name_their_defects(solid):
    surface = solid.mesh.surface()
    open_one = rf.Surface(surface.vertices, surface.triangles[1:])
    assert scene_of(surface).texts == ("42 vertices, 80 triangles", "0.4 x 0.1 x 0.1 m")
    assert "not closed" in scene_of(open_one).texts
    flat = rf.Surface([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 3]])
    assert "1 triangles without area" in scene_of(flat).texts


def test_meshes_have_regions_and_edges_of_elements(solid):
    scene = scene_of(solid)
    (body,), (marks,) = scene.bodies, scene.marks
    assert len(np.unique(body.colours, axis=0)) == 2
    # of 40 quadrilaterals on the boundary
    assert len(body.edges) == 2 * 40
    length = np.linalg.norm(np.diff(body.vertices[body.edges], axis=1)[:, 0], axis=1)
    assert set(np.round(length, 9)) == {0.05, 0.1}
    np.testing.assert_array_equal(marks.points[:, 0], 0.0)
    assert len(marks.points) == 9
    quadratic = rf.Mesh(*box_tets(1, 1, 1)).quadratic()
    (body,) = scene_of(quadratic).bodies
    ends = body.vertices[body.edges]
    assert np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).min() > 0.0


def test_shapes_have_sliders(solid):
    modes = solid.linear_modes(3)
    for view in (scene_of(modes, solid), scene_of(modes, solid.mesh)):
        (body,) = view.bodies
        assert len(body.labels) == 3
        assert f"{modes.frequencies[0]:.4g} Hz" in body.labels[0]
        largest = np.linalg.norm(modes.shapes, axis=2).max(axis=1)
        np.testing.assert_allclose(body.scales, largest)
    basis = rf.modal_derivative_basis(solid, 2, 4)
    assert len(scene_of(basis, solid).bodies[0].labels) == 4


def test_simulations_are_in_their_present_state(solid, reduced):
    force = np.zeros_like(solid.mesh.nodes)
    force[-1, 2] = 1.0
    full = rf.BDF2(solid, 1e-3)
    full.step(force, 20)
    with rf.view(full, browser=False) as view:
        scene = view._shown.scene()
        frame = view._shown.frame()
        moved = scene.bodies[0].vertices + frame["bodies"][0]["moved"]
        exact = (solid.mesh.nodes + full.displacement)[solid.mesh.boundary_nodes]
        distance = np.linalg.norm(moved[:, None] - exact[None], axis=2).min(axis=1)
        assert distance.max() < 1e-12
        assert not frame["playing"]
    sim = rf.ImplicitNewmark(reduced, 1e-3)
    with rf.view(sim, browser=False) as view:
        sim.step(sim.system.project(force), 20)
        frame = view._shown.frame()
        np.testing.assert_array_equal(frame["bodies"][0]["q"], sim.state.q)
        numbers = {name: value for name, value, _ in frame["numbers"]}
        assert numbers["time"] == pytest.approx(0.02)
        assert numbers["elastic energy"] == pytest.approx(reduced.strain_energy(sim.state.q))
        assert numbers["kinetic energy"] == pytest.approx(0.5 * sim.state.qdot @ sim.state.qdot)


def test_a_simulation_that_fails_says_so(reduced):
    sim = rf.ImplicitNewmark(reduced, 1e-3)
    sim.reset(qdot=np.full(reduced.r, 1e6))
    with rf.view(sim, browser=False) as view:
        view._shown.watch(True)
        view._shown.command({"kind": "play"})
        while not (frame := view._shown.frame())["failure"]:
            pass
        assert "diverged" in frame["failure"]
        assert not frame["playing"]


def test_the_end_of_python_waits_for_a_step():
    script = """
        import threading, time
        from reducedfem.viewer.drive import Drive

        begun = threading.Event()

        def advance(n):
            begun.set()
            threading.main_thread().join()  # until Python ends
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                pass
            print("ended", flush=True)

        drive = Drive(advance, 1e-3, playing=True)
        drive.watch(True)
        drive.start()
        begun.wait()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_worlds_share_geometry():
    nodes, elements = box_hexes(2, 2, 2, (0.1, 0.1, 0.1))
    free = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1000.0))
    reduced = rf.reduce(free, rf.modal_derivative_basis(free, 2, 3))
    world = rf.World(1e-3, (0.0, 0.0, -9.81), rf.PlaneField([0, 0, -1.0], [0, 0, 1]))
    tree = rf.PointTree(rf.Pointshell(nodes, np.tile([0.0, 0.0, 1.0], (len(nodes), 1))), reduced)
    for k in range(3):
        body = rf.FreeBody(reduced, 1e-3)
        body.reset([0.3 * k, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0])
        world.add(body, tree)
    with rf.view(world, browser=False) as view:
        scene = view._shown.scene()
        assert [body.like for body in scene.bodies] == [None, 0, 0, None]
        assert scene.bodies[-1].name == "ground"
        np.testing.assert_allclose(scene.bodies[-1].vertices[:, 2], -1.0)
        world.step(30)
        frame = view._shown.frame()
        assert len(frame["places"]) == 4  # with the ground
        for k, one in enumerate(frame["places"][:3]):
            moved = rf.Pose(one[:3], one[3:]).apply(nodes)
            np.testing.assert_allclose(moved, world.nodes(k), atol=1e-9)


def test_fields_and_contacts(reduced):
    ball = rf.SphereField([0.1, 0, 0], 0.2)
    (body,) = scene_of(ball).bodies
    np.testing.assert_allclose(np.linalg.norm(body.vertices - [0.1, 0, 0], axis=1), 0.2, atol=2e-3)
    shell = rf.Pointshell(body.vertices, -body.normals)
    contact = rf.PenaltyContact(rf.PointTree(shell), rf.BoxField([0, 0, 0], [1, 1, 1]), 100.0)
    first, second = scene_of(contact).bodies
    assert first.size > 0.0
    assert len(first.triangles) == 0
    np.testing.assert_allclose(np.ptp(second.vertices, axis=0), 1.0, atol=0.02)
    with pytest.raises(rf.InputError, match="no bounds: sample it by DistanceField.from_field"):
        scene_of(rf.BoxField([0, 0, 0], [1, 1, 1]).complement())


def test_a_session_is_followed(reduced):
    shell = rf.Pointshell.from_field(rf.BoxField([-0.1, -0.1, -0.1], [0.1, 0.1, 0.0]), 2000)
    ball = rf.DistanceField.from_field(rf.SphereField([0, 0, 0], 0.05), 24)
    contact = rf.PenaltyContact(rf.PointTree(shell), ball, 500.0)
    device = rf.ReplayDevice([0.0, 0.1], [[0, 0, 0.06], [0, 0, 0.045]])
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=500.0)
    # without limits of time, which depend on the machine
    session = rf.HapticSession(contact, device, coupling=coupling, budget_us=0)
    with rf.view(session, browser=False) as view:
        assert view._shown.frame()["bodies"] == []
        assert [body.name for body in view._shown.scene().bodies] == [
            "shell 0",
            "tool (held object)",
        ]
        session.run(300)
        view._shown.frame()
        session.run(10)
        frame = view._shown.frame()
        held = frame["bodies"][1]
        np.testing.assert_allclose(held["position"], [0, 0, 0.049], atol=5e-3)
        assert len(frame["arrows"]) == 1
        assert frame["arrows"][0]["to"][2] > frame["arrows"][0]["from"][2]
        assert len(frame["dots"][0]["points"]) > 0
        numbers = {name: value for name, value, _ in frame["numbers"]}
        assert numbers["touching points"] > 0
    session.close()


@pytest.mark.parametrize(
    ("args", "options", "error", "match"),
    [
        ((3,), {}, rf.InputTypeError, "x must be a Surface, a Mesh"),
        (("surface",), {"on": "solid"}, rf.InputError, "on is given"),
        (("surface",), {"up": "w"}, rf.InputError, "up must be"),
        (("surface",), {"port": 70000}, rf.InputError, "port"),
        (("surface",), {"port": "80"}, rf.InputTypeError, "port"),
        (("surface",), {"origins": ["hub"]}, rf.InputError, r"origins\[0\] must be like"),
        (("surface",), {"height": 0}, rf.InputError, "height"),
        (("surface",), {"browser": 1}, rf.InputTypeError, "browser"),
        (("reduced",), {"stiffness": -1.0}, rf.InputError, "stiffness must be positive, got -1"),
        (("modes",), {}, rf.InputError, "on must be given with modes"),
        (("modes",), {"on": 3}, rf.InputTypeError, "on must be a Solid"),
        (("modes",), {"on": "other"}, rf.InputError, "shapes of 45 nodes, the mesh of on has 8"),
        (("reduced",), {"motion": 3}, rf.InputTypeError, "motion must be a Motion"),
        (("surface",), {"motion": "motion"}, rf.InputTypeError, "x must be a ReducedSolid"),
        (("modes",), {"on": "solid", "motion": "motion"}, rf.InputTypeError, "a ReducedSolid"),
        (("reduced", "motion"), {}, rf.InputTypeError, "pass it by name"),
        (("motion",), {}, rf.InputTypeError, r"view\(reduced, motion=motion\)"),
        (("solid",), {"stiffness": 1.0}, rf.InputError, "a Solid cannot be pulled"),
        (("two stages",), {"stiffness": 1.0}, rf.InputError, "a TRBDF2 of a ReducedSolid cannot"),
    ],
)
def test_wrong_arguments(solid, reduced, args, options, error, match):
    things = {
        "surface": solid.mesh.surface(),
        "solid": solid,
        "reduced": reduced,
        "modes": solid.linear_modes(2),
        "other": rf.Mesh(*box_hexes(1, 1, 1)),
        "two stages": rf.TRBDF2(reduced, 1e-3),
        "motion": rf.Motion([0.0], np.zeros((1, reduced.r))),
    }
    keep = ("up", "port", "origins")

    def value(name, one):
        return things.get(one, one) if isinstance(one, str) and name not in keep else one

    before = threading.active_count()
    with pytest.raises(error, match=match):
        rf.view(
            *(value("x", one) for one in args),
            **{"browser": False, **{name: value(name, one) for name, one in options.items()}},
        )
    assert threading.active_count() == before


def test_files(reduced, tmp_path):
    with pytest.raises(rf.InputError, match=r"path must end in .html, got '.*x.txt'"):
        rf.export_html(tmp_path / "x.txt", reduced)
    with pytest.raises(rf.FileFormatError, match="nowhere"):
        rf.export_html(tmp_path / "nowhere" / "x.html", reduced)
    rf.export_html(tmp_path / "x.html", reduced)
    text = (tmp_path / "x.html").read_text()
    assert "<title>ReducedSolid</title>" in text
    assert 'src="http' not in text


def test_the_notebook_frame(reduced, monkeypatch):
    with rf.view(reduced, browser=False, height=321) as view:
        text = view._repr_html_()
        assert f'src="{view.address}"' in text
        assert 'height="321"' in text
        monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
        prefixed = view._repr_html_()
        assert f'src="/user/ada/proxy/{view._server.port}/{view._channel.token}/"' in prefixed
        assert isinstance(view, View)
    assert "<iframe" not in view._repr_html_()


def test_waiting(reduced):
    with rf.view(reduced, browser=False) as view:
        assert view.wait_open(0.0) is False
        view.wait(0.0)
        with pytest.raises(rf.InputError, match="timeout must be at least 0"):
            view.wait(-1.0)
        with pytest.raises(rf.InputTypeError, match="timeout"):
            view.wait_open("now")


@pytest.mark.parametrize("dt", [1e-5, 2e-3, 0.03, 0.3])
@pytest.mark.parametrize("speed", [0.1, 0.3, 3.0])
def test_any_step_at_any_speed_is_made(dt, speed):
    made = threading.Event()
    drive = Drive(lambda n: made.set(), dt * 1e-3, playing=True)
    drive.speed = speed * 1e-3
    drive.start()
    assert not made.wait(0.05)  # no page
    drive.watch(True)
    assert made.wait(300.0)
    drive.end()


def test_pages_reset_only_simulations_of_the_view(reduced):
    sim = rf.ImplicitNewmark(reduced, 1e-3)
    sim.reset(1e-4 * np.ones(reduced.r))
    with rf.view(sim, browser=False) as view:
        for message in ({"kind": "reset"}, {"kind": "shape", "body": 0, "shape": 0, "value": 1.0}):
            view._shown.command(message)
        np.testing.assert_array_equal(sim.state.q, 1e-4)
        assert view._shown.scene().bodies[0].labels == ()


def test_a_pull_of_a_paused_simulation_pauses_it_again(reduced):
    sim = rf.BDF2(reduced, 1e-3)
    with rf.view(sim, browser=False) as view:
        shown = view._shown
        shown.watch(True)
        assert shown.pull(0, np.array([0.39, 0.01, 1.0]), np.array([0.0, 0.0, -1.0])) is not None
        while sim.state.time == 0.0:
            pass
        shown.release()
        assert not shown.frame()["playing"]
