"""Real-time simulation of large-deformation solids by model reduction.

Public names in the order of use, from a surface to real time; ``help(name)`` has the details.
SI units; arrays are float64, fields at nodes (n, 3), reduced coordinates (r,).

Geometry
    `read_surface`, `Surface`; `read_mesh`, `Mesh` (`Constraints` of nodes), `join_meshes`,
    `voxelize` (`Grading`), `graded_tets` or `tetrahedralize` a surface, `read_fixed`; `Embedding`
    moves points with a mesh, `Skin` moves a surface with a reduced model and picks points (`Pick`).
Solids
    `StVK`, `LinearElastic`, `StableNeoHookean`, `NeoHookean`, `MooneyRivlin`, `Corotated`:
    materials. `Solid` (`SolidSummary`): mass, energy, forces, stress, statics (`StaticReport`),
    `Modes`, `RigidBody`; `CSC`, `ordering` (`set_ordering`, `Ordering`). `StrainRateDamping`,
    `ReducedStrainRateDamping`. Precomputed: `ControlElements`, `GreensFunctions` (`GreenSolution`,
    `GreenContact`, `GreenContacts`, `surface_load`), `CompositeBody` (`CompositeSolution`).
Bases
    `modal_derivative_basis`: from the solid alone. `sketch_basis` (`SketchReport`): from forces
    on a `LinearModel`, which `record` stores as a `Recording` or `ForceSketch`. `pod_basis`: from
    a motion, with `record_snapshots`. `mass_pca`: from any deformations. `merge_bases` combines
    bases; `thin_samples`, `thin_shapes` select samples. `lacking_compliance` checks a `Basis`.
Reduced models
    `reduce` creates a `ReducedSolid` with exact cubic forces, or for any material with a
    `Cubature` (`CubatureReport`); ``save``, `load`. `ProjectedSolid`: on the mesh, for large bases.
Motion
    `ImplicitNewmark`, `BackwardEuler`, `BDF2`, `TRBDF2`, `SDIRK2`, `GeneralizedAlpha`
    (`ImplicitReport`), `ExponentialEuler` (`ExponentialReport`) and `CentralDifferences`
    (`CentralReport`, `stable_step`, `spectrum`, `Spectrum`) integrate all these systems in time;
    results: `State`. `integrator` finds them by name, `amplification` (`Amplification`) compares
    them. In contact: `BarrierContact` (`BarrierState`); explicit, `RigidProxy` (`ProxyForce`).
    `FreeBody`, `FreeBodyState`, `step_free_bodies`: free bodies. `record_motion`: a `Motion`.
Contact
    One object is a `Field` of signed distances, negative inside: a `DistanceField` of a surface,
    on a grid; a `SphereField`, `BoxField`, `PlaneField` or `CapsuleField`; a `UnionField`,
    `IntersectionField`, `ComplementField` or `OffsetField`; or a `DeformedField` if it deforms.
    The other object is a `Pointshell`: surface points with inward normals (`Uniformity` of their
    spacing), in a `PointTree`, which may deform with a reduced model.
    A `Contact` of a tree with a field is evaluated at a `Pose` of the field's object, in bounded
    time: `ContactForce` (with `ContactPoints`), `ContactTrajectory`. Its laws: `PenaltyContact`,
    and `FrictionContact` (`LocalCompliance`) in sessions. Friction of compliances: `delassus`,
    `solve_friction` (`FrictionSolution`), `solve_friction_sweeps`, `solve_friction_pyramid`.
    `Voxmap`, `VoxmapContact` (`VoxmapForce`): two-bit voxels, the method of 1999 for comparison.
Worlds
    `World`: many free bodies in contact, offline (`WorldContacts`, `WorldReport`, `WorldMotion`).
Haptics
    `VirtualCoupling`, `DynamicCoupling` (`CouplingStep`, `CouplingWrench`) connect object and
    hand. `HapticSession` (`HapticSnapshot`, `BodySnapshot`, `HapticReader`, `HapticReport`,
    `HapticRecords`, `Workspace`) runs coupling, contact and simulations in a C thread with a
    `Device`: `ReplayDevice`, `SimulatedHand`, `MouseDevice`, `UdpDevice` (`UdpCounts`),
    `SpaceMouse`, `ForceDimension`, `OpenHaptics`; `probe_devices` (`DeviceProbe`) finds them.
    `PointProxyContact`: a surface felt directly. ``reducedfem.scenes``: example sessions.
Systems other than solids: `SecondOrderSystem`, its `SystemModes` and `SystemBasis`.
Pictures, files, the machine
    `view`: a page of most objects (`View`), to pull models. ``rf.plot``: figures, films; `threads`,
    `export_html`, `export_gltf`, `export_vtk`, `to_pyvista`; `system_info`, `set_threads`.
    `study` (`Study`): a function at many points, on threads, processes or a cluster.
Errors
    `ReducedFEMError` is the base class: `InputError`, `InputTypeError`, `MeshError`,
    `FileFormatError`, `SingularMatrixError`, `ConvergenceError`, `StaticConvergenceError`,
    `DivergedError`, `DeviceError`, `MissingPackageError`, `MissingMatplotlibError`, `StudyError`,
    `WorkerError`, `InternalError`; `GeometryWarning`, `PlausibilityWarning`.
"""

