"""Second-order elements in bending: experiments/bending_convergence.py on few cells."""

from __future__ import annotations

import sys

import bending_convergence
import numpy as np
import pytest
from bending_convergence import HEX8, HEX20, QUANTITIES, TET4, TET10


@pytest.fixture(scope="module")
def results():
    beams, reference = bending_convergence.study(finest=2)
    print("\n" + bending_convergence.table(beams, reference))
    return beams, reference


def errors(results, kind, quantity):
    beams, reference = results
    return np.array([one.errors(reference)[quantity] for one in beams if one.kind == kind])


def test_the_load_is_large(results):
    reference = results[1]
    # beam theory says 0.4 for straight beams; a bent one is stiffer
    assert 0.3 < reference.large < 0.4
    assert reference.small == pytest.approx(bending_convergence.SMALL, rel=0.05)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_all_converge_from_the_stiff_side(results, quantity):
    sign = 1 if quantity == "frequency" else -1
    for kind in (TET4, HEX8, TET10, HEX20):
        found = sign * errors(results, kind, quantity)
        assert (found > 0).all()
        assert (np.diff(found) < 0).all()


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_ten_nodes_are_far_better_for_as_many_freedoms(results, quantity):
    """Measured for 2400 freedoms: 30, 6.6 and 1.1 % of a small deflection."""
    beams, _ = results
    dofs = {kind: [one.dofs for one in beams if one.kind == kind] for kind in (TET4, HEX8, TET10)}
    assert dofs[TET10] == dofs[HEX8][1:] == dofs[TET4][1:]
    tet4, hex8, tet10 = (np.abs(errors(results, kind, quantity)) for kind in (TET4, HEX8, TET10))
    assert (tet10 < hex8[1:] / 3).all()
    assert (tet10 < tet4[1:] / 8).all()


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_twenty_nodes_are_as_good_as_tets_of_the_same_cells(results, quantity):
    """With 60 % of the freedoms. Measured for two cells across: 0.95 and 1.11 % (small)."""
    beams, _ = results
    dofs = {kind: [one.dofs for one in beams if one.kind == kind] for kind in (TET10, HEX20)}
    assert (np.array(dofs[HEX20]) < 0.7 * np.array(dofs[TET10])).all()
    tets, hexes = (np.abs(errors(results, kind, quantity)) for kind in (TET10, HEX20))
    assert (hexes < 1.2 * tets).all()


def test_plot(results, tmp_path):
    bending_convergence.plot(*results, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_wrong_use(capsys, monkeypatch):
    for arguments, words in (
        (["--finest", "0"], "--finest must be 1 or more, got 0"),
        (["--finest", "1", "--poisson", "0.6"], "poisson"),
        (["--finest", "1", "--plot", "/no/such/folder/x.png"], "/no/such/folder/x.png"),
    ):
        monkeypatch.setattr(sys, "argv", ["bending_convergence.py", *arguments])
        with pytest.raises(SystemExit) as caught:
            bending_convergence.main()
        assert caught.value.code == 2
        assert words in capsys.readouterr().err
