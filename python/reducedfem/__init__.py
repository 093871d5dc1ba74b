"""Real-time simulation of large-deformation solids by model reduction."""

from __future__ import annotations

from reducedfem._blas import right_kernels

with right_kernels():
    from reducedfem import _core as _core

del right_kernels

from reducedfem._run import set_threads, threads  # noqa: E402
from reducedfem._version import __version__ as __version__  # noqa: E402
from reducedfem.basis import Basis, mass_pca, modal_derivative_basis  # noqa: E402
from reducedfem.embedding import Embedding  # noqa: E402
from reducedfem.errors import (  # noqa: E402
    ConvergenceError,
    DivergedError,
    FileFormatError,
    InputError,
    InputTypeError,
    InternalError,
    MeshError,
    MissingMatplotlibError,
    ReducedFEMError,
    SingularMatrixError,
    StaticConvergenceError,
)
from reducedfem.explicit import (  # noqa: E402
    CentralDifferences,
    CentralReport,
    Spectrum,
    spectrum,
    stable_step,
)
from reducedfem.files import load  # noqa: E402
from reducedfem.integrator import ImplicitNewmark, NewmarkReport, State  # noqa: E402
from reducedfem.material import StVK  # noqa: E402
from reducedfem.mesh import Mesh, read_fixed, read_mesh, voxelize  # noqa: E402
from reducedfem.modes import Modes  # noqa: E402
from reducedfem.reduced import ReducedSolid, reduce  # noqa: E402
from reducedfem.solid import Solid, StaticReport  # noqa: E402
from reducedfem.sparse import CSC  # noqa: E402
from reducedfem.surface import Surface, read_surface  # noqa: E402
from reducedfem.system import system_info  # noqa: E402
from reducedfem.thinning import thin_samples, thin_shapes  # noqa: E402

__all__ = [
    "Basis",
    "CSC",
    "CentralDifferences",
    "CentralReport",
    "ConvergenceError",
    "DivergedError",
    "Embedding",
    "FileFormatError",
    "ImplicitNewmark",
    "InputError",
    "InputTypeError",
    "InternalError",
    "Mesh",
    "MeshError",
    "MissingMatplotlibError",
    "Modes",
    "NewmarkReport",
    "ReducedFEMError",
    "ReducedSolid",
    "SingularMatrixError",
    "Solid",
    "Spectrum",
    "StVK",
    "State",
    "StaticConvergenceError",
    "StaticReport",
    "Surface",
    "load",
    "mass_pca",
    "modal_derivative_basis",
    "read_fixed",
    "read_mesh",
    "read_surface",
    "reduce",
    "set_threads",
    "spectrum",
    "stable_step",
    "system_info",
    "thin_samples",
    "thin_shapes",
    "threads",
    "voxelize",
]
