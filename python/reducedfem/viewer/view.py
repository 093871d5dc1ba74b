"""Views: what a page in the browser shows."""

from __future__ import annotations

import contextlib
import html
import os
import re
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from reducedfem.base.check import choice, count, flag, number, positive
from reducedfem.base.run import Progress, check_progress
from reducedfem.contact.contact import Contact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import Field
from reducedfem.contact.point_tree import PointTree
from reducedfem.contact.pointshell import Pointshell
from reducedfem.drawing.render import UP
from reducedfem.dynamics.free_body import FreeBody
from reducedfem.dynamics.integrator import Simulation
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.green.composite import CompositeBody
from reducedfem.green.control import ControlElements
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.session import HapticSession
from reducedfem.io.atomic import as_path, replacing
from reducedfem.pictures.values import GivenValues
from reducedfem.reduction.basis import Basis, SystemBasis
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.sketch import ForceSketch
from reducedfem.reduction.skin import Skin
from reducedfem.solid.modes import Modes, SystemModes
from reducedfem.solid.solid import Solid
from reducedfem.touch.point_proxy import PointProxyContact
from reducedfem.viewer import messages, page
from reducedfem.viewer.shown import Shown
from reducedfem.viewer.shown_contact import ShownContact, ShownField, ShownPoints, ShownSession
from reducedfem.viewer.shown_geometry import ShownMesh, ShownSolid, ShownSurface
from reducedfem.viewer.shown_handles import ShownBlocks, ShownHandles
from reducedfem.viewer.shown_motion import (
    ShownFreeBody,
    ShownModel,
    ShownSimulation,
    ShownSkin,
)
from reducedfem.viewer.shown_recorded import Moving, ShownMotion
from reducedfem.viewer.shown_records import ShownRecords
from reducedfem.viewer.shown_shapes import ShownShapes
from reducedfem.viewer.shown_sketch import ShownSketch
from reducedfem.viewer.shown_touch import ShownTouch, ShownTouchRecords
from reducedfem.viewer.shown_world import ShownWorld
from reducedfem.viewer.shown_world_motion import ShownWorldMotion
from reducedfem.world.recorded import WorldMotion
from reducedfem.world.world import World

__all__ = ["View", "export_html", "view"]

_LARGEST_PORT = 65535
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?")


class _NoSketchError(InputError, AttributeError):
    """A view has no sketch; `hasattr` and `getattr` see a missing attribute."""


class View:
    """A page in the browser, made by `view`.

    In a notebook it is displayed as the result of a cell. As a context manager it is closed at the
    end of the block; all views are closed when Python ends.

    Attributes
    ----------
    address
        Address of the page, with a secret token. It works on this computer only.
    """

    def __init__(self, shown: Shown, port: int, origins: tuple[str, ...], height: int) -> None:
        # its modules take a quarter of the import time of the package beside NumPy
        from reducedfem.viewer.server import server

        self._shown, self._height = shown, height
        self._server = server(port)
        self._channel = self._server.open(shown, origins)
        self._closing = threading.Lock()
        self._closed = False
        shown.begin()

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"{self._server.origin}/{self._channel.token}/"

    def _sketched(self) -> ShownSketch:
        if not isinstance(self._shown, ShownSketch):
            raise _NoSketchError("forces are sketched on the page of a Solid: view(solid)")
        return self._shown

    @property
    def sketch(self) -> ForceSketch:
        """Forces placed on the page of a `Solid`, half and all of each.

        `InputError` for views of other objects.
        """
        return self._sketched().sketch

    @property
    def basis(self) -> Basis | None:
        """Basis that the page of a `Solid` computed last from its sketch; None: none yet.

        `InputError` for views of other objects.
        """
        return self._sketched().basis

    @property
    def pages(self) -> int:
        """Number of pages that are connected."""
        return self._channel.pages

    @property
    def left(self) -> bool:
        """True if the last page has been closed for three seconds."""
        return self._channel.left.is_set()

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def close(self) -> None:
        """Disconnect the pages and end the threads of the view; again does nothing."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._server.close(self._channel)
        self._shown.end()

    def _open_browser(self) -> None:
        webbrowser.open(self._server.address_once(self._channel))

    def wait_open(self, timeout: float | None = None) -> bool:
        """Wait until a page is connected.

        Parameters
        ----------
        timeout
            Longest time to wait [s]; None: no limit.

        Returns
        -------
        bool
            True if there has been a page.

        Raises
        ------
        InputError, InputTypeError
            `timeout` is negative or not a number.
        """
        return self._channel.joined.wait(_limit(timeout))

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the last page has been closed for three seconds, or Ctrl-C is pressed.

        Parameters
        ----------
        timeout
            Longest time to wait [s]; None: no limit.

        Raises
        ------
        InputError, InputTypeError
            `timeout` is negative or not a number.
        """
        longest = _limit(timeout)
        with contextlib.suppress(KeyboardInterrupt):
            self._channel.left.wait(longest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene, with a recorded motion if there is one, as a page in one file.

        The file needs neither this package nor a network. An existing one is replaced only when
        the new one is complete.

        Parameters
        ----------
        path
            Name of the file, ``.html``.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        InputError
            The suffix is another one.
        """
        _write(self._shown, path, None)

    def __enter__(self) -> View:
        """Return the view."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the view."""
        self.close()

    def __reduce__(self) -> Any:
        """Reject copies and pickles."""
        raise InputTypeError("a View can be neither copied nor pickled: call view() again")

    def __repr__(self) -> str:
        return "<View: closed>" if self._closed else f"<View: {self.address}>"

    def _repr_html_(self) -> str:
        if self._closed:
            return html.escape(repr(self))
        # behind a hub, the server of notebooks passes requests on
        prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
        address = self.address
        if prefix:
            address = f"{prefix}proxy/{self._server.port}/{self._channel.token}/"
        source = html.escape(address, quote=True)
        return (
            f'<iframe src="{source}" width="100%" height="{self._height}" '
            'style="border: 0; border-radius: 8px" allow="fullscreen; gamepad"></iframe>'
            f'<div><a href="{source}" target="_blank">{source}</a></div>'
        )


def _write(shown: Shown, path: str | os.PathLike[str], progress: Progress) -> None:
    """Write a scene as a page in one file; see `export_html`."""
    file = as_path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"path must end in .html, got {str(file)!r}")
    check_progress(progress)
    shown.progress = progress
    scene = {**shown.saved().described(), "controls": False, "pulls": False, "tool": None}
    scene["poses"] = False
    text = page.single(scene["title"], messages.encode(scene))
    with replacing(file) as temporary:
        temporary.write_text(text, "utf-8")


