"""Real-time simulation of large-deformation solids by model reduction.

The way from a surface to real time, and what may be used on it; ``help(name)`` says the rest.
SI units; arrays are float64, fields over nodes (n, 3), reduced coordinates (r,).

Geometry
    `read_surface`, `Surface`; `read_mesh`, `Mesh` (tetrahedra or hexahedra, of first or second
    order), `voxelize` or `tetrahedralize` a surface, `read_fixed`; `Embedding` carries points
    along with a mesh, `Skin` a reduced surface, and answers with a `Pick`.
Solids
    `StVK`, `LinearElastic`: materials. `Solid` (`SolidSummary`): mass, energy, forces, statics
    (`StaticReport`), linear `Modes`, modal derivatives, its `RigidBody`; matrices are `CSC`.
    `StrainRateDamping`: of a solid, and reduced (`ReducedStrainRateDamping`).
Bases
    `modal_derivative_basis`: from nothing but the solid. `record` forces on a `LinearModel`
    as a `Recording` or `ForceSketch` and `sketch_basis` (`SketchReport`); `record_snapshots`
    of a motion and `pod_basis`; `mass_pca` of any deformations; `merge_bases`,
    `thin_samples`, `thin_shapes`. All give a `Basis`.
Reduced models
    `reduce` makes a `ReducedSolid`, exact cubic polynomials; ``save`` and `load`.
    `ProjectedSolid`: the same equations by way of the mesh, for large bases.
Motion
    `ImplicitNewmark` (`NewmarkReport`) and `CentralDifferences` (`CentralReport`,
    `stable_step`, `spectrum`, `Spectrum`) step all of these; `State` is where they are.
    `FreeBody`, `FreeBodyState`, `step_free_bodies`: bodies that nothing holds.
Contact
    One object is a `Field` of signed distances, negative inside: a `DistanceField` of a surface,
    on a grid; a `SphereField`, `BoxField`, `PlaneField` or `CapsuleField`; a `UnionField`,
    `IntersectionField`, `ComplementField` or `OffsetField` of others. The other is a
    `Pointshell`: points of its surface with inward normals (`Uniformity`: how evenly they lie),
    in a `PointTree`, which a reduced model may carry and deform. Files are as those of models.
    `PenaltyContact` of a tree with a field, at a `Pose` of the field's object, in bounded time:
    `ContactForce` (with `ContactPoints`), of many poses `ContactTrajectory`. Where the field's
    object deforms too: `DeformedField` in place of the field.
    `Voxmap`, `VoxmapContact` (`VoxmapForce`): two-bit voxels, the method of 1999 to compare with.
Haptics
    `VirtualCoupling`, `DynamicCoupling` (`CouplingStep`, `CouplingWrench`): what ties object and
    hand. `HapticSession` (`HapticSnapshot`, `HapticReport`, `HapticRecords`, `Workspace`) runs
    it with contact and simulations, in a thread of C, against a `Device`: `ReplayDevice`,
    `SimulatedHand`, `UdpDevice` (`UdpCounts`), `SpaceMouse`, `ForceDimension`, `OpenHaptics`;
    `probe_devices` (`DeviceProbe`) finds them. ``reducedfem.scenes``: sessions to run and copy.
Systems that are no solids
    `SecondOrderSystem`, its `SystemModes` and `SystemBasis`.
The machine
    `set_threads`, `threads`, `system_info`.
Errors
    `ReducedFEMError` is all of them: `InputError`, `InputTypeError`, `MeshError`,
    `FileFormatError`, `SingularMatrixError`, `ConvergenceError`, `StaticConvergenceError`,
    `DivergedError`, `DeviceError`, `MissingPackageError`, `MissingMatplotlibError`,
    `InternalError`; `GeometryWarning`, `PlausibilityWarning`.
"""

from __future__ import annotations

import typing as _typing

from reducedfem._blas import right_kernels
from reducedfem._libraries import explained

with right_kernels(), explained():
    from reducedfem import _core as _core

del right_kernels, explained

