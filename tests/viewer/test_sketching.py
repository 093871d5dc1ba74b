"""Sketches of forces on the pages of solids, and the bases computed from them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import reducedfem as rf
from pages import on_screen, shown
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="runs no C code of its own")

ABOVE, DOWN = np.array([0.39, 0.09, 1.0]), np.array([0.0, 0.0, -1.0])
TIP = np.array([0.39, 0.09, 0.1])  # on the surface


def solid_of(young=1e5, **options):
    nodes, elements = box_hexes(4, 2, 2, (0.4, 0.1, 0.1))
    if not options:
        options = {"fixed": nodes[:, 0] < 1e-9}
    return rf.Solid(rf.Mesh(nodes, elements), rf.StVK(young, 0.3, 1000.0), **options)


@pytest.fixture(scope="module")
def bar():
    return solid_of()


def wait(shown, stage):
    """Wait for the end of the computation; return the failure."""
    while (state := shown.frame()["sketch"])["task"]:
        pass
    assert state["stage"] == stage
    return state["failure"]


def place(shown, way):
    """Place a force on the tip."""
    point = shown.pull(0, ABOVE, DOWN)
    np.testing.assert_allclose(point, TIP, atol=1e-12)
    shown.move(TIP + way)
    frame = shown.frame()
    shown.release()
    return frame


def test_a_sketch_becomes_a_basis(bar):
    with rf.view(bar, browser=False) as view:
        page = view._shown
        assert page.scene().title == "Solid"
        assert page.pull(0, ABOVE, DOWN) is None  # not yet a sketch
        assert len(view.sketch) == 0
        assert view.basis is None
        page.command({"kind": "stage", "name": "sketch"})
        assert wait(page, "sketch") == ""
        way = np.array([0.0, 0.01, 0.03])
        frame = place(page, way)
        force = view.sketch.force(1)
        total = force.sum(axis=0)
        np.testing.assert_allclose(np.cross(total, way), 0.0, atol=1e-12)
        # it acts at the point: its torque about that is zero
        arms = bar.mesh.nodes - TIP
        np.testing.assert_allclose(np.cross(arms, force).sum(axis=0), 0.0, atol=1e-12)
        # linear statics take the point as far along the drag: those of Newton under a small load
        u = 1e6 * bar.solve_static(1e-6 * force, tol=1e-13)
        at = rf.Embedding(bar.mesh, [TIP]).interpolate(u)[0]
        assert at @ way == pytest.approx(way @ way, rel=1e-5)
        assert frame["numbers"] == [("force", pytest.approx(np.linalg.norm(total)), "N")]
        body, moved = page.scene().bodies[0], frame["bodies"][0]["moved"]
        corner = np.argmin(np.linalg.norm(body.vertices - [0.4, 0.1, 0.1], axis=1))
        node = np.argmin(np.linalg.norm(bar.mesh.nodes - [0.4, 0.1, 0.1], axis=1))
        np.testing.assert_allclose(moved[corner], u[node], rtol=1e-4)
        # half and all of it are samples
        assert len(view.sketch) == 2
        np.testing.assert_allclose(view.sketch.force(0), 0.5 * force)
        place(page, np.array([0.0, 0.03, 0.0]))
        assert len(page.frame()["arrows"]) == 2
        page.command({"kind": "stage", "name": "basis"})
        assert wait(page, "basis") == ""
        assert page.scene().title == "Basis of 4 vectors"
        assert len(page.scene().bodies[0].labels) == 4
        exact = rf.sketch_basis(bar, view.sketch, partial=True)
        np.testing.assert_array_equal(view.basis.vectors, exact.vectors)
        # back: the forces are still there
        page.command({"kind": "stage", "name": "sketch"})
        assert len(page.frame()["sketch"]["forces"]) == 2
        page.command({"kind": "erase", "number": 0})
        assert len(view.sketch) == 2
        np.testing.assert_allclose(view.sketch.force(1)[:, [0, 2]], 0.0, atol=1e-12)
        page.command({"kind": "erase", "number": 7})
        assert len(view.sketch) == 2
        page.command({"kind": "stage", "name": "solid"})
        assert page.scene().title == "Solid"


def test_forces_that_were_reached_in_part_are_named(bar):
    with rf.view(bar, browser=False) as view:
        page = view._shown
        page.command({"kind": "stage", "name": "sketch"})
        wait(page, "sketch")
        place(page, np.array([0.0, 0.0, 0.01]))
        place(page, np.array([-0.39, 0.0, 0.0]))  # crushes the bar
        page.command({"kind": "stage", "name": "basis"})
        assert wait(page, "basis") == ""
        (text,) = (one for one in page.scene().texts if "in part" in one)
        _, report = rf.sketch_basis(bar, view.sketch, partial=True, max_iterations=25, report=True)
    number, percent = re.search(r"2 of them reached in part: force (.*) to (.*) %$", text).groups()
    assert number == "2"
    # samples are the half and the whole of each force
    half, whole = report.fraction[-2:]
    assert 0.0 < whole < 1.0
    reached = 100.0 * max(0.5 * half, whole)
    assert 0.0 <= reached - float(percent) < 0.1 + 1e-9


def test_a_click_places_no_force(bar):
    with rf.view(bar, browser=False) as view:
        page = view._shown
        page.command({"kind": "stage", "name": "sketch"})
        wait(page, "sketch")
        page.pull(0, ABOVE, DOWN)
        page.move(TIP + 1e-6)
        page.release()
        assert len(view.sketch) == 0
        assert page.pull(0, ABOVE + np.eye(3)[0], DOWN) is None  # beside the body
        # the fixed side
        assert page.pull(0, np.array([-1.0, 0.04, 0.04]), np.array([1.0, 0.0, 0.0])) is None


def test_failures_are_reported(bar):
    for fixed, text in ((None, "needs a solid with fixed nodes"), (range(45), "nodes are fixed")):
        with rf.view(solid_of(fixed=fixed), browser=False) as view:
            assert text in view._shown.frame()["sketch"]["hint"]
            # a page of another version
            view._shown.command({"kind": "stage", "name": "sketch"})
            assert text in wait(view._shown, "solid")
            view._shown.command({"kind": "stage", "name": "solid"})
            assert view._shown.frame()["sketch"]["failure"] == ""
    with rf.view(bar, browser=False) as view:
        view._shown.command({"kind": "stage", "name": "basis"})
        assert "the sketch has no forces" in wait(view._shown, "solid")
        assert view._shown.frame()["sketch"]["hint"] == ""
        with pytest.raises(rf.InputError, match=r"i is 0, but the sketch is empty"):
            view.sketch.force(0)
    with rf.view(bar.mesh, browser=False) as view:
        for name in ("sketch", "basis"):
            with pytest.raises(rf.InputError, match=r"view\(solid\)"):
                getattr(view, name)
            assert not hasattr(view, name)
            assert getattr(view, name, 3) == 3


def test_a_computation_is_cancelled(bar):
    with rf.view(bar, browser=False) as view:
        page = view._shown
        page.command({"kind": "stage", "name": "sketch"})
        wait(page, "sketch")
        place(page, np.array([0.0, 0.0, 0.1]))
        with page._lock:  # for which the computation waits
            page.command({"kind": "stage", "name": "basis"})
            page.command({"kind": "erase", "number": 0})  # not while it computes
            page.command({"kind": "cancel"})
            assert page.frame()["sketch"]["cancelled"]
        assert wait(page, "sketch") == ""
        assert view.basis is None
        assert len(view.sketch) == 2


def sketching(view):
    """Return what a view shows, at the stage of the sketch."""
    page = view._shown
    page.command({"kind": "stage", "name": "sketch"})
    assert wait(page, "sketch") == ""
    return page


def test_a_view_that_is_closed_waits_for_no_computation(bar):
    with rf.view(bar, browser=False) as view:
        page = sketching(view)
        place(page, np.array([0.0, 0.0, 0.01]))
        with page._lock:  # for which the computation waits
            page.command({"kind": "stage", "name": "basis"})
            worker = page._worker
            view.close()
            assert worker.is_alive()
        worker.join()
        assert view.basis is None
        # late messages of a page
        page.command({"kind": "stage", "name": "basis"})
        assert page._worker is worker
        assert page.frame()["sketch"]["task"] == ""


def test_a_computation_ends_a_drag(bar):
    with rf.view(bar, browser=False) as view:
        page = sketching(view)
        place(page, np.array([0.0, 0.0, 0.01]))
        page.pull(0, ABOVE, DOWN)
        page.move(TIP + 0.01)
        with page._lock:  # for which the computation waits
            page.command({"kind": "stage", "name": "basis"})
            page.release()
        wait(page, "basis")
        assert len(view.sketch) == 2
        assert view.basis.provenance["loads"] == 2


def test_a_sketch_has_at_most_200_forces(bar):
    with rf.view(bar, browser=False) as view:
        page = sketching(view)
        for _ in range(200):
            place(page, np.array([0.0, 0.0, 0.01]))
        assert page.pull(0, ABOVE, DOWN) is None
        page.release()
        state = page.frame()["sketch"]
        assert len(state["forces"]) == 200
        assert state["failure"] == "the sketch has 200 forces, the most allowed: delete some"
        page.command({"kind": "erase", "number": 0})
        assert page.frame()["sketch"]["failure"] == ""
        place(page, np.array([0.0, 0.0, 0.01]))
        assert len(view.sketch) == 400


def click(browser, text):
    browser.wait(
        "[...document.querySelectorAll('#sketch button')].some((one) =>"
        f" one.textContent === '{text}' && !one.disabled)"
    )
    browser.run(
        "[...document.querySelectorAll('#sketch button')].find((one) =>"
        f" one.textContent === '{text}').click()"
    )


def test_two_clicks_to_a_basis(browser, bar):
    from selenium.webdriver.common.action_chains import ActionChains

    with rf.view(bar, browser=False) as view:
        shown(browser, view)
        click(browser, "Sketch forces")
        browser.wait("window.reducedfem.scene.title === 'Sketch of forces'")
        canvas = browser.driver.find_element("id", "picture")
        x, y = on_screen(browser, [0.38, 0.02, 0.1])
        for count, (dx, dy) in enumerate(((0, -60), (60, 0)), 1):
            actions = ActionChains(browser.driver)
            actions.move_to_element_with_offset(canvas, x, y).click_and_hold().perform()
            browser.wait("window.reducedfem.grip")
            ActionChains(browser.driver).move_by_offset(dx, dy).perform()
            browser.wait("window.reducedfem.drawing.bodies[0].farthest() > 0.01")
            ActionChains(browser.driver).release().perform()
            browser.wait(f"document.querySelectorAll('#sketch li').length === {count}")
        assert len(view.sketch) == 4
        assert browser.run("return window.reducedfem.camera.azimuth") == -60
        browser.driver.find_element("css selector", "body").send_keys("z")
        browser.wait("document.querySelectorAll('#sketch li').length === 1")
        click(browser, "Compute the basis")
        browser.wait("window.reducedfem.scene.title.startsWith('Basis')")
        browser.wait("window.reducedfem.drawing.bodies[0].q[0] !== 0")
        assert len(browser.driver.find_elements("css selector", "#sliders input")) == view.basis.r
        click(browser, "Back to the forces")
        click(browser, "Close")
        browser.wait("window.reducedfem.scene.title === 'Solid'")


def test_a_page_shows_what_failed_and_why_there_are_no_sketches(browser, bar):
    with rf.view(bar, browser=False) as view:
        shown(browser, view)
        view._shown.command({"kind": "stage", "name": "basis"})
        browser.wait("document.querySelector('#sketch .failure')")
        text = browser.run("return document.querySelector('#sketch .failure').textContent")
        assert text == "the sketch has no forces: drag points of the body first"
    with rf.view(solid_of(fixed=None), browser=False) as view:
        shown(browser, view)
        browser.wait("document.querySelector('#sketch button:disabled')")
        text = browser.run("return document.querySelector('#sketch p').innerText")
        assert text.startswith("a sketch needs a solid with fixed nodes")


def test_all_buttons_can_be_reached_in_a_low_window(browser, bar):
    with rf.view(bar, browser=False) as view:
        page = sketching(view)
        for _ in range(30):
            place(page, np.array([0.0, 0.0, 0.01]))
        size = browser.driver.get_window_size()
        browser.driver.set_window_size(800, 400)
        try:
            shown(browser, view)
            browser.wait("document.querySelectorAll('#sketch li').length === 30")
            places = browser.run(
                "const box = document.getElementById('sketch');"
                "box.scrollTop = box.scrollHeight;"
                "const bar = document.getElementById('bar');"
                "return [bar, box, ...box.querySelectorAll('div button')]"
                ".map((one) => one.getBoundingClientRect().toJSON());"
            )
            browser.driver.set_window_size(500, 400)
            browser.wait("innerWidth <= 560")
            rows = browser.run(
                "const all = document.querySelectorAll('#sketch div button');"
                "return new Set([...all].map((one) => one.offsetTop)).size;"
            )
        finally:
            browser.driver.set_window_size(size["width"], size["height"])
    below, box, *buttons = places
    assert len(buttons) == 3
    assert rows == 1
    assert box["bottom"] <= below["top"]
    assert all(box["top"] < one["top"] < one["bottom"] <= box["bottom"] for one in buttons)


def test_progress_names_the_stage(bar):
    stages = []

    class Watch:
        def begin(self, label):
            stages.append((label, []))

        def __call__(self, done, total):
            stages[-1][1].append(done / total)

    sketch = rf.ForceSketch(
        bar.mesh.n_nodes, [0.0, 1.0], [0, 1, 2], [44, 44], [[0, 0, 0.1], [0, 0, 0.2]]
    )
    rf.sketch_basis(bar, sketch, progress=Watch())
    names = [label for label, _ in stages]
    assert names[:2] == ["thinning", "statics of 2 loads"]
    assert stages[1][1][-1] == 1.0
    assert stages[1][1] == sorted(stages[1][1])
