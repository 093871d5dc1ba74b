from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

# (ptr, node, force, patterns, coordinates)
_Loads = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
_F64: TypeAlias = NDArray[np.float64]
_I32: TypeAlias = NDArray[np.int32]
_Progress: TypeAlias = Callable[[int, int], object] | None  # (done, total)

# csrc/pyext/py_system.c
def blas_description() -> dict[str, str | int]: ...
def alloc_counters() -> dict[str, int]: ...
def alloc_reset_peak() -> None: ...
def alloc_fail_from(k: int, /) -> None: ...

# csrc/pyext/py_mesh.c
@final
class Mesh:
    def __new__(
        cls, nodes: ArrayLike, elements: ArrayLike, regions: ArrayLike | None = None, /
    ) -> Mesh: ...
    @property
    def nodes(self) -> _F64: ...
    @property
    def elements(self) -> _I32: ...
    @property
    def regions(self) -> _I32: ...
    def components(self, by_face: bool, /) -> tuple[int, _I32]: ...
    def pieces(self, labels: ArrayLike, n_labels: int, by_face: bool, /) -> tuple[int, _I32]: ...
    def slabs(self, number: int, small: float, /) -> _I32: ...
    def boundary(self) -> tuple[_I32, _I32]: ...
    def volumes(self) -> _F64: ...
    def inverted(self, displacement: ArrayLike, /) -> int: ...
    def quadratic(self) -> Mesh: ...

