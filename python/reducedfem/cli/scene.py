"""``reducedfem haptics SCENE``: run a haptic scene and record it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core, scenes
from reducedfem.base.check import MOST_FRICTION, did_you_mean
from reducedfem.base.console import Console, count_text
from reducedfem.cli.options import Parser, UsageError, checked, counted, positive
from reducedfem.cli.paths import check_writable, refuse_same
from reducedfem.cli.recorded import doubt_contact, doubt_sizes
from reducedfem.errors import DeviceError, DivergedError, FileFormatError
from reducedfem.haptics.devices import Device, ReplayDevice
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.session import HapticSession
from reducedfem.pictures import plot
from reducedfem.viewer.server import require_aiohttp
from reducedfem.viewer.view import View, view

__all__ = ["add_options", "refuse_options", "run"]

_OPTIONS = ("device", "seconds", "points", "resolution", "friction", "plot", "record", "view")
_PLAY = " Its button 'Hold the tool' lets the pointer move it; closing the page ends the scene."
_LONGEST = 3600.0  # s; records are kept in memory
_PLAYED = 600.0  # s, of a scene that a page plays


# device names, with the text after a colon: "" none, "FILE" required, "[PORT]" optional
_DEVICES: dict[str, tuple[str, Callable[[str], Device | None]]] = {
    "hand": ("", lambda _: None),
    "replay": ("FILE", ReplayDevice.from_csv),
} | {str(kind._option): (kind._option_form, kind._from_option) for kind in Device._connected()}


def _device(text: str) -> tuple[str, str]:
    kind, colon, where = text.partition(":")
    if kind not in _DEVICES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not one of {', '.join(_DEVICES)}{did_you_mean(kind, _DEVICES)}"
        )
    wanted = _DEVICES[kind][0]
    port = wanted == "[PORT]" and where.isdecimal() and 0 < int(where) < 65536
    if not (port or (wanted == "FILE" and where) or (wanted != "FILE" and not colon)):
        form = {"": kind, "FILE": f"{kind}:FILE", "[PORT]": f"{kind} or {kind}:PORT"}[wanted]
        raise argparse.ArgumentTypeError(f"{text!r} must be {form}")
    return kind, where


def _seconds(text: str) -> float:
    value = positive(text)
    if value > _LONGEST:
        raise argparse.ArgumentTypeError(f"must be {_LONGEST:g} or less, got {text}")
    return value


def add_options(parser: Parser) -> None:
    """Add the scene and its options."""
    parser.add_argument(
        "scene",
        metavar="SCENE",
        nargs="?",
        choices=tuple(scenes.STORIES),
        help="one of " + ", ".join(scenes.STORIES),
    )
    parser.add_argument(
        "--device",
        type=_device,
        metavar="KIND",
        help="hand: a simulated hand with the motion of the scene (default); replay:FILE: the "
        "motion in FILE, recorded by --record (.npy) or a table of poses (.csv); "
        + "; ".join(kind._option_help or str(kind._option) for kind in Device._connected()),
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="duration [s]; forces then fade out within 0.2 s (default: the duration of the "
        "device's motion; 60 for a device without one; for a mouse until its page is closed, at "
        "most 600)",
    )
    parser.add_argument(
        "--points",
        type=counted(10_000_000),
        metavar="N",
        help="number of points of each pointshell (default: set by the scene)",
    )
    parser.add_argument(
        "--resolution",
        type=counted(1024),
        metavar="N",
        help="number of voxels along each side of the distance field, in the scenes button and "
        "organ of cells along the body (default: set by the scene)",
    )
    parser.add_argument(
        "--friction",
        type=checked(lambda mu: 0 <= mu <= MOST_FRICTION, f"0 to {MOST_FRICTION:g}"),
        metavar="MU",
        help="coefficient of friction (default: set by the scene, in most of them penalty forces "
        "without friction)",
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="file for a record of each cycle (.npy), read by HapticRecords.load in Python",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="picture of forces, computing times, level of detail and paths (.png, .pdf, .svg, "
        ".jpg)",
    )
    parser.add_argument(
        "--view",
        action="store_const",
        const=True,
        help="show the scene in the browser; it begins when the page is there",
    )


def refuse_options(args: argparse.Namespace) -> None:
    """Refuse options that require a scene if none is given."""
    for name in _OPTIONS:
        if getattr(args, name) is not None:
            raise UsageError(
                f"--{name} needs a scene: one of {', '.join(scenes.STORIES)}; for example "
                f"'reducedfem haptics peg --{name} ...'"
            )


def _check_outputs(args: argparse.Namespace) -> None:
    read = [args.device[1]] if args.device is not None and args.device[0] == "replay" else []
    refuse_same(read, {"--record": args.record, "--plot": args.plot})
    if args.record is not None:
        check_writable(Path(args.record), "--record")
        if Path(args.record).suffix.lower() != ".npy":
            raise UsageError(f"--record: the file name must end in .npy, got {args.record!r}")
    if args.plot is not None:
        check_writable(Path(args.plot), "--plot")
        try:
            plot.check_picture(args.plot)
        except FileFormatError as error:
            raise UsageError(f"--plot: {error}") from None


def _recorded(kind: str, where: str) -> HapticRecords | None:
    """Return the records that a device replays; None: it replays none."""
    if kind != "replay" or Path(where).suffix.lower() == ".csv":
        return None
    return HapticRecords.load(where)


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the scene, print its report, and draw it."""
    _check_outputs(args)
    kind, where = args.device or ("hand", "")
    recorded = _recorded(kind, where)
    if recorded is None:
        device = _DEVICES[kind][1](where)
    else:
        # hand=True: recorded in the frame of the hand, independent of the axes of the device
        device = ReplayDevice.from_records(recorded, hand=True)
    played = device is not None and device._pointed  # by a page, which ends it
    if args.view or played:
        require_aiohttp()
    doubted = recorded is not None and doubt_sizes(args.scene, where, recorded)
    seconds = args.seconds
    if seconds is None and device is not None and np.isinf(device.duration):
        seconds = _PLAYED if played else 60.0
    options: dict[str, Any] = {"record": args.record, "duration": seconds}
    for name in ("points", "resolution", "friction"):
        if getattr(args, name) is not None:
            options[name] = getattr(args, name)
    # missing devices are reported before the scene is built, which takes up to a minute
    if device is not None and device._waits:
        console.fact("device", f"{device._looked_for[0]}; expected once the scene is built")
    elif device is not None and device._option:
        _core.probe_device(device._core)
    # announced, because there is no progress bar without a terminal
    console.fact("scene", scenes.STORIES[args.scene] + "; building it takes up to a minute")
    with console.stage("build") as stage:
        session = scenes.session(args.scene, device, **options)
        stage.result = _size(session)
    if recorded is not None and not doubted and session.touched is None:
        doubt_contact(args.scene, where, recorded, session)
    failure = None
    shown = view(session) if args.view or played else None
    if shown is not None:
        console.say("The scene begins when a page is open." + (_PLAY if played else ""))
        shown.wait_open()
    if device is not None and device._waits:
        console.fact(
            "waiting",
            f"at most {device._waits:g} s for {device._looked_for[0]}, sent by a program such as "
            "python -m reducedfem.udp_client; Ctrl-C ends it",
        )
    try:
        with session:
            records = _watched(session, console, shown if played else None)
    except (DeviceError, DivergedError) as error:
        if not session.report().ticks:
            raise
        failure = error
    finally:
        if shown is not None:
            shown.close()
    if args.record is not None:
        records = HapticRecords.load(args.record).array
    for line in str(session.report()).splitlines():
        console.say("  " + line)
    if args.seconds is not None and len(records):
        over = float(records["time_s"][-1]) + session.dt - args.seconds
        if over > 0.5 * session.dt:
            console.fact(
                "fade-out of forces", f"{over:.3g} s after the {args.seconds:g} s of --seconds"
            )
    _report(records, console)
    if args.record is not None:
        console.fact("records", args.record)
    if args.plot is not None:
        title = f"{args.scene}: {scenes.STORIES[args.scene]}"
        max_depth = session.report().max_depth
        HapticRecords(records).plot(args.plot, title=title, max_depth=max_depth)
        console.fact("plot", args.plot)
    if failure is not None:
        raise failure
    return 0


