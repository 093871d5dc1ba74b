"""Spectra after Barbic 2007, table 2.1: the script of experiments/ on a coarse sample."""

from __future__ import annotations

import numpy as np
import pytest
import table_2_1


@pytest.mark.parametrize("sample", ["spoon", "bridge"])
def test_spectra_are_ordered(sample):
    """Linear within reduced within full, by large factors, as in the thesis."""
    found = table_2_1.spectra(table_2_1.solid_of(sample, 32), k=8, r=16)
    lowest = [one.lowest for one in (found.linear, found.reduced, found.full)]
    highest = [one.highest for one in (found.linear, found.reduced, found.full)]
    # one lowest frequency: the basis holds the first mode nearly
    assert lowest == pytest.approx([lowest[0]] * 3, rel=0.01)
    # thesis: 33 and 23 (tower), 13 and 310 (heart); by resolution it is the grid's
    assert highest[1] > 3.0 * highest[0]
    assert highest[2] > 3.0 * highest[1]
    # and so the steps of explicit integration
    at_rest, bent, unreduced = found.steps
    assert at_rest == pytest.approx(1.0 / (np.pi * found.reduced.highest), rel=1e-9)
    assert bent < at_rest, "the model does not stiffen"
    assert unreduced < 0.8 * at_rest
    # the lumped mass lowers the highest frequency, a bound takes some of that back
    assert unreduced > 1.0 / (np.pi * found.full.highest)
    line = table_2_1.row(sample, found)
    assert len(line.split()) == 11
    assert line.startswith(sample)