def surface_seal(vertices: ArrayLike, triangles: ArrayLike, /) -> tuple[_F64, _I32]: ...
def surface_measure(
    vertices: ArrayLike, triangles: ArrayLike, /
) -> tuple[
    tuple[float, float, float], tuple[float, float, float], float, float, int, bool, bool
]: ...
def surface_normals(vertices: ArrayLike, triangles: ArrayLike, /) -> _F64: ...
def surface_cast(
    vertices: ArrayLike, triangles: ArrayLike, origin: ArrayLike, direction: ArrayLike, /
) -> tuple[int, float, float, float, float]: ...
def isosurface(
    values: NDArray[np.float32],
    origin: ArrayLike,
    spacing: ArrayLike,
    value: float,
    progress: object,
    threads: int,
    /,
) -> tuple[_F64, _I32, int]: ...
def level_set(
    field: Field, value: float, resolution: int, progress: object, threads: int, /
) -> tuple[_F64, _I32]: ...
def shell_counts(points: int, levels: int, /) -> _I32: ...
def shell_create(
    field: Field | None,
    surface: tuple[ArrayLike, ArrayLike] | None,
    resolution: int,
    points: int,
    levels: int,
    seed: int,
    level_set: float,
    rounds: int,
    still: float,
    area_samples: int,
    progress: object,
    threads: int,
    /,
) -> tuple[_F64, _F64, _F64 | None, _I32, _F64, int]: ...
def shell_thinness(
    field: Field,
    vertices: ArrayLike,
    triangles: ArrayLike,
    level_set: float,
    depth: float,
    samples: int,
    progress: object,
    threads: int,
    /,
) -> float: ...
def shell_uniformity(
    vertices: ArrayLike,
    triangles: ArrayLike,
    field: Field | None,
    level_set: float,
    points: ArrayLike,
    normals: ArrayLike,
    samples: int,
    progress: object,
    threads: int,
    /,
) -> tuple[float, float, float, float, float]: ...
def shell_areas(
    vertices: ArrayLike,
    triangles: ArrayLike,
    points: ArrayLike,
    normals: ArrayLike,
    samples: int,
    seed: int,
    progress: object,
    threads: int,
    /,
) -> _F64: ...
def shell_from_voxels(
    vertices: ArrayLike,
    triangles: ArrayLike,
    resolution: int,
    expand: float,
    progress: object,
    threads: int,
    /,
) -> tuple[_F64, _F64]: ...
def shell_from_depth_cube(
    vertices: ArrayLike, triangles: ArrayLike, resolution: int, progress: object, threads: int, /
) -> tuple[_F64, _F64]: ...
def shell_normals(
    vertices: ArrayLike,
    triangles: ArrayLike,
    points: ArrayLike,
    progress: object,
    threads: int,
    /,
) -> NDArray[np.float64]: ...
def shell_blend(
    points: ArrayLike,
    outward: ArrayLike,
    places: ArrayLike,
    place_outward: ArrayLike,
    threads: int,
    /,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def farthest_order(points: ArrayLike, progress: object, threads: int, /) -> NDArray[np.int32]: ...
def surface_merge(vertices: ArrayLike, /) -> NDArray[np.int32]: ...
@overload
def surface_crossings(
    vertices: ArrayLike, triangles: ArrayLike, all: Literal[True], progress: object, threads: int, /
) -> _I32: ...
@overload
def surface_crossings(
    vertices: ArrayLike,
    triangles: ArrayLike,
    all: Literal[False],
    progress: object,
    threads: int,
    /,
) -> tuple[bool, bool]: ...
def surface_bounds_solid(
    vertices: ArrayLike, triangles: ArrayLike, progress: object, threads: int, /
) -> bool: ...
def voxelize(
    vertices: ArrayLike,
    triangles: ArrayLike,
    resolution: int,
    fill: bool,
    expand: float,
    progress: _Progress,
    threads: int,
    /,
) -> tuple[Mesh, int, int, int, float]: ...

# csrc/pyext/py_cut.c
def cut(
    mesh: Mesh,
    vertices: ArrayLike,
    triangles: ArrayLike,
    order: int,
    progress: _Progress,
    threads: int,
    /,
) -> tuple[Mesh, tuple[int, int, int, int, int]]: ...
def mesh_rule(mesh: Mesh, /) -> tuple[_I32, _F64, _F64, _F64] | None: ...
def mesh_with_rule(
    mesh: Mesh, counts: ArrayLike, points: ArrayLike, weights: ArrayLike, products: ArrayLike, /
) -> Mesh: ...

# csrc/pyext/py_grade.c
GRADE_MAX_LEVEL: int

def mesh_partly_covered(mesh: Mesh, /) -> int: ...
def mesh_constraints(mesh: Mesh, /) -> tuple[_I32, _I32, _I32, _F64] | None: ...
def mesh_with_constraints(
    mesh: Mesh,
    slaves: ArrayLike,
    ptr: ArrayLike,
    masters: ArrayLike,
    weights: ArrayLike,
    rounded: bool,
    /,
) -> Mesh | None: ...
def constraint_matrix(mesh: Mesh, /) -> tuple[_F64, _I32, _I32]: ...
def constraints_fill(mesh: Mesh, u: ArrayLike, /) -> _F64: ...
def constraints_fold(mesh: Mesh, force: ArrayLike, /) -> _F64: ...
def hanging_nodes(mesh: Mesh, /) -> _I32: ...
def touching_elements(mesh: Mesh, /) -> _I32: ...
def constrain_hanging(mesh: Mesh, /) -> Mesh: ...
def grade_tets(mesh: Mesh, layers: int, progress: _Progress, /) -> tuple[Mesh, _I32]: ...
def grade(mesh: Mesh, layers: int, max_level: int, progress: _Progress, /) -> tuple[Mesh, _I32]: ...
def mesh_levels(mesh: Mesh, /) -> _I32: ...

# csrc/pyext/py_embedding.c
@final
class Embedding:
    def __new__(
        cls, mesh: Mesh, points: ArrayLike, progress: _Progress, threads: int, /
    ) -> Embedding: ...
    @property
    def elements(self) -> _I32: ...
    @property
    def nodes(self) -> _I32: ...
    @property
    def weights(self) -> _F64: ...
    @property
    def distance(self) -> _F64: ...
    def interpolate(self, u: ArrayLike, threads: int, /) -> _F64: ...
    def transfer(self, vectors: ArrayLike, threads: int, /) -> _F64: ...
    def distribute(self, f: ArrayLike, /) -> _F64: ...

# csrc/pyext/py_composite.c
@final
class CompositeBody:
    def __new__(
        cls,
        solid: Solid,
        blocks: ArrayLike,
        n_blocks: int,
        holdable: ArrayLike,
        progress: Callable[[int, int], object] | None,
        threads: int,
        /,
    ) -> CompositeBody: ...
    @property
    def outer(self) -> NDArray[np.int32]: ...
    @property
    def n_blocks(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def evaluate(
        self, force: ArrayLike | None, v: ArrayLike, definite: bool, /
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]: ...
    def solve(
        self,
        force: ArrayLike | None,
        held: ArrayLike,
        target: ArrayLike,
        start: ArrayLike | None,
        soft: ArrayLike | None,
        tol: float,
        newton_max: int,
        threads: int,
        /,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        float,
        int,
        bool,
        float,
        float,
        float,
        float,
    ]: ...

# csrc/pyext/py_control.c
CONTROL_MOST_TERMS: int

@final
class ControlElements:
    def __new__(
        cls,
        solid: Solid,
        ptr: ArrayLike,
        handles: ArrayLike,
        surface_nodes: ArrayLike,
        order: int,
        single: bool,
        simd: int,
        progress: Callable[[int, int], object] | None,
        threads: int,
        /,
    ) -> ControlElements: ...
    @property
    def matrix(self) -> NDArray[np.float64]: ...
    @property
    def means(self) -> NDArray[np.float64]: ...
    @property
    def rank(self) -> int: ...
    @property
    def n_fields(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def parts(
        self,
    ) -> tuple[
        int,
        int,
        int,
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[Any],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ]: ...
    def displacement(
        self, c: ArrayLike, rotation: bool, /
    ) -> tuple[NDArray[np.float64], tuple[float, float, int, int]]: ...
    def forces(
        self, c: ArrayLike, rotation: bool, consistent: bool, /
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[float, float, int, int], float]: ...
    def measures(
        self, c: ArrayLike, rotation: bool, /
    ) -> tuple[float, tuple[float, float, int, int], float]: ...

def control_of_parts(
    n_handles: int,
    order: int,
    rank: int,
    n_surface: int,
    counts: ArrayLike,
    means: ArrayLike,
    moments: ArrayLike,
    matrix: ArrayLike,
    fields: ArrayLike,
    arms: ArrayLike,
    to_relative: ArrayLike,
    gauge: ArrayLike,
    product_forces: ArrayLike,
    /,
) -> ControlElements: ...
def control_terms(
    solid: Solid,
    ptr: ArrayLike,
    handles: ArrayLike,
    c: ArrayLike,
    order: int,
    progress: Callable[[int, int], object] | None,
    threads: int,
    /,
) -> NDArray[np.float64]: ...

# csrc/pyext/py_friction.c
def delassus(bodies: Sequence[tuple[ArrayLike, ArrayLike]], compliance: float, /) -> _F64: ...

_Friction: TypeAlias = tuple[_F64, _F64, _I32, tuple[int, float, int, int, int, float]]

def friction_pyramid(W: ArrayLike, free: ArrayLike, mu: ArrayLike, sides: int, /) -> _Friction: ...
def friction_solve(
    matrix: ArrayLike,
    free: ArrayLike,
    mu: ArrayLike,
    start: ArrayLike | None,
    tol: float,
    budget_us: float,
    factor: bool = False,
    compliance: float = 0.0,
    simd: int = 0,
    /,
) -> _Friction: ...
def friction_sweeps(
    W: ArrayLike,
    free: ArrayLike,
    mu: ArrayLike,
    start: ArrayLike | None,
    change: float,
    most_sweeps: int,
    /,
) -> _Friction: ...

# csrc/pyext/py_green.c
@final
class Green:
    def __new__(
        cls,
        solid: Solid,
        surface_nodes: ArrayLike,
        releasable: ArrayLike,
        single: bool,
        tolerance: float,
        progress: Callable[[int, int], object] | None,
        threads: int,
        simd: int = 0,
        /,
    ) -> Green: ...
    @property
    def nodes(self) -> NDArray[np.int32]: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def releasable(self) -> NDArray[np.int32]: ...
    @property
    def added(self) -> NDArray[np.float64] | None: ...
    @property
    def firm(self) -> NDArray[np.float64] | None: ...
    @property
    def entries(self) -> NDArray[Any]: ...
    @property
    def packed(
        self,
    ) -> tuple[float, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]] | None: ...
    @property
    def single(self) -> bool: ...
    @property
    def bytes(self) -> int: ...
    @property
    def static_modes(self) -> NDArray[np.float64]: ...
    @property
    def support(self) -> NDArray[np.float64]: ...
    @property
    def rigid(self) -> NDArray[np.float64] | None: ...
    def add(self, places: ArrayLike, forces: ArrayLike, /) -> NDArray[np.float64]: ...
    def compliance(self, places: ArrayLike, weights: ArrayLike, /) -> NDArray[np.float64]: ...
    def contact(
        self,
        places: ArrayLike,
        weights: ArrayLike,
        normals: ArrayLike,
        gaps: ArrayLike,
        mu: ArrayLike,
        load: ArrayLike | None,
        released: ArrayLike,
        tol: float,
        threads: int,
        /,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.float64],
        float,
        tuple[int, float, int, int, float],
    ]: ...
    def matrix(self, /) -> NDArray[Any]: ...
    def solve(
        self,
        places: ArrayLike,
        axes: ArrayLike,
        targets: ArrayLike,
        load: ArrayLike | None,
        released: ArrayLike,
        threads: int,
        /,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]: ...

def green_of_entries(
    n_nodes: int,
    nodes: ArrayLike,
    releasable: ArrayLike,
    entries: NDArray[Any],
    static_modes: ArrayLike,
    support: ArrayLike,
    rigid: ArrayLike | None,
    packed: tuple[float, ArrayLike, ArrayLike, ArrayLike] | None,
    /,
) -> Green: ...

# csrc/pyext/py_released.c

def green_released(green: Green, released: ArrayLike, threads: int, /) -> Green: ...
def green_released_of_entries(
    green: Green,
    nodes: ArrayLike,
    releasable: ArrayLike,
    static_modes: ArrayLike,
    support: ArrayLike,
    firm: ArrayLike,
    added: ArrayLike,
    /,
) -> Green: ...

# csrc/pyext/py_green_contacts.c
GREEN_MOST_CONTACTS: int

@final
class GreenContacts:
    def __new__(
        cls, green: Green, most: int, released: ArrayLike = (), threads: int = 1, /
    ) -> GreenContacts: ...
    @property
    def places(self) -> NDArray[np.int32]: ...
    @property
    def lift(self) -> float: ...
    def add(self, place: int, normal: ArrayLike | None, /) -> bool: ...
    def remove(self, place: int, /) -> bool: ...
    def solve(self, displacement: ArrayLike, /) -> NDArray[np.float64]: ...

# csrc/pyext/py_local.c
@final
class LocalCompliance:
    def __new__(
        cls,
        green: Green,
        places: ArrayLike,
        weights: ArrayLike,
        basis: ArrayLike,
        stiffness: ArrayLike,
        by_points: bool,
        progress: Callable[[int, int], object] | None,
        threads: int,
        /,
    ) -> LocalCompliance: ...
    @property
    def lacking(self) -> NDArray[np.float64]: ...
    @property
    def mean_compliance(self) -> NDArray[np.float64]: ...
    @property
    def bytes(self) -> int: ...
    def between(self, p: int, q: int, /) -> NDArray[np.float64]: ...
    def displacement(self, points: ArrayLike, forces: ArrayLike, /) -> NDArray[np.float64]: ...
    def add_second(
        self,
        solid: Solid,
        nodes: ArrayLike,
        weights: ArrayLike,
        directions: ArrayLike,
        places: ArrayLike,
        basis: ArrayLike,
        stiffness: ArrayLike,
        reach: float,
        most: int,
        progress: Callable[[int, int], object] | None,
        threads: int,
        /,
    ) -> float: ...
    def second(self, points: ArrayLike, forces: ArrayLike, /) -> NDArray[np.float64]: ...

# csrc/pyext/py_law.c
def laws() -> dict[str, dict[str, Any]]: ...
def law_rest(law: str, parameters: ArrayLike, /) -> _F64: ...
def law_point(
    law: str, parameters: ArrayLike, gradients: ArrayLike, simd: int = 0, definite: bool = False, /
) -> tuple[_F64, _F64, _F64]: ...
def law_second(
    law: str, parameters: ArrayLike, a: ArrayLike, b: ArrayLike, simd: int = 0, /
) -> _F64: ...

# csrc/pyext/py_solid.c
def simd_available(simd: int, /) -> bool: ...
@final
class Solid:
    def __new__(
        cls,
        mesh: Mesh,
        materials: Sequence[tuple[str, ArrayLike, float]],
        element_material: ArrayLike,
        fixed: ArrayLike,
        gauss_per_axis: int = 2,
        simd: int = 0,
        /,
    ) -> Solid: ...
    @property
    def mesh(self) -> Mesh: ...
    @property
    def fixed(self) -> _I32: ...
    @property
    def free(self) -> _I32: ...
    @property
    def lumped(self) -> _F64: ...
    @property
    def steps_lumped(self) -> bool: ...
    @property
    def volume(self) -> float: ...
    @property
    def n_gauss(self) -> int: ...
    @property
    def congruent(self) -> bool: ...
    @property
    def simd(self) -> int: ...
    @property
    def entries(self) -> int: ...
    def mass(self, lumped: bool, /) -> tuple[_F64, _I32, _I32]: ...
    def stiffness(
        self, u: ArrayLike | None, threads: int, definite: bool = False, /
    ) -> tuple[_F64, _I32, _I32]: ...
    def internal_force(self, u: ArrayLike, threads: int, /) -> _F64: ...
    def measure(self, u: ArrayLike, kind: str, threads: int, /) -> _F64: ...
    def inverted(self, u: ArrayLike, /) -> int: ...
    def strain_energy(self, u: ArrayLike, threads: int, /) -> float: ...
    def hessian_product(
        self, a: ArrayLike, b: ArrayLike, progress: _Progress, threads: int, /
    ) -> _F64: ...
    def require_held(self) -> None: ...
    def gravity(self, acceleration: ArrayLike, lumped: bool, threads: int, /) -> _F64: ...
    def rigid_body(self, threads: int, /) -> tuple[float, _F64, _F64]: ...
    def solve_static(
        self,
        force: ArrayLike | None,
        prescribed: ArrayLike | None,
        u0: ArrayLike | None,
        tol: float,
        steps: int,
        max_iterations: int,
        progress: _Progress,
        threads: int,
        halvings: int = 0,
        stability: bool = False,
        /,
    ) -> tuple[_F64, dict[str, float], str | None]: ...
    def solve_loads(
        self,
        loads: _Loads,
        tol: float,
        steps: int,
        max_iterations: int,
        halvings: int,
        progress: _Progress,
        threads: int,
        /,
    ) -> tuple[_F64, _I32, _F64, _I32, _I32]: ...
    def time_evaluate(
        self,
        u: ArrayLike,
        tangent: bool,
        runs: int,
        threads: int,
        upper: bool = False,
        definite: bool = False,
        /,
    ) -> _F64: ...

# csrc/pyext/py_gram.c
def polynomial_count(r: int, /) -> int: ...
def polynomial_blocks(solid: Solid, /) -> int: ...
def polynomial_block(solid: Solid, basis: ArrayLike, index: int, /) -> tuple[Any, ...]: ...
def block_coefficients(data: tuple[Any, ...], simd: int, threads: int, /) -> _F64: ...
def add_coefficients(total: _F64, part: ArrayLike, /) -> None: ...

# csrc/pyext/py_reduced.c
def reduce(
    solid: Solid,
    basis: ArrayLike,
    progress: _Progress,
    threads: int,
    simd: int = 0,
    blocks: ArrayLike | None = None,
    /,
) -> Reduced: ...
@final
class Reduced:
    def __new__(
        cls,
        basis: ArrayLike,
        mass: ArrayLike,
        coefficients: ArrayLike,
        simd: int = 0,
        nodes: ArrayLike | None = None,
        /,
    ) -> Reduced: ...
    @property
    def r(self) -> int: ...
    @property
    def basis(self) -> _F64: ...
    @property
    def mass(self) -> _F64: ...
    @property
    def coefficients(self) -> _F64 | None: ...
    @property
    def cubature(
        self,
    ) -> tuple[_F64, _F64, _I32, _F64 | None] | None: ...
    @property
    def simd(self) -> int: ...
    @property
    def stream_bytes(self) -> int: ...
    def internal_force(self, q: ArrayLike, /) -> _F64: ...
    def strain(self, q: ArrayLike, /) -> float: ...
    def stiffness(self, q: ArrayLike, definite: bool = False, /) -> _F64: ...
    def strain_energy(self, q: ArrayLike, /) -> float: ...
    def farthest(self, q: ArrayLike, /) -> float: ...
    def displacement(self, q: ArrayLike, /) -> _F64: ...
    def project(self, force: ArrayLike, /) -> _F64: ...
    def solve_static(
        self,
        force: ArrayLike | None,
        q0: ArrayLike | None,
        tol: float,
        steps: int,
        max_iterations: int,
        progress: _Progress,
        threads: int,
        halvings: int,
        stability: bool,
        /,
    ) -> tuple[_F64, dict[str, float], str | None]: ...
    def truncate(self, r: int, /) -> Reduced: ...
    def time_evaluate(self, q: ArrayLike, stiffness: bool, runs: int, inner: int, /) -> _F64: ...

# csrc/pyext/py_cubature.c
def draw_poses(
    projected: Projected, count: int, strain: float, seed: int, progress: _Progress, threads: int, /
) -> _F64: ...
def reduce_sampled(
    solid: Solid,
    basis: ArrayLike,
    poses: ArrayLike,
    points: int,
    tolerance: float,
    progress: _Progress,
    threads: int,
    simd: int = 0,
    drawn: float = 0.0,
    /,
) -> tuple[Reduced, dict[str, float]]: ...
def sampled(
    basis: ArrayLike,
    mass: ArrayLike,
    gradients: ArrayLike,
    weights: ArrayLike,
    points: ArrayLike,
    materials: Sequence[tuple[str, ArrayLike, float]],
    linear: ArrayLike | None,
    nodes: ArrayLike | None,
    simd: int = 0,
    /,
) -> Reduced: ...

# csrc/pyext/py_projected.c
@final
class Projected:
    def __new__(cls, solid: Solid, basis: ArrayLike, threads: int, /) -> Projected: ...
    @property
    def r(self) -> int: ...
    @property
    def mass(self) -> _F64: ...
    def internal_force(self, q: ArrayLike, threads: int, /) -> _F64: ...
    def stiffness(self, q: ArrayLike, threads: int, definite: bool = False, /) -> _F64: ...
    def strain_energy(self, q: ArrayLike, threads: int, /) -> float: ...
    def displacement(self, q: ArrayLike, threads: int, /) -> _F64: ...
    def project(self, force: ArrayLike, threads: int, /) -> _F64: ...
    def solve_static(
        self,
        force: ArrayLike | None,
        q0: ArrayLike | None,
        tol: float,
        steps: int,
        max_iterations: int,
        progress: _Progress,
        threads: int,
        halvings: int,
        stability: bool,
        /,
    ) -> tuple[_F64, dict[str, float], str | None]: ...

# csrc/pyext/py_skin.c
@final
class Skin:
    def __new__(
        cls,
        model: Reduced,
        mesh: Mesh,
        embedding: Embedding,
        points: ArrayLike,
        normals: ArrayLike | None,
        progress: _Progress,
        threads: int,
        /,
    ) -> Skin: ...
    @property
    def motion(self) -> _F64: ...
    @property
    def tilt(self) -> _F64 | None: ...
    def positions(self, q: ArrayLike, points: ArrayLike | None, threads: int, /) -> _F64: ...
    def normals(self, q: ArrayLike, points: ArrayLike | None, threads: int, /) -> _F64: ...
    def project(self, points: ArrayLike, forces: ArrayLike, /) -> _F64: ...

# csrc/pyext/py_point_tree.c
@final
class PointTree:
    def __new__(
        cls,
        points: ArrayLike,
        normals: ArrayLike,
        levels: ArrayLike,
        motion: ArrayLike | None,
        tilt: ArrayLike | None,
        progress: _Progress,
        threads: int,
        simd: int = 0,
        /,
    ) -> PointTree: ...
    @property
    def parents(self) -> _I32: ...
    @property
    def order(self) -> _I32: ...
    @property
    def counts(self) -> _I32: ...
    @property
    def r(self) -> int: ...
    def radii(self, level: int, q: ArrayLike | None, tight: bool, threads: int, /) -> _F64: ...
    def positions(self, q: ArrayLike | None, /) -> _F64: ...
    def normals(self, q: ArrayLike | None, /) -> _F64: ...

# csrc/pyext/py_contact.c
@final
class Contact:
    def __new__(
        cls,
        tree: PointTree,
        field: Field | DeformedField,
        weights: ArrayLike | None,
        law: str,
        law_settings: dict[str, Any],
        settings: dict[str, Any],
        local: LocalCompliance | None = None,
        /,
    ) -> Contact: ...
    def evaluate(
        self,
        position: ArrayLike,
        quaternion: ArrayLike,
        q: ArrayLike | None,
        all_of: int,
        contacts: bool,
        field_q: ArrayLike | None = None,
        /,
    ) -> tuple[Any, ...]: ...
    def derivatives(
        self, position: ArrayLike, quaternion: ArrayLike, q: ArrayLike | None, all_of: int, /
    ) -> tuple[_F64, _F64, _F64]: ...
    def evaluate_many(
        self,
        positions: ArrayLike,
        quaternions: ArrayLike,
        qs: ArrayLike | None,
        all_of: int,
        contacts: bool,
        progress: _Progress,
        field_qs: ArrayLike | None = None,
        /,
    ) -> tuple[Any, ...]: ...
    def reset(self) -> None: ...
    def stiffest(self, coupling: float, depth: float, /) -> float: ...

# csrc/pyext/py_parts.c
@final
class ReducedParts:
    def __new__(
        cls,
        coefficients: ArrayLike,
        general: ArrayLike,
        volumes: ArrayLike,
        masses: ArrayLike,
        simd: int = 0,
        /,
    ) -> ReducedParts: ...
    @property
    def volumes(self) -> _F64: ...
    def combine(self, like: Reduced, constants: ArrayLike, /) -> Reduced: ...
    def truncate(self, r: int, /) -> ReducedParts: ...
    def arrays(self, /) -> tuple[_F64, _I32, _F64, _F64]: ...

def take_apart(
    solid: Solid, basis: ArrayLike, progress: _Progress, threads: int, simd: int = 0, /
) -> tuple[Reduced, ReducedParts]: ...

# csrc/pyext/py_free_body.c
@final
class FreeBody:
    def __new__(
        cls,
        scheme: str,
        model: Reduced,
        nodes: ArrayLike,
        damping: tuple[float, float],
        settings: dict[str, float],
        rigid: dict[str, float | tuple[float, ...]],
        strain_rate: Damping | None = None,
        /,
    ) -> FreeBody: ...
    def state(self, /) -> tuple[_F64, _F64, _F64, _F64, _F64, _F64, _F64, float]: ...
    def reset(
        self,
        position: ArrayLike,
        quaternion: ArrayLike,
        velocity: ArrayLike,
        angular_velocity: ArrayLike,
        q: ArrayLike | None,
        qdot: ArrayLike | None,
        /,
    ) -> None: ...
    def snapshot(self, /) -> tuple[_F64, _F64, _F64, _F64, int]: ...
    def restore(
        self, rigid: ArrayLike, q: ArrayLike, qdot: ArrayLike, qddot: ArrayLike, steps: int, /
    ) -> None: ...
    def strain(self, /) -> float: ...
    def positions(self, /) -> _F64: ...

def step_free_bodies(
    bodies: Sequence[FreeBody],
    forces: tuple[ArrayLike | None, ...] | None,
    n: int,
    progress: _Progress,
    threads: int,
    /,
) -> list[float]: ...

# csrc/pyext/py_proxy.c
@final
class Proxy:
    def __new__(cls, field: Field, rule: str, friction: float, /) -> Proxy: ...
    def move(
        self,
        position: ArrayLike,
        quaternion: ArrayLike,
        velocity: ArrayLike,
        angular_velocity: ArrayLike,
        /,
    ) -> None: ...
    def motion(
        self,
    ) -> tuple[
        NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
    ]: ...

# csrc/pyext/py_motion.c
@final
class Barrier:
    def __new__(
        cls,
        fields: tuple[Field, ...],
        rest: ArrayLike,
        points: ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
        settings: dict[str, float],
        basis: ArrayLike | None = None,
        parts: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, bool] | None = None,
        /,
    ) -> Barrier: ...
    def evaluate(self, u: ArrayLike, v: ArrayLike, /) -> tuple[float, _F64, _F64, _F64]: ...

