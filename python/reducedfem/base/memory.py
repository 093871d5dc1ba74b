"""Limit of the memory that this process may still allocate."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["available"]

_LIMITS = (
    # limit and use of the container, if any
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available() -> float:
    """Return the bytes available without swapping; 0 if the system does not report them."""
    found = []
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.M)
        if match:
            found.append(1024.0 * int(match[1]))
    except OSError:
        pass
    for limit, use in _LIMITS:
        try:
            found.append(float(Path(limit).read_text()) - float(Path(use).read_text()))
        except (OSError, ValueError):
            continue
    if not found:
        try:
            found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
        except (AttributeError, OSError, ValueError):
            return 0.0
    return max(min(found), 1.0)
