"""Makes the animation and the picture of the viewer for README.md: docs/hose.gif, docs/view.png.

python docs/site/media.py     needs Chromium and selenium for the picture
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]

import reducedfem as rf  # noqa: E402
from reducedfem import samples  # noqa: E402

GRIP = (105, -125)  # a place on the hose near its end, from the centre of the picture [pixels]


def hose() -> rf.ReducedSolid:
    """Return a soft hose that is held at one end."""
    mesh = rf.voxelize(samples.load("hose"), resolution=32)
    rubber = rf.StVK(young=4.5e5, poisson=0.4, density=1100)
    solid = rf.Solid(mesh, rubber, fixed=mesh.nodes[:, 0] < 0.012)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=5, r=14))


def animation(path: Path, model: rf.ReducedSolid) -> None:
    """Write one swing of the hose, which is released under gravity."""
    sim = rf.SDIRK2(model, dt=2e-3, newton_max=10, gravity=(0, 0, -9.81))
    motion = rf.record_motion(sim, 700)
    skin = rf.Skin(model)
    way = np.array([np.abs(skin.positions(q) - skin.surface.vertices).max() for q in motion.q])
    middle = 100 + way[100:400].argmax()
    end = middle + way[middle : middle + 350].argmin()  # back at the beginning: the film repeats
    rf.plot.animate(
        path,
        model,
        motion[: end + 1],
        fps=16,
        speed=0.35,
        size=(400, 290),
        elevation=12,
        clock=False,
    )


def picture(path: Path, model: rf.ReducedSolid) -> None:
    """Write a picture of the viewer's page while the mouse pulls the hose."""
    from selenium.webdriver.common.action_chains import ActionChains

    from browser import open_browser

    with open_browser(width=900, height=700) as browser, rf.view(model, browser=False) as view:
        browser.open(view.address)
        browser.wait("window.reducedfem && window.reducedfem.frame")
        canvas = browser.driver.find_element("id", "picture")
        browser.wait("window.reducedfem.scene && window.reducedfem.scene.box")
        time.sleep(1.0)
        ActionChains(browser.driver).move_to_element_with_offset(
            canvas, *GRIP
        ).click_and_hold().perform()
        browser.wait("window.reducedfem.grip")
        for _ in range(10):
            ActionChains(browser.driver, duration=100).move_by_offset(2, 17).perform()
        time.sleep(4.0)  # it comes to rest; the picture need not be the same each time
        taken = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")
        taken.save(path, optimize=True)


def main() -> None:
    """Make both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    out = parser.parse_args().out
    model = hose()
    animation(out / "hose.gif", model)
    picture(out / "view.png", model)


if __name__ == "__main__":
    main()
