"""Weight: of solids and models, as a load of simulations, in sessions and on the command line."""

from __future__ import annotations

import copy
import pickle
import re
import struct

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import cli
from shapes import box_hex20s, box_hexes, box_tets

FALL = np.array([0.3, -0.2, -9.81])
PLASTIC = rf.StVK(2e6, 0.3, 1000.0)


def bar(make=box_hexes, held: bool = True) -> rf.Solid:
    """Return a bar of two materials along x, its end at x = 0 held or not."""
    nodes, elements = make(6, 2, 2, (0.6, 0.1, 0.1))
    regions = np.arange(len(elements)) % 2
    materials = {0: PLASTIC, 1: rf.StVK(2e6, 0.3, 1500.0)}
    fixed = np.flatnonzero(nodes[:, 0] < 1e-9) if held else None
    return rf.Solid(rf.Mesh(nodes, elements, regions), materials, fixed=fixed)


@pytest.fixture(scope="module")
def solid() -> rf.Solid:
    return bar()


@pytest.fixture(scope="module")
def basis(solid) -> rf.Basis:
    return rf.modal_derivative_basis(solid, 4, 8)


@pytest.fixture(scope="module")
def reduced(solid, basis) -> rf.ReducedSolid:
    return rf.reduce(solid, basis, editable=True)


