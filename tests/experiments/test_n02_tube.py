"""The tube of Nikitin et al. 2002: experiments/n02_tube.py."""

from __future__ import annotations

import n02_tube
import numpy as np
import pytest

import experiments

pytestmark = pytest.mark.no_asan(reason="handles and composite bodies run in tests/green")


def test_the_script_compares_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(n02_tube, "CELLS", (17, 12, 2))
    monkeypatch.setattr(n02_tube, "ROUNDS", 2)
    monkeypatch.setattr(n02_tube, "BLOCKS", (2, 4))
    monkeypatch.setattr(n02_tube, "ANGLES", (20, 40))
    picture = np.ones((12, 16, 4))
    monkeypatch.setattr(n02_tube.pictures, "render", lambda *args, **named: picture)
    experiments.check_plot("n02_tube", monkeypatch, capsys, tmp_path / "new")
    assert (tmp_path / "new" / "n02_tube.safetensors").stat().st_size > 10_000


def test_composites_are_nearer_than_extraction(monkeypatch):
    monkeypatch.setattr(n02_tube, "CELLS", (17, 12, 2))
    monkeypatch.setattr(n02_tube, "BLOCKS", (4,))
    monkeypatch.setattr(n02_tube, "ANGLES", (40,))
    solid = n02_tube.tube()
    handle = np.flatnonzero(solid.mesh.nodes[:, 2] > n02_tube.LENGTH - 1e-9)
    found = {name: row[0] for name, row in n02_tube.errors(n02_tube.twists(solid, handle)).items()}
    assert set(found) == {"linear", "extracted", "4 blocks"}
    assert found["4 blocks"] < 0.3 * found["extracted"] < 0.1 * found["linear"]