@final
class Motion:
    def __new__(
        cls,
        scheme: str,
        system: Reduced | Projected | Solid | SecondOrder,
        damping: tuple[float, float],
        settings: dict[str, float],
        threads: int,
        strain_rate: Damping | ArrayLike | None = None,
        load: ArrayLike | None = None,
        barrier: Barrier | None = None,
        inside: bool = False,
        proxy: tuple[tuple[Proxy, ...], ArrayLike, float] | None = None,
        /,
    ) -> Motion: ...
    def proxy_results(
        self,
    ) -> tuple[tuple[_I32, _F64, _F64, _F64, _F64, _F64, _F64, _F64, int], ...] | None: ...
    def strain(self, /) -> float: ...
    def barrier_state(
        self,
    ) -> (
        tuple[_I32, _I32, _F64, _F64, _F64, _F64, float, _I32, _F64, _F64, _F64, _F64, _F64] | None
    ): ...
    def step(
        self, force: ArrayLike | None, n: int, progress: _Progress, threads: int, dt: float = 0.0, /
    ) -> tuple[int, float]: ...
    def reset(
        self,
        q: ArrayLike | None,
        qdot: ArrayLike | None,
        qddot: ArrayLike | None,
        threads: int,
        steps: int = 0,
        last: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
        modes: ArrayLike | None = None,
        pace: ArrayLike | None = None,
        /,
    ) -> None: ...
    def state(self) -> tuple[_F64, _F64, _F64, float]: ...
    def whole_state(
        self,
    ) -> tuple[_F64, _F64, _F64, float, tuple[_F64, _F64] | None, _F64 | None, _F64 | None]: ...
    def report(self) -> dict[str, Any]: ...
    def time_steps(self, force: ArrayLike | None, runs: int, inner: int, /) -> _F64: ...
    def step_contact(
        self,
        force: ArrayLike | None,
        contact: Contact,
        positions: ArrayLike,
        quaternions: ArrayLike,
        field_qs: ArrayLike | None,
        progress: _Progress,
        /,
    ) -> tuple[Any, ...]: ...

