"""Voxels against distance fields, and fields that deform: experiments/b07_3_1{,2}_*.py, small."""

from __future__ import annotations

import b07_3_1_voxmap as voxmap
import b07_3_12_deformed_field as deformed
import numpy as np
import pytest

import experiments

NAMES = ("b07_3_1_voxmap", "b07_3_12_deformed_field")


@pytest.fixture(scope="module")
def jumps():
    found = voxmap.run(48, 200)
    print("\n" + found.table())
    return found


def test_forces_of_voxels_jump_and_those_of_fields_do_not(jumps):
    """A hundred times the samples: a hundredth of the differences, or as good as all of them."""
    for way in jumps.ways:
        field = jumps.curves[way, "distance field"].jumps
        assert field[-1] == pytest.approx(0.01 * field[0], rel=0.1)
        voxels = jumps.curves[way, "voxmap"].jumps
        assert voxels[-1] > 0.25 * voxels[0]
        assert voxels[-1] > 0.2


def test_forces_of_voxels_end_behind_the_surface(jumps):
    point = jumps.curves["one point", "voxmap"].across
    assert point.max() > 0.1
    assert not point[len(point) // 2 :].any()  # 5.5 mm deep and deeper
    # the field pushes by the depth, 13 mm at last
    field = jumps.curves["one point", "distance field"].across
    assert field[-1] == pytest.approx(0.013 * voxmap.STIFFNESS, rel=1e-4)


def test_errors_of_distances():
    exact = np.array([0.5, 0.04, 0.005, -0.04, -0.0001])
    e = deformed.errors(exact + np.array([1.0, 0.01, -0.002, 0.05, 0.0002]), exact, 1.0)
    # the first is outside of the band, the last one too near for its sign to count
    assert e.largest == pytest.approx(0.05)
    assert e.mean == pytest.approx((0.01 + 0.002 + 0.05 + 0.0002) / 4)
    assert e.close == pytest.approx((0.002 + 0.0002) / 2)
    assert e.signs == 1 / 3


@pytest.fixture(scope="module")
def fork():
    """Lines of the table without amplitudes between, by way, domains and amplitude."""
    scene = deformed.fork()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deformed, "AMPLITUDES", (0.0, 0.2))
        lines = deformed.run(scene, 64, 4000, 40)
    print("\n" + "\n".join([deformed.HEAD, *lines]))
    rows = [line.split() for line in lines]
    return {tuple(r[1:4]): [float(x.rstrip("%")) for x in r[4:]] for r in rows}


def test_mirror_images_with_one_domain_only(fork):
    *_, signs = fork["apart", "1", "0.20"]
    assert signs > 0.5  # 2.2 % of all places are inside of a leg that is not there
    *_, signs = fork["apart", "2", "0.20"]
    assert signs < 0.1  # none
    # they cost the distances too: 9 % of the size at most, against 6 %
    assert fork["apart", "2", "0.20"][2] < 0.8 * fork["apart", "1", "0.20"][2]


def test_deformed_distances_are_near_the_exact_ones(fork):
    for (_, _, amplitude), (mean, *_, surface, _) in fork.items():
        assert mean < (0.15 if amplitude == "0.00" else 0.5)
        assert surface < 0.2


# --- all of them ----------------------------------------------------------------------


def test_plots_and_command_lines(jumps, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(voxmap, "run", lambda *args: jumps)
    experiments.light_plots(monkeypatch)
    experiments.check_plot("b07_3_1_voxmap", monkeypatch, capsys, tmp_path / "voxmap")
    # the bar bent only, in one amplitude
    monkeypatch.setattr(deformed, "fork", deformed.bar)
    monkeypatch.setattr(deformed, "AMPLITUDES", (0.1,))
    monkeypatch.setattr(deformed, "DRAWN", {"bar": {"bend": 0.4}})
    small = ("--resolution", "24", "--points", "1000", "--proxies", "10", "--out", tmp_path)
    assert experiments.start("b07_3_12_deformed_field", monkeypatch, *small) == 0
    path = tmp_path / "b07_3_12_bar_bend.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert f"plot: {path}" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_reported_without_a_traceback(name, monkeypatch, capsys, tmp_path):
    wrong = (("--resolution", "0"), "resolution must be")
    experiments.check_mistakes(name, monkeypatch, capsys, tmp_path, wrong)
