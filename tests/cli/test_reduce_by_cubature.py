"""`reducedfem reduce --cubature`: models of other laws than StVK, from the shell."""

from __future__ import annotations

import re

import numpy as np
import pytest

import reducedfem as rf
from commands import misused, run, veg

SIZES = ("--resolution", 8, "--no-cut", "--order", 1, "--fix", "x<0.03", "-k", 3, "-r", 6)


def reduced(capsys, surface, path, *more: object) -> tuple[rf.ReducedSolid, str]:
    status, out, err = run(capsys, "reduce", surface, "-o", path, *SIZES, *more)
    assert status == 0, err
    return rf.load(path), out


def test_a_stable_neo_hookean_model(capsys, surface, tmp_path):
    path = tmp_path / "m.safetensors"
    law = ("--law", "StableNeoHookean", "--young", "2e5", "--poisson", 0.3, "--density", 900)
    training = ("--cubature", 60, "--training-poses", 30, "--training-strain", 0.1, "--seed", 7)
    model, out = reduced(capsys, surface, path, *law, *training)
    assert model.materials == {0: rf.StableNeoHookean(2e5, 0.3, 900.0)}
    assert "6 reduced coordinates, 60 points" in out
    rule = model.cubature
    text = (
        f"60 points, error of forces {100 * rule.error:.2g} % (at most "
        f"{100 * rule.largest_error:.2g} %) up to strain {rule.strain:.2g} (0.1 asked for), "
        f"of frequencies {100 * rule.frequency_error:.2g} %, 6 directions exercised"
    )
    assert re.search(rf"cubature +{re.escape(text)}", out)
    assert (rule.training_poses, rule.held_out_poses) == (24, 6)
    said = run(capsys, "info", path)[1]
    assert text in said
    assert "StableNeoHookean, E = 2e+05 Pa" in said
    # the same model as in Python
    mesh = rf.voxelize(rf.read_surface(surface), 8, cut=False, order=1)
    fixed = mesh.nodes[:, 0] < 0.03
    solid = rf.Solid(mesh, rf.StableNeoHookean(2e5, 0.3, 900.0), fixed)
    settings = rf.Cubature(points=60, n_poses=30, strain=0.1, seed=7)
    again = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 6), cubature=settings)
    assert again.cubature.weights.tobytes() == rule.weights.tobytes()


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_stvk_by_cubature_and_the_default_training(capsys, surface, tmp_path):
    model, _ = reduced(capsys, surface, tmp_path / "m", "--cubature", 60)
    assert isinstance(model.materials[0], rf.StVK)
    assert model.cubature.training_poses + model.cubature.held_out_poses == rf.Cubature.n_poses


def test_materials_of_files_change_their_law(capsys, tmp_path):
    (tmp_path / "m.veg").write_text(veg())
    path = tmp_path / "m.safetensors"
    args = ("reduce", tmp_path / "m.veg", "-o", path, "--fix", "z<0.5", "-k", 3, "-r", 4)
    status, _, err = run(capsys, *args, "--law", "NeoHookean", "--cubature", 60, "--density", 700)
    assert status == 0, err
    assert rf.load(path).materials == {0: rf.NeoHookean(123456.0, 0.25, 700.0)}