from reducedfem._load import load  # noqa: E402
from reducedfem._run import set_threads, threads  # noqa: E402
from reducedfem._version import __version__ as __version__  # noqa: E402
from reducedfem.basis import (  # noqa: E402
    Basis,
    SystemBasis,
    mass_pca,
    modal_derivative_basis,
)
from reducedfem.contact import (  # noqa: E402
    ContactForce,
    ContactPoints,
    ContactTrajectory,
    PenaltyContact,
)
from reducedfem.coupling import (  # noqa: E402
    CouplingStep,
    CouplingWrench,
    DynamicCoupling,
    VirtualCoupling,
)
from reducedfem.damping import StrainRateDamping  # noqa: E402
from reducedfem.deformed_field import DeformedField  # noqa: E402
from reducedfem.devices import (  # noqa: E402
    Device,
    DeviceProbe,
    ForceDimension,
    OpenHaptics,
    ReplayDevice,
    SimulatedHand,
    SpaceMouse,
    UdpCounts,
    UdpDevice,
    probe_devices,
)
from reducedfem.embedding import Embedding  # noqa: E402
from reducedfem.errors import (  # noqa: E402
    ConvergenceError,
    DeviceError,
    DivergedError,
    FileFormatError,
    GeometryWarning,
    InputError,
    InputTypeError,
    InternalError,
    MeshError,
    MissingMatplotlibError,
    MissingPackageError,
    PlausibilityWarning,
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
from reducedfem.field import (  # noqa: E402
    BoxField,
    CapsuleField,
    ComplementField,
    DistanceField,
    Field,
    IntersectionField,
    OffsetField,
    PlaneField,
    SphereField,
    UnionField,
)
from reducedfem.free_body import FreeBody, FreeBodyState, step_free_bodies  # noqa: E402
from reducedfem.haptic_records import HapticRecords  # noqa: E402
from reducedfem.haptic_report import HapticReport, HapticSnapshot  # noqa: E402
from reducedfem.haptics import HapticSession  # noqa: E402
from reducedfem.integrator import ImplicitNewmark, NewmarkReport, State  # noqa: E402
from reducedfem.linear_model import LinearModel  # noqa: E402
from reducedfem.material import LinearElastic, StVK  # noqa: E402
from reducedfem.merge import merge_bases  # noqa: E402
from reducedfem.mesh import Mesh, read_fixed, read_mesh, voxelize  # noqa: E402
from reducedfem.modes import Modes, SystemModes  # noqa: E402
from reducedfem.pod import pod_basis, record_snapshots  # noqa: E402
from reducedfem.point_tree import PointTree  # noqa: E402
from reducedfem.pointshell import Pointshell, Uniformity  # noqa: E402
from reducedfem.pose import Pose  # noqa: E402
from reducedfem.projected import ProjectedSolid  # noqa: E402
from reducedfem.reduced import ReducedSolid, reduce  # noqa: E402
from reducedfem.reduced_damping import ReducedStrainRateDamping  # noqa: E402
from reducedfem.rigid import RigidBody  # noqa: E402
from reducedfem.second_order import SecondOrderSystem  # noqa: E402
from reducedfem.sketch import ForceSketch, Recording, record  # noqa: E402
from reducedfem.sketch_basis import SketchReport, sketch_basis  # noqa: E402
from reducedfem.skin import Pick, Skin  # noqa: E402
from reducedfem.solid import Solid, SolidSummary, StaticReport  # noqa: E402
from reducedfem.sparse import CSC  # noqa: E402
from reducedfem.surface import Surface, read_surface  # noqa: E402
from reducedfem.system import system_info  # noqa: E402
from reducedfem.tetrahedra import tetrahedralize  # noqa: E402
from reducedfem.thinning import thin_samples, thin_shapes  # noqa: E402
from reducedfem.voxmap import Voxmap, VoxmapContact, VoxmapForce  # noqa: E402
from reducedfem.workspace import Workspace  # noqa: E402

__all__ = [
    "Basis",
    "BoxField",
    "CSC",
    "CapsuleField",
    "CentralDifferences",
    "CentralReport",
    "ComplementField",
    "ContactForce",
    "ContactPoints",
    "ContactTrajectory",
    "ConvergenceError",
    "CouplingStep",
    "CouplingWrench",
    "DeformedField",
    "Device",
    "DeviceError",
    "DeviceProbe",
    "DistanceField",
    "DivergedError",
    "DynamicCoupling",
    "Embedding",
    "Field",
    "FileFormatError",
    "ForceDimension",
    "ForceSketch",
    "FreeBody",
    "FreeBodyState",
    "GeometryWarning",
    "HapticRecords",
    "HapticReport",
    "HapticSession",
    "HapticSnapshot",
    "ImplicitNewmark",
    "InputError",
    "InputTypeError",
    "InternalError",
    "IntersectionField",
    "LinearElastic",
    "LinearModel",
    "Mesh",
    "MeshError",
    "MissingMatplotlibError",
    "MissingPackageError",
    "Modes",
    "NewmarkReport",
    "OffsetField",
    "OpenHaptics",
    "PenaltyContact",
    "Pick",
    "PlaneField",
    "PlausibilityWarning",
    "PointTree",
    "Pointshell",
    "Pose",
    "ProjectedSolid",
    "Recording",
    "ReducedFEMError",
    "ReducedSolid",
    "ReducedStrainRateDamping",
    "ReplayDevice",
    "RigidBody",
    "SecondOrderSystem",
    "SimulatedHand",
    "SingularMatrixError",
    "SketchReport",
    "Skin",
    "Solid",
    "SolidSummary",
    "SpaceMouse",
    "Spectrum",
    "SphereField",
    "StVK",
    "State",
    "StaticConvergenceError",
    "StaticReport",
    "StrainRateDamping",
    "Surface",
    "SystemBasis",
    "SystemModes",
    "UdpCounts",
    "UdpDevice",
    "Uniformity",
    "UnionField",
    "VirtualCoupling",
    "Voxmap",
    "VoxmapContact",
    "VoxmapForce",
    "Workspace",
    "load",
    "mass_pca",
    "merge_bases",
    "modal_derivative_basis",
    "pod_basis",
    "probe_devices",
    "read_fixed",
    "read_mesh",
    "read_surface",
    "record",
    "record_snapshots",
    "reduce",
    "set_threads",
    "sketch_basis",
    "spectrum",
    "stable_step",
    "step_free_bodies",
    "system_info",
    "tetrahedralize",
    "thin_samples",
    "thin_shapes",
    "threads",
    "voxelize",
]

if not _typing.TYPE_CHECKING:

    def __getattr__(name):
        """Raise the error for a name that is not there, with one that is like it."""
        from reducedfem._check import did_you_mean

        message = f"module 'reducedfem' has no attribute {name!r}{did_you_mean(name, __all__)}"
        # with an object Python would add a guess of its own
        raise AttributeError(message, name=name, obj=None)
