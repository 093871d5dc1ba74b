"""Exceptions and warnings of reducedfem.

Every exception derives from `ReducedFEMError` and from the built-in exception that
fits, so both ``except rf.ReducedFEMError`` and ``except ValueError`` work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reducedfem.base.static_report import StaticReport

__all__ = [
    "ConvergenceError",
    "DeviceError",
    "DivergedError",
    "FileFormatError",
    "GeometryWarning",
    "InputError",
    "InputTypeError",
    "InternalError",
    "MeshError",
    "MissingMatplotlibError",
    "MissingPackageError",
    "PlausibilityWarning",
    "ReducedFEMError",
    "SingularMatrixError",
    "StaticConvergenceError",
    "StudyError",
    "WorkerError",
]


class ReducedFEMError(Exception):
    """Base of all errors of this package."""


class InputError(ReducedFEMError, ValueError):
    """An argument has a wrong value, shape or index."""


class InputTypeError(ReducedFEMError, TypeError):
    """An argument has a wrong type or dtype."""


class MeshError(InputError):
    """A mesh or surface is not usable: inverted, degenerate, empty, or free to move rigidly."""


class MissingPackageError(ReducedFEMError, ImportError):
    """An optional package is not installed; the message names it and says how to install it."""


class MissingMatplotlibError(MissingPackageError):
    """Matplotlib, which is required for pictures, is not installed."""


class SingularMatrixError(ReducedFEMError, LinAlgError):
    """A matrix is singular or not positive definite."""


class ConvergenceError(ReducedFEMError, RuntimeError):
    """An iteration did not reach its tolerance."""


class StaticConvergenceError(ConvergenceError):
    """No static equilibrium was found under the whole load; contains the part reached.

    Parameters
    ----------
    message
        Text with the fraction of the load reached and the reason of the failure.
    displacement
        Equilibrium under ``report.fraction`` of the load [m], shape (n, 3).
    report
        Statistics of the attempt.
    """

    def __init__(
        self, message: str, displacement: NDArray[np.float64], report: StaticReport
    ) -> None:
        super().__init__(message)
        self.displacement = displacement
        self.report = report

    def __reduce__(self) -> tuple[type[StaticConvergenceError], tuple[Any, ...]]:
        return StaticConvergenceError, (self.args[0], self.displacement, self.report)


class DivergedError(ReducedFEMError, RuntimeError):
    """A simulation became non-finite or moved far beyond its size; the last valid state is kept."""


class DeviceError(ReducedFEMError, OSError):
    """A device is missing, cannot be opened or has failed; the message names the device."""


class FileFormatError(ReducedFEMError, OSError):
    """A file is missing, unreadable, damaged or of another format than its name says."""


class WorkerError(ReducedFEMError, RuntimeError):
    """A worker process of an executor died while it executed a task, for example of memory."""


class StudyError(ReducedFEMError, RuntimeError):
    """A point of a study failed; the message names it, and ``__cause__`` is its error.

    Parameters
    ----------
    message
        Text with the point and its error.
    study
        A `Study` with the results of all points that were complete by then.
    """

    def __init__(self, message: str, study: Any) -> None:
        super().__init__(message)
        self.study = study

    def __reduce__(self) -> tuple[type[StudyError], tuple[Any, ...]]:
        return StudyError, (self.args[0], self.study)


class InternalError(ReducedFEMError, RuntimeError):
    """A bug in reducedfem; please report it with the script that caused it."""


class GeometryWarning(UserWarning):
    """A shape is probably wrong.

    A shell or a field lies beside the mesh to which it is attached (probably a wrong unit or
    position), or a surface is so open that its inside is uncertain.

    ``warnings.simplefilter("error", rf.GeometryWarning)`` turns the warning into an error, and
    ``"ignore"`` silences it.
    """


class PlausibilityWarning(UserWarning):
    """A unit, a support, a cell size or an argument is probably wrong.

    ``warnings.simplefilter("error", rf.PlausibilityWarning)`` turns the warning into an error, and
    ``"ignore"`` silences it.
    """
