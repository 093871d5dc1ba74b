"""Command lines of the experiments: the folder of plots, marks, errors, exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import reducedfem as rf


def options(script: str, text: str | None, takes: str | None = None) -> argparse.ArgumentParser:
    """Return a parser with the option --out.

    Parameters
    ----------
    script
        `__file__` of the experiment.
    text
        Its docstring.
    takes
        Its run time on two cores.
    """
    parser = argparse.ArgumentParser(
        prog=Path(script).name,
        description=text,
        epilog=takes and f"Takes {takes} on two cores.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (out)")
    parser.set_defaults(script=Path(script))
    return parser


def parse(
    parser: argparse.ArgumentParser, positive: tuple[str, ...] = (), **least: int
) -> argparse.Namespace:
    """Parse the command line; refuse numbers that are not positive, or below their least value."""
    given = parser.parse_args()
    for name in positive:
        if not getattr(given, name) > 0.0:
            parser.error(f"--{name} must be positive, got {getattr(given, name):g}")
    for name, bound in least.items():
        if getattr(given, name) < bound:
            parser.error(f"--{name} must be {bound} or more, got {getattr(given, name)}")
    return given


def run(
    perform: Callable[[argparse.Namespace], list[str] | None], given: argparse.Namespace
) -> int:
    """Perform an experiment and return its exit code: 1 after an error or a missed mark.

    Parameters
    ----------
    perform
        Prints the numbers, writes the plot to `given.plot`, and returns the marks that it misses.
        If it writes several plots, or none, it sets `given.plots` to their paths.
    given
        Parsed options of a parser by `options`.
    """
    given.plot = given.out / given.script.with_suffix(".png").name
    given.plots = [given.plot]
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        missed = perform(given) or []
        print("", *(f"plot: {path}" for path in given.plots), sep="\n")
    except (rf.ReducedFEMError, OSError) as error:
        print(f"{given.script.name}: {error}", file=sys.stderr)
        return 1
    for mark in missed:
        print(f"{given.script.name}: mark missed: {mark}", file=sys.stderr)
    return 1 if missed else 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one core inside of the block."""
    threads = rf.threads()
    rf.set_threads(1)
    try:
        yield
    finally:
        rf.set_threads(threads)