# csrc/pyext/py_spectrum.c
def reduced_eigenvalues(system: Reduced, q: ArrayLike | None, /) -> _F64: ...
def stable_step(
    system: Reduced | Projected | Solid | SecondOrder,
    x: ArrayLike | None,
    damping: tuple[float, float],
    threads: int,
    strain_rate: Damping | ArrayLike | None = None,
    /,
) -> float: ...
def solid_highest(system: Solid, lumped: bool, tol: float, threads: int, /) -> float: ...

# csrc/pyext/py_damping.c
@final
class Damping:
    def __new__(cls, r: int, coefficients: ArrayLike, simd: int = 0, /) -> Damping: ...
    @property
    def r(self) -> int: ...
    @property
    def coefficients(self) -> _F64: ...
    def matrix(self, q: ArrayLike, /) -> _F64: ...
    def truncate(self, r: int, /) -> Damping: ...

def reduce_damping(
    solid: Solid,
    basis: ArrayLike,
    viscosity: ArrayLike,
    progress: _Progress,
    threads: int,
    simd: int = 0,
    /,
) -> Damping: ...
def solid_damping(
    solid: Solid, viscosity: ArrayLike, u: ArrayLike, v: ArrayLike, threads: int, /
) -> tuple[float, _F64]: ...
def solid_damping_matrix(
    solid: Solid, viscosity: ArrayLike, u: ArrayLike | None, threads: int, /
) -> tuple[_F64, _I32, _I32]: ...

