"""Warnings about bodies of worlds with improbable steps, stiffness, gravity or fields."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reducedfem.contact.field import Field
from reducedfem.contact.point_tree import PointTree
from reducedfem.dynamics.free_body import FreeBody
from reducedfem.geometry.pose import Pose

__all__ = ["doubts_of_body", "doubts_of_fixed", "doubts_of_places", "doubts_of_steps"]

# displacement in a step, over the thickness of the other body, from which on points may pass it
_FASTEST = 0.5
_SUNK = 0.1  # depth at rest, over the thickness of the body
# longest side of a field's box over that of its body: grids with a margin, simplified shapes and
# fields of parts are in between
_LARGEST, _SMALLEST = 4.0, 0.02
_OVERLAP = 0.25  # depth in the first step, over the size of what overlaps


def doubts_of_body(
    body: FreeBody,
    tree: PointTree | None,
    field: Field | None,
    stiffness: float | NDArray[np.float64] | None,
    gravity: NDArray[np.float64],
    dt: float,
    ground: Field | None,
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each warning about a body that is added to a world.

    field: at rest; stiffness: that of its points [N/m], one or of each; None: it touches nothing.
    """
    own = body.gravity
    if own.any() and (own != gravity).any():
        yield (
            "gravity",
            f"has gravity {own.tolist()} m/s^2, which the world replaces by its own, "
            f"{gravity.tolist()}; pass gravity to the World",
        )
    if tree is None and ground is not None and gravity.any():
        yield (
            "through",
            "has no tree, so the ground gives it no force: it falls through unless other bodies "
            "bear it; pass tree=PointTree(shell, reduced) with points of its surface, such as "
            "Pointshell.from_surface(surface)",
        )
    yield from _doubts_of_field(body, field)
    if stiffness is None:
        return
    strength = float(np.linalg.norm(gravity))
    size = float(np.ptp(body.reduced.mesh.nodes, axis=0).min())
    part = np.sqrt(2.0 * strength / size) * dt  # of its thickness, after a fall from it
    if part > _FASTEST:
        yield (
            "fall",
            f"is {size:.3g} m thick: after a fall from this height it moves by {part:.2g} of it in "
            f"a step of {dt:g} s and may pass through others like it; use a dt below "
            f"{_FASTEST / part * dt:.2g} s",
        )
    if tree is None or strength == 0.0:
        return
    down = Pose((0.0, 0.0, 0.0), body.state.quaternion).rotation.T @ gravity
    places = tree.shell.points @ (down / strength)
    depth = _SUNK * size
    depths = np.maximum(0.0, places - (places.max() - depth))
    weight, force = body.rigid_body.mass * strength, float(np.sum(stiffness * depths))
    if force < weight:
        yield (
            "sunk",
            f"weighs {weight:.3g} N, but the springs of its points give {force:.3g} N where it has "
            f"sunk into flat ground by {_SUNK:g} of its thickness, {depth:.3g} m; use a stiffness "
            f"above {weight / depths.sum():.2g} N/m",
        )


def _doubts_of_field(body: FreeBody, field: Field | None) -> Iterator[tuple[str, str]]:
    """Yield the warning of a field of another size, or in another place, than its body."""
    if field is None:
        return
    low, high = field._core.bounds
    own_low, own_high = body.reduced.mesh.bounds
    if not (np.isfinite(high - low).all() and (low < high).all()):
        return  # it encloses nothing
    size, own = (float(np.max(x)) for x in (high - low, own_high - own_low))
    apart = ((low > own_high) | (high < own_low)).any()
    if apart or not _SMALLEST * own < size < _LARGEST * own:
        where = "does not reach it" if apart else "is of another size"
        yield (
            "field",
            f"is {own:.3g} m long, its field {size:.3g} m, which {where}: make the field of the "
            "body's own surface, in metres and in the frame of its mesh",
        )


def doubts_of_fixed(without_field: int | None = None, fixed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the warning of a body that fixed ones cannot touch: neither side has a field.

    fixed: the one that it has come near, -2, -3, ...; 0: any.
    """
    if without_field is not None:
        which = f"body {fixed}, which is fixed, gives" if fixed else "fixed bodies give"
        yield (
            "fixed",
            f"body {without_field} has no field, so {which} it no force: it passes through; pass "
            "field= to World.add, or to World.add_fixed if the body has a tree",
        )


def doubts_of_steps(
    dt: float,
    fastest: tuple[float, int],
    overlap: tuple[float, float, int, int],
    sunk: tuple[int, int, int, float, tuple[float, float, float], float],
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each warning about the steps of a world.

    fastest: relative displacement and body; overlap: relative depth, depth [m], body and the other
    body, -1 for the ground, -2, -3, ... for fixed ones; sunk: number of dimples that were too deep,
    the body with the deepest one, the one that pressed it, its depth [m] and place in the world
    [m], and the thickness of the field [m].
    """
    part, body = fastest
    if part > _FASTEST:
        yield (
            "fast",
            f"body {body} moved by {part:.3g} times the thickness of another, or of the ground, in "
            f"one step of {dt:g} s and may have passed through it; use a dt below "
            f"{_FASTEST * dt / part:.2g} s, thicker bodies or lower speeds",
        )
    part, depth, body, other = overlap
    if part > _OVERLAP:
        yield (
            "overlap",
            f"body {body} overlapped {'the ground' if other == -1 else f'body {other}'} by "
            f"{depth:.2g} m in the first step of one of them, and they fly apart or stay "
            "inside each other; add bodies where they do not overlap",
        )
    times, shell, body, depth, at, thickness = sunk
    if times > 0:
        place = _place(at)
        if depth > 0.5 * thickness:
            text = f"gave way to body {body} by {depth:.2g} m at {place}, and the field in which"
        else:
            text = f"no longer holds body {body}, which has sunk in at {place}: the field in which"
        yield (
            "deep",
            f"body {shell} {text} they touch is {thickness:.2g} m thick: points deeper than half "
            "of that are not found, and bodies may pass through each other; use a field of the "
            "whole thickness of the body, a stiffer solid or smaller forces",
        )


def doubts_of_places(
    shell: int, body: int, at: tuple[float, float, float]
) -> Iterator[tuple[str, str]]:
    """Yield the warning of a contact beyond the points of a field that yields.

    shell: the body, -2, -3, ... for fixed ones, with the field; body: the other one, the same:
    there is none; at: the place in the world [m].
    """
    if shell != body:
        yield (
            "beyond",
            f"body {body} touches body {shell} at {_place(at)}, where its local compliance has no "
            "points on this side: the field is rigid there, and deep contacts that slide past the "
            "last points are thrown off; give local points on all sides that are touched",
        )


def _place(at: tuple[float, float, float]) -> str:
    return f"({', '.join(f'{x:.3g}' for x in at)}) m"
