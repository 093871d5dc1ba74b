"""Pointshells of spheres and of level grounds."""

from __future__ import annotations

import numpy as np

import reducedfem as rf


def fibonacci(n: int) -> np.ndarray:
    """Return points that cover the unit sphere evenly."""
    k = np.arange(n) + 0.5
    z, turn = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k
    flat = np.sqrt(1 - z * z)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)


def level(x, y=None, z: float = 0.0) -> rf.Pointshell:
    """Return a shell of the upper side at all pairs of x and y (None: x again), at the height z."""
    points = np.stack(np.meshgrid(x, x if y is None else y, [z], indexing="ij"), axis=-1)
    return rf.Pointshell(points.reshape(-1, 3), np.tile([0.0, 0.0, -1.0], (points.size // 3, 1)))


def sphere_shell(counts: tuple[int, ...] = (20, 60, 240), seed: int = 0) -> rf.Pointshell:
    """Return points of the unit sphere on levels, each level turned at random."""
    rng = np.random.default_rng(seed)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in counts]
    points = np.concatenate([fibonacci(n) @ turn for n, turn in zip(counts, turns, strict=True)])
    return rf.Pointshell(points, -points, np.repeat(np.arange(len(counts)), counts))
