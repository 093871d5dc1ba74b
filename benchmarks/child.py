"""Each benchmark in a process of its own, so that its peak of memory is its own.

The peak is VmHWM of /proc/self/status: unlike ru_maxrss it does not begin with the peak of
the process that started this one.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from table import Memory, Row

from reducedfem.errors import GeometryWarning, PlausibilityWarning


def _status(field: str) -> int:
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/self/status has no {field}")
    return 1024 * int(found[1])


def resident() -> int:
    """Return the resident memory of this process [bytes]."""
    return _status("VmRSS")


def peak() -> int:
    """Return the highest resident memory of this process so far [bytes]."""
    return _status("VmHWM")


def measured(work: Callable[[], Any]) -> tuple[Any, float, Memory]:
    """Return the result of some work, its seconds and its own peak of memory.

    If the system does not let the peak be reset, it is that of the process so far.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before, start = resident(), time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    return result, seconds, Memory(peak(), before)


def rows_of(module: str, entry: str) -> list[Row]:
    """Run one entry of a module in a new process; return its rows, with their memory."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows"
        command = [sys.executable, str(Path(__file__).with_name("child.py"))]
        paths = [str(Path(__file__).parent), *sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        done = subprocess.run([*command, module, entry, str(out)], env=environment)
        if done.returncode != 0 or not out.is_file():
            raise RuntimeError(f"{module}, {entry}: failed with exit status {done.returncode}")
        rows: list[Row] = pickle.loads(out.read_bytes())
        return rows


def main() -> None:
    """Run the entry that the command line names, and write its rows."""
    if len(sys.argv) != 4:
        sys.exit("child.py measures one entry for run.py: run that one")
    module, entry, out = sys.argv[1:]
    work = importlib.import_module(module).ENTRIES[entry]
    # the meshes of the thesis are skins, and some surfaces are open, which users are warned of
    for kind in (GeometryWarning, PlausibilityWarning):
        warnings.simplefilter("ignore", kind)
    before = resident()
    rows = work()
    # the peak is read first: pickling needs memory as well
    memory = Memory(peak(), before)
    Path(out).write_bytes(pickle.dumps([row.with_memory(memory) for row in rows]))


if __name__ == "__main__":
    main()
