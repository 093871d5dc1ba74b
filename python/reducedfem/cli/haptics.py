"""``reducedfem haptics``: haptic scenes, and a list of connected devices."""

from __future__ import annotations

import argparse

from reducedfem.base.console import Console
from reducedfem.cli import scene
from reducedfem.cli.options import Commands, UsageError, add_common
from reducedfem.haptics.probes import probe_devices
from reducedfem.scenes import STORIES

__all__ = ["add_to"]

_EXAMPLE = "reducedfem haptics peg --seconds 5"


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "haptics",
        help="run a haptic scene at 1 kHz, list the scenes or the connected devices",
        description="Run a haptic scene at 1 kHz: contact, virtual coupling and deformation "
        "in a thread.\nCtrl-C ends the scene. Without SCENE, the command lists all scenes; they "
        "are modules of\nreducedfem.scenes, short enough to read and copy.\n\n"
        "--probe lists the connected haptic devices. For each device that was not found, it "
        "prints the\nreason and the files searched for. Probing moves nothing and switches no "
        "force on. Environment\nvariables set other files: SPNAV_SOCKET (socket of spacenavd), "
        "REDUCEDFEM_DHD and REDUCEDFEM_HD\n(libraries of Force Dimension and OpenHaptics).",
        epilog="examples:\n"
        "  reducedfem haptics\n"
        f"  {_EXAMPLE}\n"
        "  reducedfem haptics --probe\n"
        "  reducedfem haptics alpha-cheat --plot cheat.png --record cheat.npy\n"
        "  reducedfem haptics alpha-cheat --device replay:cheat.npy\n"
        "  reducedfem haptics statue --points 100000 --seconds 4",
    )
    parser.add_argument("--probe", action="store_true", help="list the connected devices")
    scene.add_options(parser)
    add_common(parser)
    parser.set_defaults(run=_run, parser=parser)


def _run(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    if args.scene is not None:
        if args.probe:
            raise UsageError("--probe runs no scene: leave out either --probe or the scene")
        return scene.run(args, console)
    scene.refuse_options(args)
    if args.probe:
        for probe in probe_devices():
            console.say(str(probe))
        return 0
    console.say("scenes:")
    for name, story in STORIES.items():
        console.fact(name, story)
    console.say(
        f"Run one for five seconds with a simulated hand: {_EXAMPLE}\n"
        "Options, also for haptic devices: reducedfem haptics --help"
    )
    return 0
