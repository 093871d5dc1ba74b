"""Bases of growing size: experiments/b07_2_13_progressive.py on the sample spoon, coarsely cut.

After Barbic 2007, section 2.13.2: a subspace is too stiff, the less so the larger it is; one
of linear modes alone locks. The bounds leave room for another voxelisation, not for another
behaviour.
"""

from __future__ import annotations

import sys

import b07_2_13_progressive as progressive
import numpy as np
import pytest
from b07_2_13_progressive import LINEAR, MODES_ONLY, SMALL, STEPS_PER_PERIOD, UNREDUCED
from spoon_experiment import Motion

import reducedfem as rf

K, SIZES = 4, (4, 8, 14)
LOADS = ("head", "tail")


@pytest.fixture(scope="module")
def experiment():
    # polynomials up to r = 8: the largest basis is evaluated by way of the mesh
    result = progressive.run(progressive.spoon(28), K, SIZES, 0.2, polynomials_to=8)
    print("\n" + result.table())
    return result


def family(experiment):
    """The bases of modal derivatives, by ascending r."""
    return [m for m in experiment.methods if m.name == f"k = {K}"][::-1]


def test_the_methods(experiment):
    names = [(method.name, method.r) for method in experiment.methods]
    n = 3 * len(experiment.scene.solid.free)
    reduced = [(f"k = {K}", r) for r in (14, 8, 4)] + [("k = 2", 4), (MODES_ONLY, 4)]
    assert names == [(UNREDUCED, n), (LINEAR, n), *reduced]
    direct = [isinstance(m.system, rf.ProjectedSolid) for m in experiment.methods]
    assert direct == [False, False, True, False, False, False, False]
    # smaller bases are the beginning of larger ones
    small, middle, large = family(experiment)
    np.testing.assert_array_equal(small.system.basis, large.system.basis[:4])
    np.testing.assert_array_equal(middle.system.basis, large.system.basis[:8])


@pytest.mark.parametrize("load", LOADS)
def test_the_motion_is_far_from_linear(experiment, load):
    full, linear = experiment.methods[0].runs[load], experiment.methods[1].runs[load]
    assert full.peak > 0.08 * progressive.size(experiment.scene.solid.mesh)
    assert linear.body_error > 0.05  # 10 % and 17 % measured: bent without shortening
    assert full.body_error == 0.0
    assert np.isfinite(full.frequency)


@pytest.mark.parametrize("load", LOADS)
def test_stiffening_decreases_with_r(experiment, load):
    energy = [experiment.error(method, load, "potential") for method in family(experiment)]
    # a minimum over a larger space is lower; relative to a negative number, higher
    assert energy[0] < energy[1] < energy[2] < 0.0
    assert energy[2] > 0.2 * energy[0]
    deflection = [experiment.error(method, load, "deflection") for method in family(experiment)]
    # of one node only: too small, if not always in order
    assert deflection[0] < deflection[2] < 0.0
    assert deflection[2] > -0.05  # -0.01 % and -1.9 % measured
    body = [method.runs[load].body_error for method in family(experiment)]
    assert body[2] < 0.1 < body[0]  # 0.3 % and 3.4 % measured
    path = [experiment.path_error(method, load) for method in family(experiment)]
    assert path[2] < 0.5 * path[0]


@pytest.mark.parametrize("load", LOADS)
def test_reduced_motion_is_not_softer(experiment, load):
    for method in experiment.methods[2:]:
        # a subspace takes stiffness away from nothing; 0.3 % measured at most
        assert experiment.error(method, load, "frequency") > -0.02, method.name
        assert experiment.error(method, load, "peak") < 0.03, method.name
    best = family(experiment)[-1]
    assert abs(experiment.error(best, load, "peak")) < 0.03  # 0.3 % measured
    assert abs(experiment.error(best, load, "frequency")) < 0.03


