"""Energies of a beam after Ascher et al. 2021, figure 6: experiments/a21_beam.py."""

from __future__ import annotations

import a21_beam
import numpy as np
import pytest

import experiments
import reducedfem as rf
from repetitions import fewer


def test_schemes_lose_energy_in_the_order_of_the_paper():
    solid = a21_beam.beam((8, 1, 1))
    steps = fewer(60, 25)
    lost = {name: -a21_beam.energies(name, solid, steps).sum(axis=1) for name in a21_beam.SCHEMES}
    end = {name: curve[-1] for name, curve in lost.items()}
    assert end["BE"] > 3.0 * end["BDF2"]
    assert end["BDF2"] > 3.0 * max(end[name] for name in ("SDIRK", "TR-BDF2", "STR-SBDF2ERE"))
    # exact modes make backward Euler nearly as good as a method of second order
    assert end["SIERE"] < 0.2 * end["BE"]
    # nothing is gained, but for the rounding and the iterations of the trapezoidal rule
    assert min(curve.min() for curve in lost.values()) > -1e-3 * end["BE"]


def test_energies_are_those_of_an_independent_program(shared):
    path = shared / "reference" / "integrators" / "figure6_coarse.npz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    data = np.load(path)
    law = rf.StableNeoHookean(*(float(data[k]) for k in ("young", "poisson", "density")))
    solid = rf.Solid(rf.Mesh(data["nodes"], data["elements"]), law, fixed=data["fixed_nodes"])
    own = a21_beam.beam(a21_beam.COARSE)
    np.testing.assert_allclose(own.mesh.nodes.max(0), data["nodes"].max(0))
    assert own.mesh.n_elements == len(data["elements"])
    steps = fewer(300, 20)
    for name in data["schemes"]:
        wanted = data[f"energies_{name}"][:steps]
        found = a21_beam.energies(str(name), solid, steps, "exact")
        np.testing.assert_allclose(
            found, wanted, rtol=0, atol=1e-6 * np.abs(wanted[:, 0]).max(), err_msg=str(name)
        )


def test_the_beam_of_a_file_is_compared(shared, monkeypatch, capsys, tmp_path):
    path = shared / "reference" / "integrators" / "figure6_coarse.npz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    short = {key: value for key, value in np.load(path).items() if not key.startswith("energies")}
    short |= {"schemes": np.array(["BE"]), "energies_BE": np.load(path)["energies_BE"]}
    copy = tmp_path / "reference.npz"
    options = ("--reference", copy, "--steps", "20")
    for factor, code in ((1.0, 0), (1.1, 1)):
        np.savez(copy, **{**short, "energies_BE": factor * short["energies_BE"]})
        assert experiments.start("a21_beam", monkeypatch, *options) == code
        said = capsys.readouterr()
        assert "BE" in said.out
        assert "plot" not in said.out
        assert ("mark missed: BE loses" in said.err) == bool(code)
    np.savez(copy, **{**short, "dt": 0.02})
    assert experiments.start("a21_beam", monkeypatch, *options) == 1
    assert "another step" in capsys.readouterr().err
    del short["young"]
    np.savez(copy, **short)
    assert experiments.start("a21_beam", monkeypatch, *options) == 1
    assert capsys.readouterr().err.startswith(f"a21_beam.py: {copy}: ")


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(a21_beam, "COARSE", (8, 1, 1))
    experiments.check_plot("a21_beam", monkeypatch, capsys, tmp_path, "--coarse", "--steps", "25")