@pytest.mark.parametrize("make", [box_hexes, box_tets, box_hex20s])
def test_weight_is_mass_times_acceleration(make):
    solid = bar(make)
    uniform = np.tile(FALL, (solid.mesh.n_nodes, 1)).ravel()
    for lumped in (False, True):
        force = solid.gravity(FALL, lumped)
        expected = (solid.mass(lumped) @ uniform).reshape(-1, 3)
        np.testing.assert_allclose(force, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(force.sum(axis=0), solid.total_mass * FALL, rtol=1e-12)
    np.testing.assert_array_equal(solid.gravity(), solid.gravity([0.0, 0.0, -9.81]))


def test_weight_of_models_is_that_of_the_solid(solid, basis, reduced, tmp_path):
    expected = reduced.project(solid.gravity(FALL))
    tolerance = dict(rtol=1e-12, atol=1e-13 * np.abs(expected).max())
    reduced.save(tmp_path / "bar.safetensors")
    for model in (reduced, rf.load(tmp_path / "bar.safetensors"), rf.ProjectedSolid(solid, basis)):
        np.testing.assert_allclose(model.gravity(FALL), expected, **tolerance)
    np.testing.assert_allclose(reduced.truncate(3).gravity(FALL), expected[:3], **tolerance)
    heavier = reduced.edit({0: rf.StVK(2e6, 0.3, 2000.0), 1: rf.StVK(2e6, 0.3, 3000.0)})
    np.testing.assert_allclose(heavier.gravity(FALL), 2.0 * expected, **tolerance)


def test_deformations_of_a_free_solid_weigh_nothing():
    free = bar(held=False)
    model = rf.reduce(free, rf.modal_derivative_basis(free, 3, 5))
    size = np.linalg.norm(FALL) * np.sqrt(free.total_mass)
    assert np.abs(model.gravity(FALL)).max() < 1e-9 * size


def kinds(solid, basis, reduced):
    return {"reduced": reduced, "projected": rf.ProjectedSolid(solid, basis), "solid": solid}


@pytest.mark.parametrize("kind", ["reduced", "projected", "solid"])
def test_implicit_steps_under_gravity_are_those_under_the_weight(kind, solid, basis, reduced):
    """This includes the first acceleration, and other forces beside the weight."""
    system = kinds(solid, basis, reduced)[kind]
    options = dict(dt=1e-3, damping=(2.0, 1e-3), newton_max=4)
    sim = rf.ImplicitNewmark(system, gravity=FALL, **options)
    plain = rf.ImplicitNewmark(system, **options)
    # the first acceleration balances the weight: the mass times it is the weight
    start = sim.state.qddot
    if kind == "solid":
        balance = (solid.mass() @ start.ravel()).reshape(-1, 3) - solid.gravity(FALL)
        assert np.abs(balance[solid.free]).max() < 1e-9 * np.abs(solid.gravity(FALL)).max()
    else:
        np.testing.assert_allclose(system.mass @ start, system.gravity(FALL), rtol=1e-9)
    other = np.zeros((solid.mesh.n_nodes, 3))
    other[-1] = [0.5, 0.2, 1.0]
    weight = solid.gravity(FALL)
    plain.reset(qddot=start)
    for force in (None, other):
        sim.step(force, n=3)
        plain.step(weight if force is None else weight + force, n=3)
        scale = np.abs(plain.state.q).max()
        np.testing.assert_allclose(sim.state.q, plain.state.q, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("kind", ["reduced", "solid"])
def test_explicit_steps_under_gravity_are_those_under_the_weight(kind, solid, basis, reduced):
    system = kinds(solid, basis, reduced)[kind]
    sim = rf.CentralDifferences(system, 1e-5, (2.0, 0.0), gravity=FALL)
    plain = rf.CentralDifferences(system, 1e-5, (2.0, 0.0))
    plain.reset(qddot=sim.state.qddot)
    assert np.abs(sim.state.qddot).max() > 0.0
    sim.step(n=20)
    plain.step(system.gravity(FALL, True) if kind == "solid" else system.gravity(FALL), n=20)
    scale = np.abs(plain.state.q).max()
    np.testing.assert_allclose(sim.state.q, plain.state.q, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("scheme", [rf.ImplicitNewmark, rf.CentralDifferences])
def test_a_free_solid_falls(scheme):
    free = bar(held=False)
    sim = scheme(free, 1e-4, gravity=FALL)
    sim.step(n=100)
    expected = np.tile(0.5 * FALL * 0.01**2, (free.mesh.n_nodes, 1))
    np.testing.assert_allclose(sim.displacement, expected, rtol=1e-6, atol=1e-12)


def test_a_hanging_solid_at_rest_stays(reduced):
    hanging = reduced.solve_static(reduced.gravity(FALL), tol=1e-12)
    sim = rf.ImplicitNewmark(reduced, 1e-3, newton_max=5, tol=1e-12, gravity=FALL)
    sim.reset(hanging)
    sim.step(n=50)
    assert np.abs(reduced.displacement(hanging)).max() > 1e-3
    np.testing.assert_allclose(sim.state.q, hanging, rtol=0, atol=1e-9 * np.abs(hanging).max())


@pytest.mark.parametrize("again", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("scheme", [rf.ImplicitNewmark, rf.CentralDifferences])
def test_copies_have_the_same_gravity(scheme, again, reduced):
    given = FALL.copy()
    sim = scheme(reduced, 1e-4, gravity=given)
    given[:] = 0.0  # of no consequence
    other = again(sim)
    for one in (sim, other):
        one.step(n=5)
    assert np.abs(sim.state.q).max() > 0.0
    np.testing.assert_array_equal(sim.state.q, other.state.q)


def test_a_shell_hangs_in_a_session_and_in_contact(reduced):
    """The sphere is far away: the shell is under its weight alone."""
    tip = reduced.mesh.nodes[reduced.mesh.nodes[:, 0] > 0.59]
    shell = rf.Pointshell(tip, np.tile([0.0, 0.0, 1.0], (len(tip), 1)))
    tree = rf.PointTree(shell, reduced, rf.Embedding(reduced.mesh, tip))
    contact = rf.PenaltyContact(tree, rf.SphereField((0.0, 0.0, 0.0), 0.02), 100.0)
    away = [0.3, 0.0, 0.5]
    sims = [rf.ImplicitNewmark(reduced, 1e-3, (2.0, 1e-3), gravity=FALL) for _ in range(4)]
    sims[0].step(n=50)
    sims[1].step(n=50, contact=contact, position=rf.Pose(away))
    for sim, coupled in ((sims[2], True), (sims[3], False)):
        session = rf.HapticSession(
            contact,
            rf.ReplayDevice([0.0, 10.0], [away] * 2),
            coupling=rf.VirtualCoupling(100.0, 0.1),
            simulation=sim,
            coupled=coupled,
            max_force=1.0,
        )
        session.run(50)
        session.close()
    expected = sims[0].state.q
    for sim in sims[1:]:
        np.testing.assert_allclose(
            sim.state.q, expected, rtol=0, atol=1e-9 * np.abs(expected).max()
        )


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([0.0, -9.81], rf.InputError, r"gravity must have shape \(3,\), an acceleration, got"),
        (-9.81, rf.InputError, r"gravity must have shape \(3,\)"),
        ([0.0, 0.0, np.nan], rf.InputError, r"gravity\[2\] is nan"),
        ("down", rf.InputTypeError, "gravity must be an array of real numbers"),
    ],
)
def test_wrong_gravity(value, error, message, solid, reduced):
    for make in (
        lambda: rf.ImplicitNewmark(reduced, 1e-3, gravity=value),
        lambda: rf.CentralDifferences(solid, gravity=value),
    ):
        with pytest.raises(error, match=message):
            make()
    for system in (solid, reduced):
        with pytest.raises(error, match="acceleration"):
            system.gravity(value)


# --- on the command line ---------------------------------------------------------------------


def simulated(capsys, *arguments: object) -> tuple[int, str, str]:
    try:
        status = cli.main(["simulate", *map(str, arguments)])
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    return status, *capsys.readouterr()


def test_simulate_under_gravity(capsys, reduced, tmp_path):
    path, out = tmp_path / "bar.safetensors", tmp_path / "fall.npz"
    reduced.save(path)
    status, said, _ = simulated(
        capsys, path, "--gravity", *FALL, "--steps", 40, "--damping", 2, 1e-3, "--output", out
    )
    assert status == 0
    assert re.search(r"gravity +\(0\.3, -0\.2, -9\.81\) m/s\^2", said)
    assert not re.search(r"^ *force", said, re.MULTILINE)
    sim = rf.ImplicitNewmark(reduced, 1e-3, (2.0, 1e-3), newton_max=10, gravity=FALL)
    sim.step(n=40)
    with np.load(out) as data:
        np.testing.assert_allclose(data["q"][-1], sim.state.q, rtol=1e-12)


def cut_bar() -> rf.Solid:
    """Return a bar of cut cells of second order, held at its end."""
    box = rf.Mesh(*box_hexes(1, 1, 1, (0.6, 0.11, 0.1))).surface()
    mesh = rf.voxelize(box, 8)
    return rf.Solid(mesh, PLASTIC, mesh.nodes[:, 0] < 0.1)


@pytest.mark.parametrize("make", [bar, lambda: bar(box_tets), lambda: bar(box_hex20s), cut_bar])
def test_simulate_reports_the_error_of_the_sag(make, capsys, tmp_path):
    """The file has all that the unreduced solid needs; few coordinates sag less than that."""
    solid = make()
    whole = solid.solve_static(solid.gravity(FALL))
    node = int(np.linalg.norm(whole, axis=1).argmax())
    place = solid.mesh.nodes[node]
    errors = []
    for k, r in ((4, 8), (2, 1)):
        reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k, r))
        reduced.save(tmp_path / "bar")
        status, said, err = simulated(
            capsys, tmp_path / "bar", "--gravity", *FALL, "--steps", 5, "--watch", *place
        )
        assert (status, err) == (0, "")
        (found,) = re.findall(
            r"at rest +node (\d+) sags (\S+) m, unreduced (\S+) m: (\S+) %(.*)$", said, re.MULTILINE
        )
        at = int(found[0])
        sag = np.linalg.norm(reduced.displacement(reduced.solve_static(reduced.gravity(FALL)))[at])
        full = np.linalg.norm(whole[at])
        assert [float(one) for one in found[1:3]] == pytest.approx([sag, full], rel=1e-3)
        assert float(found[3]) == pytest.approx(100 * (sag / full - 1), rel=0.1, abs=1e-3)
        assert ("more --modes and --coordinates" in found[4]) == (abs(sag / full - 1) > 0.05)
        errors.append(abs(sag / full - 1))
    assert errors[0] < 0.02
    assert errors[1] > 0.05


