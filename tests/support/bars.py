"""A bar that is held at one end, and points on its top."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from shapes import solid_box
from shells import level

SIZE = (0.2, 0.03, 0.03)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def bar(young=1e6, density=1000.0, r=9, k=5):
    solid = solid_box((12, 3, 3), SIZE, rf.StVK(young, 0.4, density))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k, r))


def top_of(model, n=(60, 13), begin=0.0):
    x, y = np.linspace(begin, 0.2, n[0]), np.linspace(0.0, 0.03, n[1])
    return rf.PointTree(level(x, y, 0.03), model)
