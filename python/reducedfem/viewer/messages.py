"""Messages between a view and its pages.

To the page: binary. ``RFV1``, the length of the header as uint32, the header in JSON, padded with
spaces to a multiple of 4, and the arrays behind it, little-endian. In the header an array is
``{"at": offset [bytes], "type": "f4" | "i4" | "u1", "shape": [...]}``.

From the page: JSON texts of the kinds in `KINDS`, each with fields of fixed types. Any other
message is malformed.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import InputError

__all__ = ["KINDS", "LONGEST", "decode", "encode"]

LONGEST = 16 * 1024  # bytes of a message from a page
_MAGIC = b"RFV1"
_TYPES = {"f": "<f4", "i": "<i4", "u": "|u1"}
_LARGEST = 1e12  # magnitude of a number


def encode(header: Mapping[str, Any]) -> bytes:
    """Return a message; arrays in the header, at any depth, become binary."""
    arrays: list[NDArray[Any]] = []
    end = 0

    def flat(value: Any) -> Any:
        nonlocal end
        if isinstance(value, np.ndarray):
            stored = np.ascontiguousarray(value, dtype=_TYPES[_kind(value.dtype)])
            arrays.append(stored)
            at, end = end, end + -(-stored.nbytes // 4) * 4
            return {"at": at, "type": stored.dtype.str[1:], "shape": list(stored.shape)}
        if isinstance(value, Mapping):
            return {key: flat(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [flat(one) for one in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None  # JSON has no infinity
        return value

    text = json.dumps(flat(header), separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    parts = [_MAGIC, struct.pack("<I", len(text)), text]
    for one in arrays:
        parts += [one.tobytes(), b"\0" * (-one.nbytes % 4)]
    return b"".join(parts)


def _kind(dtype: np.dtype[Any]) -> str:
    return "u" if dtype == np.uint8 else "f" if dtype.kind == "f" else "i"


def _real(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -_LARGEST <= value <= _LARGEST


def _place(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(_real(x) for x in value)


def _direction(value: Any) -> bool:
    return _place(value) and 0.5 < math.hypot(*value) < 2.0


def _index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _stage(value: Any) -> bool:
    return value in ("solid", "sketch", "basis")


def _speed(value: Any) -> bool:
    return _real(value) and 1e-4 <= value <= 1e4


def _rotation(value: Any) -> bool:
    four = isinstance(value, list) and len(value) == 4 and all(_real(x) for x in value)
    return four and abs(math.hypot(*value) - 1.0) < 1e-6


def _buttons(value: Any) -> bool:
    return _index(value) and value < 2**16


KINDS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "seen": {"number": _index},
    "pull": {"body": _index, "origin": _place, "direction": _direction},
    "move": {"place": _place},
    "hold": {},
    "hand": {"moved": _place, "turned": _rotation, "buttons": _buttons},
    "release": {},
    "play": {},
    "pause": {},
    "step": {},
    "reset": {},
    "speed": {"value": _speed},
    "stage": {"name": _stage},
    "erase": {"number": _index},
    "cancel": {},
    "shape": {"body": _index, "shape": _index, "value": _real},
}


def decode(text: str) -> dict[str, Any]:
    """Return a message of a page.

    Raises
    ------
    InputError
        It is malformed.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"a message of a page is not JSON: {error}") from None
    kind = message.get("kind") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"a message of a page has the kind {kind!r}, which does not exist")
    fields = KINDS[kind]
    if set(message) != {"kind", *fields}:
        raise InputError(
            f"a message {kind!r} of a page has the fields {sorted(fields)}, got {sorted(message)}"
        )
    for name, good in fields.items():
        if not good(message[name]):
            raise InputError(f"a message {kind!r} of a page has a {name!r} that is not allowed")
    return dict(message)