@pytest.mark.parametrize(
    ("gravity", "match"),
    [
        (1e3, r"sags .*, unreduced .* %\n +at rest +\d+ of 24 unreduced elements are inside out"),
        (1e5, "not compared with the unreduced solid: elements have "),
    ],
)
def test_simulate_advises_a_smaller_load_if_no_solid_bears_it(capsys, tmp_path, gravity, match):
    solid = bar()
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 8))
    reduced.save(tmp_path / "bar")
    _, said, _ = simulated(
        capsys, tmp_path / "bar", "--gravity", 0, 0, -gravity, "--steps", 1, "--dt", 1e-6
    )
    assert re.search(rf"at rest +(node \d+ )?{match}", said)
    (ratio,) = re.findall(r"too large for this solid: by linear statics 1/(\S+) of it", said)
    sag = solid.solve_static(solid.gravity((0, 0, -0.01)))
    # the linear sag of the reduced model is within 5 % of that of the solid
    linear = gravity / 0.01 * np.linalg.norm(sag, axis=1).max()
    assert float(ratio) == pytest.approx(linear / 0.6, rel=0.1)
    assert "--modes" not in said


def test_simulate_compares_no_large_and_no_free_solid(capsys, tmp_path):
    mesh = rf.Mesh(*box_hexes(100, 9, 9, (6.0, 0.5, 0.5)))
    large = rf.Solid(mesh, PLASTIC, fixed=mesh.nodes[:, 0] < 1e-9)
    bend = np.outer(mesh.nodes[:, 0] ** 2, [0.0, 0.0, 1.0])
    rf.reduce(large, bend[None]).save(tmp_path / "bar")
    status, said, _ = simulated(capsys, tmp_path / "bar", "--gravity", *FALL, "--steps", 5)
    assert status == 0
    assert re.search(r"at rest +not compared .*: 10,100 nodes, more than 10,000 take long", said)
    status, said, _ = simulated(capsys, tmp_path / "bar", "--force", *FALL, "--steps", 5)
    assert status == 0
    assert "at rest" not in said
    free = bar(held=False)
    rf.reduce(free, rf.modal_derivative_basis(free, 3, 5)).save(tmp_path / "free")
    status, said, _ = simulated(capsys, tmp_path / "free", "--gravity", *FALL, "--steps", 5)
    assert status == 0
    assert "at rest" not in said


