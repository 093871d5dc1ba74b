"""Elastic laws by their published formulas, and deformations at which they are defined."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from reducedfem import _core
from reducedfem.material.laws import Material

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


def _mooney_rivlin(F, c1, c2, kappa):
    """Ogden (1997), section 7.2: the invariants of F^T F, and its volume terms."""
    C, J = np.swapaxes(F, -1, -2) @ F, np.linalg.det(F)
    second = 0.5 * (_square(F) ** 2 - _square(C))
    W = c1 * (_square(F) - 3) + c2 * (second - 3)
    return W + kappa / 2 * (J - 1) ** 2 - (2 * c1 + 4 * c2) * np.log(J)


def _corotated(F, lam, mu):
    """Linear elasticity of the polar factor, whose trace x is a root of a quartic.

    With p = s_1 s_2 + s_2 s_3 + s_3 s_1:  x^2 = |F|^2 + 2 p  and  p^2 = |cof F|^2 + 2 x det F.
    """
    C, J, square = np.swapaxes(F, -1, -2) @ F, np.linalg.det(F), _square(F)
    second = 0.5 * (square**2 - _square(C))
    s = np.linalg.svd(F.real, compute_uv=False)
    x = s[..., 0] + s[..., 1] + np.where(J.real < 0, -1, 1) * s[..., 2]
    for _ in range(2):  # one step would do for complex steps
        p = 0.5 * (x * x - square)
        x = x - (p * p - second - 2 * x * J) / (2 * p * x - 2 * J)
    return mu * (square - 2 * x + 3) + lam / 2 * (x - 3) ** 2


# W(F, parameters) of the laws that are not quadratic in Green's strain
PUBLISHED = {
    "StableNeoHookean": _stable_neo_hookean,
    "NeoHookean": _neo_hookean,
    "MooneyRivlin": _mooney_rivlin,
    "Corotated": _corotated,
}


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


def rubber(law, young, poisson, density=1000.0):
    """Return an isotropic material of a law with the moduli at small strains."""
    kind = Material.kinds[law]
    if law != "MooneyRivlin":
        return kind(young, poisson, density)
    lam, mu = rf.StVK(young, poisson, density).lame
    c2 = min(0.1 * mu, lam / 4)  # bulk must not be less than its least
    return kind(mu / 2 - c2, c2, (lam + 2 / 3 * mu) * (1 + 1e-15), density)


def lame(law, parameters):
    """Return Lame's constants at rest; None for anisotropic laws."""
    if law == "LinearElastic":
        return None
    if law == "MooneyRivlin":
        c1, c2, kappa = parameters
        return 4 * c2 + kappa, 2 * (c1 + c2)
    return parameters


def determinants(G):
    """Return det(1 + G) of displacement gradients (m, 9)."""
    return np.linalg.det(np.reshape(G, (-1, 3, 3)) + np.eye(3))


def _beside_kink(law, G):
    """Return where two stretches, of which the smallest has the sign of det F, nearly cancel."""
    if law != "Corotated":
        return np.zeros(len(G), dtype=bool)
    s = np.linalg.svd(G.reshape(-1, 3, 3) + np.eye(3), compute_uv=False)
    return s[:, 1] + np.sign(determinants(G)) * s[:, 2] < 0.3


def gradients(law, rng, n=30, size=0.4):
    """Return random displacement gradients (n, 9), well inside of the domain of a law."""
    drawn = size * rng.standard_normal((n, 9))

    def outside():
        low = determinants(drawn) < 0.3
        return low & (not LAWS[law]["defined_inverted"]) | _beside_kink(law, drawn)

    while (bad := outside()).any():
        drawn[bad] = size * rng.standard_normal((bad.sum(), 9))
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
