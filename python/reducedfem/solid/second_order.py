"""Second-order systems given by matrices: modes, modal derivatives, bases, time integration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import count, finite_result, reals
from reducedfem.base.console import count_text
from reducedfem.base.frozen import owned
from reducedfem.base.run import Progress, callback, threads
from reducedfem.base.sparse import CSC
from reducedfem.errors import InputError, InputTypeError
from reducedfem.solid.force_law import Energy, Force, Tangent, force_law
from reducedfem.solid.modes import Modes, SystemModes
from reducedfem.solid.symmetric import Matrix, symmetric

__all__ = ["SecondOrderSystem"]

HessianProduct = Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike]

# Hessian products by finite differences are symmetric to a few digits only.
_SYMMETRIC_PRODUCT = 1e-4


class SecondOrderSystem:
    """A system A x'' + B x' + C(x) = f about rest, C(0) = 0 (Barbic 2007, section 2.8.5).

    It is given by the mass A, the stiffness K = dC/dx at x = 0, the Hessian H of C at x = 0, and
    the damping B. `linear_modes` and `modal_derivatives` correspond to those of a `Solid`, and
    `modal_derivative_basis`, `mass_pca` and `pod_basis` accept the system in place of a solid;
    they ignore B. Time integrators take C(x) from `internal_force`, and the linear C(x) = K x
    without it; they ignore H. Vectors have shape (n,), bases (r, n); units are the user's.
    Immutable, may be shared by threads.

    Parameters
    ----------
    mass, stiffness
        A and K, symmetric and positive definite, (n, n): a `CSC`, a SciPy sparse matrix or a dense
        array.
    hessian_product
        Function ``hessian_product(a, b)`` of two arrays (n,) that returns (H : a) b, that is
        d2/ds dt C(s a + t b) at s = t = 0, shape (n,). It must be symmetric in `a` and `b` and
        linear in each. It is called in the thread that requests derivatives; its exceptions are
        raised there. None: modal derivatives are not available.
    damping_matrix
        B, symmetric and positive semidefinite, in one of the forms above; None: zero.
    internal_force
        Function ``internal_force(x)`` of a read-only array (n,) that returns C(x), (n,), with
        C(0) = 0; NaN or infinity where it is not defined. None: C(x) = K x. This function and the
        two below are called in the threads that create, reset and step simulations. They must use
        no simulation that is being stepped, and wait for no thread that does. Their exceptions are
        raised there; `step` and `reset` keep the state. Where a step fails or seems too long,
        the message names those of them that contradict each other there.
    tangent
        Function ``tangent(x)`` that returns dC/dx in one of the forms above, symmetric, with
        entries only where the stiffness has some (a dense stiffness has them everywhere). All
        integrators need it but `CentralDifferences` without stiffness damping. Fastest as a sparse
        matrix whose pattern stays the same.
    energy
        Function ``energy(x)`` that returns the potential W of C, a float. None: increments of
        implicit steps are shortened by the work of C at their ends, which is less sure.

    Raises
    ------
    InputError, InputTypeError
        A matrix is not square, not symmetric, or of another size than the others; a value is
        not finite; `hessian_product` is not symmetric or does not return shape (n,);
        `internal_force` is not zero at x = 0; `tangent` or the derivatives of `internal_force` and
        `energy` are not those of the stiffness there; one of the functions returns a wrong type or
        shape; or `tangent` or `energy` has no `internal_force`.
    SingularMatrixError
        The stiffness is not positive definite.
    """

    def __init__(
        self,
        mass: Matrix,
        stiffness: Matrix,
        hessian_product: HessianProduct | None = None,
        *,
        damping_matrix: Matrix | None = None,
        internal_force: Force | None = None,
        tangent: Tangent | None = None,
        energy: Energy | None = None,
    ) -> None:
        self._mass, mass_lower = symmetric(mass, "mass")
        self._stiffness, stiffness_lower = symmetric(
            stiffness, "stiffness", whole=tangent is not None
        )
        self._damping, damping_lower = None, None
        if damping_matrix is not None:
            self._damping, damping_lower = symmetric(
                damping_matrix, "damping_matrix", definite=False
            )
        for name, matrix in (("stiffness", self._stiffness), ("damping_matrix", self._damping)):
            if matrix is not None and self._mass.shape != matrix.shape:
                raise InputError(
                    f"mass is {self._mass.shape}, but {name} is {matrix.shape}; they must be alike"
                )
        self._hessian = hessian_product
        self._law = (internal_force, tangent, energy)
        names = ("hessian_product", "internal_force", "tangent", "energy")
        for function, name in zip((hessian_product, *self._law), names, strict=True):
            if function is not None and not callable(function):
                raise InputTypeError(f"{name} must be callable, got {type(function).__name__}")
        self._core = _core.SecondOrder(
            mass_lower,
            stiffness_lower,
            damping_lower,
            force_law(internal_force, tangent, energy, self._stiffness),
            threads(),
        )
        if hessian_product is not None:
            _check_product(hessian_product, self.n)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self._mass.shape[0]

    @property
    def mass(self) -> CSC:
        """Mass matrix A with both triangles; arrays are read-only."""
        return self._mass

    @property
    def stiffness(self) -> CSC:
        """Stiffness matrix K with both triangles; arrays are read-only."""
        return self._stiffness

    @property
    def damping_matrix(self) -> CSC | None:
        """Damping matrix B with both triangles; arrays are read-only. None: zero."""
        return self._damping

    @property
    def hessian_product(self) -> HessianProduct | None:
        """Function given as `hessian_product`, or None."""
        return self._hessian

    @property
    def internal_force(self) -> Force | None:
        """Function given as `internal_force`, or None."""
        return self._law[0]

    @property
    def tangent(self) -> Tangent | None:
        """Function given as `tangent`, or None."""
        return self._law[1]

    @property
    def energy(self) -> Energy | None:
        """Function given as `energy`, or None."""
        return self._law[2]

    def linear_modes(self, k: int, *, progress: Progress = None) -> SystemModes:
        """Return the k lowest modes about rest: K psi = lambda A psi (equation 2.59).

        Parameters
        ----------
        k
            Number of modes, at least 1 and less than the number of unknowns: none of one unknown.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        SystemModes
            Frequencies (k,), in Hz if the unit of time is s, and shapes (k, n) with
            psi_i^T A psi_j = delta_ij.

        Raises
        ------
        InputError, InputTypeError
            `k` is out of range or not an int.
        SingularMatrixError
            The mass is not positive definite.
        ConvergenceError
            The iteration did not converge.
        """
        size = self._mode_count(k)
        with callback(progress, "linear modes") as tell:
            arrays = self._core.modes(size, tell, threads())
        return SystemModes(*map(owned, arrays))

    def modal_derivatives(
        self, modes: Modes | ArrayLike, *, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Return the modal derivatives: K phi_ij = -(H : psi_j) psi_i = K phi_ji.

        As for solids (Barbic 2007, equations 2.47 and 2.55), they are the second derivatives of
        the static response to the loads sum_i A psi_i lambda_i p_i.

        Parameters
        ----------
        modes
            Modes, or k arbitrary directions, shape (k, n).
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (k (k + 1) / 2, n) float64 array
            One row for each pair i <= j, in the order of ``numpy.triu_indices(k)``. Not
            normalised.

        Raises
        ------
        InputError, InputTypeError
            `modes` has a wrong shape or a value that is not finite; the system has no
            `hessian_product`, or its result is not an array (n,) of finite values.
        """
        hessian = self._require_hessian()
        directions = reals(modes.shapes if isinstance(modes, Modes) else modes, "modes")
        if directions.ndim != 2 or directions.shape[1] != self.n or len(directions) == 0:
            raise InputError(f"modes must have shape (k, {self.n}), got {directions.shape}")
        with callback(progress, "modal derivatives") as tell:
            found = self._core.derivatives(hessian, directions, tell, threads())
        return finite_result(found, "derivative", "modes")

    def _mode_count(self, k: int) -> int:
        if self.n == 1:
            raise InputError(
                "a system of one unknown has no modes to compute: its angular frequency is "
                "sqrt(stiffness / mass)"
            )
        return count(k, "k", self.n - 1, "unknowns less one")

    def _require_hessian(self) -> HessianProduct:
        if self._hessian is None:
            raise InputError("the system has no hessian_product, which modal derivatives need")
        return self._hessian

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._mass, self._stiffness, self._hessian, self._damping, self._law)

    def __repr__(self) -> str:
        without = "" if self._hessian is not None else ", no hessian_product"
        kind = "" if self._law[0] is None else ", nonlinear"
        return f"<SecondOrderSystem: {count_text(self.n, 'unknown')}{kind}{without}>"


def _restored(
    mass: CSC,
    stiffness: CSC,
    hessian: HessianProduct | None,
    damping: CSC | None,
    law: tuple[Any, ...] = (None, None, None),
) -> SecondOrderSystem:
    force, tangent, energy = law
    return SecondOrderSystem(
        mass,
        stiffness,
        hessian,
        damping_matrix=damping,
        internal_force=force,
        tangent=tangent,
        energy=energy,
    )


def _check_product(product: HessianProduct, n: int) -> None:
    """Refuse a Hessian product that has a wrong shape or is not symmetric in its arguments."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1.0, 1.0, (2, n))
    results = []
    for first, second in ((a, b), (b, a)):
        result = reals(product(first.copy(), second.copy()), "hessian_product(a, b)")
        if result.shape != (n,):
            raise InputError(f"hessian_product(a, b) must have shape ({n},), got {result.shape}")
        results.append(result)
    size = max(float(np.abs(result).max()) for result in results)
    apart = float(np.abs(results[0] - results[1]).max())
    if not apart <= _SYMMETRIC_PRODUCT * size:
        raise InputError(
            "hessian_product is not symmetric: with its two vectors exchanged it differs by "
            f"{apart:.3g} of {size:.3g}"
        )
