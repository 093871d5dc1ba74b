"""Forces on voxels of two bits and on distance fields along the same ways.

After Barbic 2007, section 3.1: the force of the Voxmap-PointShell method jumps where points go
from voxel to voxel, and vanishes where they cross the layer of surface voxels.
``python benchmarks/b07_3_1_voxmap.py [--out folder]`` prints the largest difference between
successive samples along a slide and an approach, in units of stiffness times the edge of a voxel,
as the step goes to zero, and draws the forces.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import reducedfem as rf

HALF = np.array([0.1, 0.08, 0.03])  # m, of the plate
STIFFNESS = 100.0
STEPS = (100, 1000, 10_000)
LEVEL = (1.0, 0.0, 0.0, 0.0)


def plate() -> tuple[rf.Surface, np.ndarray]:
    """Return a plate that is turned against the voxels, and its axes as columns."""
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) * HALF
    quads = np.array(
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    )
    a, b = 0.3, 0.2
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    turn = about_y @ about_x
    return rf.Surface(corners @ turn.T, np.vstack([quads[:, :3], quads[:, [0, 2, 3]]])), turn


def ways(turn: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the first position of the ball on the plate and the whole way, by name."""
    along, up = turn[:, 0], turn[:, 2]
    top = (HALF[2] + 0.03) * up
    return {
        # 2 mm deep, not quite parallel to the face
        "slide": (top - 0.002 * up - 0.05 * along, 0.1 * along - 0.001 * up),
        "approach": (top + 0.002 * up, -0.015 * up),
    }


def forces(contact: rf.VoxmapContact | rf.PenaltyContact, start: np.ndarray, way: np.ndarray,
           steps: int) -> np.ndarray:  # fmt: skip
    """Return the forces as the plate moves below the ball, which stays where it is."""
    return np.array(
        [contact.evaluate(-(start + s * way), LEVEL).force for s in np.linspace(0, 1, steps + 1)]
    )


def main() -> int:
    """Print the table and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder of the pictures")
    parser.add_argument("--resolution", type=int, default=64)
    parser.add_argument("--points", type=int, default=500)
    arguments = parser.parse_args()
    surface, turn = plate()
    shell = rf.Pointshell.from_field(
        rf.SphereField((0, 0, 0), 0.03), points=arguments.points, levels=1
    )
    voxmap = rf.Voxmap.from_surface(surface, arguments.resolution)
    field = rf.DistanceField.from_surface(surface, arguments.resolution)
    contacts = {
        "voxmap": rf.VoxmapContact(shell, voxmap, STIFFNESS),
        "distance field": rf.PenaltyContact(rf.PointTree(shell), field, STIFFNESS, max_points=None),
    }
    unit = STIFFNESS * voxmap.edge
    print(f"{len(shell.points)} points, voxels of {1e3 * voxmap.edge:.2f} mm; jumps over k h")
    print(f"{'way':9} {'steps':>6} " + " ".join(f"{name:>15}" for name in contacts))
    curves = {}
    for way, (start, whole) in ways(turn).items():
        for steps in STEPS:
            jumps = []
            for name, contact in contacts.items():
                found = forces(contact, start, whole, steps)
                jumps.append(np.linalg.norm(np.diff(found, axis=0), axis=1).max() / unit)
                if steps == STEPS[1]:
                    curves[way, name] = found @ turn[:, 2]
            print(f"{way:9} {steps:6} " + " ".join(f"{jump:15.5f}" for jump in jumps), flush=True)

    from matplotlib.figure import Figure

    arguments.out.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for panel, (way, (_, whole)) in zip(figure.subplots(1, 2), ways(turn).items(), strict=True):
        length = 1e3 * np.linalg.norm(whole)
        for name in contacts:
            force = -curves[way, name]
            panel.plot(np.linspace(0, length, len(force)), force, lw=0.9, label=name)
        panel.set(title=way, xlabel="way [mm]", ylabel="force across the face [N]")
        panel.legend(frameon=False)
    figure.savefig(arguments.out / "b07_3_1_voxmap.png", dpi=130)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
