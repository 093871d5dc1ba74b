"""Beams that are held at one end."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from shapes import solid_box


def make_beam(n=(8, 2, 2), size=(0.8, 0.1, 0.1)):
    return solid_box(n, size, rf.StVK(1e6, 0.3, 1000.0))


def tip_of(solid):
    x = solid.mesh.nodes
    return np.flatnonzero(x[:, 0] > x[:, 0].max() - 1e-9)


def mass_of(solid):
    return solid.mass().to_dense()
