"""Released supports of a touched body: forces before and after, energy, sessions."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem.viewer.shown_touch import ShownTouch
from shapes import box_hexes
from touched import LAW, replay, session

RELEASE = 50  # cycles of RF_TIP_RELEASE_S
TOP = 0.04


def bridge(fixed="lr", n=(12, 6, 2)):
    """Return Green's functions and surface of a plate, fixed at its ends "l" and "r"."""
    nodes, elements = box_hexes(*n, (0.24, 0.12, TOP))
    mesh = rf.Mesh(nodes, elements)
    ends = {"l": nodes[:, 0] < 1e-9, "r": nodes[:, 0] > 0.24 - 1e-9}
    solid = rf.Solid(mesh, LAW, fixed=sum(ends[k] for k in fixed) > 0)
    return rf.GreensFunctions(solid, releasable=solid.fixed), mesh.surface()


@pytest.fixture(scope="module")
def parts():
    return bridge()


def right(green):
    """Return the nodes of the right end, by the order of `box_hexes`."""
    nodes, _ = box_hexes(12, 6, 2, (0.24, 0.12, TOP))
    return np.asarray([k for k in green.releasable if nodes[k, 0] > 0.2])


def padded():
    """Return those of a plate fixed at one end and by a pad on top, and the halves of the pad."""
    nodes, elements = box_hexes(12, 6, 2, (0.24, 0.12, TOP))
    mesh = rf.Mesh(nodes, elements)
    near = (np.abs(nodes[:, :2] - (0.12, 0.06)) < 0.05).all(axis=1)
    pad = (nodes[:, 2] > TOP - 1e-9) & near
    solid = rf.Solid(mesh, LAW, fixed=(nodes[:, 0] < 1e-9) | pad)
    green = rf.GreensFunctions(solid, releasable=pad)
    low = nodes[green.releasable, 0] < 0.12
    return (green, mesh.surface()), green.releasable[low], green.releasable[~low]


def compliances(contact):
    """Return the compliances at some points of all triangles."""
    points = [(0.2, 0.3, 0.5), (0.6, 0.2, 0.2), (0.0, 0.5, 0.5), (1.0, 0.0, 0.0), (0.1, 0.9, 0.0)]
    each = range(contact.surface.n_triangles)
    return np.array([[contact.compliance(t, at) for at in points] for t in each])


def tip(parts, radius=0.022, friction=0.4, **options):
    return rf.PointProxyContact(*parts, radius, friction, **options)


def held_at(x, y, depth, cycles):
    """Return a path that comes from above and stays at a depth."""
    return np.concatenate([[(x, y, TOP + 1e-3)], np.tile([x, y, TOP - depth], (cycles - 1, 1))])


# ---- static answers -----------------------------------------------------------------