from __future__ import annotations

import typing as _typing

from reducedfem.base.blas import right_kernels
from reducedfem.base.libraries import explained

with right_kernels(), explained():
    from reducedfem import _core as _core

del right_kernels, explained

from reducedfem._load import load  # noqa: E402
from reducedfem._version import __version__ as __version__  # noqa: E402
from reducedfem.base.run import set_threads, threads  # noqa: E402
from reducedfem.base.sparse import CSC  # noqa: E402
from reducedfem.base.system import system_info  # noqa: E402
from reducedfem.contact.barrier import BarrierContact, BarrierState  # noqa: E402
from reducedfem.contact.contact import (  # noqa: E402
    Contact,
    ContactForce,
    ContactPoints,
    ContactTrajectory,
)
from reducedfem.contact.deformed_field import DeformedField  # noqa: E402
from reducedfem.contact.field import (  # noqa: E402
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
from reducedfem.contact.friction import (  # noqa: E402
    FrictionSolution,
    delassus,
    solve_friction,
    solve_friction_pyramid,
    solve_friction_sweeps,
)
from reducedfem.contact.frictional import FrictionContact  # noqa: E402
from reducedfem.contact.local import LocalCompliance  # noqa: E402
from reducedfem.contact.penalty import PenaltyContact  # noqa: E402
from reducedfem.contact.point_tree import PointTree  # noqa: E402
from reducedfem.contact.pointshell import Pointshell  # noqa: E402
from reducedfem.contact.rigid_proxy import ProxyForce, RigidProxy  # noqa: E402
from reducedfem.contact.uniformity import Uniformity  # noqa: E402
from reducedfem.contact.voxmap import Voxmap, VoxmapContact, VoxmapForce  # noqa: E402
from reducedfem.dynamics.amplification import Amplification, amplification  # noqa: E402
from reducedfem.dynamics.backward_euler import BackwardEuler  # noqa: E402
from reducedfem.dynamics.bdf2 import BDF2  # noqa: E402
from reducedfem.dynamics.explicit import (  # noqa: E402
    CentralDifferences,
    CentralReport,
    Spectrum,
    spectrum,
    stable_step,
)
from reducedfem.dynamics.exponential import ExponentialEuler, ExponentialReport  # noqa: E402
from reducedfem.dynamics.free_body import FreeBody, FreeBodyState, step_free_bodies  # noqa: E402
from reducedfem.dynamics.generalized_alpha import GeneralizedAlpha  # noqa: E402
from reducedfem.dynamics.implicit_report import ImplicitReport  # noqa: E402
from reducedfem.dynamics.integrator import State  # noqa: E402
from reducedfem.dynamics.named import integrator  # noqa: E402
from reducedfem.dynamics.newmark import ImplicitNewmark  # noqa: E402
from reducedfem.dynamics.recorded import Motion  # noqa: E402
from reducedfem.dynamics.sdirk2 import SDIRK2  # noqa: E402
from reducedfem.dynamics.snapshots import record_snapshots  # noqa: E402
from reducedfem.dynamics.trbdf2 import TRBDF2  # noqa: E402
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
    StudyError,
    WorkerError,
)
from reducedfem.geometry.constraints import Constraints  # noqa: E402
from reducedfem.geometry.embedding import Embedding  # noqa: E402
from reducedfem.geometry.graded_tets import graded_tets  # noqa: E402
from reducedfem.geometry.grading import Grading  # noqa: E402
from reducedfem.geometry.join import join_meshes  # noqa: E402
from reducedfem.geometry.mesh import Mesh  # noqa: E402
from reducedfem.geometry.mesh_files import read_fixed, read_mesh  # noqa: E402
from reducedfem.geometry.pose import Pose  # noqa: E402
from reducedfem.geometry.surface import Surface, read_surface  # noqa: E402
from reducedfem.geometry.tetrahedra import tetrahedralize  # noqa: E402
from reducedfem.geometry.voxels import voxelize  # noqa: E402
from reducedfem.green.composite import CompositeBody  # noqa: E402
from reducedfem.green.contacts import GreenContacts  # noqa: E402
from reducedfem.green.control import ControlElements  # noqa: E402
from reducedfem.green.functions import GreensFunctions  # noqa: E402
from reducedfem.green.loads import surface_load  # noqa: E402
from reducedfem.green.results import (  # noqa: E402
    CompositeSolution,
    GreenContact,
    GreenSolution,
)
from reducedfem.haptics.connected_devices import (  # noqa: E402
    ForceDimension,
    MouseDevice,
    OpenHaptics,
    SpaceMouse,
    UdpCounts,
    UdpDevice,
)
from reducedfem.haptics.coupling import (  # noqa: E402
    CouplingStep,
    CouplingWrench,
    DynamicCoupling,
    VirtualCoupling,
)
from reducedfem.haptics.devices import (  # noqa: E402
    Device,
    ReplayDevice,
    SimulatedHand,
)
from reducedfem.haptics.probes import DeviceProbe, probe_devices  # noqa: E402
from reducedfem.haptics.records import HapticRecords  # noqa: E402
from reducedfem.haptics.report import HapticReport  # noqa: E402
from reducedfem.haptics.session import HapticSession  # noqa: E402
from reducedfem.haptics.snapshot import (  # noqa: E402
    BodySnapshot,
    HapticReader,
    HapticSnapshot,
)
from reducedfem.haptics.workspace import Workspace  # noqa: E402
from reducedfem.material.laws import (  # noqa: E402
    Corotated,
    LinearElastic,
    MooneyRivlin,
    NeoHookean,
    StableNeoHookean,
    StVK,
)
from reducedfem.pictures import plot as plot  # noqa: E402
from reducedfem.pictures.gltf import export_gltf  # noqa: E402
from reducedfem.pictures.vtk import export_vtk, to_pyvista  # noqa: E402
from reducedfem.reduction.basis import (  # noqa: E402
    Basis,
    SystemBasis,
    mass_pca,
    modal_derivative_basis,
)
from reducedfem.reduction.cubature import Cubature, CubatureReport  # noqa: E402
from reducedfem.reduction.damping import StrainRateDamping  # noqa: E402
from reducedfem.reduction.lacking import lacking_compliance  # noqa: E402
from reducedfem.reduction.linear_model import LinearModel  # noqa: E402
from reducedfem.reduction.merge import merge_bases  # noqa: E402
from reducedfem.reduction.pod import pod_basis  # noqa: E402
from reducedfem.reduction.projected import ProjectedSolid  # noqa: E402
from reducedfem.reduction.reduce import reduce  # noqa: E402
from reducedfem.reduction.reduced import ReducedSolid  # noqa: E402
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping  # noqa: E402
from reducedfem.reduction.sketch import ForceSketch, Recording, record  # noqa: E402
from reducedfem.reduction.sketch_basis import SketchReport, sketch_basis  # noqa: E402
from reducedfem.reduction.skin import Pick, Skin  # noqa: E402
from reducedfem.reduction.thinning import thin_samples, thin_shapes  # noqa: E402
from reducedfem.solid.modes import Modes, SystemModes  # noqa: E402
from reducedfem.solid.ordering import Ordering, ordering, set_ordering  # noqa: E402
from reducedfem.solid.rigid import RigidBody  # noqa: E402
from reducedfem.solid.second_order import SecondOrderSystem  # noqa: E402
from reducedfem.solid.solid import Solid, SolidSummary, StaticReport  # noqa: E402
from reducedfem.studies.study import Study, study  # noqa: E402
from reducedfem.touch.point_proxy import PointProxyContact  # noqa: E402
from reducedfem.viewer.view import View, export_html, view  # noqa: E402
from reducedfem.world.contacts import WorldContacts, WorldReport  # noqa: E402
from reducedfem.world.recorded import WorldMotion, record_motion  # noqa: E402
from reducedfem.world.world import World  # noqa: E402

