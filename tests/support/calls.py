"""One object of each public kind, small, and a call of each public callable that works."""

# ruff: noqa: E501
from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace

import numpy as np

import reducedfem as rf
from reducedfem.dynamics.integrator import ImplicitSimulation
from reducedfem.io.record_file import RECORD
from shapes import box_hexes, box_tets


def integrators(base):
    """Yield the integrators that users make, below a base class."""
    for kind in base.__subclasses__():
        if hasattr(kind, "_scheme"):
            yield kind
        yield from integrators(kind)


IMPLICIT = {kind.__name__: kind for kind in integrators(ImplicitSimulation)}
CONTACTS = [kind.__name__ for kind in rf.Contact.__subclasses__()]


def release_anew(w):
    """Return `PointProxyContact.release` of a new contact in each call."""

    @functools.wraps(w.touched.release)
    def release(*given, **options):
        return rf.PointProxyContact(w.green, w.surface, 0.01).release(*given, **options)

    return release


def make_world():
    """Return one object of each kind."""
    w = SimpleNamespace()
    nodes, elements = box_hexes(3, 1, 1, (0.3, 0.1, 0.1))
    w.stvk = rf.StVK(2e6, 0.3, 1000.0)
    w.mesh = rf.Mesh(nodes, elements)
    w.tets = rf.Mesh(*box_tets(1, 1, 1))
    w.graded = rf.Mesh(*box_hexes(5, 5, 5)).graded()
    w.solid = rf.Solid(w.mesh, w.stvk, fixed=nodes[:, 0] < 1e-9)
    w.free = rf.Solid(w.mesh, w.stvk)
    w.modes = w.solid.linear_modes(2)
    w.basis = rf.modal_derivative_basis(w.solid, 2, 3)
    w.damping = rf.StrainRateDamping(w.solid, 1.0, 1.0)
    w.reduced = rf.reduce(w.solid, w.basis, strain_rate=w.damping)
    w.editable = rf.reduce(w.solid, w.basis, editable=True)
    w.projected = rf.ProjectedSolid(w.solid, w.basis)
    w.free_reduced = rf.reduce(w.free, rf.modal_derivative_basis(w.free, 2, 3))
    w.surface = w.mesh.surface()
    w.field = rf.DistanceField.from_surface(w.surface, resolution=8)
    w.sphere = rf.SphereField([0, 0, 0], 0.1)
    w.shell = rf.Pointshell(nodes, np.tile([0.0, 0.0, 1.0], (len(nodes), 1)))
    w.tree = rf.PointTree(w.shell, w.reduced)
    w.local = rf.LocalCompliance(w.tree, w.solid)
    w.standing = rf.LocalCompliance(rf.PointTree(w.shell), w.solid)
    w.world = rf.World(1e-3)
    w.world.add_fixed(w.standing)
    w.world.add(rf.FreeBody(w.free_reduced, 1e-3), field=w.field)
    w.deformed = rf.DeformedField(w.field, w.reduced, 4, 2)
    w.contact = rf.PenaltyContact(w.tree, w.field, 100.0)
    w.model = rf.LinearModel(w.solid, w.modes)
    w.green = rf.GreensFunctions(w.solid, releasable=w.solid.fixed)
    w.touched = rf.PointProxyContact(w.green, w.surface, 0.01)
    w.floor = rf.PlaneField([0.0, 0.0, -1.0], [0.0, 0.0, 1.0])
    w.barrier = rf.BarrierContact(w.floor)
    w.above = rf.BackwardEuler(w.solid, 1e-3, newton_max=50, contact=w.barrier)
    w.proxy = rf.RigidProxy(w.floor)
    w.voxmap = rf.Voxmap.from_surface(w.surface, 8)
    w.handles = rf.ControlElements(w.solid, [nodes[:, 0] > 0.29])
    w.series = rf.ControlElements(w.solid, [nodes[:, 0] > 0.29], order=2)
    w.composite = rf.CompositeBody(w.solid, 3, holdable=[15])
    w.system = rf.SecondOrderSystem(np.eye(3), 2.0 * np.eye(3))
    w.n, w.r = len(nodes), 3
    w.u, w.q = np.zeros((w.n, 3)), np.zeros(3)
    w.force = np.ones((w.n, 3))
    poses, rates = [[0.0, 0, 0, 1, 0, 0, 0]] * 2, np.zeros((2, 6))
    w.free_motion = rf.Motion([0.0, 1e-3], np.ones((2, 2)), np.ones((2, 2)), poses, rates)
    w.fall = rf.WorldMotion([0.0, 1e-3], [w.free_motion], {-2: np.zeros((2, 4, 3))})
    w.motion = rf.Motion([0.0, 1e-3], np.eye(2, w.r), np.eye(2, w.r))
    w.quaternion, w.position = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    w.pose = (w.position, w.quaternion)
    w.sketch = rf.ForceSketch.from_forces(np.ones((2, w.n, 3)))
    cycles = np.zeros(3, RECORD)
    cycles["time_s"], cycles["device_quaternion"][:, 0] = np.arange(3), 1.0
    cycles["hand_quaternion"][:, 0] = 1.0
    w.records = rf.HapticRecords(cycles)
    w.virtual = rf.VirtualCoupling(100.0, 0.1)
    w.dynamic = rf.DynamicCoupling(100.0, 0.1, 0.1, 1e-4)
    w.outcome = w.contact.evaluate(w.position, w.quaternion, w.q)
    w.hand = rf.ReplayDevice([0.0, 1.0], np.zeros((2, 3)))
    w.view = rf.view(w.surface, browser=False)
    w.session = rf.HapticSession(
        rf.PenaltyContact(rf.PointTree(w.shell), w.field, 100.0),
        rf.ReplayDevice([0.0, 1.0], np.ones((2, 3))),
        coupling=w.virtual,
    )
    return w


def material(w):
    return rf.LinearElastic(np.eye(6) * 1e6, 1000.0)


def pressed(w):
    contacts = w.green.contacts(4)
    contacts.add(w.green.nodes[0])
    return contacts