# csrc/pyext/py_modes.c
def linear_modes(
    solid: Solid, k: int, rigid: bool, progress: _Progress, threads: int, /
) -> tuple[_F64, _F64, _F64]: ...
def modal_derivatives(
    solid: Solid, shapes: ArrayLike, progress: _Progress, threads: int, /
) -> _F64: ...

DERIVATIVES_BLOCK: int
MOUSE_SILENT: float
TIP_RELEASE: float

@final
class Derivatives:
    def __new__(cls, solid: Solid, threads: int, /) -> Derivatives: ...
    def pairs(self, shapes: ArrayLike, begin: int, end: int, threads: int, /) -> _F64: ...

def matrix_modes(
    stiffness: tuple[ArrayLike, ArrayLike, ArrayLike],
    mass: tuple[ArrayLike, ArrayLike, ArrayLike],
    k: int,
    settings: tuple[int, int, int],
    progress: _Progress,
    threads: int,
    /,
) -> tuple[_F64, _F64, tuple[int, int]]: ...
def factor_solve(
    matrix: tuple[ArrayLike, ArrayLike, ArrayLike],
    b: ArrayLike,
    runs: int,
    threads: int,
    points: ArrayLike | None = None,
    /,
) -> tuple[_F64, _F64]: ...

# csrc/pyext/py_ordering.c
def ordering_of_solid(
    solid: Solid, method: str, /
) -> tuple[str, NDArray[np.int32], float, float, float, float]: ...
def ordering_of_matrix(
    matrix: tuple[ArrayLike, ArrayLike, ArrayLike], points: ArrayLike | None, method: str, /
) -> tuple[str, NDArray[np.int32], float, float, float, float]: ...
def ordering_counts(
    matrix: tuple[ArrayLike, ArrayLike, ArrayLike], permutation: ArrayLike, /
) -> tuple[float, float, float]: ...
def use_ordering(method: str, /) -> None: ...
def ordering_in_use() -> str: ...