@pytest.mark.parametrize("load", LOADS)
def test_linear_modes_lock(experiment, load):
    method = experiment.methods[-1]
    assert method.name == MODES_ONLY
    assert experiment.error(method, load, "peak") < -0.5
    assert experiment.error(method, load, "frequency") > 0.5  # 258 % and 103 % measured
    assert experiment.error(method, load, "deflection") < -0.5
    assert method.runs[load].body_error > 0.8


def test_the_linear_solid_against_dense_matrices(experiment):
    """The trapezoidal rule on M u'' + b K u' + K u = f, by NumPy."""
    scene, dt = experiment.scene, experiment.dt
    solid, load = scene.solid, scene.loads[0]
    modes = solid.linear_modes(K)
    reach = 0.2 * progressive.size(solid.mesh)
    _, momentum = progressive.impulse(load, scene, modes, reach)
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    mass = solid.mass().to_scipy().toarray()[np.ix_(free, free)]
    stiffness = solid.stiffness().to_scipy().toarray()[np.ix_(free, free)]
    damping = 1e-4 * STEPS_PER_PERIOD * dt * stiffness
    push = momentum / (load.pushed * dt) * load.field(solid.mesh).ravel()[free]
    matrix = np.linalg.inv(mass + dt / 2 * damping + dt**2 / 4 * stiffness)
    u, v, a = np.zeros((3, len(free)))
    heights = [0.0]
    node = np.flatnonzero(solid.free == load.nodes(solid.mesh)[0])[0]
    for step in range(load.steps):
        ahead, speed = u + dt * v + dt**2 / 4 * a, v + dt / 2 * a
        f = push if step < load.pushed else 0.0 * push
        a = matrix @ (f - damping @ speed - stiffness @ ahead)
        u, v = ahead + dt**2 / 4 * a, speed + dt / 2 * a
        heights.append(u.reshape(-1, 3)[node] @ load.direction)
    found = experiment.methods[1].runs["head"].motion.height
    # a millionth of the load is nonlinear by a millionth; Newton ends at 1e-4 of each step
    assert np.abs(found - heights).max() < 2e-3 * np.abs(heights).max()
    assert SMALL <= 1e-5


def test_direct_evaluation_moves_as_the_polynomials_do(experiment):
    again = progressive.run(experiment.scene, K, (14,), 0.2, loads=("tail",))
    method = again.methods[2]
    assert isinstance(method.system, rf.ReducedSolid)
    direct = family(experiment)[-1].runs["tail"]
    found = method.runs["tail"]
    # iterations that end at a residual of 1e-4 in both: not the same to rounding
    close = 1e-6 * direct.peak
    assert np.abs(found.motion.height - direct.motion.height).max() < close
    np.testing.assert_allclose(found.static.deflection, direct.static.deflection, rtol=1e-6)
    assert found.static.potential == pytest.approx(direct.static.potential, rel=1e-6)


def test_measures_of_a_known_motion():
    times = 0.01 * np.arange(200)
    run = progressive.Run(Motion(0.3 * np.sin(2 * np.pi * 0.8 * times), 0.01, 0.0), 0.0, None, {})
    assert run.peak == pytest.approx(0.3, rel=1e-3)
    assert run.frequency == pytest.approx(0.8, rel=1e-3)
    # one passage: the half period before it
    short = progressive.Run(Motion(run.motion.height[:80], 0.01, 0.0), 0.0, None, {})
    assert short.frequency == pytest.approx(0.8, rel=1e-3)
    rising = progressive.Run(Motion(times, 0.01, 0.0), 0.0, None, {})
    assert np.isnan(rising.frequency)


def test_plots(experiment, tmp_path):
    written = progressive.plots(experiment, tmp_path / "new" / "folder", width=300)
    names = {f"b07_2_13_{load}_{kind}.png" for load in LOADS for kind in ("motion", "poses")}
    assert {path.name for path in written} == names | {"b07_2_13_stiffening.png"}
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG"), path


