"""Numbers that colour a surface: their scale of colours, its limits and the numbers beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import as_array, choice, number
from reducedfem.drawing.style import MISSING, VALUE_SCALE, on_scale
from reducedfem.errors import InputError, InputTypeError

__all__ = ["Scale", "Values", "as_values", "numbers", "scale_of", "value_colours", "vertex_values"]

Array = NDArray[np.float64]

# units with SI prefixes that are factors of the number; those of m² are not
_PREFIXED = ("Pa", "N", "J", "W", "Hz", "m", "s", "V", "A", "N/m", "J/m³", "m/s", "m/s²")
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_CONSTANT = 1e-6  # half of a range over the values below which it is rounding of the solver
_GREY = "grey: no value"  # text of places without a value
_MOST_STEPS = 5  # between round numbers; there are two numbers at least


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers that colour a surface, for example the von Mises stress; NaN is grey.

    Functions with an argument `values` take one. They also take `data` alone, and know the text
    and the unit of ``solid.von_mises``.

    Attributes
    ----------
    data
        Of a model with a mesh: values of the nodes, (n,), or of the elements, (e,); a node gets the
        mean of its elements, weighted by volume. Or values of each state of a motion, (s, n) or
        (s, e); or a callable that returns them from the displacements of the nodes (n, 3) [m],
        without the rigid motion of free bodies, such as ``lambda u: solid.stress(u)[:, 0, 0]``. Of
        a `Surface` alone, and of a `Shape`: values of the vertices, (v,).
    label, unit
        Texts of the colour bar. Numbers in Pa, N, J, m and the like get a prefix, as in MPa.
    limits
        Values of the first and the last colour; values beyond have these colours. None: the least
        and the largest value of all states, of running simulations so far. Values that differ by
        less than 2e-6 of their size have one colour.
    at
        "nodes" or "elements", where `data` belongs; None: by the number of values.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value.
    """

    data: ArrayLike | Callable[[Array], ArrayLike]
    label: str = ""
    unit: str = ""
    limits: tuple[float, float] | None = None
    at: str | None = None

    def __post_init__(self) -> None:
        for name in ("label", "unit"):
            if not isinstance(getattr(self, name), str):
                kind = type(getattr(self, name)).__name__
                raise InputTypeError(f"{name} must be a text, got {kind}")
        if self.at is not None:
            choice(self.at, "at", ("nodes", "elements"))
        if not callable(self.data):
            object.__setattr__(self, "data", numbers(self.data, "data"))
        if self.limits is not None:
            object.__setattr__(self, "limits", _checked_limits(self.limits))


def _checked_limits(limits: Any) -> tuple[float, float]:
    try:
        low, high = limits
    except (TypeError, ValueError):
        raise InputTypeError(f"limits must be two numbers or None, got {limits!r}") from None
    low, high = number(low, "limits[0]"), number(high, "limits[1]")
    if not low < high:
        raise InputError(f"limits[0] must be below limits[1], got {low:g} and {high:g}")
    return low, high


def as_values(given: Values | ArrayLike | Callable[[Array], ArrayLike]) -> Values:
    """Return the argument `values`; refuse other objects."""
    if isinstance(given, Values):
        return given
    kind = type(given)
    if given is None or isinstance(given, str) or kind.__module__.startswith("reducedfem."):
        shown = repr(given) if given is None or isinstance(given, str) else kind.__name__
        raise InputTypeError(
            "values must be an array, a function of the displacements, or plot.Values, got "
            f"{shown}; the von Mises stress of a solid is values=solid.von_mises"
        )
    return Values(given if callable(given) else numbers(given, "values"))


def numbers(value: ArrayLike, name: str) -> Array:
    """Return a float64 array, which may have NaN but no infinity; refuse other values."""
    array = as_array(value, name)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"{name} must be an array of real numbers, got dtype {array.dtype}")
    result = np.array(array, dtype=np.float64, order="C")
    if np.isinf(result).any():
        index = np.argwhere(np.isinf(result))[0].tolist()
        raise InputError(
            f"{name}[{', '.join(map(str, index))}] is infinite: values must be finite, or NaN "
            "where there is none"
        )
    result.flags.writeable = False
    return result