# csrc/pyext/py_basis.c
def lacking_compliance(
    solid: Solid, vectors: ArrayLike, loads: ArrayLike, progress: _Progress, threads: int, /
) -> _F64: ...
def mass_pca(
    solid: Solid,
    vectors: ArrayLike,
    weights: ArrayLike | None,
    r: int,
    progress: _Progress,
    threads: int,
    at_most: bool = False,
    /,
) -> tuple[_F64, _F64]: ...
def modal_derivative_basis(
    solid: Solid, k: int, r: int, progress: _Progress, threads: int, at_most: bool = False, /
) -> tuple[_F64, _F64, _F64, _F64]: ...
def basis_of_derivatives(
    solid: Solid,
    eigenvalues: ArrayLike,
    shapes: ArrayLike,
    derivatives: ArrayLike,
    r: int,
    progress: _Progress,
    threads: int,
    at_most: bool = False,
    /,
) -> tuple[_F64, _F64]: ...

# csrc/pyext/py_sketch.c
def modal_response(
    eigenvalues: ArrayLike,
    shapes: ArrayLike,
    nodes: ArrayLike,
    force: ArrayLike,
    modal: ArrayLike,
    /,
) -> tuple[_F64, _F64]: ...
def thin(points: ArrayLike, distance: float, progress: _Progress, threads: int, /) -> _I32: ...
def csc_product(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    rows: int,
    other: ArrayLike,
    threads: int,
    /,
) -> _F64: ...
def dense_loads(loads: _Loads, n: int, /) -> _F64: ...
def thin_shapes(
    solid: Solid, shapes: ArrayLike, distance: float, progress: _Progress, threads: int, /
) -> _I32: ...
def mass_product(solid: Solid, fields: ArrayLike, threads: int, /) -> _F64: ...
def independent(
    solid: Solid, vectors: ArrayLike, tolerance: float, progress: _Progress, threads: int, /
) -> _F64: ...

# csrc/pyext/py_second_order.c
@final
class SecondOrder:
    def __new__(
        cls,
        mass: tuple[ArrayLike, ArrayLike, ArrayLike],
        stiffness: tuple[ArrayLike, ArrayLike, ArrayLike],
        damping: tuple[ArrayLike, ArrayLike, ArrayLike] | None,
        law: tuple[
            Callable[[_F64], _F64] | None,
            Callable[[_F64], _F64] | None,
            Callable[[_F64], _F64] | None,
        ],  # internal force, values of the tangent's lower triangle, energy (1,)
        threads: int,
        /,
    ) -> SecondOrder: ...
    def modes(self, k: int, progress: _Progress, threads: int, /) -> tuple[_F64, _F64, _F64]: ...
    def derivatives(
        self,
        hessian: Callable[[_F64, _F64], ArrayLike],
        shapes: ArrayLike,
        progress: _Progress,
        threads: int,
        /,
    ) -> _F64: ...
    def mass_pca(
        self,
        vectors: ArrayLike,
        weights: ArrayLike | None,
        r: int,
        at_most: bool,
        progress: _Progress,
        threads: int,
        /,
    ) -> tuple[_F64, _F64]: ...
    def derivative_basis(
        self,
        hessian: Callable[[_F64, _F64], ArrayLike],
        k: int,
        r: int,
        at_most: bool,
        progress: _Progress,
        threads: int,
        /,
    ) -> tuple[_F64, _F64, _F64]: ...

# csrc/pyext/py_voxmap.c
@final
class Voxmap:
    def __new__(cls, values: NDArray[np.uint8], origin: ArrayLike, edge: float, /) -> Voxmap: ...
    @property
    def origin(self) -> _F64: ...
    @property
    def edge(self) -> float: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    def values(self) -> NDArray[np.uint8]: ...
    def at(self, points: ArrayLike, /) -> NDArray[np.uint8]: ...

def voxmap_build(
    vertices: ArrayLike,
    triangles: ArrayLike,
    resolution: int,
    expand: float,
    progress: _Progress,
    threads: int,
    /,
) -> Voxmap: ...
@final
class VoxmapContact:
    def __new__(
        cls, voxmap: Voxmap, points: ArrayLike, normals: ArrayLike, stiffness: float, /
    ) -> VoxmapContact: ...
    def evaluate(
        self, position: ArrayLike, quaternion: ArrayLike, /
    ) -> tuple[_F64, _F64, int, int]: ...

# csrc/pyext/py_field.c
@final
class Field:
    def __new__(
        cls,
        fields: tuple[Field, ...],
        offset: float,
        simd: int = 0,
        join: Literal["union", "intersection", "complement"] = "union",
        /,
    ) -> Field: ...
    @property
    def values(self) -> NDArray[np.float32] | None: ...
    @property
    def origin(self) -> _F64 | None: ...
    @property
    def spacing(self) -> _F64 | None: ...
    @property
    def bounds(self) -> _F64: ...
    @property
    def boundary(self) -> float | None: ...
    @property
    def error(self) -> float: ...
    @property
    def parts(self) -> int: ...
    def distance(self, points: ArrayLike, threads: int, /) -> _F64: ...
    def gradient(self, points: ArrayLike, threads: int, /) -> tuple[_F64, _F64]: ...
    def slack(self, distances: ArrayLike, radii: ArrayLike, /) -> _F64: ...
    def time_distances(self, points: ArrayLike, repeats: int, one_by_one: bool, /) -> _F64: ...

