"""``reducedfem view``: show a file in a page of the browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from reducedfem import scenes
from reducedfem._load import load
from reducedfem.base.console import Console
from reducedfem.cli.options import Commands, UsageError, add_common, counted, positive, scale
from reducedfem.cli.paths import check_writable, is_surface, open_mesh, open_surface, refuse_same
from reducedfem.cli.recorded import refuse_other_scene
from reducedfem.drawing.render import UP
from reducedfem.haptics.records import HapticRecords
from reducedfem.viewer.view import export_html, view
from reducedfem.world.recorded import WorldMotion

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "view",
        help="show a surface, a mesh, a model, a distance field or records in the browser",
        description="Show a file, or a sample by its name, in a page of the browser. A reduced "
        "model gives way where\nthe mouse pulls it; records of 'reducedfem haptics --record' are "
        "played, with the objects of\ntheir --scene. The page is served on this computer only, to "
        "those who know its address;\nthe command ends when the last page is closed, or by "
        "Ctrl-C.",
        epilog="examples:\n"
        "  reducedfem view bunny.ply --up y\n"
        "  reducedfem view spoon.safetensors\n"
        "  reducedfem view part.stl --scale 0.001 --save part.html\n"
        "  reducedfem view played.npy --scene peg",
    )
    parser.add_argument("file", metavar="FILE", help="file to show")
    parser.add_argument(
        "--up",
        choices=UP,
        default="z",
        help="axis that is up (default: z; -z and so on as --up=-z)",
    )
    parser.add_argument(
        "--scale",
        type=scale,
        metavar="S",
        help="metres per unit of a surface, or the unit: 0.001 or mm (default: m)",
    )
    parser.add_argument(
        "--scene",
        choices=tuple(scenes.STORIES),
        metavar="SCENE",
        help="scene that was recorded in FILE (.npy), whose objects are shown, too: one of "
        + ", ".join(scenes.STORIES),
    )
    parser.add_argument(
        "--resolution",
        type=counted(1024),
        metavar="N",
        help="resolution of that scene, as of 'reducedfem haptics' (default: set by the scene)",
    )
    parser.add_argument(
        "--stiffness",
        type=positive,
        metavar="K",
        help="stiffness of the spring that pulls a model [N/m] (default: three times that of the "
        "model at the point)",
    )
    parser.add_argument(
        "--port", type=counted(65535), metavar="N", help="port of the server (default: a free one)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address and open no browser"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="write the page to one file that needs no server (.html), and show nothing",
    )
    add_common(parser)
    parser.set_defaults(run=_run, parser=parser)


def _open(args: argparse.Namespace) -> Any:
    """Return the object in the file."""
    name = args.file
    if name in scenes.STORIES and not os.path.lexists(name):
        raise UsageError(
            f"{name!r} is a scene: run it by 'reducedfem haptics {name} --view', or show records "
            f"of it by --scene {name}"
        )
    if _is_records(args):
        found: Any = HapticRecords.load(name)
    elif Path(name).suffix.lower() == ".safetensors":
        found = load(name)
    elif is_surface(name):
        return open_surface(name, args.scale or 1.0)
    else:
        found = open_mesh(name)
    if isinstance(found, WorldMotion):
        raise UsageError(
            f"{name!r} is the motion of a world, whose bodies the file does not have: make the "
            f"World in a script, and call view(world, motion=rf.load({name!r}))"
        )
    if args.scale is not None:
        raise UsageError(f"--scale is for surfaces, which {name!r} is not: leave it out")
    return found


def _is_records(args: argparse.Namespace) -> bool:
    return Path(args.file).suffix.lower() in (".npy", ".part")


def _run(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    if args.scene is not None and not _is_records(args):
        raise UsageError(
            f"--scene is for records of 'reducedfem haptics --record' (.npy), which {args.file!r} "
            "is not: leave it out"
        )
    if args.resolution is not None and args.scene is None:
        raise UsageError("--resolution is of a scene: add --scene, or leave it out")
    if args.save is not None:
        for option in ("stiffness", "port"):
            if getattr(args, option) is not None:
                raise UsageError(
                    f"--{option} is for a page that is served; --save writes one that neither "
                    "simulates nor needs a server: leave one of them out"
                )
        refuse_same([args.file], {"--save": args.save})
        check_writable(Path(args.save), "--save")
        if Path(args.save).suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"--save: the file name must end in .html, got {args.save!r}")
    what = _open(args)
    records = None
    if args.scene is not None:
        records = what
        refuse_other_scene(args.scene, args.file, records)
        with console.stage("build"):
            options = {} if args.resolution is None else {"resolution": args.resolution}
            what = scenes.session(args.scene, **options)
    if args.save is not None:
        with console.stage("scene") as stage:
            export_html(args.save, what, records=records, up=args.up, progress=stage.show)
        console.fact("page", args.save)
        return 0
    shown = view(
        what,
        records=records,
        up=args.up,
        stiffness=args.stiffness,
        port=args.port or 0,
        browser=False if args.no_browser else None,
    )
    with shown:
        console.say("Ctrl-C ends the view.")
        shown.wait()
    return 0