def vertex_values(values: Values, n: int) -> Array:
    """Return values of the n vertices of a surface; refuse others."""
    data = values.data
    if callable(data):
        raise InputTypeError(
            "values is a callable, but a surface alone has no displacements of nodes: pass an "
            "array, or a model with a mesh"
        )
    if values.at == "elements":
        raise InputError(
            "values has at='elements', but a surface alone has no elements: pass values of its "
            "vertices, or a model with a mesh"
        )
    if np.shape(data) != (n,):
        raise InputError(f"values must have shape ({n},), one of each vertex, got {np.shape(data)}")
    return np.asarray(data, dtype=np.float64)


class Scale(NamedTuple):
    """The scale of colours: texts, and the values of its first and its last colour.

    `missing` is True if places without a value are grey, which the title of the bar then says.
    """

    label: str
    unit: str
    low: float
    high: float
    missing: bool = False

    def place(self, values: Array) -> Array:
        """Return the positions on the scale from 0 to 1, of the same shape; NaN stays."""
        # halves, because the difference of large numbers may overflow
        width = 0.5 * self.high - 0.5 * self.low
        if not width > 0.0:
            return np.where(np.isnan(values), np.nan, 0.0)
        return np.asarray(np.clip((0.5 * values - 0.5 * self.low) / width, 0.0, 1.0))

    def ticks(self) -> tuple[str, list[tuple[float, str]]]:
        """Return the title of the bar, and round numbers along it: positions and texts."""
        factor, unit = _prefixed(max(abs(self.low), abs(self.high)), self.unit)
        low, high = self.low / factor, self.high / factor
        title = (f"{self.label} [{unit}]" if unit else self.label).strip()
        if self.missing:
            title = f"{title}; {_GREY}" if title else _GREY
        if not high > low:
            return title, [(0.0, f"{low:.4g}")]
        step = _round_step(high - low)
        first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
        ticks = []
        for k in range(first, last + 1):
            place = min(max((k * step - low) / (high - low), 0.0), 1.0)
            ticks.append((place, _text(k * step, step, max(abs(low), abs(high)))))
        return title, ticks


def _round_step(span: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the smallest that divides the span in few parts."""
    power = float(10.0 ** np.floor(np.log10(span / _MOST_STEPS)))
    return next(one * power for one in (1.0, 2.0, 5.0, 10.0) if span / (one * power) <= _MOST_STEPS)


def _text(value: float, step: float, largest: float) -> str:
    if largest >= 1e5 or largest < 1e-3:
        return f"{value:.{max(int(np.ceil(np.log10(largest / step))), 0)}e}" if value else "0"
    return f"{value:.{max(0, -int(np.floor(np.log10(step) + 1e-9)))}f}"


def _prefixed(largest: float, unit: str) -> tuple[float, str]:
    """Return the size of a suitable unit in that of the values, and its name."""
    if unit not in _PREFIXED or not largest > 0.0:
        return 1.0, unit
    factor, prefix = next((one for one in _PREFIXES if largest >= one[0]), _PREFIXES[-1])
    return factor, prefix + unit


def scale_of(values: Values, parts: Iterable[Array]) -> Scale:
    """Return the scale of values whose numbers are in some arrays."""
    low, high, missing = np.inf, -np.inf, False
    for part in parts:
        good = part[~np.isnan(part)]
        missing |= good.size < part.size
        if good.size:
            low, high = min(low, float(good.min())), max(high, float(good.max()))
    if values.limits is not None:
        return Scale(values.label, values.unit, *values.limits, missing)
    if not low <= high:
        low = high = 0.0
    if 0.5 * high - 0.5 * low <= _CONSTANT * max(abs(low), abs(high)):
        high = low
    return Scale(values.label, values.unit, low, high, missing)


def value_colours(place: Array) -> Array:
    """Return red, green and blue of positions (v,) on the scale of values, (v, 3)."""
    rgb = on_scale(np.nan_to_num(place), VALUE_SCALE)
    rgb[np.isnan(place)] = MISSING
    return rgb
