"""Motion of unreduced solids against CalculiX, an independent program.

Implicit Newmark (1/4, 1/2), full Newton, consistent mass, 2 x 2 x 2 points in hexahedra;
see the README of the folder reference/calculix. Forces are those at the end of a step,
F(t_i + h), so step k takes amplitude(k h).
"""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf


def load(shared, name):
    file = shared / "reference" / "calculix" / f"{name}.npz"
    if not file.is_file():
        pytest.skip(f"no {file}")
    return dict(np.load(file))


def force_history(data, solid) -> np.ndarray:
    """Return the external forces at the end of every step, (steps, n, 3)."""
    force = np.zeros((len(data["X"]), 3))
    if "nodal_force" in data:
        force += data["nodal_force"]
    if "gravity" in data:
        force += np.outer(solid.mass(lumped=True).to_scipy().diagonal()[::3], data["gravity"])
    times = float(data["h"]) * np.arange(1, int(data["nsteps"]) + 1)
    if "amplitude_t_value" in data:
        t, value = data["amplitude_t_value"].T
        scale = np.interp(times, t, value)
    else:
        scale = np.zeros(len(times))
    return scale[:, None, None] * force


def run(data):
    solid = rf.Solid(
        rf.Mesh(data["X"], data["conn"]),
        rf.StVK(float(data["E"]), float(data["nu"]), float(data["rho"])),
        fixed=data["fixed_nodes"] if len(data["fixed_nodes"]) else None,
    )
    sim = rf.ImplicitNewmark(
        solid,
        float(data["h"]),
        damping=tuple(data["rayleigh_alpha_beta"]),
        newton_max=20,
        # the README asks for 1e-10; residuals of 1e-11 of the forces leave 1e-11 of the
        # displacements
        tol=1e-11,
        beta=float(data["beta"]),
        gamma=float(data["gamma"]),
    )
    if "v0" in data:
        sim.reset(qdot=data["v0"])
        assert np.abs(sim.state.qddot).max() < 1e-10 * np.abs(data["v0"]).max() / data["h"]
    states = []
    for force in force_history(data, solid):
        sim.step(force)
        states.append(sim.state)
    assert sim.report.unconverged == 0
    assert sim.report.indefinite == 0
    return solid, sim, states


def relative(found, expected) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def compare(data, states, final: float) -> None:
    tip = int(data["tip_node"])
    # histories have 7 printed digits
    assert relative(np.array([s.q[tip] for s in states]), data["tip_u"]) < 1e-6
    assert relative(np.array([s.qdot[tip] for s in states]), data["tip_v"]) < 1e-6
    # snapshots of the whole solid are float32
    for place, step in enumerate(data["snapshot_steps"]):
        assert relative(states[step - 1].q, data["U"][place]) < 1e-6
        assert relative(states[step - 1].qdot, data["V"][place]) < 1e-6
    assert states[-1].time == pytest.approx(float(data["time"][-1]), rel=1e-12)
    assert relative(states[-1].q, data["U_final"]) < final
    assert relative(states[-1].qdot, data["V_final"]) < final


def energies(data, solid, states):
    mass = solid.mass().to_scipy()
    kinetic = [0.5 * s.qdot.ravel() @ (mass @ s.qdot.ravel()) for s in states]
    strain = [solid.strain_energy(s.q) for s in states]
    # of two runs that agree to 1e-8
    np.testing.assert_allclose(
        kinetic, data["kinetic_energy_check"][1:], rtol=0, atol=1e-6 * max(kinetic)
    )
    np.testing.assert_allclose(
        strain, data["strain_energy_check"][1:], rtol=0, atol=1e-6 * max(strain)
    )
    return np.array(kinetic), np.array(strain)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_cantilever_of_hexahedra_under_a_varying_load(shared):
    data = load(shared, "dyn_hex_load")
    solid, _, states = run(data)
    # README: 1e-8; two trapezoidal codes with full Newton differ by rounding and by where
    # they stop iterating
    compare(data, states, final=1e-8)
    energies(data, solid, states)
    # deflections of half the length: the nonlinear regime
    assert np.abs(data["tip_u"]).max() > 0.2 * np.ptp(data["X"][:, 0])


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_free_bar_that_spins(shared):
    """No fixed node at all, and no force: only an initial velocity."""
    data = load(shared, "dyn_hex_spin")
    assert len(data["fixed_nodes"]) == 0
    solid, sim, states = run(data)
    compare(data, states, final=1e-8)
    energies(data, solid, states)
    # linear momentum is kept by the scheme, to the tolerance of Newton's iteration
    mass = solid.mass().to_scipy()
    momenta = np.array([(mass @ s.qdot.ravel()).reshape(-1, 3).sum(axis=0) for s in states])
    scale = np.abs(mass @ data["v0"].ravel()).sum()
    start = (mass @ data["v0"].ravel()).reshape(-1, 3).sum(axis=0)
    assert np.abs(momenta - start).max() < 1e-10 * scale
    assert sim.report.steps == data["nsteps"]


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_damped_tetrahedra_under_gravity(shared):
    """Rayleigh damping with the current tangent, the exact consistent mass of tetrahedra."""
    data = load(shared, "dyn_tet_damped")
    solid, _, states = run(data)
    # README: 2e-6 with beta > 0, because there the damping's tangent lags by one iteration
    compare(data, states, final=2e-6)
    energies(data, solid, states)
    # and it is the current one: with that at rest the end would be 1 % off
    first = rf.ImplicitNewmark(solid, float(data["h"]), damping=(0.5, 0.0), newton_max=20)
    for force in force_history(data, solid):
        first.step(force)
    assert relative(first.state.q, data["U_final"]) > 1e-3
