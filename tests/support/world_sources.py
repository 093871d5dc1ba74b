"""Sources of a world for programs whose contacts and simulations are stand-ins (no_contact.h)."""

from __future__ import annotations

from places import ROOT

WORLD = (
    *(str(path) for path in sorted((ROOT / "csrc/body").glob("*.c"))),
    "world/pair.c", "world/pair_rt.c", "world/split.c", "world/world.c", "world/world_rt.c",
)  # fmt: skip
RENDER = tuple(str(path) for path in sorted((ROOT / "csrc/render").glob("*.c")))