def field_from_values(
    values: ArrayLike, origin: ArrayLike, spacing: ArrayLike, error: float, threads: int, /
) -> Field: ...
def surface_winding(
    vertices: ArrayLike,
    triangles: ArrayLike,
    points: ArrayLike,
    outward: bool,
    progress: object,
    threads: int,
    /,
) -> _F64: ...
@overload
def surface_holes(
    vertices: ArrayLike,
    triangles: ArrayLike,
    fill: Literal[False],
    progress: object,
    threads: int,
    /,
) -> list[_I32]: ...
@overload
def surface_holes(
    vertices: ArrayLike,
    triangles: ArrayLike,
    fill: Literal[True],
    progress: object,
    threads: int,
    /,
) -> tuple[list[NDArray[np.int32]], NDArray[np.int32]]: ...
def surface_sheets(vertices: ArrayLike, triangles: ArrayLike, threads: int, /) -> float: ...
def surface_thickness(
    vertices: ArrayLike,
    triangles: ArrayLike,
    progress: object,
    threads: int,
    of: ArrayLike | None = None,
    /,
) -> NDArray[np.float64]: ...
def surface_reversed(
    vertices: ArrayLike, triangles: ArrayLike, progress: object, threads: int, /
) -> NDArray[np.int32]: ...
def surface_closest(
    vertices: ArrayLike, triangles: ArrayLike, points: ArrayLike, bound: float, /
) -> tuple[_F64, _F64, _F64, _I32, _I32]: ...
def field_from_field(
    field: Field,
    resolution: tuple[int, int, int],
    box: ArrayLike,
    progress: object,
    threads: int,
    /,
) -> Field: ...
def field_from_surface(
    vertices: ArrayLike,
    triangles: ArrayLike,
    resolution: tuple[int, int, int],
    expand: float,
    box: ArrayLike | None,
    offset: float | None,
    exact: bool,
    memory: float,
    elsewhere: Callable[[Filling], object] | None,
    progress: _Progress,
    threads: int,
    /,
) -> tuple[
    Field, bool, bool, bool, float, int, float, float, int, float, bool, int, int, int, float
]: ...
def field_from_shape(shape: str, a: ArrayLike, b: ArrayLike, radius: float, /) -> Field: ...

# csrc/pyext/py_filling.c
@final
class Filling:
    @property
    def count(self) -> int: ...
    def surface(self) -> tuple[_F64, _I32]: ...
    def block(self, index: int, /) -> tuple[Any, ...]: ...
    def put(self, index: int, values: ArrayLike, /) -> None: ...

@final
class Filler:
    def __new__(cls, vertices: ArrayLike, triangles: ArrayLike, threads: int, /) -> Filler: ...
    def fill(self, block: tuple[Any, ...], threads: int, /) -> NDArray[np.float32]: ...

# csrc/pyext/py_deformed_field.c
@final
class DeformedField:
    def __new__(
        cls,
        fields: tuple[Field, ...],
        first: ArrayLike,
        model: Reduced,
        mesh: Mesh,
        embedding: Embedding,
        proxies: ArrayLike,
        k: int,
        safety: float,
        threads: int,
        simd: int = 0,
        /,
    ) -> DeformedField: ...
    @property
    def modes(self) -> _F64: ...
    def evaluate(
        self, q: ArrayLike, points: ArrayLike, gradient: bool, threads: int, /
    ) -> tuple[_F64, _F64 | None, _I32]: ...
    def pose(self, q: ArrayLike, /) -> tuple[_F64, _F64, int]: ...
    def project(self, proxies: ArrayLike, forces: ArrayLike, /) -> _F64: ...

def field_domains(
    field: Field,
    proxies: ArrayLike,
    labels: ArrayLike | None,
    n: int,
    overlap: float,
    progress: _Progress,
    threads: int,
    /,
) -> tuple[
    float, _I32, list[tuple[NDArray[np.bool_], NDArray[np.float32], tuple[int, int, int]]]
]: ...

# csrc/pyext/py_coupling.c
_PlacedFrame = tuple[ArrayLike, ArrayLike]
_Load = tuple[ArrayLike, ArrayLike, ArrayLike, float]

def suited_stiffness(stiffness: float, /) -> float: ...
def pull(
    motion: Motion,
    rest: ArrayLike,
    where: ArrayLike | tuple[ArrayLike, ArrayLike],
    stiffness: float,
    place: ArrayLike,
    force: ArrayLike | None,
    n: int,
    threads: int,
    /,
) -> tuple[tuple[float, float, float], tuple[float, float, float]]: ...
def pull_body_stiffness(
    system: Reduced | Projected | Solid,
    where: ArrayLike | tuple[ArrayLike, ArrayLike],
    threads: int,
    /,
) -> float: ...
@final
class StaticResponse:
    def __new__(cls, solid: Solid, progress: _Progress, threads: int, /) -> StaticResponse: ...
    def unit_forces(self, where: tuple[ArrayLike, ArrayLike], threads: int, /) -> _F64: ...

def drag(
    moved: ArrayLike, where: tuple[ArrayLike, ArrayLike], way: ArrayLike, /
) -> tuple[_F64, _F64]: ...
def pull_free(
    body: FreeBody | World,
    index: int,
    rest: ArrayLike,
    rows: ArrayLike,
    spring: tuple[float, float],
    place: ArrayLike,
    n: int,
    threads: int,
    /,
) -> tuple[tuple[float, float, float], tuple[float, float, float]]: ...
def fit_stiffness(
    tree: PointTree,
    reduced: Reduced | None,
    field: DeformedField | None,
    field_reduced: Reduced | None,
    /,
) -> _F64 | None: ...
def coupling_check(settings: dict[str, float], /) -> None: ...
def coupling_wrench(
    settings: dict[str, float], manipulandum: _PlacedFrame, object: _PlacedFrame, /
) -> tuple[_F64, ...]: ...
def coupling_step(
    settings: dict[str, float],
    manipulandum: _PlacedFrame,
    object: _PlacedFrame,
    share: float,
    load: _Load,
    /,
) -> tuple[Any, ...]: ...
def dynamic_step(
    settings: dict[str, float],
    dynamics: dict[str, float],
    manipulandum: _PlacedFrame,
    manipulandum_velocity: ArrayLike,
    object: _PlacedFrame,
    velocity: ArrayLike,
    share: float,
    load: _Load,
    /,
) -> tuple[Any, _F64]: ...
def solve6(
    matrix: ArrayLike, right: ArrayLike, degenerate: float, sure: float, otherwise: ArrayLike, /
) -> tuple[_F64, int]: ...

# csrc/pyext/py_device.c
_Trajectory = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None]

_DeviceInfo = tuple[str, float, float, float, int, int, float]

@final
class Device:
    def __new__(cls) -> Device: ...

