"""Systems that time integrators move: small solids, reduced models, given polynomials."""

from __future__ import annotations

import functools

import numpy as np

import plain_polynomial
import reducedfem as rf
from plain_polynomial import deviation
from reducedfem import _core
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

EPS = np.finfo(float).eps
SIMD = [1, 2, 3]
# (beta, gamma), those of the shared table
SCHEMES = [(0.25, 0.5), (0.3025, 0.6), (0.5625, 1.0), (0.5, 1.0)]


@functools.cache
def small_solid(kind: str = "hexes", cells: int = 2) -> rf.Solid:
    """A short bar, clamped at x = 0, of distorted elements and two materials."""
    make = {"hexes": box_hexes, "tets": box_tets, "tet10s": box_tet10s, "hex20s": box_hex20s}[kind]
    nodes, elements = make(cells, 1, 1, (0.2, 0.1, 0.1))
    fixed = np.flatnonzero(nodes[:, 0] == 0.0)
    nodes = nodes + np.random.default_rng(3).uniform(-0.004, 0.004, nodes.shape)
    regions = np.arange(len(elements)) % 2
    materials = [rf.StVK(5e4, 0.3, 1000.0), rf.StVK(8e4, 0.4, 1200.0)]
    mesh = rf.Mesh(nodes, elements, regions)
    return rf.Solid(mesh, dict(enumerate(materials[: regions.max() + 1])), fixed=fixed)


def full_basis(solid: rf.Solid) -> np.ndarray:
    """One vector for each degree of freedom that is free."""
    n = solid.mesh.n_nodes
    identity = np.eye(3 * n).reshape(3 * n, n, 3)
    return identity[(3 * solid.free[:, None] + np.arange(3)).ravel()]


@functools.cache
def small_model(r: int = 6) -> rf.ReducedSolid:
    """Random directions of the small bar: a full mass matrix, all coefficients at work."""
    solid = small_solid()
    fields = np.random.default_rng(r).standard_normal((r, solid.mesh.n_nodes, 3))
    fields[:, solid.fixed] = 0.0
    return rf.reduce(solid, fields)


def wrapped(core: _core.Reduced) -> rf.ReducedSolid:
    solid = small_solid()
    return rf.ReducedSolid(core, solid.mesh, solid.fixed, {})


def polynomial_model(r: int, terms: dict[tuple[int, ...], float], mass=None, simd=0):
    """Model with the given monomials of energy; key (0, 0) is q_0 q_0."""
    table = plain_polynomial.quadruples(r)
    place = {tuple(int(x) - 1 for x in index if x): i for i, index in enumerate(table)}
    t = np.zeros(len(table))
    for monomial, value in terms.items():
        t[place[monomial]] += value
    basis = np.random.default_rng(0).standard_normal((r, small_solid().mesh.n_nodes, 3))
    return wrapped(_core.Reduced(basis, np.eye(r) if mass is None else mass, t, simd))


def linear_model(stiffness: np.ndarray, mass: np.ndarray | None = None, simd: int = 0):
    r = len(stiffness)
    terms = {(i, j): stiffness[i, j] for i in range(r) for j in range(i + 1, r)}
    terms |= {(i, i): 0.5 * stiffness[i, i] for i in range(r)}
    return polynomial_model(r, terms, mass, simd)


def states_equal(one: rf.State, other: rf.State) -> bool:
    return (
        np.array_equal(one.q, other.q)
        and np.array_equal(one.qdot, other.qdot)
        and np.array_equal(one.qddot, other.qddot)
        and one.time == other.time
    )


def systems() -> list[rf.Solid | rf.ReducedSolid]:
    return [small_model(), small_solid()]


def shape_of(system) -> tuple[int, ...]:
    return (system.r,) if isinstance(system, rf.ReducedSolid) else (system.mesh.n_nodes, 3)


def some_state(system, seed: int = 0, scale: float = 0.01) -> np.ndarray:
    x = scale * np.random.default_rng(seed).standard_normal(shape_of(system))
    if isinstance(system, rf.Solid):
        x[system.fixed] = 0.0
    return x


def newmark_roots(omega_h: np.ndarray, beta: float, gamma: float) -> np.ndarray:
    """Eigenvalues of one step of q'' + w^2 q = 0 (Hughes 1987, chapter 9): (..., 2).

    x^2 - trace x + det, det = 1 - (gamma - 1/2) W / D, trace = 2 - (gamma + 1/2) W / D,
    W = (h w)^2, D = 1 + beta W.
    """
    w = omega_h**2 / (1.0 + beta * omega_h**2)
    trace, det = 2.0 - (gamma + 0.5) * w, 1.0 - (gamma - 0.5) * w
    root = np.sqrt((trace**2 / 4.0 - det).astype(complex))
    return np.stack([trace / 2.0 + root, trace / 2.0 - root], axis=-1)


def step_matrix(sim: rf.ImplicitNewmark, r: int) -> np.ndarray:
    """Map of (q, qdot) over one step of a linear system, column by column."""
    columns = []
    for unit in np.eye(2 * r):
        sim.reset(q=unit[:r], qdot=unit[r:])
        sim.step()
        columns.append(np.concatenate([sim.state.q, sim.state.qdot]))
    return np.array(columns).T


def forces_and_start(size: int, seed: int, force: float, speed: float, steps: int = 25):
    rng = np.random.default_rng(seed)
    # a different force in every step: one taken from the wrong end of a step would show
    return force * rng.standard_normal((steps, size)), speed * rng.standard_normal(size)


def check_solid_steps(sim, solid, speed, forces, expected, tolerance):
    """Step a solid from rest with a speed; expected are (q, v, a) of what is free.

    Accelerations may differ ten times as much.
    """
    n = solid.mesh.n_nodes
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    start = np.zeros(3 * n)
    start[free] = speed
    sim.reset(qdot=start)
    for force, (q, v, a) in zip(forces, expected, strict=True):
        load = np.full(3 * n, 1e3)  # forces on fixed nodes have no effect
        load[free] = force
        sim.step(load.reshape(n, 3))
        state = sim.state
        assert deviation(state.q.ravel()[free], q) < tolerance
        assert deviation(state.qdot.ravel()[free], v) < tolerance
        assert deviation(state.qddot.ravel()[free], a) < 10 * tolerance
        for x in (state.q, state.qdot, state.qddot):
            assert not x[solid.fixed].any()