__all__ = [
    "Amplification",
    "BDF2",
    "BackwardEuler",
    "BarrierContact",
    "BarrierState",
    "Basis",
    "BodySnapshot",
    "BoxField",
    "CSC",
    "CapsuleField",
    "CentralDifferences",
    "CentralReport",
    "ComplementField",
    "CompositeBody",
    "CompositeSolution",
    "Constraints",
    "Contact",
    "ContactForce",
    "ContactPoints",
    "ContactTrajectory",
    "ControlElements",
    "ConvergenceError",
    "Corotated",
    "CouplingStep",
    "CouplingWrench",
    "Cubature",
    "CubatureReport",
    "DeformedField",
    "Device",
    "DeviceError",
    "DeviceProbe",
    "DistanceField",
    "DivergedError",
    "DynamicCoupling",
    "Embedding",
    "ExponentialEuler",
    "ExponentialReport",
    "Field",
    "FileFormatError",
    "ForceDimension",
    "ForceSketch",
    "FreeBody",
    "FreeBodyState",
    "FrictionContact",
    "FrictionSolution",
    "GeneralizedAlpha",
    "GeometryWarning",
    "Grading",
    "GreenContact",
    "GreenContacts",
    "GreenSolution",
    "GreensFunctions",
    "HapticReader",
    "HapticRecords",
    "HapticReport",
    "HapticSession",
    "HapticSnapshot",
    "ImplicitNewmark",
    "ImplicitReport",
    "InputError",
    "InputTypeError",
    "InternalError",
    "IntersectionField",
    "LinearElastic",
    "LinearModel",
    "LocalCompliance",
    "Mesh",
    "MeshError",
    "MissingMatplotlibError",
    "MissingPackageError",
    "Modes",
    "MooneyRivlin",
    "Motion",
    "MouseDevice",
    "NeoHookean",
    "OffsetField",
    "OpenHaptics",
    "Ordering",
    "PenaltyContact",
    "Pick",
    "PlaneField",
    "PlausibilityWarning",
    "PointProxyContact",
    "PointTree",
    "Pointshell",
    "Pose",
    "ProjectedSolid",
    "ProxyForce",
    "Recording",
    "ReducedFEMError",
    "ReducedSolid",
    "ReducedStrainRateDamping",
    "ReplayDevice",
    "RigidBody",
    "RigidProxy",
    "SDIRK2",
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
    "StableNeoHookean",
    "State",
    "StaticConvergenceError",
    "StaticReport",
    "StrainRateDamping",
    "Study",
    "StudyError",
    "Surface",
    "SystemBasis",
    "SystemModes",
    "TRBDF2",
    "UdpCounts",
    "UdpDevice",
    "Uniformity",
    "UnionField",
    "View",
    "VirtualCoupling",
    "Voxmap",
    "VoxmapContact",
    "VoxmapForce",
    "WorkerError",
    "Workspace",
    "World",
    "WorldContacts",
    "WorldMotion",
    "WorldReport",
    "amplification",
    "delassus",
    "export_gltf",
    "export_html",
    "export_vtk",
    "graded_tets",
    "integrator",
    "join_meshes",
    "lacking_compliance",
    "load",
    "mass_pca",
    "merge_bases",
    "modal_derivative_basis",
    "ordering",
    "pod_basis",
    "probe_devices",
    "read_fixed",
    "read_mesh",
    "read_surface",
    "record",
    "record_motion",
    "record_snapshots",
    "reduce",
    "set_ordering",
    "set_threads",
    "sketch_basis",
    "solve_friction",
    "solve_friction_pyramid",
    "solve_friction_sweeps",
    "spectrum",
    "stable_step",
    "step_free_bodies",
    "study",
    "surface_load",
    "system_info",
    "tetrahedralize",
    "thin_samples",
    "thin_shapes",
    "threads",
    "to_pyvista",
    "view",
    "voxelize",
]

if not _typing.TYPE_CHECKING:

    def __getattr__(name):
        """Raise AttributeError with the most similar public name."""
        from reducedfem.base.check import did_you_mean

        message = f"module 'reducedfem' has no attribute {name!r}"
        if name in ("samples", "scenes"):
            message += f": import it by 'from reducedfem import {name}'"
        else:
            message += did_you_mean(name, __all__)
        # without an object, because Python would otherwise add its own suggestion
        raise AttributeError(message, name=name, obj=None)
