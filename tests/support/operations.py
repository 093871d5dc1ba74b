"""Operations of the package on small objects, as functions of these."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

import reducedfem as rf
from calls import IMPLICIT
from reducedfem import _core
from reducedfem.haptics.settings import HapticSettings
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets, solid_box

STVK = rf.StVK(young=1e6, poisson=0.4, density=1000.0)


def small_world() -> SimpleNamespace:
    """Return small objects of every kind, for the operations."""
    w = SimpleNamespace()
    w.nodes, w.elements = box_hexes(4, 1, 1, (0.4, 0.1, 0.1))
    w.tets = box_tets(2, 1, 1, (0.3, 0.1, 0.1))
    w.quadratic = box_tet10s(2, 1, 1, (0.3, 0.1, 0.1))
    w.serendipity = box_hex20s(2, 1, 1, (0.3, 0.1, 0.1))
    w.mesh = rf.Mesh(w.nodes, w.elements)
    w.fixed = np.flatnonzero(w.nodes[:, 0] == 0.0)
    w.solid = rf.Solid(w.mesh, STVK, fixed=w.fixed)
    # bends by a tenth of the length: several Newton iterations
    w.force = np.zeros_like(w.nodes)
    w.force[w.nodes[:, 0] > 0.39, 2] = 0.5
    w.u = w.solid.solve_static(w.force)
    w.green = rf.GreensFunctions(w.solid)
    w.modes = w.solid.linear_modes(3)
    w.basis = rf.modal_derivative_basis(w.solid, k=3, r=5)
    w.reduced = rf.reduce(w.solid, w.basis)
    free = rf.Solid(w.mesh, STVK)
    w.flying = rf.reduce(
        free,
        rf.modal_derivative_basis(free, k=2, r=3),
        strain_rate=rf.StrainRateDamping(free, 2.0, 1.0),
    )
    w.sketch = rf.ForceSketch.from_forces([w.force, 0.5 * w.force[:, [2, 0, 1]], 0.1 * w.force])
    w.q = np.linspace(-0.01, 0.01, 5)
    w.surface = tetrahedron()
    w.graded = rf.Mesh(*box_hexes(5, 5, 5)).graded()
    w.cut = rf.voxelize(w.surface, resolution=3, order=1)
    w.graded_cut = rf.voxelize(w.surface, resolution=8, order=1)
    w.cut_quadratic = rf.voxelize(w.surface, resolution=2, order=2)
    # large enough that modes are found by iteration
    w.long = solid_box((10, 2, 2), (0.3, 0.1, 0.1), STVK)
    return w


def tetrahedron() -> rf.Surface:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return rf.Surface(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def voxels(w: SimpleNamespace, fill: bool) -> list[np.ndarray]:
    mesh = rf.voxelize(w.surface, resolution=6, fill=fill, cut=False, order=1)
    return [mesh.nodes, mesh.elements]


def cut_again(w: SimpleNamespace) -> rf.Mesh:
    return rf.voxelize(w.surface, resolution=3).submesh([0, 1, 2])


def reduced_cut(w: SimpleNamespace) -> rf.ReducedSolid:
    bend = w.cut.nodes[:, [1, 2, 0]] ** 2
    return rf.reduce(rf.Solid(w.cut, STVK), bend[None], editable=True)


def interpolated(w: SimpleNamespace) -> list[np.ndarray]:
    embedding = rf.Embedding(w.mesh, w.nodes * 0.9 + 0.01)
    return [embedding.interpolate(w.u), embedding.distribute(w.force)]


def stepped(w: SimpleNamespace, system: rf.Solid | rf.ReducedSolid) -> list[np.ndarray]:
    results = []
    for kind in IMPLICIT.values():
        sim = kind(system, dt=1e-3, damping=(0.1, 1e-4), newton_max=3)
        sim.step(w.force if system is w.solid else w.reduced.project(w.force), n=3)
        results += [sim.state.q, sim.state.qdot]
    return results


def stepped_exactly(w: SimpleNamespace, system: rf.Solid | rf.ReducedSolid) -> list[np.ndarray]:
    force = w.force if system is w.solid else w.reduced.project(w.force)
    results = []
    sims = [rf.TRBDF2(system, 1e-3, exact=2, modes=modes) for modes in ("follow", "rest")]
    for sim in (*sims, rf.ExponentialEuler(system, 1e-3, (0.1, 1e-4), krylov=60)):
        sim.step(force, n=2)
        results += [sim.state.q, sim.state.qdot]
    return results


def stepped_explicitly(w: SimpleNamespace, system: rf.Solid | rf.ReducedSolid) -> list[np.ndarray]:
    sim = rf.CentralDifferences(system, damping=(0.1, 1e-4))
    sim.step(w.force if system is w.solid else w.reduced.project(w.force), n=3)
    return [sim.state.q, sim.state.qdot]


def hitting(w: SimpleNamespace) -> list[np.ndarray]:
    ground = rf.RigidProxy(rf.PlaneField([0.0, 0.0, 1e-3], [0.0, 0.0, 1.0]), 0.3)
    ball = rf.RigidProxy(rf.SphereField(w.nodes.max(axis=0), 0.02), 0.3)
    given = (0.1, 1e-4), rf.StrainRateDamping(w.solid, 2.0, 1.0)
    projected = rf.ProjectedSolid(w.solid, w.basis)
    results = []
    for system, contact in ((w.solid, ground), (w.solid, [ground, ball]), (projected, None)):
        inside = contact is not ground
        sim = rf.CentralDifferences(system, None, *given, contact=contact, implicit_damping=inside)
        sim.step(w.force)
        if not inside:
            sim.step(w.force, dt=0.7 * sim.dt)
        results += [sim.state.q, sim.state.qddot, *(one.node_forces for one in sim.contacts)]
    return results


def landing(w: SimpleNamespace) -> list[np.ndarray]:
    contact = rf.BarrierContact(rf.PlaneField([0.0, 0.0, -5e-4], [0.0, 0.0, 1.0]), lagged=False)
    sim = rf.BackwardEuler(w.solid, 1e-3, newton_max=20, contact=contact)
    sim.step(-w.force, n=3)
    return [sim.state.q, sim.contact_state.distances, contact.force(sim.state.q)]


def touching(w: SimpleNamespace) -> list[np.ndarray]:
    far = w.nodes + np.array([0.0, 0.0, np.ptp(w.nodes[:, 2]) + 5e-4])
    solid = rf.Solid(rf.join_meshes([w.mesh, rf.Mesh(far, w.mesh.elements)]), STVK)
    contact = rf.BarrierContact(parts=True, friction=0.3)
    sim = rf.BackwardEuler(solid, 1e-3, newton_max=20, contact=contact, gravity=(0.1, 0.0, -9.81))
    sim.step(n=2)
    return [sim.state.q, sim.contact_state.part_distances, contact.force(sim.state.q)]


def hanging(w: SimpleNamespace) -> list[np.ndarray]:
    results = []
    for system in (rf.ProjectedSolid(w.solid, w.basis), w.solid, rf.reduce(w.solid, w.basis)):
        sim = rf.ImplicitNewmark(system, 1e-3, gravity=(0.0, 0.0, -9.81))
        sim.step(n=2)
        results += [sim.state.q, sim.clone().state.qddot]
    sim = rf.CentralDifferences(w.solid, gravity=(0.0, 0.0, -9.81))
    return [*results, sim.state.qddot]


def stepped_with_consistent_mass(w: SimpleNamespace) -> list[np.ndarray]:
    solid = rf.Solid(w.cut_quadratic, STVK)
    sim = rf.CentralDifferences(solid, strain_rate=rf.StrainRateDamping(solid, 2.0, 1.0))
    sim.step(solid.gravity([1.0, 2.0, 3.0]), n=2)
    return [sim.state.q, sim.clone().state.qddot]


def damped(w: SimpleNamespace) -> list[np.ndarray]:
    damping = rf.StrainRateDamping(w.solid, 2.0, 1.0)
    reduced = damping.reduce(w.reduced)
    results = [damping.force(w.u, w.force), damping.matrix(w.u).data, reduced.matrix(w.q)]
    for make in (rf.ImplicitNewmark, rf.CentralDifferences):
        for system, rate in ((w.solid, damping), (w.reduced, reduced)):
            sim = make(system, 1e-4, strain_rate=rate)
            sim.reset(qdot=np.zeros_like(sim.state.q))
            sim.step(w.force, n=2)
            results.append(sim.state.q)
    model = rf.reduce(w.solid, w.basis, strain_rate=damping).truncate(3)
    projected = rf.ProjectedSolid(w.solid, w.basis)
    for system, rate in ((model, None), (projected, damping)):
        sim = rf.ImplicitNewmark(system, 1e-3, strain_rate=rate)
        sim.step(w.force, n=2)
        results.append(sim.state.q)
    body = rf.FreeBody(w.flying, 1e-3)
    body.step(w.force, n=2)
    return [*results, body.state.q]


def matrix_bases(w: SimpleNamespace) -> list[np.ndarray]:
    system = rf.SecondOrderSystem(np.eye(5), np.diag(np.arange(1.0, 6.0)), lambda a, b: a * b)
    results = [rf.modal_derivative_basis(system, k=2, r=2).vectors]
    damped_system = rf.SecondOrderSystem(np.eye(5), 2.0 * np.eye(5), damping_matrix=np.eye(5))
    for sim in (
        rf.ImplicitNewmark(damped_system, 0.1, damping=(0.1, 0.1)),
        rf.CentralDifferences(damped_system, 0.1),
        rf.CentralDifferences(system),
    ):
        sim.step(np.ones(5), n=2)
        results.append(sim.state.q)
    return results


def projected(w: SimpleNamespace) -> list[np.ndarray]:
    model = rf.ProjectedSolid(w.solid, w.basis)
    sim = rf.ImplicitNewmark(model, dt=1e-3, damping=(0.1, 1e-4), newton_max=3)
    sim.step(w.force, n=2)
    explicit = rf.CentralDifferences(model, strain_rate=rf.StrainRateDamping(w.solid, 2.0, 1.0))
    explicit.step(w.force)
    return [model.solve_static(w.force), model.stiffness(w.q), model.project(w.force), sim.state.q]


Operation = Callable[[SimpleNamespace], object]


def control_elements(w: SimpleNamespace) -> list[np.ndarray]:
    far = w.nodes[:, 0] > w.nodes[:, 0].max() - 1e-9
    handles = rf.ControlElements(w.solid, [far], order=3)
    c = np.full(12, 0.01)
    return [handles.matrix, handles.displacement(c, None), handles.terms(c, 3)]


def touched(w: SimpleNamespace) -> list[np.ndarray]:
    tip = rf.PointProxyContact(w.green, w.mesh.surface(), 0.02)
    session = rf.HapticSession(tip, rf.ReplayDevice([0.0], [[0.3, 0.05, 0.099]]), ramp=0.0)
    records = session.run(2)
    session.close()
    return [tip.displacement(), records.force]


def explicit_touch(w: SimpleNamespace) -> list[np.ndarray]:
    tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], 0.05))
    steps = math.ceil(2e-3 / rf.stable_step(w.solid))
    sim = rf.CentralDifferences(w.solid, 1e-3 / steps, contact=tool)
    touch = _core.ExplicitTouch(sim._core, tool._core, "delay", 1e-3, 2, 2 * steps)
    hand = rf.ReplayDevice([0.0], [w.nodes[-1] + [0.0, 0.0, 0.04]])
    session = _core.Session(hand._core, touch, HapticSettings(ramp=0.0).core(hand))
    session.advance(6)
    session.close()
    return [sim.displacement]


def saved_handles(w: SimpleNamespace) -> np.ndarray:
    far = w.nodes[:, 0] > w.nodes[:, 0].max() - 1e-9
    return pickle.loads(pickle.dumps(rf.ControlElements(w.solid, [far], order=2))).matrix


def composite_body(w: SimpleNamespace) -> list[np.ndarray]:
    body = rf.CompositeBody(w.long, 3)
    done = body.solve(np.full((w.long.mesh.n_nodes, 3), 1e-3))
    gradient = body._core.evaluate(None, done.u[body.nodes], False)[1]
    cut = rf.CompositeBody(
        rf.Solid(w.cut, STVK, w.cut.nodes[:, 2] < w.cut.nodes[:, 2].min() + 0.1), 2
    )
    return [done.u, done.frames, gradient, cut.solve().u]


def devices(w: SimpleNamespace) -> list[bool]:
    stands = [kind([0.0, 1.0], np.zeros((2, 3))) for kind in (rf.ReplayDevice, rf.SimulatedHand)]
    others = rf.UdpDevice, rf.SpaceMouse, rf.MouseDevice, rf.ForceDimension, rf.OpenHaptics
    made = [*stands, *(kind() for kind in others)]
    return [math.isfinite(device.duration) for device in made]


OPERATIONS: dict[str, Operation] = {
    "devices": devices,
    "contact of a tip": touched,
    "explicit solid under a hand": explicit_touch,
    "mesh of hexes": lambda w: rf.Mesh(w.nodes, w.elements).nodes,
    "mesh of tets": lambda w: rf.Mesh(*w.tets).elements,
    "mesh of tets with ten nodes": lambda w: rf.Mesh(*w.tets).quadratic().elements,
    "checks of ten nodes": lambda w: rf.Mesh(*w.quadratic).nodes,
    "mesh of hexes with 20 nodes": lambda w: rf.Mesh(w.nodes, w.elements).quadratic().elements,
    "checks of 20 nodes": lambda w: rf.Mesh(*w.serendipity).nodes,
    "surface": lambda w: tetrahedron().volume,
    "voxels": lambda w: voxels(w, fill=False),
    "filled voxels": lambda w: voxels(w, fill=True),
    "cut cells": lambda w: cut_again(w).fractions,
    "solid of cut cells": lambda w: rf.Solid(w.cut, STVK).strain_energy(w.cut.nodes**2),
    "reduced cut cells": lambda w: reduced_cut(w).coefficients,
    "graded mesh": lambda w: rf.Mesh(*box_hexes(5, 5, 5)).graded().elements,
    "parts of a graded mesh": lambda w: w.graded.submesh(w.graded.levels >= 0).nodes,
    "hanging nodes": lambda w: rf.Mesh(w.graded.nodes, w.graded.elements).hanging_nodes,
    "constrained hanging nodes": lambda w: rf.Mesh(w.graded.nodes, w.graded.elements)
    .with_constraints()
    .nodes,
    "graded tetrahedra": lambda w: rf.graded_tets(w.surface, 4, layers=2).elements,
    "graded cut cells": lambda w: w.graded_cut.graded().fractions,
    "solid of graded cut cells": lambda w: rf.Solid(w.graded_cut.graded(), STVK).strain_energy(
        np.zeros((w.graded_cut.graded().n_nodes, 3))
    ),
    "solid of a graded mesh": lambda w: rf.Solid(w.graded, STVK).stiffness(w.graded.nodes).data,
    "embedding": interpolated,
    "solid of hexes": lambda w: rf.Solid(w.mesh, STVK, fixed=w.fixed, quadrature=3).volume,
    "solid of tets": lambda w: rf.Solid(rf.Mesh(*w.tets), STVK).volume,
    "solid of tets with ten nodes": lambda w: rf.Solid(rf.Mesh(*w.quadratic), STVK).volume,
    "solid of hexes with 20 nodes": lambda w: rf.Solid(rf.Mesh(*w.serendipity), STVK).volume,
    "mass": lambda w: w.solid.mass().data,
    "sparse product": lambda w: w.solid.mass() @ np.ones((w.solid.n_dofs, 2)),
    "weight": lambda w: w.solid.gravity(),
    "simulations under gravity": hanging,
    "contact by a barrier": landing,
    "contact of parts": touching,
    "stiffness": lambda w: w.solid.stiffness(w.u).data,
    "strain energy": lambda w: w.solid.strain_energy(w.u),
    "Hessian product": lambda w: w.solid.hessian_product(w.u, w.force),
    "statics": lambda w: w.solid.solve_static(w.force, steps=2),
    "projected solid": projected,
    "ordering by dissection": lambda w: rf.ordering(w.long).permutation,
    "ordering of a grid": lambda w: rf.ordering(w.long, "nested").permutation,
    "ordering by cut elements": lambda w: rf.ordering(w.long, "simple").permutation,
    "ordering by minimum degree": lambda w: rf.ordering(w.long, "minimum-degree").permutation,
    "ordering by CHOLMOD": lambda w: rf.ordering(w.long, "amd").permutation,
    "control elements": control_elements,
    "saved control elements": saved_handles,
    "composite body": composite_body,
    "modes": lambda w: [(m := w.solid.linear_modes(3)).frequencies, m.shapes],
    "modes by iteration": lambda w: w.long.linear_modes(2).shapes,
    "modal derivatives": lambda w: w.solid.modal_derivatives(w.modes),
    "mass-PCA": lambda w: rf.mass_pca(w.solid, w.modes.shapes, 2).vectors,
    "basis": lambda w: rf.modal_derivative_basis(w.solid, k=3, r=5).vectors,
    "reduction": lambda w: rf.reduce(w.solid, w.basis).coefficients,
    "truncation": lambda w: w.reduced.truncate(3).coefficients,
    "reduced statics": lambda w: w.reduced.solve_static(w.force, steps=2),
    "adaptive statics": lambda w: w.solid.solve_static(w.force, adaptive=True),
    "thinning": lambda w: rf.thin_samples(w.nodes, 0.15),
    "thinning of shapes": lambda w: rf.thin_shapes(w.solid, w.modes.shapes, 1.0),
    "sketch": lambda w: rf.sketch_basis(w.solid, w.sketch, r=2).vectors,
    "basis of matrices": matrix_bases,
    "lacking compliance": lambda w: rf.lacking_compliance(w.solid, w.basis, w.force),
    "merged bases": lambda w: rf.merge_bases(w.solid, [w.basis, w.basis]).vectors,
    "implicit steps of a model": lambda w: stepped(w, w.reduced),
    "implicit steps of a solid": lambda w: stepped(w, w.solid),
    "reduced steps with exact modes": lambda w: stepped_exactly(w, w.reduced),
    "unreduced steps with exact modes": lambda w: stepped_exactly(w, w.solid),
    "reduced central differences": lambda w: stepped_explicitly(w, w.reduced),
    "unreduced central differences": lambda w: stepped_explicitly(w, w.solid),
    "central differences in contact, or with damping inside": hitting,
    "strain-rate damping": damped,
    "central differences of cut cells": stepped_with_consistent_mass,
    "reduced spectrum": lambda w: rf.spectrum(w.reduced).highest,
    "unreduced spectrum": lambda w: rf.spectrum(w.solid).highest,
}
