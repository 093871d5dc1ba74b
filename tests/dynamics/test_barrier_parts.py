"""Contact of the parts of a solid: closed forms, conservation, impacts, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from motions import check_copies
from part_cases import (
    DENSITY,
    DISTANCE,
    GRAVITY,
    SIZE,
    block,
    crossing,
    masses,
    momenta,
    near,
    parts_of,
    simulated,
    slope,
    solid_of,
    stack,
    turn,
)  # fmt: skip
from reducedfem import _core
from shapes import box_hexes, box_tets

# ---- forces


def test_forces_have_no_sum_and_no_moment():
    contact, solid, u, _ = near()
    force = contact.force(u)
    assert np.abs(force).max() > 0.0
    small = 1e-12 * np.abs(force).sum()
    np.testing.assert_allclose(force.sum(0), 0.0, atol=small)
    np.testing.assert_allclose(np.cross(solid.mesh.nodes + u, force).sum(0), 0.0, atol=small)


def test_forces_are_the_slope_of_the_energy():
    contact, _, u, rng = near()
    force = contact.force(u)
    for _ in range(5):
        along = np.where(np.abs(force) > 0.0, rng.normal(size=u.shape), 0.0)
        step = 1e-9
        slope = (contact.energy(u + step * along) - contact.energy(u - step * along)) / (2 * step)
        assert -np.sum(force * along) == pytest.approx(slope, rel=1e-6)


def test_friction_opposes_sliding_and_has_no_sum():
    contact, solid, u, _ = near(friction=0.4)
    part = parts_of(solid)
    v = np.where(part[:, None] == 1, [0.3, -0.2, 0.0], 0.0)
    rubbing = contact.force(u, v) - contact.force(u)
    on_upper, loads = rubbing[part == 1].sum(0), contact.force(u)[part == 1].sum(0)
    np.testing.assert_allclose(rubbing.sum(0), 0.0, atol=1e-12 * np.abs(rubbing).sum())
    assert on_upper @ [0.3, -0.2, 0.0] < 0.0
    # the faces are nearly level, and pairs at sides push to the side
    assert np.linalg.norm(on_upper) == pytest.approx(0.4 * loads[2], rel=0.2)
    assert (np.einsum("nii->n", contact.damping(u, v)) >= 0.0).all()


def test_steps_satisfy_their_equation():
    dt = 5e-3
    solid = stack()
    contact = rf.BarrierContact(parts=True, distance=DISTANCE, friction=0.0)
    sim = simulated(solid, dt, contact=contact, gravity=(1.0, 0.0, -GRAVITY))
    free = np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)
    weight = solid.gravity((1.0, 0.0, -GRAVITY))
    for _ in range(8):
        before = sim.state.qdot
        sim.step()
        inner = (masses(solid) @ (sim.state.qdot - before).ravel()).reshape(-1, 3) / dt
        inner += solid.internal_force(sim.state.q) - weight
        force = contact.force(sim.state.q)
        np.testing.assert_allclose(inner[free], force[free], rtol=0, atol=1e-7)
        state = sim.contact_state
        given = np.zeros_like(force)
        along = state.part_normal_forces[:, None, None] * state.part_weights[:, :, None]
        np.add.at(given, state.part_nodes, along * state.part_normals[:, None, :])
        # all but the moments by which nearly parallel edges turn
        np.testing.assert_allclose(
            given[free], force[free], rtol=0, atol=0.05 * np.abs(force).max()
        )
    assert sim.report.unconverged == 0


# ---- closed forms


@pytest.mark.parametrize(("make", "shift"), [(box_tets, (0.013, 0.007)), (box_hexes, (0.0, 0.0))])
def test_a_block_upon_another_presses_with_its_weight(make, shift):
    """Also where edges are exactly parallel and nodes exactly above nodes."""
    meshes = block(make=make), block((*shift, SIZE + 0.7e-3), make=make)
    low = np.flatnonzero(meshes[0].nodes[:, 2] < 1e-9)
    solid = solid_of(*meshes, fixed=low)
    contact = rf.BarrierContact(parts=True, friction=0.5)
    sim = simulated(solid, 0.01, contact=contact, gravity=(0, 0, -GRAVITY), damping=(5.0, 1e-3))
    sim.step(n=160)
    upper = parts_of(solid) == 1
    force = contact.force(sim.displacement, sim.state.qdot)
    weight = 0.5 * solid.total_mass * GRAVITY
    np.testing.assert_allclose(force[upper].sum(0), [0.0, 0.0, weight], rtol=0, atol=3e-5 * weight)
    # with fixed nodes, on which no force acts, far below
    np.testing.assert_allclose(force.sum(0), 0.0, atol=1e-10)
    assert 0.0 < sim.contact_state.smallest_distance < DISTANCE
    # the base carries both
    held = solid.internal_force(sim.displacement) - solid.gravity((0, 0, -GRAVITY))
    assert held[solid.fixed, 2].sum() == pytest.approx(2.0 * weight, rel=1e-4)
    assert sim.report.unconverged == 0


@pytest.mark.parametrize("lagged", [True, False])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_block_slides_down_another_as_a_point_does(lagged):
    mu, angle = 0.2, np.radians(20.0)
    sim = slope(mu, angle, lagged=lagged)
    upper = parts_of(sim.system) == 1
    sim.step(n=50)
    mean = [sim.state.qdot[upper, 0].mean()]
    sim.step(n=40)
    mean.append(sim.state.qdot[upper, 0].mean())
    rate = (mean[1] - mean[0]) / 0.2
    assert rate == pytest.approx(GRAVITY * (np.sin(angle) - mu * np.cos(angle)), rel=5e-3)
    assert crossing(sim.system, sim.displacement) == []
    assert sim.report.unconverged == 0


@pytest.mark.parametrize("lagged", [True, False])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_block_that_sticks_creeps(lagged):
    mu, angle = 0.5, np.radians(20.0)
    sim = slope(mu, angle, lagged=lagged)
    upper = parts_of(sim.system) == 1
    sim.step(n=400)
    creep = 1e-3 * (1.0 - np.sqrt(1.0 - np.tan(angle) / mu))
    assert sim.state.qdot[upper, 0].mean() == pytest.approx(creep, rel=0.02)


# ---- conservation and impacts


@pytest.mark.parametrize("integrator", [rf.BackwardEuler, rf.BDF2])
@pytest.mark.parametrize(("friction", "lagged"), [(0.0, True), (0.3, True), (0.3, False)])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_two_free_blocks_in_an_impact_keep_momentum(integrator, friction, lagged):
    rotation = turn(0, 0.3) @ turn(1, 0.4)
    solid = solid_of(block(), block((0.02, 0.01, 0.16), rotation=rotation))
    contact = rf.BarrierContact(parts=True, distance=DISTANCE, friction=friction, lagged=lagged)
    sim = simulated(
        solid, 2e-3, integrator, velocities=[[0, 0, 0], [0.2, 0, -2.0]], contact=contact
    )
    before = momenta(sim)[0]
    touched = 0
    for _ in range(40):
        sim.step()
        touched += len(sim.contact_state.part_nodes) > 0
        assert sim.contact_state.smallest_distance > 0.0
        size = np.abs(before).max()
        np.testing.assert_allclose(momenta(sim)[0], before, rtol=0, atol=1e-10 * size)
    assert touched > 3
    assert sim.report.unconverged == 0
    assert crossing(solid, sim.displacement) == []


@pytest.mark.parametrize("speed", [5.0, 60.0])
@pytest.mark.parametrize("rotation", [np.eye(3), turn(0, 0.7) @ turn(1, 0.6)])
def test_parts_never_cross(speed, rotation):
    """The fast block would pass through the wide plate in one step."""
    plate = rf.Mesh(*box_tets(2, 2, 1, (0.8, 0.8, 0.03)))
    upper = block((0.36, 0.33, 0.06), rotation=rotation)
    upper = rf.Mesh(
        upper.nodes + np.array([0.0, 0.0, 0.05 - upper.nodes[:, 2].min()]), upper.elements
    )
    solid = solid_of(plate, upper, young=1e6, fixed=np.arange(plate.n_nodes))
    contact = rf.BarrierContact(parts=True, stiffness=1e5, friction=0.0)
    part = parts_of(solid)
    sim = rf.BackwardEuler(solid, 2e-3, newton_max=200, contact=contact)
    sim.reset(qdot=np.where(part[:, None] == 1, [0.0, 0.0, -speed], 0.0))
    touched = 0
    for _ in range(15):
        sim.step()
        assert crossing(solid, sim.displacement) == []
        touched += len(sim.contact_state.part_nodes) > 0
    assert touched > 0
    assert (solid.mesh.nodes + sim.displacement)[part == 1, 2].min() > 0.03
    assert sim.state.qdot[part == 1, 2].mean() > 0.0


def plates(cells=16) -> rf.Solid:
    """Return two free plates with far more pairs of vertices and triangles than can be kept."""
    nodes, elements = box_tets(cells, cells, 1, (0.2, 0.2, 0.02))
    return solid_of(*(rf.Mesh(nodes + shift, elements) for shift in (0.0, [3e-3, 2e-3, 0.022])))


@pytest.mark.filterwarnings("ignore::reducedfem.errors.PlausibilityWarning")
@pytest.mark.parametrize("kind", ["together", "apart", "forces"])
def test_wild_motions_find_few_pairs(kind):
    """Each of 1156 vertices sweeps the boxes of all 2304 triangles."""
    solid = plates()
    contact = rf.BarrierContact(parts=True, friction=0.3)
    sim = rf.BackwardEuler(solid, 2e-3, newton_max=3, contact=contact)
    rng, shape = np.random.default_rng(8), (solid.mesh.n_nodes, 3)
    if kind == "together":
        upper = parts_of(solid)[:, None] == 1
        sim.reset(qdot=np.where(upper, [300.0, 200.0, -1000.0], 0.0))
    elif kind == "apart":
        sim.reset(qdot=1e4 * rng.normal(size=shape))
    force = 1e9 * rng.normal(size=shape) if kind == "forces" else np.zeros(shape)
    before = _core.alloc_counters()["live_bytes"]
    _core.alloc_reset_peak()
    sim.step(force)
    assert _core.alloc_counters()["peak_bytes"] - before < 300e6
    assert sim.contact_state.smallest_distance > 0.0
    assert np.abs(sim.displacement).max() > 1e-6
    assert crossing(solid, sim.displacement) == []


def test_a_common_motion_is_not_shortened():
    solid = plates()
    sim = simulated(solid, 2e-3, velocities=[[1e4, 5e3, 7e3]] * 2)
    sim.step()
    np.testing.assert_allclose(sim.displacement, [[20.0, 10.0, 14.0]] * solid.mesh.n_nodes)
    assert sim.report.unconverged == 0
    assert sim.report.solves <= 4


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_three_parts_and_a_floor():
    """Parts among themselves and obstacles in one contact."""
    meshes = [block((0.01 * k, 0.0, k * (SIZE + 2e-3))) for k in range(3)]
    solid = solid_of(*meshes)
    floor = rf.PlaneField([0.0, 0.0, -1e-3], [0.0, 0.0, 1.0])
    contact = rf.BarrierContact(floor, parts=True, friction=0.3)
    sim = simulated(solid, 0.01, contact=contact, gravity=(0, 0, -GRAVITY), damping=(1.0, 2e-2))
    sim.step(n=200)
    state = sim.contact_state
    weight = solid.total_mass * GRAVITY
    assert state.normal_forces.sum() == pytest.approx(weight, rel=1e-3)
    part = parts_of(solid)
    force = contact.force(sim.displacement)
    assert force[part == 2, 2].sum() == pytest.approx(weight / 3, rel=5e-3)
    assert " of parts" in repr(state)
    assert "pairs, " in repr(state)


def test_parts_out_of_reach_change_nothing():
    ends = []
    for kwargs in ({"contact": rf.BarrierContact(parts=True)}, {}):
        solid = solid_of(block(), block((0.0, 0.0, 1.0)))
        sim = rf.BackwardEuler(solid, 5e-3, newton_max=50, tol=1e-10, **kwargs)
        sim.step(solid.mesh.nodes**2, n=5)
        ends.append(sim.state.q)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9 * np.abs(ends[1]).max())


# ---- copies, threads, failures


@pytest.mark.parametrize("lagged", [True, False])
def test_copies_continue_alike(lagged):
    contact = rf.BarrierContact(parts=True, friction=0.4, lagged=lagged)
    sim = simulated(stack(), contact=contact, gravity=(2.0, 0, -GRAVITY))
    sim.step(n=6)
    copies = check_copies(sim, lambda one: one.step(n=6))
    assert len(sim.contact_state.part_nodes) > 0
    for other in copies:
        assert (other.contact_state.part_distances == sim.contact_state.part_distances).all()


def test_bits_do_not_depend_on_threads(set_threads):
    ends = []
    for count in (1, 3):
        set_threads(count)
        sim = simulated(stack(), gravity=(2.0, 0, -GRAVITY))
        sim.step(n=5)
        ends.append(sim.state.q.tobytes())
    assert ends[0] == ends[1]


def test_a_failing_step_leaves_state_and_contact():
    sim = simulated(stack(), gravity=(0, 0, -GRAVITY))
    sim.step(n=6)
    before, contact = sim.state, sim.contact_state
    assert len(contact.part_nodes) > 0
    with pytest.raises(rf.DivergedError):
        sim.step(np.full((sim.system.mesh.n_nodes, 3), 1e300))
    assert (sim.state.q == before.q).all()
    assert (sim.contact_state.part_distances == contact.part_distances).all()
    assert (sim.contact_state.part_normal_forces == contact.part_normal_forces).all()
    sim.step()


# ---- refusals


def test_a_start_that_crosses_is_refused():
    with pytest.raises(rf.InputError, match=r"triangle \d+ of part 0 .* triangle \d+ of part 1"):
        simulated(solid_of(block(), block((0.03, 0.02, 0.09))))
    with pytest.warns(rf.GeometryWarning, match="lie on others without common nodes"):
        touching = solid_of(block(), block((0.0, 0.0, SIZE)))
    with pytest.raises(rf.InputError, match="touch or cross: a barrier needs them apart"):
        simulated(touching)
    solid = stack()
    sim = simulated(solid)
    before = sim.state
    deep = np.where(parts_of(solid)[:, None] == 1, [0.0, 0.0, -0.02], 0.0)
    with pytest.raises(rf.InputError, match="touch or cross"):
        sim.reset(deep)
    assert (sim.state.q == before.q).all()
    with pytest.raises(rf.InputError, match="touch or cross"):
        sim._settings["contact"].energy(deep)


def hollow(width: float, wall: float) -> rf.Mesh:
    """Return a cube about the origin with a cubic cavity."""
    nodes, elements = box_tets(3, 3, 3, (3.0,) * 3)
    inner = 0.5 * width - wall
    nodes = np.interp(nodes, np.arange(4), [-inner - wall, -inner, inner, inner + wall])
    cavity = (np.abs(nodes[elements]) < inner + 1e-9).all((1, 2))
    return rf.Mesh(nodes, elements[~cavity])


def cube_at(middle, width=0.02, rotation=None) -> rf.Mesh:
    return block(np.array(middle) - 0.5 * width, size=(width,) * 3, rotation=rotation)


@pytest.mark.parametrize("inner_first", [True, False])
def test_a_part_inside_another_is_refused(inner_first):
    meshes = [block(size=(0.2,) * 3), cube_at((0.05, 0.13, 0.1), rotation=turn(0, 0.4))]
    order = meshes[::-1] if inner_first else meshes
    inner, outer = (0, 1) if inner_first else (1, 0)
    solid = solid_of(*order)
    with pytest.raises(rf.InputError, match=f"part {inner} is inside part {outer}") as found:
        simulated(solid)
    node = int(str(found.value).split("node ")[1].split(",")[0])
    assert parts_of(solid)[node] == inner
    # away at the start, inside after a reset
    apart = solid_of(meshes[0], cube_at((0.05, 0.13, 0.3)))
    sim = simulated(apart)
    before = sim.state
    with pytest.raises(rf.InputError, match="part 1 is inside part 0"):
        sim.reset(np.where(parts_of(apart)[:, None] == 1, [0.0, 0.0, -0.2], 0.0))
    assert (sim.state.q == before.q).all()


def test_a_part_in_a_cavity_is_no_part_inside():
    shell = hollow(0.2, 0.04)
    simulated(solid_of(shell, cube_at((0.0, 0.01, 0.02), 0.06)))
    # nested shells, the innermost in two cavities
    simulated(solid_of(cube_at((0.0, 0.0, 0.0), 0.02), hollow(0.1, 0.02), shell))
    with pytest.raises(rf.InputError, match="part 1 is inside part 0"):
        simulated(solid_of(shell, cube_at((0.0, 0.0, 0.08))))
    # the surface of the block is in the wall, the cavity in the block
    with pytest.raises(rf.InputError, match="part 1 is inside part 0"):
        simulated(solid_of(shell, cube_at((0.0, 0.0, 0.0), 0.16)))
    with pytest.raises(rf.InputError, match="part 0 is inside part 1"):
        simulated(solid_of(hollow(0.18, 0.05), shell))


def test_a_part_in_the_hollow_of_another_is_apart():
    """Boxes that nest, but not parts."""
    nodes, elements = box_tets(3, 3, 2, (0.3,) * 3)
    middle = nodes[elements].mean(1)
    hole = (np.abs(middle[:, :2] - 0.15).max(1) < 0.05) & (middle[:, 2] > 0.15)
    cup = rf.Mesh(nodes, elements[~hole])
    simulated(solid_of(cup, cube_at((0.15, 0.15, 0.2))))


def test_uses_without_sense_are_refused():
    with pytest.raises(rf.InputError, match="obstacle is None and parts is False"):
        rf.BarrierContact()
    with pytest.raises(rf.InputTypeError, match="parts must be"):
        rf.BarrierContact(parts=1.5)
    with pytest.raises(rf.InputError, match=r"of one part: .* \(join_meshes\)"):
        simulated(solid_of(block()))
    solid = stack()
    model = rf.reduce(
        rf.Solid(solid.mesh, rf.StVK(1e5, 0.3, DENSITY), fixed=solid.mesh.nodes[:, 0] < 0.02),
        np.where(solid.mesh.nodes[:, :1] < 0.02, 0.0, solid.mesh.nodes)[None],
    )
    with pytest.raises(rf.InputError, match="reduced model, whose coordinates move all parts"):
        simulated(model)


def test_a_barrier_that_is_thick_for_a_part_is_doubted():
    thin = block((0.0, 0.0, 0.2), size=(0.1, 0.1, 0.004))
    for distance in (1e-3, 0.5e-3):
        contact = rf.BarrierContact(parts=True, distance=distance)
        if distance < 1e-3:
            simulated(solid_of(block(), thin), contact=contact)
            continue
        with pytest.warns(rf.PlausibilityWarning, match=r"thinnest part of the solid is 0.004 m"):
            simulated(solid_of(block(), thin), contact=contact)


def test_the_core_checks_surfaces():
    mesh = rf.join_meshes([block(), block((0.0, 0.0, 0.2))])
    settings = {"distance": 1e-3, "stiffness": 1.0, "friction": 0.0, "slip": 1.0, "lagged": True}
    nodes = mesh.boundary_nodes
    part = (mesh.nodes[nodes, 2] > 0.15).astype(np.int32)
    triangles = np.array(mesh.surface().triangles)

    def made(part=part, triangles=triangles, nodes=nodes, **changes):
        surfaces = nodes, part, np.zeros_like(part), triangles, False
        _core.Barrier((), mesh.nodes, nodes, settings | changes, None, surfaces)

    made()
    with pytest.raises(rf.InputError, match="of one part"):
        made(part=0 * part)
    with pytest.raises(rf.InputError, match="corners of several parts"):
        made(triangles=np.array([[0, 1, len(nodes) - 1]], np.int32))
    with pytest.raises(rf.InputError, match=r"parts\[0\] is 100000: parts are numbered"):
        made(part=np.full_like(part, 100000))
    with pytest.raises(rf.InputError, match="triangle 0 of the surface has no area"):
        made(triangles=np.array([[0, 1, 1]], np.int32))
    with pytest.raises(rf.InputError, match="must ascend"):
        made(nodes=nodes[::-1].copy())
    with pytest.raises(rf.InputError, match="triangles"):
        made(triangles=triangles + 1000)
