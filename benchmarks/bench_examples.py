"""Bases from examples: statics, sketches, trajectories; and systems that are no solids."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import yardsticks
from bench_precompute import bumpy_sphere
from child import measured
from table import Row
from ticks import durations

import reducedfem as rf
from reducedfem import samples

RUBBER = rf.StVK(1e6, 0.4, 1100.0)


def hose(resolution: int) -> rf.Solid:
    """Return a rubber hose held at one end."""
    mesh = rf.voxelize(samples.load("hose"), resolution, cut=False, order=1)
    return rf.Solid(mesh, RUBBER, fixed=mesh.nodes[:, 0] < 0.012)


def pulls(solid: rf.Solid, forces: np.ndarray) -> np.ndarray:
    """Return loads (m, n, 3): forces (m, 3), each spread over the free end."""
    nodes = solid.mesh.nodes
    end = (nodes @ [1.0, 0.0, 2.0]).argsort()[-len(nodes) // 20 :]
    loads = np.zeros((len(forces), len(nodes), 3))
    loads[:, end] = forces[:, None] / len(end)
    return loads


def statics_rows() -> list[Row]:
    """One large load.

    Nearly all of it is the factorization of the tangent (csrc/linalg/fronts.h).
    """
    solid = hose(48)
    load = pulls(solid, np.array([[-4.0, 0.0, -2.0]]))[0]
    cores = rf.threads()
    rf.set_threads(1)
    # the first run shows its peak of memory: freed memory stays with the process
    _, _, memory = measured(lambda: solid.solve_static(1e-6 * load, adaptive=True))
    _, alone, _ = measured(lambda: solid.solve_static(load, adaptive=True))
    rf.set_threads(cores)
    (u, report), seconds, _ = measured(lambda: solid.solve_static(load, adaptive=True, report=True))
    tangent = float(np.median(solid._core.time_evaluate(u, True, 9, cores)))
    share = report.iterations * tangent / seconds
    return [
        Row(
            f"adaptive statics, {solid.mesh.n_nodes} nodes, {report.iterations} iterations",
            seconds,
            "s",
            None,
            f"{cores} cores; tangents and forces are {share:.0%} of it, the rest mostly "
            "factorizations",
            ratio=seconds / alone,
            over="the same on one core",
            memory=memory,
        )
    ]


def sketch_rows() -> list[Row]:
    """Thinning, and a basis from loads that are solved side by side."""
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(2000, 600)), axis=0)
    apart = 5.0 * float(np.linalg.norm(walk[1] - walk[0]))
    rf.thin_samples(walk[:100], apart)
    kept, thinning, thin_memory = measured(lambda: rf.thin_samples(walk, apart))

    def distances() -> np.ndarray:
        squares = (walk**2).sum(axis=1)
        return squares[:, None] + squares - 2.0 * walk @ walk.T

    distances()
    _, plain, _ = measured(distances)
    out = [
        Row(
            f"thin {len(walk)} samples of {walk.shape[1]} numbers",
            thinning,
            "s",
            None,
            f"{len(kept)} kept",
            ratio=thinning / plain,
            over="their distances in NumPy",
            memory=thin_memory,
        )
    ]

    solid = hose(28)
    angle = np.linspace(0.0, 4.0 * np.pi, 48)
    strength = np.linspace(1.0, 10.0, len(angle))
    directions = np.stack([0.8 * np.cos(angle), np.sin(angle), -0.6 * np.cos(angle)], axis=1)
    loads = pulls(solid, strength[:, None] * directions)
    sketch = rf.ForceSketch.from_forces(loads)
    (_, report), seconds, memory = measured(
        lambda: rf.sketch_basis(solid, sketch, r=20, force_distance=0.0, report=True)
    )
    _, each, _ = measured(
        lambda: [solid.solve_static(load, tol=1e-8, adaptive=True) for load in loads[::6]]
    )
    plain = each / len(loads[::6]) * len(report.loads)
    out.append(
        Row(
            f"basis from {len(report.loads)} loads on {solid.mesh.n_nodes} nodes, r = 20",
            seconds,
            "s",
            None,
            f"{int(report.iterations.sum())} Newton iterations; {len(report.failed)} failed; "
            f"{rf.threads()} cores, a load each",
            ratio=seconds / plain,
            over="one load after another",
            memory=memory,
        )
    )
    return out


def trajectory_rows() -> list[Row]:
    """POD and merging on a mesh of 20,000 nodes; recording a reduced motion."""
    mesh = rf.voxelize(bumpy_sphere(), resolution=74, fill=False)
    low = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 0.03 * np.ptp(mesh.nodes[:, 2])
    solid = rf.Solid(mesh, RUBBER, low)
    rng = np.random.default_rng(0)
    snapshots = rng.normal(size=(200, mesh.n_nodes, 3))
    snapshots[:, solid.fixed] = 0.0
    rf.mass_pca(solid, snapshots[:2], 1)
    basis, seconds, memory = measured(lambda: rf.pod_basis(solid, snapshots, r=30))
    flat = snapshots.reshape(len(snapshots), -1)
    _, plain, _ = measured(lambda: np.linalg.svd(flat, full_matrices=False))
    out = [
        Row(
            f"POD of {len(snapshots)} snapshots, {mesh.n_nodes} nodes, r = {basis.r}",
            seconds,
            "s",
            None,
            f"{snapshots.nbytes / 1e6:.0f} MB of snapshots; NumPy's has no mass",
            ratio=seconds / plain,
            over="np.linalg.svd",
            memory=memory,
        )
    ]
    other = rf.mass_pca(solid, snapshots[100:130], 30)
    merged, seconds, memory = measured(lambda: rf.merge_bases(solid, [basis, other]))
    _, plain, _ = measured(lambda: np.linalg.svd(flat[: merged.r], full_matrices=False))
    out.append(
        Row(
            f"merge two bases of 30 to {merged.r}",
            seconds,
            "s",
            None,
            "a check of independence, then mass-PCA",
            ratio=seconds / plain,
            over="np.linalg.svd",
            memory=memory,
        )
    )
    return out


class Chain:
    """Springs d + d^2 between neighbours, walls at both ends (Fermi, Pasta, Ulam)."""

    def __init__(self, n: int) -> None:
        ones = np.ones(n - 1)
        self.stiffness = scipy.sparse.diags(
            [-ones, 2.0 * np.ones(n), -ones], [-1, 0, 1], format="csc"
        )
        self.mass = scipy.sparse.diags(1.0 + 0.3 * np.sin(np.arange(n)), format="csc")

    @staticmethod
    def hessian_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return (H : a) b."""
        pull = 2.0 * np.diff(a, prepend=0.0, append=0.0) * np.diff(b, prepend=0.0, append=0.0)
        return pull[:-1] - pull[1:]


