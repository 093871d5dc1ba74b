"""Elastic laws by their published formulas, and deformations at which they are defined."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from reducedfem import _core

LAWS = _core.laws()
UNBOUNDED = [name for name, facts in LAWS.items() if not facts["defined_inverted"]]


def _stable_neo_hookean(square, J, lam, mu):
    """Smith, De Goes and Kim (2018), equation 14 with the constants of their section 3.4."""
    m, la = 4 / 3 * mu, lam + 5 / 6 * mu
    a = 1 + 3 * m / (4 * la)
    W = m / 2 * (square - 3) + la / 2 * ((J - a) ** 2 - (1 - a) ** 2)
    return W - m / 2 * np.log((square + 1) / 4)


def _neo_hookean(square, J, lam, mu):
    """Bonet and Wood (2008), equation 6.27."""
    return mu / 2 * (square - 3) - mu * np.log(J) + lam / 2 * np.log(J) ** 2


# W(|F|^2, det F, lambda, mu) of the laws that are not quadratic in Green's strain
PUBLISHED = {"StableNeoHookean": _stable_neo_hookean, "NeoHookean": _neo_hookean}


def published(law, F, lam, mu):
    """Return the energy density of deformation gradients (..., 3, 3), real or complex."""
    return PUBLISHED[law]((F**2).sum((-2, -1)), np.linalg.det(F), lam, mu)


def principal_stresses(one, stretches):
    """Return the principal first Piola-Kirchhoff stresses, slopes of the published energy."""
    rows = np.asarray(stretches) + 1e-30j * np.eye(3)
    return published(one.law, rows[:, :, None] * np.eye(3), *one.lame).imag / 1e-30


def determinants(G):
    """Return det(1 + G) of displacement gradients (m, 9)."""
    return np.linalg.det(np.reshape(G, (-1, 3, 3)) + np.eye(3))


def gradients(law, rng, n=30, size=0.4):
    """Return random displacement gradients (n, 9), well inside of the domain of a law."""
    drawn = size * rng.standard_normal((n, 9))
    while not LAWS[law]["defined_inverted"] and (low := determinants(drawn) < 0.3).any():
        drawn[low] = size * rng.standard_normal((low.sum(), 9))
    return drawn


def inside(solid, u):
    """Return displacements of a solid, shortened until all its laws are defined there."""
    if all(one.defined_inverted for one in solid.materials.values()):
        return u
    while True:
        try:
            solid.strain_energy(2 * u)  # a margin for differences
            return u
        except rf.InputError:
            u = 0.5 * u
