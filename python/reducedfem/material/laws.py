"""Materials: constants of the elastic laws, which ``csrc/material`` evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import number
from reducedfem.base.frozen import frozen_array
from reducedfem.base.named_arguments import named_fields
from reducedfem.errors import InputError, InputTypeError

__all__ = ["Corotated", "LinearElastic", "MooneyRivlin", "NeoHookean", "StVK", "StableNeoHookean"]

_LAWS = _core.laws()


class Material:
    """A material: constants of the law of the core that has the name of the class."""

    kinds: ClassVar[dict[str, Any]] = {}
    law: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__name__ in _LAWS:
            cls.law = cls.__name__
            cls.kinds[cls.law] = cls

    if TYPE_CHECKING:  # fields of dataclasses below

        @property
        def density(self) -> float:
            """Mass density [kg/m^3]."""

        @property
        def lame(self) -> tuple[float, float]:
            """Lame constants lambda and mu [Pa] of isotropic laws."""

        @property
        def stiffness(self) -> NDArray[np.float64]:
            """Stiffness matrix at rest in Voigt's notation [Pa], shape (6, 6)."""

    @property
    def quadratic(self) -> bool:
        """True if the energy is quadratic in Green's strain, which `reduce` requires."""
        return bool(_LAWS[self.law]["quadratic"])

    @property
    def defined_inverted(self) -> bool:
        """True if energy and forces are finite where an element is inside out, too."""
        return bool(_LAWS[self.law]["defined_inverted"])

    @property
    def parameters(self) -> list[float]:
        """Parameters of the law in the order of the core [Pa]."""
        raise NotImplementedError

    @property
    def constants(self) -> dict[str, Any]:
        """Arguments of the class, as plain data."""
        raise NotImplementedError


