"""`reducedfem simulate`: what it writes, draws, doubts and refuses."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import reducedfem as rf
from commands import assert_png, fails, misused, run
from shapes import box_hexes


def test_simulate_writes_what_the_integrator_gives(capsys, model, tmp_path):
    status, out, err = run(
        capsys, "simulate", model, "--force", 0, 0, "-2e-1", "--at", 0.4, 0.05, 0.1,
        "--steps", 50, "--dt", 2e-3, "--duration", 0.02, "--damping", 0.1, 1e-3,
        "--newton-max", 5, "--watch", 0.4, 0.05, 0.1, "--watch", 0.2, 0.05, 0.1,
        "--output", tmp_path / "t.csv", "--plot", tmp_path / "p.png",
        "--picture", tmp_path / "s.png",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert "per step" in out
    assert re.search(r"diverged +no", out)

    reduced = rf.load(model)
    nodes = reduced.mesh.nodes
    tip, middle = (int(np.linalg.norm(nodes - p, axis=1).argmin()) for p in
                   ([0.4, 0.05, 0.1], [0.2, 0.05, 0.1]))  # fmt: skip
    force = np.zeros_like(nodes)
    force[tip, 2] = -0.2
    sim = rf.ImplicitNewmark(reduced, 2e-3, (0.1, 1e-3), newton_max=5)
    rows = [[0.0] * 7]
    for i in range(50):
        sim.step(force if i < 10 else None)
        u = sim.displacement
        rows.append([2e-3 * (i + 1), *u[tip], *u[middle]])
    with (tmp_path / "t.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[0][0] == "time_s"
    assert table[0][1:4] == [f"node{tip}_{axis}_m" for axis in "xyz"]
    # another order of summation: equal to rounding
    np.testing.assert_allclose(np.array(table[1:], dtype=float), rows, rtol=1e-12, atol=1e-15)
    assert_png(tmp_path / "p.png")
    assert_png(tmp_path / "s.png")


def test_simulate_npz_and_default_node(capsys, model, tmp_path):
    status, out, _ = run(
        capsys, "simulate", model, "--force", 0, 0, -0.1, "--steps", 20,
        "--output", tmp_path / "t.npz",
    )  # fmt: skip
    assert status == 0
    with np.load(tmp_path / "t.npz") as data:
        assert data["q"].shape == (21, 8)
        assert data["displacement"].shape == (21, 1, 3)
        assert data["time"][-1] == pytest.approx(0.02)
        node = int(data["nodes"][0])
        reduced = rf.load(model)
        # the free end moves most easily
        assert reduced.mesh.nodes[node, 0] == pytest.approx(0.4)
        u = reduced.displacement(data["q"][-1])[node]
        np.testing.assert_allclose(data["displacement"][-1, 0], u, rtol=1e-12, atol=1e-15)
    assert f"node {node}" in out


def test_simulate_draws_large_triangles_bent(capsys, monkeypatch, tmp_path):
    plot = pytest.importorskip("reducedfem.pictures.plot")
    pytest.importorskip("matplotlib")
    box = rf.Mesh(*box_hexes(1, 1, 1, (0.4, 0.05, 0.05))).surface()
    mesh = rf.voxelize(box, 16)
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), mesh.nodes[:, 0] < 0.03)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 6))
    reduced.save(tmp_path / "box")
    drawn = []
    whole = plot.shapes_figure

    def kept(rest, triangles, displacements, *others, **options):
        drawn.append((rest, triangles, displacements))
        return whole(rest, triangles, displacements, *others, **options)

    monkeypatch.setattr(plot, "shapes_figure", kept)
    status, _, err = run(
        capsys, "simulate", tmp_path / "box", "--force", 0, 0, -0.1, "--steps", 60, "--dt", 2e-3,
        "--newton-max", 10, "--output", tmp_path / "t.npz", "--picture", tmp_path / "p.png",
    )  # fmt: skip
    assert (status, err) == (0, "")
    ((rest, triangles, displacements),) = drawn
    assert 1000 < len(triangles) <= 12 + 20_000
    carried = rf.Embedding(reduced.mesh, rest)
    states = [
        carried.interpolate(reduced.displacement(q)) for q in np.load(tmp_path / "t.npz")["q"]
    ]
    for u in displacements:
        assert min(np.abs(u - state).max() for state in states) < 1e-12
        # along a long edge of the box the displacement is no straight line
        edge = (np.abs(rest[:, 1:] - box.bounds[0, 1:]) < 1e-9).all(axis=1)
        order = rest[edge, 0].argsort()
        down, x = u[edge, 2][order], rest[edge, 0][order]
        straight = np.interp(x, x[[0, -1]], down[[0, -1]])
        assert np.abs(down - straight).max() > 0.1 * np.abs(down).max()


def test_simulate_reports_divergence(capsys, model, tmp_path):
    fails(
        capsys, "simulate", model, "--force", 0, 0, -1e200, "--steps", 50,
        "--output", tmp_path / "t.csv",
        match=r"^reducedfem: error: the simulation diverged in step \d+ of 50, at t = [\d.]+ s: "
        r"try a smaller --dt, more --damping, a --newton-max above 1 or a smaller --force \[N\]$",
    )  # fmt: skip
    # the old file is kept
    assert (tmp_path / "t.csv").read_text().startswith("time_s")


@pytest.mark.parametrize("option", ["at", "watch"])
def test_simulate_refuses_places_far_outside(capsys, model, option):
    status, _, err = run(
        capsys, "simulate", model, "--force", 1, 0, 0, f"--{option}", 9, 0, 0, "--steps", 3
    )
    assert status == 2
    assert re.search(
        rf"--{option} \(9, 0, 0\) is .* m outside of the body, which is .* m large", err
    )


def test_simulate_notes_a_push_without_effect(capsys, model):
    status, out, _ = run(
        capsys, "simulate", model, "--force", 1, 0, 0, "--at", 0, 0, 0, "--steps", 30
    )
    assert status == 0
    assert "no effect" in out
    zero = ["--force", 0, 0, 0, "--gravity", 0, 0, 0]
    for load, noted in ((zero, True), (zero[:-1] + [-1], False)):
        assert (
            "the load is zero" in run(capsys, "simulate", model, *load, "--steps", 2)[1]
        ) is noted
    # a step of a femtosecond takes longer than that
    quick = ["--force", 1, 0, 0, "--dt", 1e-15, "--steps", 2]
    assert re.search(r"\d{6,} times slower than real", run(capsys, "simulate", model, *quick)[1])


def test_simulate_warns_of_implausible_motions(capsys, model):
    command = ("simulate", model, "--force", 0, 0, -1e5, "--dt", 0.01, "--steps", 30)
    status, out, err = run(capsys, *command)
    assert status == 0
    assert re.search(
        r"shortened +\d+ Newton increments? in \d+ steps?: too long for this motion", out
    )
    assert re.search(r"energy +grows to .* times the work of the loads: the steps add it", out)
    assert re.search(
        r"diverged +no, but this is not the motion of the solid: .*the energy grows", out
    )
    assert "one Newton iteration" not in out
    assert re.search(r"warning: the model is deformed by .* Is so large a load meant", err)
    assert re.search(r"warning: this is not the motion of the solid: .*; try --damping", err)
    # results that are wrong must not be silent
    assert run(capsys, *command, "--quiet") == (0, "", err)
    assert "warning" not in run(capsys, "simulate", model, "--force", 0, 0, -1)[2]


def test_simulate_tells_the_steps_per_lowest_period(capsys, model):
    lowest = rf.spectrum(rf.load(model)).lowest
    for steps, warned in ((4.9, True), (40, False)):
        _, out, err = run(
            capsys, "simulate", model, "--force", 0, 0, -1e-3, "--dt", 1 / (steps * lowest)
        )
        assert re.search(rf"lowest frequency +{lowest:.4g} Hz: {steps:.3g} steps per period", out)
        assert ("steps per period of the lowest mode" in err) is warned


def test_simulate_failures(capsys, model, tmp_path):
    force = ["--force", 0, 0, -1]
    fails(capsys, "simulate", tmp_path / "none", *force, match="No such file")
    for name in ("my part.stl", "part.VTK"):
        (tmp_path / name).write_text("something")
        made = (tmp_path / name).with_suffix(".safetensors")
        fails(
            capsys, "simulate", tmp_path / name, *force,
            match=f"not a reduced model; .* first: reducedfem reduce '?{tmp_path / name}'? "
            f"--output '?{made}'?, with --fix options for",
        )  # fmt: skip
    fails(capsys, "simulate", "hose", *force, match="reduce hose --output hose.safetensors, with")
    (tmp_path / "some.txt").write_text("something")
    fails(capsys, "simulate", tmp_path / "some.txt", *force, match="not a safetensors file$")
    fails(capsys, "simulate", tmp_path / "none.stl", *force, match="No such file")
    fails(
        capsys, "simulate", model, *force, "--output", tmp_path / "no" / "t.csv", match="no folder"
    )  # fmt: skip
    misused(
        capsys, "simulate", model, "--gravity", 0, 0, -1, "--at", 0, 0, 0,
        match="--at and --duration belong to --force, .*; --watch chooses the nodes",
    )  # fmt: skip


def test_simulate_pushes_at_most_for_the_whole_simulation(capsys, model):
    whole = " (the whole simulation)"
    for steps, wanted, reported in (
        (5, 0.01, f"0.005 s{whole}"), (5, 1e300, f"0.005 s{whole}"), (10, 0.01, f"0.01 s{whole}"),
        (11, 0.01, "0.01 s"),
    ):  # fmt: skip
        status, out, err = run(
            capsys, "simulate", model, "--force", 0, 0, -1, "--steps", steps, "--duration", wanted
        )
        assert (status, err) == (0, "")
        assert f"N for {reported} at node" in out


def test_simulate_pushes_the_node_that_yields_most(capsys, model):
    """The compliance along the force, in statics: not the node that moves most in the basis."""
    reduced = rf.load(model)
    for direction in np.eye(3):
        status, out, _ = run(
            capsys, "simulate", model, "--force", *direction, "--steps", 2, "--dt", 1e-4
        )
        assert status == 0
        pushed = int(re.search(r"at node (\d+)", out)[1])
        yields = []
        for node in range(reduced.mesh.n_nodes):
            force = np.zeros((reduced.mesh.n_nodes, 3))
            force[node] = direction
            q = np.linalg.solve(reduced.stiffness(np.zeros(reduced.r)), reduced.project(force))
            yields.append(reduced.displacement(q)[node] @ direction)
        assert yields[pushed] == pytest.approx(max(yields), rel=1e-9)
    status, out, _ = run(capsys, "simulate", model, "--gravity", 0, 0, -1, "--steps", 2)
    watched = int(re.search(r"node (\d+) +moved", out)[1])
    sag = np.linalg.solve(reduced.stiffness(np.zeros(reduced.r)), reduced.gravity([0, 0, -1]))
    sizes = np.linalg.norm(reduced.displacement(sag), axis=1)
    assert sizes[watched] == pytest.approx(sizes.max(), rel=1e-9)


def test_simulate_compares_energy_and_work(capsys, model):
    push = [
        "simulate", model, "--force", 0, 0, -10, "--duration", 0.1, "--dt", 0.02, "--steps", 400,
    ]  # fmt: skip
    lost = r"energy +([\d.e+-]+) % of the work of the loads is dissipated"
    conserved = run(capsys, *push, "--tolerance", 1e-10)[1]
    assert float(re.search(lost, conserved)[1]) < 2.0
    assert "by the steps alone" not in conserved
    damped = run(capsys, *push, "--damping", 4, 1e-3)[1]
    assert float(re.search(lost, damped)[1]) > 50.0
    assert "by the steps alone" not in damped
    once = run(capsys, *push, "--newton-max", 1)[1]
    assert re.search(lost + ", by the steps alone, .*: try --newton-max 10 or a smaller --dt", once)
    falling = ("simulate", model, "--gravity", 0, 0, -9.81, "--steps", 400)
    assert float(re.search(lost, run(capsys, *falling)[1])[1]) < 2.0


def test_simulate_a_few_steps_without_a_duration(capsys, model):
    """The default push lasts longer than such a simulation, and is shortened with a note."""
    whole = " (the whole simulation)"
    for steps, dt, reported in (
        (1, 1e-3, f"0.001 s{whole}"), (19, 1e-3, f"0.019 s{whole}"), (40, 1e-3, "0.02 s"),
    ):  # fmt: skip
        status, out, err = run(
            capsys, "simulate", model, "--force", 0, 0, -1, "--steps", steps, "--dt", dt
        )
        assert (status, err) == (0, "")
        assert f"N for {reported} at node" in out
    # one step is longer than the usual push
    assert run(capsys, "simulate", model, "--force", 0, 0, -1, "--steps", 2, "--dt", 0.1)[0] == 0
