"""Spectra of linear modes, reduced models and solids (after Barbic 2007, table 2.1).

A reduced model in a basis of linear modes and their derivatives has frequencies far above
those of the modes, and the solid itself has higher ones still. That is why explicit
integration needs steps that are tiny for the motion one wants to see. As in the thesis,
frequencies are in units of the lowest one (there Young's modulus is chosen such that it
is 1 Hz). The last columns are the steps that this allows central differences, in periods of
the lowest mode, at rest and where the model is bent by a tenth of its size.

Run it for the table:  python experiments/table_2_1.py [SAMPLE ...] [--resolution N]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import reducedfem as rf
from reducedfem import samples

MATERIAL = rf.StVK(young=1e6, poisson=0.4, density=1000.0)
BENT = 0.1  # of the largest extent


@dataclass(frozen=True)
class Spectra:
    """One model's part of the table.

    Attributes
    ----------
    nodes
        Nodes of the mesh.
    linear, reduced, full
        Spectra of the first k linear modes, of the reduced model and of the solid.
    steps
        Stable steps of the reduced model at rest and bent, and of the solid at rest with its
        lumped mass [s].
    """

    nodes: int
    linear: rf.Spectrum
    reduced: rf.Spectrum
    full: rf.Spectrum
    steps: tuple[float, float, float]


def solid_of(sample: str, resolution: int) -> rf.Solid:
    """Return a sample, held at its end x = 0 (the bridge at both ends)."""
    mesh = rf.voxelize(samples.load(sample), resolution=resolution, cut=False, order=1)
    x = mesh.nodes[:, 0]
    near = 1.01 * np.ptp(x) / resolution
    held = x < x.min() + near
    if sample == "bridge":
        held |= x > x.max() - near
    return rf.Solid(mesh, MATERIAL, fixed=held)


def spectra(solid: rf.Solid, k: int = 20, r: int = 30) -> Spectra:
    """Return the three spectra of a solid, with k linear modes and r basis vectors."""
    modes = solid.linear_modes(k)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=k, r=r))
    # bent along the lowest mode; the basis is not the modes, but holds that one nearly
    shape = modes.shapes[0]
    size = BENT * float(np.ptp(solid.mesh.nodes, axis=0).max())
    # mass-orthonormal coordinates of the shape: U^T M shape
    q = (
        model.project(solid.mass().to_scipy() @ shape.ravel())
        * size
        / np.linalg.norm(shape, axis=1).max()
    )
    return Spectra(
        nodes=solid.mesh.n_nodes,
        linear=rf.Spectrum(float(modes.frequencies[0]), float(modes.frequencies[-1])),
        reduced=rf.spectrum(model),
        full=rf.spectrum(solid),
        steps=(rf.stable_step(model), rf.stable_step(model, q), rf.stable_step(solid)),
    )


def row(name: str, found: Spectra) -> str:
    """Return one model's line of the table."""
    unit = found.linear.lowest
    frequencies = [
        f"{one.lowest / unit:5.2f} {one.highest / unit:9.1f}"
        for one in (found.linear, found.reduced, found.full)
    ]
    steps = "  ".join(f"{step * unit:9.2e}" for step in found.steps)
    return f"{name:8s} {found.nodes:6d}  " + "  ".join(frequencies) + "  " + steps


HEAD = (
    "model     nodes   linear, k = 20   reduced, r = 30             full  stable step: "
    "reduced,  bent, full\n"
    "                   min       max    min       max    min       max"
)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("sample", nargs="*", default=["spoon", "bridge"])
    parser.add_argument("--resolution", type=int, default=64, help="voxels along the grid")
    arguments = parser.parse_args()
    try:
        solids = [(name, solid_of(name, arguments.resolution)) for name in arguments.sample]
        print(HEAD)
        for name, solid in solids:
            print(row(name, spectra(solid)))
    except rf.ReducedFEMError as error:
        print(f"table_2_1.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
