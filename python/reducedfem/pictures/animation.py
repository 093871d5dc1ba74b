"""Films of recorded motions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import flag, number, positive
from reducedfem.base.run import Progress, callback
from reducedfem.drawing.films import check_film, pillow, write_film
from reducedfem.drawing.labels import bar_height, labelled
from reducedfem.drawing.render import Shape, axes_of, checked_size, draw, frame_around
from reducedfem.drawing.style import on_paper, place_on_scale
from reducedfem.drawing.values import Scale, Values
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import InputError
from reducedfem.geometry.refine import refined
from reducedfem.geometry.surface import Surface
from reducedfem.io.atomic import as_path
from reducedfem.pictures.subject import Model, Subject, check_motion
from reducedfem.pictures.values import GivenValues, SurfaceValues
from reducedfem.pictures.worlds import check_world_motion
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.world.recorded import WorldMotion
from reducedfem.world.world import World

__all__ = ["FILMERS", "Filmed", "animate"]

Array = NDArray[np.float64]

_MOST_PICTURES = 10_000
_MOST_PIXELS = 300_000_000  # of all pictures of a GIF, which are in memory at once


class Filmed(Protocol):
    """Surfaces that move: triangles (t, 3), scale of the colour bar or None."""

    triangles: NDArray[np.int32]
    scale: Scale | None

    def places(self) -> Iterator[Array]:
        """Yield the places of the vertices in each state [m], (v, 3)."""
        ...

    def framed(self, places: Array) -> Array:
        """Return the points that the camera shows of places of the vertices, (n, 3)."""
        ...

    def colours(self, k: int) -> Any:
        """Return the colours of the vertices in state k, as of `Shape`."""
        ...


# by type of a model, a function of it and of its motion in the states of a film
FILMERS: dict[type, Callable[[Any, Any], Filmed]] = {}


class _Film:
    """The surface of a model, coloured by values or by displacements."""

    def __init__(
        self,
        model: Model,
        motion: Motion,
        surface: Surface | None,
        values: GivenValues | None,
        states: NDArray[np.int64],
    ) -> None:
        if surface is None and isinstance(model, ReducedSolid):
            # large triangles cannot show the deformation
            surface = refined(model.mesh.source or model.mesh.surface())
        subject = Subject(model, surface, motion)
        part = None if values is None else SurfaceValues(values, subject).chosen(states)
        subject.motion = motion._at(states)
        self._subject = subject
        self._values = None if part is None else SurfaceValues(part, subject)
        self.scale = None if self._values is None else self._values.scale()
        self.triangles = subject.surface.triangles
        self._longest = max(
            float(np.linalg.norm(subject.deformation(k), axis=1).max()) for k in range(len(states))
        )

    def places(self) -> Iterator[Array]:
        rest = self._subject.surface.vertices
        return (rest + u for u in self._subject.displacements())

    def framed(self, places: Array) -> Array:
        return np.asarray(places[np.unique(self.triangles)])

    def colours(self, k: int) -> Array | Values:
        if self._values is not None and self.scale is not None:
            return Values(self.scale.place(self._values.state(k)), limits=(0.0, 1.0))
        return place_on_scale(self._subject.deformation(k), self._longest)


def _film(
    model: Model | World,
    motion: Motion | WorldMotion,
    surface: Surface | None,
    values: GivenValues | None,
    states: NDArray[np.int64],
) -> Filmed:
    """Return what a film shows in some states."""
    for kind, filmer in FILMERS.items():
        if isinstance(model, kind):
            for name, given in (("surface", surface), ("values", values)):
                if given is not None:
                    raise InputError(
                        f"{name} is given, but a {kind.__name__} has none: leave it out"
                    )
            return filmer(model, motion._at(states))
    assert isinstance(motion, Motion)
    assert not isinstance(model, World)
    return _Film(model, motion, surface, values, states)


def _chosen(motion: Motion | WorldMotion, fps: float, speed: float) -> NDArray[np.int64]:
    """Return the index of the state nearest to the time of each picture."""
    pictures = motion.duration / speed * fps + 1.0
    if pictures > _MOST_PICTURES:
        raise InputError(
            f"the film would have {pictures:.3g} pictures, {_MOST_PICTURES} at most: choose a "
            "larger speed, a smaller fps, or a part of the motion"
        )
    wanted = motion.times[0] + np.arange(int(pictures + 1e-9)) * (speed / fps)
    middles = 0.5 * (motion.times[1:] + motion.times[:-1])
    nearest: NDArray[np.int64] = np.searchsorted(middles, wanted)
    return nearest


def _check_memory(path: str | os.PathLike[str], pictures: int, size: tuple[int, int]) -> None:
    """Refuse a GIF whose pictures would fill the memory."""
    most = _MOST_PIXELS // (size[0] * size[1])
    if as_path(path).suffix.lower() == ".gif" and pictures > most:
        raise InputError(
            f"a .gif file of {pictures} pictures of this size does not fit into memory, {most} do: "
            "choose a smaller size or fps, a larger speed, or an .mp4 file"
        )


def animate(
    path: str | os.PathLike[str],
    model: Model | World,
    motion: Motion | WorldMotion,
    surface: Surface | None = None,
    *,
    values: GivenValues | None = None,
    fps: float = 25.0,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 480),
    azimuth: float = -60.0,
    elevation: float = 20.0,
    up: str = "z",
    clock: bool = True,
    progress: Progress = None,
) -> None:
    """Write a film of a motion: a GIF, or an MP4 if the program ffmpeg is installed.

    Surfaces are coloured by `values`, or else by the displacement of the deformation, on the scale
    of `colours`. The camera does not move, and shows the whole motion; of a ground the part near
    it.

    Parameters
    ----------
    path
        Name of the file: ``.gif`` or ``.mp4``.
    model
        The object of the motion: a `ReducedSolid`, `ProjectedSolid`, `Skin`, `Solid`, `Mesh` or
        `World`, whose bodies have a colour each.
    motion
        Motion of the model, see `record_motion`.
    surface
        Surface of the object. None: the surface from which its mesh was made, if there is one, or
        else the boundary of its mesh; of a `Mesh` its boundary.
    values
        `Values` of the nodes or elements, or their `data` alone, such as ``solid.von_mises``. With
        them pictures at least 120 pixels high have a colour bar. None: displacements.
    fps
        Pictures per second. Each shows the state nearest to its time.
    speed
        Speed of the film: 0.1 plays ten times slower.
    size
        Width and height [pixels], 16 to 4096.
    azimuth, elevation, up
        Direction to the viewer [degrees] and upward axis, see `render`.
    clock
        Show the time in a corner.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Raises
    ------
    MissingPackageError
        Pillow or ffmpeg is not installed.
    FileFormatError
        The suffix is another one, or the file cannot be written.
    InputError, InputTypeError
        An argument has a wrong type or value, the motion is not one of the model, `values` is the
        method of a solid with another mesh or material, or the film would have more than 10,000
        pictures, or more than fit into memory for a GIF.
    """
    check_film(path)
    rate, pace = positive(fps, "fps"), positive(speed, "speed")
    wide, high = checked_size(size)
    axes = axes_of(number(azimuth, "azimuth"), number(elevation, "elevation"), up)
    if isinstance(model, World):
        check_world_motion(motion, model)
    else:
        check_motion(motion, model)
    chosen = _chosen(motion, rate, pace)
    _check_memory(path, len(chosen), (wide, high))
    if flag(clock, "clock"):
        pillow("the clock of a film")
    if values is not None:
        pillow("the colour bar of a film")
    states, repeats = np.unique(chosen, return_counts=True)
    film = _film(model, motion, surface, values, states)
    faces, scale = film.triangles, film.scale
    bounds = np.array([np.full(3, np.inf), np.full(3, -np.inf)])
    for places in film.places():
        seen = film.framed(places) @ axes.T
        bounds = np.array(
            [np.minimum(bounds[0], seen.min(axis=0)), np.maximum(bounds[1], seen.max(axis=0))]
        )
    drawn = (wide, high if scale is None else high - bar_height(high))
    frame = frame_around(bounds, axes, drawn, 0.06, crop=False)
    times = motion.times[states]
    with callback(progress, "pictures") as tell:

        def pictures() -> Iterator[NDArray[np.uint8]]:
            done = 0
            for k, places in enumerate(film.places()):
                image = draw(frame, [Shape(places, film.colours(k))], faces, 2)
                label = f"{times[k]:.3f} s" if clock else ""
                picture = labelled(on_paper(image), label, scale, high)
                for _ in range(int(repeats[k])):
                    yield picture
                done += int(repeats[k])
                if tell is not None:
                    tell(done, len(chosen))

        write_film(path, pictures(), rate)
