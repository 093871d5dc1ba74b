"""Cubatures: the energy of reduced models by a few points of the mesh, for any material."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import count, number, reals
from reducedfem.base.frozen import frozen_array
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.io.tensors import Refused
from reducedfem.solid.plausible import RETRAIN
from reducedfem.solid.solid import Solid

__all__ = [
    "ERRORS",
    "FEWEST_POSES",
    "MOST_NUMBERS",
    "MOST_POINTS",
    "MOST_SEED",
    "Cubature",
    "CubatureReport",
    "errors_of",
    "reduce_by_cubature",
]

MOST_POINTS = 4096  # RF_CUBATURE_MAX_POINTS in csrc/cubature/build.h
MOST_NUMBERS = 1 << 17  # RF_CUBATURE_MAX_NUMBERS in csrc/cubature/build.h
MOST_SEED = 2**64 - 1
FEWEST_POSES = 5  # RF_CUBATURE_HOLD in csrc/cubature/build.h
# worth a warning: error of the forces of poses held out, of frequencies, part of the coordinates
# that is exercised, strain below which laws are linear
_FAR_OFF, _OUT_OF_TUNE, _ONE_SIDED, _SMALL = 0.02, 0.05, 0.5, 1e-6
_WEAK = 1.0 / 3.0  # strain of drawn poses over that asked for, below which a warning is due
_ASKED = "strain_asked"  # entry of the provenance of models whose poses were drawn
# other entries of the provenance of a model
ERRORS = (
    "training_poses",
    "held_out_poses",
    "exercised",
    "strain",
    "training_error",
    "error",
    "largest_error",
    "frequency_error",
)


@dataclass(frozen=True, eq=False)
class Cubature:
    """Settings of the cubature of a reduced model, for `reduce`.

    The energy of the model is a sum over a few quadrature points of the mesh with positive
    weights, which are found by non-negative least squares from forces at training poses (An, Kim
    and James 2008; Farhat, Avery, Chapman and Cortial 2014). Every fifth pose is held out: it does
    not train, and measures the error. See ``docs/cubature.md``.

    Parameters
    ----------
    points
        Most points, up to 4096. A mesh with fewer quadrature points keeps them all, and its forces
        are exact.
    tolerance
        Training error, relative, from 0 to below 1: no points are added once it is smaller. 0:
        use all `points`.
    poses
        Training poses in reduced coordinates (k, r), at least 5, none of them at rest. Use several
        times r different ones: errors are known for poses of their kind only. None: draw `n_poses`
        static equilibria under random loads.
    n_poses
        Number of poses to draw, at least 5; ignored if `poses` are given.
    strain
        Largest Green strain (Frobenius norm) of the linear response to the loads drawn, positive;
        ignored if `poses` are given. The errors reported hold up to about that of
        `CubatureReport.strain`, which is less where bodies stiffen; simulations warn beyond it.
    seed
        Start of the random numbers, 0 to 2^64 - 1. The same seed gives the same model.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range, not finite or of a wrong type.

    Notes
    -----
    `reduce` warns if the poses drawn reach less than a third of `strain`, because thin parts
    stiffen under their loads. Then use a larger `strain`.
    """

    points: int = 200
    tolerance: float = 0.0
    poses: ArrayLike | None = field(default=None, repr=False)
    n_poses: int = 100
    strain: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        count(self.points, "points", MOST_POINTS)
        if not 0.0 <= number(self.tolerance, "tolerance") < 1.0:
            raise InputError(f"tolerance must be at least 0 and below 1, got {self.tolerance}")
        if self.poses is not None:
            poses = frozen_array(self.poses, "poses")
            if poses.ndim != 2 or len(poses) < FEWEST_POSES:
                raise InputError(
                    f"poses must have shape (k, r) with k at least {FEWEST_POSES}, got "
                    f"{poses.shape}"
                )
            object.__setattr__(self, "poses", poses)
        if count(self.n_poses, "n_poses", MOST_NUMBERS) < FEWEST_POSES:
            raise InputError(f"n_poses must be at least {FEWEST_POSES}, got {self.n_poses}")
        if not number(self.strain, "strain") > 0.0:
            raise InputError(f"strain must be positive, got {self.strain}")
        if isinstance(self.seed, bool | np.bool_) or not isinstance(self.seed, int | np.integer):
            raise InputTypeError(f"seed must be an int, got {type(self.seed).__name__}")
        if not 0 <= self.seed <= MOST_SEED:
            raise InputError(f"seed must be between 0 and 2^64 - 1, got {self.seed}")


@dataclass(frozen=True, eq=False)
class CubatureReport:
    """Cubature of a model, `ReducedSolid.cubature`: its points and its errors.

    The errors are those found when the model was made, before any `ReducedSolid.truncate`.

    Parameters
    ----------
    weights
        Weight of each point [m^3], positive, shape (p,).
    gradients
        Gradients of the basis at the points [1/m], row by row, shape (p, 9, r).
    regions
        Region of each point, shape (p,).
    training_poses, held_out_poses
        Numbers of poses.
    exercised
        Number of directions of the coordinates in which the training poses extend by more than a
        thousandth of their longest extent, in the energy norm; r at most. In other directions the
        stiffness of the chosen points is not trained.
    strain
        Largest Green strain (Frobenius norm) at the quadrature points of the mesh in all poses: the
        errors hold up to about this strain.
    training_error
        Relative error of the force at the training poses, in the energy norm of the body at rest,
        root mean square.
    error
        Error of the force at the poses held out, |f - f~| / |f|, root mean square. It is that of
        the cubature; the error of the basis comes on top.
    largest_error
        The largest of the same errors.
    frequency_error
        Largest relative error of the six lowest frequencies of vibration at rest, against those of
        the mesh in the span of the basis.
    strain_asked
        Strain for which poses were drawn, `Cubature.strain`; None if they were given.
    """

    weights: NDArray[np.float64]
    gradients: NDArray[np.float64]
    regions: NDArray[np.int32]
    training_poses: int
    held_out_poses: int
    exercised: int
    strain: float
    training_error: float
    error: float
    largest_error: float
    frequency_error: float
    strain_asked: float | None = None

    @property
    def strain_text(self) -> str:
        """Text of the strain reached and, if poses were drawn, of that asked for."""
        asked = "" if self.strain_asked is None else f" ({self.strain_asked:.2g} asked for)"
        return f"{self.strain:.2g}{asked}"

    def __repr__(self) -> str:
        return (
            f"<CubatureReport: {len(self.weights)} points, error {100 * self.error:.2g} % up to "
            f"strain {self.strain_text}, of frequencies {100 * self.frequency_error:.2g} %, "
            f"{self.exercised} directions exercised>"
        )


def require_cubature(value: object) -> Cubature:
    """Return the argument `cubature` of `reduce`; an int is a number of points."""
    if isinstance(value, Cubature):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return Cubature(points=count(value, "cubature", MOST_POINTS))
    raise InputTypeError(
        f"cubature must be a Cubature, a number of points or None, got {type(value).__name__}"
    )


def reduce_by_cubature(
    solid: Solid, vectors: NDArray[np.float64], settings: Cubature, progress: Progress
) -> tuple[_core.Reduced, dict[str, Any]]:
    """Return the model of the core and the entries ERRORS of its provenance; warn of errors."""
    r = len(vectors)
    if settings.poses is None:
        if settings.n_poses * r > MOST_NUMBERS:
            raise InputError(
                f"n_poses must be at most {MOST_NUMBERS // r} for {r} coordinates, got "
                f"{settings.n_poses}"
            )
        projected = _core.Projected(solid._core, vectors, threads())
        drawn = (settings.n_poses, settings.strain, settings.seed)
        with callback(progress, "poses") as tell:
            poses = _core.draw_poses(projected, *drawn, tell, threads())
    else:
        poses = reals(settings.poses, "poses")
        if poses.shape[1] != r:
            raise InputError(f"poses must have shape (any, {r}), got {poses.shape}")
    asked = 0.0 if settings.poses is not None else float(settings.strain)
    chosen = (poses, settings.points, settings.tolerance)
    with callback(progress, "cubature") as tell:
        core, report = _core.reduce_sampled(
            solid._core, vectors, *chosen, tell, threads(), 0, asked
        )
    entry = {name: report[name] for name in ERRORS}
    if asked:
        entry[_ASKED] = asked
    if report["candidates"]:
        _warn_of(entry, r, 4)
    return core, entry


def _warn_of(report: Mapping[str, Any], r: int, stacklevel: int) -> None:
    """Warn of a cubature that is far from the mesh, or of poses that cannot show it.

    report: entries of the provenance.
    """
    found = []
    if report["error"] > _FAR_OFF:
        found.append(
            f"the forces of the cubature differ from those of the mesh by "
            f"{100 * report['error']:.1f} % at poses held out (at most "
            f"{100 * report['largest_error']:.1f} %): use more points, more poses, or a smaller "
            "strain"
        )
    elif report["frequency_error"] > _OUT_OF_TUNE:
        found.append(
            f"the lowest frequencies of the cubature at rest differ from those of the mesh by up "
            f"to {100 * report['frequency_error']:.1f} %: use more points, or poses that differ "
            "more, small ones among them"
        )
    if report["exercised"] < _ONE_SIDED * r:
        found.append(
            f"the poses that train exercise {report['exercised']} of {r} directions of the "
            "coordinates, and the errors reported are those of such poses only: add poses that "
            "deform the solid in other ways, or leave out poses to draw them"
        )
    if report["strain"] < _SMALL:
        found.append(
            f"the poses strain the solid by {report['strain']:.2g} at most, so that the cubature "
            "is trained for small motions only: use larger poses"
        )
    elif report["strain"] < _WEAK * report.get(_ASKED, 0.0):
        found.append(
            f"the poses drawn strain the solid by {report['strain']:.2g} at most, though "
            f"{report[_ASKED]:.2g} is asked for: it stiffens under their loads. If simulations "
            f"warn of more strain, reduce with {RETRAIN}"
        )
    for text in found:
        warnings.warn(text, PlausibilityWarning, stacklevel=stacklevel + 1)


def errors_of(entry: object) -> dict[str, Any]:
    """Return the entries ERRORS of an untrusted provenance."""
    if not isinstance(entry, dict) or set(entry) - {_ASKED} != set(ERRORS):
        raise Refused("its entry 'cubature' does not hold the errors of a cubature")
    for name, value in entry.items():
        whole = name.endswith("poses") or name == "exercised"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise Refused(f"its entry {name!r} of the cubature is not a number")
        if not value >= 0:
            raise Refused(f"its entry {name!r} of the cubature is negative")
    return entry
