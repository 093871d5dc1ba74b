"""Options that select the fixed nodes of a mesh."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.cli.options import checked, number
from reducedfem.cli.texts import AXES
from reducedfem.errors import InputError
from reducedfem.geometry.constraints import standing
from reducedfem.geometry.mesh import Mesh

__all__ = ["add_fix_options", "chosen", "fixed_nodes", "region"]

_Condition = tuple[int, str, float]
_LIMIT = re.compile(r"\s*([xyz])\s*(<=|>=|<|>)\s*(\S+?)\s*\Z", re.IGNORECASE)
_RANGE = re.compile(r"\s*(\S+?)\s*(<=|<)\s*([xyz])\s*(<=|<)\s*(\S+?)\s*\Z", re.IGNORECASE)

_part = checked(lambda x: 0 <= x <= 1, "between 0 and 1")


def region(text: str) -> tuple[str, list[_Condition]]:
    """Parse a region such as ``x<0.01`` or ``0<x<0.1,z>0.2``, an intersection of conditions."""
    conditions: list[_Condition] = []
    for part in re.split(r",|&", text):
        limit, between = _LIMIT.match(part), _RANGE.match(part)
        if limit:
            axis, relation, value = limit.groups()
            conditions.append((AXES.index(axis.lower()), relation, number(value)))
        elif between:
            low, first, axis, second, high = between.groups()
            index = AXES.index(axis.lower())
            conditions.append((index, first.replace("<", ">"), number(low)))
            conditions.append((index, second, number(high)))
        else:
            raise argparse.ArgumentTypeError(
                f"{part.strip()!r} must have the form 'x<0.01' or '0<x<0.1' (in metres); commas "
                "separate several conditions"
            )
    return text, conditions


def chosen(points: NDArray[np.float64], conditions: Sequence[_Condition]) -> NDArray[np.bool_]:
    """Return the mask of the points that meet all conditions."""
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    mask = np.ones(len(points), dtype=bool)
    for axis, relation, value in conditions:
        mask &= compare[relation](points[:, axis], value)
    return mask


def _with_masters(
    mesh: Mesh, mask: NDArray[np.bool_], sources: Mapping[str, NDArray[np.intp]]
) -> int:
    """Release the constrained nodes that do not stand still with the others; return their number.

    Those listed in a file are refused. Followers of fixed nodes alone are fixed, too.
    """
    constraints = mesh.constraints
    if constraints is None:
        return 0
    slaves, ptr, masters = constraints.slaves, constraints.ptr, constraints.masters
    chosen_slaves = slaves[mask[slaves]]
    mask[slaves] = False
    mask[standing(constraints, np.flatnonzero(mask).astype(np.int32))] = True
    number = mesh.original_nodes + 1  # as in files
    for file, nodes in sources.items():
        for node in nodes[~mask[nodes]]:
            k = int(np.searchsorted(slaves, node))
            own = masters[ptr[k] : ptr[k + 1]]
            named = ", ".join(str(number[m]) for m in own)
            missing = ", ".join(str(number[m]) for m in own[~mask[own]])
            raise InputError(
                f"{file!r} fixes node {number[node]}, which hangs on an edge or face of larger "
                f"elements and follows the nodes {named} of it (nodes are counted from 1), but not "
                f"{missing}: fix these, too, or leave node {number[node]} out"
            )
    loose = int((~mask[chosen_slaves]).sum())
    if loose and not mask.any():
        raise InputError(
            f"the fix options select only nodes that hang on edges or faces of larger elements, "
            f"{loose} of them, without all of the nodes that these follow: choose a larger region"
        )
    return loose


def fixed_nodes(
    args: argparse.Namespace, mesh: Mesh, listed: Mapping[str, NDArray[np.int32]]
) -> tuple[NDArray[np.bool_], int]:
    """Return the mask of the nodes fixed by the options, or listed in files.

    Also the number of constrained nodes in the regions that stay free with some of their masters;
    those in files are refused. An option without nodes is refused.
    """
    sources: dict[str, NDArray[np.intp]] = {}
    mask = np.zeros(mesh.n_nodes, dtype=bool)
    low, high = mesh.bounds
    for text, conditions in args.fix or ():
        found = chosen(mesh.nodes, conditions)
        if not found.any():
            raise InputError(
                f"--fix {text!r} selects no node; the nodes lie in the box [m] "
                + ", ".join(f"{low[i]:.6g} <= {AXES[i]} <= {high[i]:.6g}" for i in range(3))
            )
        mask |= found
    for side, part in args.fix_fraction or ():
        axis = AXES.index(side[0])
        reach = part * (high[axis] - low[axis])
        x = mesh.nodes[:, axis]
        mask |= x <= low[axis] + reach if side[1] == "-" else x >= high[axis] - reach
    for file, nodes in listed.items():
        # numbers refer to the mesh file, some of whose nodes may have been removed
        highest = int(mesh.original_nodes.max())
        place = np.full(highest + 2, -1)  # the last entry is for all higher numbers
        known = np.flatnonzero(mesh.original_nodes >= 0)
        place[mesh.original_nodes[known]] = known
        kept = place[np.minimum(nodes, highest + 1)]
        if (kept < 0).any():
            worst = int(nodes[kept < 0][0]) + 1
            raise InputError(
                f"{str(file)!r} fixes node {worst}, which the mesh does not have (nodes are "
                "counted from 1)"
            )
        # mid-edge nodes of --quadratic between fixed nodes are fixed as well
        mask[mesh.with_mid_edge_nodes(kept) if len(known) < mesh.n_nodes else kept] = True
        sources[str(file)] = kept
    return mask, _with_masters(mesh, mask, sources)


class _SideAndPart(argparse.Action):
    """``--fix-fraction x- 0.03``: a side of the bounding box and a part of its length."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        side, text = values
        if not re.fullmatch(r"[xyz][+-]", side):
            parser.error(f"{option_string}: the side {side!r} is not one of x- x+ y- y+ z- z+")
        try:
            part = _part(text)
        except argparse.ArgumentTypeError as error:
            parser.error(f"{option_string}: the part {error}")
        earlier = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*earlier, (side, part)])


def add_fix_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `fixed_nodes` reads, and ``--free``."""
    fix = parser.add_argument_group(
        "fixed nodes (at least one option; nodes selected by any of them are fixed)"
    )
    fix.add_argument(
        "--fix",
        metavar="REGION",
        type=region,
        action="append",
        help="nodes that meet all conditions, such as 'x<0.01' or '0<=x<0.1,z>0.2' [m]",
    )
    fix.add_argument(
        "--fix-fraction",
        metavar=("SIDE", "PART"),
        nargs=2,
        action=_SideAndPart,
        help="nodes at a side of the bounding box (x- x+ y- y+ z- z+), within this fraction of its "
        "length, such as 'x- 0.03'",
    )
    fix.add_argument(
        "--free",
        action="store_true",
        help="no fixed nodes: a free body (FreeBody in Python)",
    )
    fix.add_argument(
        "--fix-file",
        metavar="FILE",
        action="append",
        help="nodes listed in a .bou file, counted from 1",
    )