def operator_rows() -> list[Row]:
    """Modes and derivatives of a system given by its matrices, beside SciPy's ways."""
    n, k = 20_000, 20
    chain = Chain(n)

    def ours() -> np.ndarray:
        system = rf.SecondOrderSystem(chain.mass, chain.stiffness, chain.hessian_product)
        return system.modal_derivatives(system.linear_modes(k))

    def plain() -> np.ndarray:
        start = np.ones(n)  # else it begins at random
        _, shapes = scipy.sparse.linalg.eigsh(chain.stiffness, k, chain.mass, sigma=0.0, v0=start)
        solve = scipy.sparse.linalg.splu(chain.stiffness).solve
        pairs = zip(*np.triu_indices(k), strict=True)
        loads = [chain.hessian_product(shapes[:, i], shapes[:, j]) for i, j in pairs]
        return np.array([-solve(load) for load in loads])

    derivatives, seconds, memory = measured(ours)
    _, theirs, _ = measured(plain)
    return [
        Row(
            f"a system of {n} unknowns: {k} modes, {len(derivatives)} derivatives",
            seconds,
            "s",
            None,
            "SciPy's: eigsh and splu, one solve after another",
            ratio=seconds / theirs,
            over="SciPy",
            memory=memory,
        )
    ]


def recording_rows() -> list[Row]:
    """Record loads and answer each, as an interface does from picture to picture."""
    solid = hose(48)
    model = rf.LinearModel(solid, 20)
    load = pulls(solid, np.array([[0.0, 3.0, 0.0]]))[0]
    with rf.record(model) as recording:
        recording.add(load)
        seconds = durations(lambda: recording.add(load), 300)
    size = model.modes.shapes.nbytes
    p50 = float(np.median(seconds))
    return [
        Row(
            f"record a load and answer it, {solid.mesh.n_nodes} nodes, 20 modes",
            p50 * 1e3,
            "ms",
            None,
            f"p99 {1e3 * np.percentile(seconds, 99):.3g}; {size / 1e6:.1f} MB of modes",
            ratio=p50 * yardsticks.read_rate(size) / size,
            over="reading the modes",
        )
    ]


ENTRIES = {
    "statics": statics_rows,
    "recording": recording_rows,
    "sketches": sketch_rows,
    "trajectories": trajectory_rows,
    "operators": operator_rows,
}