def test_a_release_gives_the_compliance_of_a_body_without_the_supports(parts):
    contact, anew = tip(parts), tip(bridge("l"))
    contact.release(right(parts[0]))
    surface, near = contact.surface, 0.06
    for t in range(0, surface.n_triangles, 7):
        at = surface.vertices[surface.triangles[t]].mean(axis=0)
        c = [one.compliance(t, [0.2, 0.3, 0.5]) for one in (contact, anew)]
        if at[0] > near:  # else the disc has vertices that are held, whose hardness is a choice
            np.testing.assert_allclose(c[0], c[1], rtol=0, atol=1e-11 * abs(c[1]).max())
    # the ends that were held move freely
    place = [0.24, 0.05, TOP]
    for one in (contact, anew):
        one.touch(place + np.array([-0.01, 0.0, 1e-3]))
        one.touch(place + np.array([-0.01, 0.0, -2e-3]))
    np.testing.assert_allclose(contact.force, anew.force, rtol=1e-9)
    order = np.argsort(contact.green.nodes)
    np.testing.assert_allclose(
        contact.displacement()[order], anew.displacement(), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(contact.green.nodes[order], anew.green.nodes)


@pytest.mark.parametrize("radius", [0.0, 0.022])
def test_no_place_becomes_stiffer(radius):
    """Also beside supports that stay, where compliances of discs differ much."""
    parts, low, high = padded()
    contact = tip(parts, radius)
    before = compliances(contact)
    for nodes in (low, high[::2], high[1::2]):
        contact.release(nodes)
        after = compliances(contact)
        scale = np.trace(after, axis1=-2, axis2=-1)
        rise = np.linalg.eigvalsh(after - before) / scale[..., None]
        assert rise.min() >= -1e-9
        assert rise.max() > 0.1
        assert np.linalg.eigvalsh(after).min() > 0.0
        before = after


def test_a_hand_at_rest_beside_supports_that_stay_feels_less_force():
    parts, low, _ = padded()
    contact = tip(parts, friction=5.0)
    contact.release(low, at=0.1)
    records = session(contact, held_at(0.136, 0.03, 2e-3, 300), max_force=1e4).run(300)
    way = np.array([0.0, 0.0, 2e-3])
    stored = records.force[90:] @ way
    assert stored[-1] < stored[0]
    assert (np.diff(stored) <= 1e-9 * stored[0]).all()


def test_compliances_are_continuous_across_sides():
    parts, low, _ = padded()
    contact = tip(parts)
    contact.release(low)
    sides: dict[tuple[int, int], list] = {}
    for t, corner in enumerate(parts[1].triangles.tolist()):
        for k in range(3):
            weights = np.zeros(3)
            pair = sorted((corner[k], corner[(k + 1) % 3]))
            weights[corner.index(pair[0])], weights[corner.index(pair[1])] = 0.3, 0.7
            sides.setdefault(tuple(pair), []).append(contact.compliance(t, weights))
    assert all(len(both) == 2 for both in sides.values())
    scale = max(np.abs(one).max() for one, _ in sides.values())
    for one, other in sides.values():
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * scale)


def test_forces_before_and_after_are_those_of_solve(parts):
    """A point that sticks to a node of the surface: prescribed displacements of that node."""
    green, free = parts[0], right(parts[0])
    contact = tip(parts, 0.0, 5.0)
    node = int(green.nodes[np.linalg.norm(green.positions - (0.1, 0.06, TOP), axis=1).argmin()])
    place = green.positions[list(green.nodes).index(node)]
    way = np.array([2e-4, -1e-4, -3e-3])
    for high in (1e-6, -1e-6):  # enters at the node
        contact.touch(place + high * np.eye(3)[2])
    contact.touch(place + way)
    assert contact.state == "stick"
    before = green.solve({node: way}).force[0]
    np.testing.assert_allclose(contact.force, -before, rtol=1e-9)
    contact.release(free)
    contact.touch(place + way)
    assert contact.state == "stick"
    after = green.solve({node: way}, released=free).force[0]
    np.testing.assert_allclose(contact.force, -after, rtol=1e-9)
    # the work that is in store has become less
    assert 0.0 < after @ way < 0.5 * (before @ way)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", None), ("float32", 1e-3)])
def test_single_and_packed_functions_may_be_released(parts, dtype, tolerance):
    nodes, elements = box_hexes(12, 6, 2, (0.24, 0.12, TOP))
    mesh = rf.Mesh(nodes, elements)
    solid = rf.Solid(mesh, LAW, fixed=(nodes[:, 0] < 1e-9) | (nodes[:, 0] > 0.24 - 1e-9))
    green = rf.GreensFunctions(solid, releasable=solid.fixed, dtype=dtype, tolerance=tolerance)
    exact, other = tip(parts), tip((green, mesh.surface()))
    for one in (exact, other):
        one.release(right(parts[0]))
        one.touch([0.12, 0.06, TOP + 1e-3])
        one.touch([0.12, 0.06, TOP - 2e-3])
    np.testing.assert_allclose(other.force, exact.force, rtol=1e-5 if tolerance is None else 1e-2)