def _size(session: HapticSession) -> str:
    """Return the size of the bodies as text."""
    touched = session._bodies.touched
    if touched is not None:
        return touched._size
    return count_text(sum(one.tree.shell.n_points for one in session.contacts), "point")


def _watched(session: HapticSession, console: Console, page: View | None) -> NDArray[np.void]:
    """Wait for the end, also of a page; return the records, read before their buffer overflows."""
    parts = []
    with console.stage("run") as stage:
        try:
            while not session.wait(0.25):
                parts.append(session.records(drain=True).array)
                if page is not None and page.left:
                    stage.result = "the page was closed, "
                    break
        except KeyboardInterrupt:
            stage.result = "interrupted, "
        session.stop()
        parts.append(session.records(drain=True).array)
        stage.result += count_text(session.report().ticks, "cycle")
    return np.concatenate(parts)


def _report(records: NDArray[np.void], console: Console) -> None:
    """Print contact and levels of detail, which the session's report does not contain."""
    if not len(records):  # ended before the first cycle
        return
    touching = records["touching"]
    if "anchor" in (records.dtype.names or ()):
        slips = HapticRecords(records).flagged("slipping")
        share, slid = 100 * (touching > 0).mean(), 100 * slips.mean()
        console.fact("contact", f"in {share:.0f} % of the cycles; slip in {slid:.0f} %")
        return
    levels = np.bincount(records["level"])
    console.fact(
        "points in contact",
        f"at most {int(touching.max()):,}; in {100 * (touching > 0).mean():.0f} % of the cycles",
    )
    console.fact("visited tree nodes", f"at most {int(records['visited'].max()):,} in a cycle")
    shares = ", ".join(
        f"{n} in {100 * count / len(records):.1f} %" for n, count in enumerate(levels) if count
    )
    console.fact("finest level reached", f"{shares} of the cycles")
