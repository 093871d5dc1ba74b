"""The exponential Rosenbrock-Euler method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from reducedfem import _core
from reducedfem.base.check import count, number
from reducedfem.base.run import threads
from reducedfem.contact.barrier import BarrierContact
from reducedfem.dynamics.contact_arguments import barrier_of
from reducedfem.dynamics.integrator import (
    SYSTEMS,
    Simulation,
    System,
    acceleration,
    check_rigid_motion,
    rayleigh,
    weight,
    wrong_system,
)
from reducedfem.dynamics.plausible import warn_of_turning_modes
from reducedfem.errors import InputError
from reducedfem.reduction.damping import damping_argument
from reducedfem.solid.plausible import warn_of_motion
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["ExponentialEuler", "ExponentialReport"]

_CROSSES = "an exponential step does not see a barrier ahead and crosses it"


@dataclass(frozen=True)
class ExponentialReport:
    """Statistics of an `ExponentialEuler` since the last reset.

    Attributes
    ----------
    steps
        Steps taken.
    vectors
        Vectors of Lanczos' method, each a product with the stiffness and a solution with the mass;
        0 for a `ReducedSolid` or a `ProjectedSolid`.
    """

    steps: int
    vectors: int


class ExponentialEuler(Simulation):
    """The exponential Rosenbrock-Euler method, which is exact for linear systems.

    A step of h from u = (q, v) adds h phi_1(h J) u', phi_1(z) = (e^z - 1) / z, with the Jacobian J
    of the equations of motion at u (Ascher et al. 2021, equation 14). Nothing is iterated
    and nothing damped numerically; slow nonlinear motion under fast vibration has a far smaller
    error than of `ImplicitNewmark` at the same step. Second order, but first with stiffness damping
    of a nonlinear system, whose change the Jacobian leaves out. Suits sound, vibration and
    references; not contact, and not stiff motion that should die out: large motion at steps in
    which the highest modes turn many times gains energy until it diverges, and a free solid that
    turns loses momentum unless a turn takes hundreds of steps.

    Functions of the tangent matrix are series of Chebyshev polynomials. A `ReducedSolid` allocates
    nothing in a step. For a `Solid` or a `SecondOrderSystem` Lanczos' method builds them, which
    takes about as many vectors as the highest mode turns radians in a step: `BackwardEuler`,
    `BDF2` or `TRBDF2` with ``exact=10`` are mostly faster.

    Methods may be called from several threads. A call waits for a few steps of another call, not
    for its end.

    Parameters
    ----------
    system
        The simulated system: `ReducedSolid`, `ProjectedSolid`, `Solid` or `SecondOrderSystem`. It
        must have no strain-rate damping and no damping matrix of its own.
    dt
        Time step [s], positive.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), both at least 0: C = alpha M + beta K(q).
    accuracy
        Error of Lanczos' method, relative to the changes of the largest mode, positive and at most
        0.01. Functions of the matrix themselves are exact to rounding.
    krylov
        Most vectors of Lanczos' method, for v and for the acceleration each, at least 2. They are
        kept: one takes 24 bytes a node.
    deformation_only
        Accept a model of a free body; see `ImplicitNewmark`.
    gravity
        Gravitational acceleration [m/s^2], shape (3,); see `ImplicitNewmark`.

    contact
        None: exponential steps refuse a `BarrierContact`; take `BackwardEuler` or `BDF2`.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or is out of range; the system has damping that is not
        Rayleigh's; or the model is that of a free body.
    MeshError
        All nodes of the solid are fixed.

    Warns
    -----
    PlausibilityWarning
        Gravity or stiffness damping suggest other units; a free solid turns in less than 300 steps.
    """

    _scheme = "exponential_euler"
    _force_part = 0.5

    def __init__(
        self,
        system: System,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        *,
        accuracy: float = 1e-12,
        krylov: int = 200,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: BarrierContact | None = None,
    ) -> None:
        own = {
            "dt": number(dt, "dt"),
            "accuracy": number(accuracy, "accuracy"),
            "krylov": count(krylov, "krylov", least=2),
        }
        rates = rayleigh(damping)
        if not isinstance(system, System):
            raise wrong_system(system, SYSTEMS)
        if damping_argument(None, system) is not None:
            raise InputError(
                "system has strain-rate damping, but exponential steps take Rayleigh damping only: "
                "reduce it without viscosity, or use BDF2"
            )
        if isinstance(system, SecondOrderSystem) and system.damping_matrix is not None:
            raise InputError(
                "system has a damping_matrix, but exponential steps take Rayleigh damping only: "
                "use damping=(alpha, beta), or BDF2"
            )
        barrier_of(contact, type(self).__name__, _CROSSES, system, 1)
        check_rigid_motion(system, deformation_only, type(self).__name__)
        fall = None if gravity is None else acceleration(gravity)
        if not isinstance(system, SecondOrderSystem):
            warn_of_motion(rates[1], fall, system.mesh.n_nodes, stacklevel=3)
        self._core = _core.Motion(
            self._scheme, system._core, rates, own, threads(), None, weight(system, fall)
        )
        self._system = system
        self._warned, self._dt = set(), own["dt"]
        self._settings = {
            "system": system,
            "damping": rates,
            "deformation_only": deformation_only,
            "gravity": fall,
            **own,
        }

    def _warn_of_modes(self, far: float) -> None:
        system = self._system
        if isinstance(system, Solid) and not (len(system.fixed) or "modes" in self._warned):
            u, v = self._core.state()[:2]
            place = system.mesh.nodes + u
            given = warn_of_turning_modes(place, v, self._dt, "BDF2", stacklevel=4)
            self._note(given, "modes")

    @property
    def report(self) -> ExponentialReport:
        """Statistics since the last reset."""
        return ExponentialReport(**self._core.report())