# ---- in sessions --------------------------------------------------------------------


def test_the_force_of_a_held_tip_falls_linearly_to_the_static_one(parts):
    contact, script = tip(parts, friction=5.0), tip(parts, friction=5.0)
    path = held_at(0.11, 0.06, 3e-3, 400)
    one = session(contact, path)
    before = one.run(100)
    contact.release(right(parts[0]))
    after = one.run(200)
    script.release(right(parts[0]))
    script.touch(path[0])
    script.touch(path[1])
    assert script.state == "stick"
    np.testing.assert_allclose(after.force[RELEASE:], np.tile(script.force, (200 - RELEASE, 1)))
    force = np.concatenate([before.force[-1:], after.force])
    steps = np.linalg.norm(np.diff(force, axis=0), axis=1)
    whole = np.linalg.norm(force[-1] - force[0])
    assert whole > 0.5 * np.linalg.norm(force[0])
    np.testing.assert_allclose(steps[:RELEASE], whole / RELEASE, rtol=1e-6)
    assert steps[RELEASE:].max() < 1e-12
    # the energy of the body, d.f / 2, falls, and none of it goes to the hand, which rests
    stored = -0.5 * np.einsum("ij,ij->i", force[1:], path[101:301] - after.anchor)
    assert (np.diff(stored[:RELEASE]) < 0.0).all()
    np.testing.assert_array_equal(after["energy_j"], before["energy_j"][-1])


def test_the_surface_that_is_shown_follows_the_tip_all_the_way(parts):
    """Also while a release is taken up: the node under a point is where the tip is."""
    contact = tip(parts, 0.0, 5.0)
    green = parts[0]
    k = int(np.linalg.norm(green.positions - (0.12, 0.06, TOP), axis=1).argmin())
    x, y, _ = green.positions[k]
    one = session(contact, held_at(x, y, 3e-3, 200))
    one.run(20)
    firm = one.snapshot()._coordinates_of_touched
    contact.release(right(green))
    ends = contact.surface.vertices[:, 0] > 0.2399
    assert not contact._moved(firm)[ends].any()
    seen = []
    for _ in range(60):
        one.run(1)
        coordinates = one.snapshot()._coordinates_of_touched
        seen.append(coordinates[8])
        u = contact._moved(coordinates)
        vertex = int(np.linalg.norm(contact.surface.vertices - (x, y, TOP), axis=1).argmin())
        np.testing.assert_allclose(u[vertex], [0.0, 0.0, -3e-3], atol=1e-9)
    np.testing.assert_allclose(seen, np.minimum(np.arange(1, 61) / RELEASE, 1.0), atol=1e-9)
    # the end that was held hangs down; the page draws it
    assert u[ends, 2].max() < -1e-3
    (body, _) = ShownTouch(one, "z")._states(one.snapshot())
    np.testing.assert_allclose(body["moved"][:, 2].min(), u[:, 2].min(), atol=1e-9)


def test_a_soft_hand_is_not_pushed_out(parts):
    """It sinks in further, and takes no energy; its force stays within the limits."""
    times = np.linspace(0.0, 1.0, 1001)
    z = np.interp(times, [0.0, 0.2, 1.0], [TOP + 2e-3, TOP - 6e-3, TOP - 6e-3])
    path = np.stack([0 * z + 0.12, 0 * z + 0.06, z], axis=1)

    def pressed(contact):
        hand = rf.SimulatedHand(times, path)
        return rf.HapticSession(contact, hand, max_force=1.0, ramp=0.0).run(1000)

    firm, contact = pressed(tip(parts)), tip(parts)
    contact.release(right(parts[0]), at=0.5)
    records = pressed(contact)
    at = records["time_s"] >= 0.5
    height, before = (one["hand_position"][:, 2] for one in (records, firm))
    assert height[-1] < before[-1] - 1e-3
    assert (height <= before + 1e-12).all()
    assert np.linalg.norm(records.force, axis=1).max() <= 1.0 + 1e-12
    assert records["energy_j"].max() <= 1e-12
    touched = np.linalg.norm(records["contact_force"], axis=1)
    assert touched[-1] < touched[~at][-1]
    assert touched[at].max() <= touched[~at][-1] * (1.0 + 1e-9)


