"""Constraints of nodes as fields over the nodes, for files and other packages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NAMES", "Ties", "as_fields", "from_fields"]

# constrained nodes, offsets, masters, weights
Ties = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]

NAMES = ("constraint_nodes", "constraint_weights")
_SINGLE = 1e-5  # error of the sum of weights that single precision explains
_MOST = 64  # masters of a node in a file: every node has room for as many


def as_fields(ties: Ties | None, n_nodes: int) -> dict[str, NDArray[Any]]:
    """Return the constraints as fields; none if a node has too many masters.

    ``constraint_nodes``, (n, 1 + m) int32, has the number of each node and its masters, then -1;
    ``constraint_weights``, (n, m), their weights.
    """
    if ties is None:
        return {}
    slaves, ptr, masters, weights = ties
    counts = np.diff(ptr)
    most = int(counts.max(initial=1))
    if most > _MOST:
        return {}
    nodes = np.full((n_nodes, 1 + most), -1, dtype=np.int32)
    shares = np.zeros((n_nodes, most))
    nodes[:, 0] = np.arange(n_nodes)
    column = np.arange(len(masters)) - np.repeat(ptr[:-1], counts)
    row = np.repeat(slaves, counts)
    nodes[row, 1 + column] = masters
    shares[row, column] = weights
    return dict(zip(NAMES, (nodes, shares), strict=True))


def from_fields(nodes: NDArray[Any], weights: NDArray[Any], n_nodes: int) -> Ties | None:
    """Return the constraints of fields.

    None if the nodes have other numbers than in the fields, as after a program has left out some.

    Raises
    ------
    ValueError
        A master is no node number.
    """
    nodes, weights = np.asarray(nodes), np.asarray(weights)
    single = weights.dtype == np.float32
    weights = weights.astype(np.float64)
    weights = weights.reshape(len(weights), -1)
    if nodes.ndim != 2 or nodes.shape[1] < 2 or weights.shape != (n_nodes, nodes.shape[1] - 1):
        return None
    if not np.array_equal(nodes[:, 0], np.arange(n_nodes)):
        return None
    masters = nodes[:, 1:]
    good = np.isfinite(masters) & (masters == np.rint(masters)) & (masters >= -1)
    if not good.all():
        node, column = np.argwhere(~good)[0].tolist()
        raise ValueError(
            f"{NAMES[0]}[{node}, {column + 1}] is {masters[node, column]:g}, which is no node"
        )
    if masters.max() >= n_nodes:
        return None
    used = masters >= 0
    if single:
        total = np.where(used, weights, 0.0).sum(axis=1, keepdims=True)
        weights = weights / np.where(np.abs(total - 1.0) < _SINGLE, total, 1.0)
    counts = used.sum(axis=1)
    slaves = np.flatnonzero(counts)
    ptr = np.concatenate([[0], np.cumsum(counts[slaves])])
    return (
        slaves.astype(np.int32),
        ptr.astype(np.int32),
        masters[used].astype(np.int32),
        weights[used],
    )