def test_simulate_a_free_fall(capsys, tmp_path):
    free = bar(held=False)
    path, out = tmp_path / "free.safetensors", tmp_path / "fall.npz"
    rf.reduce(free, rf.modal_derivative_basis(free, 3, 5)).save(path)
    status, said, _ = simulated(capsys, path, "--gravity", *FALL, "--steps", 100, "--output", out)
    assert status == 0
    assert "flies and turns as it deforms; falls" in said
    assert "energy" not in said  # that of the fall is not known
    with np.load(out) as data:
        np.testing.assert_allclose(data["displacement"][-1, 0], 0.5 * FALL * 0.1**2, rtol=1e-6)


def test_simulate_needs_a_load(capsys, reduced, tmp_path):
    path = tmp_path / "bar.safetensors"
    reduced.save(path)
    status, _, err = simulated(capsys, path)
    assert status == 2
    assert "give --force or --gravity" in err
    status, _, err = simulated(capsys, path, "--gravity", 0, 0, -9.81, "--duration", 0.01)
    assert status == 2
    assert "--at and --duration belong to --force" in err


def test_simulate_reports_energy_added_by_steps(capsys, reduced, tmp_path):
    """Coarse undamped steps of the trapezoidal rule, iterated: stable they are not."""
    path = tmp_path / "bar.safetensors"
    reduced.save(path)
    push = ("--force", 0, 0, -1500, "--at", 0.6, 0.05, 0.1, "--steps", 400, "--dt", 2e-2,
            )  # fmt: skip
    status, said, _ = simulated(capsys, path, *push)
    assert status == 0
    found = re.search(
        r"energy +grows to ([\d.e+]+) times the work of the loads: the steps add it; try "
        r"(--damping 0 \S+) or a smaller --dt$",
        said,
        re.MULTILINE,
    )
    assert found, said
    assert float(found[1]) > 2.0
    assert re.search(r"diverged +no, but this is not the motion of .*the energy grows", said)
    status, said, _ = simulated(capsys, path, *push, *found[2].split())
    assert re.search(r"energy +\S+ % of the work of the loads is dissipated$", said, re.MULTILINE)
    assert "the energy grows" not in said
    assert status == 0


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_pictures_stand_against_gravity(capsys, reduced, tmp_path):
    """The axis `--up` wins over gravity; a lying bar is wider than high, a standing one is not."""
    path = tmp_path / "bar.safetensors"
    reduced.save(path)

    def shape(*options):
        out = tmp_path / "picture.png"
        options = ("--steps", 5, "--damping", 2, 1e-3, "--picture", out, *options)
        assert simulated(capsys, path, *options)[0] == 0
        width, height = struct.unpack(">II", out.read_bytes()[16:24])
        return width, height

    lying = shape("--gravity", 0, 0, -9.81)
    standing = shape("--gravity", -9.81, 0, 0)
    assert lying[0] > lying[1]
    assert standing[0] < standing[1]
    assert shape("--gravity", 0, 0, -9.81, "--up", "x")[0] < lying[0]
    width, height = shape("--force", 0, 0, 0.1)
    assert width > height