def test_releases_are_taken_up_in_order_at_their_times(parts):
    contact = tip(parts, friction=5.0)
    free = right(parts[0])
    contact.release(free[:8], at=0.1)
    contact.release(free[8:], at=0.12)
    path = held_at(0.11, 0.06, 2e-3, 400)
    one = session(contact, path)
    taken = []
    for _ in range(300):
        one.run(1)
        taken.append(one.snapshot()._coordinates_of_touched[8])
    taken = np.asarray(taken)
    assert (taken[:99] == 0.0).all()
    # the second begins when the first has ended
    first = int(np.flatnonzero(taken > 0.0)[0])
    assert 99 <= first <= 101
    np.testing.assert_allclose(
        taken[first : first + 110], np.minimum(np.arange(1, 111) / RELEASE, 2.0), atol=1e-6
    )
    # another session of the same body begins anew
    again = session(contact, path)
    assert again.run(90).force[-1] @ (0, 0, 1) > again.run(300).force[-1] @ (0, 0, 1)
    whole = tip(parts, friction=5.0)
    whole.release(free)
    whole.touch(path[0])
    whole.touch(path[1])
    np.testing.assert_allclose(again.run(5).force[-1], whole.force, rtol=1e-9)


def test_a_tip_in_the_air_and_scripts_feel_the_release_at_once(parts):
    contact = tip(parts, friction=5.0)
    waits = np.tile([0.11, 0.06, TOP + 1e-3], (30, 1))
    path = np.concatenate([waits, held_at(0.11, 0.06, 2e-3, 9)])
    contact.release(right(parts[0]), at=0.01)
    records = session(contact, path).run(len(path))
    np.testing.assert_allclose(records.force[31:], np.tile(records.force[-1], (8, 1)), rtol=1e-12)
    script = tip(parts, friction=5.0)
    script.touch(path[0])
    script.touch(path[-1])
    firm = script.force
    script.release(right(parts[0]))
    script.touch(path[-1])
    np.testing.assert_allclose(script.force, records.force[-1], rtol=1e-12)
    assert script.force[2] < firm[2]