# name: the callable and arguments with which it works, both made of the world
CALLS = {
    "BarrierContact": (lambda w: rf.BarrierContact, lambda w: dict(obstacle=w.floor, distance=1e-3, stiffness=None, friction=0.2, slip=1e-3, lagged=True, nodes=None, parts=False)),
    "BarrierContact.damping": (lambda w: w.barrier.damping, lambda w: dict(u=w.u, v=w.u)),
    "BarrierContact.energy": (lambda w: w.barrier.energy, lambda w: dict(u=w.u)),
    "BarrierContact.force": (lambda w: w.barrier.force, lambda w: dict(u=w.u, v=w.u)),
    "BarrierContact.stiffness": (lambda w: w.barrier.stiffness, lambda w: dict(u=w.u, v=w.u)),
    "Basis": (lambda w: rf.Basis, lambda w: dict(vectors=w.basis.vectors, singular_values=[1, 1, 1.0], spectrum=[1.0, 1, 1], provenance={})),
    "BoxField": (lambda w: rf.BoxField, lambda w: dict(low=[0, 0, 0], high=[1, 1, 1])),
    "Constraints.fill": (lambda w: w.graded.constraints.fill, lambda w: dict(u=np.zeros((w.graded.n_nodes, 3)))),
    "Constraints.fold": (lambda w: w.graded.constraints.fold, lambda w: dict(force=np.zeros((w.graded.n_nodes, 3)))),
    "CSC": (lambda w: rf.CSC, lambda w: dict(data=[1.0], indices=[0], indptr=[0, 1], shape=(1, 1))),
    "CapsuleField": (lambda w: rf.CapsuleField, lambda w: dict(start=[0, 0, 0], end=[1, 0, 0], radius=0.1)),
    "ExponentialEuler": (lambda w: rf.ExponentialEuler, lambda w: dict(system=w.projected, dt=1e-3, damping=(0.0, 0.0), accuracy=1e-10, krylov=50, gravity=w.position)),
    "ExponentialEuler.reset": (lambda w: rf.ExponentialEuler(w.projected, 1e-3).reset, lambda w: dict(q=w.q, qdot=w.q, qddot=w.q)),
    "ExponentialEuler.step": (lambda w: rf.ExponentialEuler(w.projected, 1e-3).step, lambda w: dict(force=w.q, n=1, progress=False)),
    "CentralDifferences": (lambda w: rf.CentralDifferences, lambda w: dict(system=w.solid, dt=1e-4, damping=(0.0, 0.0), strain_rate=None, gravity=w.position, contact=w.proxy, implicit_damping=False, unstable=False)),
    "CentralDifferences.reset": (lambda w: rf.CentralDifferences(w.reduced, 1e-4).reset, lambda w: dict(q=w.q, qdot=w.q, qddot=w.q)),
    "CentralDifferences.step": (lambda w: rf.CentralDifferences(w.reduced, 1e-4).step, lambda w: dict(force=w.q, n=1, dt=1e-4, progress=False)),
    "ComplementField": (lambda w: rf.ComplementField, lambda w: dict(field=w.sphere)),
    "Contact.derivatives": (lambda w: w.contact.derivatives, lambda w: dict(position=w.position, quaternion=w.quaternion, q=w.q, treeless=False, level=None)),
    "Contact.evaluate": (lambda w: w.contact.evaluate, lambda w: dict(position=w.position, quaternion=w.quaternion, q=w.q, field_q=None, contacts=False, treeless=False, level=None)),
    "Contact.evaluate_many": (lambda w: w.contact.evaluate_many, lambda w: dict(positions=[w.position], quaternions=[w.quaternion], qs=[w.q], field_qs=None, contacts=False, treeless=False, level=None, progress=False)),
    "CompositeBody": (lambda w: rf.CompositeBody, lambda w: dict(solid=w.solid, blocks=[0, 0, 1], holdable=[13], progress=False)),
    "CompositeBody.solve": (lambda w: w.composite.solve, lambda w: dict(force=w.force, held={15: w.position}, u0=w.u, tol=1e-8, max_iterations=50)),
    "ControlElements": (lambda w: rf.ControlElements, lambda w: dict(solid=w.solid, handles=[[3, 7, 11]], surface_nodes=[5], order=1, dtype="float64", progress=False)),
    "ControlElements.radius": (lambda w: w.series.radius, lambda w: dict(c=np.zeros(12))),
    "ControlElements.displacement": (lambda w: w.handles.displacement, lambda w: dict(c=np.zeros(12), rotation="extract")),
    "ControlElements.energy": (lambda w: w.handles.energy, lambda w: dict(c=np.zeros(12), rotation="extract")),
    "ControlElements.forces": (lambda w: w.handles.forces, lambda w: dict(c=np.zeros(12), rotation="extract", consistent=True)),
    "ControlElements.load": (lambda w: rf.ControlElements.load, lambda w: dict(path="ControlElements.safetensors")),
    "ControlElements.parameters": (lambda w: w.handles.parameters, lambda w: dict(i=0, position=w.position, quaternion=w.quaternion, affine=None)),
    "ControlElements.save": (lambda w: w.handles.save, lambda w: dict(path="c.safetensors")),
    "ControlElements.terms": (lambda w: w.handles.terms, lambda w: dict(c=np.zeros(12), order=2, progress=False)),
    "ControlElements.wrench": (lambda w: w.handles.wrench, lambda w: dict(c=np.zeros(12), rotation="extract", consistent=True)),
    "Corotated": (lambda w: rf.Corotated, lambda w: dict(young=1e6, poisson=0.3, density=1000.0)),
    "DeformedField": (lambda w: rf.DeformedField, lambda w: dict(field=w.field, reduced=w.reduced, proxies=4, k=2, embedding=None, rng=0, domains=None)),
    "DeformedField.distance": (lambda w: w.deformed.distance, lambda w: dict(points=[w.position], q=w.q)),
    "DeformedField.flat": (lambda w: w.deformed.flat, lambda w: dict(q=w.q)),
    "DeformedField.gradient": (lambda w: w.deformed.gradient, lambda w: dict(points=[w.position], q=w.q)),
    "DeformedField.nearest": (lambda w: w.deformed.nearest, lambda w: dict(points=[w.position], q=w.q)),
    "DeformedField.positions": (lambda w: w.deformed.positions, lambda w: dict(q=w.q)),
    "DeformedField.project": (lambda w: w.deformed.project, lambda w: dict(proxies=[0], forces=[[0.0, 0, 1]])),
    "DistanceField": (lambda w: rf.DistanceField, lambda w: dict(values=np.ones((3, 3, 3)), origin=[0, 0, 0], spacing=[1, 1, 1])),
    "DistanceField.difference": (lambda w: w.field.difference, lambda w: dict(others=w.sphere)),
    "DistanceField.distance": (lambda w: w.field.distance, lambda w: dict(points=[w.position])),
    "DistanceField.distance_and_gradient": (lambda w: w.field.distance_and_gradient, lambda w: dict(points=[w.position])),
    "DistanceField.from_field": (lambda w: rf.DistanceField.from_field, lambda w: dict(field=w.sphere, resolution=8, expand=1.5, box=([-1, -1, -1], [1, 1, 1]), progress=False)),
    "DistanceField.from_surface": (lambda w: rf.DistanceField.from_surface, lambda w: dict(surface=w.surface, resolution=8, expand=1.5, offset=None, mode="exact", box=None, executor=None, progress=False)),
    "DistanceField.gradient": (lambda w: w.field.gradient, lambda w: dict(points=[w.position])),
    "DistanceField.intersection": (lambda w: w.field.intersection, lambda w: dict(others=w.sphere)),
    "DistanceField.isosurface": (lambda w: w.field.isosurface, lambda w: dict(value=0.0, progress=False)),
    "DistanceField.offset": (lambda w: w.field.offset, lambda w: dict(by=0.01)),
    "DistanceField.load": (lambda w: rf.DistanceField.load, lambda w: dict(path="DistanceField.safetensors")),
    "DistanceField.save": (lambda w: w.field.save, lambda w: dict(path="f.safetensors")),
    "DistanceField.union": (lambda w: w.field.union, lambda w: dict(others=w.sphere)),
    "DynamicCoupling": (lambda w: rf.DynamicCoupling, lambda w: dict(stiffness=100.0, torsional_stiffness=0.1, mass=0.1, inertia=1e-4, damping_ratio=1.0, substeps=1, max_force=5.0, max_torque=0.1, max_depth=0.01)),
    "DynamicCoupling.step": (lambda w: w.dynamic.step, lambda w: dict(manipulandum=w.pose, position=w.position, quaternion=w.quaternion, contact=w.outcome, velocity=np.zeros(6), manipulandum_velocity=np.zeros(6), share=1.0, dt=1e-3)),
    "Grading": (lambda w: rf.Grading, lambda w: dict(layers=1, max_level=2)),
    "Embedding": (lambda w: rf.Embedding, lambda w: dict(mesh=w.mesh, points=[w.position], progress=False)),
    "Embedding.distribute": (lambda w: rf.Embedding(w.mesh, [w.position]).distribute, lambda w: dict(f=[[0.0, 0, 1]])),
    "Embedding.interpolate": (lambda w: rf.Embedding(w.mesh, [w.position]).interpolate, lambda w: dict(u=w.u)),
    "Embedding.transfer": (lambda w: rf.Embedding(w.mesh, [w.position]).transfer, lambda w: dict(basis=w.basis.vectors)),
    "ForceDimension": (lambda w: rf.ForceDimension, lambda w: dict(max_force=5.0, max_torque=0.05, library=None)),
    "ForceSketch": (lambda w: rf.ForceSketch, lambda w: dict(n_nodes=3, times=[0.0], offsets=[0, 1], nodes=[0], forces=[[0.0, 0, 1]], patterns=None, coordinates=None)),
    "ForceSketch.force": (lambda w: w.sketch.force, lambda w: dict(i=0)),
    "ForceSketch.from_forces": (lambda w: rf.ForceSketch.from_forces, lambda w: dict(forces=[w.force], times=[0.0])),
    "ForceSketch.load": (lambda w: rf.ForceSketch.load, lambda w: dict(path="s.safetensors")),
    "ForceSketch.save": (lambda w: w.sketch.save, lambda w: dict(path="s.safetensors")),
    "ForceSketch.select": (lambda w: w.sketch.select, lambda w: dict(samples=[0])),
    "ForceSketch.thin": (lambda w: w.sketch.thin, lambda w: dict(distance=1.0, progress=False)),
    "FreeBody": (lambda w: rf.FreeBody, lambda w: dict(reduced=w.free_reduced, dt=1e-3, damping=(0.0, 0.0), newton_max=1, tol=1e-6, beta=0.25, gamma=0.5, gravity=w.position, strain_rate=None)),
    "FreeBody.reset": (lambda w: rf.FreeBody(w.free_reduced, 1e-3).reset, lambda w: dict(position=w.position, quaternion=w.quaternion, velocity=w.position, angular_velocity=w.position, q=w.q, qdot=w.q)),
    "FreeBody.step": (lambda w: rf.FreeBody(w.free_reduced, 1e-3).step, lambda w: dict(force=w.u, n=1, progress=False)),
    "HapticRecords": (lambda w: rf.HapticRecords, lambda w: dict(array=w.records.array)),
    "HapticRecords.flagged": (lambda w: w.records.flagged, lambda w: dict(name="clamped")),
    "HapticRecords.load": (lambda w: rf.HapticRecords.load, lambda w: dict(path="r.npy")),
    "HapticRecords.plot": (lambda w: w.records.plot, lambda w: dict(max_depth=0.1)),
    "HapticRecords.save": (lambda w: w.records.save, lambda w: dict(path="r.npy")),
    "HapticSession": (lambda w: rf.HapticSession, lambda w: dict(contact=w.session.contacts[0], device=w.hand, coupling=w.virtual, interpolation=None)),
    "HapticSession.enable": (lambda w: w.session.enable, lambda w: dict(forces=True)),
    "HapticSession.reader": (lambda w: w.session.reader, lambda w: dict(points=False)),
    "HapticSession.records": (lambda w: w.session.records, lambda w: dict(drain=False)),
    "HapticSession.run": (lambda w: w.session.run, lambda w: dict(cycles=1, seconds=None, progress=False)),
    "IntersectionField": (lambda w: rf.IntersectionField, lambda w: dict(fields=[w.sphere])),
    "LinearElastic": (lambda w: rf.LinearElastic, lambda w: dict(stiffness=np.eye(6), density=1.0)),
    "LinearElastic.fibres": (lambda w: rf.LinearElastic.fibres, lambda w: dict(direction=[1, 0, 0], young_along=2e6, young_across=1e6, poisson_along=0.3, poisson_across=0.3, shear_along=4e5, density=1.0)),
    "LinearElastic.orthotropic": (lambda w: rf.LinearElastic.orthotropic, lambda w: dict(young=[1e6] * 3, poisson=[0.3] * 3, shear=[4e5] * 3, density=1.0, axes=None)),
    "LinearElastic.rotated": (lambda w: material(w).rotated, lambda w: dict(axes=np.eye(3))),
    "LinearModel": (lambda w: rf.LinearModel, lambda w: dict(solid=w.solid, modes=w.modes)),
    "LinearModel.displacement": (lambda w: w.model.displacement, lambda w: dict(force=[[0.0, 0, 1]], nodes=[4], modal=[0.0, 0.0])),
    "LocalCompliance": (lambda w: rf.LocalCompliance, lambda w: dict(tree=w.tree, solid=w.solid, reach=0.01, progress=False)),
    "LocalCompliance.between": (lambda w: w.local.between, lambda w: dict(point=0, other=1)),
    "LocalCompliance.displacement": (lambda w: w.local.displacement, lambda w: dict(force=[[0.0, 0, 1]], points=[1])),
    "Mesh": (lambda w: rf.Mesh, lambda w: dict(nodes=w.mesh.nodes, elements=w.mesh.elements, regions=None, drop_unreferenced=False, constraints=None)),
    "Mesh.components": (lambda w: w.mesh.components, lambda w: dict(by="face")),
    "Mesh.graded": (lambda w: w.mesh.graded, lambda w: dict(grading=rf.Grading())),
    "Mesh.largest_component": (lambda w: w.mesh.largest_component, lambda w: dict(by="face")),
    "Mesh.n_components": (lambda w: w.mesh.n_components, lambda w: dict(by="face")),
    "Mesh.submesh": (lambda w: w.mesh.submesh, lambda w: dict(elements=[0])),
    "Mesh.with_constraints": (lambda w: w.mesh.with_constraints, lambda w: dict(constraints=None)),
    "Mesh.with_mid_edge_nodes": (lambda w: w.tets.quadratic().with_mid_edge_nodes, lambda w: dict(nodes=[0])),
    "Mesh.with_regions": (lambda w: w.mesh.with_regions, lambda w: dict(regions=[1, 0, 2])),
    "Mesh.write": (lambda w: w.mesh.write, lambda w: dict(path="m.vtu", point_data={"u": w.u}, cell_data={"s": [1.0, 2.0, 3.0]})),
    "Modes": (lambda w: rf.Modes, lambda w: dict(eigenvalues=[1.0, 2.0], frequencies=[1.0, 2.0], shapes=w.modes.shapes)),
    "MooneyRivlin": (lambda w: rf.MooneyRivlin, lambda w: dict(c1=1e5, c2=2e4, bulk=1e6, density=1000.0)),
    "Motion": (lambda w: rf.Motion, lambda w: dict(times=[0.0, 1.0], q=np.zeros((2, 3)), qdot=np.zeros((2, 3)), poses=[[0.0, 0, 0, 1, 0, 0, 0]] * 2, rates=np.zeros((2, 6)))),
    "OffsetField": (lambda w: rf.OffsetField, lambda w: dict(field=w.sphere, by=0.1)),
    "OpenHaptics": (lambda w: rf.OpenHaptics, lambda w: dict(name=None, max_torque=0.0, torque_unit=1.0, library=None)),
    "FrictionContact": (lambda w: rf.FrictionContact, lambda w: dict(tree=w.tree, field=w.field, mu=0.4, sites=64, budget_us=300.0, compliance=None, local=getattr(w, "local", None), warm_nodes=None, cold_ratio=0.8)),
    "PenaltyContact": (lambda w: rf.PenaltyContact, lambda w: dict(tree=w.tree, field=w.field, stiffness=100.0, warm_nodes=None, budget_us=None, cold_ratio=0.8, max_points=10, area_weights=False)),
    "PlaneField": (lambda w: rf.PlaneField, lambda w: dict(point=[0, 0, 0], normal=[0, 0, 1])),
    "PointTree": (lambda w: rf.PointTree, lambda w: dict(shell=w.shell, reduced=w.reduced, embedding=None, progress=False)),
    "PointTree.normals": (lambda w: w.tree.normals, lambda w: dict(q=w.q)),
    "PointTree.positions": (lambda w: w.tree.positions, lambda w: dict(q=w.q)),
    "PointTree.radii": (lambda w: w.tree.radii, lambda w: dict(level=0, q=w.q)),
    "PointTree.tight_radii": (lambda w: w.tree.tight_radii, lambda w: dict(level=0, q=w.q)),
    "PointProxyContact": (lambda w: rf.PointProxyContact, lambda w: dict(green=w.green, surface=w.surface, radius=0.01, friction=0.3, max_depth=0.01, pose=rf.Pose(*w.pose), progress=False)),
    "PointProxyContact.compliance": (lambda w: w.touched.compliance, lambda w: dict(triangle=0, weights=[0.2, 0.3, 0.5])),
    "PointProxyContact.release": (release_anew, lambda w: dict(nodes=w.solid.fixed[:1], at=0.5, progress=False)),
    "PointProxyContact.touch": (lambda w: w.touched.touch, lambda w: dict(position=[0.2, 0.05, 0.099])),
    "Pointshell": (lambda w: rf.Pointshell, lambda w: dict(points=w.shell.points, normals=w.shell.normals, levels=w.shell.levels, areas=None)),
    "Pointshell.farthest_point_order": (lambda w: rf.Pointshell.farthest_point_order, lambda w: dict(points=w.mesh.nodes, branching=4, progress=False)),
    "Pointshell.from_depth_cube": (lambda w: rf.Pointshell.from_depth_cube, lambda w: dict(surface=w.surface, resolution=4, branching=4, areas=False, progress=False)),
    "Pointshell.from_field": (lambda w: rf.Pointshell.from_field, lambda w: dict(field=w.sphere, points=4, levels=2, rng=0, level_set=0.0,)),
    "Pointshell.from_surface": (lambda w: rf.Pointshell.from_surface, lambda w: dict(surface=w.surface, points=20, levels=2, rng=0, resolution=16, offset=None, areas=False, progress=False)),
    "Pointshell.from_voxels": (lambda w: rf.Pointshell.from_voxels, lambda w: dict(surface=w.surface, resolution=8, expand=1.2, branching=4, areas=False, progress=False)),
    "Pointshell.load": (lambda w: rf.Pointshell.load, lambda w: dict(path="Pointshell.safetensors")),
    "Pointshell.save": (lambda w: w.shell.save, lambda w: dict(path="p.safetensors")),
    "Pointshell.uniformity": (lambda w: w.shell.uniformity, lambda w: dict(surface=w.surface, level_set=0.0, progress=False)),
    "Pointshell.up_to": (lambda w: w.shell.up_to, lambda w: dict(level=0)),
    "Pose": (lambda w: rf.Pose, lambda w: dict(position=w.position, quaternion=w.quaternion)),
    "Pose.apply": (lambda w: rf.Pose().apply, lambda w: dict(points=[w.position])),
    "Pose.from_matrix": (lambda w: rf.Pose.from_matrix, lambda w: dict(matrix=np.eye(4))),
    "ProjectedSolid": (lambda w: rf.ProjectedSolid, lambda w: dict(solid=w.solid, basis=w.basis)),
    "ProjectedSolid.displacement": (lambda w: w.projected.displacement, lambda w: dict(q=w.q)),
    "ProjectedSolid.gravity": (lambda w: w.projected.gravity, lambda w: dict(acceleration=w.position)),
    "ProjectedSolid.internal_force": (lambda w: w.projected.internal_force, lambda w: dict(q=w.q)),
    "ProjectedSolid.project": (lambda w: w.projected.project, lambda w: dict(force=w.force)),
    "ProjectedSolid.solve_static": (lambda w: w.projected.solve_static, lambda w: dict(force=w.q, tol=1e-8, steps=1, q0=w.q, max_iterations=10, adaptive=False, deformation_only=False, report=False, progress=False)),
    "ProjectedSolid.stiffness": (lambda w: w.projected.stiffness, lambda w: dict(q=w.q, definite=True)),
    "ProjectedSolid.strain_energy": (lambda w: w.projected.strain_energy, lambda w: dict(q=w.q)),
    "Recording.add": (lambda w: rf.record(w.model).add, lambda w: dict(force=[[0.0, 0, 1]], nodes=[4], modal=[0.0, 0.0], time=0.0)),
    "Cubature": (lambda w: rf.Cubature, lambda w: dict(points=5, tolerance=0.1, poses=np.eye(5, 3), n_poses=5, strain=0.1, seed=1)),
    "ReducedSolid.displacement": (lambda w: w.reduced.displacement, lambda w: dict(q=w.q)),
    "ReducedSolid.edit": (lambda w: w.editable.edit, lambda w: dict(materials={0: w.stvk})),
    "ReducedSolid.gravity": (lambda w: w.reduced.gravity, lambda w: dict(acceleration=w.position)),
    "ReducedSolid.internal_force": (lambda w: w.reduced.internal_force, lambda w: dict(q=w.q)),
    "ReducedSolid.project": (lambda w: w.reduced.project, lambda w: dict(force=w.force)),
    "ReducedSolid.load": (lambda w: rf.ReducedSolid.load, lambda w: dict(path="ReducedSolid.safetensors")),
    "ReducedSolid.save": (lambda w: w.reduced.save, lambda w: dict(path="r.safetensors")),
    "ReducedSolid.solve_static": (lambda w: w.reduced.solve_static, lambda w: dict(force=w.q, tol=1e-8, steps=1, q0=w.q, max_iterations=10, adaptive=False, deformation_only=False, report=False, progress=False)),
    "ReducedSolid.stiffness": (lambda w: w.reduced.stiffness, lambda w: dict(q=w.q)),
    "ReducedSolid.strain_energy": (lambda w: w.reduced.strain_energy, lambda w: dict(q=w.q)),
    "ReducedSolid.truncate": (lambda w: w.reduced.truncate, lambda w: dict(r=2)),
    "ReducedSolid.with_strain_rate": (lambda w: w.reduced.with_strain_rate, lambda w: dict(strain_rate=w.reduced.strain_rate)),
    "ReducedStrainRateDamping.matrix": (lambda w: w.reduced.strain_rate.matrix, lambda w: dict(q=w.q)),
    "ReducedStrainRateDamping.truncate": (lambda w: w.reduced.strain_rate.truncate, lambda w: dict(r=2)),
    "ReplayDevice": (lambda w: rf.ReplayDevice, lambda w: dict(times=[0.0, 1.0], positions=np.zeros((2, 3)), quaternions=None, buttons=None)),
    "ReplayDevice.from_csv": (lambda w: rf.ReplayDevice.from_csv, lambda w: dict(path="r.csv")),
    "ReplayDevice.from_records": (lambda w: rf.ReplayDevice.from_records, lambda w: dict(records=w.records, hand=False)),
    "RigidProxy": (lambda w: rf.RigidProxy, lambda w: dict(field=w.sphere, friction=0.2, rule="mirror")),
    "RigidProxy.move": (lambda w: w.proxy.move, lambda w: dict(position=w.position, quaternion=w.quaternion, velocity=w.position, angular_velocity=w.position)),
    "SecondOrderSystem": (lambda w: rf.SecondOrderSystem, lambda w: dict(mass=np.eye(2), stiffness=np.eye(2), hessian_product=None, damping_matrix=np.eye(2), internal_force=lambda x: x, tangent=lambda x: np.eye(2), energy=lambda x: 0.5 * float(x @ x))),
    "SecondOrderSystem.linear_modes": (lambda w: w.system.linear_modes, lambda w: dict(k=1, progress=False)),
    "SecondOrderSystem.modal_derivatives": (lambda w: rf.SecondOrderSystem(np.eye(3), np.eye(3), lambda a, b: 0 * a).modal_derivatives, lambda w: dict(modes=np.eye(3)[:1], progress=False)),
    "SimulatedHand": (lambda w: rf.SimulatedHand, lambda w: dict(times=[0.0, 1.0], positions=np.zeros((2, 3)), quaternions=None, buttons=None, mass=0.1, damping=5.0, stiffness=300.0, inertia=1e-4)),
    "Skin": (lambda w: rf.Skin, lambda w: dict(reduced=w.reduced, surface=w.surface, normals=None, progress=False)),
    "Skin.normals": (lambda w: rf.Skin(w.reduced, w.surface).normals, lambda w: dict(q=w.q, vertices=[0])),
    "Skin.pick": (lambda w: rf.Skin(w.reduced, w.surface).pick, lambda w: dict(origin=[0.1, 0.05, 1.0], direction=[0.0, 0, -1], q=w.q)),
    "Skin.positions": (lambda w: rf.Skin(w.reduced, w.surface).positions, lambda w: dict(q=w.q, vertices=[0])),
    "Skin.project": (lambda w: rf.Skin(w.reduced, w.surface).project, lambda w: dict(where=[0], force=[[0.0, 0, 1]])),
    "Solid": (lambda w: rf.Solid, lambda w: dict(mesh=w.mesh, material=w.stvk, fixed=[0], quadrature=2)),
    "Solid.gravity": (lambda w: w.solid.gravity, lambda w: dict(acceleration=w.position, lumped=False)),
    "Solid.hessian_product": (lambda w: w.solid.hessian_product, lambda w: dict(a=w.u, b=w.u)),
    "Solid.internal_force": (lambda w: w.solid.internal_force, lambda w: dict(u=w.u)),
    "Solid.linear_modes": (lambda w: w.solid.linear_modes, lambda w: dict(k=1, rigid=False, progress=False)),
    "Solid.mass": (lambda w: w.solid.mass, lambda w: dict(lumped=False)),
    "Solid.modal_derivatives": (lambda w: w.solid.modal_derivatives, lambda w: dict(modes=w.modes, executor=None, progress=False)),
    "Solid.solve_static": (lambda w: w.solid.solve_static, lambda w: dict(force=w.u, tol=1e-8, steps=1, prescribed=None, u0=None, max_iterations=10, adaptive=False, report=False, progress=False)),
    "Solid.stiffness": (lambda w: w.solid.stiffness, lambda w: dict(u=w.u, definite=True)),
    "Solid.strain": (lambda w: w.solid.strain, lambda w: dict(u=w.u)),
    "Solid.strain_energy": (lambda w: w.solid.strain_energy, lambda w: dict(u=w.u)),
    "Solid.stress": (lambda w: w.solid.stress, lambda w: dict(u=w.u)),
    "Solid.von_mises": (lambda w: w.solid.von_mises, lambda w: dict(u=w.u)),
    "MouseDevice": (lambda w: rf.MouseDevice, lambda w: dict(stiffness=300.0, torsional_stiffness=0.3, speed=0.5, turn=6.0, mass=0.1, inertia=1e-4, max_force=None, max_torque=None)),
    "SpaceMouse": (lambda w: rf.SpaceMouse, lambda w: dict(speed=0.1, turn=1.0, deadband=0.05, full=350.0, socket=None)),
    "SphereField": (lambda w: rf.SphereField, lambda w: dict(center=[0, 0, 0], radius=1.0)),
    "SphereField.difference": (lambda w: w.sphere.difference, lambda w: dict(others=w.sphere)),
    "SphereField.distance": (lambda w: w.sphere.distance, lambda w: dict(points=[w.position])),
    "SphereField.distance_and_gradient": (lambda w: w.sphere.distance_and_gradient, lambda w: dict(points=[w.position])),
    "SphereField.gradient": (lambda w: w.sphere.gradient, lambda w: dict(points=[w.position])),
    "SphereField.intersection": (lambda w: w.sphere.intersection, lambda w: dict(others=w.sphere)),
    "SphereField.offset": (lambda w: w.sphere.offset, lambda w: dict(by=0.01)),
    "SphereField.union": (lambda w: w.sphere.union, lambda w: dict(others=w.sphere)),
    "NeoHookean": (lambda w: rf.NeoHookean, lambda w: dict(young=1e6, poisson=0.3, density=1000.0)),
    "StableNeoHookean": (lambda w: rf.StableNeoHookean, lambda w: dict(young=1e6, poisson=0.3, density=1000.0)),
    "StVK": (lambda w: rf.StVK, lambda w: dict(young=1e6, poisson=0.3, density=1000.0)),
    "StrainRateDamping": (lambda w: rf.StrainRateDamping, lambda w: dict(solid=w.solid, phi=1.0, psi=1.0)),
    "StrainRateDamping.force": (lambda w: w.damping.force, lambda w: dict(u=w.u, v=w.u)),
    "StrainRateDamping.matrix": (lambda w: w.damping.matrix, lambda w: dict(u=w.u)),
    "StrainRateDamping.power": (lambda w: w.damping.power, lambda w: dict(u=w.u, v=w.u)),
    "StrainRateDamping.proportional": (lambda w: rf.StrainRateDamping.proportional, lambda w: dict(solid=w.solid, beta=1e-3)),
    "StrainRateDamping.reduce": (lambda w: w.damping.reduce, lambda w: dict(basis=w.basis, progress=False)),
    "Surface": (lambda w: rf.Surface, lambda w: dict(vertices=w.surface.vertices, triangles=w.surface.triangles)),
    "Surface.plot": (lambda w: w.surface.plot, lambda w: dict(colours=[0.5, 0.5, 0.5], values=None, size=(40, 30), azimuth=0.0, elevation=20.0, up="y")),
    "Surface.self_intersections": (lambda w: w.surface.self_intersections, lambda w: dict(progress=False)),
    "Surface.from_trimesh": (lambda w: rf.Surface.from_trimesh, lambda w: dict(mesh=w.surface.to_trimesh())),
    "Surface.thickness": (lambda w: w.surface.thickness, lambda w: dict(progress=False)),
    "Surface.thinnest": (lambda w: w.surface.thinnest, lambda w: dict(share=0.02)),
    "Surface.transformed": (lambda w: w.surface.transformed, lambda w: dict(scale=2.0, rotation=None, translation=None)),
    "Surface.winding": (lambda w: w.surface.winding, lambda w: dict(points=[w.position], progress=False)),
    "Surface.write": (lambda w: w.surface.write, lambda w: dict(path="s.obj")),
    "SystemBasis": (lambda w: rf.SystemBasis, lambda w: dict(vectors=np.eye(2), singular_values=[1.0, 1], spectrum=[1.0, 1], provenance={})),
    "SystemModes": (lambda w: rf.SystemModes, lambda w: dict(eigenvalues=[1.0], frequencies=[1.0], shapes=[[1.0, 0]])),
    "UdpDevice": (lambda w: rf.UdpDevice, lambda w: dict(address=("127.0.0.1", 47815), client=None, wait=5.0, max_force=5.0, max_torque=0.1)),
    "UnionField": (lambda w: rf.UnionField, lambda w: dict(fields=[w.sphere])),
    "View.save": (lambda w: w.view.save, lambda w: dict(path="m.html")),
    "VirtualCoupling": (lambda w: rf.VirtualCoupling, lambda w: dict(stiffness=100.0, torsional_stiffness=0.1, max_force=5.0, max_torque=0.1, max_depth=0.01, damping=0.5, max_speed=1.0, max_turn_rate=1.0)),
    "VirtualCoupling.for_contact": (lambda w: rf.VirtualCoupling.for_contact, lambda w: dict(contact=w.contact, stiffness=100.0, depth=0.001, dt=1e-3)),
    "VirtualCoupling.step": (lambda w: w.virtual.step, lambda w: dict(manipulandum=w.pose, position=w.position, quaternion=w.quaternion, contact=w.outcome, share=1.0, dt=1e-3)),
    "VirtualCoupling.wrench": (lambda w: w.virtual.wrench, lambda w: dict(manipulandum=w.pose, position=w.position, quaternion=w.quaternion)),
    "Voxmap": (lambda w: rf.Voxmap, lambda w: dict(values=np.zeros((3, 3, 3), np.uint8), origin=[0, 0, 0], edge=0.1)),
    "Voxmap.at": (lambda w: w.voxmap.at, lambda w: dict(points=[w.position])),
    "Voxmap.from_surface": (lambda w: rf.Voxmap.from_surface, lambda w: dict(surface=w.surface, resolution=8, expand=1.2, progress=False)),
    "VoxmapContact": (lambda w: rf.VoxmapContact, lambda w: dict(shell=w.shell, voxmap=w.voxmap, stiffness=100.0)),
    "VoxmapContact.evaluate": (lambda w: rf.VoxmapContact(w.shell, w.voxmap, 100.0).evaluate, lambda w: dict(position=w.position, quaternion=w.quaternion)),
    "Workspace": (lambda w: rf.Workspace, lambda w: dict(scale=1.0, force_scale=1.0, alignment=(1.0, 0, 0, 0), start=None, clutch=None)),
    "WorldMotion": (lambda w: rf.WorldMotion, lambda w: dict(times=[0.0, 1e-3], bodies=[w.free_motion], dimples={-2: np.zeros((2, 4, 3))})),
    "WorldMotion.load": (lambda w: rf.WorldMotion.load, lambda w: dict(path="WorldMotion.safetensors")),
    "WorldMotion.save": (lambda w: w.fall.save, lambda w: dict(path="m.safetensors")),
    "World": (lambda w: rf.World, lambda w: dict(dt=1e-3, gravity=w.position, ground=w.sphere, friction=0.3, ground_friction=0.5, contact_damping=2.0, tol=1e-6, iterations=10)),
    "World.add": (lambda w: rf.World(1e-3).add, lambda w: dict(body=rf.FreeBody(w.free_reduced, 1e-3), tree=w.standing.tree, field=None, stiffness=100.0, friction=0.4, local=w.standing)),
    "World.add_fixed": (lambda w: rf.World(1e-3).add_fixed, lambda w: dict(local=w.standing, position=w.position, quaternion=w.quaternion, stiffness=100.0, field=w.sphere, friction=0.4)),
    "World.dimple": (lambda w: w.world.dimple, lambda w: dict(body=-2)),
    "World.nodes": (lambda w: w.world.nodes, lambda w: dict(body=0)),
    "World.state": (lambda w: w.world.state, lambda w: dict(body=0)),
    "World.step": (lambda w: w.world.step, lambda w: dict(n=1, progress=False)),
    "delassus": (lambda w: rf.delassus, lambda w: dict(bodies=[(np.eye(3), np.eye(3))], compliance=0.0)),
    "export_gltf": (lambda w: rf.export_gltf, lambda w: dict(path="m.glb", model=w.reduced, surface=w.surface, motion=w.motion, speed=0.5, up="y", normals=True, colour=[0.5, 0.5, 0.5], values=np.zeros(w.n))),
    "export_vtk": (lambda w: rf.export_vtk, lambda w: dict(path="m.pvd", model=w.reduced, motion=w.motion, point_data={"t": np.zeros((2, w.n))}, cell_data={"s": np.zeros((2, 3))}, stress=w.solid, progress=False)),
    "export_html": (lambda w: rf.export_html, lambda w: dict(path="m.html", x=w.reduced, on=None, motion=w.motion, records=None, values=np.zeros((2, w.n)), up="y", progress=False)),
    "graded_tets": (lambda w: rf.graded_tets, lambda w: dict(surface=w.surface, resolution=4, layers=1, fill=True, expand=1.2, cut=True, pieces="all", progress=False)),
    "join_meshes": (lambda w: rf.join_meshes, lambda w: dict(meshes=[w.mesh, w.mesh])),
    "GreenContacts.add": (lambda w: w.green.contacts(4).add, lambda w: dict(node=w.green.nodes[0], normal=[0.0, 0, 1])),
    "GreenContacts.remove": (lambda w: pressed(w).remove, lambda w: dict(node=w.green.nodes[0])),
    "GreenContacts.solve": (lambda w: pressed(w).solve, lambda w: dict(displacement=[[0.0, 0, 1e-3]])),
    "GreensFunctions": (lambda w: rf.GreensFunctions, lambda w: dict(solid=w.solid, surface_nodes=w.green.nodes, releasable=w.solid.fixed, dtype="float32", tolerance=1e-2, progress=False)),
    "GreensFunctions.column": (lambda w: w.green.column, lambda w: dict(node=w.green.nodes[0], axis=2)),
    "GreensFunctions.contact": (lambda w: w.green.contact, lambda w: dict(points=w.green.nodes[:1], normals=[[0.0, 0, 1]], gaps=[-1e-3], friction=0.3, force=np.zeros((len(w.green.nodes), 3)), released=w.solid.fixed[:1], tol=1e-10)),
    "GreensFunctions.contacts": (lambda w: w.green.contacts, lambda w: dict(max_contacts=4, released=w.solid.fixed[:1])),
    "GreensFunctions.displacement": (lambda w: w.green.displacement, lambda w: dict(force=[[0.0, 0, 1]], nodes=w.green.nodes[:1])),
    "GreensFunctions.load": (lambda w: rf.GreensFunctions.load, lambda w: dict(path="GreensFunctions.safetensors")),
    "GreensFunctions.point_compliance": (lambda w: w.green.point_compliance, lambda w: dict(nodes=w.green.nodes[:3], weights=[0.2, 0.3, 0.5])),
    "GreensFunctions.released": (lambda w: w.green.released, lambda w: dict(nodes=w.solid.fixed[:1])),
    "GreensFunctions.save": (lambda w: w.green.save, lambda w: dict(path="g.safetensors")),
    "GreensFunctions.solve": (lambda w: w.green.solve, lambda w: dict(held={int(w.green.nodes[0]): [0.0, 0.0, 1e-3]}, force=np.zeros((len(w.green.nodes), 3)), released=w.solid.fixed[:1])),
    "lacking_compliance": (lambda w: rf.lacking_compliance, lambda w: dict(solid=w.solid, basis=w.basis, force=w.solid.gravity(), progress=False)),
    "load": (lambda w: rf.load, lambda w: dict(path="r.safetensors", kind=None)),
    "mass_pca": (lambda w: rf.mass_pca, lambda w: dict(solid=w.solid, vectors=w.basis.vectors, r=2, weights=None, progress=False)),
    "merge_bases": (lambda w: rf.merge_bases, lambda w: dict(solid=w.solid, bases=[w.basis], r=None, tolerance=1e-6, progress=False)),
    "modal_derivative_basis": (lambda w: rf.modal_derivative_basis, lambda w: dict(solid=w.solid, k=1, r=2, executor=None, progress=False)),
    "pod_basis": (lambda w: rf.pod_basis, lambda w: dict(solid=w.solid, snapshots=w.basis.vectors, r=2, progress=False)),
    "read_fixed": (lambda w: rf.read_fixed, lambda w: dict(path="f.bou")),
    "read_mesh": (lambda w: rf.read_mesh, lambda w: dict(path="m.veg", scale=1e-3)),
    "read_surface": (lambda w: rf.read_surface, lambda w: dict(path="s.obj", scale=1e-3)),
    "record": (lambda w: rf.record, lambda w: dict(model=w.model, dt=0.1, path=None)),
    "record_motion": (lambda w: rf.record_motion, lambda w: dict(sim=rf.ImplicitNewmark(w.solid, 1e-3), n=1, force=w.u, every=1, progress=False)),
    "record_snapshots": (lambda w: rf.record_snapshots, lambda w: dict(sim=rf.ImplicitNewmark(w.solid, 1e-3), n=1, force=w.u, every=1, progress=False)),
    "reduce": (lambda w: rf.reduce, lambda w: dict(solid=w.solid, basis=w.basis, editable=False, strain_rate=None, cubature=None, executor=None, progress=False)),
    "ordering": (lambda w: rf.ordering, lambda w: dict(system=w.solid, method="amd", points=None)),
    "set_ordering": (lambda w: rf.set_ordering, lambda w: dict(method="auto")),
    "set_threads": (lambda w: rf.set_threads, lambda w: dict(count=rf.threads())),
    "sketch_basis": (lambda w: rf.sketch_basis, lambda w: dict(solid=w.solid, sketch=w.sketch, r=1, force_distance=None, shape_distance=None, tol=1e-6, max_iterations=20, partial=False, report=False, progress=False)),
    "solve_friction": (lambda w: rf.solve_friction, lambda w: dict(W=np.eye(3), free=[-1.0, 0, 0], mu=0.5, start=None, tol=1e-8, budget_us=None)),
    "solve_friction_pyramid": (lambda w: rf.solve_friction_pyramid, lambda w: dict(W=np.eye(3), free=[-1.0, 0, 0], mu=0.5, sides=8)),
    "solve_friction_sweeps": (lambda w: rf.solve_friction_sweeps, lambda w: dict(W=np.eye(3), free=[-1.0, 0, 0], mu=0.5, start=None, change=0.01, most_sweeps=100)),
    "spectrum": (lambda w: rf.spectrum, lambda w: dict(system=w.reduced, q=None, lumped=False, tolerance=1e-8)),
    "amplification": (lambda w: rf.amplification, lambda w: dict(name="GA", theta=[0.1, 1.0], damping_ratio=0.1, rho=0.5)),
    "integrator": (lambda w: rf.integrator, lambda w: dict(name="BDF2", system=w.reduced, dt=1e-3)),
    "stable_step": (lambda w: rf.stable_step, lambda w: dict(system=w.reduced, q=None, damping=(0.0, 0.0), strain_rate=None, implicit_damping=False)),
    "step_free_bodies": (lambda w: rf.step_free_bodies, lambda w: dict(bodies=[rf.FreeBody(w.free_reduced, 1e-3)], forces=[w.u], n=1, progress=False)),
    "surface_load": (lambda w: rf.surface_load, lambda w: dict(solid=w.solid, force=w.solid.gravity(), nodes=w.green.nodes, released=w.solid.fixed)),
    "study": (lambda w: rf.study, lambda w: dict(function=lambda a: a, grid={"a": [1]}, executor=None, errors="raise", path=None, progress=False)),
    "thin_samples": (lambda w: rf.thin_samples, lambda w: dict(vectors=w.basis.vectors, distance=1.0, progress=False)),
    "thin_shapes": (lambda w: rf.thin_shapes, lambda w: dict(solid=w.solid, shapes=w.basis.vectors, distance=1.0, progress=False)),
    "view": (lambda w: rf.view, lambda w: dict(x=w.surface, on=None, motion=None, records=None, values=np.zeros(w.surface.n_vertices), up="z", stiffness=None, port=0, origins=(), height=100, browser=False)),
    "voxelize": (lambda w: rf.voxelize, lambda w: dict(surface=w.surface, resolution=4, fill=False, expand=1.2, graded=rf.Grading(), progress=False)),
}  # fmt: skip


