"""The notebooks run from top to bottom, without errors or warnings, and are clean in git."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from pathlib import Path

import pytest

import reducedfem as rf
from places import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

# pictures that each draws, at least
PICTURES = {
    "01_surface_to_realtime": 6,
    "02_free_bodies_materials_touch": 3,
    "03_bases_from_sketches_and_trajectories": 7,
    "04_steps_damping_other_systems": 7,
    "05_elements_that_bend": 3,
    "06_contact": 10,
    "07_haptics": 9,
    "08_friction": 4,
    "09_which_integrator": 4,
    "10_study": 1,
    "11_greens_functions": 4,
    "12_handles": 6,
    "13_explicit_solids": 4,
}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_the_list_of_notebooks_is_not_empty():
    assert {path.stem for path in NOTEBOOKS} == set(PICTURES)


def test_every_public_name_is_shown():
    """A newcomer meets each name in some notebook, in code or in words."""
    texts = [cell.source for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    words = set(re.findall(r"\w+", "\n".join(texts)))
    assert not sorted(set(rf.__all__) - words)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, tmp_path, monkeypatch):
    """Executed by this interpreter; warnings are errors where the package's code runs."""
    # a kernel of this interpreter, instead of those installed for the user
    spec = tmp_path / "kernels" / "here"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        json.dumps(
            {
                "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": "here",
                "language": "python",
            }
        )
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    # of the package under test, which may be a wheel
    paths = [str(Path(rf.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in paths if p))

    notebook = nbformat.read(path, as_version=4)
    # a busy machine must not end sessions
    code = "import reducedfem\nreducedfem.haptics.settings.set_timeouts(stall=5.0)"
    patient = nbformat.v4.new_code_cell(code)
    notebook.cells.insert(0, patient)
    client = nbclient.NotebookClient(
        notebook,
        timeout=3000,
        startup_timeout=600,
        kernel_name="here",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    notebook.cells.remove(patient)
    pictures = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # a call to matplotlib that ends a cell needs a semicolon
            assert "Text(" not in output.get("data", {}).get("text/plain", "")
            assert output.get("name") != "stderr", output["text"]
            picture = output.get("data", {}).get("image/png")
            if picture:
                assert base64.b64decode(picture).startswith(b"\x89PNG")
                pictures += 1
    assert pictures >= PICTURES[path.stem]
    if "RF_KEEP_NOTEBOOKS" in os.environ:
        nbformat.write(notebook, os.path.join(os.environ["RF_KEEP_NOTEBOOKS"], path.name))
