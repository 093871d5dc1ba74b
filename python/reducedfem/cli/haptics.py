"""``reducedfem haptics``: haptic scenes, and a list of connected devices."""

from __future__ import annotations

import argparse

from reducedfem.base.console import Console
from reducedfem.cli import scene
from reducedfem.cli.options import Commands, UsageError, add_common
from reducedfem.haptics.probes import probe_devices
from reducedfem.scenes import STORIES

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "haptics",
        help="run a haptic scene at 1 kHz, list the scenes, list the devices found",
        description="Run a haptic scene at 1 kHz: contact, virtual coupling and deformation "
        "in a thread.\nCtrl-C ends it. Without a scene, list them; they are modules of "
        "reducedfem.scenes, to be read\nand copied.\n\n"
        "--probe lists the haptic devices found and, for the others, the names tried and the "
        "reason.\nNothing moves and no force is switched on. Environment variables give other "
        "places: SPNAV_SOCKET\n(socket of spacenavd), REDUCEDFEM_DHD and REDUCEDFEM_HD "
        "(libraries of Force Dimension and of\nOpenHaptics).",
        epilog="examples:\n"
        "  reducedfem haptics\n"
        "  reducedfem haptics --probe\n"
        "  reducedfem haptics alpha-cheat --plot cheat.png --record cheat.npy\n"
        "  reducedfem haptics alpha-cheat --device replay:cheat.npy\n"
        "  reducedfem haptics statue --points 100000 --seconds 4",
    )
    parser.add_argument("--probe", action="store_true", help="list devices of every kind")
    scene.add_options(parser)
    add_common(parser)
    parser.set_defaults(run=_run, parser=parser)


def _run(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    if args.scene is not None:
        if args.probe:
            raise UsageError("--probe and a scene exclude each other")
        return scene.run(args, console)
    scene.refuse_options(args)
    if args.probe:
        for probe in probe_devices():
            console.say(str(probe))
        return 0
    for name, story in STORIES.items():
        console.fact(name, story)
    return 0
