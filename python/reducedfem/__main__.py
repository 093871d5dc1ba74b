"""``python -m reducedfem`` is the command ``reducedfem``."""

from __future__ import annotations

import sys

from reducedfem.cli import main

if __name__ == "__main__":
    sys.exit(main())
