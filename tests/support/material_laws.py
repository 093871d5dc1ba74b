"""Elastic laws by their published formulas, and deformations at which they are defined."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from reducedfem import _core

LAWS = _core.laws()
UNBOUNDED = [name for name, facts in LAWS.items() if not facts["defined_inverted"]]


def _square(F):
    return (F**2).sum((-2, -1))


def _stable_neo_hookean(F, lam, mu):
    """Smith, De Goes and Kim (2018), equation 14 with the constants of their section 3.4."""
    m, la = 4 / 3 * mu, lam + 5 / 6 * mu
    a = 1 + 3 * m / (4 * la)
    square, J = _square(F), np.linalg.det(F)
    W = m / 2 * (square - 3) + la / 2 * ((J - a) ** 2 - (1 - a) ** 2)
    return W - m / 2 * np.log((square + 1) / 4)


def _neo_hookean(F, lam, mu):
    """Bonet and Wood (2008), equation 6.27."""
    J = np.linalg.det(F)
    return mu / 2 * (_square(F) - 3) - mu * np.log(J) + lam / 2 * np.log(J) ** 2


# W(F, parameters) of the laws that are not quadratic in Green's strain
PUBLISHED = {"StableNeoHookean": _stable_neo_hookean, "NeoHookean": _neo_hookean}


def _stvk(F, lam, mu):
    E = 0.5 * (np.swapaxes(F, -1, -2) @ F - np.eye(3))
    return lam / 2 * np.trace(E, axis1=-2, axis2=-1) ** 2 + mu * _square(E)


def published(law, F, *parameters):
    """Return the energy density of deformation gradients (..., 3, 3), real or complex."""
    return (PUBLISHED | {"StVK": _stvk})[law](F, *parameters)


def _slopes(law, stretches, parameters):
    """Return the slopes of the energy by the stretches, by a complex step."""
    rows = np.asarray(stretches) + 1e-30j * np.eye(3)
    return published(law, rows[:, :, None] * np.eye(3), *parameters).imag / 1e-30


def principal_stresses(one, stretches):
    """Return the principal first Piola-Kirchhoff stresses, slopes of the published energy."""
    return _slopes(one.law, stretches, one.parameters)


def published_hessian(law, stretches, *parameters):
    """Return slopes (3,) and second derivatives (3, 3) of the energy by the stretches."""

    def central(h):
        ways = h * np.eye(3)
        return [
            (_slopes(law, stretches + way, parameters) - _slopes(law, stretches - way, parameters))
            / (2 * h)
            for way in ways
        ]

    h = 1e-4
    block = (4 * np.array(central(h)) - central(2 * h)) / 3
    return _slopes(law, stretches, parameters), 0.5 * (block + block.T)


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
