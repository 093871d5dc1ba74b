"""``reducedfem demo``: reduction and simulation of a sample surface, with pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

from reducedfem.base.console import Console
from reducedfem.cli.options import Commands, add_common
from reducedfem.samples import demo as demonstration

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "demo",
        help="reduce and simulate a sample surface, and draw pictures",
        description="Voxelize and reduce a sample surface, simulate it, compare the motion with "
        "that of the\nunreduced solid, and draw pictures. Needs matplotlib: pip install "
        "'reducedfem[plot]'.",
        epilog="examples:\n"
        "  reducedfem demo\n"
        "  reducedfem demo --surface hose --out /tmp/hose\n"
        "  reducedfem demo --quick",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="out/demo",
        help="folder of the files written (default: %(default)s)",
    )
    parser.add_argument(
        "--surface",
        choices=tuple(demonstration.DEMOS),
        default="spoon",
        help="name of the sample (default: %(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="coarse mesh and short motion: takes some seconds"
    )
    add_common(parser)
    parser.set_defaults(run=_run, parser=parser)


def _run(args: argparse.Namespace) -> int:
    settings = demonstration.DEMOS[args.surface]
    if args.quick:
        settings = demonstration.quick(settings)
    demonstration.run(settings, Path(args.out), Console(args.quiet))
    return 0
