"""Parser, conversion of values and errors of use for all commands."""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from reducedfem.base.check import did_you_mean
from reducedfem.base.run import MAX_THREADS
from reducedfem.errors import InputError, ReducedFEMError
from reducedfem.geometry.transforms import metres_per_unit

__all__ = [
    "Commands",
    "Parser",
    "UsageError",
    "add_common",
    "checked",
    "count",
    "counted",
    "fail",
    "not_negative",
    "number",
    "positive",
    "scale",
]


# options by names that arguments in Python, or other programs, have
_MEANT = {"--mu": "--friction", "--duration": "--seconds", "--time": "--seconds"}


class UsageError(Exception):
    """Incompatible options; exit status 2."""


def fail(why: str | ReducedFEMError | OSError) -> int:
    """Print an error as one line on standard error; return the exit status."""
    text = str(why)
    if isinstance(why, OSError) and not isinstance(why, ReducedFEMError):
        text = f"{why.filename or 'operating system'}: {why.strerror or why}"
    print("reducedfem: error: " + " ".join(text.split()), file=sys.stderr)
    return 1


def number(text: str) -> float:
    """Convert to a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not finite")
    return value


def checked(check: Callable[[float], bool], must: str) -> Callable[[str], float]:
    """Return a converter that accepts numbers that pass a check."""

    def convert(text: str) -> float:
        value = number(text)
        if not check(value):
            raise argparse.ArgumentTypeError(f"must be {must}, got {text}")
        return value

    return convert


positive = checked(lambda x: x > 0, "positive")
not_negative = checked(lambda x: x >= 0, "0 or more")


def scale(text: str) -> float:
    """Convert a positive number or a unit to metres per unit."""
    try:
        value: float | str = text if "_" in text else float(text)  # float() reads 1_0 as 10
    except ValueError:
        value = text
    try:
        return metres_per_unit(value)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("scale ")) from None


def counted(most: int, least: int = 1) -> Callable[[str], int]:
    """Return a converter that accepts integers from `least` to `most`."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be {least} or more, got {text}")
        if value > most:
            raise argparse.ArgumentTypeError(f"must be {most:,} or less, got {text}")
        return value

    return convert


count = counted(2**31 - 1)


class Parser(argparse.ArgumentParser):
    """Parser that accepts negative numbers in any notation as values and keeps help unwrapped."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)
        # axes too, so that a side or a region is refused as such
        self._negative_number_matcher = re.compile(r"-(\d|\.\d|inf|nan|[xyz]\b)")
        self._words: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; keep the words for hints in errors."""
        self._words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not one of the choices; suggest the most similar one."""
        if action.choices is not None and value not in action.choices:
            words = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action,
                f"{value!r} is not one of {', '.join(words)}{did_you_mean(str(value), words)}",
            )

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        """Return the number of words that an option takes; say how to write too few of them."""
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError as error:
            if isinstance(action.metavar, tuple):
                error.message += f", {' '.join(action.metavar)}, separated by blanks"
            for word, value in itertools.pairwise(self._words):
                known = value.partition("=")[0] in self._option_string_actions
                if word in action.option_strings and value.startswith("-") and not known:
                    name = action.option_strings[-1]
                    error.message += f"; a value with a dash is written {name}={value}"
                    break
            raise

    def _hint(self, words: list[str]) -> tuple[str, str]:
        """Return an unknown option and the end of a message with a similar one, or empty texts."""
        known = [option for option in self._option_string_actions if option.startswith("--")]
        for word in words:
            name = word.partition("=")[0]
            if not name.startswith("--") or name in ("--", *known):
                continue
            begun = [option for option in known if option.startswith(name)]
            if _MEANT.get(name) in known:
                begun = [_MEANT[name]]
            hint = f"; did you mean {begun[0]!r}?" if begun else did_you_mean(name, known)
            if hint:
                return name, hint
        return "", ""

    def refuse_unknown(self, words: list[str]) -> None:
        """Exit with status 2 if words are left; suggest options for those that look like one."""
        if words:
            self.error(f"unrecognized arguments: {' '.join(words)}{self._hint(words)[1]}")

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        if "are required" in message:  # a misspelt option is missing
            name, hint = self._hint(self._words)
            message += f"; {name!r} is not an option{hint}" if hint else ""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {message}\n")


# argument of `add_to` of a command; the type does not exist at run time
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands that compute."""
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument(
        "--threads",
        type=counted(MAX_THREADS),
        metavar="N",
        help="number of threads for the computations (default: one for each processor); "
        "results do not depend on it",
    )