@dataclass(frozen=True)
class Isotropic(Material):
    """A material with the constants of isotropic linear elasticity."""

    young: float
    poisson: float
    density: float

    def __post_init__(self) -> None:
        for name in ("young", "poisson", "density"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        if not self.young > 0:
            raise InputError(f"young must be positive [Pa], got {self.young:g}")
        if self.poisson >= 0.5:
            raise InputError(
                f"poisson must be below 0.5, got {self.poisson:g}: an incompressible material "
                "has an infinite bulk modulus, and these elements lock close to it; 0.45 or "
                "less is usual"
            )
        if not self.poisson > -1:
            raise InputError(f"poisson must be above -1, got {self.poisson:g}")
        if not self.density > 0:
            raise InputError(f"density must be positive [kg/m^3], got {self.density:g}")

    @property
    def lame(self) -> tuple[float, float]:
        """Lame constants lambda and mu [Pa] of small strains."""
        e, nu = self.young, self.poisson
        return e * nu / ((1 + nu) * (1 - 2 * nu)), e / (2 * (1 + nu))

    @property
    def stiffness(self) -> NDArray[np.float64]:
        """Stiffness matrix at rest in Voigt's notation [Pa], shape (6, 6); see `LinearElastic`."""
        return _core.law_rest(self.law, self.parameters)

    @property
    def parameters(self) -> list[float]:
        """Lame constants lambda and mu [Pa]."""
        return list(self.lame)

    @property
    def constants(self) -> dict[str, Any]:
        """Arguments of the class, as plain data."""
        return {"young": self.young, "poisson": self.poisson, "density": self.density}


@named_fields()
@dataclass(frozen=True)
class StVK(Isotropic):
    """St.Venant-Kirchhoff material: S = lambda tr(E) I + 2 mu E.

    S is the second Piola-Kirchhoff stress and E is Green's strain. The law is exact under any
    rotation (Barbic 2007, section 2.1). Under uniaxial compression its stiffness becomes negative
    below 1/sqrt(3) (58 %) of the rest length, so that large pressure turns elements inside out
    (see `Solid.solve_static`); `StableNeoHookean` resists it.

    Parameters
    ----------
    young
        Young's modulus [Pa], positive.
    poisson
        Poisson's ratio, above -1 and below 0.5.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or not a number.
    """


@named_fields()
@dataclass(frozen=True)
class StableNeoHookean(Isotropic):
    """Stable neo-Hookean material of Smith, De Goes and Kim (2018), for compression and inversion.

    With F the deformation gradient, I = |F|^2 and J = det F the energy density is

        W = mu/2 (I - 3) + lambda/2 ((J - a)^2 - (1 - a)^2) - mu/2 ln((I + 1)/4),

    with mu = 4/3 mu_L, lambda = lambda_L + 5/6 mu_L and a = 1 + 3 mu / (4 lambda). At small strains
    it is linear elasticity with Lame's constants lambda_L and mu_L of `young` and `poisson`. Energy
    and forces are finite for any deformation, inverted elements included, and stiffness
    grows under compression, where that of `StVK` becomes negative.
    The energy is not a polynomial of the displacements: `Solid` and `ProjectedSolid` have this
    material; `reduce` accepts it with a `Cubature`.

    Parameters
    ----------
    young
        Young's modulus at small strains [Pa], positive.
    poisson
        Poisson's ratio at small strains, above -1 and below 0.5.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or not a number.
    """


@named_fields()
@dataclass(frozen=True)
class NeoHookean(Isotropic):
    """Compressible neo-Hookean material, for strong compression without inversion.

    With F the deformation gradient, I = |F|^2 and J = det F the energy density is

        W = mu/2 (I - 3) - mu ln J + lambda/2 (ln J)^2

    with Lame's constants lambda and mu of `young` and `poisson` at small strains (Bonet and Wood
    2008, section 6.4.3). It grows without bound as J falls to zero, so no element is ever turned
    inside out: increments of statics and of implicit steps are shortened before, an explicit step
    that does it fails (`DivergedError`), and displacements that do it are refused. Where inversion
    cannot be avoided, use `StableNeoHookean`.
    The energy is not a polynomial of the displacements: `Solid` and `ProjectedSolid` have this
    material; `reduce` accepts it with a `Cubature`.

    Parameters
    ----------
    young
        Young's modulus at small strains [Pa], positive.
    poisson
        Poisson's ratio at small strains, above -1 and below 0.5.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or not a number.
    """


@named_fields()
@dataclass(frozen=True)
class Corotated(Isotropic):
    """Corotated linear material: linear elasticity in the frame of the rotation of each point.

    With the rotation R nearest to the deformation gradient F, F = U diag(s) V^T and R = U V^T, the
    energy density is

        W = mu |F - R|^2 + lambda/2 (tr(R^T F) - 3)^2
          = mu sum_i (s_i - 1)^2 + lambda/2 (s_1 + s_2 + s_3 - 3)^2

    with Lame's constants lambda and mu of `young` and `poisson` (Chao, Pinkall, Sanan and Schroeder
    2010). Stress is linear in the stretches s_i, under compression as under tension; the smallest
    stretch is negative in inverted elements, which recover. The energy stays finite as the volume
    vanishes, so strong compression may invert elements, and has a kink where s_2 + s_3 = 0 for
    the two smallest.
    The energy is not a polynomial of the displacements: `Solid` and `ProjectedSolid` have this
    material; `reduce` accepts it with a `Cubature`.

    Parameters
    ----------
    young
        Young's modulus at small strains [Pa], positive.
    poisson
        Poisson's ratio at small strains, above -1 and below 0.5.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or not a number.
    """


@named_fields()
@dataclass(frozen=True)
class MooneyRivlin(Material):
    """Compressible Mooney-Rivlin material, for rubber with measured constants c1 and c2.

    With F the deformation gradient, I = |F|^2, II = |cof F|^2 and J = det F the energy density is

        W = c1 (I - 3) + c2 (II - 3) + kappa/2 (J - 1)^2 - (2 c1 + 4 c2) ln J

    (Ciarlet and Geymonat 1982). At small strains the shear modulus is 2 (c1 + c2), and kappa
    follows from the bulk modulus: kappa = bulk - 4/3 c1 - 16/3 c2. With c2 = 0 it is a neo-Hookean
    material with another volume term. It grows without bound as J falls to zero, so no element is
    ever turned inside out, as for `NeoHookean`.
    The energy is not a polynomial of the displacements: `Solid` and `ProjectedSolid` have this
    material; `reduce` accepts it with a `Cubature`.

    Parameters
    ----------
    c1, c2
        Constants of the invariants I and II [Pa], not negative, one of them positive.
    bulk
        Bulk modulus at small strains [Pa], at least 4/3 c1 + 16/3 c2. Rubber has about a thousand
        times the shear modulus; elements of first order lock above about ten times.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or not a number.
    """

    c1: float
    c2: float
    bulk: float
    density: float

    def __post_init__(self) -> None:
        for name in ("c1", "c2", "bulk"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        for name in ("c1", "c2"):
            if getattr(self, name) < 0:
                raise InputError(
                    f"{name} must not be negative [Pa], got {getattr(self, name):g}: the energy "
                    "would fall under large strains; fit the other constant with this one at zero"
                )
        if not self.c1 + self.c2 > 0:
            raise InputError("c1 or c2 must be positive [Pa], but both are 0")
        least = (4 * self.c1 + 16 * self.c2) / 3
        if not self.bulk >= least:
            raise InputError(
                f"bulk must be at least 4/3 c1 + 16/3 c2 = {least:g} Pa, got {self.bulk:g}: the "
                "energy would fall under large expansion; rubber has about a thousand times this"
            )
        object.__setattr__(self, "density", _density(self.density))

    @property
    def lame(self) -> tuple[float, float]:
        """Lame constants lambda and mu [Pa] of small strains."""
        c1, c2, kappa = self.parameters
        return 4 * c2 + kappa, 2 * (c1 + c2)

    @property
    def stiffness(self) -> NDArray[np.float64]:
        """Stiffness matrix at rest in Voigt's notation [Pa], shape (6, 6); see `LinearElastic`."""
        return _core.law_rest(self.law, self.parameters)

    @property
    def parameters(self) -> list[float]:
        """Constants c1, c2 and kappa of the energy [Pa]."""
        return [self.c1, self.c2, max(self.bulk - (4 * self.c1 + 16 * self.c2) / 3, 0.0)]

    @property
    def constants(self) -> dict[str, Any]:
        """Arguments of the class, as plain data."""
        return {"c1": self.c1, "c2": self.c2, "bulk": self.bulk, "density": self.density}


# names of the two laws in files
STVK_LAW = "St.Venant-Kirchhoff"
LINEAR_LAW = "linear in Green's strain"

# the rows of Voigt's notation as index pairs
_VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
# relative asymmetry allowed for rounding in the computation of the entries
_ASYMMETRY = 1e-9


def _density(value: object) -> float:
    density = number(value, "density")
    if not density > 0:
        raise InputError(f"density must be positive [kg/m^3], got {density:g}")
    return density


def _frame(axes: ArrayLike) -> NDArray[np.float64]:
    frame = frozen_array(axes, "axes")
    if frame.shape != (3, 3):
        raise InputError(f"axes must have shape (3, 3), one axis a row, got {frame.shape}")
    if not np.allclose(frame @ frame.T, np.eye(3), rtol=0.0, atol=1e-9):
        raise InputError("axes must be three orthonormal rows; see numpy.linalg.qr")
    if np.linalg.det(frame) < 0:
        raise InputError("axes must be right-handed; change the sign of one")
    return frame


@named_fields("; of a Young's modulus: StVK(young, poisson, density)")
@dataclass(frozen=True, eq=False)
class LinearElastic(Material):
    """General linear material: S = C : E with 21 constants (Barbic 2007, equation 2.14).

    S is the second Piola-Kirchhoff stress and E is Green's strain, so the law is exact under any
    rotation; `StVK` is its isotropic case. C is given as a matrix in Voigt's notation: stresses
    xx yy zz yz zx xy = `stiffness` @ (E_xx, E_yy, E_zz, 2 E_yz, 2 E_zx, 2 E_xy), along the axes
    of the mesh.

    Parameters
    ----------
    stiffness
        Symmetric positive definite stiffness matrix [Pa], shape (6, 6).
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        `stiffness` is not symmetric, not positive definite or has a wrong shape; `density`
        is not positive.

    See Also
    --------
    LinearElastic.orthotropic, LinearElastic.fibres, LinearElastic.rotated
    """

    stiffness: NDArray[np.float64]
    density: float

    def __post_init__(self) -> None:
        matrix = frozen_array(self.stiffness, "stiffness")
        if matrix.shape != (6, 6):
            raise InputError(f"stiffness must have shape (6, 6), got {matrix.shape}")
        difference = np.abs(matrix - matrix.T)
        if difference.max() > _ASYMMETRY * np.abs(matrix).max():
            i, j = np.unravel_index(int(difference.argmax()), (6, 6))
            raise InputError(
                f"stiffness must be symmetric, but [{i}, {j}] is {matrix[i, j]:g} and [{j}, {i}] "
                f"is {matrix[j, i]:g}"
            )
        symmetric = 0.5 * (matrix + matrix.T)
        if not (np.abs(symmetric) < 1e300).all():
            raise InputError(f"stiffness must be below 1e300 Pa, got {np.abs(symmetric).max():g}")
        low = np.linalg.eigvalsh(symmetric)[0]
        if not low > 0:
            raise InputError(
                f"stiffness must be positive definite, but its lowest eigenvalue is {low:g} Pa: "
                "some strain would set energy free"
            )
        object.__setattr__(self, "stiffness", frozen_array(symmetric, "stiffness"))
        object.__setattr__(self, "density", _density(self.density))

    @classmethod
    def orthotropic(
        cls,
        young: Sequence[float],
        poisson: Sequence[float],
        shear: Sequence[float],
        density: float,
        axes: ArrayLike | None = None,
    ) -> LinearElastic:
        """Return a material with three planes of symmetry, such as wood or layered composites.

        Parameters
        ----------
        young
            Young's moduli along the three axes, (E_1, E_2, E_3) [Pa].
        poisson
            Poisson's ratios (nu_23, nu_31, nu_12): nu_ij is the contraction along j under tension
            along i.
        shear
            Shear moduli (G_23, G_31, G_12) [Pa].
        density
            Mass density [kg/m^3].
        axes
            Axes of the material in the axes of the mesh, one per row, orthonormal and
            right-handed, shape (3, 3); None: the axes of the mesh.

        Returns
        -------
        LinearElastic

        Raises
        ------
        InputError, InputTypeError
            A value is not finite or not positive, or the energy of the material is not positive
            definite.
        """
        given = {"young": young, "poisson": poisson, "shear": shear}
        e, nu, g = (frozen_array(value, name) for name, value in given.items())
        for array, name in ((e, "young"), (nu, "poisson"), (g, "shear")):
            if array.shape != (3,):
                raise InputError(f"{name} must have shape (3,), got {array.shape}")
            if name != "poisson" and not (array > 0).all():
                i = int(np.argmin(array))
                raise InputError(f"{name}[{i}] must be positive [Pa], got {array[i]:g}")
        compliance = np.diag(np.concatenate([1 / e, 1 / g]))
        for i, j, ratio in ((1, 2, nu[0]), (2, 0, nu[1]), (0, 1, nu[2])):
            compliance[i, j] = compliance[j, i] = -ratio / e[i]
        if not np.isfinite(compliance).all():
            raise InputError("poisson over young is not finite")
        low = np.linalg.eigvalsh(compliance)[0]
        if not low > 0:
            raise InputError(
                f"poisson = {nu.tolist()} is impossible with young = {e.tolist()}: some strain "
                "would set energy free"
            )
        material = cls(np.linalg.inv(compliance), density)
        return material if axes is None else material.rotated(axes)

    @classmethod
    def fibres(
        cls,
        direction: ArrayLike,
        young_along: float,
        young_across: float,
        poisson_along: float,
        poisson_across: float,
        shear_along: float,
        density: float,
    ) -> LinearElastic:
        """Return a transversely isotropic material with fibres in one direction, such as muscle.

        Parameters
        ----------
        direction
            Direction of the fibres, shape (3,), of any length except zero.
        young_along, young_across
            Young's moduli along and across the fibres [Pa].
        poisson_along
            Poisson's ratio: contraction across the fibres under tension along them.
        poisson_across
            Poisson's ratio: contraction across the fibres under tension across them.
        shear_along
            Shear modulus in planes that contain the fibres [Pa].
        density
            Mass density [kg/m^3].

        Returns
        -------
        LinearElastic

        Raises
        ------
        InputError, InputTypeError
            `direction` is zero, or a constant is out of its range.
        """
        axis = frozen_array(direction, "direction")
        if axis.shape != (3,):
            raise InputError(f"direction must have shape (3,), got {axis.shape}")
        largest = np.abs(axis).max()
        if not largest > 0:
            raise InputError("direction must not be zero")
        axis = axis / largest  # squares cannot overflow
        length = float(np.linalg.norm(axis))
        along, across = number(young_along, "young_along"), number(young_across, "young_across")
        ratio = number(poisson_across, "poisson_across")
        if not ratio > -1:
            raise InputError(f"poisson_across must be above -1, got {ratio:g}")
        # fibres along the first axis; nu_31 = nu_13 E_3 / E_1
        nu = number(poisson_along, "poisson_along")
        shear = number(shear_along, "shear_along")
        first = axis / length
        # any two other axes that complete a right-handed frame
        second = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
        second /= np.linalg.norm(second)
        return cls.orthotropic(
            (along, across, across),
            (ratio, nu * across / along if along > 0 else nu, nu),
            (across / (2 * (1 + ratio)), shear, shear),
            density,
            np.array([first, second, np.cross(first, second)]),
        )

    def rotated(self, axes: ArrayLike) -> LinearElastic:
        """Return the material rotated with its axes.

        Parameters
        ----------
        axes
            New directions of the x, y and z axes of the material, one per row, orthonormal and
            right-handed, shape (3, 3).

        Returns
        -------
        LinearElastic

        Raises
        ------
        InputError, InputTypeError
            `axes` is not orthonormal or not right-handed.
        """
        frame = _frame(axes)
        # e' = T e: engineering strains in the axes of the material from those of the mesh
        turn = np.empty((6, 6))
        for row, (i, j) in enumerate(_VOIGT):
            for column, (k, m) in enumerate(_VOIGT):
                product = frame[i, k] * frame[j, m]
                if k != m:
                    product = 0.5 * (product + frame[i, m] * frame[j, k])
                turn[row, column] = product * (2.0 if i != j else 1.0)
        return LinearElastic(turn.T @ self.stiffness @ turn, self.density)

    @property
    def parameters(self) -> list[float]:
        """Stiffness matrix [Pa], row by row."""
        return list(self.stiffness.ravel())

    @property
    def constants(self) -> dict[str, Any]:
        """Arguments of the class, as plain data."""
        return {"stiffness": self.stiffness.tolist(), "density": self.density}

    def __repr__(self) -> str:
        low, high = np.linalg.eigvalsh(self.stiffness)[[0, -1]]
        return f"<LinearElastic: {low:.3g} to {high:.3g} Pa, {self.density:g} kg/m^3>"


# kinds that files describe by the names of their constants alone
_BY_CONSTANTS: tuple[type[Material], ...] = (StVK, LinearElastic)


def to_plain(material: Material) -> dict[str, Any]:
    """Return a material as plain data, for files."""
    plain = material.constants
    return plain if isinstance(material, _BY_CONSTANTS) else {"law": material.law, **plain}


def from_plain(data: object) -> Material:
    """Return the material described by `to_plain`; refuse other data."""
    if isinstance(data, Mapping):
        given = dict(data)
        law = given.pop("law", None)
        for kind in Material.kinds.values():
            named = None if kind in _BY_CONSTANTS else kind.law
            if named == law and set(given) == {one.name for one in fields(kind)}:
                material: Material = kind(**given)
                return material
    raise InputError(
        "a material has young and poisson, or stiffness, and density; if it is neither an StVK nor "
        "a LinearElastic, it has a law too"
    )


def require_material(value: object, name: str) -> Material:
    """Return the argument `name`, one material; refuse other types."""
    if not isinstance(value, Material):
        kinds = " or ".join(Material.kinds)
        raise InputTypeError(f"{name} must be a material ({kinds}), got {type(value).__name__}")
    return value
