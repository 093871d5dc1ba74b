"""The command ``reducedfem``: one module per subcommand, which adds its options and runs it.

Exit status: 0 on success, 1 with one line on standard error for each failure, 2 on wrong use, 130
when interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from reducedfem._version import __version__
from reducedfem.base.run import set_threads
from reducedfem.cli import demo, haptics, info, reduce, simulate, view
from reducedfem.cli.options import Parser, UsageError, fail
from reducedfem.errors import GeometryWarning, PlausibilityWarning, ReducedFEMError
from reducedfem.solid.plausible import RETRAIN

__all__ = ["main"]

_WARNINGS = (GeometryWarning, PlausibilityWarning)
_COMMANDS = (demo, reduce, info, simulate, view, haptics)


def _parser() -> Parser:
    parser = Parser(
        prog="reducedfem",
        description="Real-time simulation of large-deformation solids by model reduction.",
        epilog="'reducedfem COMMAND --help' gives details and examples.",
    )
    parser.add_argument("--version", action="version", version=f"reducedfem {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings of this package as single lines without source locations."""
    with warnings.catch_warnings():
        for kind in _WARNINGS:
            warnings.simplefilter("always", kind)
        usual = warnings.showwarning
        shown = set()  # a model is asked for the same several times

        def show(
            message: Warning | str, category: type[Warning], *more: Any, **others: Any
        ) -> None:
            if issubclass(category, _WARNINGS):
                text = str(message).replace(RETRAIN, "a larger --training-strain")
                if text not in shown:
                    print(f"reducedfem: warning: {text}", file=sys.stderr)
                shown.add(text)
            else:
                usual(message, category, *more, **others)

        warnings.showwarning = show
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        Arguments after the name of the command; None: those of the process.

    Returns
    -------
    int
        Exit status. Wrong use raises SystemExit with status 2.
    """
    parser = _parser()
    args, unknown = parser.parse_known_args(arguments)
    getattr(args, "parser", parser).refuse_unknown(unknown)
    if not hasattr(args, "run"):
        parser.print_help(sys.stderr)
        return 2
    try:
        if args.threads is not None:
            set_threads(args.threads)
        with _plain_warnings():
            status: int = args.run(args)
        sys.stdout.flush()
        return status
    except UsageError as error:
        args.parser.error(str(error))
        raise AssertionError from error  # not reached
    except KeyboardInterrupt:
        print("reducedfem: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of the pipe has closed it; remaining output must not fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ReducedFEMError, OSError) as error:
        return fail(error)
    except MemoryError:
        return fail(
            "out of memory: try a lower resolution, or fewer modes, reduced coordinates and steps"
        )
