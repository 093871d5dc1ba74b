"""Worlds: room, solvers, memory that runs out."""

from __future__ import annotations

import numpy as np
import pytest

from world_core import HERE, UPRIGHT, Scene, WorldError, library

POINTS, NORMALS = np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]])
MOTION = np.array([[[0.1], [0.2], [1.0]]])
SPRINGS = np.array([50.0])
BALL = np.array([0.0, 0.0, 0.012, *UPRIGHT])


def scene_of(**sizes):
    return Scene(POINTS, NORMALS, 0.02, 300.0, MOTION, **sizes)


def fill(scene):
    """Add two shells that deform and a ball that is held."""
    shells = [scene.body("reduced", springs=SPRINGS) for _ in range(2)]
    held = scene.body("held", BALL)
    for shell in shells:
        scene.pair(shell, held)
    scene.solve("coupled")
    return shells, held


def test_a_condensed_step_is_the_solution_of_the_whole_system():
    """Against one dense solve of the coordinates of both shells for a given motion of the ball."""
    scene = scene_of()
    shells, held = fill(scene)
    scene.search()
    scene.lib.scene_load()
    _, mixed, block = scene.blocks(0)
    force = scene.load(shells[0], 1)[2]
    plain = scene.load(held)
    wrench, gradient = np.full(6, np.nan), np.full((6, 6), np.nan)
    scene.call("condense", held, wrench.ctypes.data, gradient.ctypes.data)
    assert scene.lib.scene_joint() == 1
    # Newmark's matrix of a spring in contact, less the block, which counts three times
    b, d, h = 3.0 * mixed[:6, 0], 3.0 * block[0, 0], 1e-3
    matrix = 4.0 / (1.1 * h) ** 2 + SPRINGS[0] - d
    alone = force[0] / matrix
    np.testing.assert_allclose(wrench, plain[0] + 2.0 * b * alone, rtol=1e-12)
    expected = 3.0 * plain[1] + 2.0 * np.outer(b, b) / matrix
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-12 * abs(expected).max())
    move = 1e-5 * np.arange(1.0, 7.0)
    assert scene.step(move) == 0
    for shell in shells:
        np.testing.assert_allclose(scene.state(shell, 1)[0], alone + b @ move / matrix, rtol=1e-11)
    scene.lib.scene_end()


def test_without_a_joint_solve_loads_stay_as_they_are():
    scene = scene_of()
    _, held = fill(scene)
    scene.solve("split")
    scene.search()
    scene.lib.scene_load()
    wrench, gradient = np.full(6, np.nan), np.full((6, 6), np.nan)
    scene.call("condense", held, wrench.ctypes.data, gradient.ctypes.data)
    assert scene.lib.scene_joint() == 0
    assert np.isnan([*wrench, *gradient.ravel()]).all()  # left as they were
    scene.lib.scene_end()


@pytest.mark.parametrize(
    ("left", "each"), [(300.0, 0.0), (300.0, 40.0), (300.0, 250.0), (-5.0, 1.0)]
)
def test_pairs_share_the_time_that_is_left(left, each):
    """Equal parts of the rest, and never less than a microsecond."""
    scene = scene_of()
    _, held = fill(scene)
    scene.solve("split")  # a world without a solver takes more
    scene.pair(scene.body("fixed"), held)
    given, begun = np.full(3, np.nan), 1000.0
    scene.call("search_within", left, begun, each, given.ctypes.data)
    expected = [max((left - k * each) / (3 - k), 1.0) for k in range(3)]
    np.testing.assert_allclose(given, expected, rtol=1e-12)
    scene.lib.scene_end()


def test_mistakes():
    scene = scene_of(bodies=2, pairs=1)
    with pytest.raises(WorldError, match="there is no solver named magic"):
        scene.solve("magic")
    with pytest.raises(WorldError, match="a coupled world needs a pair"):
        scene.solve("coupled")
    bodies = [scene.body("held", BALL), scene.body("fixed")]
    with pytest.raises(WorldError, match="the world has room for 2 bodies"):
        scene.body("fixed")
    scene.pair(*bodies)
    with pytest.raises(WorldError, match="the world has room for 1 pairs"):
        scene.pair(*bodies)
    with pytest.raises(WorldError, match="the shell of pair 0 is on a held body"):
        scene.solve("coupled")
    with pytest.raises(WorldError, match="needs room for a body, got 0 bodies"):
        scene_of(bodies=0)
    with pytest.raises(WorldError, match="dt must be positive and finite, got nan"):
        Scene(POINTS, NORMALS, 0.02, 300.0, MOTION, dt=np.nan)
    library().scene_end()


def test_a_coupled_world_has_one_body_with_fields():
    scene = scene_of()
    for _ in range(2):
        scene.pair(scene.body("reduced", springs=SPRINGS), scene.body("held", BALL))
    with pytest.raises(WorldError, match="that of pair 1 is another one than that of pair 0"):
        scene.solve("coupled")
    scene.lib.scene_end()


def test_a_coupled_world_has_a_body_for_each_shell():
    scene = scene_of()
    shell, ball = scene.body("reduced", springs=SPRINGS), scene.body("held", BALL)
    for _ in range(2):
        scene.pair(shell, ball)
    with pytest.raises(WorldError, match="pairs 0 and 1 have the same shell's body"):
        scene.solve("coupled")
    scene.lib.scene_end()


def test_a_body_in_no_pair_cannot_be_coupled():
    scene = scene_of()
    shell, ball = scene.body("reduced", springs=SPRINGS), scene.body("held", BALL)
    scene.body("reduced", HERE, springs=SPRINGS)
    scene.pair(shell, ball)
    with pytest.raises(WorldError, match="body 2 is in no pair"):
        scene.solve("coupled")
    scene.lib.scene_end()


def test_a_world_with_a_solver_is_complete():
    scene = scene_of()
    shells, held = fill(scene)
    with pytest.raises(WorldError, match="a solver was chosen for the bodies and pairs"):
        scene.body("fixed")
    with pytest.raises(WorldError, match="add them before that"):
        scene.pair(shells[0], held)
    # a world without one takes more
    scene.solve("split")
    scene.pair(scene.body("fixed", HERE), held)
    scene.lib.scene_end()


def test_implicit_bodies_have_the_stiffness_of_contact_without_a_choice_of_solver():
    """They move as in a world that was asked for "split", and not as explicit ones."""
    moved = {}
    for implicit, chosen in [(True, True), (True, False), (False, False)]:
        scene = scene_of()
        shell = scene.body("reduced", springs=SPRINGS, implicit=implicit)
        scene.pair(shell, scene.body("held", BALL))
        if chosen:
            scene.solve("split")
        scene.search()
        scene.lib.scene_load()
        assert scene.step() >= 0
        moved[implicit, chosen] = scene.state(shell, 1)[0]
        scene.lib.scene_end()
    assert np.array_equal(moved[True, False], moved[True, True])
    assert moved[True, False] != moved[False, False]


def test_memory_that_runs_out():
    lib = library()
    lib.scene_end()
    alive = lib.scene_blocks_alive()
    for k in range(1000):
        lib.scene_fail_from(k)
        try:
            fill(scene_of())
        except WorldError as error:
            said = str(error)
        else:
            break
        finally:
            lib.scene_fail_from(-1)
        lib.scene_end()
        assert "out of memory" in said
        assert lib.scene_blocks_alive() == alive
    assert k > 30
    lib.scene_end()
    assert lib.scene_blocks_alive() == alive
