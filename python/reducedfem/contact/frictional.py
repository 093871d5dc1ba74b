"""Contact with friction: Signorini's and Coulomb's laws at sites."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from reducedfem.base.check import coefficient, count, number, refuse_names, require
from reducedfem.base.quiet import warn
from reducedfem.contact.contact import WARM_NODES, Contact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import Field
from reducedfem.contact.local import LocalCompliance
from reducedfem.contact.penalty import STIFFNESS, fitted_stiffness
from reducedfem.contact.point_tree import PointTree
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning

__all__ = ["FrictionContact"]

_SITES, _MOST_SITES = 64, 256
_MOST_SECOND = 64  # sites with a second order, whose time grows as their cube
_MOST_COMPLIANCE = 1e6  # m/N: a micronewton for a metre
_PLAUSIBLE_COMPLIANCE = 0.1  # m/N: a site yields by ten centimetres under one newton
_STIFFNESS = (
    "is it a stiffness? The third argument of FrictionContact is mu, that of PenaltyContact is a "
    "stiffness."
)
# options of PenaltyContact without a meaning here
_PENALTY = {
    "stiffness": "points do not penetrate; for softer contact give a compliance, for example 1 / "
    "stiffness",
    "max_points": "forces are solved for and need no scaling; sites limits their number",
    "area_weights": "forces are solved for and need no weights",
}


class FrictionContact(Contact):
    """Contact without penetration and with Coulomb friction, for haptic sessions.

    In each cycle of a `HapticSession` at most `sites` of the points that may touch are chosen, and
    the laws of Signorini and Coulomb are solved there together with the motion of the held object
    and all simulations (Duriez et al. 2006): a site does not penetrate, sticks while its
    tangential force is below `mu` times the normal one, and slips against that force above. All
    contacts of a session are of this class, with one compliance; the largest `sites` and
    `budget_us` of theirs count for all. See ``docs/friction.md``.

    Outside of sessions nothing moves, so there is no friction: `evaluate` returns the normal
    forces of springs of stiffness 1 / `compliance`, or those of a `PenaltyContact` with
    ``stiffness="auto"``. Steps of integrators with ``contact=`` refuse it.

    Parameters
    ----------
    tree
        Tree of the points, rigid or deformable.
    field
        Signed distances of the other object in its own frame.
    mu
        Coefficient of friction, 0 to 1e9.
    sites
        Most sites in a cycle, of all contacts together, 1 to 256; a flat contact needs four or
        more, one with `local` as many as points touch; time grows as their square. With a `reach`
        of `local` at most 64.
    budget_us
        Most time for the forces of a cycle [us], positive; that of `PenaltyContact` limits the
        search, which only `warm_nodes` does here. Forces that are not solved by then lie in their
        cones and give no energy. The limit also holds in sessions with ``budget_us=0`` and in
        `HapticSession.run`, where 1e5 makes results reproducible.
    compliance
        Displacement of a site by a force there [m/N], positive, at most 1e6; None: a thousandth of
        the mean compliance of the bodies at the sites. It makes the forces unique (6.3 there), and
        contact softer by as much.
    local
        `LocalCompliance` of the tree, which gives the points the dimples that the reduced model
        leaves out, in sessions; None: none.
    warm_nodes, cold_ratio, temporal_coherence, grasp, direction
        As of `PenaltyContact`; in sessions, "gradient" is that of the field everywhere.
    **others
        None: refused, with a reason for those of `PenaltyContact`.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value, or another name.

    Warns
    -----
    PlausibilityWarning
        `mu` is above 5, as a stiffness or an angle would be; or `compliance` is above 0.1 m/N, as
        a stiffness would be.
    """

    __slots__ = ()
    _law = "coulomb"
    _in_steps = False
    _follows = "compliance=None"

    def __init__(
        self,
        tree: PointTree,
        field: Field | DeformedField,
        mu: float = 0.4,
        *,
        sites: int = _SITES,
        budget_us: float = 300.0,
        compliance: float | None = None,
        local: LocalCompliance | None = None,
        warm_nodes: int | None = WARM_NODES,
        cold_ratio: float = 0.8,
        temporal_coherence: bool = True,
        grasp: ArrayLike | None = None,
        direction: str = "gradient",
        **others: NoReturn,
    ) -> None:
        for name in others:
            if name in _PENALTY:
                raise InputTypeError(
                    f"FrictionContact has no {name}, an option of PenaltyContact: {_PENALTY[name]}"
                )
        refuse_names(others, FrictionContact.__init__, {"friction": "mu"})
        most = number(budget_us, "budget_us")
        if compliance is not None:
            compliance = number(compliance, "compliance")
            if not 0.0 < compliance <= _MOST_COMPLIANCE:
                raise InputError(
                    f"compliance must be positive, at most {_MOST_COMPLIANCE:g} m/N, or None, got "
                    f"{compliance:g}; it is 1 / stiffness"
                )
            if compliance > _PLAUSIBLE_COMPLIANCE:
                warn(
                    f"compliance is {compliance:g} m/N: a site yields by {compliance:g} m under "
                    f"1 N. Is it a stiffness? Then give 1 / stiffness, {1.0 / compliance:g}",
                    PlausibilityWarning,
                    stacklevel=2,
                )
        if local is not None:
            require(local, LocalCompliance, "local", " or None")
            if local.tree is not tree:
                raise InputError(
                    "local is the LocalCompliance of another PointTree: make it of the tree of the "
                    "contact"
                )
            if local.reach > 0.0 and count(sites, "sites", _MOST_SITES) > _MOST_SECOND:
                raise InputError(
                    f"sites is {sites}, but local has a reach, with which {_MOST_SECOND} are the "
                    "most, as time grows as their cube: take fewer sites or reach=0"
                )
        own = {
            "mu": coefficient(mu, "mu", doubt=_STIFFNESS),
            "sites": count(sites, "sites", _MOST_SITES),
            "budget_us": most,
            "compliance": compliance,
        }
        self._create(
            own,
            tree,
            field,
            warm_nodes=warm_nodes,
            budget_us=None,
            cold_ratio=cold_ratio,
            max_points=None,
            area_weights=False,
            temporal_coherence=temporal_coherence,
            grasp=grasp,
            direction=direction,
            local=local,
        )
        options = {**self._options, **own, "local": local}
        del options["max_points"], options["area_weights"]
        self._options = MappingProxyType(options)

    def _law_settings(self, own: dict[str, Any]) -> dict[str, Any]:
        compliance = own["compliance"]
        automatic = compliance is None
        return {
            "mu": own["mu"],
            "sites": own["sites"],
            "budget_us": own["budget_us"],
            "compliance": compliance or 0.0,
            "stiffness": STIFFNESS if compliance is None else 1.0 / compliance,
            "each": fitted_stiffness(self._tree, self._field) if automatic else None,
            "automatic": automatic,
        }

    @property
    def mu(self) -> float:
        """Coefficient of friction."""
        mu: float = self._options["mu"]
        return mu