def replay_device(trajectory: _Trajectory, /) -> Device: ...
def hand_device(
    trajectory: _Trajectory,
    position: tuple[float, float, float],
    rotation: tuple[float, float, float],
    max_force: float,
    max_torque: float,
    /,
) -> Device: ...
def mouse_device(
    position: tuple[float, float],
    rotation: tuple[float, float],
    speed: float,
    turn: float,
    max_force: float,
    max_torque: float,
    /,
) -> Device: ...
def mouse_send(
    device: Device,
    hold: int,
    displacement: tuple[float, float, float],
    turn: tuple[float, float, float, float],
    buttons: int,
    /,
) -> None: ...
def mouse_state(
    device: Device, /
) -> tuple[bool, tuple[float, float, float], tuple[float, float, float]] | None: ...
def udp_device(
    address: tuple[str, int],
    client: tuple[str, int] | None,
    wait: float,
    max_force: float,
    max_torque: float,
    takeover: bool,
    /,
) -> Device: ...
def udp_counts(device: Device, /) -> tuple[int, int, int, int, int, int, int, int]: ...
def udp_accept(device: Device, /) -> None: ...
def spacemouse_device(
    path: str, speed: float, turn: float, full: float, deadband: float, /
) -> Device: ...
def force_dimension_device(
    libraries: tuple[str, ...], max_force: float, max_torque: float, /
) -> Device: ...
def openhaptics_device(
    libraries: tuple[str, ...], name: str, max_torque: float, torque_unit: float, /
) -> Device: ...
def probe_device(device: Device, /) -> _DeviceInfo: ...
def leave_device(device: Device, /) -> None: ...

# csrc/pyext/py_tip.c
_Touch = tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float, int, int,
    NDArray[np.float64], NDArray[np.float64], float
]  # fmt: skip

@final
class Tip:
    def __new__(
        cls,
        green: Green,
        positions: ArrayLike,
        vertices: ArrayLike,
        triangles: ArrayLike,
        radius: float,
        friction: float,
        max_depth: float,
        position: ArrayLike,
        quaternion: ArrayLike,
        progress: Any,
        threads: int,
        /,
    ) -> Tip: ...
    @property
    def max_depth(self) -> float: ...
    @property
    def nodes_per_disc(self) -> float: ...
    def touch(self, position: ArrayLike, /) -> _Touch: ...
    def felt(self, /) -> _Touch: ...
    def places(self, /) -> NDArray[np.int32]: ...
    def release(
        self,
        green: Green,
        positions: ArrayLike,
        at: float,
        progress: Callable[[int, int], object] | None,
        threads: int,
        /,
    ) -> None: ...
    def reset(self, /) -> None: ...
    def compliance(self, triangle: int, weights: ArrayLike, /) -> NDArray[np.float64]: ...
    def displacement(
        self, triangle: int, weights: ArrayLike, force: ArrayLike, released: float = 0, /
    ) -> NDArray[np.float64]: ...

def tip_law(
    compliance: ArrayLike, friction: float, displacement: ArrayLike, /
) -> tuple[int, tuple[float, float, float], tuple[float, float, float]]: ...

# csrc/pyext/py_touch.c

@final
class ExplicitTouch:
    def __new__(
        cls, motion: Motion, proxy: Proxy, way: str, cycle: float, cycles: int, steps: int, /
    ) -> ExplicitTouch: ...
    def report(self) -> dict[str, Any]: ...

_Touched: TypeAlias = Tip | ExplicitTouch

# csrc/pyext/py_session.c
@final
class Session:
    @overload
    def __new__(cls, device: Device, touched: _Touched, settings: dict[str, Any], /) -> Session: ...
    @overload
    def __new__(
        cls,
        device: Device,
        contacts: tuple[Contact, ...],
        simulations: tuple[Any, ...],
        fields: tuple[Any, ...],
        field_simulation: Any,
        coupling: dict[str, float],
        dynamics: dict[str, float] | None,
        settings: dict[str, Any],
        /,
    ) -> Session: ...
    def start(self, file: int, /) -> None: ...
    def advance(self, n: int, /) -> None: ...
    def stop(self, /) -> None: ...
    def close(self, /) -> None: ...
    def wait(self, seconds: float, /) -> bool: ...
    def command(
        self, kind: int, value: float, dt: float, coupling: Any, dynamics: Any, /
    ) -> bool: ...
    def snapshot(self, /) -> tuple[int, bytes] | None: ...
    def snapshot_layout(self, /) -> list[tuple[str, str, int, int, int]]: ...
    def follow(self, /) -> None: ...
    def records(self, most: int, /) -> bytes: ...
    def record_sizes(self, /) -> tuple[int, int, int, int]: ...
    def status(self, /) -> dict[str, Any]: ...
    def device(self, /) -> _DeviceInfo: ...
    def times(self, shares: ArrayLike, /) -> _F64: ...
    def restore(self, k: int, simulation: Any, /) -> None: ...
    def restore_touch(self, touched: _Touched, /) -> None: ...

def session_check(settings: dict[str, Any], device: Device | None, /) -> None: ...
def record_layout(
    free: int, coordinates: int, touched: int, sites: int, /
) -> tuple[list[str], list[str], list[int], int]: ...

# csrc/pyext/py_world.c
@final
class World:
    def __new__(
        cls, settings: dict[str, float | tuple[float, ...]], ground: Field | None, /
    ) -> World: ...
    def add_shape(
        self,
        tree: PointTree | None,
        field: Field | DeformedField | None,
        stiffness: float,
        each: ArrayLike | None,
        local: LocalCompliance | None,
        /,
    ) -> None: ...
    def add(self, body: FreeBody, shape: int, friction: float, /) -> None: ...
    def add_fixed(
        self, position: ArrayLike, quaternion: ArrayLike, shape: int, friction: float, /
    ) -> None: ...
    def step(
        self, n: int, progress: Callable[[int, int], object] | None, threads: int, /
    ) -> None: ...
    def motion(
        self, /
    ) -> tuple[
        NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
    ]: ...
    def state(
        self, body: int, /
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        float,
    ]: ...
    def nodes(self, body: int, /) -> NDArray[np.float64]: ...
    def energy(self, /) -> NDArray[np.float64]: ...
    def strains(self, /) -> NDArray[np.float64]: ...
    def dimple(self, body: int, /) -> NDArray[np.float64]: ...
    def report(
        self, /
    ) -> tuple[
        int,
        int,
        int,
        int,
        int,
        float,
        int,
        float,
        int,
        float,
        int,
        float,
        float,
        int,
        int,
        int,
        int,
        int,
        float,
        tuple[float, float, float],
        float,
        int,
        int,
        int,
        int,
        tuple[float, float, float],
    ]: ...
    def contacts(
        self, /
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ]: ...

def broad_pairs(centres: ArrayLike, radii: ArrayLike, /) -> NDArray[np.int32]: ...
