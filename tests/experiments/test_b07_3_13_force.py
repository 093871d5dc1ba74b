"""Contact forces and their limits: experiments/b07_3_13_{convergence,asymmetry}.py, small.

After Barbic 2007, sections 3.5.1 and 3.13. Bounds leave room for other shells, not for another
behaviour; measured numbers stand beside them.
"""

from __future__ import annotations

import b07_3_13_asymmetry as asymmetry
import b07_3_13_convergence as convergence
import contact_scenes as scenes
import numpy as np
import pytest
from b07_3_13_convergence import RANDOM, REPULSION, VERTICES

import experiments
import reducedfem as rf

NAMES = ("b07_3_13_asymmetry", "b07_3_13_convergence")


# --- convergence ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases():
    found = convergence.run(3, 6000, 12, 32, subdivisions=4)
    print("\n" + "\n\n".join(case.table() for case in found))
    return found


def test_forces_converge_to_the_integral(cases):
    for case in cases:
        even, uneven = case.curve(REPULSION), case.curve(RANDOM)
        assert len(even.points) == 3
        assert even.touching[-1] > 200
        # 0.9 % and 0.8 % measured, at orders of 0.7 to 0.8; random points: 5 %
        assert even.error[-1] < 0.02, case.name
        assert even.error[-1] < 0.4 * even.error[0]
        assert even.order > 0.4
        assert even.error[-1] < 0.6 * uneven.error[-1]
        assert even.torque[-1] < 0.005


def test_weights_make_up_for_uneven_points():
    """A ball whose points are nine times as dense on one side, touched in between."""
    radius, deep, n = 0.1, 0.02, 12_000
    unit = scenes.directions(n) + np.array([0.5, 0.0, 0.0])
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    x, faces = scenes.icosphere(5)
    surface = rf.Surface(radius * x, faces)
    shell = rf.Pointshell(radius * unit, -unit)
    weighted = scenes.flat(shell, scenes.voronoi_areas(shell, surface))
    size = convergence.STIFFNESS * 10 * deep * (3 - deep / radius) / 6
    position = np.array([0.0, 0.0, deep - radius])
    force = np.array([0.0, 0.0, -size])
    limit = scenes.Limit(force, -np.cross(position, force), 2 * np.pi * radius * deep)
    plane = rf.PlaneField([0, 0, 0], [0, 0, 1])
    target = convergence.Target(plane, [(position, np.array([1.0, 0, 0, 0]))], [limit], radius)
    curves = convergence.measure({(VERTICES, False): [shell], (VERTICES, True): [weighted]}, target)
    # the force leans to the dense side: 7.6 % and 0.3 % measured
    assert curves[0].error[0] > 0.05
    assert curves[1].error[0] < 0.02


def test_curves_of_the_cases(cases):
    for case in cases:
        assert VERTICES in case.table()
        assert {c.name for c in case.curves} == set(convergence.STYLES)
        assert all(np.isfinite(c.error).all() for c in case.curves)


# --- asymmetry ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reversal():
    found = asymmetry.run(asymmetry.body(4), 4000, 2, 48, 120, 6.0)
    print("\n" + found.table())
    return found


def test_forces_with_the_roles_reversed(reversal):
    e = reversal
    apart = (e.depths == 0.0).all(axis=0)
    assert apart[:8].all()
    assert not e.forces[:, apart].any()
    # they push the moving copy back, in both roles, the more the deeper
    deep = e.sample(4.0)
    pushed = -e.forces @ e.direction
    assert (pushed[:, deep] > pushed[:, e.sample(1.0)]).all()
    assert (pushed[:, e.sample(1.0)] > 0).all()
    # 5 % apart measured at 4 voxels, 7 % at one
    difference = e.difference(e.forces)
    assert 0.0 < difference[deep] < 0.15
    assert difference[e.sample(1.0)] < 0.3
    # the limits are nearer to each other than the shells are: 0.4 % and 3 %
    limits = e.difference(e.limits)
    assert 0.0 < limits[e.at.index(deep)] < 0.02
    assert limits[e.at.index(e.sample(1.0))] < 0.08
    np.testing.assert_allclose(e.depths[0], e.depths[1], atol=0.5 * e.voxel)


def test_forces_of_each_role_against_the_limits(reversal):
    e = reversal
    i = e.sample(4.0)
    expected = e.limits[:, e.at.index(i)]
    size = np.linalg.norm(expected, axis=1)
    # some 190 points: 2 % to 3 % measured
    assert (np.linalg.norm(e.forces[:, i] - expected, axis=1) < 0.1 * size).all()


def test_copies_meet_for_any_direction_of_approach():
    """Two balls touch two radii apart; a body beside its own origin need not overlap there."""
    unit = scenes.directions(4000)
    for centre, way in ((np.zeros(3), 0.2), (np.array([1.0, 0.0, 0.0]), 0.2)):
        shell = rf.Pointshell(0.1 * unit + centre, -unit)
        # the other copy is at the same place, for any origin
        field = rf.SphereField(centre, 0.1)
        found = asymmetry.approach(field, shell, np.array([1.0, 0, 0, 0]), np.array([0, 0, 1.0]))
        assert found == pytest.approx(way, rel=1e-3)
    with pytest.raises(rf.InputError, match="no contact on this way"):
        asymmetry.approach(
            rf.SphereField([0.5, 0, 0], 0.1), shell, np.array([1.0, 0, 0, 0]), np.eye(3)[2]
        )


# --- all of them ----------------------------------------------------------------------


def test_plots_and_command_lines(cases, reversal, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(convergence, "run", lambda *args, **options: cases[:1])
    monkeypatch.setattr(asymmetry, "run", lambda *args: reversal)
    experiments.light_plots(monkeypatch)
    for name in NAMES:
        experiments.check_plot(name, monkeypatch, capsys, tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_reported_without_a_traceback(name, monkeypatch, capsys, tmp_path):
    few = (experiments.FEW_POINTS, experiments.TOO_FEW)
    experiments.check_mistakes(name, monkeypatch, capsys, tmp_path, few)