def _limit(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    longest = number(timeout, "timeout")
    if not longest >= 0.0:
        raise InputError(f"timeout must be at least 0, got {longest:g}")
    return min(longest, threading.TIMEOUT_MAX)


def _origins(origins: Iterable[str]) -> tuple[str, ...]:
    """Return the argument `origins`, without slashes at the ends."""
    if isinstance(origins, str) or not isinstance(origins, list | tuple):
        raise InputTypeError(f"origins must be a list of texts, got {type(origins).__name__}")
    found = []
    for k, one in enumerate(origins):
        if not isinstance(one, str):
            raise InputTypeError(f"origins[{k}] must be a text, got {type(one).__name__}")
        text = one.rstrip("/").lower()
        if not _ORIGIN.fullmatch(text):
            raise InputError(f"origins[{k}] must be like 'https://hub.example.org', got {one!r}")
        found.append(text)
    return tuple(found)


def _need(on: object, kind: str) -> Mesh:
    if isinstance(on, Mesh):
        return on
    if isinstance(on, Solid | ReducedSolid):
        return on.mesh
    if on is None:
        raise InputError(
            f"on must be given with {kind}, which have no mesh of their own: pass the Solid that "
            "they belong to, as view(x, solid)"
        )
    raise InputTypeError(f"on must be a Solid, a Mesh or None, got {type(on).__name__}")


def _records(x: object, records: object, up: str) -> Shown:
    """Return records without objects, `x`, or with those of `x`."""
    if not isinstance(records, HapticRecords):
        raise InputTypeError(
            f"records must be HapticRecords or None, got {type(records).__name__}; "
            "HapticRecords.load reads a file of them"
        )
    if x is records:
        return ShownRecords(records, None, up, 1)
    own = x._queue.scene if isinstance(x, HapticSession) else None
    if None not in (own, records.scene) and own != records.scene:
        raise InputError(
            f"records are of the scene {records.scene}, and x is a session of the scene {own}: "
            f"view them with a session of {records.scene}"
        )
    if isinstance(x, PointProxyContact) or (isinstance(x, HapticSession) and x.touched is not None):
        return ShownTouchRecords(records, x, up, 4)
    if isinstance(x, HapticSession | Contact):
        return ShownRecords(records, x, up, 4)
    raise InputTypeError(
        "records is given, so x must be the HapticSession, or the Contact or PointProxyContact, "
        f"whose objects moved, got {type(x).__name__}"
    )


def _shown(
    x: object,
    on: object,
    motion: Motion | WorldMotion | None,
    records: HapticRecords | None,
    up: str,
    stiffness: float | None,
    values: GivenValues | None,
) -> Shown:
    if isinstance(x, SystemModes | SystemBasis):
        raise InputTypeError(
            f"x is a {type(x).__name__}, whose unknowns are not at places; "
            "only modes and bases of a Solid can be shown"
        )
    if isinstance(on, Motion):
        raise InputTypeError("on is a Motion: pass it by name, as view(reduced, motion=motion)")
    if isinstance(on, HapticRecords):
        raise InputTypeError("on are records: pass them by name, as view(session, records=records)")
    if motion is not None and not isinstance(x, Moving | CompositeBody | World):
        raise InputTypeError(
            "motion is given, so x must be a ReducedSolid, a ProjectedSolid, a Solid, a Mesh, a "
            f"CompositeBody or a World, got {type(x).__name__}"
        )
    if values is not None and not isinstance(x, Moving | Surface | Simulation):
        raise InputTypeError(
            "values is given, so x must be a Surface, a Mesh, a Solid, a ReducedSolid, a time "
            f"integrator, or the model of a motion, got {type(x).__name__}"
        )
    if stiffness is not None and not isinstance(x, ReducedSolid | Simulation | FreeBody | World):
        raise InputError(
            f"stiffness is given, but a {type(x).__name__} cannot be pulled: leave it out"
        )
    if records is not None and (motion is not None or on is not None):
        raise InputError("records is given: leave out on and motion")
    if records is not None or isinstance(x, HapticRecords):
        return _records(x, x if records is None else records, up)
    if isinstance(x, Modes | Basis):
        mesh = _need(on, "modes" if isinstance(x, Modes) else "bases")
        shapes = x.shapes if isinstance(x, Modes) else x.vectors
        if shapes.shape[1] != mesh.n_nodes:
            raise InputError(
                f"x has shapes of {shapes.shape[1]} nodes, the mesh of on has {mesh.n_nodes}"
            )
        return ShownShapes(x, mesh, up)
    if on is not None:
        raise InputError("on is given, but x has a mesh of its own: leave it out")
    if motion is not None and isinstance(x, World):
        return ShownWorldMotion(x, motion, up)
    if motion is not None:
        model = x.solid if isinstance(x, CompositeBody) else x
        return ShownMotion(model, motion, up, values)  # type: ignore[arg-type]
    kinds: dict[type, Callable[[], Shown]] = {
        Surface: lambda: ShownSurface(x, up, values),  # type: ignore[arg-type]
        Mesh: lambda: ShownMesh(x, up, values),  # type: ignore[arg-type]
        Solid: lambda: (  # values are not for sketches
            ShownSketch(x, up) if values is None else ShownSolid(x, up, values)  # type: ignore[arg-type]
        ),
        ReducedSolid: lambda: ShownModel(x, up, stiffness, values),  # type: ignore[arg-type]
        Simulation: lambda: ShownSimulation(x, up, stiffness, values),  # type: ignore[arg-type]
        Field: lambda: ShownField(x, up),  # type: ignore[arg-type]
        DeformedField: lambda: ShownField(x, up),  # type: ignore[arg-type]
        Contact: lambda: ShownContact(x, up),  # type: ignore[arg-type]
        HapticSession: lambda: (
            ShownSession if x.touched is None else ShownTouch  # type: ignore[attr-defined]
        )(x, up),  # type: ignore[arg-type]
        World: lambda: ShownWorld(x, up, stiffness),  # type: ignore[arg-type]
        Skin: lambda: ShownSkin(x, up),  # type: ignore[arg-type]
        Pointshell: lambda: ShownPoints(x, up),  # type: ignore[arg-type]
        PointTree: lambda: ShownPoints(x, up),  # type: ignore[arg-type]
        FreeBody: lambda: ShownFreeBody(x, up, stiffness),  # type: ignore[arg-type]
        ControlElements: lambda: ShownHandles(x, up),  # type: ignore[arg-type]
        CompositeBody: lambda: ShownBlocks(x, up),  # type: ignore[arg-type]
    }
    for kind, make in kinds.items():
        if isinstance(x, kind):
            return make()
    hint = ""
    if isinstance(x, str | os.PathLike):
        hint = "; read the file by rf.load, rf.read_surface or rf.read_mesh"
    elif isinstance(x, WorldMotion):
        hint = "; pass its world, as view(world, motion=motion)"
    elif isinstance(x, Motion):
        hint = "; pass its model, as view(reduced, motion=motion)"
    elif isinstance(x, PointProxyContact):
        hint = "; pass its session, or records= of one"
    raise InputTypeError(
        "x must be a Surface, a Mesh, a Solid, Modes, a Basis, a ReducedSolid, a Skin, a time "
        "integrator, a FreeBody, a Field, a Pointshell, a PointTree, a Contact, a HapticSession, "
        f"HapticRecords, ControlElements, a CompositeBody or a World, got {type(x).__name__}{hint}"
    )


def view(
    x: Any,
    on: Solid | Mesh | ReducedSolid | None = None,
    *,
    motion: Motion | WorldMotion | None = None,
    records: HapticRecords | None = None,
    values: GivenValues | None = None,
    up: str = "z",
    stiffness: float | None = None,
    port: int = 0,
    origins: Iterable[str] = (),
    height: int = 560,
    browser: bool | None = None,
) -> View:
    """Show an object in a page of the browser.

    In a notebook the page is the result of the cell; elsewhere the address is printed, and a
    browser opened if the machine has a screen. Surfaces, meshes (with regions), and solids (with
    fixed nodes) are at rest. Modes and bases have a slider for each shape. A `ReducedSolid` is
    simulated: it gives way where it is pulled, by a spring whose force is shown. A time integrator
    of a `ReducedSolid`, `ProjectedSolid` or `Solid` is shown in its present state, which other
    threads may change; its page can run it in real time without other forces, and pull it, for
    which it runs until released. A `FreeBody` or a `World` likewise. Skins and fields of models
    have a slider for each coordinate, `ControlElements` for shifts and turns of handles, a
    `CompositeBody` for those of its holdable nodes; points have a colour for each level. A
    `HapticSession` is followed while it runs, with touching points and forces, and played if its
    device is a `MouseDevice`.

    The page is served on this computer only, to those who know its address.

    Parameters
    ----------
    x
        A `Surface`, `Mesh`, `Solid`, `Modes`, `Basis`, `ReducedSolid`, `Skin`, time integrator,
        `FreeBody`, `Field`, `DeformedField`, `Pointshell`, `PointTree`, `Contact`,
        `HapticSession`, `HapticRecords` (the path of the object), `ControlElements`,
        `CompositeBody` or `World`.
    on
        Solid or mesh of `Modes` or of a `Basis`; None for others.
    motion
        Recorded motion, which the page plays, of a `ReducedSolid` or `ProjectedSolid`, see
        `record_motion`, or of a `World`; or displacements of a `Solid` or `Mesh`,
        ``Motion([0.0], [u])`` for one state.
    records
        Records of a session, which the page plays with the objects of `x`, the session, its
        `Contact` or `PointProxyContact`; a `PlausibilityWarning` follows if they are others.
    values
        Colours of a `Surface`, `Mesh`, `Solid`, `ReducedSolid`, simulation or motion:
        ``plot.Values``, or their data alone, such as ``solid.von_mises``, which follows what moves.
    up
        Axis that is up: "z", "y", "x", "-z", "-y" or "-x".
    stiffness
        Stiffness of the spring by which pages pull [N/m], positive; None: three times that of the
        body at the point, at rest.
    port
        Port of the server; 0: any free one.
    origins
        Origins of other servers that pass pages on, such as "https://hub.example.org".
    height
        Height of the frame in a notebook [pixels].
    browser
        True: open a browser; False: do not. None: unless a notebook shows the page.

    Returns
    -------
    View

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value; the port is in use.
    MissingPackageError
        aiohttp is not installed.
    """
    choice(up, "up", UP)
    if stiffness is not None:
        stiffness = positive(stiffness, "stiffness")
    wanted = count(port, "port", _LARGEST_PORT, least=0)
    allowed = _origins(origins)
    pixels = count(height, "height", 10000)
    if browser is not None:
        flag(browser, "browser")
    shown = View(
        _shown(x, on, motion, records, up, stiffness, values),
        wanted,
        allowed,
        pixels,
    )
    notebook = _in_notebook()
    if not notebook:
        print(f"view: {shown.address}", flush=True)
    if browser or (browser is None and not notebook and _has_screen()):
        shown._open_browser()
    return shown


def export_html(
    path: str | os.PathLike[str],
    x: Any,
    on: Solid | Mesh | ReducedSolid | None = None,
    *,
    motion: Motion | WorldMotion | None = None,
    records: HapticRecords | None = None,
    values: GivenValues | None = None,
    up: str = "z",
    progress: Progress = None,
) -> None:
    """Write an interactive picture as a page in one file, for any browser.

    The file needs neither this package nor a network: it has the surface, the shapes and a
    recorded motion or session, which it plays. Models and simulations are at rest in it. An
    existing file is replaced only when the new one is complete.

    Parameters
    ----------
    path
        Name of the file, ``.html``.
    x, on, motion, records, values, up
        As of `view`.
    progress
        Progress bar of the dimples of records, or of a motion of a world; others have none: True,
        False, or None (after two seconds, in a terminal); or a callable ``f(done, total)``.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    InputError, InputTypeError
        An argument has a wrong type or value.

    Warns
    -----
    PlausibilityWarning
        The contact in `records` is not that of the objects of `x`, see ``docs/view.md``.
    """
    choice(up, "up", UP)
    _write(_shown(x, on, motion, records, up, None, values), path, progress)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    return current is not None and hasattr(current, "kernel")


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