def _made(kind):
    """Return arguments of an implicit integrator, those of its own with their defaults."""
    common = inspect.signature(ImplicitSimulation._create).parameters
    own = inspect.signature(kind).parameters.values()
    values = {p.name: p.default for p in own if p.name not in common}
    return lambda w: values | dict(
        system=w.reduced,
        dt=1e-3,
        damping=(0.0, 0.0),
        newton_max=1,
        tol=1e-6,
        strain_rate=None,
        gravity=w.position,
    )


for _name, _kind in IMPLICIT.items():
    CALLS[_name] = (lambda w, kind=_kind: kind, _made(_kind))
    CALLS[f"{_name}.reset"] = (
        lambda w, kind=_kind: kind(w.reduced, 1e-3).reset,
        lambda w: dict(q=w.q, qdot=w.q, qddot=w.q),
    )
    CALLS[f"{_name}.step"] = (
        lambda w, kind=_kind: kind(w.reduced, 1e-3).step,
        lambda w: dict(force=w.q, n=1, progress=False),
    )


def contact(w, kind):
    """Return a contact of the class of that name."""
    if kind not in CALLS:
        raise KeyError(f"tests/support/calls.py has no arguments for {kind}: add it to CALLS")
    constructor, arguments = CALLS[kind]
    return constructor(w)(**arguments(w))


for _name in CONTACTS:
    for _method in ("derivatives", "evaluate", "evaluate_many"):
        CALLS[f"{_name}.{_method}"] = (
            lambda w, kind=_name, method=_method: getattr(contact(w, kind), method),
            CALLS[f"Contact.{_method}"][1],
        )