def test_a_running_session_takes_a_release_up_from_another_thread(parts):
    contact = tip(parts)
    path = held_at(0.12, 0.06, 2e-3, 3)
    device = rf.ReplayDevice([0.0, 1e-3, 600.0], path)
    with rf.HapticSession(contact, device, ramp=0.0) as running:
        until = time.monotonic() + 60.0

        def reached(number, touching=True):
            while time.monotonic() < until:
                try:
                    shot = running.snapshot()
                except rf.InputError:  # no cycle has ended yet
                    continue
                on = not touching or shot.record["touching"] > 0
                if on and shot._coordinates_of_touched[8] >= number:
                    return True
                time.sleep(0.002)
            return False

        assert reached(0.0)
        errors = []

        def let_go(nodes):
            try:
                contact.release(nodes)
            except Exception as error:  # raised by the assertion below
                errors.append(error)

        free = right(parts[0])
        threads = [threading.Thread(target=let_go, args=(free[k::3],)) for k in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not errors
        assert reached(3.0)
        running.stop()
    # the body has the state of the session, and all supports are released
    anew = tip(bridge("l"))
    anew.touch(path[0])
    np.testing.assert_array_equal(np.sort(contact.green.nodes), anew.green.nodes)
    contact.reset()
    contact.touch(path[0])
    contact.touch(path[1])
    anew.touch(path[1])
    np.testing.assert_allclose(contact.force, anew.force, rtol=1e-9)


def test_times_count_from_the_begin_of_each_session(parts):
    contact = tip(parts, friction=5.0)
    path = held_at(0.11, 0.06, 2e-3, 400)
    first = session(contact, path)
    first.run(200)
    first.close()
    contact.release(right(parts[0]), at=0.1)
    second = session(contact, path)
    second.run(99)
    assert second.snapshot()._coordinates_of_touched[8] == 0.0
    second.run(100)
    assert second.snapshot()._coordinates_of_touched[8] == 1.0
    second.close()


def test_a_session_that_ends_takes_no_release_back(parts):
    contact = tip(parts, friction=5.0)
    path = held_at(0.11, 0.06, 2e-3, 20)
    one = session(contact, path)
    one.run(10)
    contact.release(right(parts[0]))
    after = compliances(contact)
    one.close()
    np.testing.assert_array_equal(compliances(contact), after)
    contact.touch(path[-1])
    whole = tip(parts, friction=5.0)
    whole.release(right(parts[0]))
    whole.touch(path[0])
    whole.touch(path[-1])
    np.testing.assert_allclose(contact.force, whole.force, rtol=1e-12)


def test_displacements_may_be_asked_for_while_another_thread_releases():
    """Arrays have as many rows as are written, though nodes come while they are made."""
    nodes, elements = box_hexes(60, 4, 1, (0.6, 0.04, 0.01))
    mesh = rf.Mesh(nodes, elements)
    solid = rf.Solid(mesh, LAW, fixed=nodes[:, 0] > 0.51)
    parts = rf.GreensFunctions(solid, releasable=solid.fixed), mesh.surface()
    contacts = [tip(parts, 0.012) for _ in range(4)]
    for contact in contacts:
        for z in (0.011, 0.009):
            contact.touch([0.05, 0.02, z])
    done, shapes, interval = threading.Event(), set(), sys.getswitchinterval()
    now = contacts[:1]

    def look():
        while not done.is_set():
            shapes.add(now[0].displacement().shape)
            now[0].compliance(0, [0.3, 0.3, 0.4])

    threads = [threading.Thread(target=look) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for one in threads:
            one.start()
        for now[0] in contacts:
            for k in range(0, len(solid.fixed) - 24, 16):
                now[0].release(solid.fixed[k : k + 16])
    finally:
        done.set()
        for one in threads:
            one.join()
        sys.setswitchinterval(interval)
    for contact in contacts:
        assert contact.displacement().shape == (len(contact.green.nodes), 3)
    assert len(shapes) > 1


# ---- the face -----------------------------------------------------------------------


def test_other_nodes_and_wrong_times_are_refused(parts):
    contact = tip(parts)
    inside = int(parts[0].nodes[3])
    with pytest.raises(rf.InputError, match=f"nodes names node {inside}, which is not among"):
        contact.release([inside])
    with pytest.raises(rf.SingularMatrixError, match="could move as a rigid body"):
        contact.release(parts[0].releasable)
    with pytest.raises(rf.InputError, match="at must not be negative, got -1 s"):
        contact.release(right(parts[0]), at=-1.0)
    contact.release(right(parts[0])[:3], at=2.0)
    with pytest.raises(rf.InputError, match=r"at is 1 s, but a release is scheduled at 2 s"):
        contact.release(right(parts[0])[3:], at=1.0)
    contact.release(right(parts[0])[3:6])  # as soon as that one
    with pytest.raises(rf.InputError, match=r"at is 0 s, but a release is scheduled at 2 s"):
        contact.release(right(parts[0])[6:], at=0.0)
    contact.release(right(parts[0])[6:], at=2.0)
    with pytest.raises(rf.InputError, match="not among the 21 releasable nodes"):
        contact.release(right(parts[0])[:1], at=3.0)


def test_copies_have_what_was_scheduled_and_all_compliances():
    parts, low, high = padded()
    contact = tip(parts, friction=5.0)
    contact.release(low)
    contact.release(high, at=0.1)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(contact))))
    np.testing.assert_array_equal(compliances(again), compliances(contact))
    path = held_at(0.2, 0.06, 2e-3, 200)
    forces = [session(one, path).run(200).force for one in (contact, again)]
    np.testing.assert_array_equal(*forces)
    assert forces[0][-1] @ (0, 0, 1) < forces[0][90] @ (0, 0, 1)
    with pytest.raises(rf.InputError, match="not among"):
        again.release(high[:1])