def test_command_line_without_the_dragon(experiment, monkeypatch, capsys, tmp_path):
    """The sample replaces the dragon, and the output says so."""
    monkeypatch.setenv("REDUCEDFEM_SHARED", str(tmp_path / "nothing"))
    asked = []

    def run(scene, *arguments, tell):
        asked.append((scene.title, *arguments))
        tell("a line about progress")
        return experiment

    monkeypatch.setattr(progressive, "run", run)
    drawn = tmp_path / "drawn.png"
    monkeypatch.setattr(progressive, "plots", lambda made, folder: [folder / drawn.name])
    argv = ["b07_2_13_progressive.py", "--resolution", "16", "--k", "4", "--r", "4", "8"]
    monkeypatch.setattr(sys, "argv", [*argv, "--load", "tail", "--out", str(tmp_path)])
    assert progressive.main() == 0
    assert asked == [("sample spoon", 4, (4, 8), 0.2, ("tail",))]
    out, err = capsys.readouterr()
    assert "the sample spoon instead; --surface or REDUCEDFEM_SHARED names another" in err
    assert "... a line about progress" in err
    assert out.startswith(experiment.table().splitlines()[0])
    lines = [line for line in out.splitlines() if line.startswith(f"k = {K}")]
    assert len(lines) == len(SIZES) * len(LOADS)
    for method in family(experiment):
        error = experiment.error(method, "head", "potential")
        assert any(f"{method.r:>4} " in line and f"{error:+.1%}" in line for line in lines)
    assert f"plot: {drawn}" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--surface", "no/such.obj"], 1, "no/such.obj"),
        (["--r", "0"], 2, "--r must be at least 1, got 0"),
        (["--push", "0"], 2, "--push must be positive, got 0"),
        (["--resolution", "-3"], 1, "resolution must be"),
        (["--load", "back"], 2, "invalid choice"),
        (["--k", "0", "--resolution", "16"], 1, "k must be between 1 and"),
        (["taken"], 1, "file"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(
    arguments, code, message, monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv("REDUCEDFEM_SHARED", str(tmp_path))
    taken = tmp_path / "file"
    taken.write_text("")
    folder = taken if "taken" in arguments else tmp_path / "out"
    rest = [one for one in arguments if one != "taken"]
    monkeypatch.setattr(sys, "argv", ["x", *rest, "--out", str(folder)])
    if folder is taken:  # refused before the long work
        monkeypatch.setattr(progressive, "run", lambda *args, **kwargs: pytest.fail("simulated"))
    try:
        found = progressive.main()
    except SystemExit as end:
        found = end.code
    assert found == code
    assert message in capsys.readouterr().err


def test_the_dragon(shared):
    scene = progressive.scene_of(None, 24)
    if scene.title != "asian dragon":
        pytest.skip(f"no asian dragon in {shared}")
    mesh = scene.solid.mesh
    head, tail = scene.loads
    low, high = mesh.nodes.min(axis=0), mesh.nodes.max(axis=0)
    assert head.where[0] == high[0]
    assert tail.where[0] < low[0] + 0.1 * (high - low)[0]
    assert (mesh.nodes[scene.solid.fixed, 1] < low[1] + 0.05 * (high - low)[1]).all()
    for load in scene.loads:
        force = load.field(mesh)
        np.testing.assert_allclose(force.sum(axis=0), load.direction, atol=1e-12)
        np.testing.assert_array_equal(mesh.nodes[load.nodes(mesh)[0]], load.where)


def test_sizes_that_the_sample_does_not_have():
    """It is symmetric: of 230 modes and derivatives not all are independent."""
    methods, _ = progressive.methods_of(progressive.spoon(32).solid, 20, [15, 229, 230], 0)
    sizes = [method.r for method in methods if method.name == "k = 20"]
    assert 100 < sizes[0] < 229
    assert sizes == [sizes[0], 15]
