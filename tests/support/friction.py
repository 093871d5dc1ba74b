"""Contact problems with friction, and the law that their solutions obey."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def residual(W: Array, free: Array, mu: Array | float, force: Array) -> float:
    """Return the largest violation of Signorini's and Coulomb's laws, dimensionless."""
    m = len(W) // 3
    length = np.abs(free).max()
    d = ((W @ force.ravel()).reshape(m, 3) + free.reshape(m, 3)) / length
    f = force.reshape(m, 3) * (np.trace(W) / (3 * m) / length)
    slip, across = np.hypot(d[:, 1], d[:, 2]), np.hypot(f[:, 1], f[:, 2])
    most = np.broadcast_to(mu, m) * f[:, 0]
    along = most[:, None] * d[:, 1:] + slip[:, None] * f[:, 1:]
    return max(
        np.abs(np.minimum(d[:, 0], f[:, 0])).max(),
        (across - np.maximum(most, 0.0)).max(),
        np.hypot(along[:, 0], along[:, 1]).max(),
        np.minimum(slip, np.abs(most - across)).max(),
    )


def directions(m: int, shapes: int, rng: np.random.Generator, opposed: bool = False) -> Array:
    """Return displacements at m contacts by a rigid motion and some shapes, (3m, 6 + shapes)."""
    normal = rng.normal(size=(m, 3))
    if not opposed:
        normal[:, 2] = np.abs(normal[:, 2]) + 1.0
    first = np.cross(normal, rng.normal(size=(m, 3)))
    axes = np.stack([normal, first, np.cross(normal, first)], axis=1)
    axes /= np.linalg.norm(axes, axis=2, keepdims=True)
    places = rng.normal(size=(m, 1, 3))
    moved = np.einsum("mij,mjr->mir", axes, rng.normal(size=(m, 3, shapes)))
    return np.concatenate([axes, np.cross(places, axes), moved], axis=2).reshape(3 * m, -1)


def factor(m: int, shapes: int, rng: np.random.Generator, opposed: bool = False) -> Array:
    """Return V of W = V V^T of a body: soft rigid motions, stiff shapes."""
    compliance = np.concatenate(
        [10.0 ** rng.uniform(-4, 0, 6), 10.0 ** rng.uniform(-6, -1, shapes)]
    )
    return directions(m, shapes, rng, opposed) * np.sqrt(compliance)


def free_motion(V: Array, rng: np.random.Generator) -> Array:
    """Return displacements (m, 3) by a random motion of that body, with some gaps."""
    m = len(V) // 3
    out = (V @ rng.normal(size=V.shape[1])).reshape(m, 3)
    out[:, 0] += 0.1 * np.abs(V).max() * rng.random(m)
    return out


def manufactured(
    W: Array, mu: float, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64], Array]:
    """Return free displacements, states and forces of a problem made from its solution."""
    m = len(W) // 3
    state = rng.integers(0, 3, m)  # open, stick, slip
    angle = rng.uniform(0.0, 2.0 * np.pi, m)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    force, moved = np.zeros((2, m, 3))
    pressed, slips = state > 0, state == 2
    force[pressed, 0] = 0.05 + rng.random(pressed.sum())
    part = np.where(slips, 1.0, 0.95 * rng.random(m)) * mu * force[:, 0]
    force[:, 1:] = -part[:, None] * direction
    moved[slips, 1:] = (rng.random(m)[:, None] * direction)[slips]
    moved[~pressed] = rng.normal(size=((~pressed).sum(), 3))
    moved[~pressed, 0] = np.abs(moved[~pressed, 0])
    force *= 3 * m / np.trace(W)
    return moved - (W @ force.ravel()).reshape(m, 3), state, force


def random_problem(kind: str, seed: int, mu: float) -> tuple[Array, Array]:
    """Return W (3m, 3m) and free displacements (m, 3) of up to 60 contacts.

    ``"natural"``: a motion of a body of 6, 12, 20, 26 or 6 + 3m shapes. Others are made from their
    solutions, every second one with opposed normals: ``"regular"`` with W of full rank,
    ``"deficient"`` with that of few shapes, ``"compliant"`` with a compliance of the sites.
    """
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 61))
    few = int(rng.choice([0, 6, 14, 20]))
    if kind == "natural":
        V = factor(m, int(rng.choice([few, 3 * m])), rng)
        return V @ V.T, free_motion(V, rng)
    V = factor(m, 3 * m if kind == "regular" else few, rng, opposed=seed % 2 == 1)
    W = V @ V.T
    if kind == "compliant":
        W += 1e-3 * np.trace(W) / len(W) * np.eye(len(W))
    return W, manufactured(W, mu, rng)[0]


def squeezed_problem(m: int, own: float, seed: int) -> tuple[Array, Array]:
    """Return W and free displacements of a body of compliance `own` that m contacts squeeze.

    A soft spring holds it; both sides close.
    """
    rng = np.random.default_rng(seed)
    side = np.where(np.arange(m) % 2, 1.0, -1.0)
    places = rng.uniform(-1.0, 1.0, (m, 3))
    places[:, 0] = side
    axes = np.zeros((m, 3, 3))
    axes[:, 0, 0], axes[:, 1, 1], axes[:, 2, 2] = -side, 1.0, -side
    ways = np.concatenate([axes, np.cross(places[:, None, :], axes)], axis=2).reshape(3 * m, 6)
    shapes = rng.normal(size=(3 * m, 3 * m)) / np.sqrt(3 * m)
    free = 0.3 * rng.normal(size=(m, 3))
    free[:, 0] = -1.0 - 0.3 * rng.random(m)
    return ways @ ways.T + own * (np.eye(3 * m) + 0.3 * shapes @ shapes.T), free


def pinched_problem(m: int, shapes: int, seed: int) -> tuple[Array, Array]:
    """Return W and free displacements of a body that two contacts of m squeeze."""
    rng = np.random.default_rng(seed)
    V = factor(m, shapes, rng, opposed=True)
    # the second contact is at the place of the first, on the other side
    V[3:6] = V[0:3] * np.array([[-1.0], [1.0], [-1.0]])
    free = free_motion(V, rng)
    free[0, 0] = free[1, 0] = -np.abs(free).max()
    free[1, 1:] = free[0, 1:] * [1.0, -1.0]
    return V @ V.T, free
