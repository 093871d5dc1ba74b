"""Numbers of repetitions in tests: smaller under the sanitizers."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")


def fewer(plain: T, sanitized: T) -> T:
    """Return the second of two amounts under the sanitizers, which look for memory errors only."""
    return sanitized if "RF_SANITIZED" in os.environ else plain