@pytest.mark.parametrize("name", ["neohookean", "NEO-HOOKEAN", "neo_hookean"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_case_and_hyphens_of_laws_do_not_matter(capsys, surface, tmp_path, name):
    model, _ = reduced(capsys, surface, tmp_path / "m", "--law", name, "--cubature", 60)
    assert isinstance(model.materials[0], rf.NeoHookean)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_mooney_rivlin_has_constants_of_its_own(capsys, surface, tmp_path):
    constants = ("--c1", "2e4", "--c2", 0, "--bulk", "3e5")
    law = ("--law", "mooneyrivlin", *constants, "--cubature", 60)
    model, _ = reduced(capsys, surface, tmp_path / "m", *law)
    assert model.materials[0] == rf.MooneyRivlin(2e4, 0.0, 3e5, 1000.0)


def test_mooney_rivlin_takes_the_density_of_a_file(capsys, tmp_path):
    (tmp_path / "m.veg").write_text(veg())
    path = tmp_path / "m.safetensors"
    args = ("reduce", tmp_path / "m.veg", "-o", path, "--fix", "z<0.5", "-k", 3, "-r", 4)
    law = ("--law", "MooneyRivlin", "--c1", "2e4", "--c2", "1e4", "--bulk", "3e5")
    status, _, err = run(capsys, *args, *law, "--cubature", 60)
    assert status == 0, err
    density = rf.read_mesh(tmp_path / "m.veg").materials[0].density
    assert rf.load(path).materials == {0: rf.MooneyRivlin(2e4, 1e4, 3e5, density)}


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (("--law", "NeoHookean"), "--law NeoHookean has no energy polynomial: add --cubature 200"),
        (("--law", "neohokean"), "'neohokean' is not one of StVK, .*; did you mean 'NeoHookean'"),
        (("--law", "linear"), "'linear' is not one of StVK, .*MooneyRivlin"),
        (("--law", "mooneyrivlin"), "--law MooneyRivlin needs --c1, --c2, --bulk"),
        (("--law", "mooneyrivlin", "--young", 1), "--young is no constant of MooneyRivlin"),
        (("--bulk", 1), "--bulk is no constant of StVK: add --law MooneyRivlin"),
        (("--seed", 1), "--seed need --cubature POINTS"),
        (("--training-strain", 0.1), "need --cubature POINTS"),
        (("--cubature", 0), "--cubature: must be 1 or more, got 0"),
        (("--cubature", 5000), "--cubature: must be 4,096 or less, got 5000"),
        (("--cubature", 60, "--training-poses", 4), "--training-poses: must be 5 or more, got 4"),
        (("--cubature", 60, "--training-strain", 0), "--training-strain: must be positive, got 0"),
        (("--cubature", 60, "--seed", -1), "--seed: must be 0 or more, got -1"),
    ],
)
def test_wrong_options_are_refused(capsys, surface, tmp_path, more, match):
    misused(capsys, "reduce", surface, "-o", tmp_path / "m", *SIZES, *more, match=match)
    assert not list(tmp_path.iterdir())


def test_too_many_poses_are_refused(capsys, surface, tmp_path):
    more = ("--cubature", 60, "--training-poses", 131072)
    args = ("reduce", surface, "-o", tmp_path / "m", *SIZES, *more)
    status, _, err = run(capsys, *args)
    assert status == 1
    last = err.splitlines()[-1]
    assert last.startswith("reducedfem: error: n_poses must be at most 21845 for 6 coordinates")
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_too_few_points_are_worth_a_warning(capsys, surface, tmp_path):
    path = tmp_path / "m.safetensors"
    status, _, err = run(capsys, "reduce", surface, "-o", path, *SIZES, "--cubature", 4)
    assert status == 0
    assert "the forces of the cubature differ from those of the mesh by" in err
    assert np.isfinite(rf.load(path).cubature.error)


def test_warnings_of_strain_name_the_option_of_the_shell(capsys, tmp_path):
    (tmp_path / "m.veg").write_text(veg())
    path = tmp_path / "m.safetensors"
    args = ("reduce", tmp_path / "m.veg", "-o", path, "--fix", "z<0.5", "-k", 3, "-r", 4)
    law = ("--law", "StableNeoHookean", "--cubature", 4, "--training-strain", 1e-3)
    assert run(capsys, *args, *law)[0] == 0
    gravity = ("--gravity", 0, 0, -2000, "--steps", 5)
    shown = run(capsys, "simulate", path, *gravity)[2]
    assert "has the Green strain" in shown
    for line in shown.splitlines():
        if "has the Green strain" in line:
            assert line.endswith("may be far off. Reduce with a larger --training-strain")
    assert "Cubature(" not in shown
    quiet = run(capsys, "simulate", path, *gravity, "--quiet")[2]
    assert "has the Green strain" in quiet, "the motion itself warns, without statics"