def test_progress_may_not_release_and_a_failed_release_changes_nothing(parts):
    contact = tip(parts)
    free, seen = right(parts[0]), []

    def nested(done, total):
        seen.append(done)
        contact.release(free[:1])

    with pytest.raises(rf.InputError, match="progress must not release more nodes"):
        contact.release(free, progress=nested)
    assert seen
    left = parts[0].released(free)
    kept = sys.getrefcount(left._core)
    with pytest.raises(rf.InputError, match="vertices of surface are nodes"):
        contact._core.release(left._core, left.positions + 1.0, 0.0, None, 1)
    now = sys.getrefcount(left._core)  # an assertion would keep it
    assert now == kept
    assert contact.green is parts[0]
    contact.release(free)
    assert len(contact.green.releasable) == len(parts[0].releasable) - len(free)


def test_a_fork_may_release_while_its_parent_does():
    """In the child there is no thread that would end the turn of the parent."""
    script = """
        import os, threading, time
        import reducedfem as rf
        from touch.test_release import bridge, tip
        parts = bridge(n=(6, 3, 1))
        contact, free = tip(parts, 0.03), parts[0].releasable
        inside, leave = threading.Event(), threading.Event()
        def wait(done, total):
            inside.set()
            leave.wait(60.0)
        options = {"target": contact.release, "args": (free[-1:],), "kwargs": {"progress": wait}}
        parent = threading.Thread(**options)
        parent.start()
        assert inside.wait(60.0)
        child = os.fork()
        if child == 0:
            rf.set_threads(1)  # the thread sanitizer refuses threads in a child of threads
            contact.release(free[-2:], progress=False)
            os._exit(0 if len(contact.green.releasable) == len(free) - 2 else 1)
        for _ in range(3000):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            time.sleep(0.02)
        else:
            os.kill(child, 9)
        leave.set()
        parent.join()
        assert pid and status == 0, (pid, status)
        assert len(contact.green.releasable) == len(free) - 1
    """
    tests = Path(__file__).parent.parent
    path = os.pathsep.join([str(tests), str(tests / "support")])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_copies_have_what_was_released(parts):
    contact = tip(parts)
    contact.release(right(parts[0]))
    again = pickle.loads(pickle.dumps(contact))
    for one in (contact, again):
        one.touch([0.13, 0.06, TOP + 1e-3])
        one.touch([0.13, 0.06, TOP - 2e-3])
    np.testing.assert_array_equal(again.green.nodes, contact.green.nodes)
    np.testing.assert_allclose(again.force, contact.force, rtol=1e-12)
    other = session(contact, held_at(0.1, 0.06, 1e-3, 10))
    del contact  # kept by the session
    assert other.run(5)["touching"][-1] == 1


def test_running_out_of_memory_leaks_nothing(parts):
    contact = rf.PointProxyContact(*bridge(n=(6, 3, 1)), 0.03)
    other, green = contact._core, contact.green
    left = green.released(green.releasable[-1:])

    def again():
        one = rf.PointProxyContact(green, contact.surface, 0.03)
        one._core.release(left._core, left.positions, 0.0, None, 1)
        return one

    fail_each_allocation(again, 20)
    assert other is contact._core
    assert replay(np.zeros((2, 3))) is not None
